"""The exact polyhedral complex of a ReLU network of the plane, or on a plane through its inputs (chapter geometry/polytopes)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch

from ..nets import ReLUNet

NOISE = 1e-12  # a value smaller than this, relative to the terms it is summed from, is zero
SQUARE = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))
MOST_FACES = 2_000_000
BLOCK = 4096  # edges, vertices or faces that are worth a thread of their own


@dataclass(frozen=True, eq=False)
class Complex:
    """A convex window cut into the faces on which a network is affine, one for each activation pattern; arrays are numpy's.

    `vertices` `(V, 2)`, `values` `(V, out)` the outputs there. Face f has the corners `corners[starts[f]:starts[f + 1]]`,
    counter-clockwise, and `sides` names the edge from each corner to the next. `edges` `(E, 2)` are their ends, lower number
    first, and `edge_faces` `(E, 2)` the faces to the left and to the right, -1 outside. `layer` and `neuron` `(E,)` say who drew
    an edge, the first in order where several did: hidden layers count from 0, the window's sides have layer -1.
    """

    net: ReLUNet
    vertices: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    corners: np.ndarray
    sides: np.ndarray
    edges: np.ndarray
    edge_faces: np.ndarray
    layer: np.ndarray
    neuron: np.ndarray
    bits: tuple[np.ndarray, ...]

    def __repr__(self) -> str:
        faces, edges, vertices = len(self), len(self.edges), len(self.vertices)
        return f"Complex({faces:,} faces, {edges:,} edges, {vertices:,} vertices, of a {self.net})"

    def __len__(self) -> int:
        return len(self.starts) - 1

    def face(self, f: int) -> np.ndarray:
        """The corners of face f, `(m, 2)`, counter-clockwise."""
        return self.vertices[self.corners[self.starts[f] : self.starts[f + 1]]]

    @cached_property
    def pattern(self) -> np.ndarray:
        """Which hidden neurons are on in each face: `(F, hidden)`, layer after layer, as `ReLUNet.pattern`."""
        layers = [np.unpackbits(b.view(np.uint8), axis=1, bitorder="little") for b in self.bits]
        widths = self.net.sizes[1:-1]
        return np.concatenate([layer[:, :n] for layer, n in zip(layers, widths)] or [np.zeros((len(self), 0))], 1).astype(bool)

    @cached_property
    def areas(self) -> np.ndarray:
        """The area of each face, `(F,)`."""
        origin = np.repeat(self.vertices[self.corners[self.starts[:-1]]], np.diff(self.starts), axis=0)
        after = np.roll(self.corners, -1)
        after[self.starts[1:] - 1] = self.corners[self.starts[:-1]]
        p, q = self.vertices[self.corners] - origin, self.vertices[after] - origin
        return np.add.reduceat(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0], self.starts[:-1]) / 2

    @cached_property
    def centres(self) -> np.ndarray:
        """A point inside each face, `(F, 2)`: the mean of its corners."""
        return np.add.reduceat(self.vertices[self.corners], self.starts[:-1]) / np.diff(self.starts)[:, None]

    @property
    def neighbours(self) -> np.ndarray:
        """Pairs of faces that share an edge, `(n, 2)`."""
        return self.edge_faces[(self.edge_faces >= 0).all(1)]

    def maps(self, faces=slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """The affine map of each face, slopes `(F, out, 2)` and offsets `(F, out)`: f(x) = slope x + offset on it."""
        on, net = self.pattern[faces], self.net
        parts = [_affine(net, on[i : i + BLOCK]) for i in range(0, max(len(on), 1), BLOCK)]
        both = np.concatenate(parts)
        return both[..., :-1], both[..., -1]


def _affine(net: ReLUNet, on: np.ndarray) -> np.ndarray:
    """Slope and, as the last column, offset of the network on faces of these patterns, `(F, out, in + 1)`."""
    weights, biases = [[a.double().cpu().numpy() for a in part] for part in (net.weights, net.biases)]
    gates = np.split(np.where(on, 1.0, net.leak), np.cumsum(net.sizes[1:-2]), axis=1) if len(weights) > 1 else []
    rows = np.broadcast_to(np.column_stack([weights[0], biases[0]]), (len(on), net.sizes[1], net.sizes[0] + 1))
    for gate, w, b in zip(gates, weights[1:], biases[1:]):
        rows = w @ (gate[..., None] * rows)
        rows[..., -1] += b
    return rows


def on_plane(net: ReLUNet, origin, axes) -> ReLUNet:
    """The network of two inputs (s, t) that is `net` at `origin + s axes[0] + t axes[1]`: exact regions on a slice."""
    origin, axes = (torch.as_tensor(a, dtype=torch.float64, device=net.device) for a in (origin, axes))
    n = net.sizes[0]
    if origin.shape != (n,) or axes.shape != (2, n):
        raise ValueError(f"a plane in {n} dimensions has an origin ({n},) and two axes (2, {n}); got {tuple(origin.shape)} and {tuple(axes.shape)}")
    if torch.linalg.matrix_rank(axes) < 2:
        raise ValueError("the two axes of a plane point in different directions; these are parallel, or zero")
    net = net.to(torch.float64)
    first = net.weights[0]
    return net._with([first @ axes.mT, *net.weights[1:]], [net.biases[0] + first @ origin, *net.biases[1:]])


def plane_through(a, b, c) -> tuple[np.ndarray, np.ndarray]:
    """Origin and two orthonormal axes of the plane through three points `(in,)`: a lies at (0, 0), b on the first axis."""
    a, b, c = (np.asarray(p, dtype=np.float64).reshape(-1) for p in (a, b, c))
    if not a.shape == b.shape == c.shape:
        raise ValueError(f"three points of one space; got sizes {a.size}, {b.size} and {c.size}")
    first = b - a
    length = np.linalg.norm(first)
    second = (c - a) - (first @ (c - a)) / max(length, 1e-300) ** 2 * first
    height = np.linalg.norm(second)
    if not (length > 0 and height > 1e-9 * np.linalg.norm(c - a)):
        raise ValueError("three points that lie on one line, or coincide, have no plane through them")
    return a, np.stack([first / length, second / height])


def regions(net: ReLUNet, window=SQUARE, most: int = MOST_FACES, threads: int | None = None) -> Complex:
    """The complex of one network of two inputs in a convex window `(m, 2)`, exactly: every activation pattern once.

    Computed in float64, in as many threads as torch has, or `threads`. It takes about 8 bytes times vertices (about as many as
    faces) times the widest layer, three times over. More than `most` faces are refused with the number reached.
    """
    _refuse(net, most)
    corners = _window(window)
    weights, biases = [[a.detach().double().cpu() for a in part] for part in (net.weights, net.biases)]
    threads = threads or torch.get_num_threads()
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(threads)) if threads > 1 else None
        sheet = _Sheet.whole(corners, _Crew(pool, threads))
        h, base, bits = torch.as_tensor(corners), 0, []
        for number, (w, b) in enumerate(zip(weights[:-1], biases[:-1])):
            sheet, z, parent, on = sheet.cut(torch.addmm(b, h, w.mT), _snap(w, b, h), base, most)
            if sheet is None:
                raise ValueError(f"more than {most:,} faces, reached in hidden layer {number} of {len(weights) - 1}: a smaller window, or most=")
            bits = [old[parent] for old in bits] + [on]
            h = torch.nn.functional.leaky_relu(torch.as_tensor(z), net.leak, inplace=True)
            base += len(b)
    values = (h @ weights[-1].mT + biases[-1]).numpy()
    widths, frame = net.sizes[1:-1], len(corners)
    who = [np.repeat(np.arange(-1, len(widths)), (frame, *widths)), np.concatenate([np.arange(n) for n in (frame, *widths)])]
    who[1][:frame] = who[1][:frame][::-1]  # the window's sides are lines -1, -2, ...
    layer, neuron = (a[sheet.lines + frame] for a in who)
    return Complex(
        net, sheet.vertices, values, sheet.starts, sheet.corners, sheet.sides, sheet.edges, sheet.faces, layer, neuron, tuple(bits)
    )


@dataclass(frozen=True, eq=False)
class _Crew:
    """Who does the work: the threads of a pool, or the caller alone."""

    pool: ThreadPoolExecutor | None
    threads: int

    def share(self, work: Callable, count: int) -> list:
        """`work(first, last)` for consecutive ranges of `count` things, in order."""
        parts = 1 if self.pool is None else max(1, min(4 * self.threads, count // BLOCK))
        return self.each(work, [count * i // parts for i in range(parts + 1)])

    def each(self, work: Callable, limits) -> list:
        """`work(first, last)` between every two of these limits, in order."""
        ranges = [(int(a), int(b)) for a, b in pairwise(limits)]
        return [work(*r) for r in ranges] if self.pool is None else list(self.pool.map(lambda r: work(*r), ranges))


@dataclass(frozen=True, eq=False)
class _Sheet:
    """A complex while it is drawn; `lines` `(E,)` numbers who drew an edge, the window's sides -1, -2, ..."""

    vertices: np.ndarray
    starts: np.ndarray
    corners: np.ndarray
    sides: np.ndarray
    edges: np.ndarray
    lines: np.ndarray
    faces: np.ndarray
    crew: _Crew

    @classmethod
    def whole(cls, window: np.ndarray, crew: _Crew) -> _Sheet:
        """The window as one face."""
        m = len(window)
        return cls._joined(window, np.array([0, m]), np.arange(m), -1 - np.arange(m), crew)

    @classmethod
    def _joined(cls, vertices, starts, corners, lines, crew) -> _Sheet:
        from ._region_kernel import join_sides

        sides, edges, lines, faces = join_sides(starts, corners, lines, len(vertices))
        if lines.min() == -(2**62):
            raise ValueError("the lines of this network lie so close together that float64 cannot tell their order: another window")
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
            return None, None, None, None
        starts, corners, sides, parent, on, inner, made = _together(parts, known)
        xy, z = _longer(self.vertices, known + made[-1]), _longer(z, known + made[-1])
        share(lambda a, b: kernel.fill_edges(self.edges, where, snap, *signs, xy, z, a, b), len(count))
        self.crew.each(lambda a, b: kernel.fill_inside(*inner, snap, xy, z, known, a, b), made)
        lines = np.where(sides >= 0, self.lines[np.maximum(sides, 0)], base - 1 - sides)
        corners, xy, z = _used(corners, xy, z)
        return self._joined(xy, starts, corners, lines, self.crew), z, parent, on


def _together(parts: list[tuple], known: int) -> tuple:
    """What the threads made, one after the other, and where the vertices of each begin, which get their final numbers."""
    starts, corners, sides, parent, on, *inner = zip(*parts)
    made = np.cumsum([0, *map(len, inner[0])])
    corners, pairs = ([np.where(c >= known, c + shift, c) if shift else c for c, shift in zip(a, made)] for a in (corners, inner[0]))
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


def _snap(w: torch.Tensor, b: torch.Tensor, h: torch.Tensor) -> np.ndarray:
    """Below what size a value of each neuron is rounding, `(n,)`."""
    least, largest = torch.aminmax(h, dim=0)
    return (NOISE * (w.abs() @ torch.maximum(-least, largest) + b.abs())).numpy()


def _refuse(net, most: int) -> None:
    if not isinstance(net, ReLUNet) or net.batch_shape or net.sizes[0] != 2:
        raise ValueError(f"regions are those of one ReLU network of two inputs (on_plane makes one of a slice); got a {net}")
    if most < 1:
        raise ValueError(f"most is a number of faces, at least 1; got {most}")


def _window(window) -> np.ndarray:
    """A convex polygon with its corners counter-clockwise; anything else is refused."""
    corners = np.array(window, dtype=np.float64)
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3 or not np.isfinite(corners).all():
        raise ValueError(f"a window is a convex polygon, at least three finite corners (m, 2); got shape {corners.shape}")
    way = np.roll(corners, -1, 0) - corners
    turn = way[:, 0] * np.roll(way, -1, 0)[:, 1] - way[:, 1] * np.roll(way, -1, 0)[:, 0]
    if (turn < 0).all():
        return np.ascontiguousarray(corners[::-1])
    around = np.abs(np.angle((way @ [1, 1j]) / np.roll(way @ [1, 1j], 1))).sum() if (turn > 0).all() else np.inf
    if not around < 2 * np.pi + 1e-6:
        raise ValueError("a window is convex, with its corners in order around it and none on the line between two others")
    return corners
