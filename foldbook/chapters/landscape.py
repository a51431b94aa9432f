"""Chances that data points are alone between breakpoints, and data that a network fits best, for the chapter on the landscape."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from foldnet.nets import ReLUNet
from foldnet.splines.breakpoints import pieces
from foldnet.splines.partitions import alone

MODELS = ("grid", "random")


def lonely_probability(points: int, breakpoints: int, model: str = "random") -> float:
    """The chance that N independent data points are all alone among H breakpoints, exactly. (S3-thm-4-lonely)

    `model` is `"grid"` (breakpoints cut the range of uniform data into H + 1 equal cells) or `"random"` (breakpoints drawn
    independently from the law of the data, whatever it is).
    """
    n, h = _sizes(points, breakpoints, model)
    if model == "grid":
        return math.perm(h + 1, n) / (h + 1) ** n
    return math.comb(h + 1, n) / math.comb(h + n, n)  # of all orders along the line, the lonely ones


def alone_share(points: int, breakpoints: int, model: str = "random") -> float:
    """The expected share of data points that are alone, in the same two models. (S3-fig-11-lonely-percentage)"""
    n, h = _sizes(points, breakpoints, model)
    if model == "grid":
        return (1 - 1 / (h + 1)) ** (n - 1)
    return 1.0 if n == 1 else h * (h + 1) / ((h + n) * (h + n - 1))


def printed_probability(points: int, breakpoints: int) -> float:
    """What the lecture prints for the chance to be lonely; see `lonely_probability` for what it is. (S3-thm-4-lonely)"""
    return -math.expm1(-(points**2) / (breakpoints + 1))


def scatter(points: int, breakpoints: int, model: str = "random", batch=(), seed: int = 0) -> tuple[Tensor, Tensor]:
    """Uniform data on [0, 1], `(*batch, N)`, and breakpoints, `(*batch, H)` or, on a grid, `(H,)`."""
    n, h = _sizes(points, breakpoints, model)
    batch = (batch,) if isinstance(batch, int) else tuple(batch)
    rng = np.random.default_rng(seed)
    x = rng.random((*batch, n))
    beta = np.arange(1, h + 1) / (h + 1) if model == "grid" else rng.random((*batch, h))
    return torch.as_tensor(x), torch.as_tensor(beta)


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


def least_squares_targets(net: ReLUNet, x, size: float = 1.0, seed: int = 0) -> Tensor:
    """Targets of which the network is the ordinary least squares fit on each of its pieces. (S3-thm-3-ols)

    Random residuals, freed on every piece of their mean and of their slope, are added to the outputs.
    """
    noise = size * np.random.default_rng(seed).normal(size=len(x))
    x, noise = (torch.as_tensor(v, dtype=net.dtype, device=net.device) for v in (x, noise))
    where = torch.searchsorted(pieces(net).knots, x)
    for p in where.unique():
        line = torch.stack([torch.ones_like(x), x], -1)[where == p]
        noise[where == p] -= line @ (torch.linalg.pinv(line) @ noise[where == p])
    return net(x[:, None]).squeeze(-1) + noise
