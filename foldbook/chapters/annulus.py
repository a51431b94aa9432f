"""The two solids that one more neuron than dimensions closes around a ball: radii, corners, networks (geometry/annulus).

>>> from foldbook.chapters.annulus import expanded_ratio
>>> round(expanded_ratio(2), 4)  # the hexagon's outer radius over its inner one
1.1547
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import torch

from foldnet.nets import ReLUNet, as_tensor


def simplex_normals(n: int) -> np.ndarray:
    """Unit vectors `(n + 1, n)` to the corners of a regular simplex around 0: their sum is 0, their products are -1/n."""
    if n < 1:
        raise ValueError(f"a simplex has a dimension of at least 1; got {n}")
    steps = np.arange(1, n + 1)
    rows = np.tri(n, n + 1) - np.diag(steps.astype(float), 1)[:n]  # row k: k ones, then -k
    return (rows / np.sqrt(steps * (steps + 1))[:, None] * math.sqrt((n + 1) / n)).T


def hyperoctahedron(n: int, room: float = 2.0) -> ReLUNet:
    """The network n-(n+1)-1 that is negative inside the regular hyperoctahedron with corners at distance 1 alone.

    It is |x_1| + ... + |x_n| - 1 where the sum of x is at least -room, and positive elsewhere; `room` is more than 1.
    """
    if not room > 1:
        raise ValueError(f"the last neuron switches outside of the solid, for a room of more than 1; got {room}")
    return _net(np.vstack([np.eye(n), np.ones(n)]), [0.0] * n + [room], [2.0] * n + [-1.0], room - 1)


def expanded_simplex(n: int, shift: float = 0.0) -> ReLUNet:
    """The network n-(n+1)-1 that is negative inside the uniform expanded simplex with corners at distance 1 alone.

    With a `shift` its hyperplanes leave the centre, outwards for a positive one, and the solid is no longer uniform.
    """
    rows = simplex_normals(n) * math.sqrt(2 * n / (n + 1))
    return _net(rows, [-shift] * (n + 1), [1.0] * (n + 1), -1.0)


def hyperoctahedron_corners(n: int) -> np.ndarray:
    """The 2n corners `(2n, n)`, at distance 1. Pages read this by its name, as that of the next solid."""
    return np.vstack([np.eye(n), -np.eye(n)])


def expanded_simplex_corners(n: int) -> np.ndarray:
    """The n(n + 1) corners `(n (n + 1), n)`, at distance 1: the differences of the corners of a simplex."""
    u = simplex_normals(n) * math.sqrt(n / (2 * n + 2))
    return (u[:, None] - u)[~np.eye(n + 1, dtype=bool)]


def facet_distance(k: int, n: int) -> float:
    """The distance of the facets of type k from the centre of the uniform expanded simplex with corners at distance 1."""
    if not 1 <= k <= n:
        raise ValueError(f"facets of an expanded simplex have types from 1 to its dimension {n}; got {k}")
    return math.sqrt((n + 1) / (2 * k * (n + 1 - k)))


def expanded_ratio(n: int) -> float:
    """Outer over inner radius of the uniform expanded simplex; that of the regular hyperoctahedron is sqrt(n)."""
    return math.sqrt((n * (n + 2) + n % 2) / (2 * (n + 1)))


def far_out(n: int) -> tuple[float, float]:
    """Root mean square distance from the centre of a random point of the regular hyperoctahedron and of the uniform expanded
    simplex, over that of their corners.

    A random point of the first is a point of a simplex with random signs. Where k coordinates of the second are positive, and
    n + 1 - k negative, it is a product of two simplices, times a number.

    >>> [round(float(d**2), 4) for d in far_out(2)]  # of a square 1/3, of a hexagon 5/12
    [0.3333, 0.4167]
    """
    k = range(1, n + 1)
    weight = [math.comb(n + 1, i) * math.comb(n - 1, i - 1) for i in k]  # of the volume with i positive coordinates
    square = sum(w / sum(weight) * (2 / (i + 1) + 2 / (n + 2 - i)) for w, i in zip(weight, k)) * n / (n + 2) / 2
    return math.sqrt(2 * n / (n + 1) / (n + 2)), math.sqrt(square)


def ball_volume(n: int, r: float = 1.0) -> float:
    """The volume of a ball of radius r in n dimensions."""
    return math.exp(n / 2 * math.log(math.pi) - math.lgamma(n / 2 + 1)) * r**n


def nearly_orthogonal(n: int, lines: int, positive: bool = False, trials: int = 4000) -> float:
    """The share of trials in which all pairs of random unit vectors, of positive entries or any, have a dot product below 0.2."""
    way = np.random.default_rng([n, lines]).normal(size=(trials, lines, n))
    way = np.abs(way) if positive else way
    way /= np.linalg.norm(way, axis=2, keepdims=True)
    return float((np.abs(way @ way.transpose(0, 2, 1) - np.eye(lines)).max((1, 2)) < 0.2).mean())


def facets(points) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals `(F, n)` and distances from 0 `(F,)` of the facets of the convex hull of points `(m, n)`, each once."""
    from scipy.spatial import ConvexHull

    rows = ConvexHull(np.asarray(points, dtype=float)).equations  # one row for each simplex of a facet
    _, first = np.unique(rows.round(9) + 0.0, axis=0, return_index=True)
    return rows[first, :-1], -rows[first, -1]


def crossings(net: ReLUNet, directions) -> np.ndarray:
    """How far from 0 the rays in some directions `(k, n)` first reach the boundary of the class of 0, `(k,)`; inf if never.

    It is in lengths of each direction: the distance, for unit vectors. For networks with one hidden layer: between the places
    where its neurons switch the output is straight along a ray.
    """
    w, b, _, _ = _parts(net)
    d = np.asarray(directions, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = -b / (d @ w.T)
    t = np.sort(np.where(np.isfinite(t) & (t > 0), t, 0.0), axis=1)
    t = np.column_stack([np.zeros(len(d)), t, t[:, -1] + 1])  # the last piece goes on: two points of it are enough
    f = net(torch.as_tensor(t[..., None] * d[:, None])).squeeze(-1).detach().cpu().numpy()
    f = f if f[0, 0] < 0 else -f
    slope = np.diff(f) / np.where(np.diff(t) > 0, np.diff(t), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = t[:, :-1] - f[:, :-1] / slope
    ends = np.column_stack([t[:, 1:-1], np.full(len(d), np.inf)])
    met = (slope > 0) & (root <= ends * (1 + 1e-12)) & (f[:, :-1] < 0)
    return np.where(met.any(1), root[np.arange(len(d)), met.argmax(1)], np.inf)


def boundary_corners(net: ReLUNet) -> np.ndarray:
    """The corners `(m, n)` of the boundary of a network with one hidden layer: its zeros where n - 1 hyperplanes meet in a line.

    Each once, to nine digits; where the network is 0 along such a line there is no corner.
    """
    w, b, _, _ = _parts(net)
    m, n = w.shape
    found = [np.zeros((0, n))]
    for rows in map(list, combinations(range(m), n - 1)):
        way = np.linalg.svd(w[rows])[2][-1] if n > 1 else np.ones(1)
        if np.linalg.matrix_rank(w[rows]) < n - 1:
            continue
        base = np.linalg.lstsq(w[rows], -b[rows], rcond=None)[0] if n > 1 else np.zeros(1)
        slope, height = w @ way, w @ base + b
        bends = np.abs(slope) > 1e-9
        t = np.unique((-height[bends] / slope[bends]).round(12))
        t = np.concatenate([t[:1] - 1, t, t[-1:] + 1])
        f = net(torch.as_tensor(base + t[:, None] * way)).squeeze(-1).detach().cpu().numpy()
        rise = np.diff(f) / np.diff(t)
        with np.errstate(divide="ignore", invalid="ignore"):
            root = t[:-1] - f[:-1] / rise
        low, high = np.append(-np.inf, t[1:-1]), np.append(t[1:-1], np.inf)
        met = (np.abs(rise) > 1e-9) & (root >= low - 1e-9) & (root <= high + 1e-9)
        found.append(base + root[met, None] * way)
    corners = np.concatenate(found)
    _, first = np.unique(corners.round(9) + 0.0, axis=0, return_index=True)
    return corners[first]


def closes(net: ReLUNet) -> bool:
    """Whether the positive class of a network with one hidden layer of n + 1 neurons in general position is bounded.

    Along each line in which n - 1 of the hyperplanes meet the output falls for ever, or it is constant and below 0 for all that
    these n - 1 neurons can do.

    >>> import numpy as np
    >>> from foldnet.nets import ReLUNet
    >>> closes(ReLUNet([[[1.0, 0], [0, 1], [-1, -1]], [[-1.0, -1, -1]]], [np.zeros(3), [1.0]]))  # a hexagon
    True
    >>> closes(ReLUNet([[[1.0, 0], [0, 1], [-1, 1]], [[-1.0, -1, -1]]], [np.zeros(3), [1.0]]))
    False
    """
    w, _, v, c = _parts(net)
    m, n = w.shape
    for rows in map(list, combinations(range(m), n - 1)):
        way = np.linalg.svd(w[rows])[2][-1]
        for end in (way, -way):
            z = w @ end
            z[rows] = 0
            rise = np.maximum(z, 0) @ v
            if rise > 1e-9 or (rise > -1e-9 and (c >= 0 or (v[rows] >= 0).any())):
                return False
    return True


def faces(net: ReLUNet) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """The corners `(m, 3)` of a closed boundary in space, and for each face its outward normal and its corners in order."""
    corners = boundary_corners(net)
    middle = corners.mean(0)
    found = []
    for normal, distance in zip(*facets(corners - middle), strict=True):
        ring = np.flatnonzero(np.abs((corners - middle) @ normal - distance) < 1e-7)
        arm = corners[ring] - corners[ring].mean(0)
        east = arm[0] / np.linalg.norm(arm[0])
        turn = np.arctan2(arm @ np.cross(normal, east), arm @ east)
        found.append((normal, ring[np.argsort(turn)]))
    return corners, found


def searched_radii(net: ReLUNet, starts: int = 40, seed: int = 0) -> tuple[float, float]:
    """Inner and outer radius around 0 of the bounded solid of 0's class, by optimization from random rays.

    Inwards it follows the normal of the facet that a ray meets, outwards linear programs inside the cell: it knows the network
    and nothing of its corners.
    """
    rays = np.random.default_rng(seed).normal(size=(starts, net.sizes[0]))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    far = max(_outwards(net, p) for p in rays * crossings(net, rays)[:, None])
    for _ in range(100):
        length = crossings(net, rays)
        normal = net.jacobian(torch.as_tensor(rays * length[:, None]))[:, 0].detach().cpu().numpy()
        turned = normal / np.linalg.norm(normal, axis=1, keepdims=True) * np.sign((normal * rays).sum(1, keepdims=True))
        if not (crossings(net, turned) < length - 1e-13).any():
            break
        rays = turned
    return float(np.minimum(crossings(net, turned), length).min()), far


def _outwards(net: ReLUNet, p: np.ndarray) -> float:
    """The norm of a farthest corner of p's piece of the boundary, climbed to by linear programs."""
    from scipy.optimize import linprog

    w, b, v, c = _parts(net)
    on = w @ p + b > 0
    sign = np.where(on, -1.0, 1.0)
    while True:
        found = linprog(-p, sign[:, None] * w, -sign * b, ((v * on) @ w)[None], -((v * on) @ b + c), bounds=(None, None))
        if found.status != 0:
            raise ValueError(f"the class of 0 has no farthest point here, so it is not bounded: {found.message}")
        if np.linalg.norm(found.x) <= np.linalg.norm(p) + 1e-12:
            return float(np.linalg.norm(p))
        p = found.x


def _net(rows, biases, push, offset: float) -> ReLUNet:
    return ReLUNet([as_tensor(rows), as_tensor([push])], [as_tensor(biases), as_tensor([offset])])


def _parts(net: ReLUNet) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Rows, biases, push and offset of a network with one hidden layer, no leak and one output; others are refused."""
    if net.batch_shape or len(net.sizes) != 3 or net.sizes[-1] != 1 or net.leak:
        raise ValueError(f"one network with one hidden layer of ReLUs and one output is needed; got a {net}")
    if not float(net(torch.zeros(1, net.sizes[0], dtype=net.dtype))):
        raise ValueError("the network is 0 at the centre: 0 lies on its boundary and in no class")
    (w, v), (b, c) = [[a.detach().double().cpu().numpy() for a in part] for part in (net.weights, net.biases)]
    return w, b, v[0], float(c[0])
