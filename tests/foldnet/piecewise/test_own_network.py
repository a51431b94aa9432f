"""Any piecewise linear module: its bends on lines and its pieces on planes, against grids, dense engines and forward passes."""

import io
import re
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from torch import nn
from torch.nn import functional as F

from foldnet.geometry.regions import boundary, decision, regions
from foldnet.nets import ReLUNet
from foldnet.piecewise.net import of
from foldnet.piecewise.trace import NotPiecewiseLinear
from foldnet.splines.depth import deep_spline

DOUBLE = torch.float64
LAYERS = (
    "conv",
    "residual",
    "norm",
    "pool",
    "average",
    "relu6",
    "hard tanh",
    "leak",
    "abs",
    "halves",
    "larger",
    "prelu",
    "clamp",
)


class Drawn(nn.Module):
    """A network of one channel of 6 x 6 pixels, with the layers that hypothesis asks for."""

    def __init__(self, layers: list[str], channels: int):
        super().__init__()
        self.layers = layers
        self.first = nn.Conv2d(1, channels, 3, padding=1)
        self.convs = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in layers)
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in layers)
        self.slopes = nn.ModuleList(nn.PReLU(channels, 0.3) for _ in layers)
        self.pool, self.average, self.flat = nn.MaxPool2d(2, stride=1), nn.AvgPool2d(2, stride=1), nn.AdaptiveAvgPool2d(2)
        self.last = nn.Linear(4 * channels, 2)

    def forward(self, x):
        x = torch.relu(self.first(x))
        for kind, conv, norm, slope in zip(self.layers, self.convs, self.norms, self.slopes):
            if kind == "conv":
                x = F.relu(conv(x), inplace=True)
            elif kind == "residual":
                x = F.relu(conv(x) + x)
            elif kind == "norm":
                x = F.relu(norm(conv(x)))
            elif kind == "pool":
                x = self.pool(conv(x))
            elif kind == "average":
                x = self.average(x)
            elif kind == "relu6":
                x = F.relu6(20 * conv(x) + 3)
            elif kind == "hard tanh":
                x = F.hardtanh(conv(x), -0.2, 0.3)
            elif kind == "leak":
                x = F.leaky_relu(conv(x) - x, 0.2)
            elif kind == "abs":
                x = conv(x).abs()
            elif kind == "halves":
                x = torch.cat([x[:, :1], F.relu(conv(x))[:, 1:]], dim=1)
            elif kind == "larger":
                x = torch.maximum(conv(x), x)
            elif kind == "prelu":
                x = slope(conv(x))
            else:
                x = conv(x).clamp(min=-0.1)
        return self.last(self.flat(x).view(x.size(0), -1))


def drawn(layers: list[str], channels: int, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    model = Drawn(layers, channels).to(DOUBLE)
    model.train()
    with torch.no_grad():
        model(torch.randn(16, 1, 6, 6, dtype=DOUBLE))  # means and variances that are not those of the start
    return model


def step_by_step(dense: ReLUNet) -> nn.Module:
    """The same network as a module that the kernels for dense chains do not take."""
    return nn.Sequential(*dense.to_sequential().to(DOUBLE), nn.Flatten())


def points_between(a, b, t):
    return torch.lerp(a[None], b[None], t.view(-1, *[1] * a.ndim))


@settings(max_examples=25)
@given(some.lists(some.sampled_from(LAYERS), max_size=4), some.integers(1, 3), some.integers(0, 10**6))
def test_a_line_has_every_bend_and_no_other(layers, channels, seed):
    net = of(drawn(layers, channels, seed), input_shape=(1, 6, 6))
    a, b = torch.randn(2, 1, 6, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(seed))
    found = net.line(a, b)
    assert (found.t.diff() > 0).all()
    middle = (found.t[:-1] + found.t[1:]) / 2
    scale = found.values.abs().max()
    assert (found.at(middle) - net(points_between(a, b, middle))).abs().max() <= 1e-10 * scale
    wide = found.t.diff() > 1e-9  # between bends that lie closer, a point cannot be put safely
    inside = [
        net.pattern(points_between(a, b, torch.lerp(found.t[:-1], found.t[1:], torch.tensor(s, dtype=DOUBLE))))
        for s in (0.1, 0.9)
    ]
    assert (inside[0] == inside[1]).all(1)[wide].all(), "a bend was missed"
    both = wide[:-1] & wide[1:]
    assert (inside[1][:-1] != inside[0][1:]).any(1)[both].all(), "nothing bends there"
    again = net.line(a, b, chunk=5)
    assert torch.equal(again.t, found.t)
    assert torch.equal(again.unit, found.unit)


@pytest.mark.parametrize("kind", LAYERS)
def test_between_bends_each_kind_of_layer_is_what_the_module_computes(kind):
    """Held against the module itself, at three places of each interval: a kink that is not looked for shows here."""
    model = drawn([kind, "conv"], 2, 7).eval()
    a, b = 4 * torch.randn(2, 1, 6, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(3))
    found = of(model, input_shape=(1, 6, 6)).line(a, b)
    assert len(found) > 50
    for share in (0.1, 0.5, 0.9):
        t = torch.lerp(found.t[:-1], found.t[1:], torch.full((), share, dtype=DOUBLE))
        with torch.no_grad():
            true = model(points_between(a, b, t))
        assert (found.at(t) - true).abs().max() <= 1e-10 * found.values.abs().max()


@pytest.mark.parametrize(("sizes", "leak"), [((1, 9, 1), 0.0), ((1, 8, 8, 8, 1), 0.0), ((1, 7, 7, 1), 0.1)])
def test_a_dense_network_bends_where_its_spline_does(sizes, leak):
    dense = ReLUNet.random(sizes, seed=3)
    dense = ReLUNet(dense.weights, dense.biases, leak=leak)
    net = of(dense.to_sequential().to(DOUBLE))
    found = net.line(torch.tensor([-4.0]), torch.tensor([4.0]))
    deep = deep_spline(dense.to(DOUBLE))
    true = deep.place[deep.vertex[deep.switches]].unique()
    true = true[(true > -4) & (true < 4)]
    assert len(found) == len(true)
    assert np.allclose(-4 + 8 * found.t[1:-1], true, atol=1e-9)


@pytest.mark.parametrize("width", [4, 12, 24])
@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_a_plane_network_has_the_pieces_of_the_dense_engine(width, leak):
    dense = ReLUNet.random((2, width, width, 3), seed=width)
    dense = ReLUNet(dense.weights, dense.biases, leak=leak)
    net = of(step_by_step(dense))
    assert net.dense is None
    ours, theirs = net.regions(), regions(dense)
    assert len(ours) == len(theirs)
    assert np.allclose(np.sort(ours.areas), np.sort(theirs.areas), atol=1e-12)
    (slopes, offsets), (true, _) = ours.maps(), theirs.maps()
    assert np.allclose(np.sort(slopes.ravel()), np.sort(true.ravel()), atol=1e-10)
    values = np.einsum("foi,fi->fo", slopes, ours.centres) + offsets
    assert np.allclose(values, net(torch.as_tensor(ours.centres)).numpy(), atol=1e-10)
    ends = [sum(np.linalg.norm(np.diff(chain, axis=0), axis=1).sum() for chain in boundary(c)) for c in (ours, theirs)]
    assert np.isclose(*ends)


DEGENERATE = {
    "duplicated": ([[1.0, 0.3], [1.0, 0.3], [0.2, -1.0]], [0.1, 0.1, 0.0]),
    "mirrored": ([[1.0, 0.3], [-1.0, -0.3], [0.2, -1.0]], [0.1, -0.1, 0.0]),
    "parallel": ([[1.0, 0.3], [1.0, 0.3], [2.0, 0.6]], [0.1, 0.2, -0.9]),
    "through one point": ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.0, 0.0]),
    "dead": ([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [-1.0, 0.3, 0.0]),
    "through corners": ([[1.0, 1.0], [1.0, -1.0], [1.0, 0.0]], [0.0, 0.0, 1.0]),
    "huge and tiny": ([[1e8, 3e7], [1e8, -2e7], [2e8, 1e7]], [1e7, 0.0, 3e7]),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_what_breaks_others(name):
    weights, biases = DEGENERATE[name]
    second = [[1.0, -0.4, 0.3], [0.5, 0.5, -1.0], [1.0, -0.4, 0.3]]
    dense = ReLUNet([weights, second, [[1.0, 1.0, -1.0]]], [biases, [0.05, -0.1, 0.05], [0.0]])
    ours, theirs = of(step_by_step(dense)).regions(), regions(dense)
    assert len(ours) == len(theirs)
    assert np.isclose(ours.areas.sum(), 4.0)
    assert np.allclose(np.sort(ours.areas), np.sort(theirs.areas), atol=1e-12)


@pytest.mark.parametrize(("sizes", "leak"), [((2, 9, 7, 3), 0.0), ((5, 8, 70, 1), 0.2), ((2, 3), 0.0)])
def test_a_dense_chain_is_handed_to_the_kernels_for_dense_networks(sizes, leak):
    dense = ReLUNet.random(sizes, seed=5)
    dense = ReLUNet(dense.weights, dense.biases, leak=leak)
    nets = of(nn.Sequential(*dense.to_sequential().to(DOUBLE), nn.Identity())), of(step_by_step(dense), sizes[0])
    assert (nets[0].dense is None, nets[1].dense is None) == (False, True)
    plane = torch.randn(3, sizes[0], dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    one, other = (net.plane(*plane, window=((-1, 2), (0, 1))) for net in nets)
    assert len(one) == len(other)
    assert (len(sizes) == 2) == (len(one) == 1)
    assert {row.tobytes() for row in one.pattern} == {row.tobytes() for row in other.pattern}
    for each in ("areas", "vertices", "values"):
        assert np.allclose(*(np.sort(getattr(found, each), axis=0) for found in (one, other)), atol=1e-12)
    assert sorted(zip(one.layer, one.unit)) == sorted(zip(other.layer, other.unit))
    assert np.allclose(*(np.sort(found.maps()[0].ravel()) for found in (one, other)), atol=1e-12)
    assert len(decision(one)[0]) == len(decision(other)[0])


@pytest.mark.parametrize("kept", [2**30, 50_000, 0])
def test_each_corner_goes_through_each_layer_once_while_memory_lasts(monkeypatch, kept):
    monkeypatch.setattr("foldnet.piecewise._passes.KEPT", kept)
    monkeypatch.setattr("foldnet.piecewise.plane.BUDGET", {"cpu": 50_000})
    net = of(drawn(["residual", "leak", "norm"], 2, 5), input_shape=(1, 6, 6))
    seen: dict[str, int] = {}
    for name in ("first", "convs.2"):
        count = lambda part, given, name=name: seen.update({name: seen.get(name, 0) + len(given[0])})  # noqa: E731
        net.graph.parts[name].register_forward_pre_hook(count)
    plane = torch.randn(3, 1, 6, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    found = net.plane(*plane, window=0.2)
    once = seen["convs.2"] <= 1.3 * len(found.vertices)
    assert once == (kept == 2**30), f"{seen['convs.2']} passes for {len(found.vertices)} corners"
    monkeypatch.undo()
    again = net.plane(*plane, window=0.2)
    assert len(found) == len(again) > 100
    assert np.allclose(np.sort(found.areas), np.sort(again.areas), atol=1e-12)


def test_a_plane_through_a_network_with_convolutions():
    model = drawn(["residual", "norm", "leak", "larger"], 2, 5)
    net = of(model, input_shape=(1, 6, 6))
    origin, u, v = torch.randn(3, 1, 6, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    found = net.plane(origin, u, v, window=0.3)
    assert len(found) > 300
    assert np.isclose(found.areas.sum(), 0.36)
    assert len(np.unique(found.pattern, axis=0)) == len(found), "two pieces have one pattern"
    slopes, offsets = found.maps()
    grid = np.random.default_rng(0).uniform(-0.3, 0.3, (4000, 2))
    seen = net.pattern(found.net.inputs(grid)).numpy()
    known = {row.tobytes(): f for f, row in enumerate(found.pattern)}
    faces = np.array([known.get(row.tobytes(), -1) for row in seen])
    assert (faces >= 0).all(), "a pattern that random points meet has no piece"
    values = np.einsum("foi,fi->fo", slopes[faces], grid) + offsets[faces]
    assert np.allclose(values, found.net(grid).numpy(), atol=1e-10)
    step = [net.graph.kinked[layer] for layer in np.unique(found.layer[found.layer >= 0])]
    assert step == net.graph.kinked
    assert (found.unit[found.layer >= 0] >= 0).all()


@pytest.mark.parametrize("window", [0.5, ((-0.5, 0.5), (-0.5, 0.5)), ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))])
def test_windows(window):
    net = of(ReLUNet.random((2, 6, 1), seed=0).to_sequential().to(DOUBLE))
    assert np.isclose(net.regions(window).areas.sum(), 1.0)


def test_windows_that_are_none():
    net = of(ReLUNet.random((2, 6, 1), seed=0).to_sequential().to(DOUBLE))
    for window, words in [
        (((1.0, 0.0), (0.0, 1.0)), "is not empty"),
        ((1.0, 2.0, 3.0), "a window is"),
        (((0, 0), (1, 1), (0.2, 0.2)), "convex"),
    ]:
        with pytest.raises(ValueError, match=words):
            net.regions(window)
    with pytest.raises(ValueError, match="raise most=2"):
        net.regions(most=2)
    with pytest.raises(ValueError, match="different directions"):
        net.plane(torch.zeros(2), torch.ones(2), 2 * torch.ones(2))
    with pytest.raises(ValueError, match="a plane in 3 dimensions has an origin and two axes"):
        of(nn.Sequential(nn.Linear(3, 1))).regions()


def test_the_margin_is_how_far_the_pattern_holds():
    net = of(drawn(["residual", "relu6"], 2, 2), input_shape=(1, 6, 6))
    x, way = torch.randn(2, 1, 6, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(4))
    here, far = net.pattern(x), net.margin(x, way)
    assert torch.equal(net.pattern(x + 0.999 * far * way), here)
    assert not torch.equal(net.pattern(x + 1.001 * far * way), here)
    near = net.margin(x)
    assert near <= far * way.norm()
    for k in range(20):
        step = torch.randn(x.shape, dtype=DOUBLE, generator=torch.Generator().manual_seed(k))
        assert torch.equal(net.pattern(x + 0.999 * near * step / step.norm()), here)
        assert net.margin(x, step / step.norm()) >= near * (1 - 1e-12)


@pytest.mark.parametrize("chain", [True, False])
def test_a_window_that_would_do_is_named(chain):
    dense = ReLUNet.random((2, 30, 30, 1), seed=0).to(DOUBLE)
    net = of(dense.to_sequential() if chain else step_by_step(dense))
    window = np.array([[-1.0, -1.0], [3.0, -1.0], [3.0, 1.0], [-1.0, 1.0]])
    whole, most = len(net.regions(window)), 200
    assert whole > 2 * most
    with pytest.raises(
        ValueError, match=r"a smaller window, .* times as wide \(some 1\d\d pieces\), or raise most=200"
    ) as caught:
        net.regions(window, most=most)
    share = float(re.search(r"([\d.]+) times as wide", str(caught.value))[1])
    assert most / 3 < len(net.regions(window.mean(0) + share * (window - window.mean(0)), most=most)) <= most


def test_margins_and_maps_of_many_points_are_those_of_each():
    net = of(drawn(["residual", "relu6", "prelu"], 2, 2), input_shape=(1, 6, 6))
    x, way = torch.randn(5, 1, 6, 6, dtype=DOUBLE), torch.randn(1, 6, 6, dtype=DOUBLE)
    for how in ({}, {"direction": way}):
        found = net.margin(x, **how)
        assert found.tolist() == pytest.approx([net.margin(point, **how) for point in x], rel=1e-9)
    near, each, u = net.affine(x), [net.affine(point) for point in x], torch.tensor([1.0, -2.0], dtype=DOUBLE)
    for many, few in (
        (near.matrix, [m.matrix for m in each]),
        (near.offset, [m.offset for m in each]),
        (near @ way, [m @ way for m in each]),
        (near @ x, [m @ p for m, p in zip(each, x)]),
        (near.transposed(u), [m.transposed(u) for m in each]),
    ):
        torch.testing.assert_close(many, torch.stack(few), rtol=0, atol=1e-12)
    assert net.margin(x[:0]).shape == (0,)
    with pytest.raises(ValueError, match="one for each of 5 points; got 2"):
        near @ x[:2]
    assert repr(near).startswith("LocalMap(2 x 36, at each of 5 points of a PiecewiseLinear(input 1x6x6")
    assert repr(each[0]).startswith("LocalMap(2 x 36, at one point of a PiecewiseLinear(")


def test_matrices_that_memory_does_not_hold_are_refused_with_a_number_that_would_do(monkeypatch):
    monkeypatch.setattr("foldnet.piecewise._local.free_memory", lambda device: 100_000.0)
    net = of(nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 20)).to(DOUBLE))
    with pytest.raises(ValueError, match=r"of 100 points .* take 15 points at a time"):
        net.jacobians(torch.zeros(100, 20))
    assert net.jacobians(torch.zeros(15, 20)).shape == (15, 20, 20)
    monkeypatch.setattr("foldnet.piecewise._local.free_memory", lambda device: 3_000.0)
    with pytest.raises(ValueError, match=r"affine\(x\) @ v has its products"):
        _ = net.affine(torch.zeros(20)).matrix


def test_arrays_that_nobody_may_write_to_are_points_without_a_warning():
    net, x = of(nn.Linear(2, 1).to(DOUBLE), 2), np.zeros(2)
    x.flags.writeable = False
    assert net(x).shape == (1,)


class FarAway(nn.Module):
    """A function that a trace of it does not show, but only far out."""

    def __init__(self):
        super().__init__()
        self.layer, self.far = nn.Linear(2, 3), Far()

    def forward(self, x):
        return self.far(torch.relu(self.layer(x)))


class Far(nn.Identity):
    def __call__(self, x):
        return x if isinstance(x, torch.fx.Proxy) or x.abs().max() < 50 else x * 0.0


def test_a_network_is_compared_with_the_module_at_points_of_ones_own():
    model = FarAway().to(DOUBLE)
    assert of(model, input_shape=2).output_shape == (3,)
    with pytest.raises(NotPiecewiseLinear, match="other outputs than the module at points that are given"):
        of(model, x=100 * torch.randn(9, 2, dtype=DOUBLE))
    convs = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten()).to(DOUBLE)
    assert of(convs, x=torch.randn(7, 1, 5, 5)).input_shape == (1, 5, 5), "points have the shape of an input"
    with pytest.raises(ValueError, match=r"a point has the shape \(1, 5, 5\)"):
        of(convs, (1, 5, 5), x=torch.randn(7, 1, 4, 4))


def test_the_local_map():
    net = of(drawn(["pool", "larger"], 2, 3), input_shape=(1, 6, 6))
    x, v = torch.randn(2, 1, 6, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    near = net.affine(x)
    assert torch.allclose(near.matrix @ x.flatten() + near.offset, net(x))
    assert torch.allclose(near @ v, near.matrix @ v.flatten())
    assert torch.allclose(
        near.transposed(torch.tensor([1.0, -2.0])).flatten(), near.matrix.T @ torch.tensor([1.0, -2.0]).to(DOUBLE)
    )
    assert torch.allclose(net.jacobians(torch.stack([x, v]))[0], near.matrix)
    assert net(torch.stack([x, v])).shape == (2, 2)


# ---- what is taken, and what is not ----------------------------------------------------------------------------------


def test_the_module_is_left_as_it_was():
    model = drawn(["norm", "pool"], 2, 0)
    model.norms[0].eval()
    modes, state = [m.training for m in model.modules()], {k: v.clone() for k, v in model.state_dict().items()}
    net = of(model, input_shape=(1, 6, 6))
    net.line(torch.zeros(1, 6, 6), torch.ones(1, 6, 6))
    assert [m.training for m in model.modules()] == modes
    assert all(torch.equal(v, state[k]) for k, v in model.state_dict().items())
    assert all(p.requires_grad for p in model.parameters())


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class Squared(nn.Module):
    def forward(self, x):
        return x * x


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.last = nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x):
        return self.last(torch.relu(self.layer(torch.relu(self.layer(x)))))


def test_a_layer_of_ones_own_and_a_shared_one_are_taken():
    for model in (nn.Sequential(nn.Sequential(Doubled(2, 4), nn.ReLU()), nn.Linear(4, 1)), Shared()):
        net = of(model.to(DOUBLE), input_shape=(2,))
        x = torch.randn(5, 2, dtype=DOUBLE)
        assert torch.allclose(net(x), model(x))
        assert len(net.regions(3.0)) > 1


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (nn.GELU(), "GELU"),
        (nn.Softmax(-1), "Softmax"),
        (Squared(), "multiplies or divides data by data"),
        (nn.LayerNorm(3), "LayerNorm"),
        (nn.BatchNorm1d(3, track_running_stats=False), "divides by its data"),
    ],
)
def test_what_is_not_piecewise_linear_is_refused_by_its_name(layer, words):
    with pytest.raises(NotPiecewiseLinear, match=words):
        of(nn.Sequential(nn.Linear(2, 3), layer, nn.Linear(3, 1)))


def test_a_smooth_head_can_be_cut_off():
    body = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4)).to(DOUBLE)
    net = of(nn.Sequential(body, nn.Softmax(-1)), input_shape=(2,), cut_head=True)
    x = torch.randn(3, 2, dtype=DOUBLE)
    assert torch.allclose(net(x), body(x))


def test_what_is_given_wrongly_is_told():
    with pytest.raises(ValueError, match="needs the shape of one input"):
        of(nn.Sequential(nn.Conv2d(1, 1, 3)))
    with pytest.raises(ValueError, match=r"does not take an input of shape \(1, 2\)"):
        of(nn.Sequential(nn.Linear(3, 1)), input_shape=(1, 2))
    net = of(nn.Sequential(nn.Linear(3, 1)))
    with pytest.raises(ValueError, match=r"a point has the shape \(3,\)"):
        net([1.0, 2.0])
    with pytest.raises(ValueError, match="more than 3 bends"):
        of(ReLUNet.random((1, 50, 1), seed=0).to_sequential()).line([-9.0], [9.0], most=3)
    with pytest.raises(NotPiecewiseLinear, match="another number of them"):
        of(nn.Bilinear(2, 2, 1))


class Digits(nn.Module):
    """Two convolutions and a dense layer that fixes the size of an image."""

    def __init__(self, head: nn.Module | None = None):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU(), nn.Conv2d(2, 2, 3), nn.Flatten(), nn.Linear(1568, 4))
        self.head = head

    def forward(self, x):
        return self.body(x) if self.head is None else self.head(self.body(x))


@pytest.mark.parametrize(
    ("module", "shape", "words"),
    [
        (Digits(), (1, 3, 32, 32), r"shape \(1, 3, 32, 32\), but one of shape \(3, 32, 32\): leave out the batch"),
        (Digits(), (64, 3, 32, 32), r"one of shape \(3, 32, 32\): leave out the batch"),
        (Digits(), (3, 28, 28), r"shape \(3, 28, 28\), but one of shape \(3, 32, 32\) \("),
        (Digits(), (1, 28, 28), r"but one of shape \(3, 32, 32\) \("),
        (Digits(), (32, 32), r"but one of shape \(3, 32, 32\) \("),
        (nn.Sequential(nn.Flatten(), nn.Linear(784, 2)), (3, 28, 28), r"but one of shape \(784,\) \("),
        (nn.Sequential(nn.Linear(5, 2), nn.BatchNorm1d(2)), (1, 5), r"one of shape \(5,\): leave out the batch"),
        (nn.Sequential(nn.Flatten(), nn.Flatten(0)), (3, 28), r"after .* points do not stand one by one"),
    ],
)
def test_of_a_shape_that_does_not_fit_one_that_does_is_named(module, shape, words):
    with pytest.raises(ValueError, match=words):
        of(module, input_shape=shape)


def test_a_network_of_images_is_told_of_planes_and_of_a_batch():
    net = of(Digits(), (3, 32, 32))
    with pytest.raises(ValueError, match=r"in 3072 dimensions has an origin and two axes: .*net.plane\(origin, u, v, window\)"):
        net.regions()
    with pytest.raises(ValueError, match=r"to another: leave out the batch, as in a\[0\]"):
        net.line(torch.zeros(1, 3, 32, 32), torch.ones(3, 32, 32))


@pytest.mark.parametrize("head", [nn.Softmax(1), nn.LogSoftmax(1), nn.Sequential(nn.LogSoftmax(1), nn.Sigmoid())])
def test_of_a_smooth_end_it_is_said_how_to_do_without(head):
    words = r"Softmax\) is not piecewise linear: end the module before it, with the logits, or say of\(model, cut_head=True\)"
    with pytest.raises(NotPiecewiseLinear, match=words):
        of(Digits(head), (3, 32, 32))
    assert of(Digits(head), (3, 32, 32), cut_head=True).output_shape == (4,)
    with pytest.raises(NotPiecewiseLinear, match=r"Sigmoid\) is not piecewise linear; foldnet.geometry.grid"):
        of(nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 2), nn.Softmax(1)))


def test_what_takes_long_shows_a_bar_that_comes_to_its_end(monkeypatch):
    """On a terminal; where nobody looks, or with progress=False, there is none."""
    bars = []

    def seen(*given, **named):
        bars.append(tqdm(*given, **{**named, "file": io.StringIO()}))
        return bars[-1]

    tqdm = pytest.importorskip("tqdm").tqdm
    net = of(drawn(["residual", "pool"], 2, 5), input_shape=(1, 6, 6))
    a, b, c = torch.randn(3, 1, 6, 6, dtype=DOUBLE)
    monkeypatch.setattr("tqdm.tqdm", seen)
    calls = {
        "unit": lambda **how: net.margin(torch.stack([a, b]), **how),
        "point": lambda **how: net.margin(torch.stack([a, b]), c, **how),
        "%": lambda **how: net.line(a, b, chunk=8, **how).t.tolist(),
        "step": lambda **how: len(net.plane(a, b, c, window=0.1, **how)),
    }
    quiet = [str(call()) for call in calls.values()]
    assert not bars
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert [str(call(progress=False)) for call in calls.values()] == quiet
    assert not bars
    assert [str(call()) for call in calls.values()] == quiet
    assert [shown.unit for shown in bars] == list(calls)
    assert [shown.n for shown in bars] == [shown.total for shown in bars] == [2 * len(net.columns), 2, 100, len(net.graph.kinked)]


def test_a_margin_is_a_distance_and_along_a_step_a_share_of_it():
    net = of(drawn(["residual", "pool"], 2, 5), input_shape=(1, 6, 6))
    a, b = torch.randn(2, 1, 6, 6, dtype=DOUBLE)
    assert net.margin(a, b - a) == pytest.approx(float(net.line(a, b).t[1]))
    assert net.margin(a, (b - a) / 2) == pytest.approx(2 * net.margin(a, b - a))
    assert net.margin(a) < net.margin(a, b - a) * float((b - a).norm())
