"""How many regions networks have, and the same function in other shapes: deep and narrow, or with whole weights. (boolean/power)

>>> from foldnet.boolean.power import regions_at_least, regions_at_most
>>> regions_at_least((2, 4, 4, 1)), regions_at_most((2, 4, 4, 1))
(44, 121)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, lcm, prod

import numpy as np

from ..nets import ReLUNet
from .exact import ExactNet

# ---- how many regions ------------------------------------------------------------------------------------------------------


def regions_at_most(sizes: Sequence[int], k: int | None = None) -> int:
    """An upper bound on the linear regions of networks of these sizes. (S2-eq-2.26)

    sizes: the widths of the layers, inputs first and outputs last.
    k: by default each layer has its own, see below.

    It is the product over the hidden layers of `sum_i binomial(N_l, i)`, i = 0, ..., k_l with k_l = min(d, N_1, ..., N_l). With a
    `k` it is the formula as the dissertation prints it, the same k in all layers.
    """
    widths = sizes[1:-1]
    ranks = [min(sizes[: layer + 2]) if k is None else k for layer in range(len(widths))]
    return prod(sum(comb(n, i) for i in range(rank + 1)) for n, rank in zip(widths, ranks))


def regions_at_least(sizes: Sequence[int]) -> int:
    """A lower bound on the most linear regions: some network of these widths, inputs first, has as many. (S2-eq-2.27)

    No hidden layer may be narrower than the input. `folding_network` has so many regions.
    """
    inputs, *widths = sizes[:-1]
    if min(widths, default=0) < inputs:
        raise ValueError(f"hidden layers at least as wide as the input are needed; got sizes {tuple(sizes)}")
    return prod((n // inputs) ** inputs for n in widths[:-1]) * sum(comb(widths[-1], j) for j in range(inputs + 1))


def folding_network(sizes: Sequence[int], seed: int = 0) -> ReLUNet:
    """A network that folds the unit cube onto itself in all hidden layers but the last, which cuts it. (S2-eq-2.27)

    `sizes` has the outputs last. Each layer of n neurons folds each of the d coordinates into n // d parts; the hyperplanes of
    the last hidden layer all cross inside.
    """
    inputs, *widths = sizes[:-1]
    regions_at_least(sizes)  # refuses narrow layers
    rng = np.random.default_rng(seed)
    weights, biases, unfold, shift = [], [], np.eye(inputs), np.zeros(inputs)
    for n in widths[:-1]:
        p = n // inputs
        into = np.repeat(np.eye(inputs), p, axis=0)
        spare = n - p * inputs  # neurons that stay off
        weights.append(np.vstack([into @ unfold, np.zeros((spare, unfold.shape[1]))]))
        biases.append(np.concatenate([into @ shift - np.tile(np.arange(p) / p, inputs), -np.ones(spare)]))
        zigzag = p * np.array([1.0] + [2.0 * (-1) ** i for i in range(1, p)])
        unfold, shift = np.hstack([np.kron(np.eye(inputs), zigzag), np.zeros((inputs, spare))]), np.zeros(inputs)
    normals, offsets = _crossing_planes(widths[-1], inputs, rng)
    weights += [normals @ unfold, rng.normal(size=(sizes[-1], widths[-1]))]
    biases += [normals @ shift + offsets, np.zeros(sizes[-1])]
    return ReLUNet(weights, biases)


def _crossing_planes(count: int, inputs: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Hyperplanes `n.x + c = 0` of the unit cube whose corners all lie well inside it."""
    normals, offsets = rng.normal(size=(count, inputs)), rng.uniform(0.5, 1, count)
    corners = [np.linalg.solve(normals[list(s)], offsets[list(s)]) for s in combinations(range(count), inputs)]
    offsets *= 0.45 / np.abs(corners).max()
    if count > inputs:  # all are off in a cell inside the cube, not at a fold, where two flat cells would be one
        few = [np.linalg.solve(normals[list(s)], -offsets[list(s)]) for s in combinations(range(inputs + 1), inputs)]
        side = -np.sign(normals @ np.mean(few, axis=0) + offsets)
        normals, offsets = side[:, None] * normals, side * offsets
    return normals, offsets - normals.sum(1) / 2


# ---- the same function in other shapes -------------------------------------------------------------------------------------


def narrowed(net: ExactNet, at_once: int) -> ExactNet:
    """A network with one hidden layer as a deep one that computes `at_once` of its neurons per layer and adds them up.

    Width at_once + 2 inputs + 2 on all of space: inputs and sum travel as their positive and negative parts. (S2-thm-2.3.4)
    """
    if len(net.weights) != 2 or net.leak or net.sizes[-1] != 1 or at_once < 1:
        raise ValueError(
            f"a ReLU network with one hidden layer and one output, and at_once >= 1, are needed; got {net}, {at_once}"
        )
    d, (first, (out,)), (shift, (last,)) = net.sizes[0], net.weights, net.biases
    split = [[Fraction(sign * (i == k)) for k in range(d)] for i in range(d) for sign in (1, -1)]
    weights, biases, total = [], [], []
    for start in range(0, len(first), at_once):
        part = range(start, min(start + at_once, len(first)))
        rows = [*split, *(first[i] for i in part)]
        if weights:  # inputs from their parts, then the sum so far
            rows = [[sign * v for v in row for sign in (1, -1)] + [0] * (len(total) - 2 * d) for row in rows]
            rows += [total, [-v for v in total]]
        weights.append(rows)
        biases.append([0] * (2 * d) + [shift[i] for i in part] + [0] * (len(rows) - 2 * d - len(part)))
        total = [0] * (2 * d) + [out[i] for i in part] + [1, -1] * (start > 0)
    return ExactNet((*weights, [total]), (*biases, [last]))


def with_whole_weights(net: ExactNet) -> tuple[ExactNet, int]:
    """The network with whole weights and biases that computes `factor` times the same function, and the factor.

    With a common denominator D of all weights and biases, the biases of layer l = 1, ..., L are multiplied by D^l, and the factor
    is D^L. (S2-find-rational-to-integer)
    """
    parts = [v for w in net.weights for row in w for v in row] + [v for b in net.biases for v in b]
    D = lcm(*(v.denominator for v in parts))
    weights = tuple(tuple(tuple(D * v for v in row) for row in w) for w in net.weights)
    biases = tuple(tuple(D ** (layer + 1) * v for v in b) for layer, b in enumerate(net.biases))
    return ExactNet(weights, biases, net.leak), D ** len(net.weights)
