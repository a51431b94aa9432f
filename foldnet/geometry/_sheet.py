"""The complex while it is drawn: one layer of neurons after the other cuts all its faces, in several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

BLOCK = 4096  # edges, vertices or faces that are worth a thread of their own
FOLDED = -(2**62)  # the line of an edge that rounding has given to two faces on the same side


@dataclass(frozen=True, eq=False)
class Crew:
    """Who does the work: the threads of a pool, or the caller alone."""

    pool: ThreadPoolExecutor | None
    threads: int

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def share(self, work: Callable, count: int) -> list:
        """`work(first, last)` for consecutive ranges of `count` things, in order."""
        parts = 1 if self.pool is None else max(1, min(4 * self.threads, count // BLOCK))
        return self.each(work, [count * i // parts for i in range(parts + 1)])

    def each(self, work: Callable, limits) -> list:
        """`work(first, last)` between every two of these limits, in order."""
        ranges = [(int(a), int(b)) for a, b in pairwise(limits)]
        return [work(*r) for r in ranges] if self.pool is None else list(self.pool.map(lambda r: work(*r), ranges))


@dataclass(frozen=True, eq=False)
class Sheet:
    """A complex while it is drawn; `lines` `(E,)` numbers who drew an edge, the window's sides -1, -2, ..."""

    vertices: np.ndarray
    starts: np.ndarray
    corners: np.ndarray
    sides: np.ndarray
    edges: np.ndarray
    lines: np.ndarray
    faces: np.ndarray
    crew: Crew

    @classmethod
    def whole(cls, window: np.ndarray, crew: Crew) -> Sheet:
        """The window as one face."""
        m = len(window)
        return cls._joined(window, np.array([0, m]), np.arange(m), -1 - np.arange(m), crew)

    @classmethod
    def _joined(cls, vertices, starts, corners, lines, crew) -> Sheet:
        from ._region_kernel import join_sides

        sides, edges, lines, faces = join_sides(starts, corners, lines, len(vertices))
        if lines.min() == FOLDED:
            raise ValueError("lines of this network lie closer together than float64 can tell: take another window")
        return cls(vertices, starts, corners, sides, edges, lines, faces, crew)

    def cut(self, z: torch.Tensor, snap: np.ndarray, base: int, most: int):
        """The sheet cut by neurons with values `z` `(V, n)` at its vertices; their values at all vertices; parents, bits."""
        from . import _region_kernel as kernel

        old, share, z = len(z), self.crew.share, z.numpy()
        signs = [np.empty((old, -(-z.shape[1] // 64)), np.uint64) for _ in range(2)]
        share(lambda a, b: kernel.mark(z, snap, *signs, a, b), old)
        count = np.empty(len(self.edges), np.int64)
        share(lambda a, b: kernel.count_cuts(self.edges, *signs, count, a, b), len(count))
        where = old + np.cumsum(count) - count
        known = old + int(count.sum())
        own = self.starts, self.corners, self.sides, self.edges, where, z, snap, *signs, known
        parts = share(lambda a, b: kernel.split_faces(*own, a, b, most), len(self.starts) - 1)
        if sum(len(p[3]) for p in parts) > most:
            raise OverflowError(f"more than {most:,} faces")
        starts, corners, sides, parent, on, inner, made = _together(parts, known)
        xy, z = _longer(self.vertices, known + made[-1]), _longer(z, known + made[-1])  # ty: ignore[invalid-assignment]
        share(lambda a, b: kernel.fill_edges(self.edges, where, snap, *signs, xy, z, a, b), len(count))
        self.crew.each(lambda a, b: kernel.fill_inside(*inner, snap, xy, z, known, a, b), made)
        lines = np.where(sides >= 0, self.lines[np.maximum(sides, 0)], base - 1 - sides)
        corners, xy, z = _used(corners, xy, z)  # ty: ignore[invalid-argument-type, invalid-assignment]
        return self._joined(xy, starts, corners, lines, self.crew), z, parent, on


def _together(parts: list[tuple], known: int) -> tuple:
    """What the threads made, one after the other, and where the vertices of each begin, which get their final numbers."""
    starts, corners, sides, parent, on, *inner = zip(*parts)
    made = np.cumsum([0, *map(len, inner[0])])
    corners, pairs = ([np.where(v < known, v, v + shift) for v, shift in zip(part, made)] for part in (corners, inner[0]))
    ends = np.cumsum([0, *map(len, corners)])
    starts = [np.zeros(1, np.int64), *(s[1:] + end for s, end in zip(starts, ends))]
    inner = [np.concatenate(a) for a in (pairs, *inner[1:])]
    return *map(np.concatenate, (starts, corners, sides, parent, on)), inner, made


def _used(corners: np.ndarray, xy: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Without the vertices that no face has: two crossings that are one to rounding leave one of them over."""
    used = np.zeros(len(xy), bool)
    used[corners] = True
    if used.all():
        return corners, xy, z
    return (np.cumsum(used) - 1)[corners], xy[used], z[used]


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    longer = np.empty((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
