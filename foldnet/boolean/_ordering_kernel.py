"""Searches over weights, compiled: which orders of the cube's corners small whole weights give, and how many there must be."""

from __future__ import annotations

import numpy as np

from .._compiled import compiled


@compiled
def _fits(w, sums, size, slot):
    """Whether the sums stay distinct when a weight w joins: none of the old ones is another plus w."""
    for i in range(size):
        slot[sums[i]] = 1
    fits = True
    for i in range(size):
        if slot[sums[i] + w]:
            fits = False
            break
    for i in range(size):
        slot[sums[i]] = 0
    return fits


@compiled
def _below(top, weights, sums, slot, seen, found, filled):
    """Go through all descending weights whose largest is `top`, and note the orders that are new; an odometer, no recursion."""
    n, k = len(weights), 1
    weights[0], weights[1] = top, 0
    sums[0], sums[1] = 0, top
    while k > 0 and filled < len(found):
        weights[k] = max(weights[k] + 1, n - k)
        if weights[k] >= weights[k - 1]:
            k -= 1
            continue
        size = 1 << k
        if not _fits(weights[k], sums, size, slot):
            continue
        for i in range(size):
            sums[size + i] = sums[i] + weights[k]
        if k + 1 < n:
            k += 1
            weights[k] = 0
        else:
            filled = _note(weights, sums, slot, seen, found, filled)
    return filled


@compiled
def _note(weights, sums, slot, seen, found, filled):
    n, total = len(weights), 0
    for k in range(n):
        total += weights[k]
    for i in range(1 << n):
        slot[sums[i]] = i + 1
    key = np.uint64(0)
    for s in range((total + 1) // 2):  # the upper half mirrors the lower one
        if slot[s]:
            key = (key ^ np.uint64(slot[s])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
    for i in range(1 << n):
        slot[sums[i]] = 0
    mask = np.uint64(len(seen) - 1)
    place = key & mask
    while seen[place] != 0:
        if seen[place] == key:
            return filled
        place = (place + np.uint64(1)) & mask
    seen[place] = key
    found[filled] = weights
    return filled + 1


@compiled
def small_weights(n, count, largest):
    """`(k, n)` for n > 1: for each of up to `count` orders one vector of descending whole weights, smaller ones first.

    Two vectors with different keys have different orders, so that nothing is listed twice; a key that two orders
    share would leave one out, and the list would stay short of `count`.
    """
    found = np.zeros((count, n), dtype=np.int64)
    seen = np.zeros(1 << 20, dtype=np.uint64)
    slot = np.zeros(2 * n * largest + 2, dtype=np.int64)
    sums = np.zeros(1 << n, dtype=np.int64)
    weights = np.zeros(n, dtype=np.int64)
    filled = 0
    for top in range(2, largest + 1):
        filled = _below(top, weights, sums, slot, seen, found, filled)
    return found[:filled]


@compiled
def avoiding(n, p):
    """Up to scale, signs and order: the points mod p with n coordinates on none of the planes v.w = 0, v in {-1, 0, 1}^n.

    One coordinate is scaled to 1. The others are chosen ascending from 2, ..., (p - 1) / 2, none of them a signed sum of those
    before; `sums[k]` marks the signed sums when k are chosen.
    """
    sums = np.zeros((n, 2 * p), dtype=np.bool_)  # twice, so that no remainder need be taken
    for i in (0, 1, p - 1):
        sums[1, i] = sums[1, p + i] = True
    chosen = np.ones(n, dtype=np.int64)
    k, total = 1, 0
    while k > 0:
        chosen[k] += 1
        w = chosen[k]
        if w > (p - 1) // 2:
            k -= 1
        elif k + 1 == n:
            total += not sums[k, w]
        elif not sums[k, w]:
            before, up, down, after = sums[k], sums[k, w : w + p], sums[k, p - w : 2 * p - w], sums[k + 1]
            for i in range(p):
                after[i] = before[i] | up[i] | down[i]
            after[p:] = after[:p]
            k += 1
            chosen[k] = w
    return total
