"""The dissertation's case-by-case algorithm for the swaps value, as printed, and what its cases leave open. (S2-alg-swaps)

>>> import numpy as np
>>> from foldnet.boolean.cases import swaps_as_printed
>>> swaps_as_printed(np.array([0, 1, 1, 0]))
2
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, permutations, product

import numpy as np

from .functions import corners, inputs_of, locked, symmetries, table
from .swaps import changes


def case(weights) -> np.ndarray:
    """The case of each of the weights 0 <= w_1 <= ... <= w_n, `(*batch, n)`: even on a listed value, odd between or beyond them.

    w_1 is compared with 0, and w_i with w_{i-1} and with w_{i-1} + w_1 + ... + w_k for k = 1, ..., i - 2.
    """
    w = np.asarray(weights)
    if (w[..., 0] < 0).any() or (np.diff(w, axis=-1) < 0).any():
        raise ValueError("the cases are for weights 0 <= w_1 <= ... <= w_n")
    codes = [(w[..., 0] > 0).astype(np.int64)]
    for i in range(1, w.shape[-1]):
        listed = w[..., i - 1, None] + np.concatenate([np.zeros_like(w[..., :1]), np.cumsum(w[..., : i - 1], axis=-1)], axis=-1)
        here = w[..., i, None]
        below, equal = (listed < here).sum(-1), (listed == here).any(-1)
        codes.append(np.where(equal, 2 * below, 2 * below - 1))
    return np.stack(codes, axis=-1)


@cache
def weak_orders(n: int, largest: int) -> np.ndarray:
    """Weights 0 <= w_1 <= ... <= w_n <= largest, one for each order of the corners with ties that they give, `(count, n)`."""
    vectors = np.array([v for v in product((-1, 0, 1), repeat=n) if v > (0,) * n])
    weights = np.array(list(combinations_with_replacement(range(largest + 1), n)))
    weights = weights[np.argsort(weights[:, -1], kind="stable")]
    _, first = np.unique(np.sign(weights @ vectors.T).astype(np.int8), axis=0, return_index=True)
    return locked(weights[np.sort(first)])


def fewest_by_weights(tables: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """`(functions, weights)`: the fewest changes along each projection over all symmetries of the inputs; 2**n where it has none.

    A projection on which two classes fall together does not count.
    """
    n = inputs_of(tables)
    half = symmetries(n)[: len(symmetries(n)) // 2]  # negating all inputs reverses the order
    result = np.full((len(tables), len(weights)), 2**n)
    for k, w in enumerate(weights):
        place = corners(n, low=0) @ w
        order = np.argsort(place, kind="stable")
        tied = np.diff(place[order]) == 0
        for image in half.astype(np.int64):
            differ = np.diff(tables[:, image[order]].astype(np.int8), axis=1) != 0
            allowed = ~(differ & tied).any(1)
            result[:, k] = np.where(allowed, np.minimum(result[:, k], differ.sum(1)), result[:, k])
    return result


def swaps_as_printed(f, n: int | None = None, representatives: np.ndarray | None = None) -> int:
    """The algorithm as one would write it down: for every image of the function and every case, count the changes.

    `representatives` holds weights `(cases, n)`, one for each case; by default the smallest whole numbers that are found.
    """
    t = table(f, n)
    n = inputs_of(t)
    chosen = one_for_each_case(weak_orders(n, 2**n)) if representatives is None else representatives
    best = 2**n
    for permutation in permutations(range(n)):
        for signs in product((1, -1), repeat=n):
            for w in chosen:
                found = int(changes(t, np.asarray(signs) * w[list(permutation)]))
                if 0 <= found < best:
                    best = found
    return best


def one_for_each_case(weights: np.ndarray, seed: int | None = None) -> np.ndarray:
    """Of these weights the first in each case, or with a seed a random one: the choice that the algorithm leaves open."""
    if seed is not None:
        weights = np.random.default_rng(seed).permutation(weights)
    _, first = np.unique(case(weights), axis=0, return_index=True)
    return weights[np.sort(first)]
