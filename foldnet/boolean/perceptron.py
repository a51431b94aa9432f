"""The perceptron: its mistakes, what it can separate, and how much of the input its features have to see.

Classes are 1 and -1, and a sum of exactly 0 belongs to class 1, as in eq. 2.1 of S2. (boolean/perceptron)

>>> from foldnet.boolean.perceptron import find_separation, perceptron_order, train_perceptron
>>> train_perceptron([[0.0], [1.0]], [-1, 1]).mistakes
3
>>> find_separation([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], [0, 1, 1, 0])  # XOR: no weights, and why
Separation(weights=None, balance=(1, 1, 1, 1))
>>> perceptron_order("0110"), perceptron_order("0001")
(2, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm

import numpy as np

from .functions import corners, input_count, truth_table

FINEST = 10**6  # denominators of what the linear program finds; a wrong guess does not pass the exact test


# ---- learning --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PerceptronRun:
    """What the perceptron algorithm did: `weights[k]` are the weights after k mistakes, the bias last.

    `samples[k]` is the sample of mistake k, `passes` how often it went through the data, the last pass without a mistake
    included, and `done` whether there was such a pass.
    """

    weights: np.ndarray
    samples: tuple[int, ...]
    passes: int
    done: bool

    @property
    def mistakes(self) -> int:
        return len(self.samples)


def train_perceptron(x, t, rate: float = 0.5, start=None, most_passes: int = 1000) -> PerceptronRun:
    """The perceptron convergence algorithm: a mistake moves the weights, bias last, by `rate * (t - f(x))` times (x, 1).

    x: the samples, `(n, d)`.
    t: their classes, 1 or -1, `(n,)`.
    rate: the learning rate.
    start: the weights at the beginning, the bias last; zeros if not given.
    most_passes: after so many passes through the samples it stops.
    """
    z, t = _augmented(x, t)
    w = np.zeros(z.shape[1]) if start is None else np.array(start, dtype=float)
    if w.shape != z.shape[1:]:
        raise ValueError(f"samples of {z.shape[1] - 1} numbers need {z.shape[1]} weights, the bias last; got shape {w.shape}")
    history, samples, passes, turn = [w], [], 0, 0
    while passes < most_passes:
        wrong = np.flatnonzero(predict(z[turn:], w) != t[turn:])
        if wrong.size:  # nothing moves before the next mistake, so go there at once
            i = turn + int(wrong[0])
            w = w + rate * (t[i] - predict(z[i], w)) * z[i]
            history.append(w)
            samples.append(i)
            turn = i + 1
        elif turn == 0:
            return PerceptronRun(np.stack(history), tuple(samples), passes + 1, True)
        else:
            passes, turn = passes + 1, 0
    return PerceptronRun(np.stack(history), tuple(samples), passes, False)


def predict(z, w) -> np.ndarray:
    """The class, 1 or -1, of samples `z` (the 1 for the bias among their numbers) by the weights `w`."""
    return np.where(np.asarray(z) @ np.asarray(w) >= 0, 1, -1)


def _augmented(x, t) -> tuple[np.ndarray, np.ndarray]:
    """The samples with a 1 for the bias behind them, `(n, d + 1)`, and their classes; other shapes and classes are refused."""
    x, t = np.asarray(x, dtype=float), np.asarray(t)
    if x.ndim != 2 or t.shape != x.shape[:1] or not x.size:
        raise ValueError(f"samples have shape (n, d) and classes shape (n,); got {x.shape} and {t.shape}")
    if not np.isin(t, (-1, 1)).all():
        raise ValueError(f"a class is 1 or -1; got {', '.join(map(str, np.unique(t)[:4].tolist()))}")
    return np.column_stack([x, np.ones(len(x))]), t


def widest_margin(x, t) -> tuple[np.ndarray, float]:
    """The unit weights, bias last, of the widest margin, and that margin: the least `t * (z @ w)` over the augmented samples.

    Samples that no line separates give zeros and 0, and so does a margin below some 1e-9.
    (Lawson and Hanson's way to a least distance, by non-negative least squares.)
    """
    from scipy.optimize import nnls

    z, t = _augmented(x, t)
    signed = z * t[:, None]
    goal = np.append(np.zeros(z.shape[1]), 1.0)
    rest = np.vstack([signed.T, np.ones(len(z))]) @ nnls(np.vstack([signed.T, np.ones(len(z))]), goal)[0] - goal
    if np.linalg.norm(rest) < 1e-9:
        return np.zeros(z.shape[1]), 0.0
    w = rest[:-1] / np.linalg.norm(rest[:-1])
    margin, known = float((signed @ w).min()), abs(rest[-1]) / np.linalg.norm(rest[:-1])  # the second is right far from 0, too
    if abs(margin - known) > 1e-2 * known:
        raise ValueError("rounding hides the margin of these samples: move them nearer to 0, or scale them")
    return w, margin


def novikoff_bound(x, t) -> float:
    """Novikoff's bound on the mistakes from weights 0, at any rate: `(R / margin)**2`; infinite where no line separates.

    `t` are the classes of the points.
    """
    z, _ = _augmented(x, t)
    margin = widest_margin(x, t)[1]
    return float((z * z).sum(1).max() / margin**2) if margin > 0 else np.inf


# ---- deciding, with a proof --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Separation:
    """One of two: `weights` that separate, or a `balance` that shows that there are none; both in whole numbers.

    A balance has a number >= 0 for each sample, not all of the negative ones 0, and the samples of the positive class, so
    often each, add up to the same vector as those of the negative class: no weights can be >= 0 on one side and < 0 on the other.
    """

    weights: tuple[int, ...] | None
    balance: tuple[int, ...] | None

    def __bool__(self) -> bool:
        return self.weights is not None


def find_separation(features, positive, strict: bool = False) -> Separation:
    """Weights with `features @ w >= 0` where `positive` and `< 0` elsewhere, or a proof that there are none.

    A linear program finds the answer, and whole numbers prove it: one that they do not bear out raises.

    features: whole numbers `(n, k)`. No bias is added: for one, give a column of ones.
    positive: booleans `(n,)`.
    strict: ask for `> 0` where `positive`.
    """
    from scipy.optimize import linprog

    a, positive = np.asarray(features), np.asarray(positive, dtype=bool)
    if a.ndim != 2 or a.dtype.kind not in "iub" or positive.shape != a.shape[:1]:
        raise ValueError(f"features are whole numbers (n, k) and classes (n,); got {a.dtype} {a.shape} and {positive.shape}")
    a = a.astype(np.int64)
    signed = np.where(positive[:, None], a, -a)
    apart = (~positive | strict).astype(float)  # these sums have to be away from 0
    if a.shape[1]:
        found = linprog(np.zeros(a.shape[1]), -signed, -apart, bounds=(None, None), method="highs")
        if found.status == 0:
            w = _whole(found.x)
            if _proves(signed, apart, w):
                return Separation(w, None)
    found = linprog(np.zeros(len(a)), A_eq=np.vstack([signed.T, apart]), b_eq=[0] * a.shape[1] + [1], method="highs")
    if found.status == 0:
        c = _whole(found.x)
        exact = [sum(int(v) * k for v, k in zip(column, c)) for column in signed.T.tolist()]
        if min(c) >= 0 and not any(exact) and any(k for k, far in zip(c, apart) if far):
            return Separation(None, c)
    if not apart.any():
        return Separation((0,) * a.shape[1], None)
    raise ArithmeticError(f"whole numbers bear out neither answer for {a.shape[0]} samples with {a.shape[1]} features")


def _proves(signed: np.ndarray, apart: np.ndarray, w: Sequence[int]) -> bool:
    sums = [sum(int(v) * k for v, k in zip(row, w)) for row in signed.tolist()]
    return all(s > 0 if far else s >= 0 for s, far in zip(sums, apart))


def _whole(values) -> tuple[int, ...]:
    """The fractions near some numbers, all times their common denominator."""
    near = [Fraction(float(v)).limit_denominator(FINEST) for v in values]
    common = lcm(*(f.denominator for f in near))
    return tuple(int(f * common) for f in near)


# ---- features that see a part of the input -----------------------------------------------------------------------------------


def subsets(n: int, most: int | None = None) -> list[tuple[int, ...]]:
    """The sets of at most `most` of n positions, the smallest first: the masks of that order."""
    return [s for size in range((n if most is None else most) + 1) for s in combinations(range(n), size)]


def mask_features(n: int, of: Sequence[tuple[int, ...]] | None = None) -> np.ndarray:
    """The features `prod(x[i] for i in s)` at all strings of n bits, `(2**n, len(of))`, for the sets s in `of` (default: all)."""
    x = corners(n, low=0)
    return np.stack([x[:, list(s)].prod(1) for s in (subsets(n) if of is None else of)], axis=1)


def perceptron_order(f, n: int | None = None) -> int:
    """Minsky and Papert's order of a Boolean function: how many bits at once its masks have to see, at least.

    f: the function, as `truth_table` takes it.
    n: the number of inputs, needed where f is a number.
    """
    t = truth_table(f, n)
    if t.ndim != 1:
        raise ValueError(f"one function has an order, not a batch of shape {t.shape[:-1]}")
    if t.min() == t.max():
        return 0
    n = input_count(t)
    return next(k for k in range(1, n + 1) if find_separation(mask_features(n, subsets(n, k)), t == 1))
