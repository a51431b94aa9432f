"""A small network as a table of bit patterns, affine maps and polytopes, in exact fractions, in any number of inputs.

The plane has a fast engine of its own (`regions`); this is the form of eq. 5.25 on the whole space (geometry/linearization).

>>> from foldnet.geometry.pieces import lookup, pieces
>>> from foldnet.nets import ReLUNet
>>> hat = ReLUNet([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], [0.0]])  # up to 1, and down again
>>> len(pieces(hat))
3
>>> [float(v) for v in lookup(pieces(hat), [0.5])]
[0.5]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..nets import ReLUNet

Row = tuple[Fraction, ...]  # an affine function x -> a x + c as (a_1, ..., a_d, c)
ROOM = 1e-6  # a polytope in which no ball of this radius fits counts as empty: the tolerance of the linear programs


@dataclass(frozen=True)
class Piece:
    """`f(x) = maps[k] x` (output k, an affine row) where all affine rows `sides` are >= 0; `pattern` says who is on."""

    pattern: tuple[bool, ...]
    maps: tuple[Row, ...]
    sides: tuple[Row, ...]

    @property
    def jacobian(self) -> list[list[Fraction]]:
        """The matrix J of eq. 5.25, `(out, in)`."""
        return [list(row[:-1]) for row in self.maps]

    @property
    def constant(self) -> list[Fraction]:
        """The vector y of eq. 5.25."""
        return [row[-1] for row in self.maps]

    @property
    def polytope(self) -> tuple[list[list[Fraction]], list[Fraction]]:
        """Q and p with Q x <= p, as eq. 5.25 has it."""
        return [[-a for a in row[:-1]] for row in self.sides], [row[-1] for row in self.sides]

    def holds(self, x) -> bool:
        """Whether the point lies in the closed polytope."""
        return all(at(row, x) >= 0 for row in self.sides)


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


def linear_map(net: ReLUNet, pattern: Sequence[bool]) -> Piece:
    """The affine map of a bit pattern, and the inequalities under which it holds: perhaps nowhere. (S2-fig-5.1)

    Bits go layer after layer, as in `ReLUNet.pattern`; a unit that is off multiplies by the leak, 0 for ReLU.
    """
    layers, leak = exact_layers(net), Fraction(net.leak)
    if len(pattern) != sum(net.sizes[1:-1]):
        raise ValueError(f"a bit for each of {sum(net.sizes[1:-1])} hidden neurons is needed; got {len(pattern)}")
    rows, sides, bits = _identity(net.sizes[0]), [], list(map(bool, pattern))
    for layer in layers[:-1]:
        here, bits = bits[: len(layer)], bits[len(layer) :]
        z = [compose(row, rows) for row in layer]
        sides += [row if on else scaled(-1, row) for row, on in zip(z, here)]
        rows = [scaled(1 if on else leak, row) for row, on in zip(z, here)]
    return Piece(tuple(map(bool, pattern)), tuple(compose(row, rows) for row in layers[-1]), tuple(sides))


def pieces(net: ReLUNet, most: int = 2000) -> list[Piece]:
    """Every bit pattern that occurs on a set with an inside, with its map and polytope: unit after unit, by linear programs.

    Maps and sides are exact; whether a polytope is empty is decided in float64 (see ROOM). For small networks: it takes about
    two linear programs for each piece and unit. More than `most` pieces are refused as soon as they are there. (S2-eq-5.25)
    """
    layers, leak = exact_layers(net), Fraction(net.leak)
    found = [((), _identity(net.sizes[0]), ())]
    for layer in layers[:-1]:
        after = []
        for bits, rows, sides in found:
            z = [compose(row, rows) for row in layer]
            for on, cut in split(z, sides):
                after.append((bits + on, [scaled(1 if o else leak, row) for o, row in zip(on, z)], cut))
                if len(after) > most:
                    raise ValueError(f"this network has more than {most} pieces: take a smaller one, or raise most=")
        found = after
    return [Piece(bits, tuple(compose(row, rows) for row in layers[-1]), sides) for bits, rows, sides in found]


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


def lookup(table: Iterable[Piece], x) -> list[Fraction]:
    """The value at a point, read from the table: the first piece whose polytope holds it. Exact."""
    for piece in table:
        if piece.holds(x):
            return [at(row, x) for row in piece.maps]
    raise ValueError(f"no piece of the table holds the point {tuple(map(str, x))}")


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


def compose(row: Row, rows: Sequence[Row]) -> Row:
    """An affine function of affine functions."""
    columns = [sum((a * r[i] for a, r in zip(row, rows)), Fraction(0)) for i in range(len(rows[0]))]
    return (*columns[:-1], columns[-1] + row[-1])


def scaled(factor, row: Row) -> Row:
    return tuple(factor * a for a in row)


def _identity(n: int) -> list[Row]:
    return [tuple(Fraction(int(i == j)) for j in range(n + 1)) for i in range(n)]
