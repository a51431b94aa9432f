"""Second moments of a layer's inputs, factored once and used again: what every least-squares problem of growth needs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

STRIP = 112  # columns at a time in `gram`; 64 and 196 are no faster


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

    Cholesky where S is safely definite, inputs that are always 0 aside. Where it is not (an input that is constant, or a
    combination of others), the eigenvectors of S with unit diagonal, less those with an eigenvalue below `tolerance` times the
    largest (the rounding error, unless told otherwise): then WW' is a generalized inverse, and what is fitted does not depend on
    which.
    """
    n, size = inputs.shape[-2], inputs.shape[-1] + 1
    limit = 10 * size * torch.finfo(inputs.dtype).eps if tolerance is None else tolerance
    if n < size:  # few points: their singular vectors, without squaring
        rows = with_one(inputs) / n**0.5
        scale = _positive(rows.square().sum(-2).sqrt())
        _, singular, vectors = torch.linalg.svd(rows / scale.unsqueeze(-2), full_matrices=False)
        return _truncated(singular.square(), vectors.mT, scale, limit)
    s = gram(inputs) / n
    live = s.diagonal(dim1=-2, dim2=-1) > 0
    scale = _positive(s.diagonal(dim1=-2, dim2=-1).sqrt())
    s = s / (scale.unsqueeze(-1) * scale.unsqueeze(-2))
    s.diagonal(dim1=-2, dim2=-1).fill_(1.0)  # an input that is always 0 is set aside: its own variable, dropped below
    factor, failed = torch.linalg.cholesky_ex(s)
    # the square of a diagonal entry is the share of an input that the inputs before it leave unexplained
    bad = (failed > 0) | ~(factor.diagonal(dim1=-2, dim2=-1).amin(-1).square() > max(limit, 1e-10))
    one = torch.eye(size, dtype=s.dtype, device=s.device)
    whitening = torch.linalg.solve_triangular(torch.where(bad[..., None, None], one, factor), one, upper=False).mT
    whitening, rank = whitening * (live / scale).unsqueeze(-1), live.sum(-1)
    if bad.any():
        rest = _truncated(*torch.linalg.eigh(s[bad]), scale[bad], limit)
        whitening[bad] = rest.whitening * live[bad].unsqueeze(-1)
        rank[bad] = rest.rank - (~live[bad]).sum(-1)
    return SecondMoment(whitening, rank)


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
    """B'B for inputs `(*batch, n, in)` with a constant 1 appended: `(*batch, in + 1, in + 1)`.

    Strip by strip, so that of a wide product little more than one triangle is multiplied out. (numpy would see the symmetry by
    itself, but its threads go on spinning for a while, beside torch's.)
    """
    p = inputs.shape[-1]
    s = inputs.new_empty(*inputs.shape[:-2], p + 1, p + 1)
    for i in range(0, p, STRIP):
        strip = inputs[..., i : i + STRIP].mT @ inputs[..., i:]
        s[..., i : min(i + STRIP, p), i:p] = strip
        s[..., i:p, i : min(i + STRIP, p)] = strip.mT
    s[..., :p, p] = s[..., p, :p] = inputs.sum(-2)
    s[..., p, p] = inputs.shape[-2]
    return s
