"""Layer by layer: what the module computes, at random points, in its derivative, on a line and on a plane; or a refusal."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from foldnet.piecewise.net import of

DOUBLE = torch.float64
CONVOLUTION = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}


class Step(nn.Module):
    """A layer that is given as a function; `constant` is a part of it."""

    def __init__(self, run):
        super().__init__()
        self.run, self.constant = run, nn.Parameter(torch.randn(4, 4))

    def forward(self, h: Tensor) -> Tensor:
        return self.run(self, h)


def network(layer, dims: int) -> nn.Module:
    """A convolution, a ReLU, the layer and a linear one, for an image of 4 pixels in each of `dims` directions."""
    torch.manual_seed(0)
    layer = layer if isinstance(layer, nn.Module) else Step(layer)
    body = nn.Sequential(CONVOLUTION[dims](1, 4, 3, padding=1), nn.ReLU(), layer, nn.Flatten()).double().eval()
    with torch.no_grad():
        features = body(torch.zeros(1, 1, *[4] * dims).double()).shape[1]
    return nn.Sequential(*body, nn.Linear(features, 2).double())


def less(h: Tensor) -> Tensor:
    """Numbers of both signs."""
    return 2 * h - 0.3


def where(z: Tensor) -> Tensor:
    return torch.where(z >= 0.25, 3 * z - 0.5, z)


def leaky(z: Tensor) -> Tensor:
    return torch.where(z > 0, 2 * z, -0.1 * z / 2)


def negative(z: Tensor) -> Tensor:
    return torch.where(z <= 0, torch.zeros_like(z), z)


def gated(z: Tensor) -> Tensor:
    return z * (z > 0) + 0.5 * z


AFFINE = {
    **{
        f"Upsample {mode}": (nn.Upsample(scale_factor=2, mode=mode), d)
        for mode, d in (("nearest", 1), ("linear", 1), ("area", 2))
    },
    **{f"Upsample {mode}": (nn.Upsample(scale_factor=1.5, mode=mode), 2) for mode in ("nearest-exact", "bilinear", "bicubic")},
    "Upsample trilinear": (nn.Upsample(scale_factor=2, mode="trilinear", align_corners=True), 3),
    "UpsamplingNearest2d": (nn.UpsamplingNearest2d(scale_factor=2), 2),
    "UpsamplingBilinear2d": (nn.UpsamplingBilinear2d(scale_factor=2), 2),
    "interpolate": (lambda net, h: F.interpolate(h, size=(3, 5), mode="bilinear"), 2),
    "interpolate to the size of another": (lambda net, h: F.interpolate(h[:, :, :2, :2], size=h.shape[2:]) + h, 2),
    "ReplicationPad1d": (nn.ReplicationPad1d(2), 1),
    "ReplicationPad3d": (nn.ReplicationPad3d(1), 3),
    "ReflectionPad3d": (nn.ReflectionPad3d(1), 3),
    **{f"CircularPad{d}d": (getattr(nn, f"CircularPad{d}d")(1), d) for d in (1, 2, 3)},
    "Unfold": (nn.Unfold(2), 2),
    "Fold": (nn.Sequential(nn.Unfold(2), nn.Fold((4, 4), 2)), 2),
    "unfold and fold": (lambda net, h: F.fold(F.unfold(h, 2, stride=2), (4, 4), 2, stride=2) + h, 2),
    "PixelUnshuffle": (nn.PixelUnshuffle(2), 2),
    "pixel_unshuffle": (lambda net, h: F.pixel_unshuffle(h, 2), 2),
    "ChannelShuffle": (nn.ChannelShuffle(2), 2),
    "repeat": (lambda net, h: h.repeat(1, 2, 1), 1),
    "tile, flip and roll": (lambda net, h: h.tile(2).flip(1).roll(1, 2), 1),
    "their functions": (lambda net, h: torch.roll(torch.flip(torch.tile(h, (2,)), (1,)), 1, 2), 1),
    "einsum with a constant": (lambda net, h: torch.einsum("ncp,cd->ndp", h, net.constant), 1),
    "RReLU": (nn.RReLU(0.1, 0.4), 2),
    "rrelu": (lambda net, h: F.rrelu(h - 0.3, 0.2, 0.3, training=net.training), 1),
    "FeatureAlphaDropout": (nn.FeatureAlphaDropout(), 2),
    "dropout2d": (lambda net, h: F.dropout2d(h, training=net.training), 2),
    "stacks": (lambda net, h: torch.hstack([h, torch.dstack((h, 2 * h))[..., :4]]), 1),
    "column_stack": (lambda net, h: torch.column_stack((h.flatten(1), h[:, 0, 0])), 1),
    "swapped axes": (lambda net, h: torch.swapaxes(h.swapdims(1, 2), 1, 2).moveaxis(1, 2), 1),
    "unbind": (lambda net, h: torch.unbind(h, 1)[1] + h.unbind(1)[0], 1),
    "select": (lambda net, h: h.select(1, 2) + torch.index_select(h, 1, torch.tensor([3, 0])).sum(1), 1),
    "cumsum, diff and tensor_split": (lambda net, h: torch.cumsum(h, 1)[:, 1:].tensor_split(2, 1)[0] + h.diff(dim=1)[:, :2], 1),
    "addmm": (lambda net, h: torch.addmm(net.constant[0, :1], h[:, 0], net.constant, alpha=2.0), 1),
    "bmm and like": (lambda net, h: h.matmul(net.constant).expand_as(h) + torch.ones_like(h) * 3, 1),
    "casts that change nothing": (lambda net, h: h.to(net.constant.dtype).double().type_as(h).view_as(h).clone(), 1),
    "channel slopes": (nn.PReLU(4, 0.3), 2),
    "InstanceNorm2d with a running mean": (nn.InstanceNorm2d(4, affine=True, track_running_stats=True), 2),
}
KINKED = {
    "max of two": (lambda net, h: torch.max(less(h), h.flip(1)), 2),
    "min of two": (lambda net, h: less(h).min(h.flip(1)), 1),
    "max of two by name": (lambda net, h: torch.max(less(h), other=net.constant), 2),
    "max along a dimension": (lambda net, h: less(h).max(dim=2)[0], 1),
    "max along pixels": (lambda net, h: torch.max(less(h), -1, keepdim=True).values, 2),
    "amax": (lambda net, h: less(h).amax((2, 3)), 2),
    "torch.amax": (lambda net, h: torch.amax(less(h).flatten(1), 1, keepdim=True), 1),
    "where it is positive": (lambda net, h: leaky(less(h)), 1),
    "where, from another place": (lambda net, h: where(h - 0.2), 2),
    "where it is negative": (lambda net, h: negative(less(h)), 1),
    "gated": (lambda net, h: gated(less(h)), 1),
    "clamp_min": (lambda net, h: less(h).clamp_min(0.1), 1),
    "clamp_max": (lambda net, h: torch.clamp_max(less(h), max=0.2), 2),
    "Softshrink": (nn.Sequential(Step(lambda net, h: less(h)), nn.Softshrink(0.2)), 1),
    "softshrink": (lambda net, h: F.softshrink(3 * less(h)), 1),
    "Threshold": (nn.Threshold(0.2, 0.2), 2),
    "threshold": (lambda net, h: F.threshold(less(h), -0.1, -0.1), 1),
    "AdaptiveMaxPool1d": (nn.AdaptiveMaxPool1d(2), 1),
    "AdaptiveMaxPool2d": (nn.AdaptiveMaxPool2d((2, None)), 2),
    "AdaptiveMaxPool3d": (nn.AdaptiveMaxPool3d((4, 2, 1)), 3),
    "adaptive_max_pool2d": (lambda net, h: F.adaptive_max_pool2d(h, (1, 2)), 2),
    "max_pool1d, rounded up": (lambda net, h: F.max_pool1d(h, 3, stride=2, padding=1, ceil_mode=True), 1),
}
LAYERS = {**AFFINE, **KINKED}


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch's, of Upsample nearest-exact
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_what_the_module_computes(name):
    model = network(*LAYERS[name])
    shape = (1, *[4] * LAYERS[name][1])
    net = of(model, shape)
    x = torch.randn(12, *shape, dtype=DOUBLE)
    with torch.no_grad():
        torch.testing.assert_close(net(x), model(x), rtol=0, atol=1e-12)
    slope = torch.autograd.functional.jacobian(lambda p: model(p[None])[0], x[0]).flatten(1)
    torch.testing.assert_close(net.jacobians(x[:2])[0], slope, rtol=0, atol=1e-12)
    torch.testing.assert_close(net.affine(x[0]).matrix @ x[0].flatten() + net.affine(x[0]).offset, model(x[0][None])[0].detach())
    line, t = net.line(3 * x[0], 3 * x[1]), torch.linspace(0, 1, 400, dtype=DOUBLE)
    with torch.no_grad():
        between = torch.lerp(3 * x[:1], 3 * x[1:2], t.view(-1, *[1] * len(shape)))
        torch.testing.assert_close(line.at(t), model(between), rtol=0, atol=1e-11)


@pytest.mark.parametrize("cut", [lambda net, h: h.detach(), lambda net, h: h.data], ids=["detach", "data"])
def test_what_cuts_derivatives_off_cuts_no_map_off(cut):
    net = of(network(cut, 1), (1, 4))
    x, step = torch.randn(2, 1, 4, dtype=DOUBLE)
    near, step = net.affine(x), step * 1e-6
    assert near.matrix.abs().max() > 1e-3
    torch.testing.assert_close(near @ step, net(x + step) - net(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", KINKED)
def test_a_layer_with_kinks_bends_and_cuts(name):
    model, shape = network(*KINKED[name]), (1, *[4] * KINKED[name][1])
    net = of(model, shape)
    own = len(net.graph.kinked) - 1
    assert own == 1, "a ReLU, and one step that bends"
    a, b, way = torch.randn(3, *shape, dtype=DOUBLE)
    line = net.line(3 * a, 3 * b)
    assert (line.step == own).any(), "it bends nowhere on this line"
    found = net.plane(a, b - a, way, window={1: 1.0, 2: 0.3, 3: 0.03}[len(shape) - 1])
    assert (found.layer == own).any(), "it cuts nothing in this window"
    slopes, offsets = map(torch.as_tensor, found.maps())
    centres = torch.as_tensor(found.centres)
    with torch.no_grad():
        true = model(found.net.inputs(centres))
    torch.testing.assert_close((slopes @ centres[..., None]).squeeze(-1) + offsets, true, rtol=0, atol=1e-11)


REFUSED = {
    "AdaptiveMaxPool2d of several sizes": (
        nn.AdaptiveMaxPool2d(3),
        2,
        r"\[4, 4\] pixels to \[3, 3\], in windows",
    ),
    "the largest of all": (lambda net, h: h - torch.max(h), 1, "of two tensors, along a dimension"),
    "the largest of all points": (lambda net, h: h.amax(0)[None] + h, 1, "stand one by one"),
    "the largest of everything": (lambda net, h: h - h.amax(), 1, "needs the dimension"),
    "min along a dimension": (lambda net, h: h.min(1).values, 1, "of two tensors, along a dimension"),
    "where it is largest": (lambda net, h: h.max(1).indices + h[:, 0], 1, "indices"),
    "a choice that jumps": (lambda net, h: torch.where(h > 0.1, h, 0.0), 1, "visibly meet"),
    "a choice by another number": (lambda net, h: h * (h.flip(1) > 0), 1, "visibly meet"),
    "a comparison as a number": (lambda net, h: h + (h > 0), 1, "visibly meet"),
    "a comparison of two": (lambda net, h: torch.where(h > h.flip(1), h, h.flip(1)), 1, "visibly meet"),
    "a threshold that jumps": (nn.Threshold(0.1, 20.0), 1, "jumps from 20.0 to 0.1"),
    "a cast": (lambda net, h: h.float().double(), 1, r"float_1 rounds torch.float64 to torch.float32"),
    "sums over points": (lambda net, h: h.cumsum(0), 1, "mixes"),
    "rrelu as in training": (lambda net, h: F.rrelu(h, training=True), 1, "training=self.training"),
    "Hardshrink": (nn.Hardshrink(), 1, r"\(Hardshrink\) jumps"),
    "Hardswish": (nn.Hardswish(), 1, r"\(Hardswish\) is quadratic between -3 and 3"),
    "hardswish": (lambda net, h: F.hardswish(h), 1, r"\(hardswish\) is quadratic between -3 and 3"),
    "LayerNorm": (nn.LayerNorm(4), 1, r"\(LayerNorm\) divides by its data"),
    "GroupNorm": (nn.GroupNorm(2, 4), 1, r"\(GroupNorm\) divides by its data"),
    "layer_norm": (lambda net, h: F.layer_norm(h, (4,)), 1, r"\(layer_norm\) divides by its data"),
    "InstanceNorm": (nn.InstanceNorm1d(4), 1, "divides by its data"),
    "einsum of data with itself": (lambda net, h: torch.einsum("ncp,ncp->ncp", [h, h]), 1, "multiplies or divides data by data"),
    "einsum of data with data": (lambda net, h: torch.einsum("ncp,ncp->ncp", h, 2 * h), 1, "multiplies or divides data by data"),
    "weight_norm": (
        parametrizations.weight_norm(nn.Conv1d(4, 4, 1)),
        1,
        r"'2' computes its weight: .*remove_parametrizations",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_layer_that_is_none_is_refused_in_a_sentence(name):
    layer, dims, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        of(network(layer, dims), (1, *[4] * dims))


def test_without_its_parametrization_a_layer_is_taken():
    model = network(parametrizations.weight_norm(nn.Conv1d(4, 4, 1)), 1)
    nn.utils.parametrize.remove_parametrizations(model[2], "weight")
    x = torch.randn(5, 1, 4, dtype=DOUBLE)
    torch.testing.assert_close(of(model, (1, 4))(x), model(x))


@pytest.mark.parametrize("pool", [nn.MaxPool2d(2), nn.AdaptiveMaxPool2d(2)])
def test_a_pooling_over_points_is_refused(pool):
    with pytest.raises(ValueError, match="pools over 2 of the 2 dimensions of a point: one for channels belongs before them"):
        of(nn.Sequential(pool).double(), (4, 4))


def test_matrices_of_many_points_are_those_of_each_also_of_what_is_constant():
    class Flat(nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale, self.linear = scale, nn.Linear(4, 3)

        def forward(self, x):
            return self.linear(torch.zeros_like(x) if not self.scale else self.scale * x.relu())

    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    for scale in (0, 2):
        net = of(Flat(scale), input_shape=4)
        assert torch.allclose(net.jacobians(x), torch.stack([net.affine(point).matrix for point in x]))
