"""The numba kernel that trains LANES small networks side by side, all epochs fused; `fused.py` feeds it.

The numbers of a block are laid out lane by lane: row k of `theta` holds parameter k of LANES networks. Every innermost loop runs
over the lanes, which LLVM turns into vector instructions, and the working set of a block stays in the cache for all its epochs.
Rows are slices of flat arrays with a fixed length: constant distances are what lets LLVM see that they do not overlap.

Points are taken POINTS at a time, so that a weight once loaded serves four of them; `n` is filled up with points of weight 0.
"""

from __future__ import annotations

import math

import numpy as np

from .._compiled import compiled
from ..training.adam import BETAS, EPSILON
from ._fused_math import erfc, exp, log1p, sine_and_cosine

LANES = 64
POINTS = 4
# A row of activations: POINTS points of LANES networks; L1, L2, L3 are where its second, third and fourth point start.
ROW = POINTS * LANES
L1, L2, L3 = LANES, 2 * LANES, 3 * LANES
# Places in `IN_KERNELS`; the sine is the last.
RELU, TANH, ABS, GELU = range(4)


# ---- one layer, POINTS points, LANES networks --------------------------------------------------------------------------
# Weights of a layer are rows `start + j * fan_in + i` of theta, its biases the `fan_out` rows after them.


@compiled
def rows(a, first, count, length):
    """`count` rows of a flat array, from row `first` on."""
    return a[first * length : (first + count) * length]


@compiled
def over_inputs(total, w0, w1, w2, w3, a, q):
    """total + four weights times four rows of activations, at place q."""
    return total + w0 * a[q] + w1 * a[q + ROW] + w2 * a[q + 2 * ROW] + w3 * a[q + 3 * ROW]


@compiled
def over_points(total, d0, d1, d2, d3, a, q):
    """total + the deltas of four points times one row of activations, for the network at place q."""
    return total + d0 * a[q] + d1 * a[q + L1] + d2 * a[q + L2] + d3 * a[q + L3]


@compiled
def affine(above, top, theta, start, below, bottom, fan_in, fan_out):
    """Rows `top + j` of `above` = bias j + sum over i of weight (j, i) times row `bottom + i` of `below`."""
    fours = fan_in - fan_in % 4
    for j in range(fan_out):
        z = rows(above, top + j, 1, ROW)
        bias = rows(theta, start + fan_in * fan_out + j, 1, LANES)
        for t in range(LANES):
            z[t] = bias[t]
            z[t + L1] = bias[t]
            z[t + L2] = bias[t]
            z[t + L3] = bias[t]
        for i in range(0, fours, 4):
            w = rows(theta, start + j * fan_in + i, 4, LANES)
            a = rows(below, bottom + i, 4, ROW)
            for t in range(LANES):
                w0, w1, w2, w3 = w[t], w[t + L1], w[t + L2], w[t + L3]
                z[t] = over_inputs(z[t], w0, w1, w2, w3, a, t)
                z[t + L1] = over_inputs(z[t + L1], w0, w1, w2, w3, a, t + L1)
                z[t + L2] = over_inputs(z[t + L2], w0, w1, w2, w3, a, t + L2)
                z[t + L3] = over_inputs(z[t + L3], w0, w1, w2, w3, a, t + L3)
        for i in range(fours, fan_in):
            w = rows(theta, start + j * fan_in + i, 1, LANES)
            a = rows(below, bottom + i, 1, ROW)
            for t in range(LANES):
                z[t] += w[t] * a[t]
                z[t + L1] += w[t] * a[t + L1]
                z[t + L2] += w[t] * a[t + L2]
                z[t + L3] += w[t] * a[t + L3]


@compiled
def activate(z, slope, activation, leak):
    """The activation, in place; slopes that cannot be read off its values go to `slope`."""
    real = z.dtype.type
    zero, half, one, two = real(0), real(0.5), real(1), real(2)
    if activation == RELU:
        for q in range(z.size):
            z[q] = z[q] if z[q] > 0 else leak * z[q]
    elif activation == TANH:
        for q in range(z.size):
            e = exp(-two * abs(z[q]))
            size = (one - e) / (one + e)
            z[q] = size if z[q] > zero else -size
    elif activation == ABS:
        for q in range(z.size):
            slope[q] = one if z[q] > zero else (-one if z[q] < zero else zero)
            z[q] = abs(z[q])
    elif activation == GELU:
        for q in range(z.size):
            e = exp(-half * z[q] * z[q])
            above = half * erfc(real(math.sqrt(0.5)) * abs(z[q]), e)
            share = one - above if z[q] > zero else above
            slope[q] = share + z[q] * real(math.sqrt(0.5 / math.pi)) * e
            z[q] = z[q] * share
    else:
        for q in range(z.size):
            z[q], slope[q] = sine_and_cosine(z[q])


@compiled
def collect(gradient, start, delta, top, below, bottom, fan_in, fan_out):
    """Add to the layer's rows of `gradient` what these points give: delta j to bias j, delta j times input i to weight (j, i)."""
    fours = fan_in - fan_in % 4
    for j in range(fan_out):
        d = rows(delta, top + j, 1, ROW)
        bias = rows(gradient, start + fan_in * fan_out + j, 1, LANES)
        for t in range(LANES):
            bias[t] = bias[t] + d[t] + d[t + L1] + d[t + L2] + d[t + L3]
        for i in range(0, fours, 4):
            g = rows(gradient, start + j * fan_in + i, 4, LANES)
            a = rows(below, bottom + i, 4, ROW)
            for t in range(LANES):
                d0, d1, d2, d3 = d[t], d[t + L1], d[t + L2], d[t + L3]
                g[t] = over_points(g[t], d0, d1, d2, d3, a, t)
                g[t + L1] = over_points(g[t + L1], d0, d1, d2, d3, a, t + ROW)
                g[t + L2] = over_points(g[t + L2], d0, d1, d2, d3, a, t + 2 * ROW)
                g[t + L3] = over_points(g[t + L3], d0, d1, d2, d3, a, t + 3 * ROW)
        for i in range(fours, fan_in):
            g = rows(gradient, start + j * fan_in + i, 1, LANES)
            a = rows(below, bottom + i, 1, ROW)
            for t in range(LANES):
                g[t] = over_points(g[t], d[t], d[t + L1], d[t + L2], d[t + L3], a, t)


@compiled
def descend(delta, top, bottom, theta, start, hidden, slopes, activation, leak, fan_in, fan_out):
    """Rows `bottom + i` of `delta` from the rows `top + j` one layer above: through the weights, then through the activation."""
    for i in range(fan_in):
        d = rows(delta, bottom + i, 1, ROW)
        h = rows(hidden, bottom + i, 1, ROW)
        for q in range(ROW):
            d[q] = 0
        for j in range(fan_out):
            w = rows(theta, start + j * fan_in + i, 1, LANES)
            above = rows(delta, top + j, 1, ROW)
            for t in range(LANES):
                d[t] += w[t] * above[t]
                d[t + L1] += w[t] * above[t + L1]
                d[t + L2] += w[t] * above[t + L2]
                d[t + L3] += w[t] * above[t + L3]
        if activation == RELU:
            for q in range(ROW):
                d[q] = d[q] if h[q] > 0 else leak * d[q]
        elif activation == TANH:
            for q in range(ROW):
                d[q] = d[q] - d[q] * h[q] * h[q]
        else:
            s = rows(slopes, bottom + i, 1, ROW)
            for q in range(ROW):
                d[q] = d[q] * s[q]


# ---- loss and update ---------------------------------------------------------------------------------------------------


@compiled
def judge(delta, outputs, top, y, weight, bce, in_full, loss):
    """Write the derivative of the loss by the outputs and add the loss itself, each point with its `weight`.

    Cross-entropy costs a logarithm; where it is not asked for (not `in_full`) 0 is added, or NaN for an infinite output.
    """
    zero, one, two = loss.dtype.type(0), loss.dtype.type(1), loss.dtype.type(2)
    for j in range(y.size // ROW):
        for point in range(POINTS):
            d = rows(delta, (top + j) * POINTS + point, 1, LANES)
            o = rows(outputs, (top + j) * POINTS + point, 1, LANES)
            target = rows(y, j * POINTS + point, 1, LANES)
            share = weight[point]
            if not bce:
                for t in range(LANES):
                    error = o[t] - target[t]
                    d[t] = two * share * error
                    loss[t] += share * error * error
            elif in_full:
                for t in range(LANES):
                    e = exp(-abs(o[t]))
                    d[t] = share * ((one if o[t] >= zero else e) / (one + e) - target[t])
                    # max, because LLVM does not vectorise the same choice written with if
                    loss[t] += share * (max(o[t], zero) - o[t] * target[t] + log1p(e))
            else:
                for t in range(LANES):
                    e = exp(-abs(o[t]))
                    d[t] = share * ((one if o[t] >= zero else e) / (one + e) - target[t])
                    loss[t] += zero * o[t]


@compiled
def judge_classes(delta, outputs, top, y, weight, in_full, loss):
    """`judge` for the cross-entropy of a softmax over the outputs: a distribution over the classes is the target."""
    zero = loss.dtype.type(0)
    highest, total = np.empty_like(loss), np.empty_like(loss)
    for point in range(POINTS):
        for t in range(LANES):
            highest[t], total[t] = outputs[top * ROW + point * LANES + t], zero
        for j in range(1, y.size // ROW):
            o = rows(outputs, (top + j) * POINTS + point, 1, LANES)
            for t in range(LANES):
                highest[t] = max(highest[t], o[t])
        for j in range(y.size // ROW):
            d = rows(delta, (top + j) * POINTS + point, 1, LANES)
            o = rows(outputs, (top + j) * POINTS + point, 1, LANES)
            for t in range(LANES):
                d[t] = exp(o[t] - highest[t])
                total[t] += d[t]
        share = weight[point]
        for j in range(y.size // ROW):
            d = rows(delta, (top + j) * POINTS + point, 1, LANES)
            o = rows(outputs, (top + j) * POINTS + point, 1, LANES)
            target = rows(y, j * POINTS + point, 1, LANES)
            for t in range(LANES):
                d[t] = share * (d[t] / total[t] - target[t])
                loss[t] += share * target[t] * (highest[t] - o[t]) if in_full else zero * o[t]
        if in_full:
            for t in range(LANES):
                loss[t] += share * math.log(total[t])


@compiled
def note(history, first, beyond, loss):
    """Rows of the history; a loop, since numba takes four seconds to compile an assignment that broadcasts."""
    for mark in range(first, beyond):
        for t in range(LANES):
            history[mark, t] = loss[t]


@compiled
def still_running(rate, loss, until, stop, epoch):
    """Freeze the networks whose loss has come down to `until`, or is no longer finite: rate 0. Whether any is left."""
    running = False
    for t in range(LANES):
        if rate[t] > 0:
            if loss[t] <= until or not math.isfinite(loss[t]):
                rate[t] = 0
                stop[t] = epoch
            else:
                running = True
    return running


@compiled
def descent(theta, gradient, rate):
    """One step of gradient descent; a rate of 0 means that the network is frozen, whatever its gradient."""
    for k in range(theta.size // LANES):
        p = rows(theta, k, 1, LANES)
        g = rows(gradient, k, 1, LANES)
        for t in range(LANES):
            p[t] = p[t] - rate[t] * g[t] if rate[t] > 0 else p[t]


@compiled
def adam(theta, gradient, first, second, rate, step):
    """The step of `foldnet.training.adam`, all parameters of one age; a rate of 0 as in `descent`."""
    real = theta.dtype.type
    keep, fresh, epsilon = real(BETAS[1]), real(1 - BETAS[1]), real(EPSILON)
    toward = real(1 - BETAS[0])
    grow = real(1 / (1 - BETAS[0] ** step))
    scale = real(1 / math.sqrt(1 - BETAS[1] ** step))
    for k in range(theta.size // LANES):
        p = rows(theta, k, 1, LANES)
        g = rows(gradient, k, 1, LANES)
        m = rows(first, k, 1, LANES)
        v = rows(second, k, 1, LANES)
        for t in range(LANES):
            mean = m[t] + toward * (g[t] - m[t])
            square = keep * v[t] + fresh * g[t] * g[t]
            m[t] = mean
            v[t] = square
            moved = p[t] - rate[t] * grow * mean / (scale * math.sqrt(square) + epsilon)
            p[t] = moved if rate[t] > 0 else p[t]


@compiled
def train_blocks(blocks, sizes, units, thetas, firsts, seconds, x, y, weight, rates, stops, losses, histories, goal, kind, when):
    """Train these blocks of LANES networks: `thetas` moves, `stops` says at which epoch each network was frozen.

    `units` counts hidden units and outputs. The block is the first axis of the arrays; `x` and `y` are `(blocks or 1, groups,
    width * ROW)`, `weight` `(groups, POINTS)`. `goal` is leak, loss to stop at, whether there is one; `kind` is whether the loss
    is binary cross-entropy, whether it is that of a softmax, whether the optimizer is Adam, and the activation; `when` is first
    epoch, how many, marked every, last epoch.
    """
    leak, until, wants_loss = goal
    bce, softmax, use_adam, activation = kind
    now, count, every, final = when
    depth = sizes.size - 1
    gradient = np.empty_like(thetas[0])
    hidden = np.empty(units * ROW, thetas.dtype)
    delta = np.empty(units * ROW, thetas.dtype)
    slopes = np.empty(units * ROW if activation > TANH else 0, thetas.dtype)
    for block in blocks:
        theta, rate, loss, history = thetas[block], rates[block], losses[block], histories[block]
        points, targets = x[block % len(x)], y[block % len(y)]
        mark = 0
        # each epoch looks (loss, who stops) and then steps; the last one only looks
        for epoch in range(now, now + count):
            marked = epoch % every == 0 or epoch == final
            gradient[:] = 0
            loss[:] = 0
            for group in range(len(points)):
                # typed zeros: of plain ones numba would compile a second version of every helper
                start = bottom = top = np.int64(0)
                for layer in range(depth):
                    fan_in, fan_out = sizes[layer], sizes[layer + 1]
                    affine(hidden, top, theta, start, points[group] if layer == 0 else hidden, bottom, fan_in, fan_out)
                    if layer < depth - 1:
                        kept = rows(slopes, top, fan_out, ROW) if activation > TANH else slopes
                        activate(rows(hidden, top, fan_out, ROW), kept, activation, leak)
                        start += (fan_in + 1) * fan_out
                        bottom, top = top, top + fan_out
                if softmax:
                    judge_classes(delta, hidden, top, targets[group], weight[group], wants_loss or marked, loss)
                else:
                    judge(delta, hidden, top, targets[group], weight[group], bce, wants_loss or marked, loss)
                if epoch == final:
                    continue
                for layer in range(depth - 1, -1, -1):
                    fan_in, fan_out = sizes[layer], sizes[layer + 1]
                    collect(gradient, start, delta, top, points[group] if layer == 0 else hidden, bottom, fan_in, fan_out)
                    if layer > 0:
                        descend(delta, top, bottom, theta, start, hidden, slopes, activation, leak, fan_in, fan_out)
                        start -= (sizes[layer - 1] + 1) * fan_in
                        bottom, top = (bottom - sizes[layer - 1] if layer > 1 else 0), bottom
            if marked:
                note(history, mark, mark + 1, loss)
                mark += 1
            if not still_running(rate, loss, until, stops[block], epoch):
                note(history, mark, len(history), loss)
                break
            if epoch < final:
                if use_adam:
                    adam(theta, gradient, firsts[block], seconds[block], rate, epoch + 1)
                else:
                    descent(theta, gradient, rate)
