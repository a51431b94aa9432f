"""The pieces around points in any number of inputs, and the search from piece to piece through their walls.

A piece is where no unit changes sides: rows @ x + offsets >= 0 for each unit. Around its analytic centre, in coordinates in which
it is round, the rows are points of a ball, and the walls are the corners of their convex hull; in more than `HULL` inputs random
rays find most walls and linear programs decide the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.func import jacfwd, jacrev, vmap

from .cells import Cell, Cells

if TYPE_CHECKING:
    from .net import PiecewiseLinear

HULL = 6  # inputs up to which walls are read off a convex hull
FAR = 1e-6  # what is farther away than a million times the size of a piece is infinitely far
NEAR = 1e-9  # walls that are closer together than this share of the size are one
ROUNDING = 1e-12  # a row this much shorter than the longest counts as zero
SOLVED = 1e-6  # what a linear program finds less than this beyond the others is its own rounding
STEPS = (1e-3, 1e-5, 1e-7, 1e-9)  # how far behind a wall its other side is looked for, as shares of the way there
FLAT = 1e-6  # a pull to where the search began, so that an unbounded piece has a centre too
AT_ONCE = 512  # pieces


def search(net: PiecewiseLinear, start: Tensor, most: int) -> Cells:
    """All pieces that can be reached from a point `(in,)` through walls, a generation at a time."""
    first = _patterns(net, start[None])
    known, pieces, pairs = {first[0].tobytes(): 0}, [], set()
    ahead, patterns = start.double().cpu().numpy().reshape(1, -1), first
    home = ahead[0]
    while len(ahead):
        parts = [
            cells_around(net, ahead[k : k + AT_ONCE], patterns[k : k + AT_ONCE], home) for k in range(0, len(ahead), AT_ONCE)
        ]
        places, seen = [], []
        for found, behind, beyond in parts:
            for cell, points, others in zip(found, behind, beyond):
                here = len(pieces)
                pieces.append(cell)
                for point, pattern in zip(points, others):
                    key = pattern.tobytes()
                    if key not in known:
                        known[key] = len(known)
                        places.append(point)
                        seen.append(pattern)
                    pairs.add((min(here, known[key]), max(here, known[key])))
                if len(known) > most:
                    raise ValueError(f"more than {most:,} pieces: raise most=, or look at one with cell(x)")
        ahead, patterns = np.array(places), np.array(seen)
    return Cells(net, pieces, np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2))


def cells_around(net: PiecewiseLinear, x: np.ndarray, patterns: np.ndarray, home: np.ndarray) -> tuple[list[Cell], list, list]:
    """The pieces around points `(n, in)`, and for each a point behind every wall and the pattern there.

    Unbounded pieces have their centres some thousand times as far from `home` as that is from 0, or some thousand.
    """
    rows, slack, columns = _halfspaces(net, x)
    length = np.linalg.norm(rows, axis=2)
    dead = length <= ROUNDING * length.max(1, keepdims=True, initial=0.0)
    if (~dead & (slack <= 0)).any():
        raise ValueError("this point lies on a crease, between pieces: take another one")
    rows, slack = np.where(dead[..., None], 0.0, rows), np.where(dead, 1.0, slack)
    centre, slack, root = _centres(x, rows, slack, home)
    inverse = np.linalg.inv(root)  # y = centre + inverse.T @ u makes a piece round
    balls = -np.einsum("nij,nmj->nmi", inverse, rows / slack[..., None])
    cells, walls = [], []
    for k, ball in enumerate(balls):
        living = np.flatnonzero(~dead[k])
        which, spots, bounded = _walls(ball[living])
        points = spots @ inverse[k]
        mine, offset = living[which], slack[k] - rows[k] @ centre[k]
        wall = (rows[k, mine], offset[mine], columns[mine], centre[k] + points)
        cells.append(Cell(centre[k], patterns[k], *wall, bounded))
        same = (ball @ spots.T >= 1 - NEAR).T  # all that change sides there
        free = np.zeros((len(which), patterns.shape[1]), dtype=bool)
        for row, changing in zip(free, same):
            row[columns[changing | dead[k]]] = True
        walls.append((points, free))
    return cells, *_behind(net, cells, walls)


def _behind(net: PiecewiseLinear, cells: list[Cell], walls: list) -> tuple[list, list]:
    """For each wall of each piece a point on its other side, so near that nothing else has changed, and the pattern there."""
    owner = np.repeat(np.arange(len(cells)), [len(points) for points, _ in walls])
    ways, free = (np.concatenate([part[i] for part in walls]) for i in (0, 1))
    centres, old = (np.array([getattr(cell, name) for cell in cells])[owner] for name in ("centre", "pattern"))
    point, pattern, todo = centres + ways, old.copy(), np.arange(len(owner))
    for step in STEPS:
        if not len(todo):
            break
        point[todo] = centres[todo] + (1 + step) * ways[todo]
        pattern[todo] = _patterns(net, torch.as_tensor(point[todo]))
        changed = pattern[todo] != old[todo]
        todo = todo[(changed & ~free[todo]).any(1) | ~changed.any(1)]
    if len(todo):
        raise ValueError(f"{len(todo)} walls lie closer together than {net.dtype} can tell: take other weights")
    cuts = np.searchsorted(owner, np.arange(1, len(cells)))
    return np.split(point, cuts), np.split(pattern, cuts)


@torch.no_grad()
def _patterns(net: PiecewiseLinear, x: Tensor) -> np.ndarray:
    return net.pattern(x.to(net.dtype).reshape(-1, *net.input_shape)).cpu().numpy()


def _halfspaces(net: PiecewiseLinear, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows `(n, m, in)` and their values `(n, m)` at the points, both positive inside; and the unit of each row `(m,)`."""
    if not len(net.columns):
        return np.zeros((len(x), 0, x.shape[1])), np.zeros((len(x), 0)), net.columns
    points = torch.as_tensor(x).to(net.dtype).to(net.device).reshape(-1, *net.input_shape)

    def sides(x: Tensor) -> tuple[Tensor, Tensor]:
        z = net.sides(x)
        return z, z

    way = jacfwd if x.shape[1] <= 64 else jacrev
    slopes, values = vmap(way(sides, has_aux=True), chunk_size=AT_ONCE)(points)
    z = values.detach().double().cpu().numpy()
    rows = slopes.detach().double().cpu().numpy().reshape(*z.shape, -1)
    return rows * np.where(z < 0, -1.0, 1.0)[..., None], np.abs(z), net.columns


def _centres(x: np.ndarray, rows: np.ndarray, slack: np.ndarray, home: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Analytic centres by Newton's method, the values of all rows there, and a root of the Hessian."""
    place, pull = x.copy(), FLAT / max(1.0, float(home @ home))
    identity = np.eye(x.shape[1])
    for _ in range(100):
        scaled = rows / slack[..., None]
        hessian = np.einsum("nmi,nmj->nij", scaled, scaled) + pull * identity
        gradient = pull * (place - home) - scaled.sum(1)
        step = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
        size = np.sqrt(np.maximum(-(gradient * step).sum(1), 0.0))
        if (size < 0.1).all():
            break
        step *= np.where(size > 0.25, 1 / (1 + size), 1.0)[:, None]
        place, slack = place + step, slack + np.einsum("nmi,ni->nm", rows, step)
    return place, slack, np.linalg.cholesky(hessian)


def _walls(ball: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Which constraints `ball @ u <= 1` are walls, a point `(walls, in)` on each, and whether what they enclose is bounded."""
    number, d = ball.shape
    box = FAR * np.concatenate([np.eye(d), -np.eye(d)])
    every = np.concatenate([ball, box])
    if d == 1:
        ends = np.array([every[:, 0].argmin(), every[:, 0].argmax()])
        which, ways = ends, 1 / every[ends]
    elif d <= HULL:
        from scipy.spatial import ConvexHull

        hull = ConvexHull(every)
        sums = np.zeros_like(every)
        for corner in hull.simplices.T:
            np.add.at(sums, corner, hull.equations[:, :-1])
        which = hull.vertices
        ways = sums[which]
    else:
        which, ways = _by_programs(every)
    real = which < number
    which, ways = which[real], ways[real]
    spots = ways / (ball[which] * ways).sum(1, keepdims=True)
    true = (ball @ spots.T <= 1 + NEAR).all(0)  # what rounding made a corner is none
    return which[true], spots[true], bool(real.all())


def _by_programs(every: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which constraints are walls, and a direction in which each comes first: by rays, and by linear programs."""
    from scipy.optimize import linprog

    rays = np.random.default_rng(0).normal(size=(20 * len(every), every.shape[1]))
    heights = rays @ every.T
    order = heights.max(1).argsort()  # of those that hit one wall, the ray that hits it nearest is kept
    hit = {int(first): ray for first, ray in zip(heights[order].argmax(1), rays[order])}
    room = np.column_stack([every, np.ones(len(every))])  # as far as can be from all others, on the wall
    for k in range(len(every)):
        if k not in hit:
            others, wall = np.delete(room, k, axis=0), np.append(every[k], 0.0)[None]
            bounds = [(None, None)] * every.shape[1] + [(None, 0.5)]
            goal = np.append(np.zeros(every.shape[1]), -1.0)
            found = linprog(goal, others, np.ones(len(others)), wall, [1.0], bounds, method="highs")
            if found.status == 0 and found.x[-1] > SOLVED:
                hit[k] = found.x[:-1]
    return np.array(sorted(hit)), np.array([hit[k] for k in sorted(hit)])
