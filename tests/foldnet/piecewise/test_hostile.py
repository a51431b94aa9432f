"""Modules that try to mislead a trace: each is computed rightly or refused in a sentence."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from foldnet.piecewise.net import of

DOUBLE = torch.float64


class Made(nn.Module):
    """A network of four inputs whose forward pass is given."""

    def __init__(self, forward):
        super().__init__()
        self.run = forward
        self.first, self.middle, self.last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 3)
        self.narrow, self.one = nn.Linear(4, 3), nn.Linear(8, 1)
        self.weight, self.level = nn.Parameter(torch.randn(3, 8)), nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self, x)


def made(forward) -> nn.Module:
    torch.manual_seed(0)
    return Made(forward).double().eval()


def hidden(forward):
    """A forward pass of which only what follows the first layer is given."""
    return lambda net, x: forward(net, net.first(x))


def sized(net: Made, h: Tensor) -> Tensor:
    rows = h.size(0) * 1
    return net.last(net.middle(h.relu()).relu().view(rows, 8))


def halved(net: Made, h: Tensor) -> Tensor:
    parts = h.chunk(2, 1)
    return net.narrow(parts[0].relu()) + net.narrow(parts[1])


def early(net: Made, h: Tensor) -> Tensor:
    weight = net.weight
    return F.linear(net.middle(h.relu()).relu(), weight)


def checked(net: Made, h: Tensor) -> Tensor:
    """What forward passes ask of shapes, after a layer as well."""
    if h.dim() != 2 or net.middle(h).shape[-1] != 8:
        raise ValueError("rows are needed")
    assert h.shape[1] == net.weight.shape[1], "eight of them"
    return net.last(h.relu() if h.size(-1) > 4 else h)


RIGHT = {
    "shapes that are asked for": checked,
    "weights read before a kink": early,
    "parts of a chunk used after a kink": halved,
    "arithmetic with the number of points": sized,
    "an activation's input by name": lambda net, h: net.last(F.relu(input=h)),
    "both of a maximum by name": lambda net, h: net.last(torch.maximum(input=h, other=-h)),
    "a constant first in a maximum": lambda net, h: net.last(torch.maximum(net.level, 4 * h)),
    "outputs without a dimension": lambda net, h: net.one(h.relu()).squeeze(-1),
    "a layer used twice": lambda net, h: net.last(net.middle(net.middle(h.relu()).relu()).relu()),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    module = made(hidden(RIGHT[name]))
    net = of(module, input_shape=4)
    a, b, way = 3 * torch.randn(3, 4, dtype=DOUBLE)
    line, t = net.line(a, b), torch.linspace(0, 1, 300, dtype=DOUBLE)
    assert len(line) >= 2
    with torch.no_grad():
        torch.testing.assert_close(line.at(t), module(torch.lerp(a, b, t[:, None])), rtol=0, atol=1e-12)
    found = net.plane(a, b - a, way, window=0.5)
    slopes, offsets = found.maps()
    centres = torch.as_tensor(found.centres)
    with torch.no_grad():
        want = module(a + centres @ torch.stack([b - a, way])).reshape(len(found), -1)
    got = (torch.as_tensor(slopes) @ centres[..., None]).squeeze(-1) + torch.as_tensor(offsets)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


REFUSED = {
    "data times itself by name": (lambda net, h: net.last(torch.mul(h, other=h).relu()), "multiplies or divides data by data"),
    "a smooth step after .data": (lambda net, h: net.last(torch.tanh(h.data)), "tanh"),
    "rounding": (lambda net, h: net.last(torch.div(h, 100.0, rounding_mode="floor") + h.relu()), "rounds"),
    "points less their mean": (lambda net, h: net.last(h.relu() - h.mean(0)), "one by one"),
    "one sum over all points": (lambda net, h: net.last(h.relu()).sum(), "one by one"),
    "squeeze without a dimension": (lambda net, h: net.one(h.relu()).squeeze(), "one by one"),
    "pairs of points": (lambda net, h: net.last(h.view(-1, 16).relu()[:, :8]), "does not take an input|one by one"),
    "dropout that is always on": (lambda net, h: net.last(F.dropout(h.relu(), 1e-3)), "training=self.training"),
    "statistics of the batch": (
        lambda net, h: net.last(F.batch_norm(h, None, None, training=True).relu()),
        "training=self.training",
    ),
    "a result of relu_ thrown away": (lambda net, h: (torch.relu_(h), net.last(h))[1], "in place"),
    "another thing with several points": (
        lambda net, h: net.last(h.relu() if h.shape[0] > 1 else h),
        "one thing with one point and another with several",
    ),
    "a branch": (lambda net, h: net.last(h.relu()) if h.sum() > 0 else net.last(h), "cannot be traced"),
    "two outputs": (lambda net, h: (h.relu(), h), "one output tensor"),
    "a constant": (lambda net, h: net.weight, "one output tensor"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    forward, sentence = REFUSED[name]
    for module in (made(hidden(forward)), made(hidden(forward)).float()):
        with pytest.raises(ValueError, match=sentence):
            of(module, input_shape=4)


def test_a_question_of_shapes_needs_one():
    with pytest.raises(ValueError, match=r"asks for a shape: say of\(model, input_shape=...\)"):
        of(made(hidden(checked)))
    model = made(hidden(checked)).float()
    assert len(of(model, 4).cells(torch.zeros(4))) > 1, "in double precision too"
    model = made(hidden(lambda net, h: net.last(h.relu()) if h.dim() == 2 else h))
    assert of(model, 4).wrong(torch.randn(40, 4), torch.randn(40, 3), k=1).grow().first.out_features == 9


def chain() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).double()


def test_what_no_trace_shows_is_refused():
    hooked = [chain() for _ in range(3)]
    hooked[0].register_forward_pre_hook(lambda _, given: (given[0].clamp(-4, 4),))
    hooked[1][1].register_forward_hook(lambda _, __, out: out.clamp(max=100.0))
    hooked[2] = chain()
    hooked[2][0].register_forward_pre_hook(print)
    for module in hooked:
        with pytest.raises(ValueError, match="has a hook"):
            of(module)
    patched = chain()
    patched[0].forward = lambda x: F.linear(x, patched[0].weight).clamp(max=100.0)
    with pytest.raises(ValueError, match="'0' has a forward of its own"):
        of(patched)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (lambda x: x, "torch.nn.Module is needed"),
        (chain().half(), r"of\(model.float\(\)\)"),
        (chain().to("meta"), "0.weight has numbers that are NaN or infinite, or none at all"),
        (nn.Sequential(nn.LazyLinear(3)), "has no shape yet"),
        (nn.Sequential(nn.Linear(4, 8), nn.Hardswish()), "Hardswish"),
        (nn.Sequential(nn.MaxPool1d(2, return_indices=True)), "returns indices"),
    ],
)
def test_odd_modules(module, sentence):
    with pytest.raises(ValueError, match=sentence):
        of(module, input_shape=4)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(number):
    module = chain()
    module[2].weight.data[0, 0] = number
    with pytest.raises(ValueError, match=r"2\.weight has numbers that are NaN"):
        of(module)


def test_points_that_are_none():
    net, ones = of(chain()), torch.ones(4, dtype=DOUBLE)
    for point in (ones * torch.nan, ones * torch.inf):
        for ask in (net.affine, net.margin, net.cell, net.pattern, net.cells):
            with pytest.raises(ValueError, match="NaN or infinite"):
                ask(point)
        with pytest.raises(ValueError, match="NaN or infinite"):
            net.margin(ones, point)
        with pytest.raises(ValueError, match="NaN or infinite"):
            net.plane(point, torch.eye(4)[0], torch.eye(4)[1])
    with pytest.raises(ValueError, match="real numbers"):
        net.line(ones.to("meta"), ones)
    with pytest.raises(ValueError, match="one point or more"):
        net.jacobians(torch.zeros(0, 4))
    with pytest.raises(ValueError, match="at least 1"):
        net.line(ones, -ones, chunk=-1)


def test_points_that_want_gradients():
    net, point = of(chain()), torch.ones(4, dtype=DOUBLE, requires_grad=True)
    near = net.affine(point)
    answers = (near.matrix, near.offset, near @ point, net.line(point, -point).values, net.jacobians(point[None]))
    assert not any(answer.requires_grad for answer in (*answers, near.transposed(torch.ones(3, requires_grad=True))))
    (gradient,) = torch.autograd.grad(net(point)[0], point)
    torch.testing.assert_close(gradient, near.matrix[0])


def test_no_kinks_at_all():
    net, zero = of(nn.Linear(4, 3).double(), input_shape=4), torch.zeros(4)
    assert net.margin(zero) == float("inf")
    assert len(net.cells(zero)) == 1
    assert len(net.cell(zero).rows) == 0
    assert len(net.line(zero, zero + 1)) == 0
    assert len(net.plane(zero, torch.eye(4)[0], torch.eye(4)[1])) == 1


def test_many_units_are_drawn_some_at_a_time(monkeypatch):
    torch.manual_seed(1)
    layers = [nn.Linear(2, 130), nn.ReLU(), nn.Linear(130, 70), nn.ReLU(), nn.Linear(70, 1), nn.Flatten()]
    net = of(nn.Sequential(*layers).double())
    whole = net.regions(0.4)
    monkeypatch.setattr("foldnet.piecewise._cut.ROOM", 0)
    parts = net.regions(0.4)
    assert len(parts) == len(whole)
    assert sorted(zip(parts.layer, parts.unit)) == sorted(zip(whole.layer, whole.unit))
    assert sorted(parts.areas) == pytest.approx(sorted(whole.areas), abs=1e-12)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "more pieces than memory holds at _1: take a smaller window"),
        (ValueError("too close"), r"of\(model.double\(\)\)"),
    ],
)
def test_a_window_that_is_too_much_is_refused(monkeypatch, error, sentence):
    def draw(*_):
        raise error

    monkeypatch.setattr("foldnet.piecewise._cut.Drawing.draw", draw)
    with pytest.raises(ValueError, match=sentence):
        of(nn.Sequential(nn.Linear(2, 3), nn.ReLU())).regions(9)


def test_a_dense_chain_that_memory_does_not_hold_is_refused_too(monkeypatch):
    def none(*_):
        raise MemoryError

    monkeypatch.setattr("foldnet.piecewise._cut.regions", none)
    with pytest.raises(ValueError, match=r"more pieces than memory holds: take a smaller window$"):
        of(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)).double()).regions(9)
