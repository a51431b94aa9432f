"""One layer of a deep network of one variable, compiled: values and slopes at all vertices from those of the layer below.

Called by `_depth_kernel`, which says how vertices are numbered and what is kept as bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._compiled import compiled, lowest

ONE, NONE, ALL = np.uint64(1), np.uint64(0), ~np.uint64(0)
LEFT = np.int64(-(2**63))  # the bit that is the sign of a float


class Desk(NamedTuple):
    """Where one network is worked on: what is known of each vertex, or of the interval to its right, and room for one layer."""

    place: np.ndarray
    order: np.ndarray  # the vertices from left to right
    root: np.ndarray  # the vertex in whose row the slopes of this one lie
    largest: np.ndarray  # the largest value of the layer below, and of the layer itself
    top: np.ndarray
    h: np.ndarray  # values and slopes of the layer below, one row for each vertex
    s: np.ndarray
    z: np.ndarray  # values and slopes of the layer itself
    t: np.ndarray
    plus: np.ndarray  # bits of the neurons that are positive and negative at a vertex, and on to the right of it
    minus: np.ndarray
    on: np.ndarray
    zero: np.ndarray  # bits of the neurons of all layers that are zero at a vertex, and that switch there
    switch: np.ndarray
    lit_at: np.ndarray  # whether some neuron of each layer is on at a vertex, and to the right of it
    lit_in: np.ndarray
    flat: np.ndarray  # weights one input after the other
    norm: np.ndarray  # what rounding makes of the largest input, then of the bias
    spots: np.ndarray  # place and error of each zero in an interval, its neuron and the nearest vertex
    names: np.ndarray
    single: np.ndarray  # 64 words of one bit
    near: np.ndarray  # the end of the interval from which a new vertex was found


class Layer(NamedTuple):
    """One layer: its biases, the number of its inputs and outputs, the words of 64 bits that hold them, and what it is given."""

    bias: np.ndarray
    inputs: int
    outputs: int
    below: int  # words of the inputs; 0 for the input of the network
    words: int
    tolerance: float
    leak: float  # of its inputs


@compiled
def lay_out(weight, bias, tolerance, flat, norm):
    """The weights one input after the other, and what rounding makes of the largest input and of the bias; are all finite?"""
    n, total = np.uint64(len(bias)), 0.0
    inputs = np.uint64(len(weight)) // n
    for o in range(n):
        for i in range(inputs):
            flat[i * n + o] = weight[o * inputs + i]
        norm[o], norm[n + o] = 0.0, tolerance * abs(bias[o])
    for i in range(inputs):
        for o in range(n):
            norm[o] += tolerance * abs(flat[i * n + o])
    for o in range(n):
        total += norm[o] + norm[n + o]
    return total < np.inf


@compiled
def affine(layer, desk, known, count):
    """Values z and slopes t of a layer at `count` vertices from those below, h and s, before its ReLU.

    Slopes are summed up at the vertices that are older than the layer below, and change by the few inputs that switch at those
    that it drew, from `known` on. Values go from neighbour to neighbour by their slopes, as long as they are not much smaller
    than they were on the way: then they are summed up, or what is left would be rounding. Values below what `norm` says become
    zero, bits say which are positive and negative, and `top` is the largest. `largest`, of h, counts those below zero too
    afterwards, where there is a leak.
    """
    bias, inputs, outputs, below, words, _, leak = layer
    place, order, root, largest, top, h, s, z, t, plus, minus, on = desk[:12]
    flat, norm, single = desk.flat, desk.norm, desk.single
    row_of, gated, exact = np.zeros(inputs + 8, np.uint64), np.zeros(4 * (inputs + 8)), np.zeros(outputs)
    n, z_bits = np.uint64(outputs), z.view(np.int64)
    _slopes(order, known, count, inputs, outputs, leak, on, below, s, t, flat, row_of, gated)
    most = np.inf  # the largest h since values were summed up
    for at in range(count):
        v, left = order[at], order[max(at - 1, 0)]
        size, finite = largest[v], abs(place[v]) < np.inf
        if leak > 0:
            size = largest[v] = max(size, leak * _deepest(h, v * inputs, inputs))
        follow, row, before = finite and most <= 8 * size, np.uint64(v * outputs), np.uint64(left * outputs)
        if follow:
            way, most = place[v] - place[left], max(most, size)
        else:
            _sum_up(v, bias, finite, inputs, outputs, leak, on, below, root, h, s, flat, exact, t, row_of, gated)
            before, way, most = row, 0.0, size if finite else np.inf
        known_bias = 1.0 if finite else 0.0
        for o in range(n):  # what follows is written out here, since to hand over so many arrays takes as long
            value, limit = exact[o] + t[before + o] * way, size * norm[o] + known_bias * norm[n + o]
            exact[o], z[row + o] = value, value if abs(value) > limit else 0.0
        highest = np.int64(0)
        for w in range(words):
            first, at_w = np.uint64(64 * w), v * words + w
            plus[at_w], minus[at_w], highest = signs(z_bits, row + first, min(np.uint64(64), n - first), single, highest)
        top[v] = np.int64(highest).view(np.float64)
        if v < known or not follow:
            continue
        switched = False
        for w in range(below):
            now = on[v * below + w]
            word = now ^ on[left * below + w]
            while word != NONE:
                j = lowest(word)
                change = (1.0 - leak if (now >> np.uint64(j)) & ONE else leak - 1.0) * s[root[v] * inputs + 64 * w + j]
                column, source = np.uint64((64 * w + j) * outputs), row if switched else before
                for o in range(n):
                    t[row + o] = t[source + o] + change * flat[column + o]
                switched, word = True, word & (word - ONE)
        if not switched:
            for o in range(n):
                t[row + o] = t[before + o]


@compiled
def signs(bits, first, number, single, top):
    """Which of up to 64 floats are positive and which negative, as bits, and their largest or `top`, both as bits of a float.

    Positive floats are in the order of their bits, and whole numbers are compared in vectors.
    """
    above, under = np.int64(0), np.int64(0)
    for d in range(number):
        x = bits[first + d]
        above |= (-x >> np.int64(63)) & single[d]
        under |= (x >> np.int64(63)) & single[d]
        top = max(top, x)
    return np.uint64(above), np.uint64(under), top


@compiled
def _deepest(values, first, number):
    """The size of the smallest of some floats, or 0 where none is below zero."""
    bits, top, begin = values.view(np.int64), np.int64(0), np.uint64(first)
    for i in range(np.uint64(number)):
        top = max(top, bits[begin + i] ^ LEFT)
    return np.int64(top).view(np.float64)


@compiled
def _slopes(order, known, count, inputs, outputs, leak, on, below, s, t, flat, row_of, gated):
    """The slopes at the vertices before `known`, four neighbours at a time: they have nearly the same inputs on."""
    four, rows, words, width = np.zeros(4, np.uint64), np.zeros(4, np.uint64), np.uint64(below), np.uint64(inputs)
    spare, number, listed = len(t) - outputs, 0, gated.reshape((4, -1))
    for at in range(count):
        v = order[at]
        if v < known:
            four[number], rows[number] = v, v * outputs
            number += 1
        if number < 4 and (at < count - 1 or number == 0):
            continue
        for k in range(number, 4):  # the last ones may be less than four
            four[k], rows[k] = four[0], spare
        a, b, c, d = four[0], four[1], four[2], four[3]
        number, n = 0, NONE
        for w in range(np.uint64(-(-inputs // 64))):
            p, q, r, u = ALL, ALL, ALL, ALL  # the input itself goes through no ReLU
            if leak < 1:
                p, q, r, u = on[a * words + w], on[b * words + w], on[c * words + w], on[d * words + w]
            word = p | q | r | u if leak == 0 else ALL
            word &= ALL >> np.uint64(max(0, 64 * np.int64(w + ONE) - inputs))
            while word != NONE:
                j = lowest(word)
                word &= word - ONE
                i, bit = np.uint64(64) * w + np.uint64(j), ONE << np.uint64(j)
                row_of[n] = i * np.uint64(outputs)
                listed[0, n] = s[a * width + i] * (1.0 if p & bit else leak)
                listed[1, n] = s[b * width + i] * (1.0 if q & bit else leak)
                listed[2, n] = s[c * width + i] * (1.0 if r & bit else leak)
                listed[3, n] = s[d * width + i] * (1.0 if u & bit else leak)
                n += ONE
        for k in range(n, n + np.uint64(4)):
            row_of[k] = NONE
            listed[0, k] = listed[1, k] = listed[2, k] = listed[3, k] = 0.0
        for k in range(4):
            for o in range(rows[k], rows[k] + np.uint64(outputs)):
                t[o] = 0.0
        _add_slopes(t, rows[0], rows[1], rows[2], rows[3], outputs, flat, row_of, listed, np.int64(n))


@compiled
def _add_slopes(t, p, q, r, u, outputs, flat, row_of, s, number):
    """Inputs added to the slopes at four vertices, four at a time; a sign in an index would keep the compiler from vectors."""
    for k in range(0, number, 4):
        i0, i1, i2, i3 = row_of[k], row_of[k + 1], row_of[k + 2], row_of[k + 3]
        a0, a1, a2, a3 = s[0, k], s[0, k + 1], s[0, k + 2], s[0, k + 3]
        b0, b1, b2, b3 = s[1, k], s[1, k + 1], s[1, k + 2], s[1, k + 3]
        c0, c1, c2, c3 = s[2, k], s[2, k + 1], s[2, k + 2], s[2, k + 3]
        d0, d1, d2, d3 = s[3, k], s[3, k + 1], s[3, k + 2], s[3, k + 3]
        for o in range(np.uint64(outputs)):
            w0, w1, w2, w3 = flat[i0 + o], flat[i1 + o], flat[i2 + o], flat[i3 + o]
            t[p + o] = t[p + o] + a0 * w0 + a1 * w1 + a2 * w2 + a3 * w3
            t[q + o] = t[q + o] + b0 * w0 + b1 * w1 + b2 * w2 + b3 * w3
            t[r + o] = t[r + o] + c0 * w0 + c1 * w1 + c2 * w2 + c3 * w3
            t[u + o] = t[u + o] + d0 * w0 + d1 * w1 + d2 * w2 + d3 * w3


@compiled
def _sum_up(v, bias, finite, inputs, outputs, leak, on, below, root, h, s, flat, z, t, row_of, gated):
    """Values z `(outputs,)`, and slopes in their row, at one vertex from all inputs that are on, eight at a time."""
    row, number, room = np.uint64(v * outputs), 0, inputs + 8
    value, slope = gated[:room], gated[room : 2 * room]
    for w in range(-(-inputs // 64)):
        lit = on[v * below + w] if leak < 1 else ALL
        word = lit if leak == 0 else ALL
        word &= ALL >> np.uint64(max(0, 64 * (w + 1) - inputs))
        while word != NONE:
            j = lowest(word)
            i = 64 * w + j
            word &= word - ONE
            a, c = h[v * inputs + i], s[root[v] * inputs + i]
            value[number], slope[number] = a if a > 0 else leak * a, c if (lit >> np.uint64(j)) & ONE else leak * c
            row_of[number] = i * outputs
            number += 1
    for k in range(number, number + 8):
        row_of[k], value[k], slope[k] = 0, 0.0, 0.0
    for o in range(np.uint64(outputs)):
        z[o], t[row + o] = bias[o] if finite else 0.0, 0.0  # a bias does not matter at infinity
    for k in range(0, number, 8):
        _add(z, t, v * outputs, outputs, flat, row_of, value, slope, k)


@compiled
def _add(z, t, first, outputs, flat, row_of, a, b, k):
    """Eight inputs added to values and slopes of all outputs."""
    a0, a1, a2, a3, a4, a5, a6, a7 = a[k], a[k + 1], a[k + 2], a[k + 3], a[k + 4], a[k + 5], a[k + 6], a[k + 7]
    b0, b1, b2, b3, b4, b5, b6, b7 = b[k], b[k + 1], b[k + 2], b[k + 3], b[k + 4], b[k + 5], b[k + 6], b[k + 7]
    i0, i1, i2, i3 = row_of[k], row_of[k + 1], row_of[k + 2], row_of[k + 3]
    i4, i5, i6, i7 = row_of[k + 4], row_of[k + 5], row_of[k + 6], row_of[k + 7]
    row = np.uint64(first)
    for o in range(np.uint64(outputs)):
        w0, w1, w2, w3 = flat[i0 + o], flat[i1 + o], flat[i2 + o], flat[i3 + o]
        w4, w5, w6, w7 = flat[i4 + o], flat[i5 + o], flat[i6 + o], flat[i7 + o]
        z[o] = z[o] + a0 * w0 + a1 * w1 + a2 * w2 + a3 * w3 + a4 * w4 + a5 * w5 + a6 * w6 + a7 * w7
        t[row + o] = t[row + o] + b0 * w0 + b1 * w1 + b2 * w2 + b3 * w3 + b4 * w4 + b5 * w5 + b6 * w6 + b7 * w7
