"""Lines of the plane: a convex window, checked, and edges joined to chains."""

from __future__ import annotations

from cmath import phase
from itertools import pairwise

import numpy as np

SQUARE = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def convex(window) -> np.ndarray:
    """The corners `(m, 2)` of a window, counter-clockwise: of a convex polygon, of a box, or of the square of a number."""
    corners = np.array(window, dtype=np.float64)
    if corners.ndim == 0:
        corners = np.array([(-corners, corners)] * 2)
    if corners.shape == (2, 2):
        (x0, x1), (y0, y1) = corners
        if not (x0 < x1 and y0 < y1):
            raise ValueError(f"a window is not empty; this one is {window!r}")
        corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3 or not np.isfinite(corners).all():
        what = "a positive number, a box ((x0, x1), (y0, y1)), or a convex polygon: at least three finite corners (m, 2)"
        raise ValueError(f"a window is {what}; got {window!r:.100}")
    points = [complex(x, y) for x, y in corners.tolist()]  # plain numbers: a window has few corners
    way = [b - a for a, b in pairwise([*points, points[0]])]
    scale = max(*map(abs, way), 1e-300)
    way = [w / scale for w in way]
    turn = [a.conjugate() * b for a, b in pairwise([*way, way[0]])]  # as complex numbers: their angles
    backwards = all(t.imag < 0 for t in turn)
    around = abs(sum(map(phase, turn))) if backwards or all(t.imag > 0 for t in turn) else np.inf
    if not around < 2 * np.pi + 1e-6:
        raise ValueError("a window is convex, with its corners in order around it and none on the line between two others")
    return np.ascontiguousarray(corners[::-1]) if backwards else corners


def chains(edges: np.ndarray) -> list[list[int]]:
    """Edges `(n, 2)` joined to chains of vertices as long as they go; they end where one, or more than two, edges meet."""
    at: dict[int, list[int]] = {}
    for e, ends in enumerate(edges.tolist()):
        for v in ends:
            at.setdefault(v, []).append(e)
    free, found = set(range(len(edges))), []
    ends = [v for v, meet in at.items() if len(meet) != 2 for _ in meet]
    for begin in [*ends, *at]:  # from the ends first; what is left are closed chains
        chain = [begin]
        while (e := next((e for e in at[chain[-1]] if e in free), None)) is not None:
            free.discard(e)
            chain.append(int(edges[e].sum()) - chain[-1])
            if len(at[chain[-1]]) != 2:
                break
        if len(chain) > 1:
            found.append(chain)
    return found
