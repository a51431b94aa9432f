"""Why training gives smooth functions: the interpolant that gradient flow finds, and the cubic spline that it becomes.

Breakpoints are fixed and only delta-slopes move, so everything here is linear algebra on the hinges relu(s (x - beta)).

>>> from foldnet.splines.smoothing import grid, minimum_norm
>>> f = minimum_norm([0.0, 1.0], [0.0, 1.0], *grid(200, 2.0))
>>> f([0.0, 1.0]).numpy().round(6).tolist()
[0.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .breakpoints import Spline, hinges
from .points import ordered, tensors

FACING = ("right", "left", "both")


def grid(width: int, reach: float, kind: str = "middles", facing: str = "right", seed: int = 0) -> tuple[Tensor, Tensor]:
    """Breakpoints and orientations of `width` neurons on [-reach, reach]; with `facing="both"` two neurons stand at each place.

    `kind`: "middles" of equal cells, "ends" (evenly spaced, both ends included) or "random" (uniform).
    """
    _one_of("facing", facing, FACING)
    _one_of("kind", kind, ("middles", "ends", "random"))
    places = width // 2 if facing == "both" else width
    if places < 2 or places * (2 if facing == "both" else 1) != width or not reach > 0:
        raise ValueError(
            f"a grid needs at least 2 places, an even width for two orientations and reach > 0; got {width}, {reach}"
        )
    if kind == "middles":
        beta = reach * ((2 * torch.arange(places, dtype=torch.float64) + 1) / places - 1)
    elif kind == "ends":
        beta = torch.linspace(-reach, reach, places, dtype=torch.float64)
    else:
        beta = torch.as_tensor(np.random.default_rng(seed).uniform(-reach, reach, places)).sort().values
    one = torch.ones_like(beta)
    return {"right": (beta, one), "left": (beta, -one), "both": (beta.tile(2), torch.cat([one, -one]))}[facing]


def minimum_norm(x, y, breakpoints, orientations=1.0, affine: bool = False, start=None) -> Spline:
    """The interpolant of the data with the smallest sum of squared delta-slopes: where gradient flow from 0 ends.

    `x` is `(N,)`, `y` `(*batch, N)`, `breakpoints` and `orientations` `(H,)`. With `affine` a free, unpenalized a + bx is added.
    With a `start`, `(*batch, H)`, the sum of squared *changes* is smallest instead: gradient flow from there ends there.
    (S3-thm-6-minnorm, S3-cor-4-cubic-spline)
    """
    x, y = ordered(x, y)
    dtype, x, y = x.dtype, x.double(), y.double()  # a rank is not decided in single precision
    beta, s, start = tensors(breakpoints, orientations, 0.0 if start is None else start, like=x)
    if beta.ndim != 1:
        raise ValueError(f"breakpoints are one list (H,) for all data; got shape {tuple(beta.shape)}")
    s, start = s.expand_as(beta), start.expand(torch.broadcast_shapes(start.shape, beta.shape))
    phi = hinges(x, beta, s)
    line = torch.stack([torch.ones_like(x), x], 1)[:, : 2 * affine]
    if len(beta) + line.shape[1] < len(x):
        raise ValueError(f"{len(x)} data points need as many features; {len(beta)} breakpoints leave no interpolant")
    scale = phi.norm(dim=0).max().clamp(min=1.0)
    if torch.linalg.matrix_rank(torch.cat([phi / scale, line], 1), atol=1e-12, rtol=0) < len(x):
        raise ValueError(
            "no interpolant: these breakpoints do not tell all data points apart (put some between and beyond neighbours)"
        )
    mu, c = _smallest(phi, line, y - start @ phi.mT)
    return Spline(*(part.to(dtype) for part in (beta, start + mu, s, *c.unbind(-1))))


def _smallest(phi: Tensor, line: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Smallest mu, and c `(*batch, 2)`, with phi mu + line c = y: the line is projected away, then no square is formed."""
    inside = torch.linalg.qr(line)[0]
    rest = torch.eye(len(phi)).to(phi) - inside @ inside.mT
    left, size, right = torch.linalg.svd(rest @ phi, full_matrices=False)
    keep = len(phi) - line.shape[1]
    mu = ((y @ rest) @ left[:, :keep] / size[:keep]) @ right[:keep]
    c = (y - mu @ phi.mT) @ torch.linalg.pinv(line).mT
    return mu, torch.nn.functional.pad(c, (0, 2 - c.shape[-1]))


@dataclass(frozen=True, eq=False)
class Limit:
    """The limit of `minimum_norm` for uniform breakpoints on [-reach, reach] and H -> infinity: a cubic spline.

    `f(t) = sum_n a_n K(t, x_n) + c_0 + c_1 t` with K the integral over beta of the products of hinges.
    """

    x: Tensor
    weights: Tensor
    line: Tensor
    reach: float
    facing: str

    def __call__(self, t) -> Tensor:
        (t,) = tensors(t, like=self.x)
        return self.weights @ kernel(self.x, t, self.reach, self.facing) + self.line[..., :1] + self.line[..., 1:] * t

    def second(self, t) -> Tensor:
        """The second derivative, `(*batch, n)`: the density of the delta-slopes, 0 beyond the reach."""
        (t,) = tensors(t, like=self.x)
        gap = self.x.unsqueeze(-1) - t
        sides = {"right": gap.clamp(min=0), "left": (-gap).clamp(min=0), "both": gap.abs()}
        return (self.weights @ sides[self.facing]).where(t.abs() <= self.reach, 0.0)


def kernel(x, t, reach: float, facing: str = "right") -> Tensor:
    """`(N, n)`: the integral over beta in [-reach, reach] of relu(s (x - beta)) relu(s (t - beta)), over both s for "both"."""
    _one_of("facing", facing, FACING)
    x, t = tensors(x, t)

    def from_the_left(low, high):
        """The integral over all beta above -reach, of points at `low` and `high` from there."""
        low = low.clamp(min=0)
        return low**2 * (3 * high - low) / 6

    def facing_right(x, t):
        low, high = torch.minimum(x, t) + reach, torch.maximum(x, t) + reach
        return from_the_left(low, high) - from_the_left(low - 2 * reach, high - 2 * reach)

    right, left = facing_right(x.unsqueeze(-1), t), facing_right(-x.unsqueeze(-1), -t)
    return {"right": right, "left": left, "both": right + left}[facing]


def limit(x, y, reach: float, facing: str = "right", affine: bool = False) -> Limit:
    """What the smallest interpolant becomes as uniform breakpoints on [-reach, reach] grow dense. (S3-cor-4-cubic-spline)"""
    x, y = ordered(x, y)
    if reach < x.abs().max():
        raise ValueError(f"breakpoints on [-{reach:g}, {reach:g}] must cover the data, which reach {x.abs().max():g}")
    if not affine and ((facing == "right" and x[0] == -reach) or (facing == "left" and x[-1] == reach)):
        raise ValueError(
            f"every neuron is 0 at the end of the grid, x = {reach:g} on its dark side: no interpolant; take a larger reach"
        )
    n, k = len(x), 2 * affine
    line = torch.stack([torch.ones_like(x), x], 1)[:, :k]
    top, bottom = torch.cat([kernel(x, x, reach, facing), line], 1), torch.cat([line.mT, line.new_zeros(k, k)], 1)
    pad = torch.nn.functional.pad
    solution = torch.linalg.solve(torch.cat([top, bottom]), pad(y, (0, k)).unsqueeze(-1)).squeeze(-1)
    return Limit(x, solution[..., :n], pad(solution[..., n:], (0, 2 - k)), float(reach), facing)


def boundary_spline(x, y, reach: float, facing: str = "right", affine: bool = False) -> Callable:
    """The same cubic spline by scipy, from its boundary conditions alone: a function on [-reach, reach] with derivatives.

    One orientation: value and slope 0 at the dark end, straight beyond the data at the other. Free affine part: natural.
    Both orientations: four conditions that tie the ends together (Theorem (three boundary conditions) of splines/smoothing).
    """
    from scipy.interpolate import BSpline, CubicSpline

    _one_of("facing", facing, FACING)
    x, y = (a.numpy(force=True) for a in ordered(x, y))
    if affine:
        return _straight_to(reach, _straight_to(-reach, CubicSpline(x, y, bc_type="natural"), "natural"), "natural")
    if facing == "right":
        x, y, ends = np.r_[-reach, x], np.r_[0, y], ((1, 0.0), (2, 0.0))
        return _straight_to(reach, CubicSpline(x, y, bc_type=ends), ends)
    if facing == "left":
        x, y, ends = np.r_[x, reach], np.r_[y, 0], ((2, 0.0), (1, 0.0))
        return _straight_to(-reach, CubicSpline(x, y, bc_type=ends), ends)
    knots = np.r_[[-reach] * 4, x, [reach] * 4]
    basis = BSpline(knots, np.eye(len(knots) - 4), 3)
    f, g = ([basis(s * reach, nu=order) for order in range(4)] for s in (-1, 1))
    L = reach
    conditions = [
        f[3] + g[3],
        f[2] + g[2] - L * (g[3] - f[3]),
        f[1] + g[1] - L * (f[2] - g[2]),
        f[0] + g[0] - L * (g[1] - f[1]) - L**3 / 3 * (g[3] - f[3]),
    ]
    rows = np.vstack([basis(x), *conditions])
    return BSpline(knots, np.linalg.solve(rows, np.r_[y, np.zeros(4)]), 3)


def _straight_to(end: float, f, ends):
    """A spline whose second derivative is 0 at its last knot on one side, continued as a line: one more knot, on that line."""
    from scipy.interpolate import CubicSpline

    edge = f.x[-1] if end > 0 else f.x[0]
    if edge == end:
        return f
    more = f(edge) + f(edge, 1) * (end - edge)
    x, y = (np.r_[f.x, end], np.r_[f(f.x), more]) if end > 0 else (np.r_[end, f.x], np.r_[more, f(f.x)])
    return CubicSpline(x, y, bc_type=ends)


def _one_of(what: str, name, names: tuple[str, ...]) -> None:
    if name not in names:
        raise ValueError(f"{what} is one of {', '.join(map(repr, names))}; got {name!r}")
