"""The gradient written out against autograd: depths, leaks, smooth activations, shared and own points, every loss."""

import pytest
import torch

from foldnet.growth.smooth import ACTIVATIONS, SmoothNet
from foldnet.nets import ReLUNet
from foldnet.training.gradient import FlatNetworks
from foldnet.training.losses import LOSSES, losses, output_gradient


def kinds(sizes):
    yield from (ReLUNet.random(sizes, batch=4, leak=leak, seed=3) for leak in (0.0, 0.3))
    yield from (SmoothNet.random(sizes, batch=4, activation=activation, seed=3) for activation in ACTIVATIONS)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sizes", [(3, 2), (4, 3, 2), (2, 5, 4, 3)])
@pytest.mark.parametrize("own", [False, True])
def test_gradient_equals_autograd(loss, sizes, own):
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(4 if own else 1, 6, sizes[0], generator=rng, dtype=torch.float64)
    y = torch.rand(1 if own else 4, 6, sizes[-1], generator=rng, dtype=torch.float64)
    y = y / y.sum(-1, keepdim=True)
    for nets in kinds(sizes):
        vector = nets.vector().requires_grad_()
        (expected,) = torch.autograd.grad(losses(nets.with_vector(vector)(x), y, loss).sum(), vector)
        flat = FlatNetworks(nets, nets.vector())
        flat.gradient.fill_(torch.nan)  # written anew, not added to
        reads, gives = flat.forward(x)
        assert torch.allclose(gives[-1], nets(x), rtol=0, atol=1e-14)
        found = flat.backward(reads, gives, output_gradient(gives[-1], y, loss))
        assert torch.allclose(found, expected, rtol=0, atol=1e-14), nets
