"""The exact regions of a ReLU network of the plane, or on a plane through its inputs (chapter geometry/polytopes)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import combinations

import numpy as np
import torch
from torch.nn.functional import leaky_relu

from ..nets import ReLUNet
from ._sheet import Crew, Sheet
from .complex import Complex

NOISE = 1e-12  # a value smaller than this, relative to the terms it is summed from, is zero
SQUARE = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))
MOST_FACES = 2_000_000


def regions(net: ReLUNet, window=SQUARE, most: int = MOST_FACES, threads: int | None = None) -> Complex:
    """The complex of one network of two inputs in a convex window `(m, 2)`, exactly: every activation pattern once.

    Computed in float64, in as many threads as torch has, or `threads`. It takes about 8 bytes times vertices (about as many as
    faces) times the widest layer, three times over. More than `most` faces are refused. The first call compiles for a while.
    """
    _refuse(net, most)
    frame = _window(window)
    weights, biases = ([a.detach().double().cpu() for a in part] for part in (net.weights, net.biases))
    h, base, bits = torch.as_tensor(frame), 0, []
    with _crew(threads) as crew:
        sheet = Sheet.whole(frame, crew)
        for layer, (w, b) in enumerate(zip(weights[:-1], biases[:-1])):
            try:
                sheet, z, parent, on = sheet.cut(torch.addmm(b, h, w.mT), _snap(w, b, h), base, most)
            except OverflowError as error:
                raise ValueError(f"{error} in hidden layer {layer} of {len(weights) - 1}: a smaller window, or most=") from None
            bits = [*(old[parent] for old in bits), on]
            h, base = leaky_relu(torch.as_tensor(z), net.leak, inplace=True), base + len(b)
    values = torch.addmm(biases[-1], h, weights[-1].mT).numpy()
    return _complex(net, sheet, values, bits, net.sizes[1:-1], len(frame))


def decision(c: Complex, most: int = MOST_FACES, threads: int | None = None) -> tuple[Complex, np.ndarray]:
    """The complex cut further so that each face has one class, and the class of each face `(F,)`.

    The class is the largest output, the first of equal ones; of one output, whether it is positive. New edges have the layer
    after the hidden ones and as neuron the number of the pair of outputs that are equal there (0-1, 0-2, ..., 1-2, ...).
    """
    outputs, hidden, frame = c.values.shape[1], c.net.sizes[1:-1], c.neuron[c.layer < 0].max() + 1
    one = np.eye(outputs)
    w = torch.as_tensor(one if outputs == 1 else np.array([one[i] - one[j] for i, j in combinations(range(outputs), 2)]))
    first = np.concatenate([[-frame], np.cumsum((0, *hidden))])  # the number of each layer's first line
    lines = np.where(c.layer < 0, -1 - c.neuron, first[c.layer + 1] + c.neuron)
    values = torch.as_tensor(c.values)
    with _crew(threads) as crew:
        sheet = Sheet(c.vertices, c.starts, c.corners, c.sides, c.edges, lines, c.edge_faces, crew)
        try:
            sheet, _, parent, on = sheet.cut(values @ w.mT, _snap(w, torch.zeros(len(w)), values), sum(hidden), most)
        except OverflowError as error:
            raise ValueError(f"{error} where classes meet: a smaller window, or most=") from None
    values = c.net.to(torch.float64)(torch.as_tensor(sheet.vertices)).numpy()
    finer = _complex(c.net, sheet, values, [old[parent] for old in c.bits], (*hidden, len(w)), frame)
    totals = np.add.reduceat(values[finer.corners], finer.starts[:-1])
    return finer, on[:, 0].astype(np.int64) if outputs == 1 else totals.argmax(1)


def boundary(c: Complex, **options) -> list[np.ndarray]:
    """The decision boundary in the window as polylines `(k, 2)`, closed ones with their first point again at the end."""
    finer, winner = decision(c, **options)
    left, right = finer.edge_faces.T
    between = (left >= 0) & (right >= 0) & (winner[left] != winner[right])
    return [finer.vertices[chain] for chain in chains(finer.edges[between])]


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


def on_plane(net: ReLUNet, origin, axes) -> ReLUNet:
    """The network of two inputs (s, t) that is `net` at `origin + s axes[0] + t axes[1]`: exact regions on a slice."""
    origin, axes = (torch.as_tensor(a, dtype=torch.float64, device=net.device) for a in (origin, axes))
    n = net.sizes[0]
    if origin.shape != (n,) or axes.shape != (2, n):
        shapes = f"{tuple(origin.shape)} and {tuple(axes.shape)}"
        raise ValueError(f"a plane in {n} dimensions has an origin ({n},) and two axes (2, {n}); got {shapes}")
    if torch.linalg.matrix_rank(axes) < 2:
        raise ValueError("the two axes of a plane point in different directions; these are parallel, or zero")
    net = net.to(torch.float64)
    first = net.weights[0]
    return net.with_layers([first @ axes.mT, *net.weights[1:]], [net.biases[0] + first @ origin, *net.biases[1:]])


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


def _crew(threads: int | None):
    """A context in which the work is shared by so many threads, as many as torch has if it is None."""
    threads = threads or torch.get_num_threads()
    return closing(Crew(ThreadPoolExecutor(threads) if threads > 1 else None, threads))


def _snap(w: torch.Tensor, b: torch.Tensor, h: torch.Tensor) -> np.ndarray:
    """Below what size a value of each neuron is rounding, `(n,)`."""
    least, largest = torch.aminmax(h, dim=0)
    return (NOISE * (w.abs() @ torch.maximum(-least, largest) + b.abs())).numpy()


def _complex(net: ReLUNet, sheet: Sheet, values: np.ndarray, bits: list, widths, frame: int) -> Complex:
    """The finished value; lines are numbered through all layers, the window's sides -1, -2, ..."""
    layer = np.repeat(np.arange(-1, len(widths)), (frame, *widths))
    neuron = np.concatenate([np.arange(frame)[::-1], *(np.arange(width) for width in widths)])
    return Complex(
        net=net, vertices=sheet.vertices, values=values, starts=sheet.starts, corners=sheet.corners, sides=sheet.sides,
        edges=sheet.edges, edge_faces=sheet.faces, layer=layer[sheet.lines + frame], neuron=neuron[sheet.lines + frame],
        bits=tuple(bits),
    )  # fmt: skip
