"""ReLU networks in rational arithmetic: no rounding, so that a sign is a sign and a zero is a zero. (boolean/capacity)

>>> from foldnet.boolean.capacity import interpolate
>>> from foldnet.boolean.exact import sign_changes
>>> [str(zero) for zero in sign_changes(interpolate([0, 1, 2], [-1, 1, -1]))]
['1/2', '3/2']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import torch

from ..nets import ReLUNet
from ._rational import leak_of, rational, rationals

Row = tuple[Fraction, ...]


@dataclass(frozen=True, repr=False, init=False)
class ExactNet:
    """A (leaky) ReLU network with rational weights: `weights[l]` is a tuple of rows, `biases[l]` a tuple of numbers."""

    weights: tuple[tuple[Row, ...], ...]
    biases: tuple[Row, ...]
    leak: Fraction

    def __init__(self, weights: Sequence, biases: Sequence, leak=0):
        """The network with these matrices, vectors and leak, whose numbers are whole, fractions, texts as "1/10" or floats."""
        rows = tuple(tuple(rationals(row, "a row of weights") for row in w) for w in weights)
        object.__setattr__(self, "weights", rows)
        object.__setattr__(self, "biases", tuple(rationals(b, "a list of biases") for b in biases))
        object.__setattr__(self, "leak", leak_of(leak))
        if not rows or len(rows) != len(self.biases):
            raise ValueError("a network needs as many bias vectors as weight matrices, and at least one of each")
        width = len(rows[0][0]) if rows[0] else 0
        for layer, (w, b) in enumerate(zip(rows, self.biases)):
            if not width or len(w) != len(b) or any(len(row) != width for row in w):
                raise ValueError(f"layer {layer} needs a row of {width} weights and a bias for each of its neurons")
            width = len(w)

    @classmethod
    def of(cls, net: ReLUNet) -> ExactNet:
        """The network with exactly these doubles as its weights: every double is a fraction."""
        if net.batch_shape:
            raise ValueError(f"one network becomes exact, not a batch of shape {net.batch_shape}: choose one, as in nets[0]")
        return cls([w.tolist() for w in net.weights], [b.tolist() for b in net.biases], net.leak)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Layer widths from input to output."""
        return (len(self.weights[0][0]), *map(len, self.biases))

    def __repr__(self) -> str:
        return f"ExactNet({'-'.join(map(str, self.sizes))}{f', leak {self.leak}' if self.leak else ''})"

    def __call__(self, x) -> Fraction:
        """The first output at one point: a number for a network of one input, else a sequence of them. No rounding."""
        h = rationals(x if self.sizes[0] > 1 or hasattr(x, "__iter__") else (x,), "a point")
        if len(h) != self.sizes[0]:
            raise ValueError(f"a point has {self.sizes[0]} coordinates; got {len(h)}")
        for w, b in zip(self.weights[:-1], self.biases[:-1]):
            h = tuple(self._relu(z) for z in _affine(w, b, h))
        return _affine(self.weights[-1], self.biases[-1], h)[0]

    def float(self) -> ReLUNet:
        """The twin in float64: every weight rounded once to the nearest double."""
        weights = [torch.tensor([list(map(float, row)) for row in w], dtype=torch.float64) for w in self.weights]
        return ReLUNet(weights, [torch.tensor(list(map(float, b)), dtype=torch.float64) for b in self.biases], float(self.leak))

    def before(self, weights: Sequence, bias=0) -> ExactNet:
        """This network of one input, fed with the projection `weights @ x + bias`: a network of many inputs."""
        if self.sizes[0] != 1:
            raise ValueError(f"a projection to the line feeds a network of one input; got {self}")
        direction, bias = rationals(weights, "a list of weights"), rational(bias)
        first = tuple(tuple(row[0] * v for v in direction) for row in self.weights[0])
        shift = tuple(row[0] * bias + b for row, b in zip(self.weights[0], self.biases[0]))
        return ExactNet((first, *self.weights[1:]), (shift, *self.biases[1:]), self.leak)

    def then(self, after: ExactNet) -> ExactNet:
        """The composition x -> after(self(x)): the affine output here and the first layer there become one layer."""
        if self.sizes[-1] != after.sizes[0] or self.leak != after.leak:
            raise ValueError(f"{self} cannot be followed by {after}: outputs, inputs and leaks must agree")
        w, b = self.weights[-1], self.biases[-1]
        columns = list(zip(*w))
        joined = tuple(tuple(sum(r * c for r, c in zip(row, column)) for column in columns) for row in after.weights[0])
        shift = _affine(after.weights[0], after.biases[0], b)
        return ExactNet(
            (*self.weights[:-1], joined, *after.weights[1:]), (*self.biases[:-1], shift, *after.biases[1:]), self.leak
        )

    def _relu(self, z: Fraction) -> Fraction:
        return z if z > 0 else self.leak * z


def _affine(w: Sequence[Row], b: Row, h: Row) -> Row:
    return tuple(sum((c * v for c, v in zip(row, h) if c), start=bias) for row, bias in zip(w, b))


# ---- the whole line at once ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExactSpline:
    """A continuous piecewise linear function of one variable: values at sorted knots, and the slopes of the two outer rays."""

    knots: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    first_slope: Fraction
    last_slope: Fraction

    @property
    def slopes(self) -> tuple[Fraction, ...]:
        """The slopes of all pieces from left to right, one more than there are knots."""
        inner = ((b - a) / (t - s) for (s, t), (a, b) in zip(pairwise(self.knots), pairwise(self.values)))
        return (self.first_slope, *inner, self.last_slope)

    def sign_changes(self) -> tuple[Fraction, ...]:
        """Where the sign changes, from left to right: the zeros with opposite strict signs on their two sides.

        A stretch of zeros between opposite signs is one change, placed at its left end.
        """
        (fine,) = _with_zeros([self])
        signs = [_sign(-fine.first_slope) or _sign(fine.values[0]), *map(_sign, fine.values)]
        signs.append(_sign(fine.last_slope) or signs[-1])
        places: list[Fraction] = []
        before, zero = 0, None
        for i, sign in enumerate(signs):
            if sign == 0:
                zero = zero if zero is not None else fine.knots[i - 1]
                continue
            if before and sign != before:
                assert zero is not None  # a sign changes at a knot or at a zero between two
                places.append(zero)
            before, zero = sign, None
        return tuple(places)


def exact_spline(net: ExactNet) -> ExactSpline:
    """The function of a network of one input and one output, on all of the line, with every kink."""
    if net.sizes[0] != 1 or net.sizes[-1] != 1:
        raise ValueError(f"a network of one input and one output is needed; got {net}")
    zero, one = Fraction(0), Fraction(1)
    state = [ExactSpline((zero,), (zero,), one, one)]
    for w, b in zip(net.weights[:-1], net.biases[:-1]):
        state = _with_zeros([_combine(state, row, bias) for row, bias in zip(w, b)])
        state = [_activate(neuron, net.leak) for neuron in state]
    return _without_false_kinks(_combine(state, net.weights[-1][0], net.biases[-1][0]))


def sign_changes(net: ExactNet) -> tuple[Fraction, ...]:
    """The places where a network of one input changes sign, exactly."""
    return exact_spline(net).sign_changes()


def _combine(state: list[ExactSpline], row: Row, bias: Fraction) -> ExactSpline:
    values = tuple(sum((c * v for c, v in zip(row, at) if c), start=bias) for at in zip(*(n.values for n in state)))
    first = sum((c * n.first_slope for c, n in zip(row, state)), start=Fraction(0))
    last = sum((c * n.last_slope for c, n in zip(row, state)), start=Fraction(0))
    return ExactSpline(state[0].knots, values, first, last)


def _with_zeros(state: list[ExactSpline]) -> list[ExactSpline]:
    """All functions of the state with the zeros of each of them as further knots of all."""
    knots, new = state[0].knots, set()
    for f in state:
        if f.first_slope and f.values[0] / f.first_slope > 0:
            new.add(knots[0] - f.values[0] / f.first_slope)
        for (s, t), (a, b) in zip(pairwise(knots), pairwise(f.values)):
            if a * b < 0:
                new.add(s - a * (t - s) / (b - a))
        if f.last_slope and f.values[-1] / f.last_slope < 0:
            new.add(knots[-1] - f.values[-1] / f.last_slope)
    fine = tuple(sorted(new.union(knots)))
    return [_refined(n, fine) for n in state] if new else state


def _refined(f: ExactSpline, knots: tuple[Fraction, ...]) -> ExactSpline:
    slopes, values, piece = f.slopes, [], 0
    for t in knots:
        while piece < len(f.knots) and f.knots[piece] <= t:
            piece += 1
        i = max(piece - 1, 0)
        values.append(f.values[i] + slopes[piece] * (t - f.knots[i]))
    return ExactSpline(knots, tuple(values), f.first_slope, f.last_slope)


def _activate(f: ExactSpline, leak: Fraction) -> ExactSpline:
    left = _sign(-f.first_slope) or _sign(f.values[0])
    right = _sign(f.last_slope) or _sign(f.values[-1])
    values = tuple(v if v > 0 else leak * v for v in f.values)
    return ExactSpline(f.knots, values, f.first_slope * (1 if left > 0 else leak), f.last_slope * (1 if right > 0 else leak))


def _without_false_kinks(f: ExactSpline) -> ExactSpline:
    slopes = f.slopes
    kept = [i for i in range(len(f.knots)) if slopes[i] != slopes[i + 1]] or [0]
    return ExactSpline(tuple(f.knots[i] for i in kept), tuple(f.values[i] for i in kept), f.first_slope, f.last_slope)


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)
