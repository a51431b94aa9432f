"""Class changes of 64 functions at once: bit k of every word belongs to function k, and sums are kept in binary, a word a digit.

A table is a row of words for each corner. The orders of the corners form a tree of common beginnings, listed depth first;
a node adds one corner, and by symmetry its opposite at the other end. So the first half of an order says all.
"""

from __future__ import annotations

import numpy as np

from ._npn_kernel import _jit

WORDS = 16  # words side by side: what LLVM turns into vector instructions
LANES = 64 * WORDS
DIGITS = 6  # changes are counted up to 63
ROW = WORDS * DIGITS


@_jit
def _add(now, before, left, left_before, right, right_before):
    """Counts at a node: those at its parent, plus one where the new corner differs from the last, and the same at the far end."""
    for j in range(WORDS):
        a, b = left[j] ^ left_before[j], right[j] ^ right_before[j]
        c = before[j]
        either = a ^ b
        now[j] = c ^ either
        carry = (a & b) | (c & either)
        c = before[WORDS + j]
        now[WORDS + j] = c ^ carry
        carry &= c
        c = before[2 * WORDS + j]
        now[2 * WORDS + j] = c ^ carry
        carry &= c
        c = before[3 * WORDS + j]
        now[3 * WORDS + j] = c ^ carry
        carry &= c
        c = before[4 * WORDS + j]
        now[4 * WORDS + j] = c ^ carry
        carry &= c
        now[5 * WORDS + j] = before[5 * WORDS + j] ^ carry


@_jit
def _keep_smaller(best, now, left, right):
    """best = min(best, now + 1 where the two corners in the middle differ), lane by lane."""
    for j in range(WORDS):
        carry = left[j] ^ right[j]
        c = now[j]
        d0 = c ^ carry
        carry &= c
        c = now[WORDS + j]
        d1 = c ^ carry
        carry &= c
        c = now[2 * WORDS + j]
        d2 = c ^ carry
        carry &= c
        c = now[3 * WORDS + j]
        d3 = c ^ carry
        carry &= c
        c = now[4 * WORDS + j]
        d4 = c ^ carry
        d5 = now[5 * WORDS + j] ^ (carry & c)
        b0, b1, b2 = best[j], best[WORDS + j], best[2 * WORDS + j]
        b3, b4, b5 = best[3 * WORDS + j], best[4 * WORDS + j], best[5 * WORDS + j]
        less = ~d0 & b0
        less = (~d1 & b1) | (~(d1 ^ b1) & less)
        less = (~d2 & b2) | (~(d2 ^ b2) & less)
        less = (~d3 & b3) | (~(d3 ^ b3) & less)
        less = (~d4 & b4) | (~(d4 ^ b4) & less)
        less = (~d5 & b5) | (~(d5 ^ b5) & less)
        best[j] = b0 ^ ((b0 ^ d0) & less)
        best[WORDS + j] = b1 ^ ((b1 ^ d1) & less)
        best[2 * WORDS + j] = b2 ^ ((b2 ^ d2) & less)
        best[3 * WORDS + j] = b3 ^ ((b3 ^ d3) & less)
        best[4 * WORDS + j] = b4 ^ ((b4 ^ d4) & less)
        best[5 * WORDS + j] = b5 ^ ((b5 ^ d5) & less)


@_jit
def fewest_changes(tables, maps, depth, point):
    """`(ROW,)`: for each lane the fewest changes over all orders of the tree, each under all `maps` of the corners.

    `tables` has shape `(2**n * WORDS,)`; nodes of the tree have `depth` 0 for the corner 0 and stand in depth-first order.
    """
    corners = maps.shape[1]
    deepest = corners // 2 - 1
    counts = np.zeros((deepest + 1) * ROW, dtype=np.uint64)
    path = np.zeros(deepest + 1, dtype=np.int64)
    best = np.full(ROW, ~np.uint64(0))
    for m in range(len(maps)):
        for node in range(len(depth)):
            d = depth[node]
            p = np.int64(maps[m, point[node]])
            path[d] = p
            here = p * WORDS
            across = (corners - 1 - p) * WORDS
            row = d * ROW
            if d > 0:
                q = path[d - 1]
                there = q * WORDS
                across_there = (corners - 1 - q) * WORDS
                _add(
                    counts[row : row + ROW],
                    counts[row - ROW : row],
                    tables[here : here + WORDS],
                    tables[there : there + WORDS],
                    tables[across : across + WORDS],
                    tables[across_there : across_there + WORDS],
                )
            if d == deepest:
                _keep_smaller(best, counts[row : row + ROW], tables[here : here + WORDS], tables[across : across + WORDS])
    return best
