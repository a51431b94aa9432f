"""Second moments of a layer's inputs, factored once and used again, and the linear algebra of growth around them.

>>> import torch
>>> from foldnet.growth.moments import SecondMoment
>>> int(SecondMoment.of(torch.tensor([[1.0, 0.0], [2.0, 0.0]]).double()).rank)
2
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .._checks import finite
from ._passes import column_sums

STRIP = 112  # columns at a time in `gram`; 64 and 196 are no faster


@dataclass(frozen=True, eq=False)
class SecondMoment:
    """A factor of S = B'B / n, the second moment of the inputs `B` `(*batch, n, in)` of a layer with a constant 1 appended.

    It stands for W `(*batch, in + 1, r)` with S WW' S = S, also where S is singular; W'SW is the identity but for the columns
    beyond the rank, which are 0. `factor` is W itself or, with `live` `(*batch, in + 1)`, Cholesky's factor L of S, which is not
    inverted: then W = L'^-1 with 0 for the inputs that are not live. `rank` is `(*batch,)`. Where all networks share B there are
    no batch axes.
    """

    factor: Tensor
    rank: Tensor
    live: Tensor | None = None

    @classmethod
    def of(cls, inputs: Tensor, tolerance: float | None = None) -> SecondMoment:
        """The factored second moment of inputs `(*batch, n, in)`.

        By Cholesky where S is safely definite, inputs that are always 0 aside. Elsewhere an input is constant or a combination of
        others: then by the eigenvectors of S with unit diagonal, but for those whose eigenvalue is below `tolerance` (by default
        the rounding error) times the largest. WW' is a generalized inverse of S, and what is fitted does not depend on which.
        """
        n, size = inputs.shape[-2], inputs.shape[-1] + 1
        limit = 10 * size * torch.finfo(inputs.dtype).eps if tolerance is None else tolerance
        if n < size:  # few points: their singular vectors, without squaring
            rows = with_one(inputs) / n**0.5
            finite(inputs=rows)
            scale = _positive(rows.square().sum(-2).sqrt())
            _, singular, vectors = torch.linalg.svd(rows / scale.unsqueeze(-2), full_matrices=False)
            return _truncated(singular.square(), vectors.mT, scale, limit)
        s = gram(inputs) / n
        if not s.isfinite().all():
            finite(inputs=inputs, second_moments=s)
        live = s.diagonal(dim1=-2, dim2=-1) > 0
        scale = _positive(s.diagonal(dim1=-2, dim2=-1).sqrt())
        s = s / (scale.unsqueeze(-1) * scale.unsqueeze(-2))
        s.diagonal(dim1=-2, dim2=-1).fill_(1.0)  # an input that is always 0 is set aside: its own variable, dropped below
        factor, failed = torch.linalg.cholesky_ex(s)
        # the square of a diagonal entry is the share of an input that the inputs before it leave unexplained
        bad = (failed > 0) | ~(factor.diagonal(dim1=-2, dim2=-1).amin(-1).square() > max(limit, 1e-10))
        factor, rank = factor * scale.unsqueeze(-1), live.sum(-1)
        if not bad.any():
            return cls(factor, rank, live)
        whitening = cls(factor, rank, live).whitening
        rest = _truncated(*torch.linalg.eigh(s[bad]), scale[bad], limit)
        whitening[bad] = rest.factor * live[bad].unsqueeze(-1)
        rank[bad] = rest.rank - (~live[bad]).sum(-1)
        return cls(whitening, rank)

    @classmethod
    def with_ridge(cls, inputs: Tensor, share: float) -> SecondMoment:
        """The factored second moment of inputs `(B, n, in)` with `share` of its mean diagonal added to the diagonal.

        An input that is seldom other than 0, as a pixel at the margin, then counts for little. Without the ridge least squares
        gives it a large weight, which fits the few points that show it and is wrong on all others.
        """
        s = gram(inputs) / inputs.shape[-2]
        one = torch.eye(s.shape[-1], dtype=s.dtype, device=s.device)
        extra = share * s.diagonal(dim1=-2, dim2=-1)[..., :-1].mean(-1)
        factor = torch.linalg.cholesky(s + extra[..., None, None] * one)
        live = torch.ones_like(s[..., 0], dtype=torch.bool)
        return cls(factor, live.sum(-1), live)

    @property
    def inputs(self) -> int:
        """The number of inputs, without the constant."""
        return self.factor.shape[-2] - 1

    @property
    def whitening(self) -> Tensor:
        """W."""
        return self.factor if self.live is None else self.weights(torch.eye(self.factor.shape[-1]).to(self.factor))

    def whiten(self, products: Tensor) -> Tensor:
        """W'C `(*batch, r, out)` for products C = B'V / n `(*batch, in + 1, out)`: those of the white inputs BW."""
        if self.live is None:
            return self.factor.mT @ products
        return torch.linalg.solve_triangular(self.factor, products, upper=False)

    def weights(self, directions: Tensor) -> Tensor:
        """WU `(*batch, in + 1, k)`: the weights of neurons that read the white inputs with weights U `(*batch, r, k)`."""
        if self.live is None:
            return self.factor @ directions
        return torch.linalg.solve_triangular(self.factor.mT, directions, upper=True) * self.live.unsqueeze(-1)


def with_one(inputs: Tensor) -> Tensor:
    """The inputs with a last column of ones, which carries the bias: `(*batch, n, in + 1)`."""
    return torch.cat([inputs, torch.ones_like(inputs[..., :1])], dim=-1)


def cross_products(inputs: Tensor, values: Tensor) -> Tensor:
    """B'V for inputs `(*batch, n, in)` with a constant 1 appended and values `(*batch, n, out)`: `(*batch, in + 1, out)`."""
    product, total = values.mT @ inputs, column_sums(values).mT
    return torch.cat([product, total.expand(*product.shape[:-1], 1)], dim=-1).mT


def gram(inputs: Tensor) -> Tensor:
    """B'B for inputs `(*batch, n, in)` with a constant 1 appended: `(*batch, in + 1, in + 1)`.

    Strip by strip, so that of a wide product little more than one triangle is multiplied out. (numpy would see the symmetry by
    itself, but its threads go on spinning for a while, beside torch's.)
    """
    p = inputs.shape[-1]
    step = min(STRIP, max(48, -(-p // 2)))
    s = inputs.new_empty(*inputs.shape[:-2], p + 1, p + 1)
    for i in range(0, p, step):
        strip = inputs[..., i : i + step].mT @ inputs[..., i:]
        s[..., i : min(i + step, p), i:p] = strip
        s[..., i:p, i : min(i + step, p)] = strip.mT
    s[..., :p, p] = s[..., p, :p] = column_sums(inputs).squeeze(-2)
    s[..., p, p] = inputs.shape[-2]
    return s


def _truncated(values: Tensor, vectors: Tensor, scale: Tensor, limit: float) -> SecondMoment:
    kept = values > limit * values.amax(-1, keepdim=True)
    inverse = torch.where(kept, values, 1.0).rsqrt() * kept
    return SecondMoment(vectors * inverse.unsqueeze(-2) / scale.unsqueeze(-1), kept.sum(-1))


def _positive(scale: Tensor) -> Tensor:
    return torch.where(scale > 0, scale, 1.0)
