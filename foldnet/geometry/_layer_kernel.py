"""One layer of neurons drawn into a sheet, compiled: their values at its vertices, the faces cut, and the new vertices."""

from __future__ import annotations

import numpy as np
from numba import uint64

from .._compiled import compiled, lowest, ones, signs_of
from ._join_kernel import borders, cut_out, join
from ._region_kernel import NONE, ONE, changes, roomy, split_faces, weigh


# The arrays of a sheet and of a layer one by one: a record would be passed as all its arrays, at each call (see `_split`).
@compiled
def draw(
    first, last, frame, xy, below, start, corner, side, ends, lines, beside, bits,
    gate, leak, weight, bias, above, constant, noise, top_below, base, most, top, room,
):  # fmt: skip
    """One layer drawn into a sheet, or into its faces `first` to `last`, if `last` is not 0; returned is a `Sheet`'s arrays.

    The layer sees `below` `(V, in)` through a ReLU with leak `gate`; `weight` is `(in, n)`, and its lines count from `base`.
    What is below `noise`, relative to the terms of a sum with the largest values below, those of each part `(P, in)` in
    `top_below`, is zero; its own largest go to `top` `(n,)`.
    Values are its own or, where there is an output layer `above` `(n, out)`, those of it. Returned as well: the vertices that a
    part had in the sheet, and what it shares with others (see `borders`). With more than `most` faces it stops. `room` is memory
    to work in, returned at the end, larger where it had to be: fresh memory costs as much as what is done in it. All in one
    call, since threads wait for each other where Python has the word.
    """
    names = np.empty(0, np.int64)
    if last > 0:
        names, start, corner, side, ends, lines = cut_out(first, last, start, corner, side, ends, lines, beside, frame)
        xy, below, bits = xy[names], below[names], bits[first:last]
    snap = limits(weight, bias, noise, top_below)
    start, corner, side, parent, on, xy, values, room = _cut(
        xy, below, gate, leak, weight, bias, above, constant, snap, start, corner, side, ends, most, top, room
    )
    old, words = bits.shape[1], on.shape[1]
    new_bits = np.empty((len(parent), old + words), np.uint64)
    for f in range(len(parent)):
        for w in range(old):
            new_bits[f, w] = bits[parent[f], w]
        for w in range(words):
            new_bits[f, old + w] = on[f, w]
    side, ends, lines, beside = join(start, corner, side, lines, base, len(xy), room)
    return (xy, values, start, corner, side, ends, lines, beside, new_bits), names, borders(ends, lines, beside, frame), room


@compiled
def limits(weight, bias, noise, top):
    """Up to where the value of each neuron is only rounding, `(n,)`."""
    snap = noise * np.abs(bias)
    for i in range(weight.shape[0]):
        most = noise * top[:, i].max()
        for o in range(len(bias)):
            snap[o] += most * abs(weight[i, o])
    return snap


@compiled
def _cut(xy, below, gate, leak, weight, bias, above, constant, snap, start, corner, edge, ends, most, top, room):
    """Faces as `split_faces` returns them, places of all vertices, values, and the room; the largest values go to `top`."""
    old, n = len(xy), len(bias)
    room = roomy(room, 0, old * n)
    z = room[: old * n].reshape((old, n))
    evaluate(below, gate, weight, bias, z)
    positive, negative = mark(z, snap)
    where, known = number_crossings(ends, positive, negative, old)
    parts = split_faces(start, corner, edge, ends, where, z, snap, positive, negative, known, most)
    out_start, out_corner, out_edge, parent, on, pair, share, who = parts
    total = known + len(who)
    room, places = roomy(room, old * n, (total - old) * n), np.empty((total, 2))
    z, places[:old] = room[: total * n].reshape((total, n)), xy
    fill_edges(ends, where, snap, positive, negative, places, z)
    for i in range(len(who)):  # inside of faces, each after the two that it lies between
        _fill(known + i, pair[i, 0], pair[i, 1], share[i], who[i], snap, places, z)
    z = z[: _use(out_corner, places, z, total)]
    if len(constant):
        values = np.empty((len(z), len(constant)))
        evaluate(z, leak, above, constant, values)
    else:
        values = z.copy()
        largest(z, leak, top)
    return out_start, out_corner, out_edge, parent, on, places[: len(z)], values, room


@compiled
def evaluate(below, leak, weight, bias, z):
    """What a layer gives before its ReLU, z `(V, n)`, for what is below it, `(V, in)`, which goes through a ReLU of this leak.

    The sum for a vertex does not depend on the others, so a vertex on the border of two parts has the same values in both, to
    the last bit: a product of matrices does not promise that. What is zero is left out, and eight inputs are added at a time.
    """
    vertices, inputs, outputs = below.shape[0], uint64(weight.shape[0]), uint64(weight.shape[1])
    flat, row_of, a = weight.ravel(), np.zeros(weight.shape[0] + 8, np.uint64), np.zeros(weight.shape[0] + 8)
    if outputs < 8:
        _evaluate_few(below, leak, flat, bias, z)
        return
    for v in range(vertices):
        number, row, seen = NONE, z[v], below[v]
        for i in range(inputs):
            value = seen[i] if seen[i] > 0 else leak * seen[i]
            row_of[number], a[number] = i * outputs, value
            number += uint64(value != 0)
        for k in range(number, number + uint64(8)):
            row_of[k], a[k] = NONE, 0.0
        for o in range(outputs):
            row[o] = bias[o]
        for k in range(0, number, 8):
            a0, a1, a2, a3, a4, a5, a6, a7 = a[k], a[k + 1], a[k + 2], a[k + 3], a[k + 4], a[k + 5], a[k + 6], a[k + 7]
            i0, i1, i2, i3 = row_of[k], row_of[k + 1], row_of[k + 2], row_of[k + 3]
            i4, i5, i6, i7 = row_of[k + 4], row_of[k + 5], row_of[k + 6], row_of[k + 7]
            for o in range(outputs):  # a sign in an index would keep the compiler from using vectors
                low = row[o] + a0 * flat[i0 + o] + a1 * flat[i1 + o] + a2 * flat[i2 + o] + a3 * flat[i3 + o]
                row[o] = low + a4 * flat[i4 + o] + a5 * flat[i5 + o] + a6 * flat[i6 + o] + a7 * flat[i7 + o]


@compiled
def _evaluate_few(below, leak, flat, bias, z):
    """The same for few outputs, one after the other, in four sums."""
    inputs, outputs = uint64(below.shape[1]), uint64(len(bias))
    whole = inputs - inputs % uint64(4)
    for v in range(below.shape[0]):
        seen = below[v]
        for o in range(outputs):
            s0, s1, s2, s3 = bias[o], 0.0, 0.0, 0.0
            for i in range(uint64(0), whole, uint64(4)):
                a, b, c, d = seen[i], seen[i + uint64(1)], seen[i + uint64(2)], seen[i + uint64(3)]
                k = i * outputs + o
                s0 += (a if a > 0 else leak * a) * flat[k]
                s1 += (b if b > 0 else leak * b) * flat[k + outputs]
                s2 += (c if c > 0 else leak * c) * flat[k + uint64(2) * outputs]
                s3 += (d if d > 0 else leak * d) * flat[k + uint64(3) * outputs]
            for i in range(whole, inputs):
                s0 += (seen[i] if seen[i] > 0 else leak * seen[i]) * flat[i * outputs + o]
            z[v, o] = (s0 + s1) + (s2 + s3)


@compiled
def largest(z, leak, top):
    """The largest absolute value in each column behind a ReLU with this leak, noted in `top` `(n,)`."""
    top[:] = 0.0
    for v in range(z.shape[0]):
        for j in range(z.shape[1]):
            a = z[v, j] if z[v, j] > 0 else -leak * z[v, j]
            top[j] = a if a > top[j] else top[j]


@compiled
def mark(z, snap):
    """The bitsets of all vertices, of values `z` `(V, n)`; what is zero to rounding is made zero."""
    (vertices, n), flat = z.shape, z.ravel()
    positive, negative = np.empty((vertices, (n + 63) // 64), np.uint64), np.empty((vertices, (n + 63) // 64), np.uint64)
    for v in range(vertices):
        for j in range(n):
            z[v, j] = z[v, j] if abs(z[v, j]) > snap[j] else 0.0
        for start in range(0, n, 64):
            positive[v, start >> 6], negative[v, start >> 6] = signs_of(flat, v * n + start, min(64, n - start))
    return positive, negative


@compiled
def number_crossings(ends, positive, negative, known):
    """The number of the first vertex on each edge where a neuron changes its sign, from `known` on; and what comes after all."""
    where = np.empty(ends.shape[0], np.int64)
    for e in range(ends.shape[0]):
        where[e] = known
        for w in range(positive.shape[1]):
            known += ones(changes(positive, negative, ends[e, 0], ends[e, 1], w))
    return where, known


@compiled
def fill_edges(ends, where, snap, positive, negative, xy, z):
    """The rows of the vertices where neurons cross edges."""
    for e in range(ends.shape[0]):
        a, b, v = ends[e, 0], ends[e, 1], where[e]
        for w in range(positive.shape[1]):
            word = changes(positive, negative, a, b, w)
            while word != NONE:
                j = 64 * w + lowest(word)
                _fill(v, a, b, z[a, j] / (z[a, j] - z[b, j]), j, snap, xy, z)
                word &= word - ONE
                v += 1


@compiled
def _fill(v, a, b, t, j, snap, xy, z):
    for i in range(xy.shape[1]):
        xy[v, i] = xy[a, i] + t * (xy[b, i] - xy[a, i])
    weigh(z[v], z[a], z[b], t, snap, z.shape[1])
    z[v, j] = 0.0


@compiled
def _use(corner, xy, z, count):
    """Rows that no face has are dropped: two crossings that are one to rounding leave one of them over. How many are left."""
    number, used = np.full(count, -1), 0
    for s in range(corner.shape[0]):
        number[corner[s]] = 0
    for v in range(count):
        if number[v] == 0:
            if used < v:
                xy[used], z[used] = xy[v], z[v]
            number[v] = used
            used += 1
    if used < count:
        for s in range(corner.shape[0]):
            corner[s] = number[corner[s]]
    return used
