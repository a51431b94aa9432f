"""Modes on a line or a grid: how many of them a generator reaches, how much of its noise it loses between them, and what that
has to do with how steep it is. (splines/gans)

>>> from foldnet.splines.modes import lost_by_staircase, mode_grid, quality, staircase
>>> import torch
>>> net, noise = staircase(count=5, spacing=1.0, steep=10.0), torch.randn(10_000, 1, dtype=torch.float64)
>>> lost = 1 - quality(mode_grid(5, 1.0, 0.1, dimension=1).shares(net(noise)))
>>> bool(abs(lost - lost_by_staircase(5, 0.4, 10.0)) < 0.02)
True
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..nets import ReLUNet

NEAR, SHARE = 3.0, 0.2  # a sample belongs to a mode within 3 widths of it; a mode is covered from a fifth of its fair share on


@dataclass(frozen=True, eq=False)
class Modes:
    """Equal normal distributions of standard deviation `width` around `centers`, `(k, d)`."""

    centers: Tensor
    width: float

    def __post_init__(self):
        if self.centers.ndim != 2 or len(self.centers) < 2:
            raise ValueError(f"centers are at least two points, (k, d); got a tensor of shape {tuple(self.centers.shape)}")

    @property
    def spacing(self) -> float:
        """The distance of the two modes that are nearest to each other."""
        return float(torch.pdist(self.centers.double()).min())

    @property
    def gap(self) -> float:
        """What lies between two neighbours and belongs to neither."""
        return self.spacing - 2 * NEAR * self.width

    def sample(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Points of the data, `(*shape, d)`."""
        at = self.centers.device
        which = torch.randint(len(self.centers), shape, generator=generator, device=at)
        spread = torch.randn(*shape, self.centers.shape[1], generator=generator, device=at, dtype=self.centers.dtype)
        return self.centers[which] + self.width * spread

    def shares(self, points: Tensor, near: float = NEAR) -> Tensor:
        """`(*batch, k)`: which part of the points `(*batch, n, d)` is nearest to each mode and within `near` widths of it."""
        distance, nearest = torch.cdist(points, self.centers.to(points)).min(-1)
        member = torch.nn.functional.one_hot(nearest, len(self.centers)) * (distance <= near * self.width).unsqueeze(-1)
        return member.to(points).mean(-2)


def mode_grid(side: int = 5, spacing: float = 1.0, width: float = 0.1, dimension: int = 2, dtype=torch.float64) -> Modes:
    """A grid of modes around the origin, `side` of them along each axis."""
    axis = spacing * (torch.arange(side, dtype=dtype) - (side - 1) / 2)
    return Modes(torch.cartesian_prod(*[axis] * dimension).reshape(-1, dimension), width)


def covered(shares: Tensor) -> Tensor:
    """How many modes have at least the fifth part of their fair share."""
    return (shares >= SHARE / shares.shape[-1]).sum(-1)


def quality(shares: Tensor) -> Tensor:
    """The part of the samples that belongs to any mode; the rest is lost between them."""
    return shares.sum(-1)


# ---- how steep a generator is, and where it folds --------------------------------------------------------------------------


def steepness(net: ReLUNet, noise: Tensor) -> Tensor:
    """The largest factor by which each point of the noise `(*batch, n, d)` is stretched: `(*batch, n)`, norms of the slope."""
    slope = net.jacobian(noise)
    if 1 in slope.shape[-2:]:
        return slope.flatten(-2).norm(dim=-1)
    if slope.shape[-2:] != (2, 2):
        return torch.linalg.matrix_norm(slope, 2)
    square, area = slope.square().sum((-1, -2)), torch.linalg.det(slope)  # in closed form: there are many of them
    return ((square + (square.square() - 4 * area.square()).clamp(min=0).sqrt()) / 2).sqrt()


def folds_within(net: ReLUNet, radius: float | Tensor) -> Tensor:
    """How many hidden neurons bend somewhere in the ball |z| <= radius, one for all or `(*batch,)`: `(*batch,)`."""
    if len(net.sizes) != 3:
        raise ValueError(f"a network with one hidden layer is needed; got {net}")
    w, b = net.weights[0], net.biases[0]
    reach = torch.as_tensor(radius).to(w).unsqueeze(-1)
    return ((b.abs() <= reach * w.norm(dim=-1)) & (w != 0).any(-1)).sum(-1)


def _normal(z: Tensor) -> Tensor:
    return torch.special.ndtr(z)


def room_needed(shares: Tensor, gap: float, steep: Tensor | float, scale: float) -> Tensor:
    """How much of normal noise of standard deviation `scale` the modes of these shares need, with half of the gaps around them.

    A generator nowhere steeper than `steep` takes distances of less than gap / steep across no gap: what it maps to one mode,
    widened by half of that, stays disjoint from what it maps to another. By the isoperimetric inequality of normal noise a set
    of share p so widened has at least the share Phi(inv Phi(p) + gap / (2 steep scale)); more than 1 in all is impossible.
    """
    wide = torch.as_tensor(gap / (2 * scale * torch.as_tensor(steep, dtype=shares.dtype, device=shares.device))).unsqueeze(-1)
    each = _normal(torch.special.ndtri(shares.clamp(1e-300, 1 - 1e-16)) + wide)
    return torch.where(shares > 0, each, torch.zeros_like(each)).sum(-1)


def best_quality(count: int, gap: float, steep: Tensor | float, scale: float) -> Tensor:
    """The largest quality of `count` modes of equal shares that steepness leaves room for: k Phi(inv Phi(1/k) - wide)."""
    wide = gap / (2 * scale * torch.as_tensor(steep, dtype=torch.float64))
    return count * _normal(torch.special.ndtri(torch.tensor(1 / count, dtype=torch.float64)) - wide)


def most_modes(count: int, gap: float, steep: Tensor | float, scale: float) -> Tensor:
    """How many of `count` modes a generator of this steepness can cover at most, each with a fifth of its fair share."""
    wide = gap / (2 * scale * torch.as_tensor(steep, dtype=torch.float64))
    each = _normal(torch.special.ndtri(torch.tensor(SHARE / count, dtype=torch.float64)) + wide)
    return (1 / each).floor().clamp(max=count)


def staircase(count: int, spacing: float, steep: float, scale: float = 1.0) -> ReLUNet:
    """The 1-D generator that visits `count` modes in turn, flat at each and of slope `steep` between: two bends a step.

    Steps stand where normal noise of this scale has equal shares between them.
    """
    if count < 2 or steep <= 0:
        raise ValueError(f"a staircase has two modes or more and rises; got {count} modes and slope {steep}")
    levels = torch.special.ndtri(torch.arange(1, count, dtype=torch.float64) / count) * scale
    half = spacing / (2 * steep)
    if (levels.diff() < 2 * half).any():
        raise ValueError(
            f"steps of slope {steep} run into each other: {count} modes at a distance of {spacing} need a steeper one"
        )
    places = torch.stack([levels - half, levels + half], -1).flatten()
    bends = torch.tensor([steep, -steep], dtype=torch.float64).repeat(count - 1)
    low = torch.tensor([-spacing * (count - 1) / 2], dtype=torch.float64)
    return ReLUNet([torch.ones(len(places), 1, dtype=torch.float64), bends[None]], [-places, low])


def lost_by_staircase(count: int, gap: float, steep: float, scale: float = 1.0) -> float:
    """The share of noise that the staircase loses in its gaps, exactly: a window of width gap / steep around each step."""
    if count < 2 or not (steep > 0 and scale > 0):
        raise ValueError(f"two modes or more, a slope above 0 and a scale above 0 are needed; got {count}, {steep} and {scale}")
    levels = torch.special.ndtri(torch.arange(1, count, dtype=torch.float64) / count)
    half = gap / (2 * steep * scale)
    if (levels.diff() < 2 * half).any():
        raise ValueError(f"windows of width {gap / steep:g} around the steps overlap: a steeper staircase is needed")
    return float((_normal(levels + half) - _normal(levels - half)).sum())
