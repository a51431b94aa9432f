"""The bounded regions of small networks in the plane, in exact fractions, and whether a list of cases is complete.

For geometry/annulus: which closed shapes three neurons can make. `regions` is the fast way for networks with real weights.

>>> from foldbook.chapters.fences import count_faces
>>> count_faces([[1, 0], [0, 1], [1, 1]])  # three lines through a point: six cones, six rays and the point
13
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

Pair = tuple[Fraction, Fraction]
Line = tuple[Fraction, Fraction, Fraction]  # a, b, c for a x + b y + c


@dataclass(frozen=True)
class Fence:
    """A bounded region where a network is positive (`sign` 1) or negative (-1): its corners in order, and how many holes."""

    sign: int
    corners: tuple[Pair, ...]
    holes: int

    @property
    def convex(self) -> bool:
        """Whether it turns the same way at each corner and has no hole."""
        turns = {_turn(*three) > 0 for three in _threes(self.corners)}
        return len(turns) == 1 and not self.holes


def fences(rows, biases, push, offset) -> list[Fence]:
    """The bounded regions of one sign of `offset + sum of push * max(rows @ x + biases, 0)`, x in the plane, exactly.

    Rows are `(n, 2)`, biases and push `(n,)`; weights are whole numbers or fractions. Each is a connected part of the plane where
    the network is positive, or negative.
    """
    rows, biases, push = list(rows), list(biases), list(push)
    if not len(rows) == len(biases) == len(push) or any(len(row) != 2 for row in rows):
        many = f"{len(rows)} rows of {sorted({len(row) for row in rows})}, {len(biases)} biases and {len(push)} pushes"
        raise ValueError(f"each neuron has a row of two weights, a bias and a push; got {many}")
    lines = [(_exact(a), _exact(b), _exact(c)) for (a, b), c in zip(rows, biases)]
    v, offset = [_exact(p) for p in push], _exact(offset)
    reach = _reach(lines, v, offset)
    frame = [(-reach, -reach), (reach, -reach), (reach, reach), (-reach, reach)]
    cells = [(frame, (Fraction(0), Fraction(0), offset))]
    for line, p in zip(lines, v):
        cells = [
            (part, f if sign < 0 else _sum(f, line, p))
            for polygon, f in cells
            for sign in (1, -1)
            if (part := _half(polygon, line, sign))
        ]
    parts = [(sign, part) for polygon, f in cells for sign in (1, -1) if (part := _half(polygon, f, sign))]
    outside = lambda part: any(reach in (abs(x), abs(y)) for x, y in part)  # noqa: E731
    found = [(sign, group) for sign in (1, -1) for group in _joined([p for s, p in parts if s == sign])]
    return [_outline(sign, group) for sign, group in found if not any(map(outside, group))]


def count_faces(forms) -> int:
    """Into how many cones, of all dimensions, the hyperplanes `form @ t = 0` cut the space: Zaslavsky's theorem.

    It is the number of sign vectors that `sign(forms @ t)` takes; numbers `(m, d)`, whole or not, taken exactly. A form that is 0
    cuts nothing.
    """
    given = [[_exact(a) for a in row] for row in forms]
    if len({len(row) for row in given}) > 1:
        raise ValueError(f"forms have as many numbers as there are dimensions; got {sorted({len(row) for row in given})}")
    rows = _distinct(given)
    flats, new = {frozenset[int]()}, {frozenset[int]()}
    while new:
        new = {_closure(rows, flat | {i}) for flat in new for i in range(len(rows)) if i not in flat} - flats
        flats |= new
    size = len(given[0]) if given else 0
    total = 0
    for flat in flats:
        basis = _null_space([rows[i] for i in flat], size)
        total += _chambers(_distinct([[_dot(row, e) for e in basis] for row in rows]))
    return total


def sign_vectors(forms, largest: int = 4) -> np.ndarray:
    """Whole numbers `(s, d)` up to `largest`, one for each sign vector that `sign(forms @ t)` takes on them."""
    forms = np.asarray(forms)
    t = np.array(list(product(range(-largest, largest + 1), repeat=forms.shape[1])))
    t = t[np.argsort(np.abs(t).sum(1), kind="stable")]  # the simplest comes first
    _, first = np.unique(np.sign(t @ forms.T), axis=0, return_index=True)
    return t[np.sort(first)]


def _exact(v) -> Fraction:
    """A number as a fraction, numpy's too: their whole numbers would overflow inside of one."""
    return Fraction(v.item() if hasattr(v, "item") else v)


# ---- polygons in fractions ---------------------------------------------------------------------------------------------


def _sum(f: Line, line: Line, p: Fraction) -> Line:
    return f[0] + p * line[0], f[1] + p * line[1], f[2] + p * line[2]


def _half(polygon: Sequence[Pair], f: Line, sign: int) -> list[Pair]:
    """The part of a convex polygon where f has a sign; empty if it has no inside."""
    value = [sign * (f[0] * x + f[1] * y + f[2]) for x, y in polygon]
    if max(value) <= 0:
        return []
    part = []
    for (p, a), (q, b) in zip(zip(polygon, value), zip([*polygon[1:], polygon[0]], [*value[1:], value[0]])):
        if a >= 0:
            part.append(p)
        if a * b < 0:
            t = a / (a - b)
            part.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
    return part


def _reach(lines: list[Line], push: list[Fraction], offset: Fraction) -> Fraction:
    """A square with this half side has every corner of every bounded region inside."""
    maps = [(Fraction(0), Fraction(0), offset)]
    for line, p in zip(lines, push):
        maps += [_sum(f, line, p) for f in maps]
    meet = [_meet(p, q) for p, q in combinations([*lines, *maps], 2)]
    return 1 + max((max(map(abs, p)) for p in meet if p), default=Fraction(0))


def _meet(p: Line, q: Line) -> Pair | None:
    det = p[0] * q[1] - p[1] * q[0]
    return ((p[1] * q[2] - p[2] * q[1]) / det, (p[2] * q[0] - p[0] * q[2]) / det) if det else None


def _joined(parts: list[list[Pair]]) -> list[list[list[Pair]]]:
    """Polygons in groups that hang together along whole edges."""
    groups: list[tuple[set, list]] = []
    for part in parts:
        mine, held = _edges(part), [part]
        for group in [g for g in groups if g[0] & mine]:
            groups.remove(group)
            mine, held = mine | group[0], held + group[1]
        groups.append((mine, held))
    return [held for _, held in groups]


def _edges(part: list[Pair]) -> set:
    return {frozenset(e) for e in zip(part, [*part[1:], part[0]])}


def _outline(sign: int, group: list[list[Pair]]) -> Fence:
    """The loops around a group of polygons: the edges that only one of them has."""
    free = set[frozenset]()
    for part in group:
        free ^= _edges(part)
    loops = []
    while free:
        a, b = min(map(sorted, free))
        loop = [a, b]
        free.discard(frozenset((a, b)))
        while loop[-1] != loop[0]:
            edge = min((e for e in free if loop[-1] in e), key=sorted)
            free.discard(edge)
            loop += edge - {loop[-1]}
        loops.append(tuple(q for p, q, r in _threes(loop[:-1]) if _turn(p, q, r)))
    outer = max(loops, key=lambda loop: abs(sum(p[0] * q[1] - p[1] * q[0] for p, q in zip(loop, [*loop[1:], loop[0]]))))
    return Fence(sign, outer, len(loops) - 1)


def _threes(loop: Sequence[Pair]):
    return zip([loop[-1], *loop[:-1]], loop, [*loop[1:], loop[0]])


def _turn(p: Pair, q: Pair, r: Pair) -> Fraction:
    return (q[0] - p[0]) * (r[1] - q[1]) - (q[1] - p[1]) * (r[0] - q[0])


# ---- counting cones ----------------------------------------------------------------------------------------------------


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(a, b)), Fraction(0))


def _distinct(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """Rows that are not zero, each hyperplane once."""
    scaled = {tuple(a / lead for a in row): None for row in rows if (lead := next((a for a in row if a), None))}
    return [list(row) for row in scaled]


def _chambers(rows: list[list[Fraction]]) -> int:
    """The number of open cones, by taking the last hyperplane away and by going into it."""
    if not rows:
        return 1
    *rest, last = rows
    k = next(i for i, a in enumerate(last) if a)
    inside = [[a - row[k] / last[k] * b for i, (a, b) in enumerate(zip(row, last)) if i != k] for row in rest]
    return _chambers(rest) + _chambers(_distinct(inside))


def _null_space(rows: list[list[Fraction]], size: int) -> list[list[Fraction]]:
    """A basis of what all rows send to zero."""
    basis = [[Fraction(i == j) for j in range(size)] for i in range(size)]
    for row in rows:
        value = [_dot(row, e) for e in basis]
        k = next((i for i, a in enumerate(value) if a), None)
        if k is not None:
            lead, at = basis.pop(k), value.pop(k)
            basis = [[a - v / at * b for a, b in zip(e, lead)] for e, v in zip(basis, value)]
    return basis


def _closure(rows: list[list[Fraction]], flat: frozenset) -> frozenset:
    """All hyperplanes that contain where these meet."""
    basis = _null_space([rows[i] for i in flat], len(rows[0]))
    return frozenset(i for i, row in enumerate(rows) if not any(_dot(row, e) for e in basis))
