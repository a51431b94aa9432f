"""How breakpoints divide data on a line: who is alone in a piece, how likely that is, and what then fits all.

>>> from foldnet.splines.partitions import lonely, lonely_probability
>>> bool(lonely([0.5, 1.5], [0.0, 1.0, 2.0]))
True
>>> round(lonely_probability(3, 20), 3)
0.751
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from .breakpoints import Spline, hinges
from .points import distinct, tensors

MODELS = ("grid", "random")


def piece_of(breakpoints, x) -> Tensor:
    """The number of the piece, from 0 on the left to H on the right, in which each data point lies.

    `breakpoints` `(*batch, H)` and `x` `(*batch, N)` broadcast; the result has shape `(*batch, N)`. (S3-def-lonely)
    """
    beta, x = tensors(breakpoints, x)
    batch = torch.broadcast_shapes(beta.shape[:-1], x.shape[:-1])
    beta = beta.sort(-1).values.expand(*batch, -1).contiguous()
    x = x.expand(*batch, -1).contiguous()
    p = torch.searchsorted(beta, x)
    on_one = beta.gather(-1, p.clamp(max=beta.shape[-1] - 1)) == x if beta.shape[-1] else torch.zeros_like(x, dtype=torch.bool)
    if on_one.any():
        raise ValueError(
            f"a breakpoint lies on the data point x = {x[on_one][0]:g}, which is then in two pieces: move one of them"
        )
    return p


def alone(breakpoints, x) -> Tensor:
    """Which data points share their piece with no other, `(*batch, N)`. (S3-fig-11-lonely-percentage)"""
    beta, x = tensors(breakpoints, x)
    p, order = piece_of(beta, distinct(x)), x.argsort(-1)
    apart = torch.ones(*p.shape[:-1], p.shape[-1] + 1, dtype=torch.bool, device=p.device)
    apart[..., 1:-1] = p.diff(dim=-1) > 0
    result = torch.empty_like(p, dtype=torch.bool)
    return result.scatter(-1, order.expand(p.shape), apart[..., 1:] & apart[..., :-1])


def lonely(breakpoints, x) -> Tensor:
    """Whether every data point is alone in its piece, `(*batch,)`. (S3-def-lonely)"""
    return alone(breakpoints, x).all(-1)


# ---- chances -----------------------------------------------------------------------------------------------------------


def lonely_probability(points: int, breakpoints: int, model: str = "random") -> float:
    """The chance that N independent data points are all alone among H breakpoints, exactly. (S3-thm-4-lonely)

    `model` is `"grid"` (breakpoints cut the range of uniform data into H + 1 equal cells) or `"random"` (breakpoints drawn
    independently from the law of the data, whatever it is).
    """
    n, h = _sizes(points, breakpoints, model)
    if model == "grid":
        return math.perm(h + 1, n) / (h + 1) ** n
    return lonely_count(n, h) / arrangement_count(n, h)


def alone_share(points: int, breakpoints: int, model: str = "random") -> float:
    """The expected share of data points that are alone, in the same two models. (S3-fig-11-lonely-percentage)"""
    n, h = _sizes(points, breakpoints, model)
    if model == "grid":
        return (1 - 1 / (h + 1)) ** (n - 1)
    return 1.0 if n == 1 else h * (h + 1) / ((h + n) * (h + n - 1))


def printed_probability(points: int, breakpoints: int) -> float:
    """What the lecture prints for the chance to be lonely; see `lonely_probability` for what it is. (S3-thm-4-lonely)"""
    return -math.expm1(-(points**2) / (breakpoints + 1))


def lonely_count(points: int, breakpoints: int) -> int:
    """How many orders of N equal data points and H equal breakpoints along the line are lonely. (S3-thm-4-count)"""
    return math.comb(breakpoints + 1, points)


def arrangement_count(points: int, breakpoints: int) -> int:
    """How many orders of N equal data points and H equal breakpoints along the line there are. (S3-thm-4-count)"""
    return math.comb(breakpoints + points, points)


def scatter(points: int, breakpoints: int, model: str = "random", batch=(), seed: int = 0) -> tuple[Tensor, Tensor]:
    """Uniform data on [0, 1], `(*batch, N)`, and breakpoints, `(*batch, H)` or, on a grid, `(H,)`."""
    n, h = _sizes(points, breakpoints, model)
    batch = (batch,) if isinstance(batch, int) else tuple(batch)
    rng = np.random.default_rng(seed)
    x = rng.random((*batch, n))
    x, beta = tensors(x, np.arange(1, h + 1) / (h + 1) if model == "grid" else rng.random((*batch, h)))
    return x, beta


def simulate(points: int, breakpoints: int, model: str = "random", draws: int = 20_000, seed: int = 0) -> tuple[float, float]:
    """The share of lonely partitions and the mean share of data points that are alone, among random draws."""
    most = max(1, 4_000_000 // (points + breakpoints))
    sizes = [min(most, draws - start) for start in range(0, draws, most)]
    found = [alone(*reversed(scatter(points, breakpoints, model, size, seed + i))) for i, size in enumerate(sizes)]
    together = torch.cat(found)
    return together.all(-1).double().mean().item(), together.double().mean().item()


def _sizes(points: int, breakpoints: int, model: str) -> tuple[int, int]:
    if int(points) != points or int(breakpoints) != breakpoints or points < 1 or breakpoints < 0:
        raise ValueError(
            "at least one data point and no negative number of breakpoints are needed, in whole numbers; "
            f"got {points} and {breakpoints}"
        )
    if model not in MODELS:
        raise ValueError(f"breakpoints come on a 'grid' or at 'random' places; got {model!r}")
    return int(points), int(breakpoints)


# ---- fitting -----------------------------------------------------------------------------------------------------------


def interpolant(breakpoints, orientations, x, y) -> Spline:
    """The spline with these breakpoints through every data point; of many, the one with the least delta-slopes and offset.

    The partition has to be lonely, which takes N - 1 breakpoints at least. (S3-thm-4a-lonely-global)
    """
    beta, s, x, y = tensors(breakpoints, orientations, x, y)
    if beta.shape[-1] < x.shape[-1] - 1:
        raise ValueError(
            f"{x.shape[-1]} data points need {x.shape[-1] - 1} breakpoints or more, one between any two neighbours; "
            f"with {beta.shape[-1]} there is in general no interpolant"
        )
    if not lonely(beta, x).all():
        raise ValueError(
            "some data points share a piece, and a piece that is a line need not meet them all: no interpolant in general"
        )
    columns = torch.cat([hinges(x, beta, s), torch.ones_like(x).unsqueeze(-1)], -1)
    if torch.linalg.matrix_rank(columns).min() < x.shape[-1]:
        raise ValueError(
            "these breakpoints and orientations are among the rare ones whose hinges are dependent on the data: move one"
        )
    solution = torch.linalg.pinv(columns) @ y.unsqueeze(-1)
    return Spline(beta, solution[..., :-1, 0], s.expand_as(beta), solution[..., -1, 0])
