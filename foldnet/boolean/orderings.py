"""The orders in which a line meets the corners of a cube: all of them, exactly, and how many there are. (boolean/swaps)

A projection without ties puts the 2**n corners in an order. Up to negating and permuting inputs its weights are
0 < w_1 < ... < w_n, and what is left are 1, 1, 2, 14, 516, 124187 orders for n = 1, ..., 6 (A009997 in the OEIS).

>>> from foldnet.boolean.orderings import count_corner_orders
>>> [count_corner_orders(n) for n in (1, 2, 3, 4)]
[1, 1, 2, 14]
"""

from __future__ import annotations

import lzma
from functools import cache
from math import factorial, isqrt, prod
from pathlib import Path

import numpy as np

from .functions import corners

MOST_ORDERED = 6
# No determinant of an n x n matrix of -1, 0, 1 is larger: the values of Hadamard's problem.
LARGEST_DETERMINANT = {1: 1, 2: 2, 3: 4, 4: 16, 5: 48, 6: 160}
LARGEST_WEIGHT = {1: 1, 2: 2, 3: 4, 4: 10, 5: 30, 6: 114}  # what the last orders need
STORED = Path(__file__).parent / "orderings6.xz"


def count_corner_orders(n: int) -> int:
    """How many orders there are (n <= 6), without listing one: the regions that the planes v.w = 0, v in {-1, 0, 1}^n, cut out.

    Zaslavsky: the regions number |chi(-1)|, chi the characteristic polynomial. Athanasiadis: for a prime p that divides no minor,
    chi(p) is the number of points mod p on none of the planes; degree n and chi(1) = 0 leave n - 1 primes to count with.
    """
    _check(n)
    if n == 1:
        return 1
    from . import _ordering_kernel

    group = 2 ** (n - 1) * factorial(n - 1)
    primes = _primes_above(LARGEST_DETERMINANT[n], n - 1)
    # chi(t) / (t - 1) is monic of degree n - 1: its values at these primes fix it; here it is taken at -1
    values = [_ordering_kernel.avoiding(n, p) * group for p in primes]
    at = prod(-1 - p for p in primes)
    rest = 0
    common = prod(p - q for i, p in enumerate(primes) for q in primes[:i])
    for p, value in zip(primes, values):
        others = [q for q in primes if q != p]
        rest += value * prod(-1 - q for q in others) * (common // prod(p - q for q in others))
    regions = 2 * abs(at + rest // common)
    return regions // (2**n * factorial(n))


def _primes_above(low: int, count: int) -> list[int]:
    found, p = [], max(low, 2)
    while len(found) < count:
        p += 1
        if all(p % q for q in range(2, isqrt(p) + 1)):
            found.append(p)
    return found


@cache
def ordering_weights(n: int) -> np.ndarray:
    """Small whole weights 0 < w_1 < ... < w_n, one row for each order (n <= 6), `(count, n)`.

    For n <= 5 they are found by trying all weights with w_n = 1, 2, ... until all orders are there. For n = 6 that takes half an
    hour, so the result is stored.
    """
    _check(n)
    if n == 6:
        steps = np.frombuffer(lzma.decompress(STORED.read_bytes()), dtype=np.uint8).reshape(n, -1)
        weights = np.cumsum(steps, axis=0).T.astype(np.int64)
    elif n == 1:
        weights = np.ones((1, 1), dtype=np.int64)
    else:
        from . import _ordering_kernel

        weights = _ordering_kernel.small_weights(n, count_corner_orders(n), LARGEST_WEIGHT[n])[:, ::-1].copy()
    weights.setflags(write=False)
    return weights


@cache
def corner_orders(n: int) -> np.ndarray:
    """The corners, as indices of a truth table, along each of the weights in `ordering_weights(n)`: `(count, 2**n)` (uint8)."""
    sums = ordering_weights(n) @ corners(n, low=0).T
    order = np.argsort(sums, axis=1, kind="stable").astype(np.uint8)
    if n > 1 and (np.diff(np.take_along_axis(sums, order.astype(np.int64), 1), axis=1) <= 0).any():
        raise ValueError("the stored weights have ties: the package's file is damaged")
    order.setflags(write=False)
    return order


def _check(n: int) -> None:
    if not 1 <= n <= MOST_ORDERED:
        raise ValueError(f"the orders are listed for 1 to {MOST_ORDERED} inputs; got n = {n} (for 7 there are 214,580,603)")
