"""Class changes of 64 functions at once: bit k of every word belongs to function k, and sums are kept in binary, a word a digit.

A table is a row of words for each corner. The orders of the corners form a tree of common beginnings, listed depth first;
a node adds one corner, and by symmetry its opposite at the other end. So the first half of an order says all.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled

WORDS = 16  # a block: words side by side
LANES = 64 * WORDS
DIGITS = 6  # changes are counted up to 63
ROW = WORDS * DIGITS
FULL = 2**DIGITS - 1  # so many fit into a tally
# Where the digits of a count start; unsigned, like every index here: a signed one could be negative, and numba would ask.
B1, B2, B3, B4, B5, B6 = (np.uint64(WORDS * k) for k in range(1, DIGITS + 1))


@compiled
def _add(counts, row, tables, here, there, across, across_there):
    """Counts at a node: those of its parent, one row before, plus one for each end where the new corner differs from the last."""
    for j in range(B1):
        a, b = tables[here + j] ^ tables[there + j], tables[across + j] ^ tables[across_there + j]
        c = counts[row - B6 + j]
        either = a ^ b
        counts[row + j] = c ^ either
        carry = (a & b) | (c & either)
        c = counts[row - B5 + j]
        counts[row + B1 + j] = c ^ carry
        carry &= c
        c = counts[row - B4 + j]
        counts[row + B2 + j] = c ^ carry
        carry &= c
        c = counts[row - B3 + j]
        counts[row + B3 + j] = c ^ carry
        carry &= c
        c = counts[row - B2 + j]
        counts[row + B4 + j] = c ^ carry
        carry &= c
        counts[row + B5 + j] = counts[row - B1 + j] ^ carry


@compiled
def _keep_smaller(best, counts, row, tables, here, across, j):
    """best = min(best, now + 1 where the two corners in the middle differ), in a word: where it is less, and where equal."""
    carry = tables[here + j] ^ tables[across + j]
    c = counts[row + j]
    d0 = c ^ carry
    carry &= c
    c = counts[row + B1 + j]
    d1 = c ^ carry
    carry &= c
    c = counts[row + B2 + j]
    d2 = c ^ carry
    carry &= c
    c = counts[row + B3 + j]
    d3 = c ^ carry
    carry &= c
    c = counts[row + B4 + j]
    d4 = c ^ carry
    d5 = counts[row + B5 + j] ^ (carry & c)
    b0, b1, b2 = best[j], best[B1 + j], best[B2 + j]
    b3, b4, b5 = best[B3 + j], best[B4 + j], best[B5 + j]
    less = ~d0 & b0
    less = (~d1 & b1) | (~(d1 ^ b1) & less)
    less = (~d2 & b2) | (~(d2 ^ b2) & less)
    less = (~d3 & b3) | (~(d3 ^ b3) & less)
    less = (~d4 & b4) | (~(d4 ^ b4) & less)
    less = (~d5 & b5) | (~(d5 ^ b5) & less)
    best[j] = b0 ^ ((b0 ^ d0) & less)
    best[B1 + j] = b1 ^ ((b1 ^ d1) & less)
    best[B2 + j] = b2 ^ ((b2 ^ d2) & less)
    best[B3 + j] = b3 ^ ((b3 ^ d3) & less)
    best[B4 + j] = b4 ^ ((b4 ^ d4) & less)
    best[B5 + j] = b5 ^ ((b5 ^ d5) & less)
    return less, ~((d0 ^ b0) | (d1 ^ b1) | (d2 ^ b2) | (d3 ^ b3) | (d4 ^ b4) | (d5 ^ b5))


@compiled
def _tally(few, fresh, less, equal, j):
    """One more order that attains the best, in a word: from 1 again where it is a new best, which `fresh` remembers."""
    fresh[j] |= less
    carry = less | equal
    for digit in range(np.uint64(DIGITS)):
        place = digit * B1 + j
        c = few[place] & ~less
        few[place] = c ^ carry
        carry &= c


@compiled
def _empty(few, fresh, totals):
    """Add the tallies to the totals, which begin anew where there was a new best since the last time."""
    one = np.uint64(1)
    for j in range(B1):
        for k in range(np.uint64(64)):
            lane = j * np.uint64(64) + k
            if fresh[j] >> k & one:
                totals[lane] = 0
            for digit in range(np.uint64(DIGITS)):
                totals[lane] += np.int64(few[digit * B1 + j] >> k & one) << np.int64(digit)
    few[:] = np.uint64(0)
    fresh[:] = np.uint64(0)


@compiled
def fewest_changes(tables, maps, depth, point, counting):
    """`(ROW,)`: for each lane the fewest changes over all orders of the tree, each under all `maps` of the corners.

    `tables` has shape `(2**n * WORDS,)`; nodes of the tree have `depth` 0 for the corner 0 and stand in depth-first order. With
    `counting` also `(LANES,)`, how many orders and maps have so few, zeros without.
    """
    corners = np.uint64(maps.shape[1])
    one = np.uint64(1)
    deepest = maps.shape[1] // 2 - 1
    counts = np.zeros((deepest + 1) * ROW, dtype=np.uint64)
    path = np.zeros(deepest + 1, dtype=np.uint64)
    best = np.full(ROW, ~np.uint64(0))
    few, fresh, totals, since = np.zeros(ROW, np.uint64), np.zeros(WORDS, np.uint64), np.zeros(LANES, np.int64), 0
    for m in range(len(maps)):
        for node in range(len(depth)):
            d = depth[node]
            p = np.uint64(maps[m, point[node]])
            path[d] = p
            here = p * B1
            across = (corners - one - p) * B1
            row = np.uint64(d) * B6
            if d > 0:
                q = path[d - 1]
                _add(counts, row, tables, here, q * B1, across, (corners - one - q) * B1)
            if d < deepest:
                continue
            if not counting:
                for j in range(B1):
                    _keep_smaller(best, counts, row, tables, here, across, j)
                continue
            for j in range(B1):
                less, equal = _keep_smaller(best, counts, row, tables, here, across, j)
                _tally(few, fresh, less, equal, j)
            since += 1
            if since == FULL:
                _empty(few, fresh, totals)
                since = 0
    _empty(few, fresh, totals)
    return best, totals


def prefix_tree(order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orders `(count, 2**n)` as the tree of their first halves: depth and corner of each node, depth first."""
    half = order[:, : order.shape[1] // 2]
    half = half[np.lexsort(half.T[::-1])]
    same = np.cumprod(half[1:] == half[:-1], axis=1).sum(1)
    known = np.concatenate([[0], same])  # how many corners each order shares with the one before it
    new = np.arange(half.shape[1]) >= known[:, None]
    return np.nonzero(new)[1], half[new].astype(np.int64)
