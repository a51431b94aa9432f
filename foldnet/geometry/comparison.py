"""Are two networks alike? Measures on the affine maps that they apply to images, and on what their layers hold.

Row i of the coefficient matrix C_j of a network is the affine map that its output j applies at image i: gradient and constant
(S2-def-C, chapter geometry/comparison). A matrix of all training images is large: what is made of it here is either small, or
comes in parts that a caller may stream. All functions take tensors on any device.

>>> import torch
>>> from foldnet.geometry.comparison import cka, coefficients, least_squares
>>> from foldnet.nets import ReLUNet
>>> bent = ReLUNet([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])  # max(x, 0) + max(-x - 1, 0)
>>> x = torch.tensor([[-2.0], [0.5], [3.0]])
>>> rows = coefficients(bent, x)[0]  # slope and constant at each point
>>> rows.tolist()
[[-1.0, -1.0], [1.0, 0.0], [1.0, 0.0]]
>>> straight = coefficients(ReLUNet([[[2.0]]], [[1.0]]), x)[0]
>>> (straight @ least_squares(straight, rows)).round(decimals=6)[0].tolist()  # a linear network gives the mean row
[0.333333, -0.333333]
>>> float(cka(straight, rows))  # and it has no centred alignment: 0/0
nan
"""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import torch
from torch import Tensor

from ..nets import ReLUNet
from .convnet import ConvNet
from .vision import affine_at

RIDGE = 1e-9  # of the trace: what makes singular normal equations solvable, and moves nothing above single precision
Net = TypeVar("Net", ReLUNet, ConvNet)


# ---- coefficients ----------------------------------------------------------------------------------------------------------


def coefficients(net: ReLUNet | ConvNet, x: Tensor) -> Tensor:
    """The matrices C_j, `(*batch, out, n, in + 1)`: gradient and constant of each output at each of the points `(n, in)`."""
    slopes, constants = affine_at(net, x)
    return torch.cat([slopes, constants.unsqueeze(-1)], -1).transpose(-3, -2)


def one_output(net: Net, output: int) -> Net:
    """The same network with one of its outputs, which count from 0."""
    if not 0 <= output < net.sizes[-1]:
        raise ValueError(f"outputs of a {net} are numbered 0 to {net.sizes[-1] - 1}; got {output}")
    weights, biases = list(net.weights), list(net.biases)
    weights[-1], biases[-1] = weights[-1][..., output : output + 1, :], biases[-1][..., output : output + 1]
    return dataclasses.replace(net, weights=weights, biases=biases)


def fingerprints(patterns: Tensor) -> Tensor:
    """A whole number for each activation pattern `(n, units)`, `(n,)`: equal for equal patterns, and hardly ever for others."""
    draw = torch.Generator().manual_seed(0)
    factors = torch.randint(-(2**62), 2**62, patterns.shape[-1:], generator=draw).to(patterns.device)
    return torch.cat([(part.long() * factors).sum(-1) for part in patterns.split(200)])


def with_one(x: Tensor) -> Tensor:
    """Points with a 1 behind them, so that a row of coefficients times a point is a value."""
    return torch.cat([x, torch.ones_like(x[..., :1])], -1)


def values(rows: Tensor, x: Tensor) -> Tensor:
    """What rows of coefficients `(*, n, in + 1)` say at their own points `(n, in)`: `(*, n)`."""
    return (rows[..., :-1] * x).sum(-1) + rows[..., -1]


# ---- clusters of linear maps -----------------------------------------------------------------------------------------------


def kmeans(rows: Tensor, k: int, steps: int = 10, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Lloyd's k-means from `k` different rows drawn at random: centres `(k, d)` and the cluster of each row, `(n,)`.

    A centre that loses all its rows stays where it is.
    """
    if not 1 <= k <= len(rows):
        raise ValueError(f"k-means needs between 1 and {len(rows)} clusters for as many rows; got {k}")
    draw = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))[:k]
    centres = rows[draw.to(rows.device)]
    for _ in range(steps if k > 1 else 1):
        member = torch.nn.functional.one_hot(nearest(rows, centres), k).to(rows.dtype)
        count = member.sum(0).unsqueeze(-1)
        centres = torch.where(count > 0, member.T @ rows / count.clamp(min=1), centres)
    return centres, nearest(rows, centres)


def nearest(rows: Tensor, centres: Tensor) -> Tensor:
    """The number of the nearest centre of each row, `(n,)`."""
    return (centres.square().sum(-1) - 2 * rows @ centres.T).argmin(-1)


def purity(cluster: Tensor, label: Tensor) -> float:
    """The share of rows with the commonest label of their cluster: 1 where clusters are classes, at least 1 / classes."""
    width = int(label.max()) + 1
    table = torch.bincount(cluster * width + label, minlength=(int(cluster.max()) + 1) * width)
    return float(table.view(-1, width).amax(-1).sum() / len(label))


# ---- least squares from one network to another -----------------------------------------------------------------------------


def least_squares(source: Tensor, target: Tensor, ridge: float = RIDGE) -> Tensor:
    """The matrix M `(d, d')` that makes `source @ M` nearest to `target`, by normal equations in double precision.

    Among equally good ones it is the smallest, up to `ridge` times the trace on the diagonal (S2-eq-7.4).
    """
    a, b = source.double(), target.double()
    return torch.cholesky_solve(a.T @ b, _factor(a.T @ a, ridge))


def hat(train: Tensor, test: Tensor, ridge: float = RIDGE) -> Tensor:
    """H `(m, d)` with `H @ train.T @ target == test @ least_squares(train, target)` for every target: the map without the map."""
    gram = torch.zeros(train.shape[1], train.shape[1], dtype=torch.float64, device=train.device)
    for part in train.split(20_000):
        part = part.double()
        gram.addmm_(part.T, part)
    return torch.cholesky_solve(test.double().T, _factor(gram, ridge)).T.to(test.dtype)


def mapped_values(hats: list[Tensor], sources: list[Tensor], targets: list[Tensor], x: Tensor, chunk: int = 500) -> Tensor:
    """Values at test points `(m, d)` of the coefficients of each source mapped to each target: `(sources, targets, m)`.

    `x` has a 1 behind each point (`with_one`), since d counts the constant too. `sources` and `targets` are training matrices
    `(n, d)`, `hats` belong to the sources. No map of d x d numbers is ever made:
    a value is a sum over training rows, of the weight that a row has for the test row, times the target's row at the test point.
    """
    found = []
    for at in range(0, len(x), chunk):
        weights = torch.stack([h[at : at + chunk] @ c.T for h, c in zip(hats, sources)])
        at_points = torch.stack([_rough(x[at : at + chunk], c.T) for c in targets])
        found.append(torch.einsum("ain,bin->abi", weights, at_points))
    return torch.cat(found, -1)


def _factor(gram: Tensor, ridge: float) -> Tensor:
    gram = gram.clone()
    gram.diagonal().add_(ridge * gram.trace())
    return torch.linalg.cholesky(gram)


def _rough(a: Tensor, b: Tensor) -> Tensor:
    """A product for which the 11 bits of TF32 are enough, where the device has it."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return a @ b
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


# ---- measures of two networks ----------------------------------------------------------------------------------------------


def scaled_distance(inner: Tensor, top: Tensor, numbers: int) -> Tensor:
    """The mean squared distance of coefficients divided by the largest of their network (S2-eq-7.6), `(networks, networks)`.

    `inner`, `(networks, networks)`, holds the inner products of all coefficients of two networks, `top`, `(networks,)`, the
    divisors, and `numbers` is how many coefficients each has.
    """
    scaled = inner / top.unsqueeze(-1) / top
    square = scaled.diagonal()
    return (square.unsqueeze(-1) + square - 2 * scaled).clamp(min=0) / numbers


def cka(x: Tensor, y: Tensor, centred: bool = True) -> Tensor:
    """Linear centred kernel alignment (S2-eq-7.7) of two matrices with as many rows, or the same without centring.

    Where all rows of a matrix are equal the centred one has no value: 0/0, given back as nan.
    """
    return alignments([x], [y], centred)[0, 0]


def alignments(xs: list[Tensor], ys: list[Tensor] | None = None, centred: bool = True) -> Tensor:
    """`cka` for all pairs, `(len(xs), len(ys))`; each pair once where `ys` is None."""
    same, ys = ys is None, xs if ys is None else ys
    none = [[centred and flat(x) for x in some] for some in (xs, ys)]
    prepared = [x - x.mean(0) for x in xs] if centred else xs, [y - y.mean(0) for y in ys] if centred else ys
    if len(xs[0]) < min(x.shape[1] for x in (*xs, *ys)):  # few rows: the same numbers from the matrices of inner products
        prepared = [[x @ x.T for x in some] for some in prepared]
        of = lambda a, b: (a * b).sum()  # noqa: E731
    else:
        of = lambda a, b: _rough(b.T, a).square().sum()  # noqa: E731
    norm = [torch.stack([of(x, x).double().sqrt() for x in some]) for some in prepared]
    top = torch.zeros(len(xs), len(ys), dtype=torch.float64, device=xs[0].device)
    for i, x in enumerate(prepared[0]):
        for j, y in enumerate(prepared[1]):
            top[i, j] = top[j, i] if same and j < i else of(x, y)
    found = top / norm[0].unsqueeze(-1) / norm[1]
    found[torch.tensor(none[0], device=found.device)] = torch.nan
    found[:, torch.tensor(none[1], device=found.device)] = torch.nan
    return found


def flat(x: Tensor) -> bool:
    """Whether all rows are equal, up to the rounding of constants, which are small differences of large numbers."""
    return bool((x - x[0]).norm() <= torch.finfo(x.dtype).eps ** 0.5 * x.norm())


def cross_entropies(outputs: Tensor) -> Tensor:
    """H(p, q) in nats, mean over images, for the softmax p of each network and q of each other: `(networks, networks)`.

    `outputs` are `(networks, n, classes)`. On the diagonal stands the entropy, not zero (S2-eq-7.8).
    """
    log = outputs.double().log_softmax(-1)
    return -torch.einsum("anc,bnc->ab", log.exp(), log) / outputs.shape[1]


def dissimilarities(x: Tensor) -> Tensor:
    """One minus the correlation of each two rows: the upper triangle of the dissimilarity matrix, `(n (n - 1) / 2,)`."""
    unit = x - x.mean(-1, keepdim=True)
    unit = unit / unit.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    table = 1 - unit @ unit.T
    above = torch.triu_indices(len(x), len(x), 1, device=x.device)
    return table[above[0], above[1]]


def rank_correlations(series: Tensor) -> Tensor:
    """Spearman's correlation of each two rows of `(m, n)`: `(m, m)`. Equal numbers share their mean rank."""
    ranks = torch.stack([_ranks(s) for s in series])
    ranks = ranks - ranks.mean(-1, keepdim=True)
    unit = ranks / ranks.norm(dim=-1, keepdim=True)
    return unit @ unit.T


def _ranks(series: Tensor) -> Tensor:
    _, place, count = series.unique(return_inverse=True, return_counts=True)
    last = count.cumsum(0).double()
    return (last - (count - 1) / 2)[place]
