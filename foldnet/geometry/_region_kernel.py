"""One layer of neurons drawn into a planar complex, compiled; the affine map of a face is never formed.

Everything is decided by the values of the neurons at shared vertices. A vertex carries two bitsets, of the neurons that are
positive and negative there; a face is cut by the neurons that are in both unions over its corners, and only their values are
looked at while it is cut. A side remembers what drew it, so a point where neuron j crosses an old edge, or the chord of neuron
k, has one name in all faces that meet there. A new vertex is a pair of older ones and a share; its row is filled in at the end.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from .._compiled import compiled, lowest, ones, signs_of

ONE = np.uint64(1)
NONE = np.uint64(0)


@compiled
def changes(positive, negative, a, b, w):
    """The neurons of word w that are positive at one of the vertices a, b and negative at the other."""
    return (positive[a, w] & negative[b, w]) | (negative[a, w] & positive[b, w])


@compiled
def roomy(array, used, needed):
    """The array or, where it is too short for so many rows more, a copy of at least twice the size."""
    if used + needed <= array.shape[0]:
        return array
    larger = np.empty((max(2 * array.shape[0], used + needed),) + array.shape[1:], array.dtype)  # noqa: RUF005 (numba)
    larger[:used] = array[:used]
    return larger


@compiled
def between(a, b, t, snap):
    """The value at share t of the way from a value to another; zero if it is rounding."""
    value = a + t * (b - a)
    return value if abs(value) > snap else 0.0


@compiled
def weigh(to, a, b, t, snap, number):
    """So many values at share t of the way from those of a to those of b."""
    for d in range(uint64(number)):  # unsigned, for the vectors of the processor
        to[d] = between(a[d], b[d], t, snap[d])


@compiled
def split_faces(start, corner, edge, ends, where, z, snap, positive, negative, known, most):
    """The faces cut by all neurons of a layer, depth first: each part by the lowest neuron that cuts it.

    A face has the corners `corner[start[f]:start[f + 1]]`, counter-clockwise, each with the edge to the next one. Neurons cross
    edge e in the vertices `where[e]`, `where[e] + 1`, ..., by neuron. Returned are the parts in the same form, -1 - j standing
    for a side that neuron j drew; the face that each comes from; its neurons that are on (bits); and the vertices inside of
    faces, numbered from `known` on: two older ones `(I, 2)`, the share `(I,)` and the neuron `(I,)`. With more than `most` parts
    it stops.
    """
    words, faces, made, need = positive.shape[1], start.shape[0] - 1, np.zeros(3, np.int64), np.zeros(6, np.int64)
    out_start, out_parent = np.zeros(4 * faces + 64, np.int64), np.empty(4 * faces + 64, np.int64)
    out_on = np.empty((4 * faces + 64, words), np.uint64)
    out_corner, out_edge = np.empty(16 * faces + 256, np.int64), np.empty(16 * faces + 256, np.int64)
    pair, share, who = np.empty((faces + 64, 2), np.int64), np.empty(faces + 64), np.empty(faces + 64, np.int64)
    desk, values, signs = np.empty(4096, np.int64), np.empty(4096), np.empty(1024, np.uint64)
    f = 0
    while f < faces and made[0] <= most:
        f = _split(
            f, faces, most, start, corner, edge, ends, where, z, snap, positive, negative, known, desk, values, signs,
            out_start, out_corner, out_edge, out_parent, out_on, pair, share, who, made, need,
        )  # fmt: skip
        if f < faces:  # the next face needs more room than is left
            out_start, out_parent = roomy(out_start, made[0] + 1, need[0]), roomy(out_parent, made[0], need[0])
            out_on = roomy(out_on, made[0], need[0])
            out_corner, out_edge = roomy(out_corner, made[1], need[1]), roomy(out_edge, made[1], need[1])
            pair, share, who = roomy(pair, made[2], need[2]), roomy(share, made[2], need[2]), roomy(who, made[2], need[2])
            desk, values, signs = roomy(desk, 0, need[3]), roomy(values, 0, need[4]), roomy(signs, 0, need[5])
    parts, sides, inside = made[0], made[1], made[2]
    return (
        out_start[: parts + 1], out_corner[:sides], out_edge[:sides], out_parent[:parts], out_on[:parts],
        pair[:inside], share[:inside], who[:inside],
    )  # fmt: skip


# One long function on purpose. With records for the faces, the parts and the desk and with seven named steps it gives the same
# bits at 0.80 of the speed, and at 0.90 to 0.93 with each step forced inline: a record is passed as all its arrays, at each call.
@compiled
def _split(
    f, last, most, start, corner, edge, ends, where, z, snap, positive, negative, known, desk, value, signs,
    out_start, out_corner, out_edge, out_parent, out_on, pair, share, who, made, need,
):  # fmt: skip
    """Faces from f on, as long as there is room for what they may become; returned is the first that was not cut.

    Results go behind what was `made` before; the room that the next face may need is left in `need`. Of a face's vertices only
    the values for the neurons that cut it are looked at.
    """
    words = positive.shape[1]
    on, cut, near = np.zeros(words, np.uint64), np.zeros(z.shape[1], np.int64), np.zeros(z.shape[1])
    parts, sides, inside = made[0], made[1], made[2]
    while f < last and parts <= most:
        begin, size, number = start[f], start[f + 1] - start[f], 0
        for w in range(words):
            p, q = NONE, NONE
            for s in range(begin, begin + size):
                p |= positive[corner[s], w]
                q |= negative[corner[s], w]
            word = p & q
            on[w] = p & ~word
            while word != NONE:
                cut[number] = 64 * w + lowest(word)
                near[number] = snap[cut[number]]
                number += 1
                word &= word - ONE
        pairs = number * (number - 1) // 2
        vertices, width, widest = size + 2 * number + pairs, -(-number // 64), size + number + 2
        need[0], need[1], need[2] = 2 + number + pairs, size + 4 * (number + pairs), pairs
        need[3] = vertices + (size + number) * number + number + 4 + 2 * (number + 4) * widest
        need[4], need[5] = vertices * number, 2 * vertices * width + width
        if (
            parts + need[0] > out_parent.shape[0] or sides + need[1] > out_corner.shape[0] or inside + need[2] > who.shape[0]
            or need[3] > desk.shape[0] or need[4] > value.shape[0] or need[5] > signs.shape[0]
        ):  # fmt: skip
            break
        # the desk: names of the vertices, where two lines cross, the stack of parts to be cut, the halves of the one at work
        crossing = vertices
        stack = crossing + (size + number) * number
        stack_corner = stack + number + 4
        stack_edge = stack_corner + (number + 2) * widest
        half_corner = stack_edge + (number + 2) * widest
        half_edge, rest_corner, rest_edge = half_corner + widest, half_corner + 2 * widest, half_corner + 3 * widest
        seen = 2 * vertices * width
        for i in range(crossing, stack):
            desk[i] = -1
        for i in range(size):
            v = corner[begin + i]
            desk[stack_corner + i], desk[stack_edge + i], desk[i] = i, i, v
            for c in range(number):
                value[i * number + c] = z[v, cut[c]]
            _sign(value, signs, i, number, width)
        desk[stack], desk[stack + 1], height, local = 0, size, 1, size
        while height > 0:
            height -= 1
            low, c = desk[stack + height], -1
            length = desk[stack + height + 1] - low
            for w in range(width):
                p, q = NONE, NONE
                for s in range(stack_corner + low, stack_corner + low + length):
                    p |= signs[2 * (desk[s] * width + w)]
                    q |= signs[2 * (desk[s] * width + w) + 1]
                signs[seen + w] = p
                if p & q:
                    c = 64 * w + lowest(p & q)
                    break
            if c < 0:
                for i in range(length):
                    s = desk[stack_edge + low + i]
                    out_corner[sides + i] = desk[desk[stack_corner + low + i]]
                    out_edge[sides + i] = edge[begin + s] if s >= 0 else -1 - cut[-1 - s]
                for w in range(words):
                    out_on[parts, w] = on[w]
                for w in range(width):
                    word = signs[seen + w]
                    while word != NONE:
                        j = cut[64 * w + lowest(word)]
                        out_on[parts, j >> 6] |= ONE << uint64(j & 63)
                        word &= word - ONE
                out_parent[parts] = f
                parts, sides = parts + 1, sides + length
                out_start[parts] = sides
                continue
            j, kept, left = cut[c], 0, 0
            for i in range(length):
                a, b = desk[stack_corner + low + i], desk[stack_corner + low + (i + 1 if i + 1 < length else 0)]
                side, at, to = desk[stack_edge + low + i], value[a * number + c], value[b * number + c]
                if at >= 0:
                    desk[half_corner + kept], desk[half_edge + kept] = a, -1 - c if at == 0 and to < 0 else side
                    kept += 1
                if at <= 0:
                    desk[rest_corner + left], desk[rest_edge + left] = a, -1 - c if at == 0 and to > 0 else side
                    left += 1
                if not ((at > 0 and to < 0) or (at < 0 and to > 0)):
                    continue
                place = crossing + (side * number + c if side >= 0 else (size + max(c, -1 - side)) * number + min(c, -1 - side))
                v = desk[place]
                if v < 0:
                    v = desk[place] = local
                    local += 1
                    if side >= 0:  # on an old edge, where it has a number already
                        e, w, lower = edge[begin + side], j >> 6, (ONE << uint64(j & 63)) - ONE
                        g, h = ends[e, 0], ends[e, 1]
                        t = z[g, j] / (z[g, j] - z[h, j])
                        for d in range(number):
                            value[v * number + d] = between(z[g, cut[d]], z[h, cut[d]], t, near[d])
                        desk[v] = where[e] + ones(changes(positive, negative, g, h, w) & lower)
                        for u in range(w):
                            desk[v] += ones(changes(positive, negative, g, h, u))
                    else:
                        t = at / (at - to)
                        weigh(value[v * number :], value[a * number :], value[b * number :], t, near, number)
                        pair[inside, 0], pair[inside, 1], share[inside], who[inside] = desk[a], desk[b], t, j
                        desk[v] = known + inside
                        inside += 1
                    value[v * number + c] = 0.0
                    _sign(value, signs, v, number, width)
                desk[half_corner + kept], desk[half_edge + kept] = v, -1 - c if at > 0 else side
                desk[rest_corner + left], desk[rest_edge + left] = v, -1 - c if at < 0 else side
                kept, left = kept + 1, left + 1
            for i in range(left):
                desk[stack_corner + low + i], desk[stack_edge + low + i] = desk[rest_corner + i], desk[rest_edge + i]
            low += left
            for i in range(kept):
                desk[stack_corner + low + i], desk[stack_edge + low + i] = desk[half_corner + i], desk[half_edge + i]
            desk[stack + height + 1], desk[stack + height + 2] = low, low + kept
            height += 2
        f += 1
    made[0], made[1], made[2] = parts, sides, inside
    return f


@compiled
def _sign(value, signs, v, number, width):
    """The two bitsets of a vertex of the face at work."""
    for w in range(width):
        signs[2 * (v * width + w)], signs[2 * (v * width + w) + 1] = signs_of(
            value, v * number + 64 * w, min(64, number - 64 * w)
        )
