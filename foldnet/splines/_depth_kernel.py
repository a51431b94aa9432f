"""Deep networks of one variable as splines on the processor, compiled: the zeros of each layer go into a list of places in order.

What `depth` says about vertices, intervals and limits at infinity holds here too. Vertices are numbered as they are found, so
that nothing moves: 0, 1 and 2 are -inf, 0 and inf, `order` has them from left to right, and an interval goes by the vertex to its
left. Neurons that are on, positive, negative or zero are bits; without a leak only those that are on are multiplied.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled, lowest, ones, signs_of

ONE, NONE, ALL = np.uint64(1), np.uint64(0), ~np.uint64(0)


@compiled
def splines(theta, parameters, sizes, leak, tolerance, first, last):
    """The networks `first` to `last` of `parameters` numbers each in `theta`, with the columns that `DeepSpline` has.

    Returned are, for each vertex, its network, counted from the first, place, value and the slopes to its left and right
    `(4, V)`, and kink; for each breakpoint of a neuron vertex, layer and neuron `(3, R)`, and switches and active `(2, R)`; slope
    and intercept of the last pieces `(networks, 2)`.
    """
    layers, widest, room = len(sizes) - 2, 0, 8
    bit = np.zeros(layers + 1, np.int64)  # where the bits of each hidden layer begin
    for layer in range(layers):
        bit[layer + 1] = bit[layer] + (sizes[layer + 1] + 63) // 64
        widest, room = max(widest, sizes[layer + 1]), room + 2 * sizes[layer + 1]
    bits = bit[layers]
    desk = _desk(room, widest, layers, bits)
    flat, norm = np.empty(widest * widest), np.empty(2 * widest)
    spots, names = np.empty(2 * widest), np.empty(2 * widest, np.int64)
    whole, real, rows = np.empty((2, room), np.int64), np.empty((4, room)), np.empty((5, room), np.int64)  # longer than needed
    outermost, used = np.empty((last - first, 2)), np.zeros(2, np.int64)
    for network in range(first, last):
        count = -1
        while count < 0:
            count = _hidden(theta, network * parameters, sizes, leak, tolerance, room, *desk, bit, flat, norm, spots, names)
            if count < 0:  # once more, with room for at least as many vertices as there would have been
                room = -2 * count
                desk = _desk(room, widest, layers, bits)
        place, largest, steepest, order, h, s, z, t, _, _, zero, switch, lit_at, on, _ = desk
        if layers % 2:  # an even number of layers leaves the last values where the first ones began
            h, s, z, t = z, t, h, s
        begin, words = (network + 1) * parameters - sizes[layers] - 1, bits - bit[layers - 1]
        one = sizes[layers + 1]
        wires = theta, begin, sizes[layers], one, tolerance, leak
        _affine(*wires, on, words, h, s, flat, norm, largest, steepest, z, t, order, place, count, count)
        whole, real = _longer(whole, used[0] + count), _longer(real, used[0] + count)
        for i in range(1, count - 1):
            v, left, some, k = order[i], order[i - 1], False, used[0]
            kink = abs(t[v] - t[left]) > norm[0] * max(steepest[v], steepest[left])
            for layer in range(layers):
                for w in range(bit[layer], bit[layer + 1]):
                    word = zero[v * bits + w]
                    while word != NONE:
                        rows = _longer(rows, used[1] + 1)
                        low, r, active = lowest(word), used[1], 1
                        for m in range(layers):
                            active = active if m == layer or lit_at[v * layers + m] else 0
                        rows[0, r], rows[1, r], rows[2, r] = k, layer, 64 * (w - bit[layer]) + low
                        rows[3, r], rows[4, r] = np.int64((switch[v * bits + w] >> np.uint64(low)) & ONE), active
                        used[1], some, word = r + 1, True, word & (word - ONE)
            if some or kink:
                whole[0, k], whole[1, k] = network - first, np.int64(kink)
                real[0, k], real[1, k], real[2, k], real[3, k] = place[v] + 0.0, z[v], t[left], t[v]
                used[0] = k + 1
        v = order[count - 2]
        outermost[network - first, 0], outermost[network - first, 1] = t[v], z[v] - t[v] * place[v]
    vertices, listed = used
    flags = rows[3:, :listed] != 0
    return (
        whole[0, :vertices].copy(),
        real[:, :vertices].copy(),
        whole[1, :vertices] != 0,
        rows[:3, :listed].copy(),
        flags,
        outermost,
    )


@compiled
def _longer(array, length):
    """The array or, where it is too short, a copy of twice the length."""
    if length <= array.shape[1]:
        return array
    longer = np.empty((array.shape[0], 2 * length), array.dtype)
    for i in range(array.shape[0]):  # a slice would do, and take seconds to compile
        for k in range(array.shape[1]):
            longer[i, k] = array[i, k]
    return longer


@compiled
def _desk(room, widest, layers, bits):
    """Place for so many vertices: what is known of each, or of the interval to its right."""
    real, whole, word = room * widest, np.zeros(room, np.int64), room * bits
    return (
        np.zeros(room), np.zeros(room), np.zeros(room), whole,  # place, largest and steepest of the layer below, order
        np.empty(real), np.empty(real), np.empty(real), np.empty(real),  # h, s, z, t: values and slopes below and above
        np.zeros(word, np.uint64), np.zeros(word, np.uint64),  # plus, minus
        np.zeros(word, np.uint64), np.zeros(word, np.uint64),  # zero, switch
        np.zeros(room * layers, np.bool_), np.zeros(word, np.uint64), np.zeros(room * layers, np.bool_),  # lit_at, on, lit_in
    )  # fmt: skip


@compiled
def _hidden(
    theta, begin, sizes, leak, tolerance, room, place, largest, steepest, order, h, s, z, t, plus, minus, zero, switch,
    lit_at, on, lit_in, bit, flat, norm, spots, names,
):  # fmt: skip
    """All hidden layers of one network: the number of vertices, or minus the number that there must be room for."""
    count, known, layers = 3, 3, len(sizes) - 2
    for v in range(3):
        order[v], h[v], s[v] = v, v - 1.0, 1.0 if v < 2 else 0.0
        place[v] = -np.inf if v == 0 else (0.0 if v == 1 else np.inf)
    for i in range(3 * layers):
        lit_at[i] = lit_in[i] = True
    for i in range(3 * bit[-1]):
        zero[i] = NONE
    for layer in range(layers):
        inputs, outputs, words = sizes[layer], sizes[layer + 1], bit[layer + 1] - bit[layer]
        below = bit[layer] - bit[layer - 1] if layer else 0
        slope = leak if layer else 1.0  # the input itself goes through no ReLU
        wires = theta, begin, inputs, outputs, tolerance, slope
        _affine(*wires, on, below, h, s, flat, norm, largest, steepest, z, t, order, place, known, count)
        begin += outputs * (inputs + 1)
        for v in range(count):
            bias = 0.0 if v == 0 or v == 2 else 1.0
            row, n = np.uint64(v * outputs), np.uint64(outputs)
            for o in range(n):
                z[row + o] = z[row + o] if abs(z[row + o]) > largest[v] * norm[o] + bias * norm[n + o] else 0.0
            _sign(z, v, outputs, words, plus, minus)
        needed = count
        for i in range(count - 1):
            for w in range(words):
                needed += ones(_changes(plus, minus, order[i] * words + w, order[i + 1] * words + w))
        if needed > room:
            return -needed
        made, k = count, needed  # the new order is written from the right, behind what is still to be read
        for i in range(count - 2, -1, -1):
            a, b = order[i], order[i + 1]
            k -= 1
            order[k] = b
            found = _zeros(a, b, place, z, outputs, words, plus, minus, norm, largest, tolerance, spots, names)
            end = found
            while end > 0:  # breakpoints of several neurons at one place, up to rounding, are one vertex
                g = end - 1
                while g > 0 and spots[2 * g] - spots[2 * g - 2] <= max(spots[2 * g + 1], spots[2 * g - 1]):
                    g -= 1
                v, way = names[2 * g + 1], spots[2 * g] - place[names[2 * g + 1]]
                place[made] = spots[2 * g]
                row, near, left = np.uint64(made * outputs), np.uint64(v * outputs), np.uint64(a * outputs)
                for o in range(np.uint64(outputs)):
                    step = t[left + o] * way
                    value = z[near + o] + step
                    limit = largest[v] * norm[o] + norm[np.uint64(outputs) + o] + tolerance * abs(step)
                    z[row + o], t[row + o] = value if abs(value) > limit else 0.0, t[left + o]
                for m in range(g, end):
                    z[made * outputs + names[2 * m]] = 0.0
                _sign(z, made, outputs, words, plus, minus)
                for m in range(layers):
                    lit_at[made * layers + m] = lit_in[made * layers + m] = lit_in[a * layers + m]
                for w in range(made * bit[-1], (made + 1) * bit[-1]):
                    zero[w] = NONE
                k -= 1
                order[k] = made
                made, end = made + 1, g
        k -= 1
        order[k] = order[0]
        for i in range(made):
            order[i] = order[k + i]
        known, count = count, made
        for i in range(count):
            v, after = order[i], order[min(i + 1, count - 1)]
            at, inside = NONE, NONE
            for w in range(words):
                p, here = plus[v * words + w], plus[v * words + w] | plus[after * words + w]
                on[v * words + w] = here  # inside an interval a neuron is on if it is at one of the ends
                at, inside = at | p, inside | here
                if 0 < i < count - 1:
                    real = ALL >> np.uint64(max(0, 64 * (w + 1) - outputs))
                    zero[v * bit[-1] + bit[layer] + w] = ~(p | minus[v * words + w]) & real
                    switch[v * bit[-1] + bit[layer] + w] = here ^ on[order[i - 1] * words + w]
            lit_at[v * layers + layer], lit_in[v * layers + layer] = at != NONE, inside != NONE
        h, z, s, t = z, h, t, s
    return count


@compiled
def _affine(
    theta, begin, inputs, outputs, tolerance, leak, on, below, h, s, flat, norm, largest, steepest, z, t, order, place, known,
    count,
):  # fmt: skip
    """Values z and slopes t of a layer at `count` vertices from those below, h and s, before its ReLU; the largest of each.

    The weights begin at `begin` in theta. They are laid out one input after the other, and eight inputs at a time are added to
    all outputs. If the layer below drew vertices, from `known` on, values go from neighbour to neighbour by their slopes, and
    slopes change there by the few inputs that switch. That is, as long as values are not much smaller than they were on the way,
    or what is left would be rounding. `norm` is left with what rounding makes of the largest h and of the bias.
    """
    bias = begin + inputs * outputs
    row_of, value, slope = np.zeros(inputs + 8, np.uint64), np.zeros(inputs + 8), np.zeros(inputs + 8)
    for o in range(outputs):
        norm[o], norm[outputs + o] = 0.0, tolerance * abs(theta[bias + o])
    for i in range(inputs):
        for o in range(outputs):
            flat[i * outputs + o] = theta[begin + o * inputs + i]
            norm[o] += tolerance * abs(flat[i * outputs + o])
    most = np.inf  # the largest h since values were summed up
    for at in range(count):
        v, left, size, steep, number = order[at], order[max(at - 1, 0)], 0.0, 0.0, 0
        finite, row = 0.0 if v == 0 or v == 2 else 1.0, np.uint64(v * outputs)
        if v >= known:
            for i in range(v * inputs, (v + 1) * inputs):
                size = max(size, h[i] if h[i] > 0 else -leak * h[i])
            if most <= 2 * size:
                _follow(v, left, place[v] - place[left], outputs, z, t)
                _switch(v, left, inputs, outputs, leak, on, below, s, flat, t)
                largest[v], most = size, max(most, size)
                continue
        for w in range(-(-inputs // 64)):
            lit = on[v * below + w] if leak < 1 else ALL  # the input itself goes through no ReLU
            word = lit if leak == 0 else ALL >> np.uint64(max(0, 64 * (w + 1) - inputs))
            while word != NONE:
                j = lowest(word)
                i = 64 * w + j
                word &= word - ONE
                a, c = h[v * inputs + i], s[v * inputs + i]
                a, c = a if a > 0 else leak * a, c if (lit >> np.uint64(j)) & ONE else leak * c
                size, steep = max(size, abs(a)), max(steep, abs(c))
                row_of[number], value[number], slope[number] = i * outputs, a, c
                number += 1
        for k in range(number, number + 8):
            row_of[k], value[k], slope[k] = 0, 0.0, 0.0
        largest[v], steepest[v] = size, steep
        if known < count and finite > 0 and most <= 2 * size:
            _follow(v, left, place[v] - place[left], outputs, z, t)
            for o in range(np.uint64(outputs)):
                t[row + o] = 0.0
            for k in range(0, number, 8):
                _add_slopes(t, v * outputs, outputs, flat, row_of, slope, k)
            most = max(most, size)
            continue
        for o in range(np.uint64(outputs)):
            z[row + o], t[row + o] = finite * theta[np.uint64(bias) + o], 0.0  # a bias does not matter at infinity
        for k in range(0, number, 8):
            _add(z, t, v * outputs, outputs, flat, row_of, value, slope, k)
        most = size if finite > 0 else np.inf


@compiled
def _follow(v, left, way, outputs, z, t):
    """Values at a vertex from those at the one to its left, by their slopes; the slopes for now are the same."""
    row, before = np.uint64(v * outputs), np.uint64(left * outputs)
    for o in range(np.uint64(outputs)):
        z[row + o], t[row + o] = z[before + o] + t[before + o] * way, t[before + o]


@compiled
def _switch(v, left, inputs, outputs, leak, on, below, s, flat, t):
    """What changes in the slopes where inputs switch."""
    row = np.uint64(v * outputs)
    for w in range(below):
        now = on[v * below + w]
        word = now ^ on[left * below + w]
        while word != NONE:
            j = lowest(word)
            change = (1.0 - leak if (now >> np.uint64(j)) & ONE else leak - 1.0) * s[v * inputs + 64 * w + j]
            column = np.uint64((64 * w + j) * outputs)
            for o in range(np.uint64(outputs)):
                t[row + o] += change * flat[column + o]
            word &= word - ONE


@compiled
def _add_slopes(t, first, outputs, flat, row_of, b, k):
    """Eight inputs added to the slopes alone."""
    b0, b1, b2, b3, b4, b5, b6, b7 = b[k], b[k + 1], b[k + 2], b[k + 3], b[k + 4], b[k + 5], b[k + 6], b[k + 7]
    i0, i1, i2, i3 = row_of[k], row_of[k + 1], row_of[k + 2], row_of[k + 3]
    i4, i5, i6, i7 = row_of[k + 4], row_of[k + 5], row_of[k + 6], row_of[k + 7]
    row = np.uint64(first)
    for o in range(np.uint64(outputs)):
        low = t[row + o] + b0 * flat[i0 + o] + b1 * flat[i1 + o] + b2 * flat[i2 + o] + b3 * flat[i3 + o]
        t[row + o] = low + b4 * flat[i4 + o] + b5 * flat[i5 + o] + b6 * flat[i6 + o] + b7 * flat[i7 + o]


@compiled
def _add(z, t, first, outputs, flat, row_of, a, b, k):
    """Eight inputs added to values and slopes of all outputs; a sign in an index would keep the compiler from using vectors."""
    a0, a1, a2, a3, a4, a5, a6, a7 = a[k], a[k + 1], a[k + 2], a[k + 3], a[k + 4], a[k + 5], a[k + 6], a[k + 7]
    b0, b1, b2, b3, b4, b5, b6, b7 = b[k], b[k + 1], b[k + 2], b[k + 3], b[k + 4], b[k + 5], b[k + 6], b[k + 7]
    i0, i1, i2, i3 = row_of[k], row_of[k + 1], row_of[k + 2], row_of[k + 3]
    i4, i5, i6, i7 = row_of[k + 4], row_of[k + 5], row_of[k + 6], row_of[k + 7]
    row = np.uint64(first)
    for o in range(np.uint64(outputs)):
        w0, w1, w2, w3 = flat[i0 + o], flat[i1 + o], flat[i2 + o], flat[i3 + o]
        w4, w5, w6, w7 = flat[i4 + o], flat[i5 + o], flat[i6 + o], flat[i7 + o]
        z[row + o] = z[row + o] + a0 * w0 + a1 * w1 + a2 * w2 + a3 * w3 + a4 * w4 + a5 * w5 + a6 * w6 + a7 * w7
        t[row + o] = t[row + o] + b0 * w0 + b1 * w1 + b2 * w2 + b3 * w3 + b4 * w4 + b5 * w5 + b6 * w6 + b7 * w7


@compiled
def _sign(z, v, outputs, words, plus, minus):
    """The bits of the neurons that are positive and negative at a vertex."""
    for w in range(words):
        p, q = signs_of(z, v * outputs + 64 * w, min(64, outputs - 64 * w))
        plus[v * words + w], minus[v * words + w] = p, q


@compiled
def _changes(plus, minus, a, b):
    """The neurons of a word that are positive at one of two vertices and negative at the other."""
    return (plus[a] & minus[b]) | (minus[a] & plus[b])


@compiled
def _zeros(a, b, place, z, outputs, words, plus, minus, norm, largest, tolerance, spots, names):
    """The zeros inside of the interval from a to b, in order: their number; place, error, neuron, nearest vertex are noted."""
    found, ray = 0, a == 0 or b == 2
    for w in range(words):
        word = _changes(plus, minus, a * words + w, b * words + w)
        while word != NONE:
            j = 64 * w + lowest(word)
            word &= word - ONE
            here, there = abs(z[a * outputs + j]), abs(z[b * outputs + j])
            # from the nearer end, so that nothing cancels; on a ray from the finite one, and z at the other is the slope
            back = a == 0 if ray else there < here
            v = b if back else a
            steep = (here if back else there) if ray else (here + there) / (place[b] - place[a])
            step = (-there if back else here) / steep
            at, error = place[v] + step, (largest[v] * norm[j] + norm[outputs + j]) / steep + tolerance * abs(step)
            i = 2 * found
            while i > 0 and spots[i - 2] > at:
                spots[i], spots[i + 1], names[i], names[i + 1] = spots[i - 2], spots[i - 1], names[i - 2], names[i - 1]
                i -= 2
            spots[i], spots[i + 1], names[i], names[i + 1] = at, error, j, v
            found += 1
    return found
