"""Local maps side by side, against the modules' own derivatives."""

import matplotlib.figure
import numpy as np
import pytest
import torch
from torch import nn

import foldnet
from foldnet.piecewise.net import of

DOUBLE = torch.float64


def images(channels: int, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(channels, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2))


def test_slopes_and_constants_are_those_of_the_modules():
    modules = [images(2, 0).to(DOUBLE), nn.Sequential(nn.Flatten(), nn.Linear(72, 2))]
    x = torch.randn(5, 2, 6, 6, dtype=DOUBLE)
    found = foldnet.compare(*(of(m, input_shape=(2, 6, 6)) for m in modules), x)
    for k, module in enumerate(modules):
        kind = module[-1].weight.dtype
        true = torch.stack([torch.autograd.functional.jacobian(module, p[None]).flatten(2)[0] for p in x.to(kind)]).double()
        assert torch.allclose(found.slopes[k], true, atol=1e-6)
        assert torch.allclose(found.outputs[k], module(x.to(kind)).double(), atol=1e-5)
        here = torch.einsum("noi,ni->no", true, x.flatten(1)) + found.constants[k]
        assert torch.allclose(here, found.outputs[k], atol=1e-5)
    a, b = found.slopes
    assert torch.allclose(found.cosine, (a * b).sum(-1) / a.norm(dim=-1) / b.norm(dim=-1))
    assert torch.allclose(found.stretch, b.norm(dim=-1) / a.norm(dim=-1))


def test_a_network_beside_itself_and_its_mirror_image_and_a_flat_one():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).to(DOUBLE)
    net, flat = of(model), of(nn.Sequential(nn.Linear(3, 1)).to(DOUBLE))
    x = torch.randn(3, dtype=DOUBLE)
    assert torch.allclose(foldnet.compare(net, net, x).cosine, torch.ones(1, 1, dtype=DOUBLE))
    mirrored = of(nn.Sequential(model, nn.Linear(1, 1)).to(DOUBLE))
    next(p for name, p in mirrored.graph.traced.named_parameters() if name == "1.weight").fill_(-2.0)
    found = foldnet.compare(net, mirrored, x)
    assert (found.cosine.item(), found.stretch.item()) == pytest.approx((-1, 2))
    for parameter in flat.graph.traced.parameters():
        parameter.zero_()
    assert foldnet.compare(net, flat, x).cosine.isnan().all()
    with pytest.raises(ValueError, match=r"give foldnet.of\(model\), not the Sequential itself"):
        foldnet.compare(model, net, x)
    with pytest.raises(ValueError, match="same inputs and outputs"):
        foldnet.compare(net, of(nn.Sequential(nn.Linear(2, 1))), x)


@pytest.mark.parametrize("channels", [1, 3])
def test_the_picture_of_images_has_both_maps(channels):
    one, two = (of(images(channels, k), input_shape=(channels, 6, 6)) for k in range(2))
    found = foldnet.compare(one, two, torch.randn(2, channels, 6, 6))
    ax = matplotlib.figure.Figure().subplots()
    found.draw(ax, point=1, output=1)
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert shown.shape == (6, 13)
    for part, slopes in zip((shown[:, :6], shown[:, 7:]), found.slopes):
        assert np.allclose(part, slopes[1, 1].view(channels, 6, 6).sum(0))
    assert np.isnan(shown[:, 6]).all()


def test_the_picture_of_vectors_has_a_dot_for_each_input():
    one, two = (of(nn.Sequential(nn.Linear(3, 2))) for _ in range(2))
    ax = matplotlib.figure.Figure().subplots()
    found = foldnet.compare(one, two, torch.zeros(3))
    found.draw(ax, output=1)
    assert np.allclose(ax.lines[-1].get_xydata().T, [s[0, 1] for s in found.slopes])
