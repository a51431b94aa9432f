"""Are two networks alike? Measures on the affine maps that they apply to images, and on what their layers hold.

Row i of the coefficient matrix C_j of a network is the affine map that its output j applies at image i: gradient and constant
(S2-def-C, chapter geometry/comparison). All functions take tensors on any device.

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

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .vision import affine_at

if TYPE_CHECKING:
    from .vision import Nets

RIDGE = 1e-9  # of the trace: what makes singular normal equations solvable, and moves nothing above single precision


def coefficients(net: Nets, x: Tensor) -> Tensor:
    """The matrices C_j, `(*batch, out, n, in + 1)`: gradient and constant of each output at each of the points `(n, in)`."""
    slopes, constants = affine_at(net, x)
    return torch.cat([slopes, constants.unsqueeze(-1)], -1).transpose(-3, -2)


def least_squares(source: Tensor, target: Tensor) -> Tensor:
    """The matrix M `(d, d')` that makes `source @ M` nearest to `target`, by normal equations in double precision.

    Among equally good ones it is the smallest, up to `RIDGE` times the trace on the diagonal (S2-eq-7.4).
    """
    a, b = source.double(), target.double()
    gram = a.T @ a
    gram.diagonal().add_(RIDGE * gram.trace())
    return torch.cholesky_solve(a.T @ b, torch.linalg.cholesky(gram))


def compress(net: Nets, x: Tensor, k: int, at: Tensor | None = None, seed: int = 0) -> Tensor:
    """What a network says with `k` affine maps for each output, `(m, out)`: how many does it need? The largest is the class.

    The maps of an output are the centres of k-means of those that it has at the points `x` `(n, in)`; at each of the points `at`
    `(m, in)`, by default the same, the one nearest to its own is taken. The clusters of output j begin with rows that are drawn
    with `seed` + j. (S2-alg-compress)
    """
    if isinstance(net, (list, tuple)) or getattr(net, "batch_shape", ()):
        raise ValueError(f"one network at a time is compressed; got {net}")
    maps = coefficients(net, x)
    asked, at = (maps, x) if at is None else (coefficients(net, at), at)
    centres = [kmeans(rows, k, seed=seed + j)[0] for j, rows in enumerate(maps)]
    near = torch.stack([middle[nearest(rows, middle)] for rows, middle in zip(asked, centres)])
    return values(near, torch.as_tensor(at).to(near)).T


def values(rows: Tensor, x: Tensor) -> Tensor:
    """What rows of coefficients `(*, n, in + 1)` say at their own points `(n, in)`: `(*, n)`."""
    return (rows[..., :-1] * x).sum(-1) + rows[..., -1]


def kmeans(rows: Tensor, k: int, steps: int = 10, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Lloyd's k-means from `k` different rows drawn at random: centres `(k, d)` and the cluster of each row, `(n,)`.

    A centre that loses all its rows stays where it is. Of rows that are equal up to rounding one begins, if there are enough.

    `steps`: how often the centres move.
    """
    if not 1 <= k <= len(rows):
        raise ValueError(f"k-means needs between 1 and {len(rows)} clusters for as many rows; got {k}")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).to(rows.device)
    centres = rows[order[_different(rows[order], k)]]
    for _ in range(steps if k > 1 else 1):
        member = torch.nn.functional.one_hot(nearest(rows, centres), k).to(rows.dtype)
        count = member.sum(0).unsqueeze(-1)
        centres = torch.where(count > 0, member.T @ rows / count.clamp(min=1), centres)
    return centres, nearest(rows, centres)


def _different(rows: Tensor, k: int) -> list[int]:
    """The first `k` rows that differ from each other; where there are fewer, the first of the rest as well."""
    apart = torch.finfo(rows.dtype).eps ** 0.5 * (1 + float(rows.abs().max()))
    fresh: list[int] = []
    for i, row in enumerate(rows):
        if len(fresh) == k:
            return fresh
        if bool(((rows[fresh] - row).abs().amax(-1) > apart).all()):
            fresh.append(i)
    return (fresh + [i for i in range(len(rows)) if i not in fresh])[:k]


def nearest(rows: Tensor, centres: Tensor) -> Tensor:
    """The number of the nearest of the `centres`, `(k, d)`, for each row, `(n,)`."""
    return (centres.square().sum(-1) - 2 * rows @ centres.T).argmin(-1)


def cka(x: Tensor, y: Tensor, centred: bool = True) -> Tensor:
    """Linear centred kernel alignment (S2-eq-7.7) of what two networks hold at the same n points, a number from 0 to 1.

    `x`: `(n, d)`, a row for each point: coefficients, or what a layer holds.
    `y`: `(n, d')`, that of the other network.
    `centred`: whether the mean row is taken away first. Where all rows are equal nothing is left: 0/0, given back as nan.
    """
    if centred and any((z - z[0]).norm() <= torch.finfo(z.dtype).eps ** 0.5 * z.norm() for z in (x, y)):
        return torch.tensor(torch.nan, dtype=torch.float64, device=x.device)
    x, y = (z - z.mean(0) if centred else z for z in (x, y))
    if len(x) < min(x.shape[1], y.shape[1]):  # few rows: the same numbers from the matrices of inner products
        k, m = (x @ x.T).double(), (y @ y.T).double()
        return (k * m).sum() / k.norm() / m.norm()
    inner, *own = ((a.T @ b).double().norm() for a, b in ((y, x), (x, x), (y, y)))
    return inner**2 / own[0] / own[1]
