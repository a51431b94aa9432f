"""Is there a network of one hidden layer, of any weights, for parity? All patterns of activity, each a linear programme.

(boolean/capacity)

>>> from foldnet.boolean.shallow_search import parity_solvable
>>> parity_solvable(2, 1)[0], parity_solvable(2, 2)[0], parity_solvable(3, 2)[0]
(False, True, False)
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np

from .exact import leak_of
from .functions import corners, locked, parity


@cache
def threshold_patterns(n: int) -> np.ndarray:
    """All sets of corners that a half-space cuts off, as rows of booleans: 4, 14, 104 and 1882 of them for n = 1, ..., 4."""
    if not 1 <= n <= 4:
        raise ValueError(f"half-spaces are listed for 1 to 4 inputs; got {n}")
    largest = (1, 1, 2, 3)[n - 1]  # whole weights of this size are enough: the counts say so
    weights = np.array(list(product(range(-largest, largest + 1), repeat=n)))
    sums = weights @ corners(n, low=0).T
    found = {tuple(row > t) for row in sums for t in np.unique(np.r_[row.min() - 1, row])}
    return locked(np.array(sorted(found)))


def squares(n: int) -> np.ndarray:
    """The corners of each two-dimensional face of the cube, `(faces, 4)`."""
    faces = []
    for i, j in combinations(range(n), 2):
        for c in range(2**n):
            if not c >> i & 1 and not c >> j & 1:
                faces.append((c, c | 1 << i, c | 1 << j, c | 1 << i | 1 << j))
    return np.array(faces, dtype=np.int64).reshape(-1, 4)


def parity_solvable(n: int, width: int, leak=0) -> tuple[bool, int]:
    """Whether some network of one hidden layer of this width solves n-parity, and how many linear programmes were solved.

    A pattern says at which corners each node is on. Given the patterns and the signs of the output weights (their sizes go into
    the nodes), all conditions are linear in the weights. On each square of the cube parity is the exclusive or, which no affine
    function has the signs of, and no single node either: so a node must cut the square, and a second one must cut it or be on
    (with a leak: be there) all over it. Patterns that fail this are left out, and so are images of others under symmetry.
    """
    leak = float(leak_of(leak))
    patterns, faces = threshold_patterns(n), squares(n)
    on_faces = patterns[:, faces].sum(-1)
    cuts, there = (on_faces > 0) & (on_faces < 4), (on_faces > 0) | (leak > 0)  # (patterns, faces)
    solved = 0
    kinds = _kinds(n)
    for a in np.unique(kinds):
        for rest in combinations_with_replacement(np.flatnonzero(kinds >= a), width - 1):  # the first is of the lowest kind
            chosen = [a, *rest]
            if not (cuts[chosen].any(0) & (there[chosen].sum(0) >= 2)).all():
                continue
            for signs in product((1, -1), repeat=width):
                solved += 1
                if _feasible(patterns[chosen], signs, n, leak):
                    return True, solved
    return False, solved


def _kinds(n: int) -> np.ndarray:
    """For each pattern the first of its kind, up to permuted and negated inputs: they turn parity into itself or its negation."""
    patterns, points = threshold_patterns(n), corners(n, low=0)
    index = {tuple(pattern): i for i, pattern in enumerate(patterns.tolist())}
    kinds = np.arange(len(patterns))
    for order in permutations(range(n)):
        for flips in map(np.array, product((0, 1), repeat=n)):
            move = (points[:, list(order)] ^ flips) @ (1 << np.arange(n - 1, -1, -1))
            kinds = np.minimum(kinds, [index[tuple(pattern)] for pattern in patterns[:, move].tolist()])
    return kinds


def _feasible(patterns: np.ndarray, signs: tuple[int, ...], n: int, leak: float) -> bool:
    from scipy.optimize import linprog

    ones = np.column_stack([corners(n, low=0), np.ones(2**n)])  # a node's weights and bias
    target = 2 * parity(n).astype(int) - 1
    on = np.where(patterns, 1.0, -1.0)
    gate = np.where(patterns, 1.0, leak)
    output = np.hstack([*(s * g[:, None] * ones for s, g in zip(signs, gate)), np.ones((2**n, 1))])
    rows = [-target[:, None] * output]
    bounds = [-np.ones(2**n)]
    for i, side in enumerate(on):
        row = np.zeros((2**n, output.shape[1]))
        row[:, i * (n + 1) : (i + 1) * (n + 1)] = -side[:, None] * ones
        rows.append(row)
        bounds.append(np.zeros(2**n))
    size = output.shape[1]
    result = linprog(np.zeros(size), np.vstack(rows), np.concatenate(bounds), bounds=[(None, None)] * size)
    return result.status == 0
