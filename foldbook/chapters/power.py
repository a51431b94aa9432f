"""What boolean/power has beyond the package: ways out, curves, pictures and bits as networks, and descent on deep linear ones.

>>> from foldbook.chapters.power import way_out
>>> from foldnet.boolean.exact import ExactNet
>>> net = ExactNet([[[1, 0], [0, 1]], [[1, 2]]], [[0, 0], [0]])  # two neurons: no island
>>> corners, direction = way_out(net, (1, 1))
>>> [str(net((1000 * direction[0] + corners[-1][0], 1000 * direction[1] + corners[-1][1])))]
['3']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from foldnet.boolean.capacity import interpolate
from foldnet.boolean.exact import ExactNet

_Vector = tuple[Fraction, ...]

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
    here = tuple(Fraction(value) for value in x)
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
    return [tuple(map(Fraction, row)) for row in net.weights[0]], list(map(Fraction, net.biases[0]))


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
        scale = 1 / (Fraction(high) - Fraction(low))
        eye = [[Fraction(i == k) for k in range(inputs)] for i in range(inputs)]
        self.weights = [[[scale * v for v in row] for row in eye], [[-v for v in row] for row in eye]]
        self.biases = [[-scale * Fraction(low)] * inputs, [Fraction(1)] * inputs]
        self.carried = [([-v for v in row], Fraction(1)) for row in eye]  # 1 - neuron
        self.m = ([Fraction(0)] * inputs, Fraction(0))

    def form(self, slopes, constant):
        """The affine function of the carried registers as one of the current neurons."""
        parts = list(zip((Fraction(slope) for slope in slopes), self.carried))
        weights = [_dot([s for s, _ in parts], column) for column in zip(*(row for _, (row, _) in parts))]
        return weights, Fraction(constant) + sum((s * c for s, (_, c) in parts), start=Fraction(0))

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
        self.m = ([*(Fraction(slope) for slope in slopes), Fraction(sign)], Fraction(constant))

    def net(self) -> ExactNet:
        return ExactNet((*self.weights, [self.m[0]]), (*self.biases, [self.m[1]]))


def curve_network(f: Callable[[float], float], error: float, slope: float, interval=(0, 1)) -> ExactNet:
    """Two neurons per layer that stay within `error` of f on an interval, but near its ends, and are 0 outside. (S2-thm-2.3.1)

    The output runs up and down with a `slope` steeper than f between f - error and f + error: each turn is a layer.
    """
    low, high = map(float, interval)
    tape, grid = _Tape(*interval, 1), np.linspace(0, 1, 20_001)
    values = np.array([f(low + (high - low) * t) for t in grid])
    steep = Fraction(slope) * (Fraction(interval[1]) - Fraction(interval[0]))
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
    low, high = map(Fraction, square)
    if len(rows) < 3 or rows[0] or rows[-1]:
        raise ValueError("at least three rows are needed, of which the first and the last are empty")
    riser, tape = Fraction(riser), _Tape(low, high, 2)
    for j in range(1, len(rows)):  # m = number of the row
        tape.step("max", [0, 1 / riser], j - 1 - Fraction(j, len(rows)) / riser)
        tape.step("min", [0, 0], j)
    joined = [a + b / 2 for a, b in zip(tape.m[0], tape.carried[0][0])], tape.m[1] + tape.carried[0][1] / 2
    tape.carried, tape.m = [tape.carried[0], joined], ([Fraction(0)] * len(tape.m[0]), Fraction(0))
    for j, row in enumerate(rows):
        for interval in row:
            start, end = (j + (Fraction(v) - low) / (high - low) / 2 for v in interval)
            tape.step("max", [0, 1 / riser], -start / riser)
            tape.step("min", [0, 0], 1)
            tape.step("min", [0, -1 / riser], end / riser)
            tape.step("max", [0, 0], 0)
    tape.step("min", [1 / riser, 0], 0)
    tape.step("min", [-1 / riser, 0], 1 / riser)
    return tape.net()


# ---- all labels: reading bits ------------------------------------------------------------------------------------------------


def bit_reader(labels, at_once: int = 1) -> ExactNet:
    """A network that is positive at (i, j) if `labels[i][j]` is 1 and negative if it is 0: all labels are possible. (S2-find-vc)

    Each row of labels becomes one number in binary; two layers find the number of row i, and each pair of layers after them
    reads `at_once` of its bits and keeps that at place j. In float64 it is exact for rows of up to 26 bits.
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


# ---- gradient descent on networks without an activation ---------------------------------------------------------------------


def balanced_weights(matrix: Tensor, widths: Sequence[int]) -> list[Tensor]:
    """Weights `W_1, ..., W_N` of hidden `widths` whose product W_N ... W_1 is a matrix `(*batch, out, in)`, exactly balanced.

    Each has the N-th roots of its singular values, so that W_{j+1}^T W_{j+1} = W_j W_j^T. Layers narrower than the rank keep the
    largest of them. (S2-find-linear-net-convergence)
    """
    u, s, vt = torch.linalg.svd(matrix, full_matrices=False)
    kept = min(s.shape[-1], *widths)
    root = torch.zeros_like(s)
    root[..., :kept] = s[..., :kept] ** (1 / (len(widths) + 1))
    diagonal = torch.diag_embed(root)
    sizes = [matrix.shape[-1], *widths, matrix.shape[-2]]
    parts = [diagonal @ vt, *[diagonal] * (len(widths) - 1), u @ diagonal]
    return [_shaped(part, sizes[j + 1], sizes[j]) for j, part in enumerate(parts)]


def imbalance(weights: Sequence[Tensor]) -> Tensor:
    """The largest Frobenius norm of W_{j+1}^T W_{j+1} - W_j W_j^T, `(*batch,)`."""
    gaps = [(b.mT @ b - a @ a.mT).flatten(-2).norm(dim=-1) for a, b in pairwise(weights)]
    return torch.stack(gaps).amax(0)


def descend_linear(weights: Sequence[Tensor], target: Tensor, lr: float, steps: int) -> Tensor:
    """Gradient descent on |W_N ... W_1 - target|^2 / 2, all layers at once: losses before each step, `(steps + 1, *batch)`."""
    losses = []
    for _ in range(steps + 1):
        before: list = [None]  # products below each layer
        after: list = [None]  # and above
        for w in weights[:-1]:
            before.append(w if before[-1] is None else w @ before[-1])
        for w in weights[:0:-1]:
            after.append(w if after[-1] is None else after[-1] @ w)
        gap = weights[-1] @ before[-1] - target
        losses.append(gap.square().sum((-2, -1)) / 2)
        slopes = [gap if high is None else high.mT @ gap for high in reversed(after)]
        slopes = [slope if low is None else slope @ low.mT for slope, low in zip(slopes, before)]
        weights = [w - lr * slope for w, slope in zip(weights, slopes)]  # not in place: products may be weights themselves
    return torch.stack(losses)


def _shaped(part: Tensor, rows: int, columns: int) -> Tensor:
    """A matrix cut or filled with zeros to this shape."""
    part = part[..., :rows, :columns]
    return torch.nn.functional.pad(part, (0, columns - part.shape[-1], 0, rows - part.shape[-2]))
