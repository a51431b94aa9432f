"""Second moments of a layer's inputs, factored once and used again: what every least-squares problem of growth needs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 112  # columns of a product of which only the upper triangle is needed; measured in benchmarks/README.md


@dataclass(frozen=True, eq=False)
class SecondMoment:
    """A factor of S = B'B / n, the second moment of the inputs `B` `(*batch, n, in)` of a layer with a constant 1 appended.

    `whitening` W `(*batch, in + 1, r)` has W'SW = identity and WW' = S^+, so W stands for the inverse of Cholesky's factor also
    where S is singular; columns beyond the rank are 0. `rank` is `(*batch,)`. Where all networks share B there are no batch axes.
    """

    whitening: Tensor
    rank: Tensor

    @property
    def inputs(self) -> int:
        """The number of inputs, without the constant."""
        return self.whitening.shape[-2] - 1


def moment_of(inputs: Tensor, tolerance: float | None = None) -> SecondMoment:
    """The factored second moment of inputs `(*batch, n, in)`.

    Cholesky where S is safely definite. Where it is not (an input that is constant, or a combination of others), the eigenvectors
    of S with unit diagonal, less those with an eigenvalue below `tolerance` times the largest (rounding, 2e-16 times the size,
    unless told otherwise): then WW' is a generalized inverse, and the fitted functions are the same as with any other.
    """
    n, size = inputs.shape[-2], inputs.shape[-1] + 1
    limit = 10 * size * torch.finfo(inputs.dtype).eps if tolerance is None else tolerance
    if n < size:  # few points: their singular vectors, without squaring
        rows = with_one(inputs) / n**0.5
        scale = _positive(rows.square().sum(-2).sqrt())
        _, singular, vectors = torch.linalg.svd(rows / scale.unsqueeze(-2), full_matrices=False)
        return _truncated(singular.square(), vectors.mT, scale, limit)
    s = gram(inputs) / n
    scale = _positive(s.diagonal(dim1=-2, dim2=-1).sqrt())
    s = s / (scale.unsqueeze(-1) * scale.unsqueeze(-2))
    factor, failed = torch.linalg.cholesky_ex(s)
    # the square of a diagonal entry is the share of an input that the inputs before it leave unexplained
    bad = (failed > 0) | ~(factor.diagonal(dim1=-2, dim2=-1).amin(-1).square() > max(limit, 1e-10))
    if bad.all():
        return _eigen(s, scale, limit)
    one = torch.eye(size, dtype=s.dtype, device=s.device)
    whitening = torch.linalg.solve_triangular(torch.where(bad[..., None, None], one, factor), one, upper=False).mT
    whitening, rank = whitening / scale.unsqueeze(-1), torch.full_like(failed, size)
    if bad.any():
        rest = _eigen(s[bad], scale[bad], limit)
        whitening[bad], rank[bad] = rest.whitening, rest.rank.to(rank.dtype)
    return SecondMoment(whitening, rank)


def _eigen(s: Tensor, scale: Tensor, limit: float) -> SecondMoment:
    values, vectors = torch.linalg.eigh(s)
    return _truncated(values, vectors, scale, limit)


def _truncated(values: Tensor, vectors: Tensor, scale: Tensor, limit: float) -> SecondMoment:
    kept = values > limit * values.amax(-1, keepdim=True)
    inverse = torch.where(kept, values, 1.0).rsqrt() * kept
    return SecondMoment(vectors * inverse.unsqueeze(-2) / scale.unsqueeze(-1), kept.sum(-1))


def _positive(scale: Tensor) -> Tensor:
    return torch.where(scale > 0, scale, 1.0)


def with_one(inputs: Tensor) -> Tensor:
    """The inputs with a last column of ones, which carries the bias: `(*batch, n, in + 1)`."""
    return torch.cat([inputs, torch.ones_like(inputs[..., :1])], dim=-1)


def cross(inputs: Tensor, values: Tensor) -> Tensor:
    """B'V for inputs `(*batch, n, in)` with a constant 1 appended and values `(*batch, n, out)`: `(*batch, in + 1, out)`."""
    product, total = inputs.mT @ values, values.sum(-2, keepdim=True)
    return torch.cat([product, total.expand(*product.shape[:-2], 1, -1)], dim=-2)


def gram(inputs: Tensor) -> Tensor:
    """B'B for inputs with a constant 1 appended; of a wide product only the upper triangle is multiplied out."""
    p = inputs.shape[-1]
    s = inputs.new_empty(*inputs.shape[:-2], p + 1, p + 1)
    for i in range(0, p, BLOCK):
        strip = inputs[..., i : i + BLOCK].mT @ inputs[..., i:]
        s[..., i : min(i + BLOCK, p), i:p] = strip
        s[..., i:p, i : min(i + BLOCK, p)] = strip.mT
    s[..., :p, p] = s[..., p, :p] = inputs.sum(-2)
    s[..., p, p] = inputs.shape[-2]
    return s
