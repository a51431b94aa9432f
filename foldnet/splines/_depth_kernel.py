"""Deep networks of one variable as splines on the processor, compiled: the zeros of each layer go into a list of places in order.

What `depth` says about vertices, intervals and limits at infinity holds here too. Vertices are numbered as they are found, so
that nothing moves: 0, 1 and 2 are -inf, 0 and inf, `order` has them from left to right, and an interval goes by the vertex to its
left. Neurons that are on, positive, negative or zero are bits; without a leak only those that are on are multiplied.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled, lowest, ones

ONE, NONE, ALL = np.uint64(1), np.uint64(0), ~np.uint64(0)
LEFT = np.int64(-(2**63))  # the bit that is the sign of a float


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
        place, steepest, order, h, s, z, t, _, _, zero, switch, lit_at, on, _ = desk
        if layers % 2:  # an even number of layers leaves the last values where the first ones began
            h, s, z, t = z, t, h, s
        begin, words = (network + 1) * parameters - sizes[layers] - 1, bits - bit[layers - 1]
        noise = tolerance * _output(theta, begin, sizes[layers], leak, on, words, h, s, z, t, steepest, count)
        listed = used[1]
        for w in range(count * bits):
            listed += ones(zero[w])
        whole, real, rows = _longer(whole, used[0] + count), _longer(real, used[0] + count), _longer(rows, listed)
        seen = order, place, z, t, steepest, noise, zero, switch, lit_at
        _list(network - first, count, layers, bit, *seen, whole, real, rows, used)
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
def _list(network, count, layers, bit, order, place, z, t, steepest, noise, zero, switch, lit_at, whole, real, rows, used):
    """The vertices and breakpoints of one network written behind those that were `used` before."""
    bits, k, r = bit[layers], used[0], used[1]
    for i in range(1, count - 1):
        v, left, begin, dark, last = order[i], order[i - 1], r, 0, 0
        for m in range(layers):
            if not lit_at[v * layers + m]:
                dark, last = dark + 1, m
        for layer in range(layers):
            active = np.int64(dark == 0 or (dark == 1 and last == layer))
            for w in range(bit[layer], bit[layer + 1]):
                word = zero[v * bits + w]
                while word != NONE:
                    low = lowest(word)
                    rows[0, r], rows[1, r], rows[2, r] = k, layer, 64 * (w - bit[layer]) + low
                    rows[3, r], rows[4, r] = np.int64((switch[v * bits + w] >> np.uint64(low)) & ONE), active
                    r, word = r + 1, word & (word - ONE)
        kink = abs(t[v] - t[left]) > noise * max(steepest[v], steepest[left])
        if kink or r > begin:
            whole[0, k], whole[1, k] = network, np.int64(kink)
            real[0, k], real[1, k], real[2, k], real[3, k] = place[v] + 0.0, z[v], t[left], t[v]
            k += 1
    used[0], used[1] = k, r


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
    """Place for so many vertices: what is known of each, or of the interval to its right. Values have a row to spare."""
    real, word = (room + 1) * widest, room * bits
    return (
        np.empty(room), np.empty(room), np.empty(room, np.int64),  # place, largest of the layer below, order
        np.empty(real), np.empty(real), np.empty(real), np.empty(real),  # h, s, z, t: values and slopes below and above
        np.empty(word, np.uint64), np.empty(word, np.uint64),  # plus, minus
        np.empty(word, np.uint64), np.empty(word, np.uint64),  # zero, switch
        np.empty(room * layers, np.bool_), np.empty(word, np.uint64), np.empty(room * layers, np.bool_),  # lit_at, on, lit_in
    )  # fmt: skip


@compiled
def _hidden(
    theta, begin, sizes, leak, tolerance, room, place, largest, order, h, s, z, t, plus, minus, zero, switch,
    lit_at, on, lit_in, bit, flat, norm, spots, names,
):  # fmt: skip
    """All hidden layers of one network: the number of vertices, or minus the number that there must be room for."""
    count, known, layers, single = 3, 3, len(sizes) - 2, np.empty(64, np.int64)
    for d in range(64):
        single[d] = np.int64(1) << d
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
        _affine(*wires, on, below, h, s, flat, norm, largest, z, t, order, place, known, count, plus, minus, single)
        begin += outputs * (inputs + 1)
        needed = count
        for i in range(count - 1):
            for w in range(words):
                needed += ones(_changes(plus, minus, order[i] * words + w, order[i + 1] * words + w))
        if needed > room:
            return -needed
        z_bits = z.view(np.int64)
        made, k = count, needed  # the new order is written from the right, behind what is still to be read
        for i in range(count - 2, -1, -1):
            a, b = order[i], order[i + 1]
            k -= 1
            order[k] = b
            end = 0
            for w in range(words):
                if _changes(plus, minus, a * words + w, b * words + w) != NONE:
                    end = _zeros(a, b, place, z, outputs, words, plus, minus, norm, largest, tolerance, spots, names)
                    break
            while end > 0:  # breakpoints of several neurons at one place, up to rounding, are one vertex
                g = end - 1
                while g > 0 and spots[2 * g] - spots[2 * g - 2] <= max(spots[2 * g + 1], spots[2 * g - 1]):
                    g -= 1
                v, way = names[2 * g + 1], spots[2 * g] - place[names[2 * g + 1]]
                place[made] = spots[2 * g]
                n, large = np.uint64(outputs), largest[v]
                for w in range(words):
                    above, under, first = np.int64(0), np.int64(0), np.uint64(64 * w)
                    row, near, left = np.uint64(made) * n + first, np.uint64(v) * n + first, np.uint64(a) * n + first
                    for d in range(min(np.uint64(64), n - first)):
                        step = t[left + d] * way
                        value = z[near + d] + step
                        limit = large * norm[first + d] + norm[n + first + d] + tolerance * abs(step)
                        z[row + d], t[row + d] = value if abs(value) > limit else 0.0, t[left + d]
                    for d in range(min(np.uint64(64), n - first)):
                        x = z_bits[row + d]
                        above |= (-x >> np.int64(63)) & single[d]
                        under |= (x >> np.int64(63)) & single[d]
                    plus[made * words + w], minus[made * words + w] = np.uint64(above), np.uint64(under)
                for m in range(g, end):
                    w, lone = made * words + names[2 * m] // 64, ~(ONE << np.uint64(names[2 * m] % 64))
                    z[made * outputs + names[2 * m]], plus[w], minus[w] = 0.0, plus[w] & lone, minus[w] & lone
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
    theta, begin, inputs, outputs, tolerance, leak, on, below, h, s, flat, norm, largest, z, t, order, place, known, count,
    plus, minus, single,
):  # fmt: skip
    """Values z and slopes t of a layer at `count` vertices from those below, h and s, before its ReLU; the largest of h.

    The weights begin at `begin` in theta and are laid out one input after the other. Slopes are summed up at the vertices that
    are older than the layer below, and change by the few inputs that switch at those that it drew, from `known` on. Values go
    from neighbour to neighbour by their slopes, as long as they are not much smaller than they were on the way: then they are
    summed up, or what is left would be rounding. `norm` is left with what rounding makes of the largest h and of the bias; values
    below that become zero, and bits say which are positive and negative.
    """
    bias, scratch = begin + inputs * outputs, np.zeros(1)
    size_bits, h_bits = scratch.view(np.int64), h.view(np.int64)
    row_of, gated, exact = np.zeros(inputs + 8, np.uint64), np.zeros(4 * (inputs + 8)), np.zeros(outputs)
    z_bits, words = z.view(np.int64), -(-outputs // 64)
    n = np.uint64(outputs)
    for o in range(n):
        first = np.uint64(begin) + o * np.uint64(inputs)
        for i in range(np.uint64(inputs)):
            flat[i * n + o] = theta[first + i]
        norm[o], norm[n + o] = 0.0, tolerance * abs(theta[np.uint64(bias) + o])
    for i in range(np.uint64(inputs)):
        for o in range(n):
            norm[o] += tolerance * abs(flat[i * n + o])
    _slopes(order, known, count, inputs, outputs, leak, on, below, s, t, flat, row_of, gated)
    most = np.inf  # the largest h since values were summed up
    for at in range(count):
        v, left = order[at], order[max(at - 1, 0)]
        size_bits[0] = _top(h_bits, v * inputs, inputs, np.int64(0))
        size = scratch[0]
        if leak > 0:
            size_bits[0] = _top(h_bits, v * inputs, inputs, LEFT)
            size = max(size, leak * scratch[0])
        largest[v], finite = size, v != 0 and v != 2
        follow, row, before = finite and most <= 8 * size, np.uint64(v * outputs), np.uint64(left * outputs)
        if follow:
            way, most = place[v] - place[left], max(most, size)
        else:
            _sum_up(v, bias, finite, inputs, outputs, leak, on, below, h, s, theta, flat, exact, t, row_of, gated)
            before, way, most = row, 0.0, size if finite else np.inf
        known_bias = 1.0 if finite else 0.0
        for o in range(n):  # what follows is written out here, since to hand over so many arrays takes as long
            value, limit = exact[o] + t[before + o] * way, size * norm[o] + known_bias * norm[n + o]
            exact[o], z[row + o] = value, value if abs(value) > limit else 0.0
        for w in range(words):
            above, under, first = np.int64(0), np.int64(0), np.uint64(64 * w)
            for d in range(min(np.uint64(64), n - first)):
                x = z_bits[row + first + d]
                above |= (-x >> np.int64(63)) & single[d]
                under |= (x >> np.int64(63)) & single[d]
            plus[v * words + w], minus[v * words + w] = np.uint64(above), np.uint64(under)
        if v < known or not follow:
            continue
        for o in range(n):
            t[row + o] = t[before + o]
        for w in range(below):
            now = on[v * below + w]
            word = now ^ on[left * below + w]
            while word != NONE:
                j = lowest(word)
                change = (1.0 - leak if (now >> np.uint64(j)) & ONE else leak - 1.0) * s[v * inputs + 64 * w + j]
                column = np.uint64((64 * w + j) * outputs)
                for o in range(n):
                    t[row + o] += change * flat[column + o]
                word &= word - ONE


@compiled
def _top(bits, first, number, sign):
    """The largest of some floats or, with another sign, the largest of those below zero, as bits; 0 where there is none.

    Positive floats are in the order of their bits, and whole numbers are compared in vectors.
    """
    top, begin = np.int64(0), np.uint64(first)
    for i in range(np.uint64(number)):
        top = max(top, bits[begin + i] ^ sign)
    return top


@compiled
def _slopes(order, known, count, inputs, outputs, leak, on, below, s, t, flat, row_of, gated):
    """The slopes at the vertices before `known`, four neighbours at a time: they have nearly the same inputs on."""
    four, rows = np.zeros(4, np.int64), np.zeros(4, np.uint64)
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
        number, n = 0, 0
        for w in range(-(-inputs // 64)):
            p, q, r, u = ALL, ALL, ALL, ALL  # the input itself goes through no ReLU
            if leak < 1:
                p, q, r, u = on[a * below + w], on[b * below + w], on[c * below + w], on[d * below + w]
            word = p | q | r | u if leak == 0 else ALL
            word &= ALL >> np.uint64(max(0, 64 * (w + 1) - inputs))
            while word != NONE:
                j = lowest(word)
                word &= word - ONE
                i, bit = 64 * w + j, ONE << np.uint64(j)
                row_of[n] = i * outputs
                listed[0, n] = s[a * inputs + i] * (1.0 if p & bit else leak)
                listed[1, n] = s[b * inputs + i] * (1.0 if q & bit else leak)
                listed[2, n] = s[c * inputs + i] * (1.0 if r & bit else leak)
                listed[3, n] = s[d * inputs + i] * (1.0 if u & bit else leak)
                n += 1
        for k in range(n, n + 4):
            row_of[k] = NONE
            listed[0, k] = listed[1, k] = listed[2, k] = listed[3, k] = 0.0
        for k in range(4):
            for o in range(rows[k], rows[k] + np.uint64(outputs)):
                t[o] = 0.0
        _add_slopes(t, rows[0], rows[1], rows[2], rows[3], outputs, flat, row_of, listed, n)


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
def _sum_up(v, bias, finite, inputs, outputs, leak, on, below, h, s, theta, flat, z, t, row_of, gated):
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
            a, c = h[v * inputs + i], s[v * inputs + i]
            value[number], slope[number] = a if a > 0 else leak * a, c if (lit >> np.uint64(j)) & ONE else leak * c
            row_of[number] = i * outputs
            number += 1
    for k in range(number, number + 8):
        row_of[k], value[k], slope[k] = 0, 0.0, 0.0
    for o in range(np.uint64(outputs)):
        z[o], t[row + o] = theta[np.uint64(bias) + o] if finite else 0.0, 0.0  # a bias does not matter at infinity
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


@compiled
def _output(theta, begin, inputs, leak, on, below, h, s, z, t, steepest, count):
    """The output and its slope at all vertices, and the steepest input; returned is the sum of the weights without signs."""
    for v in range(count):
        value, slope, steep = theta[begin + inputs], 0.0, 0.0
        for w in range(below):
            lit = on[v * below + w]
            word = lit if leak == 0 else ALL >> np.uint64(max(0, 64 * (w + 1) - inputs))
            while word != NONE:
                j = lowest(word)
                i = 64 * w + j
                word &= word - ONE
                a, c = h[v * inputs + i], s[v * inputs + i]
                c = c if (lit >> np.uint64(j)) & ONE else leak * c
                value += (a if a > 0 else leak * a) * theta[begin + i]
                slope += c * theta[begin + i]
                steep = max(steep, abs(c))
        z[v], t[v], steepest[v] = value, slope, steep
    total = 0.0
    for i in range(inputs):
        total += abs(theta[begin + i])
    return total


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
