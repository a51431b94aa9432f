"""Cubic splines by scipy, from their boundary conditions, for the chapter on smoothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foldnet.splines.initialization import breakpoint_grid
from foldnet.splines.smoothing import minimum_norm


def bending(x, y, facing: str, reach: float, affine: bool = False, neurons: int = 20_000) -> float:
    """The integral of the squared second derivative of a wide network, the smallest fit with even bends on [-reach, reach].

    Outside its bends a network is straight, so this is the sum of squares over the places, divided by their distance.
    """
    beta, s = breakpoint_grid(neurons, reach, facing=facing)
    mu = minimum_norm(x, y, beta, s, affine=affine).delta_slopes
    mu = mu.reshape(2, -1).sum(0) if facing == "both" else mu  # two at each place
    return float((mu**2).sum()) / (2 * reach / len(mu))


def boundary_spline(x, y, reach: float, facing: str = "right", affine: bool = False) -> Callable:
    """The same cubic spline by scipy, from its boundary conditions alone: a function on [-reach, reach] with derivatives.

    One orientation: value and slope 0 at the dark end, straight beyond the data at the other. Free affine part: natural.
    Both orientations: four conditions that tie the ends together (Theorem (three boundary conditions) of splines/smoothing).
    """
    from scipy.interpolate import BSpline, CubicSpline

    x, y = (np.asarray(a, dtype=float) for a in (x, y))
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
