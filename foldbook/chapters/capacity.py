"""What boolean/capacity has beyond the package: bounds by counting, all shallow networks for parity, and threshold gates.

A family with fewer functions than there are Boolean functions cannot compute them all. Counts are upper bounds on the family,
given as logarithms to base 2.

>>> from foldbook.chapters.capacity import functions_by_gates, parity_solvable
>>> functions_by_gates(2, 3)
[6, 10, 0, 0]
>>> parity_solvable(2, 1)[0], parity_solvable(2, 2)[0], parity_solvable(3, 2)[0]
(False, True, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product
from math import comb, e, isqrt, lgamma, log, log2

import numpy as np

from foldnet.boolean.functions import corners, parity

# ---- bounds by counting ----------------------------------------------------------------------------------------------------


def log2_dichotomies(points: int, inputs: int) -> float:
    """Ways in which one threshold unit with `inputs` inputs can split this many points, at most: Cover's count, bounded."""
    if inputs >= points:
        return float(points)
    return min(float(points), 1 + inputs * log2(e * points / inputs))


def least_threshold_units(n: int) -> int:
    """No network of fewer threshold units, wired without loops, computes all functions of n bits. (S2-find-lower-bounds)

    Unit i sees the n inputs and the i - 1 units before it, and splits the 2^n corners in one of `log2_dichotomies` ways.
    """
    total, units = 0.0, 0
    while total < 2**n:
        total += log2_dichotomies(2**n, n + units)
        units += 1
    return units


def least_hidden_units(n: int) -> int:
    """The same for threshold networks with one hidden layer: what counting alone gives. (S2-find-lower-bounds)"""
    low, high = 0, 2**n
    while high - low > 1:
        units = (low + high) // 2
        enough = units * log2_dichotomies(2**n, n) + log2_dichotomies(2**n, units) >= 2**n
        low, high = (low, units) if enough else (units, high)
    return high


def log2_circuits(n: int, gates: int) -> float:
    """Functions of n bits that circuits of up to this many gates with two inputs can compute, at most. (S2-find-lower-bounds)

    Each gate is one of 5 that keep 0 and need both inputs, on a pair of the others, and any gate is the output; the names of
    the gates do not matter. One bit more for negations, and one for circuits of fewer gates.
    """
    if gates < 1:
        return log2(2 * n + 2)
    return 2 + log2(gates) + gates * log2(5 * comb(n + gates - 1, 2)) - lgamma(gates + 1) / log(2)


def functions_by_gates(n: int, most: int) -> list[int]:
    """How many functions of n <= 4 bits need 0, 1, ..., `most` gates with two inputs, by trying all circuits.

    Only functions that vanish at 0 are listed, with gates that keep 0, and counted twice: negations cost nothing.
    """
    if not 1 <= n <= 4:
        raise ValueError(f"all circuits are tried for 1 to 4 inputs; got {n}")
    corners = range(2**n)
    inputs = tuple(sum((c >> i & 1) << c for c in corners) for i in range(n))
    best = dict.fromkeys((0, *inputs), 0)

    def extend(chain: tuple[int, ...], gates: int) -> None:
        for a, b in combinations(chain, 2):
            for new in (a & b, a & ~b, b & ~a, a | b, a ^ b):
                if new == 0 or new in chain:
                    continue
                if best.get(new, most + 1) > gates:
                    best[new] = gates
                if gates < most:
                    extend((*chain, new), gates + 1)

    extend(inputs, 1)
    return [2 * sum(g == k for g in best.values()) for k in range(most + 1)]


def log2_network_functions(n: int, widths: Sequence[int], free_leak: bool = False) -> float:
    """Functions on the 2^n corners that (leaky) ReLU networks of these hidden widths can compute, at most. (S2-conj-deep)

    Layer by layer: once the signs of the earlier layers are fixed at all corners, the k 2^n preactivations of layer i are
    polynomials of degree i in the W parameters so far, with at most 2 (2 e k 2^n i / W)^W patterns of signs (Warren). With
    `free_leak` each function has a leak of its own: one parameter more, and the degree is 2i - 1.
    """
    if not widths or min(widths) < 1:
        raise ValueError(f"each hidden layer has at least one node; got widths {tuple(widths)}")
    total, parameters, before = 0.0, int(free_leak), n
    for layer, k in enumerate((*widths, 1), 1):
        parameters += k * (before + 1)
        degree, polynomials = 2 * layer - 1 if free_leak else layer, k * 2**n
        ways = 1 + parameters * log2(2 * e * polynomials * degree / parameters) if polynomials >= parameters else polynomials
        total, before = total + min(ways, polynomials), k
    return total


# ---- is there a network of one hidden layer, of any weights, for parity? ---------------------------------------------------


@cache
def threshold_patterns(n: int) -> np.ndarray:
    """All sets of corners that a half-space cuts off, as rows of booleans: 4, 14, 104 and 1882 of them for n = 1, ..., 4."""
    if not 1 <= n <= 4:
        raise ValueError(f"half-spaces are listed for 1 to 4 inputs; got {n}")
    largest = (1, 1, 2, 3)[n - 1]  # whole weights of this size are enough: the counts say so
    weights = np.array(list(product(range(-largest, largest + 1), repeat=n)))
    sums = weights @ corners(n, low=0).T
    found = {tuple(row > t) for row in sums for t in np.unique(np.r_[row.min() - 1, row])}
    patterns = np.array(sorted(found))
    patterns.setflags(write=False)  # a cache hands one and the same to all
    return patterns


def cube_squares(n: int) -> np.ndarray:
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
    leak = float(Fraction(leak))
    patterns, faces = threshold_patterns(n), cube_squares(n)
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


# ---- parity by threshold gates ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ThresholdParity:
    """Parity by about 2 sqrt(n) threshold gates in two hidden layers, the second of which also sees the inputs.

    With S ones among the inputs, the gates [S >= B], [S >= 2B], ... count the full blocks; what is left over,
    r = S - B * (their sum), has the parity of S because the block length B is even, and the gates [r >= 1], [r >= 2], ... read
    it off. (S2-find-sqrt-parity)
    """

    n: int

    @property
    def block(self) -> int:
        return 2 * max(1, -(-(1 + isqrt(self.n - 1)) // 2))  # the least even number not below sqrt(n)

    @property
    def gates(self) -> tuple[int, int]:
        """Gates of the two hidden layers; there is one more for the output."""
        return self.n // self.block, min(self.block - 1, self.n)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Parities `(m,)` of the rows of zeros and ones `(m, n)`, every gate a comparison of a weighted sum with a number."""
        x = np.asarray(x)
        if x.ndim != 2 or x.shape[1] != self.n or not np.isin(x, (0, 1)).all():
            raise ValueError(f"rows of {self.n} zeros and ones are needed; got shape {x.shape}")
        ones = x.sum(-1)
        first = ones[:, None] >= self.block * np.arange(1, self.gates[0] + 1)
        rest = ones - self.block * first.sum(-1)
        second = rest[:, None] >= np.arange(1, self.gates[1] + 1)
        return ((second * (-1) ** np.arange(self.gates[1])).sum(-1) >= 0.5).astype(np.uint8)
