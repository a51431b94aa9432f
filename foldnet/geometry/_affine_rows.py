"""Affine functions as rows of fractions, and the polytopes on which rows are >= 0: what `pieces` and `tropical` stand on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from ..nets import ReLUNet

Row = tuple[Fraction, ...]  # an affine function x -> a x + c as (a_1, ..., a_d, c)
ROOM = 1e-6  # a polytope in which no ball of this radius fits counts as empty: the tolerance of the linear programs


def at(row: Row, x) -> Fraction:
    """The affine function at a point, exactly."""
    if len(x) != len(row) - 1:
        raise ValueError(f"a point has {len(row) - 1} coordinates; got {len(x)}")
    return sum((a * exact(v) for a, v in zip(row, x)), row[-1])


def exact(v) -> Fraction:
    """A number as a fraction, numpy's and torch's too: their whole numbers would overflow inside of one."""
    return Fraction(v.item() if hasattr(v, "item") else v)


def exact_layers(net: ReLUNet) -> list[list[Row]]:
    """The layers of one network as affine rows of fractions: every double is a fraction."""
    if net.batch_shape:
        raise ValueError(f"one network is taken apart, not a batch of shape {net.batch_shape}: choose one, as in nets[0]")
    if not net.vector().isfinite().all():
        raise ValueError("a network with weights that are NaN or infinite has no pieces: did its training diverge?")
    pairs = zip(net.weights, net.biases)
    return [[tuple(map(Fraction, (*row, c))) for row, c in zip(w.tolist(), b.tolist())] for w, b in pairs]


def compose(row: Row, rows: Sequence[Row]) -> Row:
    """An affine function of affine functions."""
    columns = [sum((a * r[i] for a, r in zip(row, rows)), Fraction(0)) for i in range(len(rows[0]))]
    return (*columns[:-1], columns[-1] + row[-1])


def scaled(factor, row: Row) -> Row:
    return tuple(factor * a for a in row)


def minus(p: Row, q: Row) -> Row:
    return tuple(a - b for a, b in zip(p, q))


def identity(n: int) -> list[Row]:
    return [tuple(Fraction(int(i == j)) for j in range(n + 1)) for i in range(n)]


def split(
    z: Sequence[Row], sides: tuple[Row, ...], bits: tuple[bool, ...] = ()
) -> Iterator[tuple[tuple[bool, ...], tuple[Row, ...]]]:
    """The polytope cut by the zeros of the rows: bits and sides of each part that has an inside; `bits` are those of before."""
    if len(bits) == len(z):
        yield bits, sides
        return
    row = z[len(bits)]
    for on in (True, False) if any(row) else (False,):  # a unit that sees 0 everywhere is off
        cut = (*sides, row if on else scaled(-1, row))
        if roomy(cut):
            yield from split(z, cut, (*bits, on))


def roomy(rows: Sequence[Row]) -> bool:
    """Whether the rows are all >= 0 on a set with an inside."""
    return inside(rows) is not None


def inside(rows: Sequence[Row]) -> np.ndarray | None:
    """A point with as much room as there is, at most 1, to all sides of a polytope `rows >= 0`; None if there is none."""
    from scipy.optimize import linprog

    if any(row[-1] < 0 and not any(row[:-1]) for row in rows):
        return None
    table = np.array([row for row in rows if any(row[:-1])], dtype=float)
    dimension = len(rows[0]) - 1 if rows else 0
    if not len(table):
        return np.zeros(dimension)
    table /= np.linalg.norm(table[:, :-1], axis=1, keepdims=True)
    bounds = [(None, None)] * dimension + [(None, 1.0)]
    sides = np.column_stack([-table[:, :-1], np.ones(len(table))])
    found = linprog([0.0] * dimension + [-1.0], A_ub=sides, b_ub=table[:, -1], bounds=bounds, method="highs")
    return found.x[:-1] if found.status == 0 and found.x[-1] > ROOM else None


def least(row: Row, rows: Sequence[Row]) -> float:
    """The smallest value of an affine function on a polytope `rows >= 0`, -inf where it has none."""
    from scipy.optimize import linprog

    table = np.array([r for r in rows if any(r[:-1])], dtype=float).reshape(-1, len(row))
    cost = np.array(row[:-1], dtype=float)
    found = linprog(cost, A_ub=-table[:, :-1], b_ub=table[:, -1], bounds=[(None, None)] * len(cost), method="highs")
    return found.fun + float(row[-1]) if found.status == 0 else -np.inf
