"""The exact regions of a ReLU network of the plane, or on a plane through its inputs (chapter geometry/polytopes).

>>> from foldnet.geometry.regions import boundary, regions
>>> from foldnet.nets import ReLUNet
>>> net = ReLUNet([[[1.0, 1.0], [1.0, -1.0]], [[1.0, -1.0]]], [[0.0, 0.0], [-0.2]])
>>> len(boundary(regions(net)))
1
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import torch

from ..nets import ReLUNet
from ._outlines import SQUARE, chains, convex
from ._sheet import NOISE, Drawing, Sheet
from .complex import Complex

MOST_FACES = 2_000_000


def regions(net: ReLUNet, window=SQUARE, most: int = MOST_FACES, threads: int | None = None) -> Complex:
    """The complex of one network of two inputs in a convex window, exactly: every activation pattern once.

    `net`: one network of two inputs; `on_plane` makes one of a slice through more inputs.
    `window`: a number r for the square from -r to r, a box ((x0, x1), (y0, y1)), or the corners of a convex polygon (m, 2).
    `most`: more faces are refused.
    `threads`: how many work, as many as torch has where it is None; the result does not depend on it.
    Computed in float64. Memory is about 8 bytes for each face and neuron of the widest layer, three times over. The first call
    compiles for a while.
    """
    _refuse(net, most, threads)
    frame = convex(window)
    *layers, output = ([a.detach().double().cpu().numpy() for a in layer] for layer in zip(net.weights, net.biases))
    numbers = [a for layer in (*layers, output) for a in layer]
    if not np.isfinite(sum(a.sum() for a in numbers)) and not all(np.isfinite(a).all() for a in numbers):  # a sum is quicker
        raise ValueError("a network with weights that are NaN or infinite has no regions: did its training diverge?")
    blank = Sheet.whole(frame, frame if layers else frame @ output[0].T + output[1])
    drawing = Drawing(blank, len(frame), net.leak, most, threads)
    for i, (w, b) in enumerate(layers, 1):
        try:
            drawing.draw(w, b, len(layers) + 1 - i, tuple(output) if i == len(layers) else None)
        except OverflowError as error:
            where = f"in hidden layer {i} of {len(layers)}"
            raise ValueError(f"{error} {where}: take a smaller window, or raise most={most:,}") from None
    return _complex(net, drawing.finish(), net.sizes[1:-1], len(frame))


def decision(c: Complex, most: int = MOST_FACES, threads: int | None = None) -> tuple[Complex, np.ndarray]:
    """The complex cut further so that each face has one class, and the class of each face `(F,)`.

    `c`: what `regions` gives; `most` and `threads` as there.
    The class is the largest output, the first of equal ones; of one output, whether it is positive. New edges have the layer
    after the hidden ones and as neuron the number of the pair of outputs that are equal there (0-1, 0-2, ..., 1-2, ...).
    """
    outputs, hidden, frame = c.values.shape[1], c.net.sizes[1:-1], c.neuron[c.layer < 0].max() + 1
    one = np.eye(outputs)
    w = one if outputs == 1 else np.array([one[i] - one[j] for i, j in combinations(range(outputs), 2)])
    first = np.concatenate([[-frame], np.cumsum((0, *hidden))])  # the number of each layer's first line
    lines = np.where(c.layer < 0, -1 - c.neuron, first[c.layer + 1] + c.neuron)
    bits = np.concatenate(c.bits or [np.zeros((len(c), 0), np.uint64)], axis=1)
    sheet = Sheet(c.vertices, c.values, c.starts, c.corners, c.sides, c.edges, lines, c.edge_faces, bits)
    drawing = Drawing(sheet, frame, 1.0, most, threads)
    drawing.base = sum(hidden)
    try:
        drawing.draw(w, np.zeros(len(w)), 1)
    except OverflowError as error:
        raise ValueError(f"{error} where classes meet: take a smaller window, or raise most={most:,}") from None
    sheet = drawing.finish()
    values = c.net.to(torch.float64)(torch.as_tensor(sheet.vertices)).detach().cpu().numpy()
    finer = _complex(c.net, sheet._replace(values=values), (*hidden, len(w)), frame)
    *bits, on = finer.bits
    finer = replace(finer, bits=tuple(bits))
    totals = np.add.reduceat(values[finer.corners], finer.starts[:-1])
    if outputs == 1:
        return finer, on[:, 0].astype(np.int64)
    ties = totals.max(1, keepdims=True) - NOISE * np.abs(values).max(initial=0.0)  # what differs by rounding is equal
    return finer, (totals >= ties).argmax(1)


def boundary(c: Complex, **options) -> list[np.ndarray]:
    """The decision boundary in the window as polylines `(k, 2)`, closed ones with their first point again at the end.

    `options`: `most` and `threads`, as for `regions`.
    """
    finer, winner = decision(c, **options)
    left, right = finer.edge_faces.T
    between = (left >= 0) & (right >= 0) & (winner[left] != winner[right])
    return [finer.vertices[chain] for chain in chains(finer.edges[between])]


def on_plane(net: ReLUNet, origin, axes) -> ReLUNet:
    """The network of two inputs (s, t) that is `net` at `origin + s axes[0] + t axes[1]`: exact regions on a slice.

    `net`: a network of n inputs, or a batch of them.
    `origin`: the point `(n,)` at (0, 0), as `plane_through` gives it.
    `axes`: two directions `(2, n)`, not parallel.
    """
    origin, axes = (torch.as_tensor(a, dtype=torch.float64, device=net.device) for a in (origin, axes))
    n = net.sizes[0]
    if origin.shape != (n,) or axes.shape != (2, n):
        shapes = f"{tuple(origin.shape)} and {tuple(axes.shape)}"
        raise ValueError(f"a plane in {n} dimensions has an origin ({n},) and two axes (2, {n}); got {shapes}")
    if not (origin.isfinite().all() and axes.isfinite().all()):
        raise ValueError("the origin and the axes of a plane are finite numbers; here are some that are NaN or infinite")
    if torch.linalg.matrix_rank(axes) < 2:
        raise ValueError("the two axes of a plane point in different directions; these are parallel, or zero")
    net = net.to(torch.float64)
    first = net.weights[0]
    return net.with_layers([first @ axes.mT, *net.weights[1:]], [net.biases[0] + first @ origin, *net.biases[1:]])


def plane_through(a, b, c) -> tuple[np.ndarray, np.ndarray]:
    """Origin and two orthonormal axes of the plane through points a, b, c `(in,)`: a lies at (0, 0), b on the first axis."""
    a, b, c = (np.asarray(p, dtype=np.float64).reshape(-1) for p in (a, b, c))
    if not a.shape == b.shape == c.shape or not np.isfinite([a, b, c]).all():
        raise ValueError(f"three finite points of one space are needed; got sizes {a.size}, {b.size} and {c.size}")
    first = b - a
    length = np.linalg.norm(first)
    second = (c - a) - (first @ (c - a)) / max(length**2, 1e-300) * first
    height = np.linalg.norm(second)
    if not (length > 0 and height > 1e-9 * np.linalg.norm(c - a)):
        raise ValueError("three points that lie on one line, or coincide, have no plane through them")
    return a, np.stack([first / length, second / height])


def _refuse(net, most: int, threads: int | None) -> None:
    if not isinstance(net, ReLUNet) or net.batch_shape or net.sizes[0] != 2:
        raise ValueError(f"regions are those of one ReLU network of two inputs (on_plane makes one of a slice); got a {net}")
    if most < 1 or (threads is not None and threads < 1):
        raise ValueError(f"most is a number of faces and threads one of threads, at least 1; got {most} and {threads}")


def _complex(net: ReLUNet, sheet: Sheet, widths, frame: int) -> Complex:
    """The finished value; lines are numbered through all layers, the window's sides -1, -2, ..., so that they come last."""
    layer = np.repeat([*range(len(widths)), -1], (*widths, frame))
    neuron = np.concatenate([*(np.arange(width) for width in widths), np.arange(frame)[::-1]])
    words = np.cumsum([-(-width // 64) for width in widths])[:-1]
    bits = tuple(map(np.ascontiguousarray, np.split(sheet.bits, words, axis=1))) if len(widths) else ()
    return Complex(
        net=net, vertices=sheet.vertices, values=sheet.values, starts=sheet.starts, corners=sheet.corners, sides=sheet.sides,
        edges=sheet.edges, edge_faces=sheet.faces, layer=layer[sheet.lines], neuron=neuron[sheet.lines], bits=bits,
    )  # fmt: skip
