"""Networks as differences of maxima of affine functions, tropical rational functions, exactly and both ways.

With max as addition and + as multiplication, a polynomial is a maximum of affine functions (geometry/linearization).

>>> from foldnet.geometry.tropical import tropical
>>> from foldnet.nets import ReLUNet
>>> hat = ReLUNet([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], [0.0]])
>>> (f,) = tropical(hat)  # a difference of two maxima
>>> float(f([0.5])), float(f([3]))
(0.5, -1.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product

import numpy as np
import torch

from ..nets import ReLUNet
from ._affine_rows import Row, at, exact, exact_layers, identity, minus, roomy, scaled, split
from .pieces import Piece

MOST_TERMS = 20_000
JUMP = "these pieces do not fit together: a maximum of minima is continuous, and they jump"


@dataclass(frozen=True)
class Polynomial:
    """The maximum of affine functions, `terms` as rows (a_1, ..., a_d, c); equal slopes are one term. (S2-def-tropical)

    `p + q` is the tropical sum, the larger of the two; `p * q` the tropical product, their ordinary sum; `p**r` is r p.
    """

    terms: tuple[Row, ...]

    def __post_init__(self):
        best: dict[Row, Fraction] = {}
        for row in self.terms:
            *slope, c = map(exact, row)
            best[tuple(slope)] = max(c, best.get(tuple(slope), c))
        if not best:
            raise ValueError("a tropical polynomial has at least one term; the empty one would be -infinity everywhere")
        if len(lengths := sorted({len(slope) for slope in best})) > 1:
            raise ValueError(f"all terms of a polynomial have the same inputs; got some with {lengths[0]} and {lengths[-1]}")
        object.__setattr__(self, "terms", tuple((*slope, c) for slope, c in sorted(best.items())))

    def __call__(self, x) -> Fraction:
        """The value at one point, a sequence of numbers: exact."""
        return max(at(row, x) for row in self.terms)

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial(self.terms + other.terms)

    def __mul__(self, other: Polynomial) -> Polynomial:
        if len(self.terms) * len(other.terms) > MOST_TERMS:
            raise ValueError(f"a product of {len(self.terms)} by {len(other.terms)} terms is above the limit of {MOST_TERMS}")
        if len(self.terms[0]) != len(other.terms[0]):
            inputs = f"{len(self.terms[0]) - 1} and {len(other.terms[0]) - 1}"
            raise ValueError(f"the factors of a product have the same inputs; got polynomials of {inputs}")
        return Polynomial(tuple(tuple(a + b for a, b in zip(p, q)) for p, q in product(self.terms, other.terms)))

    def __pow__(self, r) -> Polynomial:
        if r < 0:
            raise ValueError(f"a power of a polynomial is a polynomial for exponents >= 0; got {r}: divide instead")
        return Polynomial(tuple(scaled(exact(r), row) for row in self.terms))

    def pruned(self) -> Polynomial:
        """Without the terms that are nowhere alone the largest: one linear program each.

        A term that leads only where no ball of radius 1e-6 fits goes too: there the function is smaller afterwards, and
        the same everywhere else.
        """
        kept = list(self.terms)
        for row in self.terms:
            others = [r for r in kept if r != row]
            if others and not roomy([minus(row, r) for r in others]):
                kept = others
        return Polynomial(tuple(kept))


@dataclass(frozen=True)
class Rational:
    """A tropical quotient: the ordinary difference of two polynomials, `top` - `bottom`."""

    top: Polynomial
    bottom: Polynomial

    def __call__(self, x) -> Fraction:
        return self.top(x) - self.bottom(x)

    def pruned(self) -> Rational:
        return Rational(self.top.pruned(), self.bottom.pruned())

    @property
    def size(self) -> tuple[int, int]:
        """How many terms there are above and below."""
        return len(self.top.terms), len(self.bottom.terms)

    def network(self) -> ReLUNet:
        """A ReLU network that computes it: maxima by halves, max(u, v) = u + max(v - u, 0), in about log2(terms) layers.

        In float64: exact where all coefficients are doubles, as whole numbers are. (S2-thm-tropical-equivalence)
        """
        sides: list[list] = [list(self.top.terms), list(self.bottom.terms)]
        weights, biases = [], []
        while True:
            neurons: list[Row] = []
            sides = [_halved(rows, neurons) for rows in sides]
            weights.append([row[:-1] for row in neurons])
            biases.append([row[-1] for row in neurons])
            width = len(neurons)
            sides = [[(*tuple(row.get(i, Fraction(0)) for i in range(width)), Fraction(0)) for row in rows] for rows in sides]
            if max(map(len, sides)) == 1:
                break
        last = minus(sides[0][0], sides[1][0])
        weights.append([last[:-1]])
        biases.append([last[-1]])
        as_double = lambda rows: torch.tensor(np.array(rows, dtype=float))  # noqa: E731
        return ReLUNet([as_double(w) for w in weights], [as_double(b) for b in biases])

    def pieces(self) -> list[Piece]:
        """Its pieces: where one term is the largest above and one below. Polytopes with an inside only."""
        found = []
        for above, below in product(self.top.terms, self.bottom.terms):
            sides = [minus(above, r) for r in self.top.terms if r != above]
            sides += [minus(below, r) for r in self.bottom.terms if r != below]
            if roomy(sides):
                found.append(Piece((), (minus(above, below),), tuple(sides)))
        return found

    @classmethod
    def of_max_min(cls, lists: Sequence[Sequence[Row]]) -> Rational:
        """A maximum of minima as a tropical rational function: a minimum is minus a maximum, and all get one denominator."""
        below = [Polynomial(tuple(scaled(-1, row) for row in rows)).pruned() for rows in lists]
        one = Polynomial(((Fraction(0),) * len(lists[0][0]),))
        product_of = lambda factors: reduce(lambda p, q: (p * q).pruned(), factors, one)  # noqa: E731
        tops = [product_of(below[:k] + below[k + 1 :]) for k in range(len(below))]
        return cls(reduce(lambda p, q: (p + q).pruned(), tops), product_of(below))


def tropical(net: ReLUNet, prune: bool = True) -> list[Rational]:
    """Each output of one (leaky) ReLU network as a tropical rational function, layer by layer, in exact fractions.

    max(P - Q, 0) = max(P, Q) - Q, and a weight below 0 sends a quotient to the other side. `prune=False` keeps every term; else
    what `Polynomial.pruned` drops is dropped after each layer. (S2-thm-tropical-equivalence)
    """
    leak, n = Fraction(net.leak), net.sizes[0]
    layers = exact_layers(net)
    one = Polynomial(((Fraction(0),) * (n + 1),))
    units = [Rational(Polynomial((row,)), one) for row in identity(n)]
    for depth, layer in enumerate(layers):
        units = [_combined(row, units, one) for row in layer]
        if depth < len(layers) - 1:
            units = [_activated(unit, leak) for unit in units]
        units = [unit.pruned() for unit in units] if prune else units
    return units


def max_min(table: Sequence[Piece], output: int = 0) -> list[list[Row]]:
    """A continuous piecewise linear function as a maximum of minima: lists of rows, f(x) = max over lists of min over rows.

    `table`: its pieces, as `pieces` gives those of a network; `output`: which output of it, from 0.
    The list of a piece has the maps that are nowhere below its own on it. Where their minimum is above the function on
    another piece, the piece is cut first where maps cross its own. Pieces that jump on more than a ball of radius 1e-6
    are refused.
    """
    maps = sorted({piece.maps[output] for piece in table})
    parts = [(piece.maps[output], piece.sides) for piece in table]
    lists: list[list[Row]] = []
    for piece, (own, sides) in zip(table, parts):
        rows = [row for row in maps if row == own or piece.least(minus(row, own)) >= -1e-9]
        fits = rows in lists or _below(rows, parts)
        for some in [rows] if fits else _on_parts(own, sides, maps):
            if not fits and not _below(some, parts):
                raise ValueError(JUMP)
            if some not in lists:
                lists.append(some)
    for piece, (own, _) in zip(table, parts):
        x = piece.middle()
        if x is not None and max_min_at(lists, x.tolist()) != at(own, x.tolist()):
            raise ValueError(JUMP)
    return lists


def _below(rows: list[Row], parts: Sequence[tuple[Row, Sequence[Row]]]) -> bool:
    """Whether the minimum of rows is nowhere above a function that has one affine map on each part."""
    return not any(own not in rows and roomy([*sides, *(minus(row, own) for row in rows)]) for own, sides in parts)


def _on_parts(own: Row, sides: tuple[Row, ...], maps: list[Row]) -> Iterator[list[Row]]:
    """A piece cut where other maps go through its own: of each part, the maps that are not below it."""
    others = [row for row in maps if row != own]
    for bits, _ in split([minus(row, own) for row in others], sides):
        yield sorted([own, *(row for row, above in zip(others, bits) if above)])


def max_min_at(lists: Iterable[Iterable[Row]], x) -> Fraction:
    """The value at a point of a maximum of minima, the lists that `max_min` gives, exactly."""
    return max(min(at(row, x) for row in rows) for rows in lists)


def _combined(row: Row, units: Sequence[Rational], one: Polynomial) -> Rational:
    """The affine combination of quotients: positive weights keep the sides, negative ones change them."""
    top, bottom = Polynomial(((*one.terms[0][:-1], row[-1]),)), one
    for w, unit in zip(row, units):
        if w:
            up, down = (unit.top, unit.bottom) if w > 0 else (unit.bottom, unit.top)
            top, bottom = top * up ** abs(w), bottom * down ** abs(w)
    return Rational(top, bottom)


def _activated(f: Rational, leak: Fraction) -> Rational:
    if not leak:
        return Rational(f.top + f.bottom, f.bottom)
    larger = f.top * f.bottom**leak + f.top**leak * f.bottom
    return Rational(larger, f.bottom ** (1 + leak))


def _halved(rows: list[Row], neurons: list[Row]) -> list[dict[int, Fraction]]:
    """Neurons for one round of pairs, added to the list, and the maxima as combinations of them: weights by neuron."""
    found = []
    for u, v in zip(rows[::2], [*rows[1::2], None]):
        first = len(neurons)
        neurons += [u, scaled(-1, u)]
        combination = {first: Fraction(1), first + 1: Fraction(-1)}
        if v is not None:
            neurons.append(minus(v, u))
            combination[first + 2] = Fraction(1)
        found.append(combination)
    return found
