"""Modules that torch.fx cannot trace: by torch.export they are the same function, with the same bends."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from foldnet.piecewise.net import of
from foldnet.piecewise.trace import Tracer

DOUBLE = torch.float64


class Made(nn.Module):
    """A network of four inputs with a forward pass that no symbol gets through."""

    def __init__(self, forward):
        super().__init__()
        self.run, self.first, self.last = forward, nn.Linear(4, 8), nn.Linear(8, 3)
        self.conv, self.norm, self.slope = nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.PReLU(2, 0.3)

    def forward(self, x):
        assert isinstance(x, torch.Tensor)
        return self.run(self, x)


def looped(net, x):
    h = net.first(x)
    for k in range(x.shape[1]):  # a size is no number to torch.fx
        h = F.relu(h + k * 0.25 - 0.5)
    return net.last(h)


def unpacked(net, x):
    return net.last(torch.cat([part.relu() - 0.3 for part in net.first(x).split(3, 1)], 1))


def listed(net, x):
    return net.last(torch.stack([abs(row) for row in net.first(x).unbind(1)], 1))


def seen(net, x):
    image = x.view(x.shape[0], 1, 2, 2)
    h = F.max_pool2d(net.slope(net.norm(net.conv(image))), 2, 1)
    return F.hardtanh(h.flatten(1)) + F.leaky_relu(image[:, :, 1, :].flatten(1) @ torch.ones(2, 2, dtype=x.dtype), 0.2)


WAYS = {"a loop over sizes": looped, "parts in a list": unpacked, "a list of columns": listed, "images, and their rows": seen}


@pytest.mark.parametrize("name", WAYS)
def test_what_torch_fx_cannot_trace_is_exported(name):
    torch.manual_seed(0)
    module = Made(WAYS[name]).double().eval()
    module.norm.running_mean.normal_()
    with pytest.raises(Exception):  # noqa: B017 (as many kinds of them as ways)
        Tracer((4,), torch.zeros((), dtype=DOUBLE)).trace(module)
    net = of(module, input_shape=4)
    a, b = 3 * torch.randn(2, 4, dtype=DOUBLE)
    line, t = net.line(a, b), torch.linspace(0, 1, 300, dtype=DOUBLE)
    assert len(line) >= 3
    with torch.no_grad():
        torch.testing.assert_close(line.at(t), module(torch.lerp(a, b, t[:, None])), rtol=0, atol=1e-12)
        torch.testing.assert_close(net(a), module(a[None])[0])
    slope = torch.autograd.functional.jacobian(lambda p: module(p[None])[0], a)
    torch.testing.assert_close(net.affine(a).matrix, slope, rtol=0, atol=1e-12)
    assert len(net.plane(a, b - a, torch.randn(4, dtype=DOUBLE), window=0.5)) > 3
    assert net.to(torch.float32).dtype == torch.float32


def test_what_bends_smoothly_is_refused_by_its_name_there_too():
    module = Made(lambda net, x: net.last(torch.stack([torch.tanh(row) for row in net.first(x).unbind(1)], 1)))
    with pytest.raises(ValueError, match=r"tanh.* is not piecewise linear"):
        of(module, input_shape=4)


def test_without_a_shape_and_with_a_branch_on_data_nothing_is_exported():
    with pytest.raises(ValueError, match="cannot be traced"):
        of(Made(looped))
    with pytest.raises(ValueError, match="cannot be traced"):
        of(Made(lambda net, x: net.last(net.first(x)) if float(x.sum()) > 0 else net.last(net.first(-x))), input_shape=4)
