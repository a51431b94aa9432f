"""The best continuous piecewise linear fit with a given number of pieces: exact least squares over all places of the knots.

A knot between two data points acts on the data as two knots on those points whose jumps have one sign. So the best fit is an
ordinary least-squares fit with knots on data points, for some choice of them (Hudson 1966); which ones is found by a branch and
bound whose lower bounds are the optima of the data to the right (Russian doll search). (splines/dynamics, S3-fig-suboptimal-gd)

>>> from foldnet.splines.regression import optimal
>>> best = optimal([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 0.0], most=2)
>>> [round(one.loss, 6) for one in best]
[0.5, 0.0]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._points import ordered, tensors
from .breakpoints import Pieces


@dataclass(frozen=True, eq=False)
class Optimum:
    """A best fit: its linear pieces, and its loss, half the sum of squared residuals."""

    fit: Pieces
    loss: float


def optimal(x, y, most: int) -> list[Optimum]:
    """The best continuous piecewise linear fits of the points `(n,)` with at most 1, 2, ..., `most` pieces, exactly.

    x, y: data points and their values, `(n,)` each; no two points at one place.
    most: the largest number of pieces, at most n - 1, which interpolate. Knots may lie anywhere.
    """
    x, y = ordered(x, y)
    if y.ndim != 1 or len(x) < 2:
        raise ValueError(f"x and y are two lists of at least 2 numbers; got shapes {tuple(x.shape)} and {tuple(y.shape)}")
    if int(most) != most or most < 1:
        raise ValueError(f"a fit has a whole number of pieces, at least 1; got {most!r}")
    if most > len(x) - 1:
        raise ValueError(f"{len(x) - 1} pieces already interpolate {len(x)} points; {most} are more than the data can tell apart")
    search = _Search(*(a.double().numpy(force=True) for a in (x, y)))
    found = (search.solve(k) for k in range(1, most + 1))
    return [Optimum(Pieces(*tensors(*lines, like=x)), loss) for lines, loss in found]


def fewest_knots(jumps, tol: float = 0.0) -> tuple[int, list[tuple[int, float, float]]]:
    """How few knots give these slope jumps at consecutive data points, and where: `(n, left, right)` for each knot.

    A knot in the gap from point n to n + 1 gives the jumps `left` and `right` to its two ends, both of its own sign; a knot on a
    point gives it a single jump. A jump of at most `tol` counts as none.
    """
    jumps = [0.0 if abs(m) <= tol else float(m) for m in jumps]
    nothing: frozenset = frozenset()
    best = {nothing: (0, [])}  # signs of the knots that may still give to this point -> count, choices so far
    for m in jumps:
        following: dict = {}
        for carry, (count, chosen) in best.items():
            for new in (nothing, frozenset({1}), frozenset({-1}), frozenset({1, -1})):
                if m and np.sign(m) not in carry | new:
                    continue
                entry = (count + len(new), [*chosen, new])
                if new not in following or entry[0] < following[new][0]:
                    following[new] = entry
        best = following
    count, chosen = min(best.values(), key=lambda entry: entry[0])
    left = [dict.fromkeys(new, 0.0) for new in chosen]
    right = [dict.fromkeys(new, 0.0) for new in chosen]
    for n, m in enumerate(jumps):
        if m and n and np.sign(m) in right[n - 1]:
            right[n - 1][np.sign(m)] = m
        elif m:
            left[n][np.sign(m)] = m
    knots = [(n, left[n][s], right[n][s]) for n, new in enumerate(chosen) for s in new]
    return count, [knot for knot in knots if knot[1] or knot[2]]


class _Search:
    """Branch and bound from left to right; `solve(k)` needs `solve(1)`, ..., `solve(k - 1)` before it.

    `best[k][i]` is the least sum of squares of the points i, i + 1, ... with k pieces. A *cut* after point j is a knot anywhere
    in the gap (j, j + 1): if the lines left and right of it, fitted by themselves, cross in the gap, no more need be said.
    A *tie* is a knot on a point. Thousands of steps on a few dozen numbers each: numpy takes them faster than torch.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray):
        self.middle, self.scale = x.mean(), x.std()
        self.level = y.mean()
        self.raw_x, self.x, self.y, self.n = x, (x - self.middle) / self.scale, y - self.level, len(x)
        self.slack = 1e-12 * float(self.y @ self.y) + 1e-300
        self.best: dict[int, np.ndarray] = {}
        self._tables()

    def _tables(self) -> None:
        """For an anchor point a and an end e: sums over the points between, a excluded, and e included; and lines over [i, j]."""
        n, x, y = self.n, self.x, self.y
        u = x - x[:, None]
        rows = np.arange(n)
        terms = (np.ones((n, n)), u, u * u, np.broadcast_to(y, (n, n)), u * y, np.broadcast_to(y * y, (n, n)))
        right = [np.cumsum(np.where(rows > rows[:, None], t, 0.0), axis=1) for t in terms]
        left = [np.cumsum(np.where(rows < rows[:, None], t, 0.0)[:, ::-1], axis=1)[:, ::-1] for t in terms]
        self.sums = [np.where(rows > rows[:, None], r, l) for r, l in zip(right, left)]
        with np.errstate(divide="ignore", invalid="ignore"):
            s0, s1, s2, t0, t1, yy = self.sums
            self.open = np.stack([s0 - s1 * s1 / s2, 2 * (t1 * s1 / s2 - t0), yy - t1 * t1 / s2])  # minimised over the slope
            self.open[:, rows, rows] = 0.0
        self.open[0] = np.maximum(self.open[0], 0.0)
        a, b, c = self.open[0] + 1, self.open[1] - 2 * y[:, None], self.open[2] + y[:, None] ** 2
        value = -b / (2 * a)  # of the line through the points between anchor and end, at the anchor
        self.first = np.stack([a, b, c])  # [:, anchor, end]: cost of anchor..end as a quadratic in the value at the anchor
        self.line_cost = np.maximum(c - b * b / (4 * a), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.line_slope = (t1 - value * s1) / s2
        self.line_value = value

    # ---- the search --------------------------------------------------------------------------------------------------------

    def solve(self, k: int) -> tuple[tuple[np.ndarray, ...], float]:
        """The best fit with k pieces and its loss; `best[k]` for every start comes on the way, from right to left."""
        self.best[k] = np.zeros(self.n)
        solution = 0.0, self.y[-1:], np.zeros(self.n)
        for i in range(self.n - 2, -1, -1):
            if self.n - i <= 2 or k == 1:
                self.best[k][i] = self.line_cost[i, self.n - 1]
                solution = self._evaluate(i, ())
                continue
            values = solution[1]
            slope = (values[1] - values[0]) / (self.x[i + 2] - self.x[i + 1])
            extended = solution[0] + (values[0] - slope * (self.x[i + 1] - self.x[i]) - self.y[i]) ** 2
            self.bound, self.start, self.pieces = extended * (1 + 1e-9) + 2 * self.slack, i, k
            self._cut(i, k, 0.0, None, ())
            solution = self.found
            self.best[k][i] = solution[0]
        return self._fit(solution), 0.5 * solution[0]

    def _children(self, bounds: np.ndarray, at: np.ndarray):
        """The choices that could still win, most promising first; the bound may fall while they are tried."""
        for c in np.argsort(bounds):
            if bounds[c] >= self.bound - self.slack:
                return
            yield at[c]

    def _cut(self, i: int, k: int, cost: float, before, chosen: tuple) -> None:
        """All fits of the points i, ... with k pieces, after a cut; `before` is the line left of the cut, if it is known."""
        last = self.n - 1
        if k == 1 or i == last:
            self._try(chosen, cost + self.line_cost[i, last] if i < last else cost)
            return
        ends = np.arange(i, last)
        bounds = cost + np.where(ends > i, self.line_cost[i, ends], 0.0) + self.best[k - 1][ends + 1]
        crosses = self._crosses(before, i, self.line_value[i, ends], self.line_slope[i, ends])
        bounds = np.where(crosses | (ends == i), bounds, np.inf)
        for j in self._children(bounds, ends):
            line = (self.line_value[i, j] - self.line_slope[i, j] * self.x[i], self.line_slope[i, j]) if j > i else None
            self._cut(j + 1, k - 1, cost + (self.line_cost[i, j] if j > i else 0.0), line, (*chosen, j, j + 1))
        self._try(chosen, cost + self.line_cost[i, last])
        ties = np.arange(i + 1, last)
        a, b, c = self.first[:, ties, i]
        for n in self._children(cost + c - b * b / (4 * a) + self.best[k - 1][ties + 1], ties):
            self._tie(n, k - 1, cost, self.first[:, n, i], i, before, (*chosen, n))

    def _tie(self, n: int, k: int, cost: float, quadratic, i: int, before, chosen: tuple) -> None:
        """All fits with k pieces right of a knot on point n; what lies between the last cut and n costs `quadratic` of f(x_n)."""
        last = self.n - 1
        ends = np.arange(n + 1, last + 1)
        a, b, c = quadratic[:, None] + self.open[:, n, ends]
        closed = cost + c - b * b / (4 * a)
        self._try(chosen, closed[-1])
        if k == 1:
            return
        ends = ends[:-1]
        for j in self._children(closed[:-1] + self.best[k - 1][ends + 1], ends):
            first, line = self._ends(i, j, chosen)
            if self._crosses(before, i, first[0] + first[1] * self.x[i], first[1]):
                self._cut(j + 1, k - 1, closed[j - n - 1], line, (*chosen, j, j + 1))
        a, b, c = following = self._next(n, quadratic, ends)
        for m in self._children(cost + c - b * b / (4 * a) + self.best[k - 1][ends + 1], ends):
            self._tie(m, k - 1, cost, following[:, m - n - 1], i, before, (*chosen, m))

    def _next(self, n: int, quadratic, ends: np.ndarray) -> np.ndarray:
        """The quadratic of the value at the next tie, for each place of it: the value at n is minimised out."""
        s0, s1, s2, t0, t1, yy = (s[n, ends] for s in self.sums)
        d, (a, b, c) = self.x[ends] - self.x[n], quadratic
        here, mixed, there = a + s0 - 2 * s1 / d + s2 / d**2, 2 * s1 / d - 2 * s2 / d**2, s2 / d**2
        linear, other = b - 2 * t0 + 2 * t1 / d, -2 * t1 / d
        return np.stack([there - mixed**2 / (4 * here), other - linear * mixed / (2 * here), c + yy - linear**2 / (4 * here)])

    def _crosses(self, before, i: int, value, slope):
        """Whether the line left of the cut before point i meets the new one between the points i - 1 and i."""
        if before is None:
            return np.ones(np.shape(value), dtype=bool)
        step = self.x[i] - self.x[i - 1]
        here = value - before[0] - before[1] * self.x[i]
        there = value - slope * step - before[0] - before[1] * self.x[i - 1]
        return here * there <= self.slack

    # ---- fits ----------------------------------------------------------------------------------------------------------------

    def _basis(self, i: int, knots, stop: int) -> np.ndarray:
        x = self.x[i : stop + 1]
        return np.stack([np.ones_like(x), x, *(np.maximum(x - self.x[n], 0.0) for n in knots)], axis=1)

    def _ends(self, i: int, j: int, chosen: tuple):
        """First and last line (intercept, slope) of the points i..j with the ties among `chosen` in between."""
        knots = [n for n in chosen if i < n < j]
        coefficients = np.linalg.lstsq(self._basis(i, knots, j), self.y[i : j + 1], rcond=None)[0]
        jumps = coefficients[2:]
        return coefficients[:2], (coefficients[0] - jumps @ self.x[knots], coefficients[1] + jumps.sum())

    def _evaluate(self, i: int, chosen) -> tuple[float, np.ndarray, np.ndarray]:
        """Sum of squares, values and slope jumps of the least-squares fit of the points i, ... with knots on chosen points."""
        knots = [n for n in sorted(set(chosen)) if i < n < self.n - 1]
        basis = self._basis(i, knots, self.n - 1)
        coefficients = np.linalg.lstsq(basis, self.y[i:], rcond=None)[0]
        values, jumps = basis @ coefficients, np.zeros(self.n)
        jumps[knots] = coefficients[2:]
        return float(np.sum((values - self.y[i:]) ** 2)), values, jumps

    def _try(self, chosen: tuple, cost: float) -> None:
        """Keep the fit with these knots if it is better than the best so far and its jumps can be had with the pieces allowed."""
        if cost >= self.bound - self.slack:
            return
        found = self._evaluate(self.start, chosen)
        if found[0] < self.bound - self.slack and fewest_knots(found[2], self._noise(found[2]))[0] < self.pieces:
            self.bound, self.found = found[0], found

    def _noise(self, jumps: np.ndarray) -> float:
        return 1e-10 * float(np.abs(jumps).max())

    def _fit(self, solution) -> tuple[np.ndarray, ...]:
        """Knots, slopes and intercepts of the solution, in the units of the data."""
        _, values, jumps = solution
        _, units = fewest_knots(jumps, self._noise(jumps))
        x = self.raw_x
        knots = np.array([(x[n] * a + x[min(n + 1, self.n - 1)] * b) / (a + b) for n, a, b in units])
        change = np.array([(a + b) / self.scale for _, a, b in units])
        slope = (values[1] - values[0]) / (x[1] - x[0])
        slopes = slope + np.r_[0.0, np.cumsum(change)]
        intercepts = values[0] + self.level - slope * x[0] - np.r_[0.0, np.cumsum(change * knots)]
        return knots, slopes, intercepts
