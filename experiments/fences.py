"""How round can a fence be? Searches for the least R/rho of a closed fence, with n + 1 and with n + 2 neurons in n dimensions.

A fence is the boundary of sum_i (u_i . x + b_i)_+ <= 1, all neurons pushing outwards; rho is the distance of its nearest face
from 0 and R that of its farthest corner. (Chapter geometry/annulus, section 8 of its checks.) The hyperplanes may miss the
centre, and nothing is symmetric at the start: directions drawn from the sphere, biases with a spread of a tenth.

>>> import numpy as np
>>> from experiments import fences
>>> near, far = fences.radii(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.zeros(3))
>>> float(near.min().round(4)), float(far.max().round(4))
(0.7071, 1.4142)
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations

import numba
import numpy as np

from .runner import short

COUNTS = {(2, 3): 1_100, (3, 4): 2_000, (4, 5): 1_500, (5, 6): 600, (6, 7): 400}  # searches of a block, n + 1 neurons
COUNTS |= {(2, 4): 200, (3, 5): 200, (4, 6): 300, (5, 7): 150, (6, 8): 50}
BLOCKS, UNIT, LEVELS = 18, 10**7, 12


def cells() -> list[dict]:
    return [{"inputs": n, "neurons": m, "block": block} for block in range(BLOCKS) for n, m in COUNTS]


def cell(inputs: int, neurons: int, block: int) -> dict:
    """Where the searches ended: the least R/rho to four digits and how often each was met, others, failures; and what is certain.

    `best`: rows (u, b) `(m, n + 1)` of the roundest, in units of 1e-7, whole numbers. `certified`: for so many ends, all that did
    not fail, (R/rho)^2 was bounded from below in fractions, by one corner and one face; the least such bound is that of the
    uniform expanded simplex times 1 + `over`.
    """
    rng = np.random.default_rng([inputs, neurons, block])
    ends = [search(inputs, neurons, rng) for _ in range(COUNTS[inputs, neurons])]
    closed = [(ratio, _whole(rows)) for ratio, rows in ends if ratio < math.inf]
    bounds = [(bound, ratio, fence) for ratio, fence in closed if (bound := _bound(fence))]
    ratio, often = np.unique([round(ratio, 4) for _, ratio, _ in bounds], return_counts=True)
    least, _, best = min(bounds)
    return {
        "ratio": ratio[:LEVELS].tolist(),
        "often": often[:LEVELS].tolist(),
        "others": int(often[LEVELS:].sum()),
        "failed": len(ends) - len(bounds),
        "certified": len(bounds),
        "over": short(float(least / uniform(inputs) - 1), 3),
        "best": best,
    }


def uniform(n: int) -> Fraction:
    """(R/rho)^2 of the uniform expanded simplex, the root polytope."""
    k = (n + 1) // 2
    return Fraction(2 * k * (n + 1 - k), n + 1)


@cache
def _sets(m: int, n: int) -> tuple[np.ndarray, ...]:
    """All sets of neurons, the lines in which n - 1 hyperplanes meet, the neurons that are left there, and all sets of these."""
    lines = list(combinations(range(m), n - 1))
    rest = [[k for k in range(m) if k not in line] for line in lines]
    sets = [((np.arange(1, 2**size)[:, None] >> np.arange(size)) & 1).astype(float) for size in (m, m - n + 1)]
    return sets[0], np.array(lines).reshape(len(lines), n - 1), np.array(rest), sets[1]


def radii(u: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances of all faces' planes and norms of all corners of a fence `(m, n)`, `(m,)`.

    On a line the fence's function is the largest of the sums over sets of neurons, so the line is inside where all sums are at
    most 1. A line that stays outside has 0 in the place of its corners, one that leaves the region never has 1000 or more.
    """
    return with_slopes(u, b)[:2]


def with_slopes(u: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `radii`, with the derivatives of both by all rows (u, b) `(faces + corners, m * (n + 1))`."""
    m, n = u.shape
    return _measured(u.astype(float), b.astype(float), _along(n).astype(float), *_sets(m, n))


@numba.njit(cache=True, error_model="numpy")
def _measured(u, b, along, some, lines, rest, left):
    m, n = u.shape
    faces = len(some)
    near, far = (1 - some @ b) / np.sqrt(((some @ u) ** 2).sum(1)), np.zeros(2 * len(lines))
    slopes = np.zeros((faces + len(far), m, n + 1))
    for s in range(faces):
        normal = some[s] @ u
        size = np.sqrt((normal**2).sum())
        for i in range(m):
            if some[s, i]:
                slopes[s, i, :n], slopes[s, i, n] = -near[s] / size**2 * normal, -1 / size
    a, right = np.empty((n, n)), np.zeros((n, 2))
    for k in range(len(lines)):
        for i in range(n - 1):
            a[i], right[i, 0] = u[lines[k, i]], -b[lines[k, i]]
        a[n - 1], right[n - 1, 0], right[n - 1, 1] = along, 0, 1
        solved = np.linalg.solve(a, right)
        height, slope = np.empty(len(rest[k])), np.empty(len(rest[k]))
        for i in range(len(rest[k])):
            height[i], slope[i] = (u[rest[k, i]] * solved[:, 0]).sum() + b[rest[k, i]], (u[rest[k, i]] * solved[:, 1]).sum()
        ends, sets = np.array([-np.inf, np.inf]), np.zeros(2, dtype=np.int64)
        for s in range(len(left)):
            p, q = (left[s] * height).sum(), (left[s] * slope).sum()
            side = 0 if q < 0 else 1
            if q != 0 and ((1 - p) / q - ends[side]) * (1 - 2 * side) > 0:
                ends[side], sets[side] = (1 - p) / q, s
        if not ends[0] < ends[1]:
            continue
        for side in range(2):
            corner = 2 * k + side
            endless = np.isinf(ends[side])
            x = solved[:, 0] + (2e3 * side - 1e3 if endless else ends[side]) * solved[:, 1]
            far[corner] = np.sqrt((x**2).sum())
            if endless:
                continue
            a[n - 1] = 0
            for i in range(len(rest[k])):
                a[n - 1] += left[sets[side], i] * u[rest[k, i]]
            pull = np.linalg.solve(a.T.copy(), x / far[corner])  # a moved row moves the corner by this
            for i in range(n - 1):
                slopes[faces + corner, lines[k, i], :n] = -pull[i] * x
                slopes[faces + corner, lines[k, i], n] = -pull[i]
            for i in range(len(rest[k])):
                if left[sets[side], i]:
                    slopes[faces + corner, rest[k, i], :n] = -pull[n - 1] * x
                    slopes[faces + corner, rest[k, i], n] = -pull[n - 1]
    return near, far, slopes.reshape(-1, m * (n + 1))


def _along(n: int) -> np.ndarray:
    """The direction that every line is run through by."""
    return np.array([3, 5, 7, 11, 13, 17, 19, 23][:n])


def search(n: int, m: int, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """R/rho and rows (u, b) of the fence at which one search ends, R = 1; inf where it fails."""
    u = rng.normal(size=(m, n))
    if m == n + 1:  # the signs of such rows are one choice of many alike, and two of these are closed
        u *= np.sign(np.linalg.svd(u.T)[2][-1])[:, None]
    while not _closed(u):
        u = rng.normal(size=(m, n))
    return settled(u / np.linalg.norm(u, axis=1)[:, None], 0.1 * rng.normal(size=m))


def settled(u: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
    """As `search`, from the fence `(m, n)`, `(m,)`: a search that stopped too early goes on where it ended."""
    from scipy.optimize import minimize

    m, n = u.shape
    u = u * radii(u, b)[1].max()
    x = np.append(np.column_stack([u, b]), max(radii(u, b)[0].min(), 0))
    up = -np.eye(len(x))[-1]
    last: list = [None, None, None]  # the optimizer asks for values and slopes apart

    def measured(x):
        if last[0] is None or (last[0] != x).any():
            rows = x[:-1].reshape(m, n + 1)
            near, far, slopes = with_slopes(rows[:, :-1], rows[:, -1])
            slopes[len(near) :] *= -1
            by_rho = np.repeat([-1.0, 0.0], [len(near), len(far)])
            last[:] = x.copy(), np.concatenate([near - x[-1], 1 - far]), np.column_stack([slopes, by_rho])
        return last

    rule = {"type": "ineq", "fun": lambda x: measured(x)[1], "jac": lambda x: measured(x)[2]}
    try:
        x = minimize(lambda x: -x[-1], x, jac=lambda x: up, constraints=rule, options={"maxiter": 300, "ftol": 1e-11}).x
        rows = x[:-1].reshape(m, n + 1)
        near, far = radii(rows[:, :-1], rows[:, -1])
    except np.linalg.LinAlgError:
        return math.inf, np.zeros((m, n + 1))
    fits = near.min() > 0 and far.max() < 2 and np.abs(rows).max() < 1e9  # a neuron that ran away has no whole numbers
    ratio = far.max() / near.min() if fits else math.inf
    return float(ratio), rows


def _closed(u: np.ndarray) -> bool:
    """Whether a positive combination of the rows is zero, so that the region is bounded."""
    from scipy.optimize import linprog

    return linprog(np.zeros(len(u)), A_eq=u.T, b_eq=np.zeros(u.shape[1]), bounds=[(1, None)] * len(u)).status == 0


def _whole(rows: np.ndarray) -> list[list[int]]:
    return np.rint(UNIT * rows).astype(int).tolist()


def _bound(fence: list[list[int]]) -> Fraction | None:
    """(R/rho)^2 from below, by the corner and the face that decide; none where no ball is left after rounding."""
    try:
        return exact(fence, *_extremes(fence))
    except ValueError:
        return None


def _extremes(fence: list[list[int]]) -> tuple[int, int]:
    """Which set of neurons makes the nearest face, and on which line the farthest corner lies, but for ties below rounding."""
    rows = np.array(fence) / UNIT
    rows += 1e-12 * np.sin(np.arange(rows.size)).reshape(rows.shape)  # two hyperplanes may be parallel without it
    near, far = radii(rows[:, :-1], rows[:, -1])
    return int(near.argmin()), int(far.argmax()) // 2


def exact(rows: list[list[int]], face: int | None = None, line: int | None = None) -> Fraction:
    """(R/rho)^2 of a fence with whole numbers for rows (u, b), in units of 1e-7, without any rounding.

    face: the one set of neurons to look at, and `line` the one line: then a bound from below, whichever they are.
    """
    m, n = len(rows), len(rows[0]) - 1
    u, b = [row[:-1] for row in rows], [row[-1] for row in rows]
    some, lines, rest, left = (part.astype(int).tolist() for part in _sets(m, n))
    near = []
    for chosen in some if face is None else [some[face]]:
        normal = [sum(c * row[k] for c, row in zip(chosen, u)) for k in range(n)]
        room = UNIT - sum(c * v for c, v in zip(chosen, b))
        if room <= 0:
            raise ValueError("0 is not inside this fence: it has no inner radius")
        near.append(Fraction(room**2, size)) if (size := sum(v * v for v in normal)) else None
    far = [Fraction(0)]
    for k in range(len(lines)) if line is None else [line]:
        through = _line([u[i] for i in lines[k]], [-b[i] for i in lines[k]])
        if through is None:
            continue  # these hyperplanes meet in no line: the corners lie on other lines
        base, step = through
        height = [sum(p * q for p, q in zip(u[i], base)) + b[i] for i in rest[k]]
        slope = [sum(p * q for p, q in zip(u[i], step)) for i in rest[k]]
        sums = [[sum(c * v for c, v in zip(chosen, values)) for values in (height, slope)] for chosen in left]
        low = max(((UNIT - p) / q for p, q in sums if q < 0), default=None)
        high = min(((UNIT - p) / q for p, q in sums if q > 0), default=None)
        if low is None or high is None:
            raise ValueError("this fence is not closed")
        if low < high:
            far += [sum((p + t * q) ** 2 for p, q in zip(base, step)) for t in (low, high)]
    return max(far) / min(near)


def _line(normals: list[list[int]], right: list[int]) -> tuple[list[Fraction], list[Fraction]] | None:
    """A point and the direction of the line in which n - 1 hyperplanes meet; None where they meet in none."""
    n = len(normals) + 1
    table = [[*(Fraction(v) for v in row), Fraction(value), Fraction(0)] for row, value in zip(normals, right)]
    table.append([*(Fraction(v) for v in _along(n).tolist()), Fraction(0), Fraction(1)])
    for k in range(n):
        pivot = next((i for i in range(k, n) if table[i][k]), None)
        if pivot is None:
            from sympy import Matrix

            if Matrix(normals).rank() == n - 1:
                raise ValueError("a line of this fence is orthogonal to the direction it is run through by")
            return None
        table[k], table[pivot] = table[pivot], table[k]
        lead = table[k][k]
        table[k] = [v / lead for v in table[k]]
        for i in range(n):
            if i != k and (factor := table[i][k]):
                table[i] = [p - factor * q for p, q in zip(table[i], table[k])]
    return [row[n] for row in table], [row[n + 1] for row in table]
