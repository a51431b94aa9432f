"""What boolean/swaps has beyond the package: the dissertation's case-by-case algorithm, and pictures of functions on cubes.

>>> import numpy as np
>>> from foldbook.chapters.swaps import cube_edges, swaps_as_printed
>>> swaps_as_printed(np.array([0, 1, 1, 0])), len(cube_edges(3))
(2, 12)
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import comb

import numpy as np

from foldnet import plots
from foldnet.boolean.functions import corners, input_count, symmetries, truth_table
from foldnet.boolean.orderings import corner_orders
from foldnet.boolean.swaps import class_changes

RECORD = 6, ((1, 2), (1, 5), (1, 6), (2, 3), (2, 4)), (4, 6)  # `quadratic` of it: the most changes found for six inputs

# ---- the algorithm as printed (S2-alg-swaps) -------------------------------------------------------------------------------


def case_codes(weights) -> np.ndarray:
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
    kept = weights[np.sort(first)]
    kept.setflags(write=False)  # a cache hands one and the same to all
    return kept


def fewest_by_weights(tables: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """`(functions, weights)`: the fewest changes along each projection over all symmetries of the inputs; 2**n where it has none.

    A projection on which two classes fall together does not count.
    """
    n = input_count(tables)
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
    t = truth_table(f, n)
    n = input_count(t)
    chosen = one_for_each_case(weak_orders(n, 2**n)) if representatives is None else representatives
    best = 2**n
    for permutation in permutations(range(n)):
        for signs in product((1, -1), repeat=n):
            for w in chosen:
                found = int(class_changes(t, np.asarray(signs) * w[list(permutation)]))
                if 0 <= found < best:
                    best = found
    return best


def one_for_each_case(weights: np.ndarray, seed: int | None = None) -> np.ndarray:
    """Of these weights the first in each case, or with a seed a random one: the choice that the algorithm leaves open."""
    if seed is not None:
        weights = np.random.default_rng(seed).permutation(weights)
    _, first = np.unique(case_codes(weights), axis=0, return_index=True)
    return weights[np.sort(first)]


# ---- pictures --------------------------------------------------------------------------------------------------------------


def corner_places(n: int) -> np.ndarray:
    """Where the corners of a square, cube or tesseract are drawn, `(2**n, 2)`: a tesseract is a cube within a cube."""
    if not 1 <= n <= 4:
        raise ValueError(f"corners are drawn for 1 to 4 inputs; got {n}")
    x = corners(n)
    axes = np.array([[1.0, 0.0], [0.0, 1.0], [0.55, 0.25]])[: min(n, 3)]
    if n < 4:
        return x @ axes
    return (x[:, 1:] @ axes) * np.where(x[:, :1] > 0, 1.0, 0.4)


def cube_edges(n: int) -> np.ndarray:
    """Pairs of corners that differ in one digit, `(n 2**(n-1), 2)`."""
    pairs = [(i, i | 1 << k) for i in range(2**n) for k in range(n) if not i >> k & 1]
    return np.array(pairs)


def draw_cube(ax, f, n: int | None = None, at: np.ndarray | None = None, title: str = "") -> None:
    """Draw a function on its cube: filled corners are 1, empty ones 0; `at` gives other places for the corners."""
    t = truth_table(f, n)
    at = corner_places(input_count(t)) if at is None else at
    for i, j in cube_edges(input_count(t)):
        ax.plot(*at[[i, j]].T, color="#b0b0b0", lw=1.0, zorder=1)
    _corners(ax, t, at)
    ax.set_aspect("equal")
    ax.margins(0.12)
    ax.axis("off")
    ax.set_title(title)


def draw_projection(ax, f, weights, n: int | None = None, height: float = 0.0) -> None:
    """Draw the corners where a projection puts them, at one height."""
    t = truth_table(f, n)
    where = corners(input_count(t)) @ np.asarray(weights, dtype=float)
    ax.plot([where.min(), where.max()], [height, height], color="#b0b0b0", lw=1.0, zorder=1)
    _corners(ax, t, np.stack([where, np.full(len(where), height)], axis=1))


def _corners(ax, t: np.ndarray, at: np.ndarray) -> None:
    for value, face in ((0, "white"), (1, plots.COLORS["orange"])):
        here = at[t == value]
        edge = plots.COLORS["black"]
        ax.plot(here[:, 0], here[:, 1], "o", ms=7.5, mfc=face, mec=edge, mew=1.2, zorder=2)


# ---- six inputs ------------------------------------------------------------------------------------------------------------


def quadratic(n: int, edges, linear=()) -> np.ndarray:
    """The table `(2**n,)` of the products `x_i x_j` over edges and the `x_i` of `linear`, summed mod 2; inputs from 1."""
    x = corners(n, low=0).astype(np.int64)
    products = [x[:, i - 1] * x[:, j - 1] for i, j in edges]
    return (sum([*products, *(x[:, i - 1] for i in linear)], 0 * x[:, 0]) % 2).astype(np.uint8)


def mean_changes(n: int) -> np.ndarray:
    """`(orders, n + 1)`: the mean number of changes along all images of an order, for each degree that has all the weight.

    By symmetry the mean is linear in the weights of the degrees, and hangs only on how far apart neighbours in the order are; so
    orders with the same distances are counted once.
    """
    return _profiles(n) @ np.array([[_differ(n, d, k) for k in range(n + 1)] for d in range(1, n + 1)])


def _profiles(n: int) -> np.ndarray:
    """`(orders, n)`: how many neighbours in an order are at distance 1 to n, each list of numbers once."""
    order = corner_orders(n).astype(np.int64)
    apart = np.bitwise_count(order[:, 1:] ^ order[:, :-1])
    return np.unique(np.stack([(apart == d).sum(1) for d in range(1, n + 1)], axis=1), axis=0)


def exact_mixture(n: int) -> list[tuple[Fraction, tuple[int, ...]]]:
    """Shares of orders, as fractions, with `comb(n, d)` neighbours at each distance d in the mean; none if no mixture has.

    Beside each share stands how many neighbours of its order are at distance 1 to n.
    """
    from scipy.optimize import linprog
    from sympy import Matrix

    profiles, wanted = _profiles(n), [comb(n, d) for d in range(1, n + 1)]
    columns = np.vstack([profiles.T, np.ones(len(profiles), dtype=int)])
    found = linprog(np.zeros(len(profiles)), A_eq=columns, b_eq=[*wanted, 1], method="highs-ds")
    used = np.flatnonzero(found.x > 1e-9) if found.success else []
    if not len(used):
        return []
    part = Matrix(columns[:, used].tolist())
    shares = (part.T * part).LUsolve(part.T * Matrix([*wanted, 1]))
    if part * shares != Matrix([*wanted, 1]) or min(shares) < 0:
        return []
    return [(Fraction(int(s.p), int(s.q)), tuple(row)) for s, row in zip(shares, profiles[used].tolist())]


def _differ(n: int, d: int, k: int) -> float:
    """The chance that a character of degree k differs at corners at distance d: an odd number of its k inputs is among the d."""
    return sum(comb(k, j) * comb(n - k, d - j) for j in range(1, min(k, d) + 1, 2)) / comb(n, d)


def averaged_bound(n: int) -> tuple[float, np.ndarray]:
    """A bound on the swaps values of n inputs: the best mixture of orders, and its mean changes at each degree `(n + 1,)`."""
    from scipy.optimize import linprog

    means = mean_changes(n)
    rows, columns = means.shape
    best = linprog(
        np.eye(rows + 1)[-1],
        A_ub=np.hstack([means.T, -np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=[[1.0] * rows + [0.0]],
        b_eq=[1.0],
    )
    at_degree = best.x[:-1] @ means
    return float(at_degree.max()), at_degree
