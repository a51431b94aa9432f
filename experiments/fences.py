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

import numpy as np

from .runner import short

COUNTS = {(2, 3): 400, (3, 4): 400, (4, 5): 240, (5, 6): 120, (6, 7): 48, (2, 4): 200, (3, 5): 200, (4, 6): 160, (5, 7): 60}
BLOCKS, UNIT = 4, 10**7


def cells() -> list[dict]:
    return [{"inputs": n, "neurons": m, "block": block} for n, m in COUNTS for block in range(BLOCKS)]


def cell(inputs: int, neurons: int, block: int) -> dict:
    """R/rho where each search ended, in order, and the best fence: rows (u, b) `(m, n + 1)` in units of 1e-7, whole numbers."""
    rng = np.random.default_rng([inputs, neurons, block])
    ends = [search(inputs, neurons, rng) for _ in range(COUNTS[inputs, neurons] // BLOCKS)]
    ratios, rows = zip(*sorted(ends, key=lambda end: end[0]))
    return {"ratio": short(list(ratios), 8), "best": np.rint(UNIT * rows[0]).astype(int).tolist()}


@cache
def _sets(m: int, n: int) -> tuple[np.ndarray, ...]:
    """All sets of neurons, the lines in which n - 1 hyperplanes meet, the neurons that are left there, and all sets of these."""
    lines = list(combinations(range(m), n - 1))
    rest = [[k for k in range(m) if k not in line] for line in lines]
    sets = [(np.arange(1, 2**size)[:, None] >> np.arange(size)) & 1 for size in (m, m - n + 1)]
    return sets[0], np.array(lines).reshape(len(lines), n - 1), np.array(rest), sets[1]


def radii(u: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances of all faces' planes and norms of all corners of a fence `(*batch, m, n)`, `(*batch, m)`.

    On a line the fence's function is the largest of the sums over sets of neurons, so the line is inside where all sums are at
    most 1. A line that stays outside has 0 in the place of its corners, one that leaves the region never has 1000 or more.
    """
    m, n = u.shape[-2:]
    some, lines, rest, left = _sets(m, n)
    with np.errstate(divide="ignore"):  # where all neurons are on there may be no face
        near = (1 - b @ some.T) / np.linalg.norm(some @ u, axis=-1)
    along = np.broadcast_to(_along(n), (*u.shape[:-2], len(lines), 1, n))  # a line is run through by its product with this
    right = np.zeros((*along.shape[:-2], n, 2))
    right[..., :-1, 0], right[..., -1, 1] = -b[..., lines], 1
    solved = np.linalg.solve(np.concatenate([u[..., lines, :], along], -2), right)
    base, step = solved[..., 0], solved[..., 1]
    height = (u[..., rest, :] @ base[..., None])[..., 0] + b[..., rest]
    slope = (u[..., rest, :] @ step[..., None])[..., 0] @ left.T
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (1 - height @ left.T) / slope
    low, high = np.where(slope < 0, t, -np.inf).max(-1), np.where(slope > 0, t, np.inf).min(-1)
    ends = np.clip(np.stack([low, high], -1), -1e3, 1e3)
    far = np.linalg.norm(base[..., None, :] + ends[..., None] * step[..., None, :], axis=-1)
    return near, np.where((low < high)[..., None], far, 0).reshape(*u.shape[:-2], -1)


def _along(n: int) -> np.ndarray:
    return np.array([3, 5, 7, 11, 13, 17, 19, 23][:n])


def search(n: int, m: int, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """R/rho and rows (u, b) of the fence at which one search ends, R = 1; inf where it fails."""
    u = rng.normal(size=(m, n))
    while not _closed(u):
        u = rng.normal(size=(m, n))
    return settled(u / np.linalg.norm(u, axis=1)[:, None], 0.1 * rng.normal(size=m))


def settled(u: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
    """As `search`, from the fence `(m, n)`, `(m,)`: a search that stopped too early goes on where it ended."""
    from scipy.optimize import minimize

    m, n = u.shape
    u = u * radii(u, b)[1].max()
    x = np.append(np.column_stack([u, b]), max(radii(u, b)[0].min(), 0))

    def inside(x):
        rows = x[..., :-1].reshape(*x.shape[:-1], m, n + 1)
        near, far = radii(rows[..., :-1], rows[..., -1])
        return np.concatenate([near - x[..., -1:], 1 - far], -1)

    slopes = lambda x: ((inside(x + 1e-8 * np.eye(len(x))) - inside(x)) / 1e-8).T  # noqa: E731
    up = -np.eye(len(x))[-1]
    rule = {"type": "ineq", "fun": inside, "jac": slopes}
    try:
        x = minimize(lambda x: -x[-1], x, jac=lambda x: up, constraints=rule, options={"maxiter": 300, "ftol": 1e-11}).x
        rows = x[:-1].reshape(m, n + 1)
        near, far = radii(rows[:, :-1], rows[:, -1])
    except np.linalg.LinAlgError:
        return math.inf, np.zeros((m, n + 1))
    ratio = far.max() / near.min() if near.min() > 0 and far.max() < 2 else math.inf
    return float(ratio), rows


def _closed(u: np.ndarray) -> bool:
    """Whether a positive combination of the rows is zero, so that the region is bounded."""
    from scipy.optimize import linprog

    return linprog(np.zeros(len(u)), A_eq=u.T, b_eq=np.zeros(u.shape[1]), bounds=[(1, None)] * len(u)).status == 0


def exact(rows: list[list[int]]) -> Fraction:
    """(R/rho)^2 of a fence with whole numbers for rows (u, b), in units of 1e-7, without any rounding."""
    from sympy import Matrix

    m, n = len(rows), len(rows[0]) - 1
    u, b = [row[:-1] for row in rows], [row[-1] for row in rows]
    some, lines, rest, left = _sets(m, n)
    near = []
    for chosen in some.tolist():
        normal = [sum(c * row[k] for c, row in zip(chosen, u)) for k in range(n)]
        room = UNIT - sum(c * v for c, v in zip(chosen, b))
        if room <= 0:
            raise ValueError("0 is not inside this fence: it has no inner radius")
        near.append(Fraction(room**2, size)) if (size := sum(v * v for v in normal)) else None
    far = [Fraction(0)]
    for line, others in zip(lines.tolist(), rest.tolist()):
        a = Matrix([*(u[k] for k in line), _along(n).tolist()])
        if a.det() == 0:
            if Matrix([u[k] for k in line]).rank() == n - 1:
                raise ValueError("a line of this fence is orthogonal to the direction it is run through by")
            continue  # these hyperplanes meet in no line: the corners lie on other lines
        solved = a.LUsolve(Matrix([*([-b[k], 0] for k in line), [0, 1]]))
        base, step = ([Fraction(int(v.p), int(v.q)) for v in solved[:, i]] for i in (0, 1))
        height = [sum(p * q for p, q in zip(u[k], base)) + b[k] for k in others]
        slope = [sum(p * q for p, q in zip(u[k], step)) for k in others]
        sums = [[sum(c * v for c, v in zip(chosen, values)) for values in (height, slope)] for chosen in left.tolist()]
        low = max(((UNIT - p) / q for p, q in sums if q < 0), default=None)
        high = min(((UNIT - p) / q for p, q in sums if q > 0), default=None)
        if low is None or high is None:
            raise ValueError("this fence is not closed")
        if low < high:
            far += [sum((p + t * q) ** 2 for p, q in zip(base, step)) for t in (low, high)]
    return max(far) / min(near)
