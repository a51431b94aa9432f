"""The losses, by name: of each point, of all of them, and their slope in the outputs.

>>> import torch
>>> from foldnet.training.losses import losses
>>> float(losses(torch.tensor([[1.0], [3.0]]), torch.tensor([[0.0], [0.0]]), "half_sum"))
5.0
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

LOSSES = ("mse", "half_sum", "bce", "cross_entropy")


def divisor(loss: str, n: int, out: int) -> int:
    """What a loss divides the sum of the errors over n points and `out` outputs by; an error is a square or a cross-entropy."""
    return {"half_sum": 2, "cross_entropy": n}.get(loss, n * out)


def losses(outputs: Tensor, y: Tensor, loss: str) -> Tensor:
    """The loss of each network, `(*batch,)`, from outputs `(*batch, n, out)` and targets that broadcast to them."""
    return _errors(outputs, y, loss).sum((-2, -1)) / divisor(loss, *outputs.shape[-2:])


def point_losses(outputs: Tensor, y: Tensor, loss: str | Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """What each point costs, `(*batch, n)`: their mean is the loss. A `loss` of one's own maps outputs and y to this."""
    if not isinstance(loss, str):
        return loss(outputs, y)
    n, out = outputs.shape[-2:]
    return _errors(outputs, y, loss).sum(-1) * (n / divisor(loss, n, out))


def output_gradient(outputs: Tensor, y: Tensor, loss: str) -> Tensor:
    """The derivative of `losses`, the loss by its name, by the outputs, `(*batch, n, out)`."""
    share = 1 / divisor(loss, *outputs.shape[-2:])
    if loss == "bce":
        return (outputs.sigmoid() - y) * share
    if loss == "cross_entropy":
        return (outputs.softmax(-1) - y) * share
    return (outputs - y) * (2 * share)


def _errors(outputs: Tensor, y: Tensor, loss: str) -> Tensor:
    if loss == "bce":
        return binary_cross_entropy_with_logits(outputs, y.expand_as(outputs), reduction="none")
    if loss == "cross_entropy":
        return outputs.log_softmax(-1) * -y
    return (outputs - y).square()
