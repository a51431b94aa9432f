"""Why training gives smooth functions: the interpolant that gradient flow finds, and the cubic spline that it becomes.

Breakpoints are fixed and only delta-slopes move, so everything here is linear algebra on the features relu(s (x - beta)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FACING = ("right", "left", "both")


def grid(width: int, reach: float, kind: str = "middles", facing: str = "right", seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
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
        beta = reach * ((2 * np.arange(places) + 1) / places - 1)
    elif kind == "ends":
        beta = np.linspace(-reach, reach, places)
    else:
        beta = np.sort(np.random.default_rng(seed).uniform(-reach, reach, places))
    one = np.ones(places)
    return {"right": (beta, one), "left": (beta, -one), "both": (np.r_[beta, beta], np.r_[one, -one])}[facing]


def features(x, breakpoints, orientations=1.0) -> np.ndarray:
    """The matrix `(N, H)` of relu(s_i (x_n - beta_i)): one row for each point, one column for each neuron. (S3-thm-6-minnorm)"""
    x, breakpoints = np.asarray(x, dtype=float), np.asarray(breakpoints, dtype=float)
    return np.maximum(np.asarray(orientations, dtype=float) * (x[:, None] - breakpoints), 0.0)


@dataclass(frozen=True, eq=False)
class Interpolant:
    """`offset + slope * x + sum_i mu_i relu(s_i (x - beta_i))`; `delta_slopes` is `(*batch, H)`, the affine part `(*batch,)`."""

    breakpoints: np.ndarray
    delta_slopes: np.ndarray
    orientations: np.ndarray
    offset: np.ndarray
    slope: np.ndarray

    def __call__(self, x) -> np.ndarray:
        """Values `(*batch, n)` at the points `x`, `(n,)`."""
        x = np.asarray(x, dtype=float)
        bends = self.delta_slopes @ features(x, self.breakpoints, self.orientations).T
        return bends + self.offset[..., None] + self.slope[..., None] * x


def minimum_norm(x, y, breakpoints, orientations=1.0, affine: bool = False, start=None) -> Interpolant:
    """The interpolant of the data with the smallest sum of squared delta-slopes: where gradient flow from 0 ends.

    `y` is `(*batch, N)`. With `affine` a free, unpenalized a + bx is added. With a `start`, `(*batch, H)`, the sum of squared
    *changes* is smallest instead: gradient flow from there ends there. (S3-thm-6-minnorm, S3-cor-4-cubic-spline)
    """
    x, y = data(x, y)
    breakpoints = np.asarray(breakpoints, dtype=float)
    orientations = np.broadcast_to(np.asarray(orientations, dtype=float), breakpoints.shape)
    phi = features(x, breakpoints, orientations)
    line = np.stack([np.ones_like(x), x], 1) if affine else np.zeros((len(x), 0))
    if len(breakpoints) + line.shape[1] < len(x):
        raise ValueError(f"{len(x)} data points need as many features; {len(breakpoints)} breakpoints leave no interpolant")
    scale = np.linalg.norm(phi, axis=0).max(initial=1.0)
    if np.linalg.matrix_rank(np.hstack([phi / scale, line]), tol=1e-12) < len(x):
        raise ValueError(
            "no interpolant: these breakpoints do not tell all data points apart (put some between and beyond neighbours)"
        )
    start = np.zeros(len(breakpoints)) if start is None else np.asarray(start, dtype=float)
    gap = y - start @ phi.T
    mu, c = _smallest(phi, line, gap)
    c = np.concatenate([c, np.zeros((*c.shape[:-1], 2 - c.shape[-1]))], -1)
    return Interpolant(breakpoints, start + mu, orientations, c[..., 0], c[..., 1])


def _smallest(phi: np.ndarray, line: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest mu, and c, with phi mu + line c = y: project the line away, then a QR of the transpose instead of its square."""
    inside = np.linalg.qr(line)[0]
    rest = np.eye(len(phi)) - inside @ inside.T
    left, size, right = np.linalg.svd(rest @ phi, full_matrices=False)
    keep = len(phi) - line.shape[1]
    mu = ((y @ rest) @ left[:, :keep] / size[:keep]) @ right[:keep]
    c = np.linalg.lstsq(line, (y - mu @ phi.T).T.reshape(len(phi), -1), rcond=None)[0] if line.shape[1] else np.zeros((0, 1))
    return mu, (c.T.reshape(*y.shape[:-1], line.shape[1]) if line.shape[1] else np.zeros((*y.shape[:-1], 0)))


@dataclass(frozen=True, eq=False)
class Limit:
    """The limit of `minimum_norm` for uniform breakpoints on [-reach, reach] and H -> infinity: a cubic spline.

    `f(t) = sum_n a_n K(t, x_n) + c_0 + c_1 t` with K the integral over beta of the products of features.
    """

    x: np.ndarray
    weights: np.ndarray
    line: np.ndarray
    reach: float
    facing: str

    def __call__(self, t) -> np.ndarray:
        t = np.asarray(t, dtype=float)
        return self.weights @ kernel(self.x, t, self.reach, self.facing) + self.line[..., :1] + self.line[..., 1:] * t

    def second(self, t) -> np.ndarray:
        """The second derivative, `(*batch, n)`: the density of the delta-slopes."""
        gap = self.x[:, None] - np.asarray(t, dtype=float)
        shapes = {"right": np.maximum(gap, 0), "left": np.maximum(-gap, 0), "both": np.abs(gap)}
        return self.weights @ shapes[self.facing]

    @property
    def energy(self) -> np.ndarray:
        """The integral of the squared second derivative over [-reach, reach], exactly (Simpson between the knots)."""
        ends = np.r_[-self.reach, self.x, self.reach]
        low, high = self.second(ends[:-1]), self.second(ends[1:])
        return (np.diff(ends) * (low**2 + low * high + high**2)).sum(-1) / 3


def kernel(x, t, reach: float, facing: str = "right") -> np.ndarray:
    """`(N, n)`: the integral over beta in [-reach, reach] of relu(s (x - beta)) relu(s (t - beta)), over both s for "both"."""
    _one_of("facing", facing, FACING)
    x, t = np.asarray(x, dtype=float)[:, None], np.asarray(t, dtype=float)

    def facing_right(x, t):
        low, high = np.clip(np.minimum(x, t) + reach, 0, None), np.maximum(x, t) + reach
        return low**2 * (3 * high - low) / 6

    right, left = facing_right(x, t), facing_right(-x, -t)
    return {"right": right, "left": left, "both": right + left}[facing]


def limit(x, y, reach: float, facing: str = "right", affine: bool = False) -> Limit:
    """What the smallest interpolant becomes as uniform breakpoints on [-reach, reach] grow dense. (S3-cor-4-cubic-spline)"""
    x, y = data(x, y)
    if reach < np.abs(x).max():
        raise ValueError(f"breakpoints on [-{reach:g}, {reach:g}] must cover the data, which reach {np.abs(x).max():g}")
    if not affine and ((facing == "right" and x[0] == -reach) or (facing == "left" and x[-1] == reach)):
        raise ValueError(
            f"every neuron is 0 at the end of the grid, x = {reach:g} on its dark side: no interpolant; take a larger reach"
        )
    n, k = len(x), 2 if affine else 0
    line = np.stack([np.ones(n), x], 1)[:, :k]
    system = np.block([[kernel(x, x, reach, facing), line], [line.T, np.zeros((k, k))]])
    solution = np.linalg.solve(system, np.concatenate([y, np.zeros((*y.shape[:-1], k))], -1)[..., None])[..., 0]
    c = np.concatenate([solution[..., n:], np.zeros((*y.shape[:-1], 2 - k))], -1)
    return Limit(x, solution[..., :n], c, float(reach), facing)


def boundary_spline(x, y, reach: float, facing: str = "right", affine: bool = False):
    """The same cubic spline by scipy, from its boundary conditions alone: a function on [-reach, reach] with derivatives.

    One orientation: value and slope 0 at the dark end, straight beyond the data at the other. Free affine part: natural.
    Both orientations: four conditions that tie the ends together (Theorem (three boundary conditions) of splines/smoothing).
    """
    from scipy.interpolate import BSpline, CubicSpline

    x, y = data(x, y)
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


def data(x, y) -> tuple[np.ndarray, np.ndarray]:
    """Data of one variable in the order of x, with one sentence for what cannot be interpolated."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 1 or not len(x) or y.shape[-1:] != x.shape:
        raise ValueError(f"data are N places and (*batch, N) values; got shapes {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("data have values that are NaN or infinite")
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[..., order]
    if (twice := x[1:][np.diff(x) == 0]).size:
        raise ValueError(f"two data points stand at x = {twice[0]:g}: a function has one value there; average them or drop one")
    return x, y


def _one_of(what: str, name, names: tuple[str, ...]) -> None:
    if name not in names:
        raise ValueError(f"{what} is one of {', '.join(map(repr, names))}; got {name!r}")
