"""Networks on the corners of the cube, built by hand: clauses, minterms in layers, width two, and parity. Inputs are 0 and 1.

(boolean/capacity)

>>> from foldnet.boolean.constructions import minterm_network, wrong_corners
>>> wrong_corners(minterm_network([0, 1, 1, 0]), [0, 1, 1, 0]).tolist()
0
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import torch

from ..nets import ReLUNet
from ._rational import leak_of, rational, rationals, sign_of
from .capacity import parity_line
from .exact import ExactNet
from .functions import corners, input_count, truth_table


def wrong_corners(net: ReLUNet, f) -> np.ndarray:
    """At how many corners of the cube a network (or each of a batch, `(*batch,)`) has not the sign of `f`; zero is wrong."""
    t = truth_table(f)
    values = net(torch.as_tensor(corners(input_count(t), low=0), dtype=net.dtype))[..., 0].detach().cpu().numpy()
    return (np.sign(values) != 2 * t.astype(int) - 1).sum(-1)


# ---- clauses and minterms --------------------------------------------------------------------------------------------------


def dnf_network(clauses: Sequence[Sequence[int]], n: int) -> ReLUNet:
    """One hidden ReLU for each conjunction of a disjunctive normal form; positive where the form is true. (S2-find-dnf)

    clauses: each lists its literals, i for x_i and -i for not x_i, counted from 1: `[(1, -2), (3,)]` is (x1 and not x2) or x3.
    n: the number of inputs.
    """
    if not clauses or any(not 1 <= abs(literal) <= n for clause in clauses for literal in clause):
        raise ValueError(f"at least one clause is needed, with literals from 1 to {n} or -1 to -{n}; got {list(clauses)[:4]}")
    weights, biases = torch.zeros(len(clauses), n, dtype=torch.float64), torch.ones(len(clauses), dtype=torch.float64)
    for row, clause in enumerate(clauses):
        for literal in set(clause):  # a literal twice says nothing new; with its negation, the clause is never true
            weights[row, abs(literal) - 1] += 1 if literal > 0 else -1
            biases[row] -= 1 if literal > 0 else 0
    return ReLUNet([weights, torch.ones(1, len(clauses))], [biases, torch.tensor([-0.5])])


def minterm_network(f, layers: int = 1) -> ReLUNet:
    """ReLU networks of width n + 2^(n-1)/layers + 1 for a function or a batch of tables. (S2-find-mingard-width)

    f: a table or a batch of tables, as `truth_table` takes it.
    layers: the number of hidden layers.

    Each layer hands on the n inputs, adds up the minterms that the layer before it found, and looks for 2^(n-1)/layers further
    ones; of a function that is mostly true, the false minterms. All weights are whole numbers or halves: float64 is exact.
    """
    t = truth_table(f).astype(np.int64)
    n = input_count(t)
    half = 2 ** (n - 1)
    if layers < 1 or half % layers:
        raise ValueError(f"the number of layers divides 2**(n - 1) = {half}; got {layers}")
    each, batch = half // layers, t.shape[:-1]
    mostly = t.sum(-1, keepdims=True) > half
    rare = np.where(mostly, 1 - t, t)
    order = np.argsort(-rare, axis=-1, kind="stable")[..., :half]
    found = np.take_along_axis(rare, order, -1)  # which of the chosen corners are minterms at all
    signs = 2 * corners(n, low=0)[order] - 1  # (*batch, half, n)
    width = n + each + 1
    weights, biases = [], []
    for layer in range(layers):
        w, b = np.zeros((*batch, width, width if layer else n)), np.zeros((*batch, width))
        w[..., range(n), range(n)] = 1
        part = slice(layer * each, (layer + 1) * each)
        w[..., n : n + each, :n] = signs[..., part, :] * found[..., part, None]
        b[..., n : n + each] = (1 - (signs[..., part, :] > 0).sum(-1)) * found[..., part]
        if layer:
            w[..., -1, n:] = 1
        weights.append(w)
        biases.append(b)
    turn = np.where(mostly, -1.0, 1.0)
    out = np.zeros((*batch, 1, width))
    out[..., 0, n:] = turn
    return ReLUNet([*map(torch.as_tensor, (*weights, out))], [*map(torch.as_tensor, (*biases, -turn / 2))])


# ---- width two ---------------------------------------------------------------------------------------------------------------


def width_two_with_changes(zeros: Sequence, start=0, leak=0, first: int = 1) -> ExactNet:
    """Width two, s - 1 layers (but at least one): a network of one input that changes sign on [start, oo) exactly at s places.

    One node of each layer hands x on, the other folds the last ray over a line: the maximum or the minimum of the two. Each turn
    is at least as high or low as the ones before it, so that nothing else is folded. (S2-find-width2-universal)

    zeros: the places, in increasing order, right of the start.
    start: where the half-line begins.
    leak: the slope of the nodes left of zero.
    first: the sign at the start, 1 or -1.
    """
    start, leak, zeros, sign = rational(start), leak_of(leak), rationals(zeros, "a list of places"), Fraction(sign_of(first))
    if any(s >= t for s, t in pairwise((start, *zeros))):
        raise ValueError("the places are needed in increasing order, without duplicates, right of the start")
    zeros = [z - start for z in zeros]
    if not zeros:
        return ExactNet((((1,), (0,)), ((0, 0),)), ((-start, 0), (sign,)), leak)
    y = (-sign / zeros[0], sign)  # the last ray of the function so far, slope and intercept
    if len(zeros) == 1:
        return ExactNet((((1,), (0,)), ((y[0], 0),)), ((-start, 0), (y[1],)), leak)
    weights, biases, entering, line = [], [], 0, y
    for ray in _turns(zeros, y):
        sign = 1 if ray[0] > 0 else -1
        line_new = tuple((g - leak * r) / (1 - leak) for g, r in zip(ray, y))
        p, q = line[0] - line_new[0], line[1] - line_new[1]
        if not weights:
            weights.append(((1,), (sign * p,)))
            biases.append((-start, sign * (q - p * start)))
        else:
            weights.append(((1, 0), (sign * p, sign * entering)))
            biases.append((0, sign * q))
        entering, line, y = sign, line_new, ray
    return ExactNet((*weights, ((line[0], entering),)), (*biases, (line[1],)), leak)


def _turns(zeros: Sequence[Fraction], ray: tuple[Fraction, Fraction]):
    """The ray after each turn between two zeros; heights never shrink, and grow only where they must."""
    heights = [Fraction(0), abs(ray[1])]
    for j, (z, z_next) in enumerate(pairwise(zeros)):
        slope, gap = abs(ray[0]), z_next - z
        needed = heights[-2] / slope
        if j + 2 < len(zeros):
            ratio = 2 * heights[-1] / ((zeros[j + 2] - z_next) * slope)
            needed = max(needed, gap * ratio / (1 + ratio))
        needed = needed or gap / 2
        place = z + needed
        heights.append(slope * needed)
        after = (1 if ray[0] < 0 else -1) * heights[-1] / (z_next - place)
        ray = (after, -after * z_next)
        yield ray


def width_two_network(f, leak=0) -> ExactNet:
    """A network of width two for any Boolean function: its inputs are read as one binary number. (S2-find-width2-universal)

    f: the function, as `truth_table` takes it.
    leak: the slope for negative inputs; 0 is ReLU.
    """
    t = truth_table(f)
    changes = np.flatnonzero(np.diff(t.astype(int)))
    zeros = [Fraction(2 * int(k) + 1, 2) for k in changes]
    return width_two_with_changes(zeros, 0, leak, 1 if t[0] else -1).before([2**k for k in range(input_count(t) - 1, -1, -1)])


# ---- parity ------------------------------------------------------------------------------------------------------------------


def parity_network(n: int, widths: Sequence[int], leak=0) -> ExactNet:
    """A network for the parity of n digits 0 and 1. (S2-thm-3.3.4)

    n: the number of inputs, up to the product of the widths and a little beyond: see `parity_line`.
    widths: the widths of the hidden layers.
    leak: the slope of the nodes left of zero.
    """
    return parity_line(n, widths, leak).before([1] * n)
