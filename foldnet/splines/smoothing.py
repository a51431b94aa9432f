"""Why training gives smooth functions: the interpolant that gradient flow finds, and the cubic spline that it becomes.

Breakpoints are fixed and only delta-slopes move, so everything here is linear algebra on the hinges relu(s (x - beta)).

>>> from foldnet.splines.initialization import breakpoint_grid
>>> from foldnet.splines.smoothing import minimum_norm
>>> f = minimum_norm([0.0, 1.0], [0.0, 1.0], *breakpoint_grid(200, 2.0))
>>> f([0.0, 1.0]).numpy().round(6).tolist()
[0.0, 1.0]
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ._points import ordered, tensors
from .breakpoints import Spline, hinges


def minimum_norm(x, y, breakpoints, orientations=1.0, affine: bool = False, start=None) -> Spline:
    """The interpolant of the data with the smallest sum of squared delta-slopes: where gradient flow from 0 ends.

    x, y: data points `(N,)` and their values `(*batch, N)`.
    breakpoints, orientations: those of the H neurons, `(H,)`.
    affine: whether a free line a + bx is added, which costs nothing.
    start: initial delta-slopes `(*batch, H)`; then the sum of squared *changes* is smallest, as after gradient flow from there.
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
        return self.weights @ _kernel(self.x, t, self.reach, self.facing) + self.line[..., :1] + self.line[..., 1:] * t


def _kernel(x, t, reach: float, facing: str = "right") -> Tensor:
    """`(N, n)`: the integral over beta in [-reach, reach] of relu(s (x - beta)) relu(s (t - beta)), over both s for "both"."""
    if facing not in ("right", "left", "both"):
        raise ValueError(f"facing is one of 'right', 'left', 'both'; got {facing!r}")
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
    """What the smallest interpolant becomes as uniform breakpoints on [-reach, reach] grow dense. (S3-cor-4-cubic-spline)

    x, y: data points `(N,)` and their values `(*batch, N)`.
    reach: the breakpoints fill [-reach, reach], which has to cover the data.
    facing: the side on which neurons are active: "right", "left", or half of them each, "both".
    affine: whether a free line a + bx is added, which costs nothing.
    """
    x, y = ordered(x, y)
    if reach < x.abs().max():
        raise ValueError(f"breakpoints on [-{reach:g}, {reach:g}] must cover the data, which reach {x.abs().max():g}")
    if not affine and ((facing == "right" and x[0] == -reach) or (facing == "left" and x[-1] == reach)):
        raise ValueError(
            f"every neuron is 0 at the end of the grid, x = {reach:g} on its dark side: no interpolant; take a larger reach"
        )
    n, k = len(x), 2 * affine
    line = torch.stack([torch.ones_like(x), x], 1)[:, :k]
    top, bottom = torch.cat([_kernel(x, x, reach, facing), line], 1), torch.cat([line.mT, line.new_zeros(k, k)], 1)
    pad = torch.nn.functional.pad
    solution = torch.linalg.solve(torch.cat([top, bottom]), pad(y, (0, k)).unsqueeze(-1)).squeeze(-1)
    return Limit(x, solution[..., :n], pad(solution[..., n:], (0, 2 - k)), float(reach), facing)
