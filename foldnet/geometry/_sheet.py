"""The complex while it is drawn: one layer after the other cuts its faces, and its parts are drawn apart, in several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch

NOISE = 1e-12  # a value smaller than this, relative to the terms it is summed from, is zero
FACES, LEAST, PARTS = 256, 8, 32  # faces times layers to be drawn that make a part; as many parts at least, at most
FOLDED = "lines of this network lie closer together than float64 can tell: take another window"


@dataclass(frozen=True, eq=False)
class Sheet:
    """A complex while it is drawn, or a part of it; `lines` `(E,)` numbers who drew an edge, the window's sides -1, -2, ...

    `values` `(V, n)` are those of the last layer, before its ReLU; `bits` say which neurons are on in each face, layer by layer.
    """

    vertices: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    corners: np.ndarray
    sides: np.ndarray
    edges: np.ndarray
    lines: np.ndarray
    faces: np.ndarray
    bits: tuple[np.ndarray, ...]

    @classmethod
    def whole(cls, window: np.ndarray, values: np.ndarray) -> Sheet:
        """The window as one face, with these values at its corners."""
        m = np.arange(len(window))
        return _joined(window, values, np.array([0, len(m)]), m, m, -1 - m, 0, (), np.empty(0))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def part(self, first: int, last: int, frame: int) -> tuple[Sheet, np.ndarray]:
        """The faces `first` to `last` alone, and which vertices they have. On its border lie edges e as lines -1 - frame - e."""
        from ._join_kernel import cut_out

        vertices, edges, *own, lines = cut_out(
            first, last, self.starts, self.corners, self.sides, self.edges, self.lines, self.faces, frame
        )
        bits = tuple(on[first:last] for on in self.bits)
        return Sheet(self.vertices[vertices], self.values[vertices], *own, lines, self.faces[edges], bits), vertices


def _joined(vertices, values, starts, corners, sides, lines, base: int, bits, room) -> Sheet:
    from ._join_kernel import join

    sides, edges, lines, faces = join(starts, corners, sides, lines, base, len(vertices), room)
    if not len(edges):  # a side without its twin
        raise ValueError(FOLDED)
    return Sheet(vertices, values, starts, corners, sides, edges, lines, faces, bits)


class Drawing:
    """A sheet that layers are drawn into. As soon as it has faces enough it falls into parts, which threads share.

    The parts are runs of consecutive faces and do not depend on the number of threads, so neither does anything that comes out.
    A layer is drawn into all of them before the next one, since what is rounding is judged beside the largest values of all.
    """

    def __init__(self, sheet: Sheet, frame: int, leak: float, most: int, threads: int | None):
        self.frame, self.leak, self.most, self.base = frame, leak, most, 0
        self.whole, self.sheets, self.names, self.rooms = sheet, [sheet], [], []
        self.gate, self.largest = 1.0, np.abs(sheet.values).max(0)  # the input goes through no ReLU
        threads = threads or torch.get_num_threads()
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __enter__(self) -> Drawing:
        return self

    def __exit__(self, *_) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def draw(self, weight: np.ndarray, bias: np.ndarray, left: int, above: tuple | None = None) -> None:
        """A layer `(n, in)`, `(n,)` more, of those `left`; after the last one the sheets have the values of the layer `above`.

        More than `most` faces are an OverflowError.
        """
        from ._layer_kernel import draw

        snap, done = NOISE * (np.abs(weight) @ self.largest + np.abs(bias)), []
        above = (np.zeros((0, len(bias))), np.zeros(0)) if above is None else above
        layers = [a if a.ndim < 2 else np.ascontiguousarray(a.T) for a in (weight, bias, *above)]
        if len(self.sheets) == 1:
            self.whole = self.sheets[0]
        limits = self._limits(left)

        def one(i: int) -> tuple[Sheet, np.ndarray, np.ndarray]:
            p, names = self.whole.part(*limits[i : i + 2], self.frame) if limits else (self.sheets[i], np.arange(0))
            before, room = sum(done), self.rooms.pop() if self.rooms else np.empty(0)
            own = p.starts, p.corners, p.sides, p.edges, self.most - before
            starts, corners, sides, parent, on, vertices, values, largest, room = draw(
                p.vertices, p.values, self.gate, self.leak, *layers, snap, *own, room
            )
            done.append(len(parent))
            if before + len(parent) > self.most:
                raise OverflowError(f"at least {before + len(parent):,} faces")
            bits = *(old[parent] for old in p.bits), on
            new = _joined(vertices, values, starts, corners, sides, p.lines, self.base, bits, room)
            self.rooms.append(room)
            return new, names, largest

        self.sheets, names, largest = zip(*self._each(one, len(limits) - 1 if limits else len(self.sheets)))
        if sum(done) > self.most:
            raise OverflowError(f"at least {sum(done):,} faces")
        self.names = names if limits else self.names
        self.gate, self.largest, self.base = self.leak, np.max(largest, axis=0), self.base + len(bias)

    def _limits(self, left: int) -> list[int]:
        """Where parts of the sheet begin and end, once there are faces enough, counting for each what may become of it."""
        faces = len(self.whole)
        parts = min(faces * left // FACES, faces // 2, PARTS) if len(self.sheets) == 1 else 0
        return [faces * i // parts for i in range(parts + 1)] if parts >= LEAST else []

    def finish(self) -> Sheet:
        """The whole sheet."""
        from . import _join_kernel as kernel

        parts = self.sheets
        if len(parts) == 1:
            return parts[0]
        names = "vertices", "corners", "edges", "faces"
        v, s, e, f = ([0, *accumulate(len(p if n == "faces" else getattr(p, n)) for p in parts)] for n in names)
        vertex, edge, own_vertex, own_edge, lines, rows, beside = self._shared(v, e, f)
        shapes = (
            (own_vertex.sum(), 2),
            (own_vertex.sum(), parts[0].values.shape[1]),
            f[-1] + 1,
            s[-1],
            s[-1],
            (len(lines), 2),
            (len(lines), 2),
        )
        new = [np.empty(shape, np.int64 if i > 1 else np.float64) for i, shape in enumerate(shapes)]
        new[2][0] = 0

        def put(i: int) -> None:
            p, at, on = parts[i], slice(v[i], v[i + 1]), slice(e[i], e[i + 1])
            of_part = p.vertices, p.values, p.starts, p.corners, p.sides, p.edges, p.faces, vertex[at], edge[on]
            own, run = (own_vertex[at], own_edge[on], s[i], f[i]), slice(s[i], s[i + 1])
            to = *new[:2], new[2][f[i] + 1 : f[i + 1] + 1], new[3][run], new[4][run], *new[5:]
            kernel.place(*of_part, *own, *to)

        self._each(put, len(parts))
        new[6][rows] = np.where(new[6][rows] < 0, beside[:, None], new[6][rows])
        bits = tuple(np.concatenate(layer) for layer in zip(*(p.bits for p in parts)))
        return Sheet(*new[:6], lines, new[6], bits)

    def _shared(self, v: list[int], e: list[int], f: list[int]) -> tuple[np.ndarray, ...]:
        """New numbers of vertices and edges, which of them are new, the lines of edges, and the borders' second faces.

        Parts have their vertices, edges and faces from `v`, `e` and `f` on. What several have is numbered in the first of them.
        """
        from ._join_kernel import match

        name, same, seen = np.full(v[-1], -1), np.arange(v[-1]), np.empty(len(self.whole.vertices), np.int64)
        for names, at in [*zip(self.names, v)][::-1]:
            name[at : at + len(names)], seen[names] = names, at + np.arange(len(names))
        for names, at in zip(self.names, v):
            same[at : at + len(names)] = seen[names]
        border = [np.flatnonzero(p.lines < -self.frame) for p in self.sheets]
        own = [(r + e[i], p.edges[r] + v[i], p.faces[r].max(1) + f[i]) for i, (p, r) in enumerate(zip(self.sheets, border))]
        rows, ends, face = (np.concatenate(column) for column in zip(*own))
        lines = np.concatenate([p.lines for p in self.sheets])
        code = -1 - self.frame - lines[rows]
        pairs = match(code, ends, name, self.whole.edges, same)
        if 2 * len(pairs) < len(code):
            raise ValueError(FOLDED)
        lines[rows] = self.whole.lines[code]
        double = np.arange(e[-1])
        first, second = pairs.T
        double[rows[second]] = rows[first]
        own_vertex, own_edge = same == np.arange(v[-1]), double == np.arange(e[-1])
        vertex, edge = (np.cumsum(own_vertex) - 1)[same], (np.cumsum(own_edge) - 1)[double]
        return vertex, edge, own_vertex, own_edge, lines[own_edge], edge[rows[first]], face[second]

    def _each(self, work: Callable, count: int) -> list:
        """The work of each number, by the threads, in order."""
        return list(map(work, range(count)) if self.pool is None or count == 1 else self.pool.map(work, range(count)))
