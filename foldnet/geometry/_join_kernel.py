"""The edges of a planar complex from the sides of its faces, compiled; and the parts of a complex put together again."""

from __future__ import annotations

import numpy as np

from .._compiled import compiled


@compiled
def join(start, corner, side, lines, base, vertices, room):
    """The edges of faces: the edge of each side, and of each edge its ends, lower number first, its line and its two faces.

    A side lies on the old edge `side`, of a line in `lines`, or was drawn by neuron `-1 - side` of those that `base` counts from.
    An edge is named after the side that runs upward, to the higher vertex, or along the window, where there is no other.
    `faces` `(E, 2)`: the face on whose side the edge runs upward, then the other; -1 for none. Where a side has no twin, or two,
    rounding has folded the complex: then there are no edges. `room` is memory to work in, if it is large enough.
    """
    sides, faces = corner.shape[0], start.shape[0] - 1
    desk = (room if room.shape[0] >= 4 * sides + vertices + 2 else np.empty(4 * sides + vertices + 2)).view(np.int64)
    listed, to, face, line = desk[:sides], desk[sides : 2 * sides], desk[2 * sides : 3 * sides], desk[3 * sides : 4 * sides]
    first, edge = desk[4 * sides : 4 * sides + vertices + 2], np.full(sides, -1)
    first[:] = 0
    count, down = 0, 0
    for f in range(faces):
        for s in range(start[f], start[f + 1]):
            a, b = corner[s], corner[s + 1 if s + 1 < start[f + 1] else start[f]]
            line[s], face[s] = lines[side[s]] if side[s] >= 0 else base - 1 - side[s], f
            if line[s] < 0 or a < b:
                count += 1
            else:
                first[a + 2] += 1
                down += 1
    for v in range(2, vertices + 2):
        first[v] += first[v - 1]
    for f in range(faces):
        for s in range(start[f], start[f + 1]):
            a, b = corner[s], corner[s + 1 if s + 1 < start[f + 1] else start[f]]
            if line[s] >= 0 and a > b:
                slot = first[a + 1]
                first[a + 1], listed[slot], to[slot] = slot + 1, s, b
    ends, drawn, beside = np.empty((count, 2), np.int64), np.empty(count, np.int64), np.empty((count, 2), np.int64)
    e = 0
    for f in range(faces):
        for s in range(start[f], start[f + 1]):
            a, b, twin, found = corner[s], corner[s + 1 if s + 1 < start[f + 1] else start[f]], -1, 0
            if line[s] >= 0:
                if a > b:
                    continue
                for i in range(first[b], first[b + 1]):
                    if to[i] == a:
                        twin, found = listed[i], found + 1
                if found != 1 or edge[twin] >= 0:
                    return edge, ends[:0], drawn[:0], beside[:0]
                down -= 1
            edge[s], ends[e, 0], ends[e, 1], drawn[e] = e, min(a, b), max(a, b), line[s]
            beside[e, 0], beside[e, 1] = (f, -1) if a < b else (-1, f)
            if twin >= 0:
                edge[twin], beside[e, 1] = e, face[twin]
            e += 1
    if down != 0:
        return edge, ends[:0], drawn[:0], beside[:0]
    return edge, ends, drawn, beside


@compiled
def cut_out(first, last, start, corner, side, ends, lines, beside, frame):
    """The faces `first` to `last` alone: their vertices, in order, and starts, corners, sides, ends and lines.

    An edge e between one of them and another face gets the line -1 - frame - e.
    """
    begin, end = start[first], start[last]
    vertex, edge = np.full(corner.max() + 1, -1), np.full(ends.shape[0], -1)
    for s in range(begin, end):
        vertex[corner[s]], edge[side[s]] = 0, 0
    vertices, edges = np.flatnonzero(vertex == 0), np.flatnonzero(edge == 0)
    for i in range(len(vertices)):
        vertex[vertices[i]] = i
    own_ends, own_lines = np.empty((len(edges), 2), np.int64), np.empty(len(edges), np.int64)
    for i in range(len(edges)):
        e = edges[i]
        edge[e], own_lines[i] = i, lines[e]
        for k in range(2):
            own_ends[i, k] = vertex[ends[e, k]]
            if beside[e, k] >= last or 0 <= beside[e, k] < first:
                own_lines[i] = -1 - frame - e
    own_corner, own_side = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
    for s in range(begin, end):
        own_corner[s - begin], own_side[s - begin] = vertex[corner[s]], edge[side[s]]
    return vertices, start[first : last + 1] - begin, own_corner, own_side, own_ends, own_lines


@compiled
def match(code, ends, name, old_ends, same):
    """The pieces of edges that were parted, each with its double in the other part: `(n, 2)` rows of `code`, first part first.

    Rows are the edges on borders, part after part: `code` which old edge they lie on, `ends` `(R, 2)` their vertices. `name` is
    the number that a vertex had when parts were made, -1 for later ones; `old_ends` the ends of old edges by these numbers. Both
    parts are followed from the lower end on, and `same` gets for each new vertex of the second the one of the first. Where they
    differ, rounding has folded the complex: then there are no rows.
    """
    rows, first = code.shape[0], np.zeros(old_ends.shape[0] + 2, np.int64)
    listed, link, pairs = np.empty(rows, np.int64), np.full((name.shape[0], 2), -1), np.empty((rows // 2, 2), np.int64)
    for i in range(rows):
        first[code[i] + 2] += 1
        for k in range(2):
            v = ends[i, k]
            if name[v] < 0:
                link[v, 0 if link[v, 0] < 0 else 1] = i
    for c in range(2, first.shape[0]):
        first[c] += first[c - 1]
    for i in range(rows):
        slot = first[code[i] + 1]
        first[code[i] + 1], listed[slot] = slot + 1, i
    made, at, item = 0, np.empty(2, np.int64), np.empty(2, np.int64)
    for c in range(old_ends.shape[0]):
        half, item[:] = (first[c + 1] - first[c]) // 2, -1
        for i in range(first[c], first[c + 1]):
            k, v = (0 if i < first[c] + half else 1), ends[listed[i], 0]
            if name[v] == old_ends[c, 0]:
                item[k], at[k] = listed[i], v
        for step in range(half):
            if item[0] < 0 or item[1] < 0:
                return pairs[:0]
            for k in range(2):
                pairs[made, k] = item[k]
                at[k] = ends[item[k], 0] + ends[item[k], 1] - at[k]
            last = step == half - 1
            if (name[at[0]] < 0) == last or (name[at[1]] < 0) == last or name[at[0]] != name[at[1]]:
                return pairs[:0]
            made += 1
            if not last:
                same[at[1]] = at[0]
                for k in range(2):
                    item[k] = link[at[k], 0] if link[at[k], 0] != item[k] else link[at[k], 1]
    return pairs if 2 * made == rows else pairs[:0]


@compiled
def borders(ends, lines, beside, frame):
    """The edges on the border of a part `(R, 5)`: number, ends, face, and the old edge that each lies on."""
    number = 0
    for e in range(len(lines)):
        number += lines[e] < -frame
    found, r = np.empty((number, 5), np.int64), 0
    for e in range(len(lines)):
        if lines[e] < -frame:
            found[r, 0], found[r, 1], found[r, 2] = e, ends[e, 0], ends[e, 1]
            found[r, 3], found[r, 4] = max(beside[e, 0], beside[e, 1]), -1 - frame - lines[e]
            r += 1
    return found


@compiled
def number(count, names, border, old_vertices, old_ends):
    """One numbering for all parts: new numbers of their vertices and edges, where those of each part begin `(P + 1, 2)`, and
    for each edge on a border its number and the face of the second part `(n, 2)`.

    `count` `(P + 1, 6)` says how many vertices, edges, faces, sides, names and borders come before each part; `names` are the old
    numbers of their first vertices and `border` the edges as `borders` has them. What several parts have is numbered in the
    first of them. Where borders differ, rounding has folded the complex: then nothing is returned.
    """
    parts, rows = len(count) - 1, len(border)
    name, same, seen = np.full(count[parts, 0], -1), np.arange(count[parts, 0]), np.full(old_vertices, -1)
    double, ends, row = np.arange(count[parts, 1]), np.empty((rows, 2), np.int64), np.empty(rows, np.int64)
    face, code, begin = np.empty(rows, np.int64), np.empty(rows, np.int64), np.zeros((parts + 1, 2), np.int64)
    for p in range(parts):
        for i in range(count[p, 4], count[p + 1, 4]):
            v, old = count[p, 0] + i - count[p, 4], names[i]
            seen[old] = v if seen[old] < 0 else seen[old]
            name[v], same[v] = old, seen[old]
        for r in range(count[p, 5], count[p + 1, 5]):
            row[r], face[r], code[r] = border[r, 0] + count[p, 1], border[r, 3] + count[p, 2], border[r, 4]
            ends[r, 0], ends[r, 1] = border[r, 1] + count[p, 0], border[r, 2] + count[p, 0]
    pairs = match(code, ends, name, old_ends, same)
    second = np.empty((len(pairs), 2), np.int64)
    if 2 * len(pairs) < rows:
        return same[:0], double[:0], begin, second
    for i in range(len(pairs)):
        double[row[pairs[i, 1]]] = row[pairs[i, 0]]
    for k in range(2):  # vertices, edges: what is the same as an earlier one has its number already
        first = same if k == 0 else double
        made, p = 0, 0
        for i in range(len(first)):
            while i == count[p, k]:
                begin[p, k], p = made, p + 1
            if first[i] == i:
                first[i], made = made, made + 1
            else:
                first[i] = first[first[i]]
        begin[parts, k] = made
    for i in range(len(pairs)):
        second[i, 0], second[i, 1] = double[row[pairs[i, 0]]], face[pairs[i, 1]]
    return same, double, begin, second


# The arrays of the part and of the whole one by one, as in `draw`: a record of views would be made anew for each part.
@compiled
def place(
    xy, values, start, corner, side, ends, line, beside, bits, vertex, edge, own, before, face, frame, old_line,
    to_xy, to_values, to_start, to_corner, to_side, to_ends, to_line, to_beside, to_bits,
):  # fmt: skip
    """One part put to its place in the whole: `vertex` and `edge` are the new numbers of what it has, its `own` from these
    two on, the lower ones being there already. `before` sides and `face` faces come before its own, and `to_start`, `to_corner`,
    `to_side`, `to_bits` are its stretches of the whole.
    """
    for v in range(xy.shape[0]):
        if vertex[v] >= own[0]:
            for i in range(2):
                to_xy[vertex[v], i] = xy[v, i]
            for i in range(values.shape[1]):
                to_values[vertex[v], i] = values[v, i]
    for f in range(to_start.shape[0]):
        to_start[f] = before + start[f + 1]
        for w in range(bits.shape[1]):
            to_bits[f, w] = bits[f, w]
    for s in range(corner.shape[0]):
        to_corner[s], to_side[s] = vertex[corner[s]], edge[side[s]]
    for e in range(ends.shape[0]):
        if edge[e] >= own[1]:
            a, b, n = vertex[ends[e, 0]], vertex[ends[e, 1]], edge[e]
            to_ends[n, 0], to_ends[n, 1] = min(a, b), max(a, b)
            to_line[n] = line[e] if line[e] >= -frame else old_line[-1 - frame - line[e]]
            for k in range(2):
                to_beside[n, k if a < b else 1 - k] = beside[e, k] + face if beside[e, k] >= 0 else -1


@compiled
def close(second, beside):
    """The faces of second parts put beside the edges on borders, where those of the first are already."""
    for i in range(len(second)):
        e = second[i, 0]
        beside[e, 0 if beside[e, 0] < 0 else 1] = second[i, 1]
