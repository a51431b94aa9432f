"""Passes through a part of a network, and the linear algebra of many points."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..nets import Network
from ..training.losses import point_losses


def affine(inputs: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """What a layer `(*batch, out, in)` makes of inputs `(*batch, n, in)`; for one network without a copy before the bias."""
    if inputs.ndim == weights.ndim == 2:
        return torch.nn.functional.linear(inputs, weights, bias)
    return inputs @ weights.mT + bias.unsqueeze(-2)


def layer_reads(net: Network, layer: int, x: Tensor) -> Tensor:
    """What affine layer `layer` reads at points that are checked already."""
    for w, b in zip(net.weights[:layer], net.biases[:layer]):
        x = net.activate_(affine(x, w, b))
    return x


def around(net: Network, layer: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What hidden layer `layer` reads, and what the next affine layer reads and gives, all `(*batch, n, width)`."""
    below = layer_reads(net, layer, x)
    here = net.activate_(affine(below, net.weights[layer], net.biases[layer]))
    return below, here, affine(here, net.weights[layer + 1], net.biases[layer + 1])


def onward(net: Network, layer: int, z: Tensor) -> Tensor:
    """The outputs that preactivations `z` of affine layer `layer` lead to."""
    for w, b in zip(net.weights[layer + 1 :], net.biases[layer + 1 :]):
        z = affine(net.activate(z), w, b)
    return z


def goal_at(net: Network, layer: int, z: Tensor, y: Tensor, loss: str | Callable) -> Tensor:
    """`desired_update` at preactivations that are known already."""
    with torch.enable_grad():
        z = z.detach().requires_grad_()
        outputs = onward(net, layer, z)
        (gradient,) = torch.autograd.grad(-point_losses(outputs, y, loss).sum(), z)
    return gradient


def column_sums(values: Tensor) -> Tensor:
    """The sum over points of values `(*batch, n, out)`, as a product: `(*batch, 1, out)`, faster than torch's sum."""
    return values.new_ones(1, values.shape[-2]) @ values


def tall_svd(a: Tensor) -> tuple[Callable[[int], Tensor], Tensor, Tensor]:
    """`torch.linalg.svd` of matrices `(*batch, m, n)` with many rows: a function of k that gives the k first left vectors, s, v.

    By way of a = QR; Q is applied to k vectors and never multiplied out. R comes from two Cholesky factors, the second of which
    restores what squaring lost (Yamamoto et al. 2015), and where the first leaves rows far from orthonormal, from reflections.
    """
    lower, failed = torch.linalg.cholesky_ex(a.mT @ a)
    if not failed.any():
        rows = torch.linalg.solve_triangular(lower, a.mT, upper=False)
        nearly_one = rows @ rows.mT
        if (nearly_one - torch.eye(a.shape[-1]).to(a)).abs().max() < 1e-3:
            again = torch.linalg.cholesky(nearly_one)
            u, singular, v = torch.linalg.svd((lower @ again).mT)
            return lambda k: rows.mT @ torch.linalg.solve_triangular(again.mT, u[..., :k], upper=True), singular, v
    r = min(a.shape[-2:])
    reflections, tau = torch.geqrf(a)
    u, singular, v = torch.linalg.svd(reflections[..., :r, :].triu(), full_matrices=False)
    padding = (0, 0, 0, a.shape[-2] - r)
    return lambda k: torch.ormqr(reflections[..., :r], tau, torch.nn.functional.pad(u[..., :k], padding)), singular, v
