"""A bank of short questions for paper, a few for each story: a function draws the numbers of one and computes its answer.

Numbers are small and whole where they can be, so that a head and a pencil suffice. `given` holds what was drawn: tests compute
each answer a second way from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

BANK: dict[str, list[Callable]] = {}


@dataclass(frozen=True)
class Question:
    """A question in words, its answer as numbers (in the order that is asked for), and the numbers that were drawn."""

    text: str
    answer: list
    given: dict = field(default_factory=dict)


def about(chapter: str):
    def enter(function: Callable) -> Callable:
        BANK.setdefault(chapter, []).append(function)
        return function

    return enter


def whole(rng: np.random.Generator, low: int, high: int, size: int, distinct: bool = True) -> list[int]:
    """Whole numbers from low to high, none of them zero."""
    choice = [k for k in range(low, high + 1) if k]
    return [int(k) for k in rng.choice(choice, size, replace=not distinct)]


def data(rng: np.random.Generator) -> list[int]:
    """Four places in order, two of them left of -1 and two right of 1."""
    return sorted(whole(rng, -5, -2, 2) + whole(rng, 2, 6, 2))


def times(factor: int, what: str) -> str:
    """`x`, `-x` or `3x`, as one writes it."""
    return {1: "", -1: "-"}.get(factor, str(factor)) + what


def listed(values) -> str:
    return ", ".join(f"{value}" for value in values)


def pairs(x, y) -> str:
    return ", ".join(f"$({a}, {b})$" for a, b in zip(x, y))


# ---- splines -------------------------------------------------------------------------------------------------------------


@about("splines/breakpoints")
def hinges(rng):
    places, w, v = sorted(whole(rng, -5, 5, 3)), whole(rng, -3, 3, 3, False), whole(rng, -3, 3, 3, False)
    b = [-p * k for p, k in zip(places, w)]
    terms = " ".join(f"{c:+d}\\,({times(a, 'x')} {d:+d})_+" for a, d, c in zip(w, b, v)).lstrip("+")
    text = f"Where does $f(x) = {terms}$ bend, and by how much does its slope jump at each place, from left to right?"
    jumps = [c * abs(a) for a, c in zip(w, v)]
    return Question(text, [*places, *jumps], {"w": w, "b": b, "v": v})


@about("splines/breakpoints")
def crowd(rng):
    ratio, share = int(rng.integers(1, 5)), [Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)][rng.integers(3)]
    words = {Fraction(1, 3): f"{ratio}/\\sqrt3", Fraction(1, 2): f"{ratio}", Fraction(2, 3): f"{ratio}\\sqrt3"}[share]
    sigma = int(rng.integers(1, 4))
    text = (
        f"Weights and biases are independent and normal with mean 0 and standard deviations $\\sigma_w = {sigma}$ and"
        f" $\\sigma_b = {sigma * ratio}$. Which share of the breakpoints lies in $[-{words}, {words}]$?"
    )
    end = {Fraction(1, 3): ratio / 3**0.5, Fraction(1, 2): float(ratio), Fraction(2, 3): ratio * 3**0.5}[share]
    return Question(text, [share], {"sigma_w": sigma, "sigma_b": sigma * ratio, "end": end})


@about("splines/landscape")
def alone(rng):
    cells, points = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    chance = math.prod((Fraction(cells - k, cells) for k in range(points)), start=Fraction(1))
    text = (
        f"{cells - 1} breakpoints cut an interval into {cells} equal cells, and {points} data points fall into it"
        " independently"
        " and uniformly. With which probability is each of them alone in its cell?"
    )
    return Question(text, [chance], {"cells": cells, "points": points})


@about("splines/landscape")
def gain(rng):
    x, r, beta = data(rng), whole(rng, -3, 3, 4, False), int(rng.integers(-1, 2))
    active = [(a - beta, b) for a, b in zip(x, r) if a > beta]
    size = sum(a * a for a, _ in active)
    best = Fraction(sum(a * b for a, b in active) ** 2, 2 * size)
    text = (
        f"The residuals are {pairs(x, r)}, as pairs $(x_n, r_n)$. A new neuron at $\\beta = {beta}$ faces right. By"
        " how much can it"
        " lower the loss $\\frac12\\sum r_n^2$ at most?"
    )
    return Question(text, [best], {"x": x, "r": r, "beta": beta})


@about("splines/dynamics")
def speed(rng):
    x, r, w, v = data(rng), whole(rng, -3, 3, 4, False), whole(rng, -2, 2, 1)[0], whole(rng, -3, 3, 1)[0]
    beta = Fraction(2 * int(rng.integers(-1, 2)) + 1, 2)
    seen = [(a, b) for a, b in zip(x, r) if w * (a - beta) > 0]
    moves = -Fraction(v, w) * (sum(b for _, b in seen) + beta * sum(a * b for a, b in seen))
    text = (
        f"A neuron has $w = {w}$, $v = {v}$ and its breakpoint at ${float(beta):g}$. The residuals $\\varepsilon_n ="
        " y_n - f(x_n)$ are"
        f" {pairs(x, r)}, as pairs $(x_n, \\varepsilon_n)$. How fast does the breakpoint move under the gradient flow of"
        " $\\frac12\\sum\\varepsilon_n^2$?"
    )
    return Question(text, [moves], {"x": x, "r": r, "w": w, "v": v, "beta": float(beta)})


@about("splines/depth")
def creases(rng):
    b = int(rng.integers(1, 4))
    a = b + int(rng.integers(1, 5))
    text = f"Where does $\\Bigl|\\,\\bigl|\\,|x| - {a}\\,\\bigr| - {b}\\,\\Bigr|$ bend? List all places from left to right."
    return Question(text, sorted({0, a, -a, a + b, a - b, -a - b, b - a}), {"a": a, "b": b})


@about("splines/smoothing")
def smallest(rng):
    near, far = sorted(whole(rng, 1, 4, 2))
    y = whole(rng, -6, 6, 1)[0]
    text = (
        f"Two neurons face right, with breakpoints ${-near}$ and ${-far}$; there is one data point, $(0, {y})$."
        " Gradient flow moves the"
        " delta-slopes alone and starts at zero. Where do they end, the first one first?"
    )
    size = near**2 + far**2
    return Question(text, [Fraction(y * near, size), Fraction(y * far, size)], {"near": near, "far": far, "y": y})


@about("splines/rich")
def faster(rng):
    small, factor = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    text = (
        f"Two networks start as the same function, with the same breakpoints; all weights $w$ and $v$ of the second"
        f" are {factor} times as"
        f" large (the first has $w = {small}$). By which factor is the ratio of speeds $|\\dot\\beta|/|\\dot\\mu|$ of"
        " a neuron larger in"
        " the first one?"
    )
    return Question(text, [factor**2], {"small": small, "factor": factor})


# ---- Boolean functions -----------------------------------------------------------------------------------------------------


@about("splines/beyond")
def crease(rng):
    (a, b, length), bias, v = [(3, 4, 5), (5, 12, 13), (8, 6, 10)][rng.integers(3)], *whole(rng, -6, 6, 2)
    signs = [int(k) for k in rng.choice([-1, 1], 2)]
    w = [signs[0] * a, signs[1] * b]
    text = (
        f"A neuron adds ${v}\\,({w[0]}x_1 {w[1]:+d}x_2 {bias:+d})_+$ to a network. How far is its crease from the origin,"
        " and by how much does the slope across it change?"
    )
    return Question(text, [Fraction(abs(bias), length), v * length], {"w": w, "b": bias, "v": v})


@about("splines/gans")
def stairs(rng):
    count, reach = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    spacing, steep = 2 * reach + int(rng.integers(2, 7)), int(rng.integers(4, 11))
    length = count * spacing
    text = (
        f"A generator of one input turns noise that is uniform on $[0, {length}]$ into samples at {count} targets, ${spacing}$"
        f" apart. It is flat at each target and climbs with slope ${steep}$ between them, all of it inside the noise. A sample"
        f" belongs to a target within ${reach}$ of it. How many bends does it have, and which share of the noise is lost between"
        " targets?"
    )
    lost = Fraction((count - 1) * (spacing - 2 * reach), steep * length)
    return Question(text, [2 * (count - 1), lost], {"count": count, "reach": reach, "spacing": spacing, "steep": steep})


@about("splines/gans")
def answer(rng):
    a, c, b = -int(rng.integers(1, 9)), -int(rng.integers(1, 6)), int(rng.integers(7, 12))
    text = (
        f"Two players, $f(x, y) = \\frac{{{a}}}{{2}}x^2 + {b}xy - \\frac{{{-c}}}{{2}}y^2$; $x$ goes down its gradient and $y$"
        " up, in small steps, $y$ being $r$ times as fast. How does $f$ bend for $x$ when $y$ always gives its best answer"
        " (the second derivative), and above which $r$ does simultaneous descent come to rest at the origin?"
    )
    return Question(text, [a - Fraction(b * b, c), Fraction(a, c)], {"a": a, "b": b, "c": c})


@about("boolean/perceptron")
def turned(rng):
    x = [whole(rng, -4, 4, 2, distinct=False) for _ in range(3)]
    t = [int(k) for k in rng.choice([-1, 1], 3)]
    t[0] = -1  # the first is a mistake: zero weights say 1
    w = [0, 0, 0]
    for (a, b), k in zip(x, t):
        wrong = (1 if w[0] * a + w[1] * b + w[2] >= 0 else -1) != k
        w = [w[0] + k * a, w[1] + k * b, w[2] + k] if wrong else w
    shown = ", ".join(f"$({a}, {b})$ of class ${k}$" for (a, b), k in zip(x, t))
    text = (
        "A perceptron has weights and bias $0$ and the rate $\\frac12$, and says class $1$ where its sum is at least $0$. It sees"
        f" {shown}, in this order, once. What are its two weights and its bias then?"
    )
    return Question(text, w, {"x": x, "t": t})


@about("boolean/power")
def zigzag(rng):
    first, second, third = whole(rng, 2, 5, 3, distinct=False)
    text = (
        "A layer of $n$ neurons makes a zigzag of $n$ straight pieces on $[0, 1]$, each of them from $0$ to $1$ or back. Three"
        f" such layers, of {first}, {second} and {third} neurons, come one after the other. How many straight pieces are there in"
        " the end, and how many neurons more would a single layer take for the same zigzag?"
    )
    pieces = first * second * third
    return Question(text, [pieces, pieces - first - second - third], {"widths": [first, second, third]})


@about("boolean/training")
def restless(rng):
    ones = sorted(int(k) for k in rng.choice(8, int(rng.integers(2, 5)), replace=False))
    table = [int(k in ones) for k in range(8)]
    flips = sum(table[k] != table[k ^ bit] for k in range(8) for bit in (1, 2, 4))
    shown = ", ".join(f"{k:03b}" for k in ones)
    text = (
        f"A function of three bits is 1 at {shown} and 0 at the other corners. What is its influence, and what is that of the"
        " function that is 1 where exactly one of it and the parity of the three bits is?"
    )
    return Question(text, [Fraction(flips, 8), 3 - Fraction(flips, 8)], {"ones": ones})


@about("boolean/pruning")
def tickets(rng):
    width, pruned = int(rng.integers(5, 9)), int(rng.integers(2, 4))
    text = (
        f"A network with one hidden layer of {width} neurons is pruned by trying every subset: first all subnetworks of one"
        f" neuron, then all of two, and so on. The first that succeed have {pruned} neurons. How many subnetworks have {pruned}"
        " neurons, and how many were trained in all?"
    )
    sizes = [math.comb(width, k) for k in range(1, pruned + 1)]
    return Question(text, [sizes[-1], sum(sizes)], {"width": width, "pruned": pruned})


@about("boolean/swaps")
def profile(rng):
    n = int(rng.integers(3, 5))
    values = [int(k) for k in rng.integers(0, 2, n + 1)]
    values[1] = 1 - values[0]
    text = (
        f"A symmetric function of {n} bits is {listed(values)} where 0, 1, ..., {n} of them are one. How often does"
        " its class change"
        " along the best line?"
    )
    return Question(text, [sum(a != b for a, b in pairwise(values))], {"profile": values})


@about("boolean/capacity")
def chain(rng):
    x = sorted(whole(rng, -6, 9, 6))
    slopes = [int(k) for k in rng.integers(-2, 3, 5)]
    slopes[2] = slopes[1]
    slopes[0] = slopes[0] or 1
    y = [0]
    for k, slope in enumerate(slopes):
        y.append(y[-1] + slope * (x[k + 1] - x[k]))
    text = (
        f"A network with one hidden layer of neurons that face right runs through {pairs(x, y)}, straight between"
        " neighbours and"
        " constant to the left of them. How many neurons does it need?"
    )
    return Question(text, [sum(a != b for a, b in zip([0, *slopes], slopes))], {"x": x, "y": y})


@about("boolean/optima")
def steady(rng):
    y = [int(k) for k in rng.choice([-1, 1], 7)]
    y[0], y[1] = 1, -1
    cut = int(rng.integers(2, 6))
    groups = (y[:cut], y[cut:])
    loss = sum((sum((Fraction(v) - Fraction(sum(g), len(g))) ** 2 for v in g) for g in groups), start=Fraction(0))
    text = (
        f"The targets of seven points on a line are {listed(y)}. A network is constant on the first {cut} of them and"
        " constant on the"
        f" others, and these two constants are all that it can change. Which loss $\\sum_n (f(x_n) - y_n)^2$ has it"
        " at a steady state?"
    )
    return Question(text, [loss], {"y": y, "cut": cut})


# ---- geometry --------------------------------------------------------------------------------------------------------------


@about("geometry/annulus")
def octahedron(rng):
    n, size = [(4, 2), (9, 3), (16, 4)][rng.integers(3)]
    size *= int(rng.integers(1, 8))
    text = (
        f"In ${n}$ dimensions a network is negative where $|x_1| + \\dots + |x_{{{n}}}| < {size}$. Which radius has the largest"
        " ball around the origin inside, and which the smallest that holds all of the inside?"
    )
    return Question(text, [Fraction(size, math.isqrt(n)), size], {"n": n, "size": size})


@about("geometry/annulus")
def hexagon(rng):
    a, b, c, r = (int(k) for k in rng.integers(1, 5, 4))
    text = (
        f"Which area has the set where ${times(a, 'x_+')} + {times(b, 'y_+')} + {times(c, '(-x-y)_+')} < {r}$? (It has six"
        " corners, and they lie on the lines of the three neurons.)"
    )
    p, q, s = (Fraction(r, k) for k in (a, b, c))
    corners = [(p, 0), (0, q), (-q, q), (-s, 0), (0, -s), (p, -p)]
    area = sum(u[0] * v[1] - u[1] * v[0] for u, v in zip(corners, corners[1:] + corners[:1])) / 2
    return Question(text, [area], {"a": a, "b": b, "c": c, "r": r})


@about("geometry/linearization")
def piece(rng):
    w, v = [whole(rng, -3, 3, 2, False) for _ in range(2)], whole(rng, -3, 3, 2, False)
    leak = [0, Fraction(1, 2)][rng.integers(2)]
    point, on = whole(rng, -4, 4, 2), [1, 0] if rng.integers(2) else [0, 1]
    seen = [row[0] * point[0] + row[1] * point[1] for row in w]
    b = [(1 if k else -1) * int(rng.integers(1, 4)) - z for k, z in zip(on, seen)]
    gates = [1 if k else leak for k in on]
    p, q, r = (sum(c * g * k for c, g, k in zip(v, gates, column)) for column in (*zip(*w), b))
    terms = [f"{c:+d}\\,\\sigma({times(row[0], 'x')} {row[1]:+d}y {d:+d})" for row, d, c in zip(w, b, v)]
    text = (
        f"$f(x, y) = {' '.join(terms).lstrip('+')}$ with $\\sigma(z) = \\max(z, {leak}\\cdot z)$. On the piece that holds"
        f" $({point[0]}, {point[1]})$ it is $px + qy + r$. What are $p$, $q$ and $r$?"
    )
    return Question(text, [p, q, r], {"w": w, "b": b, "v": v, "leak": float(leak), "point": point})


@about("geometry/linearization")
def largest(rng):
    slopes, bends = sorted(whole(rng, -4, 5, 4)), sorted(whole(rng, -6, 6, 3))
    offsets = [int(rng.integers(-3, 4))]
    for k, bend in enumerate(bends):
        offsets.append(offsets[-1] + (slopes[k] - slopes[k + 1]) * bend)
    spare = int(rng.integers(4))  # one more that is nowhere the largest
    terms = [f"{times(a, 'x')} {c:+d}" for a, c in zip(slopes, offsets)]
    terms.insert(spare, f"{times(slopes[spare], 'x')} {offsets[spare] - 1 - spare:+d}")
    text = f"Where does the tropical polynomial $\\max({', '.join(terms)})$ bend, from left to right?"
    return Question(text, bends, {"slopes": slopes, "offsets": offsets})


@about("geometry/polytopes")
def bundle(rng):
    parallel, star = int(rng.integers(2, 7)), int(rng.integers(2, 7))
    text = (
        f"The lines of {parallel} neurons are parallel; those of {star} others pass through one point, which lies on none of the"
        " parallel ones, and none of them is parallel to those. Into how many faces do they cut the plane?"
    )
    return Question(text, [parallel + 2 * star + parallel * star], {"parallel": parallel, "star": star})


@about("geometry/polytopes")
def nested(rng):
    lines, a, b = int(rng.integers(2, 6)), *whole(rng, 1, 4, 2)
    text = (
        "The first hidden layer has the neurons $x_+$, $(-x)_+$, $y_+$ and $(-y)_+$. The second has"
        f" {lines}; the $k$-th of them sees $k - {times(a, '|x|')} - {times(b, '|y|')}$, for $k = 1, \\dots, {lines}$. How many"
        " faces has the network in the plane, and how many of them are bounded?"
    )
    return Question(text, [4 * lines + 4, 4 * lines], {"lines": lines, "a": a, "b": b})


@about("geometry/sensitivity")
def valley(rng):
    a, b, c = (int(k) for k in rng.permutation(np.arange(1, 7))[:3])
    shift = int(rng.integers(2, 5))
    text = (
        f"The inputs of $f(x, y, z) = {times(a, '|x|')} + {times(b, '|y|')} + {times(c, '(z')} + {shift})$ are the eight corners"
        " of the cube of side two around the origin. Which singular values has the mean of $\\nabla f\\, \\nabla f^T$, from the"
        " largest to the smallest?"
    )
    return Question(text, sorted((a * a, b * b, c * c), reverse=True), {"a": a, "b": b, "c": c})


@about("geometry/sensitivity")
def idle(rng):
    neurons, never, always = int(rng.integers(20, 60)), int(rng.integers(1, 9)), int(rng.integers(2, 9))
    text = (
        f"A network has one hidden layer of {neurons} neurons with independent weight vectors. On the test images {never} of"
        f" them are never on and {always} are always on; the others switch independently of each other. How many singular values"
        " of the mean of $g g^T$ are not zero, where $g$ is the gradient of an output?"
    )
    return Question(text, [neurons - never - always + 1], {"neurons": neurons, "never": never, "always": always})


@about("geometry/comparison")
def translated(rng):
    slopes, constants = whole(rng, -6, 6, 4, distinct=False), whole(rng, -6, 6, 4, distinct=False)
    text = (
        f"At four points a network of one input has the slopes {listed(slopes)} and the constants {listed(constants)}. The"
        " coefficients of the linear function $2x - 3$ at these points are mapped to them by least squares. Which slope and which"
        " constant does the mapped function have at the first point?"
    )
    return Question(text, [sum(slopes) / 4, sum(constants) / 4], {"slopes": slopes, "constants": constants})


@about("geometry/comparison")
def unsure(rng):
    sure, answers = int(rng.integers(5, 10)), 2 ** int(rng.integers(1, 5))
    text = (
        f"A network gives its favourite of {answers} answers the probability $0.{sure}$ and shares the rest equally among the"
        " others; another network gives all of them the same probability. How many bits is the cross-entropy of the second under"
        " the first?"
    )
    return Question(text, [int(math.log2(answers))], {"sure": sure, "answers": answers})


@about("geometry/images")
def choices(rng):
    side, channels, layers = int(rng.choice([16, 32, 64])), int(rng.integers(2, 9)), int(rng.integers(1, 4))
    text = (
        f"A network reads images of {side} by {side} pixels. It has {layers} convolutions with {channels} channels each, padded"
        " to keep the size, each followed by ReLU and then by a max pooling of 2 by 2. How many ReLUs and how many poolings"
        " has its pattern at an image?"
    )
    relus = sum(channels * (side // 2**k) ** 2 for k in range(layers))
    return Question(text, [relus, relus // 4], {"side": side, "channels": channels, "layers": layers})


@about("geometry/images")
def in_force(rng):
    patch, v = whole(rng, -9, 9, 4), int(rng.integers(2, 7))
    text = (
        f"A pooling sees the four numbers {listed(patch)} and is followed by ReLU; the output is {v} times that. By how"
        " much does the output change if the first of the four grows by a little $h$, and by how much if all do? (Give the"
        " factors of $h$.)"
    )
    top = max(patch)
    on = v if top > 0 else 0
    return Question(text, [on if patch[0] == top else 0, on], {"patch": patch, "v": v})


# ---- growth ----------------------------------------------------------------------------------------------------------------


@about("growth/bottleneck")
def lack(rng):
    x, wish = whole(rng, -3, 3, 4, False), whole(rng, -4, 4, 4, False)
    left = sum(v * v for v in wish) - Fraction(sum(a * b for a, b in zip(x, wish)) ** 2, sum(a * a for a in x))
    text = (
        f"A layer has one input and one weight. At four points its inputs are {listed(x)}, and the changes of its"
        " output that the loss"
        f" asks for are {listed(wish)}. What is the sum of squares of what no change of the weight can give?"
    )
    return Question(text, [left], {"x": x, "wish": wish})


@about("growth/folding")
def foot(rng):
    w = [(3, 4), (4, 3), (1, 2), (2, 1), (1, 1), (1, 3)][rng.integers(6)]
    w = [int(sign) * k for sign, k in zip(rng.choice([-1, 1], 2), w)]
    b, point = whole(rng, -5, 5, 1)[0], whole(rng, -5, 5, 2, False)
    score = w[0] * point[0] + w[1] * point[1] + b
    text = (
        f"Around the mistake $x_t = ({point[0]}, {point[1]})$ the score is ${times(w[0], 'x_1')} {w[1]:+d}x_2"
        f" {b:+d}$. At which point of the boundary"
        " does the fold of a typical mistake begin, if the piece is large enough?"
    )
    place = [p - Fraction(score * k, w[0] ** 2 + w[1] ** 2) for p, k in zip(point, w)]
    return Question(text, place, {"w": w, "b": b, "point": point})


@about("growth/mnist")
def weights(rng):
    first, second, more = int(rng.integers(2, 30)), int(rng.integers(2, 30)), int(rng.integers(1, 12))
    text = (
        f"A network 784-{first}-{second}-10, with biases, gets {more} more neurons in its first hidden layer. How"
        " many numbers that can be"
        " trained are added?"
    )
    return Question(text, [more * (784 + 1 + second)], {"first": first, "second": second, "more": more})


@about("growth/race")
def work(rng):
    start, stages = int(rng.integers(2, 6)), int(rng.integers(3, 6))
    step = int(rng.integers(1, 4))
    widths = [start + step * k for k in range(stages)]
    text = (
        f"A growing network with one hidden layer has the widths {listed(widths)}, each for equally many steps; the"
        " other one has"
        f" {widths[-1]} neurons from the beginning. Work goes with the width. Which share of the other one's work has"
        " the growing one?"
    )
    return Question(text, [Fraction(sum(widths), stages * widths[-1])], {"widths": widths})
