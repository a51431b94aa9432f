"""The losses against torch's own, and their slopes against autograd."""

import pytest
import torch

from foldnet.training.losses import LOSSES, losses, output_gradient, point_losses

BY_TORCH = {
    "mse": torch.nn.functional.mse_loss,
    "half_sum": lambda outputs, y: torch.nn.functional.mse_loss(outputs, y, reduction="sum") / 2,
    "bce": torch.nn.functional.binary_cross_entropy_with_logits,
    "cross_entropy": torch.nn.functional.cross_entropy,
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shared", [False, True])
def test_values_and_slopes(loss, shared):
    rng = torch.Generator().manual_seed(0)
    outputs = 3 * torch.randn(2, 3, 7, 4, generator=rng, dtype=torch.float64)
    y = torch.rand(1 if shared else 2, 1 if shared else 3, 7, 4, generator=rng, dtype=torch.float64)
    y = y / y.sum(-1, keepdim=True)
    each = torch.stack([BY_TORCH[loss](o, t) for o, t in zip(outputs.flatten(0, 1), y.expand_as(outputs).flatten(0, 1))])
    assert torch.allclose(losses(outputs, y, loss).flatten(), each, rtol=1e-14, atol=0)
    assert torch.allclose(point_losses(outputs, y, loss).mean(-1).flatten(), each, rtol=1e-14, atol=0)
    leaf = outputs.clone().requires_grad_()
    (expected,) = torch.autograd.grad(losses(leaf, y, loss).sum(), leaf)
    assert torch.allclose(output_gradient(outputs, y, loss), expected, rtol=0, atol=1e-15)


def test_a_small_cross_entropy_keeps_its_digits():
    """One class leads by 30: the loss is log(1 + e^-30), which a difference of large numbers would lose."""
    outputs, y = torch.tensor([[40.0, 10.0]], dtype=torch.float64), torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    assert float(losses(outputs, y, "cross_entropy")) == pytest.approx(9.357622968839299e-14, rel=1e-12)
