"""Canonical forms of functions of five inputs, compiled: a table of 32 bits is two of 16, and those are looked up.

Read the smallest member of a class as two halves. Its first half is the smallest that any of the ten restrictions x_i = 0 or 1
can be brought to, so it is the smallest member of a class of n = 4; the second half is the smallest that the symmetries
which bring some restriction there make of the other half.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled


def _front() -> np.ndarray:
    """`(5, 4, 256)`: the bytes of a table with input k moved to the front; the four parts of a table are or-ed together."""
    places = np.zeros((5, 32), dtype=np.int64)
    for k in range(5):
        for i in range(32):
            digits = [i >> (4 - j) & 1 for j in range(5)]
            moved = [digits[k], *digits[:k], *digits[k + 1 :]]
            places[k, i] = sum(d << (4 - j) for j, d in enumerate(moved))
    parts = np.zeros((5, 4, 256), dtype=np.uint32)
    for k in range(5):
        for part in range(4):
            for byte in range(256):
                parts[k, part, byte] = sum(1 << (31 - int(places[k, 8 * part + b])) for b in range(8) if byte >> (7 - b) & 1)
    return parts


FRONT = _front()


@compiled
def _move(way, half, moved):
    """A table of 16 bits under a symmetry; the second half of the symmetries negates the values too."""
    if way < len(moved):
        return moved[way, 0, half >> 8] | moved[way, 1, half & 255]
    way -= len(moved)
    return (moved[way, 0, half >> 8] | moved[way, 1, half & 255]) ^ 0xFFFF


@compiled
def _halves(f, k, front):
    turned = front[k, 0, f >> 24] | front[k, 1, (f >> 16) & 255] | front[k, 2, (f >> 8) & 255] | front[k, 3, f & 255]
    return np.int64(turned >> 16), np.int64(turned & 0xFFFF)


@compiled
def _canonical(f, smallest, way, fixing, start, count, moved, front, at_most):
    """Smallest number of the class and how many symmetries lead there; (-1, 0) as soon as it is seen to be below `at_most`."""
    first = np.int64(1 << 16)
    for k in range(5):
        a, b = _halves(f, k, front)
        first = min(first, np.int64(smallest[a]), np.int64(smallest[b]))
        if (first << 16) + 0xFFFF < at_most:
            return np.int64(-1), 0
    best, ways = np.int64(1 << 16), 0
    for k in range(5):
        a, b = _halves(f, k, front)
        for _ in range(2):
            if smallest[a] == first:
                other = np.int64(_move(way[a], b, moved))
                for s in range(start[first], start[first] + count[first]):
                    image = np.int64(_move(fixing[s], other, moved))
                    if image < best:
                        best, ways = image, 1
                        if (first << 16) + best < at_most:
                            return np.int64(-1), 0
                    elif image == best:
                        ways += 1
            a, b = b, a
    return (first << 16) + best, ways


@compiled
def _each(numbers, smallest, way, fixing, start, count, moved, front):
    result, size = np.empty(len(numbers), dtype=np.uint64), np.empty(len(numbers), dtype=np.int64)
    for i in range(len(numbers)):
        found, ways = _canonical(np.int64(numbers[i]), smallest, way, fixing, start, count, moved, front, np.int64(-1))
        result[i], size[i] = found, 7680 // ways
    return result, size


@compiled
def _representatives(firsts, smallest, way, fixing, start, count, moved, front):
    found = np.empty(1 << 20, dtype=np.uint64)
    k = 0
    for first in firsts:
        for second in range(1 << 16):
            f = (first << 16) + second
            if _canonical(f, smallest, way, fixing, start, count, moved, front, f)[1]:
                found[k] = f
                k += 1
    return found[:k].copy()


def canonical(numbers: np.ndarray, *four) -> tuple[np.ndarray, np.ndarray]:
    """The smallest number of the class of each function of five inputs, and how many functions the class has."""
    return _each(numbers, *four, FRONT)


def representatives(*four) -> np.ndarray:
    """The smallest number of every class of five inputs, ascending: those of 222 x 65536 candidates that are their own."""
    return _representatives(np.unique(four[0]).astype(np.int64), *four, FRONT)
