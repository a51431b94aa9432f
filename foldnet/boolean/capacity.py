"""Networks of one variable built by hand: through given points, with given changes of sign, and folded into waves.

Everything here is exact: `ExactNet` has rational weights, and `.float()` is its twin in float64. (boolean/capacity)

>>> from foldnet.boolean.capacity import least_width, most_changes
>>> most_changes(3), least_width(4)
(4, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod

from ._rational import leak_of, rationals, sign_of
from .exact import ExactNet

# ---- through points --------------------------------------------------------------------------------------------------------


def interpolate(x: Sequence, y: Sequence, leak=0) -> ExactNet:
    """One hidden layer of k - 1 nodes through the k points (x_i, y_i), with kinks at x_1, ..., x_{k-1}. (S2-lem-A.2.1)

    x: the k points, in increasing order.
    y: the values there.
    leak: the slope of the nodes left of zero.
    """
    x, y, leak = rationals(x, "a list of points"), rationals(y, "a list of values"), leak_of(leak)
    if len(x) != len(y) or len(x) < 2:
        raise ValueError(f"at least two points, each with a value, are needed; got {len(x)} points and {len(y)} values")
    _increasing(x, "points")
    slopes = [(b - a) / (t - s) for (s, t), (a, b) in zip(pairwise(x), pairwise(y))]
    jumps = [slopes[0] - leak * slopes[-1], *(t - s for s, t in pairwise(slopes))]
    heights = [jump / (1 - leak) for jump in jumps]
    at_first = sum((a * leak * (x[0] - t) for a, t in zip(heights, x)), start=Fraction(0))
    return ExactNet((tuple((1,) for _ in heights), (tuple(heights),)), (tuple(-t for t in x[:-1]), (y[0] - at_first,)), leak)


def separate(intervals: Sequence[Sequence], leak=0, first: int = 1, as_printed: bool = False) -> ExactNet:
    """One hidden layer of k - 1 nodes whose sign alternates on k intervals; it is zero halfway between them. (S2-thm-3.3.2)

    intervals: pairs (start, end) in increasing order.
    leak: the slope of the nodes left of zero.
    first: the sign on the first interval, 1 or -1.
    as_printed: put the first kink in the middle of the first interval, as the dissertation does, and not at its left end. For a
        leaky ReLU this can fail. (S2-proof-A.2)
    """
    pairs = [rationals(i, "an interval (start, end)") for i in intervals]
    if len(pairs) < 2 or any(len(p) != 2 or p[0] > p[1] for p in pairs):
        raise ValueError("at least two intervals (start, end) with start <= end are needed")
    for i, ((a, b), (c, d)) in enumerate(pairwise(pairs), 1):
        if b > c or (b == c and (a == b or c == d)):
            raise ValueError(f"intervals {i} and {i + 1} leave no room for a change of sign: ({a}, {b}) and ({c}, {d})")
    places = [(a + b) / 2 for a, b in pairs]
    if not as_printed:
        places[0] = pairs[0][0]
    heights = [Fraction(sign_of(first))]
    for i in range(1, len(pairs)):
        zero = (pairs[i - 1][1] + pairs[i][0]) / 2
        heights.append(-heights[-1] * (places[i] - zero) / (zero - places[i - 1]))
    return interpolate(places, heights, leak)


# ---- as many changes of sign as possible -------------------------------------------------------------------------------------


def most_changes(widths: Sequence[int] | int, leak=0) -> int:
    """Changes of sign that a network of one input with these hidden widths can be given: a factor w + 1 for each layer.

    For w = 1, and for w = 2 without a leak, the factor is w. This is the maximum, unless a ReLU layer of width two is one of
    several layers; then it is what `deep_wave` reaches. (S2-find-crossings, S2-thm-3.3.3)
    """
    widths = (widths,) if isinstance(widths, int) else tuple(widths)
    if not widths or min(widths) < 1:
        raise ValueError(f"each hidden layer has at least one node; got widths {widths}")
    return prod(_sweeps(w, leak_of(leak)) for w in widths)


def least_width(changes: int, leak=0) -> int:
    """The fewest nodes in one hidden layer with which a network of one input makes so many changes. (S2-find-crossings)

    changes: of sign.
    leak: the slope for negative inputs; 0 is ReLU.
    """
    if changes < 1:
        raise ValueError(f"a network that never changes sign needs no node; got {changes} changes")
    return next(w for w in range(1, changes + 1) if most_changes(w, leak) >= changes)


def with_changes(zeros: Sequence, leak=0, first: int = 1) -> ExactNet:
    """The smallest network of one hidden layer that changes sign exactly at the given places. (S2-find-crossings)

    zeros: the places, in increasing order.
    leak: the slope of the nodes left of zero.
    first: the sign left of all of them, 1 or -1.
    """
    zeros, leak, sign = rationals(zeros, "a list of places"), leak_of(leak), sign_of(first)
    if not zeros:
        raise ValueError("at least one change of sign is needed")
    _increasing(zeros, "changes of sign")
    width = least_width(len(zeros), leak)
    if width == len(zeros):
        return _with_few(zeros, leak, sign)
    facing, sizes = _alternating(width, leak)
    kinks = [(s + t * (b / a)) / (1 + b / a) for (s, t), (a, b) in zip(pairwise(zeros), pairwise(sizes))]
    return _zigzag(kinks, facing, sizes, zeros[0], -sign, leak)


def _with_few(zeros: tuple[Fraction, ...], leak: Fraction, sign: int) -> ExactNet:
    """One node a change, for one or two changes, and for three with ReLU."""
    if len(zeros) == 2:  # two nodes back to back make |x - centre|, with no other zero on the line
        centre, reach = (zeros[0] + zeros[1]) / 2, (zeros[1] - zeros[0]) / 2
        height = sign / (1 - leak)
        return ExactNet((((1,), (-1,)), ((height, height),)), ((-centre, centre), (-sign * reach,)), leak)
    places = [zeros[0] - 1, *((s + t) / 2 for s, t in pairwise(zeros)), zeros[-1] + 1]
    heights = [Fraction(sign)]
    for zero, (s, t) in zip(zeros, pairwise(places)):
        heights.append(-heights[-1] * (t - zero) / (zero - s))
    return interpolate(places, heights, leak)


def _sweeps(width: int, leak: Fraction) -> int:
    return width + 1 if width >= 3 or (width == 2 and leak > 0) else width


def _alternating(width: int, leak: Fraction) -> tuple[list[int], list[Fraction]]:
    """Which way the nodes face, and sizes of slopes, such that all slopes alternate in sign; for width 3 on, or 2 with a leak."""
    sizes = [Fraction(1)] * (width + 1)
    if width == 2:
        sizes[0] = leak
        return [1, 1], sizes
    if width % 2:
        sizes[-1] = 2 + leak
        return [1] + [-1] * (width - 1), sizes
    sizes[1] = 2 / (1 + leak)
    return [-1] + [1] * (width - 2) + [-1], sizes


def _zigzag(kinks, facing, sizes, zero: Fraction, sign: int, leak: Fraction) -> ExactNet:
    """The network with these kinks and slopes sign * (|m_0|, -|m_1|, |m_2|, ...) whose first ray meets zero at `zero`."""
    slopes = [sign * m * (-1) ** i for i, m in enumerate(sizes)]
    heights = tuple((b - a) / (1 - leak) for a, b in pairwise(slopes))
    rows, shift = tuple((Fraction(way),) for way in facing), tuple(-way * t for way, t in zip(facing, kinks))
    at_zero = ExactNet((rows, (heights,)), (shift, (0,)), leak)(zero)
    return ExactNet((rows, (heights,)), (shift, (-at_zero,)), leak)


# ---- waves --------------------------------------------------------------------------------------------------------------------


def wave(width: int, leak=0, longest: bool = False) -> ExactNet:
    """A triangle wave with `width` straight pieces of equal length that run between 0 and 1 on [0, 1], from 0. (S2-eq-A.21)

    width: the number of nodes in the hidden layer.
    leak: the slope of the nodes left of zero.
    longest: as many pieces as the nodes allow, one more where they can, but unequally long.
    """
    leak = leak_of(leak)
    if width < 1:
        raise ValueError(f"a wave has at least one piece; got {width}")
    if not longest or _sweeps(width, leak) == width:
        return interpolate([Fraction(i, width) for i in range(width + 1)], [i % 2 for i in range(width + 1)], leak)
    facing, sizes = _alternating(width, leak)
    total = sum(1 / m for m in sizes)
    sizes = [m * total for m in sizes]
    kinks = [sum(1 / m for m in sizes[:i]) for i in range(1, width + 1)]
    return _zigzag(kinks, facing, sizes, Fraction(0), 1, leak)


def deep_wave(widths: Sequence[int], leak=0, interval=(0, 1), longest: bool = False) -> ExactNet:
    """Waves composed, minus 1/2, on an interval: the product of the widths is the number of sign changes there. (S2-thm-3.3.3)

    widths: the widths of the hidden layers.
    leak: the slope of the nodes left of zero.
    interval: (start, end) of the interval on which the wave runs.
    longest: each layer folds once more where it can, and the places are no longer equally spaced.
    """
    a, b = rationals(interval, "an interval (start, end)")
    if not a < b:
        raise ValueError(f"an interval (start, end) with start < end is needed; got ({a}, {b})")
    if not widths:
        raise ValueError("at least one hidden layer is needed")
    net = _folds(widths, leak, longest)
    lower = ExactNet(net.weights, (*net.biases[:-1], (net.biases[-1][0] - Fraction(1, 2),)), net.leak)
    return lower.before([1 / (b - a)], -a / (b - a))


def parity_line(n: int, widths: Sequence[int], leak=0) -> ExactNet:
    """A network of one input whose sign at 0, 1, ..., n is -, +, -, ...: parity as a function of the number of ones.

    Waves in all layers but the last, which changes sign as often as it can, at equal distances. (S2-thm-3.3.4)

    n: the number of bits, at most w_1 ... w_{l-1} most_changes(w_l), which is at least the product of the widths.
    widths: the widths of the hidden layers.
    leak: the slope of the nodes left of zero.
    """
    most = prod(widths[:-1]) * most_changes(widths[-1], leak) if widths else 0
    if not 1 <= n <= most:
        raise ValueError(f"hidden layers of widths {tuple(widths)} are given weights for parities of 1 to {most} bits; got {n}")
    changes = most // prod(widths[:-1])
    last = with_changes([Fraction(2 * i + 1, 2 * changes) for i in range(changes)], leak, first=-1)
    net = last if len(widths) == 1 else _folds(widths[:-1], leak).then(last)
    return net.before([Fraction(1, most)])


def _folds(widths: Sequence[int], leak, longest: bool = False) -> ExactNet:
    """One wave after the other."""
    net = wave(widths[0], leak, longest)
    for w in widths[1:]:
        net = net.then(wave(w, leak, longest))
    return net


def _increasing(values: Sequence[Fraction], what: str) -> None:
    for i, (s, t) in enumerate(pairwise(values), 1):
        if s >= t:
            raise ValueError(f"{what} are needed in increasing order, without duplicates; number {i} is {s}, the next is {t}")
