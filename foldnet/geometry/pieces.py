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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..nets import ReLUNet
from ._affine_rows import Row, at, compose, exact_layers, identity, inside, least, scaled, split


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

    def slack(self, x) -> Fraction | float:
        """The smallest of the sides at a point: above 0 inside the polytope, 0 on its boundary; inf where there is no side."""
        return min((at(row, x) for row in self.sides), default=np.inf)

    def middle(self) -> np.ndarray | None:
        """A point with as much room as there is, at most 1, to all sides of the polytope; None if it is empty."""
        return inside(self.sides) if self.sides else np.zeros(len(self.maps[0]) - 1)

    def least(self, row: Row) -> float:
        """The smallest value of an affine row on the polytope, -inf where it has none."""
        return least(row, self.sides)


def linear_map(net: ReLUNet, pattern: Sequence[bool]) -> Piece:
    """The affine map of a bit pattern, and the inequalities under which it holds: perhaps nowhere. (S2-fig-5.1)

    Bits go layer after layer, as in `ReLUNet.pattern`; a unit that is off multiplies by the leak, 0 for ReLU.
    """
    layers, leak = exact_layers(net), Fraction(net.leak)
    if len(pattern) != sum(net.sizes[1:-1]):
        raise ValueError(f"a bit for each of {sum(net.sizes[1:-1])} hidden neurons is needed; got {len(pattern)}")
    rows, sides, bits = identity(net.sizes[0]), [], list(map(bool, pattern))
    for layer in layers[:-1]:
        here, bits = bits[: len(layer)], bits[len(layer) :]
        z = [compose(row, rows) for row in layer]
        sides += [row if on else scaled(-1, row) for row, on in zip(z, here)]
        rows = [scaled(1 if on else leak, row) for row, on in zip(z, here)]
    return Piece(tuple(map(bool, pattern)), tuple(compose(row, rows) for row in layers[-1]), tuple(sides))


def pieces(net: ReLUNet, most: int = 2000) -> list[Piece]:
    """Every bit pattern that occurs on a set with an inside, with its map and polytope: unit after unit, by linear programs.

    Maps and sides are exact; whether a polytope is empty is decided in float64: one in which no ball of radius 1e-6 fits counts
    as empty. For small networks: it takes about two linear programs for each piece and unit. More than `most` pieces are
    refused as soon as they are there. (S2-eq-5.25)
    """
    layers, leak = exact_layers(net), Fraction(net.leak)
    found = [((), identity(net.sizes[0]), ())]
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


def lookup(table: Iterable[Piece], x) -> list[Fraction]:
    """The value at a point, read from the table: the first piece whose polytope holds it. Exact."""
    for piece in table:
        if piece.slack(x) >= 0:
            return [at(row, x) for row in piece.maps]
    raise ValueError(f"no piece of the table holds the point {tuple(map(str, x))}")
