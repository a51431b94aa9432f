"""Deep networks of one variable as splines on the processor, compiled: the zeros of each layer go into a list of places in order.

What `depth` says about vertices, intervals and limits at infinity holds here too. Vertices are numbered as they are found, so
that nothing moves: 0 and 2 are the ends of the line, 1 lies between them, `order` has all from left to right, and an interval
goes by the vertex to its left. Neurons that are on, positive, negative or zero are bits; without a leak only those that are on
are multiplied.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled, floats_at, lowest, ones
from ._depth_layer_kernel import ALL, NONE, ONE, Desk, Layer, affine, lay_out, signs


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
    whole, real, rows = np.empty((2, room), np.int64), np.empty((4, room)), np.empty((5, room), np.int64)  # longer than needed
    outermost, used, sound = np.empty((last - first, 2)), np.zeros(2, np.int64), True
    for network in range(first, last):
        count = -1
        while count < 0:
            count, desk = _hidden(where, network, sizes, bit, leak, tolerance, line, room, desk)
            if count < 0:  # once more, with room for at least as many vertices as there would have been
                room = -2 * count
                desk = _desk(room, widest, layers, bits)
        width, words = sizes[layers], bits - bit[layers - 1]
        weight, bias = floats_at(where[-2] + 8 * network * width, width), floats_at(where[-1] + 8 * network, 1)
        noise = _output(weight, bias[0], tolerance, leak, words, desk, count)
        if not (count and noise < np.inf and abs(bias[0]) < np.inf):
            sound = False
            break
        listed = used[1]
        for w in range(count * bits):
            listed += ones(desk.zero[w])
        whole, real, rows = _longer(whole, used[0] + count), _longer(real, used[0] + count), _longer(rows, listed)
        _list(network - first, count, layers, bit, noise, desk, whole, real, rows, used)
        v = desk.order[count - 2]
        slope = desk.t[v]
        outermost[network - first, 0], outermost[network - first, 1] = slope, desk.z[v] - slope * desk.place[v]
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
def _list(network, count, layers, bit, noise, desk, whole, real, rows, used):
    """The vertices and breakpoints of one network written behind those that were `used` before."""
    bits, k, r = bit[layers], used[0], used[1]
    place, order, z, t, steepest = desk.place, desk.order, desk.z, desk.t, desk.top
    zero, switch, lit_at = desk.zero, desk.switch, desk.lit_at
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
    """A desk for so many vertices. Values have a row to spare."""
    real, word, single = (room + 1) * widest, room * bits, np.empty(64, np.int64)
    for d in range(64):
        single[d] = np.int64(1) << d
    return Desk(
        np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room), np.empty(room),
        np.empty(real), np.empty(real), np.empty(real), np.empty(real),
        np.empty(word, np.uint64), np.empty(word, np.uint64), np.empty(word, np.uint64),
        np.empty(word, np.uint64), np.empty(word, np.uint64),
        np.empty(room * layers, np.bool_), np.empty(room * layers, np.bool_),
        np.empty(widest * widest), np.empty(2 * widest), np.empty(2 * widest), np.empty(2 * widest, np.int64), single,
        np.empty(room, np.int64),
    )  # fmt: skip


@compiled
def _hidden(where, network, sizes, bit, leak, tolerance, line, room, desk):
    """All hidden layers of one network: the number of vertices, or minus the number that there must be room for; and the desk.

    The number is zero where a weight is not finite. Values and slopes of the last layer are those below on the desk.
    """
    count, known, layers = 3, 3, len(sizes) - 2
    _begin(desk, line, layers, bit[-1])
    for index in range(layers):
        inputs, outputs, words = sizes[index], sizes[index + 1], bit[index + 1] - bit[index]
        below = bit[index] - bit[index - 1] if index else 0
        weight = floats_at(where[2 * index] + 8 * network * inputs * outputs, inputs * outputs)
        bias = floats_at(where[2 * index + 1] + 8 * network * outputs, outputs)
        if not lay_out(weight, bias, tolerance, desk.flat, desk.norm):
            return 0, desk
        gate = leak if index else 1.0  # the input itself goes through no ReLU
        layer = Layer(bias, inputs, outputs, below, words, tolerance, gate)
        affine(layer, desk, known, count)
        for v in range(known, count):
            desk.root[v] = v
        needed = _needed(desk, words, count)
        if needed > room:
            return -needed, desk
        known, count = count, _cut(layer, desk, count, needed)
        _fill(layer, desk, known, count, layers, bit[-1])
        _light(layer, desk, count, index, layers, bit)
        desk = _turned(desk)
    return count, desk


@compiled
def _begin(desk, line, layers, bits):
    """The two ends of the line and a vertex between them, on which every layer counts as lit."""
    for v in range(3):
        desk.order[v], desk.root[v], desk.place[v], desk.s[v] = v, v, line[v], 1.0 if v < 2 else 0.0
        desk.h[v] = line[v] if abs(line[v]) < np.inf else v - 1.0
        desk.largest[v] = max(desk.h[v], 0.0)
    for i in range(3 * layers):
        desk.lit_at[i] = desk.lit_in[i] = True
    for i in range(3 * bits):
        desk.zero[i] = NONE


@compiled
def _turned(desk):
    """The desk for the next layer: what was above is below."""
    place, order, root, largest, top, h, s, z, t = desk[:9]
    return Desk(place, order, root, top, largest, z, t, h, s, *desk[9:])


@compiled
def _needed(desk, words, count):
    """How many vertices there are at most when all zeros of the layer have become one."""
    needed = count
    for i in range(count - 1):
        for w in range(words):
            needed += ones(_changes(desk.plus, desk.minus, desk.order[i] * words + w, desk.order[i + 1] * words + w))
    return needed


@compiled
def _cut(layer, desk, count, needed):
    """Every interval cut where neurons of the layer are zero: the number of vertices then, at most `needed`.

    Slopes are not copied: those of a new vertex lie in the row of its `root`, the left end of the interval that it cuts.
    Bits of the neurons that are zero at a new vertex go to `minus`, and `near` is the end that it was found from.
    """
    place, order, largest, z, plus, minus, outputs, words = (
        desk.place, desk.order, desk.largest, desk.z, desk.plus, desk.minus, layer.outputs, layer.words,
    )  # fmt: skip
    norm, spots, names, tolerance = desk.norm, desk.spots, desk.names, layer.tolerance
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
            place[made], desk.root[made], desk.near[made] = spots[2 * g], a, names[2 * g + 1]
            for w in range(made * words, (made + 1) * words):
                minus[w] = NONE
            for m in range(g, end):
                minus[made * words + names[2 * m] // 64] |= ONE << np.uint64(names[2 * m] % 64)
            k -= 1
            order[k] = made
            made, end = made + 1, g
    k -= 1
    order[k] = order[0]
    for i in range(made):
        order[i] = order[k + i]
    return made


@compiled
def _fill(layer, desk, first, last, layers, bits):
    """Values, signs and marks of the new vertices, numbered from `first` to `last`."""
    place, z, t, norm, n, words = desk.place, desk.z, desk.t, desk.norm, np.uint64(layer.outputs), layer.words
    plus, minus, zero, lit_at, lit_in, tolerance = desk.plus, desk.minus, desk.zero, desk.lit_at, desk.lit_in, layer.tolerance
    z_bits, single = z.view(np.int64), desk.single
    for v in range(first, last):
        a, near = desk.root[v], desk.near[v]
        way, large, highest = place[v] - place[near], desk.largest[near], np.int64(0)
        for w in range(words):
            begin, number = np.uint64(64 * w), min(np.uint64(64), n - np.uint64(64 * w))
            row, beside, left = np.uint64(v) * n + begin, np.uint64(near) * n + begin, np.uint64(a) * n + begin
            for d in range(number):
                step = t[left + d] * way
                value = z[beside + d] + step
                limit = large * norm[begin + d] + norm[n + begin + d] + tolerance * abs(step)
                z[row + d] = value if abs(value) > limit else 0.0
            word = minus[v * words + w]
            while word != NONE:
                z[row + np.uint64(lowest(word))] = 0.0
                word &= word - ONE
            plus[v * words + w], minus[v * words + w], highest = signs(z_bits, row, number, single, highest)
        desk.top[v] = np.int64(highest).view(np.float64)
        for m in range(layers):
            lit_at[v * layers + m] = lit_in[v * layers + m] = lit_in[a * layers + m]
        for w in range(v * bits, (v + 1) * bits):
            zero[w] = NONE


@compiled
def _light(layer, desk, count, index, layers, bit):
    """Which neurons of the layer are on right of each vertex, which are zero or switch there, and whether any is on."""
    order, plus, on, words = desk.order, desk.plus, desk.on, layer.words
    for i in range(count):
        v, after = order[i], order[min(i + 1, count - 1)]
        at, inside = NONE, NONE
        for w in range(words):
            p, here = plus[v * words + w], plus[v * words + w] | plus[after * words + w]
            on[v * words + w] = here  # inside an interval a neuron is on if it is at one of the ends
            at, inside = at | p, inside | here
            if 0 < i < count - 1:
                real, slot = ALL >> np.uint64(max(0, 64 * (w + 1) - layer.outputs)), v * bit[-1] + bit[index] + w
                desk.zero[slot] = ~(p | desk.minus[v * words + w]) & real
                desk.switch[slot] = here ^ on[order[i - 1] * words + w]
        desk.lit_at[v * layers + index], desk.lit_in[v * layers + index] = at != NONE, inside != NONE


@compiled
def _output(weight, bias, tolerance, leak, below, desk, count):
    """The output and its slope at all vertices, and the steepest input as `top`; returned is how much of that may be rounding."""
    inputs, on, root, h, s, z, t, steepest = len(weight), desk.on, desk.root, desk.h, desk.s, desk.z, desk.t, desk.top
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
    """The zeros inside of the interval from a to b, in order: their number; `spots` and `names` tell where and whose.

    Called once for each interval, so without the desk: to hand all of it over would take as long as the zeros do.
    """
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
