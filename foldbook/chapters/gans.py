"""Modes of data and how many a generator reaches; games of two players on one function. For the chapter on GANs.

Simultaneous gradient descent moves each player by its own gradient: x makes f(x, y) small, y makes it large. Follow-the-Ridge
(Wang, Zhang and Ba, 2020) adds to the second player's step what keeps it on the ridge of f while the first one moves. RMSprop
scales either step, parameter by parameter.

>>> from foldbook.chapters.gans import is_local_minimax, lost_by_staircase, mode_grid, play, quality, staircase
>>> import torch
>>> net, noise = staircase(count=5, spacing=1.0, steep=10.0), torch.randn(10_000, 1, dtype=torch.float64)
>>> lost = 1 - quality(mode_grid(5, 1.0, 0.1, dimension=1).shares(net(noise)))
>>> bool(abs(lost - lost_by_staircase(5, 0.4, 10.0)) < 0.02)
True
>>> f = lambda x, y: (-1.5 * x * x + 4 * x * y - 0.5 * y * y).sum()  # no point of rest for x alone, but minimax at 0
>>> is_local_minimax(f, torch.zeros(1), torch.zeros(1))
True
>>> [bool(abs(play(f, 1.0, 1.0, lr=0.02, steps=400, ridge=ridge)[0][-1]) < 0.01) for ridge in (True, False)]
[True, False]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from foldnet.nets import ReLUNet
from foldnet.splines.gans import DECAY, TINY

Value = Callable[[Tensor, Tensor], Tensor]
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


def room_needed(shares: Tensor, gap: float, steep: Tensor | float, scale: float) -> Tensor:
    """How much of normal noise of standard deviation `scale` the modes of these shares need, with half of the gaps around them.

    A generator nowhere steeper than `steep` takes distances of less than gap / steep across no gap: what it maps to one mode,
    widened by half of that, stays disjoint from what it maps to another. By the isoperimetric inequality of normal noise a set
    of share p so widened has at least the share Phi(inv Phi(p) + gap / (2 steep scale)); more than 1 in all is impossible.
    """
    wide = torch.as_tensor(gap / (2 * scale * torch.as_tensor(steep, dtype=shares.dtype, device=shares.device))).unsqueeze(-1)
    each = torch.special.ndtr(torch.special.ndtri(shares.clamp(1e-300, 1 - 1e-16)) + wide)
    return torch.where(shares > 0, each, torch.zeros_like(each)).sum(-1)


def best_quality(count: int, gap: float, steep: Tensor | float, scale: float) -> Tensor:
    """The largest quality of `count` modes of equal shares that steepness leaves room for: k Phi(inv Phi(1/k) - wide)."""
    wide = gap / (2 * scale * torch.as_tensor(steep, dtype=torch.float64))
    return count * torch.special.ndtr(torch.special.ndtri(torch.tensor(1 / count, dtype=torch.float64)) - wide)


def most_modes(count: int, gap: float, steep: Tensor | float, scale: float) -> Tensor:
    """How many of `count` modes a generator of this steepness can cover at most, each with a fifth of its fair share."""
    wide = gap / (2 * scale * torch.as_tensor(steep, dtype=torch.float64))
    each = torch.special.ndtr(torch.special.ndtri(torch.tensor(SHARE / count, dtype=torch.float64)) + wide)
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
    return float((torch.special.ndtr(levels + half) - torch.special.ndtr(levels - half)).sum())


# ---- games of two players ---------------------------------------------------------------------------------------------------


def gradients(f: Value, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Those of f by x and by y."""
    x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
    by_x, by_y = torch.autograd.grad(f(x, y), (x, y), allow_unused=True, materialize_grads=True)
    return by_x, by_y


def second_derivatives(f: Value, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """H_xx, H_yx and H_yy of f at a point x `(n,)`, y `(m,)`, as matrices."""
    x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
    first = torch.autograd.grad(f(x, y), (x, y), create_graph=True)
    rows = lambda g, by: [_row(e, by) for e in g]  # noqa: E731
    xx, yx, yy = (torch.stack(rows(g, by)) for g, by in ((first[0], x), (first[1], x), (first[1], y)))
    return xx, yx, yy


def _row(entry: Tensor, by: Tensor) -> Tensor:
    if not entry.requires_grad:
        return torch.zeros_like(by)
    return torch.autograd.grad(entry, by, retain_graph=True, allow_unused=True, materialize_grads=True)[0]


def curvature(f: Value, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues of H_yy, and of H_xx - H_xy inv(H_yy) H_yx: how f bends for y alone, and for x when y answers."""
    xx, yx, yy = second_derivatives(f, x, y)
    return torch.linalg.eigvalsh(yy), torch.linalg.eigvalsh(xx - yx.mT @ torch.linalg.solve(yy, yx))


def is_local_minimax(f: Value, x: Tensor, y: Tensor, tol: float = 1e-6) -> bool:
    """Whether the gradient vanishes (up to `tol`), y sits on a maximum, and x on a minimum of what y's answer leaves."""
    still = max(float(g.abs().max()) for g in gradients(f, x, y)) <= tol
    alone = torch.linalg.eigvalsh(second_derivatives(f, x, y)[2])  # first: where one of them is 0, y has no single answer
    return still and bool((alone < 0).all()) and bool((curvature(f, x, y)[1] > 0).all())


def ridge_correction(f: Value, x: Tensor, y: Tensor, direction: Tensor, damping: float = 0.0) -> Tensor:
    """What y has to move by so that its gradient stays as it is while x moves by -direction: inv(H_yy) H_yx direction.

    With damping, inv(H_yy - damping): where y sits on a maximum, all eigenvalues move away from 0.
    """
    _, yx, yy = second_derivatives(f, x, y)
    return torch.linalg.solve(yy - damping * torch.eye(len(yy), dtype=yy.dtype), yx @ direction)


def precondition(gradient: Tensor, square: Tensor, count: Tensor | float, decay: float = DECAY) -> Tensor:
    """RMSprop: `gradient` over the root of its mean square. Updates `square` in place; `count` steps have been averaged with
    this one, and the average starts at 0, which is divided out."""
    square.mul_(decay).addcmul_(gradient, gradient, value=1 - decay)
    return gradient / ((square / (1 - decay**count)).sqrt() + TINY)


def play(
    f: Value, x, y, lr: float | tuple[float, float], steps: int, ridge: bool = False, rmsprop: bool = False, damping: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The paths of both players, `(steps + 1, n)` each, from x, y with rates `lr` (one, or one each); for small games.

    `ridge` adds the correction of Follow-the-Ridge, `rmsprop` scales both gradients, before the correction is computed.
    """
    x, y = (torch.atleast_1d(torch.as_tensor(v, dtype=torch.float64)) for v in (x, y))
    rate_x, rate_y = lr if isinstance(lr, tuple) else (lr, lr)
    squares = [torch.zeros_like(x), torch.zeros_like(y)]
    path = [(x, y)]
    for t in range(1, steps + 1):
        down, up = gradients(f, x, y)
        if rmsprop:
            down, up = (precondition(g, s, t) for g, s in zip((down, up), squares))
        move = rate_y * up
        if ridge:
            move = move + rate_x * ridge_correction(f, x, y, down, damping)
        x, y = x - rate_x * down, y + move
        path.append((x, y))
    xs, ys = zip(*path)
    return torch.stack(xs), torch.stack(ys)
