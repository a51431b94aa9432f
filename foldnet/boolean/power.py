"""What width and depth can do, as networks in rational numbers: folds, pictures, bits, and ways out. (boolean/power)

>>> from foldnet.boolean.exact import ExactNet
>>> from foldnet.boolean.power import regions_at_least, regions_at_most, way_out
>>> regions_at_least((2, 4, 4, 1)), regions_at_most((2, 4, 4, 1))
(44, 121)
>>> net = ExactNet([[[1, 0], [0, 1]], [[1, 2]]], [[0, 0], [0]])  # two neurons: no island
>>> corners, direction = way_out(net, (1, 1))
>>> [str(net((1000 * direction[0] + corners[-1][0], 1000 * direction[1] + corners[-1][1])))]
['3']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, lcm, prod

import numpy as np

from ..nets import ReLUNet
from .capacity import interpolate
from .exact import ExactNet, rational, rationals

_Vector = tuple[Fraction, ...]

# ---- how many regions ------------------------------------------------------------------------------------------------------


def regions_at_most(sizes: Sequence[int], k: int | None = None) -> int:
    """The product of `sum_i binomial(N_l, i)` over i = 0, ..., k_l with k_l = min(d, N_1, ..., N_l); `sizes` has outputs last.

    With a `k` it is the formula as the dissertation prints it, the same k in all layers. (S2-eq-2.26)
    """
    widths = sizes[1:-1]
    ranks = [min(sizes[: layer + 2]) if k is None else k for layer in range(len(widths))]
    return prod(sum(comb(n, i) for i in range(rank + 1)) for n, rank in zip(widths, ranks))


def regions_at_least(sizes: Sequence[int]) -> int:
    """As many regions some network of these sizes has, outputs last, if no layer is narrower than the input. (S2-eq-2.27)"""
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


# ---- width d: a way out --------------------------------------------------------------------------------------------------


def way_out(net: ExactNet, x) -> tuple[list[_Vector], _Vector]:
    """A way to infinity on which a ReLU network stays what it is at x: its corners, from x on, and its last direction.

    For hidden layers no wider than the input. With one input the output may move away from zero on it. (S2-thm-2.3.2)
    """
    d = net.sizes[0]
    if max(net.sizes[1:-1], default=0) > d or net.leak or net.sizes[-1] != 1:
        raise ValueError(f"a ReLU network of one output with hidden layers no wider than its input is needed; got {net}")
    maps = [_first_map(net)]
    for w, b in zip(net.weights[1:], net.biases[1:]):
        maps.append(_composed(w, b, maps[-1]))
    here = rationals(x, "a point")
    if len(here) != d:
        raise ValueError(f"a point of {d} coordinates is needed; got {len(here)}")
    layer, way = _first_way(maps, here)
    corners = [here]
    while True:  # the layers before `layer` are on; walk until one of their neurons switches off
        stops = []
        for k, (rows, shift) in enumerate(maps[:layer]):
            for i, row in enumerate(rows):
                if (speed := _dot(row, way)) < 0:
                    stops.append(((_dot(row, here) + shift[i]) / -speed, k, i))
        if not stops:
            return corners, way
        time, layer, i = min(stops)
        here = tuple(a + time * v for a, v in zip(here, way))
        corners.append(here)
        way = _push(maps[layer][0], i)


def _first_way(maps, here: _Vector) -> tuple[int, _Vector]:
    """The first layer that lets go, and the direction in which it does not notice: all layers before it are on, one to one."""
    for layer, (rows, shift) in enumerate(maps[:-1]):
        if (way := _null(rows, len(here))) is not None:
            return layer, way
        off = [i for i, row in enumerate(rows) if _dot(row, here) + shift[i] <= 0]
        if off:
            return layer, _push(rows, off[0])
    (row,), (shift,) = maps[-1]
    way = _null([row], len(here))
    if way is None:  # one input: away from zero
        way = (Fraction(1 if (_dot(row, here) + shift) * row[0] >= 0 else -1),)
    return len(maps) - 1, way


def _first_map(net: ExactNet):
    return [tuple(map(rational, row)) for row in net.weights[0]], list(map(rational, net.biases[0]))


def _composed(w, b, before):
    rows, shift = before
    columns = list(zip(*rows))
    return [tuple(_dot(row, c) for c in columns) for row in w], [_dot(row, shift) + e for row, e in zip(w, b)]


def _dot(a, b) -> Fraction:
    return sum((p * q for p, q in zip(a, b)), start=Fraction(0))


def _reduced(rows: Sequence[_Vector]) -> tuple[list[list[Fraction]], list[int]]:
    """Reduced row echelon form and its pivot columns."""
    table, pivots = [list(row) for row in rows], []
    for column in range(len(table[0])):
        r = len(pivots)
        found = next((i for i in range(r, len(table)) if table[i][column]), None)
        if found is None:
            continue
        table[r], table[found] = table[found], table[r]
        table[r] = [v / table[r][column] for v in table[r]]
        for i in range(len(table)):
            if i != r and table[i][column]:
                table[i] = [v - table[i][column] * p for v, p in zip(table[i], table[r])]
        pivots.append(column)
        if len(pivots) == len(table):
            break
    return table, pivots


def _null(rows: Sequence[_Vector], d: int) -> _Vector | None:
    """A direction that all rows map to zero, if there is one."""
    table, pivots = _reduced(rows)
    free = next((c for c in range(d) if c not in pivots), None)
    if free is None:
        return None
    way = [Fraction(0)] * d
    way[free] = Fraction(1)
    for row, column in zip(table, pivots):
        way[column] = -row[free]
    return tuple(way)


def _push(rows: Sequence[_Vector], i: int) -> _Vector:
    """The direction in which value i of an invertible map falls and the others stay."""
    table, _ = _reduced([(*row, Fraction(-(k == i))) for k, row in enumerate(rows)])
    return tuple(row[-1] for row in table)


# ---- width d + 1: every picture ------------------------------------------------------------------------------------------


class _Tape:
    """Layers that carry some registers, none negative, and make `m` the larger or smaller of m and an affine function of them."""

    def __init__(self, low, high, inputs: int):
        """Two layers of one neuron per input push all of space into a cube: registers from 0 to 1."""
        scale = 1 / (rational(high) - rational(low))
        eye = [[Fraction(i == k) for k in range(inputs)] for i in range(inputs)]
        self.weights = [[[scale * v for v in row] for row in eye], [[-v for v in row] for row in eye]]
        self.biases = [[-scale * rational(low)] * inputs, [Fraction(1)] * inputs]
        self.carried = [([-v for v in row], Fraction(1)) for row in eye]  # 1 - neuron
        self.m = ([Fraction(0)] * inputs, Fraction(0))

    def form(self, slopes, constant):
        """The affine function of the carried registers as one of the current neurons."""
        parts = list(zip(map(rational, slopes), self.carried))
        weights = [_dot([s for s, _ in parts], column) for column in zip(*(row for _, (row, _) in parts))]
        return weights, rational(constant) + sum((s * c for s, (_, c) in parts), start=Fraction(0))

    def step(self, kind: str, slopes, constant) -> None:
        """m becomes max(m, l) = l + relu(m - l), or min(m, l) = l - relu(l - m)."""
        sign = {"max": 1, "min": -1}[kind]
        line, shift = self.form(slopes, constant)
        last = [sign * (a - b) for a, b in zip(self.m[0], line)], sign * (self.m[1] - shift)
        rows = [*self.carried, last]
        self.weights.append([row for row, _ in rows])
        self.biases.append([c for _, c in rows])
        size = len(rows)
        self.carried = [([Fraction(i == k) for k in range(size)], Fraction(0)) for i in range(size - 1)]
        self.m = ([*map(rational, slopes), Fraction(sign)], rational(constant))

    def net(self) -> ExactNet:
        return ExactNet((*self.weights, [self.m[0]]), (*self.biases, [self.m[1]]))


def curve_network(f: Callable[[float], float], error: float, slope: float, interval=(0, 1)) -> ExactNet:
    """Two neurons per layer that stay within `error` of f on an interval, but near its ends, and are 0 outside. (S2-thm-2.3.1)

    The output runs up and down with a `slope` steeper than f between f - error and f + error: each turn is a layer.
    """
    low, high = map(float, interval)
    tape, grid = _Tape(*interval, 1), np.linspace(0, 1, 20_001)
    values = np.array([f(low + (high - low) * t) for t in grid])
    steep = rational(slope) * (rational(interval[1]) - rational(interval[0]))
    place, height, up = Fraction(0), Fraction(0), bool(values[0] > 0)
    while place < 1:
        sign = 1 if up else -1
        tape.step("max" if up else "min", [sign * steep], height - sign * steep * place)
        reached = sign * (float(height) + sign * float(steep) * (grid - float(place)) - values) >= error
        beyond = np.flatnonzero(reached & (grid > float(place)))
        after = Fraction(int(beyond[0]), len(grid) - 1) if len(beyond) else Fraction(1)
        place, height, up = after, height + sign * steep * (after - place), not up
    for kind, sign in (("min", 1), ("max", -1)):
        tape.step(kind, [sign * 100 * steep], 0)
        tape.step(kind, [-sign * 100 * steep], sign * 100 * steep)
    return tape.net()


def picture_network(rows: Sequence[Sequence[tuple]], riser: float | Fraction, square=(-1, 1)) -> ExactNet:
    """Three neurons per layer that draw a picture: 1 on the intervals of each row of a square, 0 elsewhere. (S2-thm-2.3.1)

    `rows` are of equal height, from below, with intervals (start, end) in increasing order; the first and last are empty. Edges
    are ramps of relative length `riser`. The second coordinate becomes a staircase, row + first / 2 is one number, and along it
    the output goes up and down; at the end it is pressed to zero at both sides.
    """
    low, high = map(rational, square)
    if len(rows) < 3 or rows[0] or rows[-1]:
        raise ValueError("at least three rows are needed, of which the first and the last are empty")
    riser, tape = rational(riser), _Tape(low, high, 2)
    for j in range(1, len(rows)):  # m = number of the row
        tape.step("max", [0, 1 / riser], j - 1 - Fraction(j, len(rows)) / riser)
        tape.step("min", [0, 0], j)
    joined = [a + b / 2 for a, b in zip(tape.m[0], tape.carried[0][0])], tape.m[1] + tape.carried[0][1] / 2
    tape.carried, tape.m = [tape.carried[0], joined], ([Fraction(0)] * len(tape.m[0]), Fraction(0))
    for j, row in enumerate(rows):
        for interval in row:
            start, end = (j + (rational(v) - low) / (high - low) / 2 for v in interval)
            tape.step("max", [0, 1 / riser], -start / riser)
            tape.step("min", [0, 0], 1)
            tape.step("min", [0, -1 / riser], end / riser)
            tape.step("max", [0, 0], 0)
    tape.step("min", [1 / riser, 0], 0)
    tape.step("min", [-1 / riser, 0], 1 / riser)
    return tape.net()


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
    D = lcm(*(rational(v).denominator for v in parts))
    weights = tuple(tuple(tuple(D * v for v in row) for row in w) for w in net.weights)
    biases = tuple(tuple(D ** (layer + 1) * v for v in b) for layer, b in enumerate(net.biases))
    return ExactNet(weights, biases, net.leak), D ** len(net.weights)


def bit_reader(labels, at_once: int = 1) -> ExactNet:
    """A network that is positive at (i, j) if `labels[i][j]` is 1 and negative if it is 0: all labels are possible. (S2-find-vc)

    Each row of labels becomes one number in binary; two layers find the number of row i, and each pair of layers after them
    reads `at_once` of its bits and keeps that at place j.
    """
    labels = np.asarray(labels, dtype=int)
    n, bits = labels.shape
    if n < 2 or bits % at_once or not ((labels == 0) | (labels == 1)).all():
        raise ValueError(
            f"labels 0 or 1 of shape (n, bits), n >= 2, bits a multiple of {at_once}, are needed; got {labels.shape}"
        )
    found = interpolate(range(n), [Fraction(int("".join(map(str, row)), 2), 2**bits) for row in labels])
    weights = [[*((row[0], 0) for row in found.weights[0]), (0, 1)]]
    biases = [[*found.biases[0], 0]]
    weights.append([[*found.weights[1][0], 0], [0] * (n - 1) + [1]])  # one neuron for the number: else each reader has n weights
    biases.append([found.biases[1][0], 0])
    number, place, out = ([1, 0], 0), ([0, 1], 0), ([0, 0], 0)
    levels = range(1, 2**at_once)
    for t in range(0, bits, at_once):
        fine = 2 ** (bits - t)
        shifts = [Fraction(-q * fine, 2**at_once) + up for q in levels for up in (1, 0)]
        rows = [_scaled(number, fine, s) for s in shifts] + [_scaled(place, 1, -s) for s in range(t - 1, t + at_once + 1)]
        rows += [number, place, out]
        weights.append([row for row, _ in rows])
        biases.append([c for _, c in rows])
        size, steps = len(rows), 2 * len(levels)
        unit = lambda k, size=size: [int(k == i) for i in range(size)]  # noqa: E731
        reads = []
        for s in range(at_once):
            jumps = [((q >> (at_once - 1 - s)) & 1) - (((q - 1) >> (at_once - 1 - s)) & 1) for q in levels]
            row = [sign * jump for jump in jumps for sign in (1, -1)] + [0] * (size - steps)
            for k, v in enumerate((1, -2, 1)):  # a hat over the place t + s
                row[steps + s + k] = v
            reads.append((row, -1))
        rest = [-sign for _ in levels for sign in (1, -1)] + [0] * (size - steps)
        rest[-3] = 2**at_once
        rows = [*reads, (rest, 0), (unit(size - 2), 0), (unit(size - 1), 0)]
        weights.append([row for row, _ in rows])
        biases.append([c for _, c in rows])
        size = len(rows)
        number, place, out = (unit(size - 3, size), 0), (unit(size - 2, size), 0), ([1] * at_once + [0, 0, 1], 0)
    return ExactNet((*weights, [out[0]]), (*biases, [Fraction(-1, 2)]))


def _scaled(form, factor, shift):
    row, constant = form
    return [factor * v for v in row], factor * constant + shift
