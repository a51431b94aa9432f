"""The complex while it is drawn: one layer after the other cuts its faces, and its parts are drawn apart, in several threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

AT_ONCE = 8000  # faces times lines that plain Python cuts while nothing is compiled: some tenths of a second
NOISE = 1e-12  # a value smaller than this, relative to the terms it is summed from, is zero
FACES, LEAST, PARTS = 256, 8, 32  # faces times layers to be drawn that make a part; as many parts at least, at most
FOLDED = "lines of this network lie closer together than float64 can tell: take another window"


class Sheet(NamedTuple):
    """A complex while it is drawn, or a part of it; `lines` `(E,)` numbers who drew an edge, the window's sides -1, -2, ...

    `values` `(V, n)` are those of the last layer, before its ReLU; `bits` `(F, words)` say which neurons are on in each face,
    layer after layer, each in words of its own. On the border of a part lie edges e of the whole as lines -1 - frame - e.
    """

    vertices: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    corners: np.ndarray
    sides: np.ndarray
    edges: np.ndarray
    lines: np.ndarray
    faces: np.ndarray
    bits: np.ndarray

    @classmethod
    def whole(cls, window: np.ndarray, values: np.ndarray) -> Sheet:
        """The window as one face, with these values at its corners."""
        last, m = len(window) - 1, np.arange(len(window))
        edges = np.array([*((i, i + 1) for i in range(last)), (0, last)])
        beside = np.array([(0, -1)] * last + [(-1, 0)])
        return cls(window, values, np.array([0, len(m)]), m, m, edges, -1 - m, beside, np.zeros((1, 0), np.uint64))


class Drawing:
    """A sheet that layers are drawn into. As soon as it has faces enough it falls into parts, which threads share.

    The parts are runs of consecutive faces and do not depend on the number of threads, so neither does anything that comes out.
    A layer is drawn into all of them before the next one, since what is rounding is judged beside the largest values of all.
    """

    def __init__(self, sheet: Sheet, frame: int, leak: float, most: int, threads: int | None):
        self.frame, self.leak, self.most, self.base = frame, leak, most, 0
        self.whole, self.sheets, self.names, self.borders, self.rooms = sheet, [sheet], (), (), []
        self.gate, self.largest = 1.0, np.abs(sheet.values).max(0, keepdims=True)  # the input goes through no ReLU
        self.threads = threads or torch.get_num_threads()

    def draw(self, weight: np.ndarray, bias: np.ndarray, left: int, above: tuple | None = None) -> None:
        """A layer `(n, in)`, `(n,)` more, of those `left`; after the last one the sheets have the values of the layer `above`.

        More than `most` faces are an OverflowError.
        """
        from .._plain import plain, ready
        from ._layer_kernel import draw

        if len(self.sheets) == 1 and len(self.sheets[0].bits) * len(bias) <= AT_ONCE and not ready(draw):
            draw = plain(draw)
        done: list[int] = []
        above = (np.zeros((0, len(bias))), np.zeros(0)) if above is None else above
        layers = [a if a.ndim < 2 else np.ascontiguousarray(a.T) for a in (weight, bias, *above)]
        if len(self.sheets) == 1:
            self.whole = self.sheets[0]
        limits, old, below = self._limits(left), list(self.sheets), self.largest
        number = len(limits) - 1 if limits else len(old)
        self.sheets, self.largest = [], np.empty((number, len(bias)))

        def one(i: int) -> tuple[Sheet, np.ndarray, np.ndarray]:
            sheet, run = (self.whole, limits[i : i + 2]) if limits else (old[i], (0, 0))
            before, room = sum(done), self.rooms.pop() if self.rooms else np.empty(0)
            how = self.gate, self.leak, *layers, NOISE, below, self.base, self.most - before
            new, names, border, room = draw(*run, self.frame, *sheet, *how, self.largest[i], room)
            if not limits:
                sheet = old[i] = None  # freed here, by several threads, and not by one at the end
            self.rooms.append(room)
            new = Sheet(*new)
            done.append(len(new.bits))
            if sum(done) > self.most:
                raise OverflowError(f"at least {sum(done):,} faces")
            if not len(new.edges):  # a side without its twin
                raise ValueError(FOLDED)
            return new, names, border

        sizes = [b - a for a, b in pairwise(limits)] if limits else [len(sheet.vertices) for sheet in old]
        sheets, names, self.borders = zip(*self._each(one, sizes))
        self.sheets = list(sheets)
        self.names = names if limits else self.names
        self.gate, self.base = self.leak, self.base + len(bias)

    def _limits(self, left: int) -> list[int]:
        """Where parts of the sheet begin and end, once there are faces enough, counting for each what may become of it."""
        faces = len(self.whole.bits)
        parts = min(faces * left // FACES, faces // 2, PARTS) if len(self.sheets) == 1 else 0
        # each smaller than the one before it: the small ones are drawn last, so that threads end together; none is empty
        return sorted({faces * i * (2 * parts - i) // parts**2 for i in range(parts + 1)}) if parts >= LEAST else []

    def finish(self) -> Sheet:
        """The whole sheet."""
        from ._join_kernel import close, number, place

        parts: list = self.sheets
        self.sheets = []
        if len(parts) == 1:
            return parts[0]
        sizes = [(*map(len, (p.vertices, p.edges, p.bits, p.corners, *own)),) for p, *own in zip(parts, self.names, self.borders)]
        count = np.cumsum([(0,) * 6, *sizes], axis=0)  # how many come before each part, and the sum at the end
        names, border = np.concatenate(self.names), np.concatenate(self.borders)
        vertex, edge, begin, second = number(count, names, border, len(self.whole.vertices), self.whole.edges)
        if not len(vertex):
            raise ValueError(FOLDED)
        (vertices, edges), (_, _, faces, sides, *_), empty = begin[-1], count[-1], np.empty
        shapes = (faces + 1, sides, sides, (edges, 2), edges, (edges, 2))
        whole = [empty((vertices, 2)), empty((vertices, parts[0].values.shape[1])), *(empty(n, np.int64) for n in shapes)]
        new = Sheet(*whole, empty((faces, parts[0].bits.shape[1]), np.uint64))
        new.starts[0] = 0

        def put(i: int) -> None:
            (v, e, f, s, *_), (v_end, e_end, f_end, s_end, *_) = count[i : i + 2].tolist()
            own = vertex[v:v_end], edge[e:e_end], begin[i], s, f, self.frame, self.whole.lines
            runs = new.starts[f + 1 : f_end + 1], new.corners[s:s_end], new.sides[s:s_end]
            rest = new.edges, new.lines, new.faces, new.bits[f:f_end]
            place(*parts[i], *own, new.vertices, new.values, *runs, *rest)
            parts[i] = None  # freed here as well

        self._each(put, [row[3] for row in sizes])
        close(second, new.faces)
        return new

    def _each(self, work: Callable, sizes: Iterable) -> list:
        """The work of each number, in order; done by this thread and others, the largest first."""
        sizes = list(sizes)
        todo, results = deque(sorted(range(len(sizes)), key=lambda i: -sizes[i])), [None] * len(sizes)

        def some() -> None:
            while todo:
                try:
                    i = todo.popleft()
                except IndexError:  # another thread was faster
                    return
                try:
                    results[i] = work(i)
                except BaseException:
                    todo.clear()
                    raise

        others = min(self.threads, len(sizes)) - 1
        helped = [_helpers(self.threads - 1).submit(some) for _ in range(others)]
        try:
            some()
        finally:
            [h.exception() for h in helped]  # nobody is at work any more
        for h in helped:
            h.result()
        return results


@cache
def _helpers(threads: int) -> ThreadPoolExecutor:
    """Threads that are kept, since starting one takes as long as a small sheet."""
    return ThreadPoolExecutor(threads, thread_name_prefix="regions")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a fork has none of them
