"""Second moments of a layer's inputs, factored once and used again, and the linear algebra of growth around them.

>>> import torch
>>> from foldnet.growth.moments import moment_of
>>> int(moment_of(torch.tensor([[1.0, 0.0], [2.0, 0.0]]).double()).rank)
2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..training.problem import finite

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
        return SecondMoment(factor, rank, live)
    whitening = SecondMoment(factor, rank, live).whitening
    rest = _truncated(*torch.linalg.eigh(s[bad]), scale[bad], limit)
    whitening[bad] = rest.factor * live[bad].unsqueeze(-1)
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


def affine(inputs: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """What a layer `(*batch, out, in)` makes of inputs `(*batch, n, in)`; for one network without a copy before the bias."""
    if inputs.ndim == weights.ndim == 2:
        return torch.nn.functional.linear(inputs, weights, bias)
    return inputs @ weights.mT + bias.unsqueeze(-2)


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


def cross(inputs: Tensor, values: Tensor) -> Tensor:
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
