"""Pieces of the image networks on planes through three images: exact for dense networks, on a grid for convolutions.

Behind Figures 6.10, 6.11 and 6.13 of S2. The planes go through the three closest test images of the classes that the source shows
(three zeros; two planes and a deer), the window is a square around them, a fifth wider than they lie apart. Convolutional
networks are looked at in a small square around the first image, on a grid of points.

>>> from experiments import image_planes
>>> origin, axes, corners = image_planes.plane("mnist")  # through three zeros
>>> axes.shape, corners.round(1).tolist()[0]
((2, 3072), [0.0, 0.0])
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from foldbook.statistics import lower_end
from foldnet.geometry.complex import Complex
from foldnet.geometry.regions import decision, on_plane, plane_through, regions
from foldnet.geometry.vision import jacobians
from foldnet.nets import ReLUNet
from foldnet.piecewise.net import PiecewiseLinear

from . import image_nets
from .runner import device, short

SIDE, POINTS = 0.01, 16  # of the small square, in the units of the plane, and points on each side of its grid
TOLERANCES = (0.0, 1e-3, 1e-2, 3e-2, 0.1)  # of Jacobians, relative to their size; 0 stands for rounding in double precision


def cells() -> list[dict]:
    return [{"data": d, "kind": "dense"} for d in image_nets.DATA] + [{"data": "cifar10", "kind": k} for k in image_nets.CHANNELS]


def cell(data: str, kind: str, points: int = POINTS) -> dict:
    """By optimizer, for each of five runs: what `exact` says of a dense network, or `seen` of a convolutional one; for the former
    also `rounded`, the number of pieces after the rounding of the book's copy."""
    result: dict = {}
    for optimizer in image_nets.OPTIMIZERS:
        nets = image_nets.networks(kind, data, optimizer)
        found = []
        for net in nets:
            if isinstance(net, PiecewiseLinear):
                found.append(seen(net.to(torch.float64).to(device()), *plane(data)[:2], points))
            else:
                copy = image_nets.restored(kind, image_nets.rounded(net))
                found.append({**exact(net, data), "rounded": len(sliced(copy, data))})
        for name in found[0]:
            result.setdefault(name, {})[optimizer] = [f[name] for f in found]
    return result


def plane(data: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Origin and axes of the plane through three images of the book's copy (eq. 6.2), and where they lie on it, `(3, 2)`."""
    return spanned(image_nets.kept_images(data, "three").double().numpy())


def spanned(three: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for any three images, `(3, pixels)`."""
    origin, axes = plane_through(*three)
    return origin, axes, (three - origin) @ axes.T


def window(data: str) -> np.ndarray:
    """The corners of a square around the three images."""
    return around(plane(data)[2])


def around(corners: np.ndarray, wider: float = 1.0) -> np.ndarray:
    """The corners of a square around three points of a plane, a fifth wider than they lie apart, or so many times that."""
    low, high = corners.min(0), corners.max(0)
    return (low + high) / 2 + 0.6 * wider * (high - low).max() * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])


def sliced(net: ReLUNet, data: str, wider: float = 1.0) -> Complex:
    """The exact pieces of a dense network in the window."""
    return through(net, image_nets.kept_images(data, "three").double().numpy(), wider)


def through(net: ReLUNet, three: np.ndarray, wider: float = 1.0) -> Complex:
    """The same on the plane of any three images."""
    origin, axes, corners = spanned(three)
    return regions(on_plane(net, origin, axes), around(corners, wider))


def exact(net: ReLUNet, data: str) -> dict:
    """`pieces`, `lines` (neurons that switch in the window), `classes` that win somewhere, `median` area over the mean one, and
    `jump`: how far the slope turns at a crease, relative to the slopes themselves, in the mean over creases by length."""
    c = sliced(net, data)
    slopes = c.maps()[0].reshape(len(c), -1)
    inner = (c.edge_faces >= 0).all(1)
    length = np.linalg.norm(np.diff(c.vertices[c.edges[inner]], axis=1)[:, 0], axis=1)
    turn = np.linalg.norm(slopes[c.edge_faces[inner, 0]] - slopes[c.edge_faces[inner, 1]], axis=1)
    size = np.average(np.linalg.norm(slopes, axis=1), weights=c.areas)
    return {
        "pieces": len(c),
        "lines": len(np.unique(c.neuron[c.layer == 0])),
        "classes": len(np.unique(decision(c)[1])),
        "median": short(float(np.median(c.areas) / c.areas.mean()), 3),
        "jump": short(float(np.average(turn, weights=length) / size), 3),
    }


def started(data: str) -> dict:
    """`pieces` and `jump` of the five dense networks before training, from which SGD and AdamW set out."""
    nets = image_nets.network_of("dense", image_nets.begin("dense"))
    found = [exact(nets[k], data) for k in range(image_nets.RUNS)]
    return {name: [f[name] for f in found] for name in ("pieces", "jump")}


def against(first: dict, second: dict) -> dict:
    """Runs in pairs from equal starts: ends of the 95 percent intervals of two ratios, first to second: of `pieces` (lower end)
    and of `jump` (upper end)."""
    more, turn = (np.log(np.divide(first[name], second[name])) for name in ("pieces", "jump"))
    return {
        "SGD / AdamW, lower end": float(np.exp(lower_end(more))),
        "jump SGD / AdamW, upper end": float(np.exp(-lower_end(-turn))),
    }


def exchanged(first: dict, second: dict) -> dict:
    """What `against` says if the labels of one pair are exchanged: for each ratio the best of all such ways."""
    found = []
    for k in range(len(first["pieces"])):
        a, b = ({name: np.array(row[name], float) for name in ("pieces", "jump")} for row in (first, second))
        for name in a:
            a[name][k], b[name][k] = b[name][k], a[name][k]
        found.append(against(a, b))
    best = {"SGD / AdamW, lower end": max, "jump SGD / AdamW, upper end": min}
    return {name: better(f[name] for f in found) for name, better in best.items()}


def grid(origin: np.ndarray, axes: np.ndarray, points: int = POINTS, side: float = SIDE) -> torch.Tensor:
    """The points of a small square grid around the origin of a plane, `(points * points, in)`, row by row."""
    line = side * ((np.arange(points) + 0.5) / points - 0.5)
    place = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2)
    return torch.as_tensor(origin + place @ axes)


def effective(net: PiecewiseLinear, x: torch.Tensor) -> torch.Tensor:
    """What of a pattern reaches the output, `(n, poolings)`: 0 for a pooling whose ReLU is off, else the place it takes, from 1.

    Where ReLU stands first, the sign of a pixel that no pooling takes counts for nothing, and where it stands last, what a
    pooling takes counts for nothing if the ReLU then is off: equal rows here have equal Jacobians.
    """
    return torch.cat([((1 + place) * on).flatten(1) for place, on in image_nets.choices(net, x)], 1)


@torch.no_grad()
def seen(net: PiecewiseLinear, origin: np.ndarray, axes: np.ndarray, points: int = POINTS) -> dict:
    """How many regions a grid shows: `patterns`, `effective` ones, `maps` for each tolerance, and in how many neighbouring pairs
    of points the pattern differs while the Jacobian does not (`idle`), of all pairs in which it differs (`steps`)."""
    x = grid(origin, axes, points).to(net.device)
    labels = {"patterns": net.pattern(x), "effective": effective(net, x)}
    pairs = neighbours(points)
    same = {name: (rows[pairs[0]] == rows[pairs[1]]).all(1).cpu().numpy() for name, rows in labels.items()}
    distance = gaps(net, x, points)
    result: dict = {name: components(points, equal) for name, equal in same.items()}
    result["maps"] = [components(points, distance <= max(t, 1e-9)) for t in TOLERANCES]
    changed = ~same["patterns"]
    return {**result, "steps": int(changed.sum()), "idle": int((changed & (distance <= 1e-9)).sum())}


def more(patterns, maps, column: int) -> int:
    """On how many grids patterns find more regions than maps at one of the tolerances: `(grids,)` and `(grids, tolerances)`."""
    return int((np.asarray(patterns) > np.asarray(maps)[:, column]).sum())


def neighbours(points: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of neighbouring points of a grid, as numbers: those in a row, then those in a column."""
    number = np.arange(points * points).reshape(points, points)
    ends = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    first, second = (np.concatenate([pair[k].ravel() for pair in ends]) for k in range(2))
    return first, second


def gaps(net: PiecewiseLinear, x: torch.Tensor, points: int) -> np.ndarray:
    """How far the Jacobians of neighbouring points are apart, relative to the larger one, in the order of `neighbours`."""
    rows, columns, above = [], [], None
    for slope in jacobians(net, x, points):  # a row of the grid at a time
        size = slope.flatten(1).norm(dim=1).clamp(min=1e-300)
        across = (slope[1:] - slope[:-1]).flatten(1).norm(dim=1) / torch.maximum(size[1:], size[:-1])
        rows.append(across)
        if above is not None:
            columns.append((slope - above[0]).flatten(1).norm(dim=1) / torch.maximum(size, above[1]))
        above = slope, size
    return torch.cat([*rows, *columns]).cpu().numpy()


def components(points: int, same: np.ndarray) -> int:
    """Into how many connected regions a grid falls, if the neighbouring pairs `same` belong together."""
    first, second = (end[same] for end in neighbours(points))
    graph = coo_matrix((np.ones(len(first)), (first, second)), shape=(points**2,) * 2)
    return int(connected_components(graph, directed=False)[0])
