"""The directions in which a network looks: second moments of its gradients, their leading directions, and what these explain.

Behind geometry/sensitivity. Gradients come as chunks `(*batch, n, out, in)`, as `vision.jacobians` gives them, and are added up
as they come: all of them together would not fit into memory.

>>> import torch
>>> from foldnet.geometry.sensitivity import moments, singular_values
>>> from foldnet.nets import ReLUNet
>>> bowl = ReLUNet([[[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [[1.0, 1.0, 1.0, 1.0]]], [[0.0] * 4, [0.0]])
>>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
>>> [round(v, 6) for v in singular_values(moments([bowl.jacobian(x)]).second)[0].tolist()]
[9.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

STEPS, SPARE = 120, 8  # of subspace iteration, and directions beside those that are asked for


@dataclass(frozen=True, eq=False)
class Moments:
    """Of the gradients g of each output: `mean` `(*batch, out, in)` and `second`, E[g g^T], `(*batch, out, in, in)`."""

    mean: Tensor
    second: Tensor

    @property
    def trace(self) -> Tensor:
        """The mean squared length of a gradient, `(*batch, out)`: the sum of all singular values."""
        return self.second.diagonal(dim1=-2, dim2=-1).sum(-1)

    @property
    def steady(self) -> Tensor:
        """|E g|^2 / E|g|^2, `(*batch, out)`: 1 for a linear function, less the more its gradient turns."""
        return self.mean.square().sum(-1) / self.trace

    @property
    def participation(self) -> Tensor:
        """(sum of the singular values)^2 / (sum of their squares), `(*batch, out)`: k if k of them are equal and the rest 0."""
        return self.trace.square() / self.second.square().sum((-1, -2))


def moments(slopes: Iterable[Tensor]) -> Moments:
    """Mean and uncentred second moment of gradients that come in chunks `(*batch, n, out, in)` (S2-alg-active-subspace)."""
    count, mean, second = 0, torch.zeros(()), torch.zeros(())
    for chunk in slopes:
        by_output = chunk.double().transpose(-3, -2)  # (*batch, out, n, in)
        count += chunk.shape[-3]
        mean = by_output.sum(-2) + mean.to(by_output)
        second = by_output.mT @ by_output + second.to(by_output)
    if not count:
        raise ValueError("the moments of gradients need at least one gradient; got none")
    return Moments(mean / count, second / count)


def leading_eigenpairs(matrices: Tensor, count: int = 1) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues `(*batch, count)` of positive semidefinite matrices, and eigenvectors `(*batch, in, count)`.

    `matrices`: `(*batch, in, in)`, such as `Moments.second`.
    `count`: how many eigenvalues.
    By subspace iteration: an error shrinks in each step by the ratio of eigenvalue `count + SPARE + 1` to the last one kept.
    """
    size = matrices.shape[-1]
    wide = min(size, count + SPARE)
    start = torch.randn(size, wide, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = start.to(matrices).expand(*matrices.shape[:-1], wide)
    for _ in range(0, STEPS, 4):
        for _ in range(4):
            found = torch.nn.functional.normalize(matrices @ found, dim=-2, eps=1e-300)
        basis = torch.linalg.qr(found).Q
        image = matrices @ basis
        values, turn = torch.linalg.eigh(basis.mT @ image)
        found = basis @ turn
        off = (image @ turn - found * values.unsqueeze(-2)).norm(dim=-2)[..., -count:]
        if (off <= 1e-12 * values[..., -1:]).all():
            break
    return values.flip(-1)[..., :count], found.flip(-1)[..., :count]


def directions(of: Moments) -> Tensor:
    """The leading active direction of each output, `(*batch, out, in)`, of length 1; the output rises along it on average."""
    found = leading_eigenpairs(of.second)[1].squeeze(-1)
    return found * torch.where((found * of.mean).sum(-1, keepdim=True) < 0, -1.0, 1.0)


def singular_values(second: Tensor, within: Tensor | None = None) -> Tensor:
    """Of second moments `(*batch, in, in)`, from the largest to the smallest, `(*batch, in)`; noise below zero becomes zero.

    If all gradients are combinations of the rows of `within`, `(r, in)` with r < in, only these are computed, `(*batch, r)`.
    """
    if within is not None:
        basis = torch.linalg.qr(within.mT.to(second)).Q
        second = basis.mT @ second @ basis
    return torch.linalg.eigvalsh(second).flip(-1).clamp(min=0)


def explained(projection: Tensor, output: Tensor, bins: int = 40) -> Tensor:
    """R^2 of the best curve through an output over a projection: the share of the variance that it explains, `(*batch,)`.

    `projection`: where n points lie along a direction, `(*batch, n)`.
    `output`: what the network gives there, `(*batch, n)`.
    `bins`: the curve joins the means of so many bins of equal count by straight lines.
    Each half of the points (even and odd numbers) is predicted by the curve of the other half, so that a direction that explains
    nothing gets 0 and not more.
    """
    projection, output = torch.broadcast_tensors(projection.double(), output.double())
    if bins < 2:
        raise ValueError(f"a curve joins the means of at least 2 bins; got {bins}")
    if projection.shape[-1] < 4 * bins:
        raise ValueError(f"{bins} bins need at least {4 * bins} points, two in a bin of each half; got {projection.shape[-1]}")
    halves = [(projection[..., k::2].contiguous(), output[..., k::2]) for k in (0, 1)]
    left = sum((f - _curve(*other, t, bins)).square().sum(-1) for (t, f), other in zip(halves, halves[::-1]))
    return 1 - left / (output - output.mean(-1, keepdim=True)).square().sum(-1)


def _curve(t: Tensor, f: Tensor, at: Tensor, bins: int) -> Tensor:
    """The curve of `explained` through points (t, f), at other places; beyond its ends it goes on straight."""
    order = t.argsort(dim=-1)
    each = t.shape[-1] // bins
    first = (t.shape[-1] - bins * each) // 2
    order = order[..., first : first + bins * each]
    knots, heights = (v.gather(-1, order).unflatten(-1, (bins, each)).mean(-1) for v in (t, f))
    end = torch.searchsorted(knots, at).clamp(1, bins - 1)
    x0, x1, y0, y1 = (v.gather(-1, i) for v in (knots, heights) for i in (end - 1, end))
    return y0 + (y1 - y0) * torch.where(x1 > x0, (at - x0) / (x1 - x0), 0.5)
