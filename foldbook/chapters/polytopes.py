"""What geometry/polytopes reads off a closed boundary and the pieces around it: turns, hulls, slopes.

>>> import numpy as np
>>> from foldbook.chapters.polytopes import hull
>>> hull(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.2]]))
3
"""

from __future__ import annotations

import numpy as np

from foldnet.geometry.complex import Complex
from foldnet.geometry.loops import corners
from foldnet.geometry.regions import decision


def around(loop: np.ndarray, point=(0.0, 0.0)) -> bool:
    """Whether a closed polygon goes round a point."""
    way = (loop - np.asarray(point)) @ [1, 1j]
    return abs(np.angle(np.roll(way, -1) / way).sum()) > 1


def bends(c: Complex, loop: np.ndarray) -> np.ndarray:
    """By how many degrees, left or right, a closed boundary turns on the line of each neuron of the first layer, `(width,)`."""
    places, turns = corners(loop)
    w, b = (a[0].detach().double().cpu().numpy() for a in (c.net.weights, c.net.biases))
    length = np.linalg.norm(w, axis=1)
    away = np.abs(places @ w.T + b) / np.where(length > 0, length, 1)
    on = (away < 1e-7) & (length > 0)
    return on.T @ np.abs(turns)


def enclosed(w: np.ndarray, b: np.ndarray, point=(0.0, 0.0)) -> bool:
    """Whether the lines w.x + b = 0, `(n, 2)` and `(n,)`, shut a point in: if not, some ray from it meets none of them.

    No line goes through the point itself.
    """
    height = w @ np.asarray(point) + b
    outward = np.sort(np.angle(-np.sign(height) * (w @ [1, 1j])))
    return len(outward) > 2 and np.diff(outward, append=outward[0] + 2 * np.pi).max() < np.pi


def hull(points: np.ndarray) -> int:
    """How many of these points of the plane `(n, 2)` are corners of their convex hull."""
    order = np.unique(points, axis=0)  # from left to right, each once
    if len(order) < 2:
        return len(order)
    count = 0
    for line in (order, order[::-1]):
        chain: list[np.ndarray] = []
        for p in line:
            while len(chain) > 1 and np.linalg.det([chain[-1] - chain[-2], p - chain[-1]]) <= 0:
                chain.pop()
            chain.append(p)
        count += len(chain) - 1
    return count


def ring(c: Complex) -> dict[str, float]:
    """Slopes of the pieces around a closed boundary and inside it, of a network with one output that is negative inside.

    `ring` is the mean length of the slope along the boundary, `centre` that at the origin as a part of it, `between` the share of
    the area inside on which it is a third to two thirds of it (S2-fig-6.5).
    """
    finer, winner = decision(c)
    size = np.linalg.norm(finer.maps()[0][:, 0], axis=1)
    left, right = finer.edge_faces.T
    edge = (left >= 0) & (right >= 0) & (winner[left] != winner[right])
    length = np.linalg.norm(np.diff(finer.vertices[finer.edges[edge]], axis=1)[:, 0], axis=1)
    mean = float(length @ size[left[edge]] / length.sum())
    inside, part = winner == 0, size / mean
    middle = inside & (part > 1 / 3) & (part < 2 / 3)
    centre = float(np.linalg.norm(c.net.jacobian(np.zeros((1, 2)))[0, 0].detach().cpu().numpy()))
    return {"ring": mean, "centre": centre / mean, "between": finer.areas[middle].sum() / finer.areas[inside].sum()}
