"""What one sees in a picture of the pieces, as numbers: closed boundaries, where they turn, bounds on how many pieces.

>>> from foldnet.geometry.loops import most_cells
>>> most_cells(3)  # pieces of the plane between three lines
7
"""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np

from .complex import Complex
from .regions import boundary

SHARP = 1e-6  # radians: a smaller turn is rounding


def loops(c: Complex) -> list[np.ndarray]:
    """The closed parts of the decision boundary, each `(k, 2)` without its first point again (S2-find-two-nodes-fail)."""
    return [line[:-1] for line in boundary(c) if len(line) > 3 and (line[0] == line[-1]).all()]


def corners(loop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a closed polygon `(k, 2)` turns, `(m, 2)`, and by how many degrees, `(m,)`, positive to the left."""
    way = np.roll(loop, -1, 0) - loop
    loop, way = loop[(way != 0).any(1)], way[(way != 0).any(1)] @ [1, 1j]
    turn = np.angle(way / np.roll(way, 1))
    sharp = np.abs(turn) > SHARP
    return loop[sharp], np.degrees(turn[sharp])


def most_cells(lines: int, dimension: int = 2) -> int:
    """The most cells that so many lines make in the plane, or hyperplanes in a space of this dimension: those of one layer.

    (Zaslavsky)
    """
    return sum(comb(lines, k) for k in range(dimension + 1))


def most_regions(sizes) -> int:
    """The upper bound of Serra, Tjandraatmadja and Ramalingam (2018) on the regions of a network of these sizes, outputs last."""
    widths = tuple(sizes[1:-1])

    @cache
    def count(layer: int, rank: int) -> int:
        if layer == len(widths):
            return 1
        n = widths[layer]
        return sum(comb(n, j) * count(layer + 1, min(rank, n - j)) for j in range(min(rank, n) + 1))

    return count(0, sizes[0])
