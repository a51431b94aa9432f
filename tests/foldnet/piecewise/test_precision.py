"""The same network in single precision, and on a GPU where there is one: the pieces of double precision on a processor."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from foldnet.nets import ReLUNet
from foldnet.piecewise._precision import NEWER, SWITCHES, full_precision, switch, switches
from foldnet.piecewise.compare import compare
from foldnet.piecewise.net import PiecewiseLinear, of
from tests.foldnet.piecewise.test_own_network import DEGENERATE, drawn

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
PLACES = [
    pytest.param((torch.float32,), id="single"),
    pytest.param(("cuda",), marks=gpu, id="gpu"),
    pytest.param(("cuda", torch.float32), marks=gpu, id="single on a gpu"),  # where torch itself rounds to TF32
]
CLOSE = 1e-4


def both(model: nn.Module, place, shape) -> tuple[PiecewiseLinear, PiecewiseLinear]:
    """A network in float64 on the processor, and the same elsewhere: in another dtype, or on another device."""
    first = of(model.to("cpu", torch.float64), shape)
    return first, of(model.to(*place), shape)


def numbers(a) -> np.ndarray:
    return a.double().cpu().numpy() if isinstance(a, torch.Tensor) else np.asarray(a, dtype=float)


def degenerate(name: str) -> nn.Module:
    (weights, biases), second = DEGENERATE[name], [[1.0, -0.4, 0.3], [0.5, 0.5, -1.0], [1.0, -0.4, 0.3]]
    return ReLUNet([weights, second, [[1.0, 1.0, -1.0]]], [biases, [0.05, -0.1, 0.05], [0.0]]).to_sequential()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", sorted(DEGENERATE.keys() - {"huge and tiny"}))
def test_a_plane_has_the_same_pieces(name, place):
    true, found = (net.regions() for net in both(degenerate(name), place, 2))
    assert len(found) == len(true)
    assert {row.tobytes() for row in found.pattern} == {row.tobytes() for row in true.pattern}
    assert np.allclose(np.sort(found.areas), np.sort(true.areas), atol=CLOSE)
    scale = np.abs(true.values).max()
    assert np.allclose(np.sort(found.values, 0), np.sort(true.values, 0), atol=CLOSE * scale)


@pytest.mark.parametrize("place", PLACES)
def test_a_line_a_plane_and_a_map_through_layers_of_all_kinds(place):
    true, found = both(drawn(["residual", "pool", "norm", "relu6", "larger"], 2, 3), place, (1, 6, 6))
    a, b, way = torch.randn(3, 1, 6, 6, generator=torch.Generator().manual_seed(1)).double()
    ends = [net.line(a, b) for net in (true, found)]
    assert len(ends[1]) == len(ends[0]) > 30
    assert np.allclose(numbers(ends[1].t), numbers(ends[0].t), atol=CLOSE)
    assert np.allclose(*(numbers(each.values) for each in ends), atol=CLOSE)
    assert ends[1].values.dtype == found.dtype
    planes = [net.plane(a, b, way, window=0.1) for net in (true, found)]
    assert len(planes[1]) == len(planes[0]) > 30
    assert np.allclose(*(np.sort(each.areas) for each in planes), atol=CLOSE * 0.04)
    assert np.allclose(*(numbers(net.affine(a).matrix) for net in (true, found)), atol=CLOSE)
    assert np.isclose(found.margin(a), true.margin(a), rtol=1e-2)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("sizes", "seed"), [((3, 5, 4, 1), 0), ((3, 5, 4, 1), 2), ((4, 5, 3, 1), 1), ((2, 8, 8, 1), 0)])
def test_cells_are_those_of_double_precision(sizes, seed, place):
    true, found = both(ReLUNet.random(sizes, seed=seed, dtype=torch.float32).to_sequential(), place, sizes[0])
    x = 0.1 * torch.arange(1, sizes[0] + 1)
    one, other = (net.cell(x) for net in (true, found))
    assert sorted(other.columns) == sorted(one.columns)
    order = [np.argsort(cell.columns) for cell in (one, other)]
    assert np.allclose(*(cell.rows[k] for cell, k in zip((one, other), order)), atol=CLOSE)
    everything = [net.cells(x) for net in (true, found)]
    assert everything[1].net is found
    seen = [{c.pattern.tobytes(): (c.bounded, len(c.rows)) for c in each.pieces} for each in everything]
    assert seen[1] == seen[0]
    assert len(everything[1].pairs) == len(everything[0].pairs)


@pytest.mark.parametrize("place", PLACES)
def test_matrices_and_comparisons_of_many_points(place):
    shape, x = (1, 6, 6), torch.randn(9, 1, 6, 6, generator=torch.Generator().manual_seed(2))
    models = [drawn(["residual", "pool", "prelu"], 2, seed) for seed in (1, 2)]
    (one, found), (other, second) = (both(model, place, shape) for model in models)
    assert np.allclose(*(numbers(net.jacobians(x)) for net in (one, found)), atol=CLOSE)
    assert found.jacobians(x, chunk=2).dtype == found.dtype
    assert torch.equal(found.pattern(x).cpu(), one.pattern(x))
    true, seen = compare(one, other, x.double()), compare(found, second, x)
    for name in ("outputs", "slopes", "constants"):
        assert np.allclose(*(numbers(torch.stack(getattr(each, name))) for each in (true, seen)), atol=10 * CLOSE)
    assert np.allclose(numbers(seen.cosine), numbers(true.cosine), atol=10 * CLOSE)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_wrong_is_the_same_and_growing_lowers_the_loss(place):
    torch.manual_seed(4)
    convs = [nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*convs, nn.Flatten(), nn.Linear(16, 5), nn.LeakyReLU(0.1), nn.Linear(5, 2)).eval()
    x, y = torch.randn(60, 1, 6, 6), torch.randn(60, 2)
    for layer in ("0", "3", "7"):
        true, found = both(model, place, (1, 6, 6))
        true, seen = (net.wrong(x, y, layer, k=2) for net in (true, found))
        assert seen.neurons.incoming.dtype == found.dtype
        assert seen.neurons.incoming.device.type == found.device.type
        assert np.isclose(seen.share, true.share, rtol=1e-2)
        assert np.isclose(float(seen.neurons.joint_gain), float(true.neurons.joint_gain), rtol=1e-2)
        wider = seen.grow()
        at = {"dtype": found.dtype, "device": found.device}
        with torch.no_grad():
            losses = [F.mse_loss(net(x.to(**at)), y.to(**at)) for net in (wider, found)]
        assert losses[0] < losses[1]


def test_products_keep_all_their_bits_and_afterwards_it_is_as_it_was():
    seen = []

    class Looking(nn.Module):
        def forward(self, x):
            return x.clamp(min=0)

    model = nn.Sequential(nn.Conv2d(1, 2, 3), Looking(), nn.Flatten(), nn.Linear(8, 1))
    before = switches()
    net = of(model, (1, 4, 4))
    conv = net.graph.parts["0"]
    conv.register_forward_hook(lambda *_: seen.append(switches()))
    x, y = torch.randn(2, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    asked = {
        "outputs": lambda: net(x),
        "matrix": lambda: net.affine(x).matrix,
        "product": lambda: net.affine(x) @ y,
        "pattern": lambda: net.pattern(x),
        "line": lambda: net.line(x, y),
        "plane": lambda: net.plane(x, y, x + 1, 0.1).maps(),
        "margin": lambda: net.margin(x),
        "wrong": lambda: net.wrong(torch.stack([x, y]), torch.ones(2, 1)),
    }
    for name, ask in asked.items():
        seen.clear()
        ask()
        assert seen, name
        assert all(each == SWITCHES for each in seen), name
        assert switches() == before, name
    with pytest.raises(ValueError, match="finite"):
        net.line(x, x / 0)
    assert switches() == before


def test_what_a_program_says_of_products_in_torchs_newer_names_stays_so():
    if not hasattr(torch.backends.cudnn, "conv"):
        pytest.skip("torch before 2.9")
    before, own = switches(), NEWER | {"cudnn.conv": "tf32", "cuda.matmul": "tf32"}
    try:
        switch(own)
        with full_precision():
            assert switches() == NEWER
        assert switches() == own
    finally:
        switch(NEWER | {"cudnn.conv": "tf32", "cudnn.rnn": "tf32"})  # as torch begins
        switch(before)
    assert switches() == before


class Stubborn(nn.Module):
    """A network that cannot be in double precision."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)

    def forward(self, x):
        return torch.relu(self.first(x)) @ torch.ones(3, 1, dtype=torch.float32)


def test_a_network_that_insists_on_single_precision_has_its_cells_too():
    assert len(of(Stubborn(), 2).cells([0.1, 0.2])) > 3


def test_what_scales_hide_in_single_precision_is_missing_and_nothing_else_is():
    """Documented: what is smaller than 1e-6 of the largest value of its step counts as zero."""
    true, found = both(degenerate("huge and tiny"), (torch.float32,), 2)
    few, all_of_them = found.regions(), true.regions()
    assert 1 < len(few) < len(all_of_them)
    assert np.isclose(few.areas.sum(), 4.0)


@gpu
def test_answers_come_on_the_device_of_the_network():
    net = of(ReLUNet.random((2, 5, 1), seed=0).to_sequential().cuda())
    assert net.device.type == net([0.1, 0.2]).device.type == net.line([0.0, 0.0], [1.0, 1.0]).values.device.type == "cuda"
