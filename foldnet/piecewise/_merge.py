"""Pieces of a plane made one again where an edge between them separates nothing."""

from __future__ import annotations

import numpy as np

from ..geometry._sheet import Sheet


def merged(sheet: Sheet, false: np.ndarray) -> Sheet:
    """The sheet without the edges marked in `false` `(E,)`; the faces that remain have to be convex.

    A corner at which only two edges are left that run on straight is none any more. `values` are dropped.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    faces = len(sheet.bits)
    pairs = sheet.faces[false]
    _, face = connected_components(coo_array((np.ones(len(pairs)), pairs.T), shape=(faces, faces)), directed=False)
    first = np.unique(face, return_index=True)[1]
    owner = face[np.repeat(np.arange(faces), np.diff(sheet.starts))]
    after = np.roll(sheet.corners, -1)
    after[sheet.starts[1:] - 1] = sheet.corners[sheet.starts[:-1]]
    real = ~false[sheet.sides]
    rows = np.column_stack([owner, sheet.corners, after, sheet.lines[sheet.sides]])[real]

    ends = sheet.edges[~false]
    degree = np.bincount(ends.ravel(), minlength=len(sheet.vertices))
    lowest, highest = np.full(len(degree), len(sheet.lines)), np.full(len(degree), -len(sheet.lines))
    for end in ends.T:
        np.minimum.at(lowest, end, np.minimum(sheet.lines[~false], 0))  # all lines that are no side of the window count as one
        np.maximum.at(highest, end, np.minimum(sheet.lines[~false], 0))
    gone = (degree == 0) | (degree == 2) & (lowest == highest)  # and not where two sides of the window meet

    ahead = {(f, a): (b, line) for f, a, b, line in rows.tolist()}  # of face and corner: the next corner, and who drew the edge
    known: dict[tuple[int, int], int] = {}
    starts, corners, sides, lines, beside = [0], [], [], [], []
    for f, start in sorted({f: a for f, a, *_ in rows[~gone[rows[:, 1]]].tolist()}.items()):
        a = start
        while True:
            b, line = ahead[f, a]
            while gone[b]:
                b, _ = ahead[f, b]
            pair = (min(a, b), max(a, b))
            if pair not in known:
                known[pair] = len(lines)
                lines.append(line)
                beside.append([-1, -1])
            beside[known[pair]][int(a > b)] = f
            corners.append(a)
            sides.append(known[pair])
            a = b
            if a == start:
                break
        starts.append(len(corners))
    number = np.cumsum(~gone) - 1
    edges = number[np.array(list(known))]
    arrays = (np.array(starts), number[np.array(corners)], np.array(sides), edges, np.array(lines), np.array(beside))
    return Sheet(sheet.vertices[~gone], np.zeros((int((~gone).sum()), 0)), *arrays, sheet.bits[first])
