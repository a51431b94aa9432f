"""Deep networks of one variable as splines on the processor, compiled: the zeros of each layer go into a list of places in order.

What `depth` says about vertices, intervals and limits at infinity holds here too. Vertices are numbered as they are found, so
that nothing moves: 0 and 2 are the ends of the line, 1 lies between them, `order` has all from left to right, and an interval
goes by the vertex to its left. Neurons that are on, positive, negative or zero are bits; without a leak only those that are on
are multiplied.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled, floats_at, lowest, ones
from ._depth_layer_kernel import ALL, NONE, ONE, affine, lay_out, signs


@compiled
def splines(where, sizes, leak, tolerance, line, first, last):
    """The networks `first` to `last` between line[0] and line[2], with the columns that `DeepSpline` has.

    `where` are the addresses of the weights of the first layer, of all networks, of their biases, of the weights of the next
    layer, and so on: to copy them into one array would take longer than a layer does.
    Returned are, for each vertex, its network, counted from the first, place, value and the slopes to its left and right
    `(4, V)`, and kink; for each breakpoint of a neuron vertex, layer and neuron `(3, R)`, and switches and active `(2, R)`; slope
    and intercept of the last pieces `(networks, 2)`; and whether all weights are finite: if not, the rest is not to be used.
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
    outermost, used, sound = np.empty((last - first, 2)), np.zeros(2, np.int64), True
    for network in range(first, last):
        count = -1
        while count < 0:
            count = _hidden(where, network, sizes, leak, tolerance, line, room, *desk, bit, flat, norm, spots, names)
            if count < 0:  # once more, with room for at least as many vertices as there would have been
                room = -2 * count
                desk = _desk(room, widest, layers, bits)
        place, steepest, _, order, root, h, s, z, t, _, _, zero, switch, lit_at, on, _ = desk
        if layers % 2:  # an even number of layers leaves the last values where the first ones began
            h, s, z, t = z, t, h, s
        width, words = sizes[layers], bits - bit[layers - 1]
        weight, bias = floats_at(where[-2] + 8 * network * width, width), floats_at(where[-1] + 8 * network, 1)
        noise = _output(weight, bias[0], tolerance, leak, on, words, root, h, s, z, t, steepest, count)
        if not (count and noise < np.inf and abs(bias[0]) < np.inf):
            sound = False
            break
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
        sound,
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
        np.empty(room), np.empty(room), np.empty(room),  # place, largest of the layer below, and of the one above it
        np.empty(room, np.int64), np.empty(room, np.int64),  # order, root
        np.empty(real), np.empty(real), np.empty(real), np.empty(real),  # h, s, z, t: values and slopes below and above
        np.empty(word, np.uint64), np.empty(word, np.uint64),  # plus, minus
        np.empty(word, np.uint64), np.empty(word, np.uint64),  # zero, switch
        np.empty(room * layers, np.bool_), np.empty(word, np.uint64), np.empty(room * layers, np.bool_),  # lit_at, on, lit_in
    )  # fmt: skip


@compiled
def _hidden(
    where, network, sizes, leak, tolerance, line, room, place, largest, top, order, root, h, s, z, t, plus, minus, zero,
    switch, lit_at, on, lit_in, bit, flat, norm, spots, names,
):  # fmt: skip
    """All hidden layers of one network: the number of vertices, or minus the number that there must be room for.

    It is zero where a weight is not finite. Slopes are not copied: those of a new vertex lie in the row of its `root`, the vertex
    to the left of the interval that it cuts.
    """
    count, known, layers, single = 3, 3, len(sizes) - 2, np.empty(64, np.int64)
    for d in range(64):
        single[d] = np.int64(1) << d
    for v in range(3):
        order[v], root[v], place[v], s[v] = v, v, line[v], 1.0 if v < 2 else 0.0
        h[v] = line[v] if abs(line[v]) < np.inf else v - 1.0
        largest[v] = max(h[v], 0.0)
    for i in range(3 * layers):
        lit_at[i] = lit_in[i] = True
    for i in range(3 * bit[-1]):
        zero[i] = NONE
    for layer in range(layers):
        inputs, outputs, words = sizes[layer], sizes[layer + 1], bit[layer + 1] - bit[layer]
        below = bit[layer] - bit[layer - 1] if layer else 0
        slope = leak if layer else 1.0  # the input itself goes through no ReLU
        weight = floats_at(where[2 * layer] + 8 * network * inputs * outputs, inputs * outputs)
        bias = floats_at(where[2 * layer + 1] + 8 * network * outputs, outputs)
        if not lay_out(weight, bias, tolerance, flat, norm):
            return 0
        wires = bias, inputs, outputs, tolerance, slope
        affine(*wires, on, below, root, h, s, flat, norm, largest, top, z, t, order, place, known, count, plus, minus, single)
        for v in range(known, count):
            root[v] = v
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
                    first = np.uint64(64 * w)
                    row, near, left = np.uint64(made) * n + first, np.uint64(v) * n + first, np.uint64(a) * n + first
                    for d in range(min(np.uint64(64), n - first)):
                        step = t[left + d] * way
                        value = z[near + d] + step
                        limit = large * norm[first + d] + norm[n + first + d] + tolerance * abs(step)
                        z[row + d] = value if abs(value) > limit else 0.0
                for m in range(g, end):
                    z[made * outputs + names[2 * m]] = 0.0
                highest = np.int64(0)
                for w in range(words):
                    first, at = np.uint64(64 * w), made * words + w
                    row, number = np.uint64(made) * n + first, min(np.uint64(64), n - first)
                    plus[at], minus[at], highest = signs(z_bits, row, number, single, highest)
                top[made], root[made] = np.int64(highest).view(np.float64), a
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
        h, z, s, t, largest, top = z, h, t, s, top, largest
    return count


@compiled
def _output(weight, bias, tolerance, leak, on, below, root, h, s, z, t, steepest, count):
    """The output and its slope at all vertices, and the steepest input; returned is what rounding makes of the steepest."""
    inputs = len(weight)
    for v in range(count):
        value, slope, steep, row, steps = bias, 0.0, 0.0, np.uint64(v * inputs), np.uint64(root[v] * inputs)
        for w in range(below):
            lit = on[v * below + w]
            word = lit if leak == 0 else ALL >> np.uint64(max(0, 64 * (w + 1) - inputs))
            while word != NONE:
                j = lowest(word)
                i = np.uint64(64 * w + j)
                word &= word - ONE
                a, c, factor = h[row + i], s[steps + i], weight[i]
                if leak > 0:
                    a, c = a if a > 0 else leak * a, c if (lit >> np.uint64(j)) & ONE else leak * c
                value += a * factor
                slope += c * factor
                steep = max(steep, abs(c))
        z[v], t[v], steepest[v] = value, slope, steep
    noise = 0.0
    for i in range(inputs):
        noise += tolerance * abs(weight[i])
    return noise


@compiled
def _changes(plus, minus, a, b):
    """The neurons of a word that are positive at one of two vertices and negative at the other."""
    return (plus[a] & minus[b]) | (minus[a] & plus[b])


@compiled
def _zeros(a, b, place, z, outputs, words, plus, minus, norm, largest, tolerance, spots, names):
    """The zeros inside of the interval from a to b, in order: their number; place, error, neuron, nearest vertex are noted."""
    found, far = 0, place[a] == -np.inf
    ray = far or place[b] == np.inf
    for w in range(words):
        word = _changes(plus, minus, a * words + w, b * words + w)
        while word != NONE:
            j = 64 * w + lowest(word)
            word &= word - ONE
            here, there = abs(z[a * outputs + j]), abs(z[b * outputs + j])
            # from the nearer end, so that nothing cancels; on a ray from the finite one, and z at the other is the slope
            back = far if ray else there < here
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
