"""The one-dimensional XOR problem in SymPy: loss and gradient of a region, its steady states, Hessians, and Table 3.2.

Needs SymPy; `optima` does the rest in rational and floating point numbers. Chapter boolean/optima.

>>> from foldbook.chapters.optima_symbolic import orbits
>>> len(orbits())
13
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import sympy as sp

from foldnet.nets import ReLUNet

from .optima import CASES, COPIES, POINTS, REGIONS, TARGETS, mirrored, node_cases, parameters

PARAMETERS = w1, w2, o1, o2, b1, b2, c = sp.symbols("w1 w2 o1 o2 b1 b2 c", real=True)
_SLOT = {0: 0, 1: 1, -1: 2}  # where a case says whether the node is on at x


@functools.cache
def loss(region: tuple[str, str]) -> sp.Expr:
    """The loss as a polynomial in the seven parameters, valid in one region such as `("-+-", "+++")`."""
    nodes = list(zip(region, ((w1, o1, b1), (w2, o2, b2))))
    total = sp.Integer(0)
    for x, copies, y in zip(POINTS, COPIES, TARGETS):
        v = c + sum(o * (w * x + b) for case, (w, o, b) in nodes if case[_SLOT[x]] == "+")
        total += copies * (y - v) ** 2
    return sp.expand(total)


@functools.cache
def gradient(region: tuple[str, str]) -> tuple[sp.Expr, ...]:
    """The seven derivatives of the loss in a region."""
    return tuple(sp.expand(sp.diff(loss(region), p)) for p in PARAMETERS)


def solve(region) -> list[dict]:
    """The steady states as SymPy's general solver gives them: branches, some outside the region, some inside another."""
    return sp.solve([g for g in gradient(region) if g != 0], PARAMETERS, dict=True)


def orbits() -> list[tuple[tuple[str, str], ...]]:
    """The 36 regions, those together that an exchange of nodes or a reflection of the data maps to each other."""
    images = lambda r: {(r[0], r[1]), (r[1], r[0]), *((mirrored(p), mirrored(q)) for p, q in (r, r[::-1]))}  # noqa: E731
    return sorted({tuple(sorted(images(region))) for region in REGIONS}, key=lambda orbit: REGIONS.index(orbit[0]))


@functools.cache
def _hessian(region):
    return sp.lambdify(PARAMETERS, sp.hessian(loss(region), PARAMETERS).tolist(), "math")


def hessian_at(region, point) -> sp.Matrix:
    """The Hessian of the loss at a point of a region, seven rational numbers in the order of PARAMETERS."""
    rows = _hessian(tuple(region))(*(Fraction(v) for v in point))
    return sp.Matrix([[sp.Rational(h.numerator, h.denominator) for h in row] for row in rows])


def inertia(matrix: sp.Matrix) -> tuple[int, int, int]:
    """How many eigenvalues of a symmetric rational matrix are positive, negative and zero, exactly.

    All eigenvalues are real, so Descartes' rule counts them without error: sign changes in the characteristic polynomial.
    """
    coefficients = matrix.charpoly().all_coeffs()
    changes = lambda row: sum(bool(p * q < 0) for p, q in pairwise(row))  # noqa: E731
    nonzero = [a for a in coefficients if a != 0]
    size = len(coefficients) - 1
    flipped = [a * (-1) ** (size - k) for k, a in enumerate(coefficients) if a != 0]
    positive, negative = changes(nonzero), changes(flipped)
    return positive, negative, size - positive - negative


# ---- Table 3.2 ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A row of the dissertation's Table 3.2: loss, region, the equations solved for some parameters, and the count in 1,000."""

    loss: sp.Rational
    region: tuple[str, str]
    equations: dict
    count: int


_R = sp.Rational
TABLE = (
    Row(_R(0), ("--+", "-+-"), {b1: w1 - 2 / o1, b2: -w2 - 2 / o2, c: _R(1)}, 23),
    Row(_R(0), ("--+", "-+-"), {b1: w1 - 2 / o1, b2: -w2 - 2 / o2, c: _R(1)}, 25),
    Row(_R(0), ("--+", "++-"), {b1: (-c + o1 * w1 - 1) / o1, b2: (1 - c) / o2, w2: -2 / o2}, 26),
    Row(_R(4), ("+++", "---"), {c: -b1 * o1, w1: _R(0)}, 26),
    Row(_R(0), ("-+-", "++-"), {b1: (-o1 * w1 - o2 * w2 - 2) / o1, b2: 2 / o2, c: _R(-1)}, 26),
    Row(_R(4), ("---", "+++"), {c: -b2 * o2, w2: _R(0)}, 26),
    Row(_R(0), ("-+-", "--+"), {b1: -w1 - 2 / o1, b2: w2 - 2 / o2, c: _R(1)}, 31),
    Row(_R(4), ("+++", "+++"), {c: -b1 * o1 - b2 * o2, w1: -o2 * w2 / o1}, 33),
    Row(_R(8, 3), ("---", "--+"), {b2: w2 - _R(4, 3) / o2, c: _R(1, 3)}, 58),
    Row(_R(8, 3), ("--+", "---"), {b1: w1 - _R(4, 3) / o1, c: _R(1, 3)}, 61),
    Row(_R(8, 3), ("-+-", "-+-"), {b1: (-b2 * o2 - o1 * w1 - o2 * w2 - _R(4, 3)) / o1, c: _R(1, 3)}, 62),
    Row(_R(4), ("---", "---"), {c: _R(0)}, 64),
    Row(_R(8, 3), ("--+", "--+"), {b1: (-b2 * o2 + o1 * w1 + o2 * w2 - _R(4, 3)) / o1, c: _R(1, 3)}, 66),
    Row(_R(8, 3), ("---", "-+-"), {b2: -w2 - _R(4, 3) / o2, c: _R(1, 3)}, 67),
    Row(_R(8, 3), ("-+-", "---"), {b1: -w1 - _R(4, 3) / o1, c: _R(1, 3)}, 75),
)


def distinct_rows() -> dict[tuple[str, str], Row]:
    """The rows by region, rows that say the same thing joined and their counts added."""
    rows: dict[tuple[str, str], Row] = {}
    for row in TABLE:
        before = rows.get(row.region)
        if before is not None and before.equations != row.equations:
            raise ValueError(f"two different solutions in the region {row.region}")
        rows[row.region] = Row(row.loss, row.region, row.equations, row.count + (before.count if before else 0))
    return rows


def residuals(row: Row, region=None) -> list[sp.Expr]:
    """What is left of the gradient, and of the loss minus the stated one, with a row's solution put in; zeros if it holds."""
    region = region or row.region
    put_in = lambda e: sp.cancel(e.subs(row.equations, simultaneous=True))  # noqa: E731
    return [*(put_in(g) for g in gradient(region)), put_in(loss(region) - row.loss)]


def matches(nets: ReLUNet, row: Row, tol: float) -> np.ndarray:
    """Which networks lie in the region of a row, by their bare signs (on if > 0), and fulfil its equations within `tol`."""
    p = parameters(nets).double().cpu().numpy()
    on = {case: case.replace("0", "-") for case in CASES}
    cases = node_cases(nets, tol=0.0)
    inside = np.ones(p.shape[:-1], dtype=bool)
    for i in (0, 1):
        fitting = [k for k, case in enumerate(CASES) if on[case] == row.region[i]]
        inside &= np.isin(cases[..., i], fitting)
    with np.errstate(divide="ignore", invalid="ignore"):
        for left, right in row.equations.items():
            value = sp.lambdify(PARAMETERS, right, "numpy")(*np.moveaxis(p, -1, 0))
            inside &= np.abs(p[..., PARAMETERS.index(left)] - value) <= tol
    return inside
