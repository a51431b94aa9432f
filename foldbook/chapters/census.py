"""What boolean/training asks of the census: predictors of difficulty, rank correlations with intervals, and fits of ranks.

The mean sensitivity of the corners is the influence, so it is no predictor of its own.

>>> from foldbook.chapters.census import certificates, leap, smallest_trees
>>> from foldnet.boolean.functions import parity
>>> [v.tolist() for v in smallest_trees(parity(3)[None])], certificates(parity(3)[None]), leap(parity(3)[None])
([[3], [8]], array([3.]), array([3]))
"""

from __future__ import annotations

from functools import cache
from itertools import count

import numpy as np
import torch

from foldnet.boolean.functions import corners, fourier, input_count, symmetries, truth_table, walsh
from foldnet.boolean.orderings import corner_orders
from foldnet.boolean.training import LEAKY, initial_networks
from foldnet.growth.smooth import ACTIVATIONS

from . import capacity, training

AT_ONCE = 4096  # functions
STARTS, NEURONS = 1000, 100_000  # of the kernel at hand, and of the one that stands for infinite width
RIDGE = 0.01  # of the mean eigenvalue


def of_function(f) -> dict[str, np.ndarray]:
    """The predictors that know the function alone."""
    t = truth_table(f)
    weight = training.spectrum(t)
    depth, leaves = smallest_trees(t)
    return {
        **training.measures(t),
        **{f"above {k}": weight[:, k + 1 :].sum(1) for k in (1, 2, 3)},
        "block sensitivity": block_sensitivities(t),
        "certificates": certificates(t),
        "depth": depth,
        "leaves": leaves,
        "leap": leap(t),
    }


def more_of_function(f) -> dict[str, np.ndarray]:
    """Predictors that the first run did not have."""
    largest = {"sensitivity": sensitivities, "block sensitivity": block_sensitivities, "certificate": certificates}
    return {f"largest {name}": of(f, np.max) for name, of in largest.items()} | {"off the staircase": off_the_staircase(f)}


# ---- subcubes ----------------------------------------------------------------------------------------------------------------


def smallest_trees(f) -> tuple[np.ndarray, np.ndarray]:
    """The least depth and the least number of leaves of a decision tree, `(functions,)` each; two trees may attain them."""
    t = truth_table(f)
    n, of = input_count(t), t.T
    depth, leaves = np.zeros((3**n, len(t)), np.uint8), np.ones((3**n, len(t)), np.uint8)
    value = np.empty((3**n, len(t)), np.uint8)  # 2 where the subcube has both values
    for cube in range(3**n):  # in base 3 a digit 2 is a free input, so a subcube comes after its halves
        free = [3**k for k in range(n) if cube // 3**k % 3 == 2]
        if not free:
            value[cube] = of[sum(2**k for k in range(n) if cube // 3**k % 3)]
            continue
        low, high = value[cube - free[0]], value[cube - 2 * free[0]]
        value[cube] = np.where(low == high, low, 2)
        ways = [(cube - one, cube - 2 * one) for one in free]
        mixed = value[cube] == 2
        leaves[cube] = np.where(mixed, np.min([leaves[a] + leaves[b] for a, b in ways], axis=0), 1)
        depth[cube] = np.where(mixed, 1 + np.min([np.maximum(depth[a], depth[b]) for a, b in ways], axis=0), 0)
    return depth[-1].astype(int), leaves[-1].astype(int)


def certificates(f, of=np.mean) -> np.ndarray:
    """How many inputs have to be known to be sure of the answer, on average over the corners, `(functions,)`.

    `of=np.max`, here and below, is the usual definition: the largest over the corners.
    """
    return _in_parts(_certificates, f, of)


def block_sensitivities(f, of=np.mean) -> np.ndarray:
    """How many disjoint sets of inputs change the answer when flipped, on average over the corners, `(functions,)`."""
    return _in_parts(_block_sensitivities, f, of)


def sensitivities(f, of=np.mean) -> np.ndarray:
    """How many single inputs change the answer when flipped; the mean over the corners is the influence, `(functions,)`."""
    return _in_parts(lambda t: sum((t != t[:, np.arange(t.shape[1]) ^ 1 << k]).astype(int) for k in range(input_count(t))), f, of)


def _in_parts(measure, f, of) -> np.ndarray:
    t = truth_table(f)
    return np.concatenate([of(measure(t[k : k + AT_ONCE]), axis=1) for k in range(0, len(t), AT_ONCE)])


def _certificates(t: np.ndarray) -> np.ndarray:
    n, here = input_count(t), np.arange(t.shape[1])
    constant, largest = [np.ones(t.shape, bool)], np.zeros(t.shape, np.uint8)
    for free in range(1, 2**n):
        one = free & -free
        before = constant[free ^ one]
        constant.append(before & before[:, here ^ one] & (t == t[:, here ^ one]))
        np.maximum(largest, free.bit_count() * constant[free].astype(np.uint8), out=largest)
    return n - largest


def _block_sensitivities(t: np.ndarray) -> np.ndarray:
    here = np.arange(t.shape[1])
    changes = [(t != t[:, here ^ block]).astype(np.uint8) for block in range(t.shape[1])]
    most = [np.zeros(t.shape, np.uint8)]  # of blocks inside a set of inputs
    for within in range(1, t.shape[1]):
        one = within & -within
        found, rest = most[within ^ one].copy(), within ^ one
        block = rest
        while True:  # the block that has the first input: it and any part of the rest
            np.maximum(found, most[rest ^ block] + changes[block | one], out=found)
            if not block:
                break
            block = (block - 1) & rest
        most.append(found)
    return most[-1]


def leap(f) -> np.ndarray:
    """The leap of Abbe, Boix-Adsera and Misiakiewicz (2023), `(functions,)`; 0 for constants.

    The sets with a Fourier coefficient are listed one by one; the leap is how many new inputs the best list brings at once.
    """
    sums = walsh(f)
    n, sizes = input_count(sums), corners(input_count(sums), low=0).sum(1)
    found = np.full(len(sums), n)
    goal = np.bitwise_or.reduce(np.where(sums != 0, np.arange(2**n), 0), axis=1)
    for step in range(n - 1, -1, -1):
        known = np.zeros(len(sums), dtype=int)
        for _ in range(n):
            reached = (sums != 0) & (sizes[np.arange(2**n) & ~known[:, None]] <= step)
            known = np.bitwise_or.reduce(np.where(reached, np.arange(2**n), 0), axis=1)
        found[known == goal] = step
    return found


def off_the_staircase(f) -> np.ndarray:
    """The share of the squared Fourier coefficients on sets that no list reaches which brings one new input at a time."""
    squares = fourier(f) ** 2
    there, sizes, known = squares > 1e-12, corners(input_count(squares), low=0).sum(1), np.zeros(len(squares), dtype=int)
    for _ in range(sizes.max() + 1):
        reached = there & (sizes[np.arange(len(sizes)) & ~known[:, None]] <= 1)
        known = np.bitwise_or.reduce(np.where(reached, np.arange(len(sizes)), 0), axis=1)
    return np.where(reached, 0, squares).sum(1)


def threshold_gates(f) -> np.ndarray:
    """How many threshold gates a formula or circuit of at most four inputs needs, exactly, `(functions,)`; each sees all inputs.

    The last of two gates is A | B & h: ends A and B of one order of the corners, where the other gate h says 0 and 1. Chains
    of three make all functions of four inputs, so whatever two gates cannot make needs three.
    """
    t, byte = truth_table(f), np.arange(256)[:, None] >> np.arange(8) & 1
    place = 1 << np.arange(t.shape[1])
    ends = np.cumsum(place[corner_orders(input_count(t))], axis=1)
    pairs = {(a, b) for order in np.c_[np.zeros_like(ends[:, :1]), ends].tolist() for k, a in enumerate(order) for b in order[k:]}
    gates, found = np.zeros(2 ** t.shape[1], dtype=np.int64), capacity.threshold_patterns(input_count(t)) @ place
    for size in (1, 2, 3):
        there, made, to = *np.zeros((2, len(gates)), dtype=bool), np.zeros(16, dtype=np.int64)
        for image in symmetries(input_count(t)):
            to[image] = place
            there[(byte @ to[:8])[found & 255] | (byte @ to[8:])[found >> 8]] = True
        there |= there[::-1]  # negated
        gates[there & (gates == 0)] = size
        if size < 3:
            for a, b in pairs:
                made[a | b & np.flatnonzero(there)] = True
        found = np.flatnonzero(made)
    return gates[t @ place]


# ---- kernels -----------------------------------------------------------------------------------------------------------------


def kernels(f, activation: str, width: int) -> dict[str, np.ndarray]:
    """y'K^-1 y for infinite width and for the width at hand, and the alignment y'Ky there, for answers y of -1 and 1.

    K is the kernel of the gradients of the output at the start. For infinite width each parameter is counted by its variance at
    the start (Jacot, Gabriel and Hongler, 2018).
    """
    weight = training.spectrum(f)
    n = weight.shape[1] - 1
    infinite, (at_start, inverse) = infinite_width(activation, n), width_at_hand(activation, n, width)
    return {"kernel": weight @ (1 / infinite), "kernel at hand": weight @ inverse, "alignment": weight @ at_start}


@cache
def width_at_hand(activation: str, n: int, width: int, starts: int = STARTS) -> tuple[np.ndarray, np.ndarray]:
    """At each degree the eigenvalues of the mean kernel at the start, and of the mean of inverses with a small ridge."""
    x = corners(n)
    h, slope, v = _hidden(activation, n, width, starts)
    back = slope * v[:, None]  # (starts, corners, width)
    kernel = (back @ back.swapaxes(1, 2)) * (x @ x.T + 1) + h @ h.swapaxes(1, 2) + 1
    ridge = RIDGE * np.trace(kernel, axis1=1, axis2=2) / len(x)
    inverse = np.linalg.inv(kernel + ridge[:, None, None] * np.eye(len(x)))
    return by_degree(kernel.mean(0)), by_degree(inverse.mean(0))


@cache
def infinite_width(activation: str, n: int, neurons: int = NEURONS) -> np.ndarray:
    """At each degree the eigenvalue of the kernel of infinitely many neurons, from so many."""
    x = corners(n)
    h, slope, _ = (a[0] for a in _hidden(activation, n, neurons, 1))
    return by_degree(2 * (h @ h.T + (slope @ slope.T) * (2 * x @ x.T + 1 / 3) / n) / neurons)


def by_degree(kernel) -> np.ndarray:
    """The eigenvalues `(n + 1,)` of a kernel with the symmetry of the cube; of another, those of its mean over symmetries."""
    sizes = corners(input_count(kernel), low=0).sum(1)
    characters = (-1.0) ** np.bitwise_count(np.arange(len(sizes))[:, None] & np.arange(len(sizes)))
    each = ((kernel @ characters) * characters).sum(0) / len(sizes)
    return np.array([each[sizes == k].mean() for k in range(sizes.max() + 1)])


def _hidden(activation: str, n: int, width: int, starts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outputs and slopes of the hidden neurons at all corners, `(starts, corners, width)`, and the weights behind them."""
    net = initial_networks((n, width, 1), (starts,), seed=35)
    (w, v), (b, _) = ([a.double() for a in part] for part in (net.weights, net.biases))
    z = (torch.tensor(corners(n)).double() @ w.mT + b[:, None]).requires_grad_()
    leak = {"leaky": LEAKY, "relu": 0.0}
    h = torch.maximum(z, leak[activation] * z) if activation in leak else ACTIVATIONS[activation].function(z)
    (slope,) = torch.autograd.grad(h.sum(), z)
    return h.detach().numpy(), slope.numpy(), v[:, 0].numpy()


# ---- ranks -------------------------------------------------------------------------------------------------------------------


def halves(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of the first half, for fits, and of the second half, for what is reported."""
    order = np.random.default_rng(0).permutation(count) % 2 == 0
    return np.flatnonzero(order), np.flatnonzero(~order)


def rank_correlations(a, b, draws: int = 0, seed: int = 0) -> np.ndarray:
    """Rank correlations of each row of a with each of b, `(p, q)`; with `draws` those of so many bootstraps, `(draws, p, q)`.

    A bootstrap counts each function as often as it is drawn, so that nothing is sorted twice.
    """
    a, b = np.atleast_2d(a), np.atleast_2d(b)
    groups = [np.unique(training.ranks(row), return_inverse=True)[1] for row in (*a, *b)]
    rng, k = np.random.default_rng(seed), a.shape[1]
    often = (np.bincount(rng.integers(0, k, k), minlength=k).astype(float) for _ in range(draws)) if draws else [np.ones(k)]
    found = []
    for weight in often:
        both = np.empty((len(groups), k))
        for row, group in zip(both, groups):
            there = np.bincount(group, weight)
            row[:] = (np.cumsum(there) - there / 2)[group]
        both -= (both @ weight)[:, None] / k
        both *= np.sqrt(weight)
        both /= np.maximum(np.sqrt((both**2).sum(1)), 1e-300)[:, None]
        found.append(both[: len(a)] @ both[len(a) :].T)
    return np.array(found) if draws else found[0]


def interval(found) -> tuple[np.ndarray, np.ndarray]:
    """The 95 % interval of bootstraps `(draws, ...)`."""
    low, high = np.quantile(found, [0.025, 0.975], axis=0)
    return low, high


class RankFit:
    """Ridge regression of the ranks of y `(k,)` on the ranks of all rows of x `(p, k)`, each from -1 to 1."""

    def __init__(self, x, y, ridge: float = 1e-3):
        a = self._features(x)
        self.weights = np.linalg.solve(a @ a.T + ridge * len(y) * np.eye(len(a)), a @ _scaled(y))

    @staticmethod
    def _features(x) -> np.ndarray:
        return np.array([_scaled(row) for row in x])

    def __call__(self, x) -> np.ndarray:
        """What the fit says of other functions, whose ranks are taken among themselves."""
        return self.weights @ self._features(x)


def _scaled(values) -> np.ndarray:
    return 2 * (training.ranks(values) + 0.5) / len(values) - 1


# ---- classes that are alike in their weight ---------------------------------------------------------------------------------


def at_equal_weight(missed, values, weight, odd: int, step: float = 0.02) -> float:
    """How many failures more functions of this value have than those of the next, among functions of equal weight; NaN without.

    missed, values, weight: failures, values and Fourier weight of each function, `(k,)`.
    odd: the value.
    step: weights within one step are equal.
    """
    gaps, sizes, bins = [], [], np.floor(weight / step).astype(int)
    for b in np.unique(bins):
        two = [missed[(bins == b) & (values == v)] for v in (odd, odd + 1)]
        if all(map(len, two)):
            gaps.append(two[0].mean() - two[1].mean())
            sizes.append(1 / sum(1 / len(k) for k in two))
    return float(np.average(gaps, weights=sizes)) if gaps else np.nan


def as_heavy(solved, weight, ours, draws: int = 2000, seed: int = 0, within: float = 0.02) -> np.ndarray:
    """Mean successes of as many functions as ours, each drawn from those of its weight, `(draws,)`.

    solved, weight: successes and Fourier weight of the functions to draw from, `(k,)`.
    ours: the weights of ours.
    draws: how often they are drawn.
    within: how far from its weight.
    """
    rng = np.random.default_rng(seed)
    return np.mean([rng.choice(solved[np.abs(weight - w) < within], draws) for w in ours], axis=0)


# ---- weight above degree two, and reach ---------------------------------------------------------------------------------------


def guarded_parity(n: int, k: int) -> np.ndarray:
    """The table `(2**n,)` that is 1 where the last n - k inputs are 1 and an odd number of the first k is: seldom, but hard."""
    x = corners(n, low=0)
    return ((x[:, k:] == 1).all(1) & (x[:, :k].sum(1) % 2 == 1)).astype(np.uint8)


def out_of_reach(width: int) -> int:
    """The least k at which counting proves that some function of k inputs is out of reach for one hidden layer of this width."""
    return next(k for k in count(1) if capacity.log2_network_functions(k, [width]) < 2**k)
