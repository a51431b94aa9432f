"""Lower bounds by counting: a family with fewer functions than there are Boolean functions cannot compute them all.

All counts are upper bounds on the family, given as logarithms to base 2. (boolean/capacity)

>>> from foldnet.boolean.counting import functions_by_gates
>>> functions_by_gates(2, 3)
[6, 10, 0, 0]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb, e, lgamma, log, log2


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


def log2_network_functions(n: int, widths: Sequence[int]) -> float:
    """Functions on the 2^n corners that (leaky) ReLU networks of these hidden widths can compute, at most. (S2-conj-deep)

    Layer by layer: once the signs of the earlier layers are fixed at all corners, the k 2^n preactivations of layer i are
    polynomials of degree i in the W parameters so far, with at most 2 (2 e k 2^n i / W)^W patterns of signs (Warren).
    """
    if not widths or min(widths) < 1:
        raise ValueError(f"each hidden layer has at least one node; got widths {tuple(widths)}")
    total, parameters, before = 0.0, 0, n
    for degree, k in enumerate((*widths, 1), 1):
        parameters += k * (before + 1)
        polynomials = k * 2**n
        ways = 1 + parameters * log2(2 * e * polynomials * degree / parameters) if polynomials >= parameters else polynomials
        total, before = total + min(ways, polynomials), k
    return total
