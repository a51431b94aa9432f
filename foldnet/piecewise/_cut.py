"""The pieces of a traced network on a plane, step by step.

The values of a step at the corners of all pieces come from passes through the network, in chunks; only units that change sides
among them are kept, and cut the pieces as a layer of lines does. A max pooling of m pixels is m - 1 such steps, each between a
pixel and the largest of those before it; then pieces are joined in which a later pixel is larger than both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, fx

from ..geometry._outlines import SQUARE, convex
from ..geometry._sheet import Drawing, Sheet
from ..geometry.regions import MOST_FACES
from ._merge import merged
from ._walk import NOISE
from .plane import Section, Slice

if TYPE_CHECKING:
    from .net import PiecewiseLinear

ROOM = 64 * 2**20  # bytes of values that a drawing begins with; LINES units at most are drawn at once
LINES = 256


def pieces(net: PiecewiseLinear, origin=None, axes=None, window=SQUARE, most: int = MOST_FACES) -> Slice:
    """All pieces of a network in a convex window of a plane.

    net: a traced network; one of two inputs needs no plane.
    origin: the input at (0, 0) of the plane.
    axes: the two directions u and v, each of the shape of an input.
    window: a number r for the square from -r to r, a box ((x0, x1), (y0, y1)), or the corners of a convex polygon (m, 2).
    most: more pieces than this are refused.
    """
    section, frame = _section(net, origin, axes), convex(window)
    sheet, base, words = Sheet.whole(frame, np.zeros((len(frame), 0))), 0, 0
    layer, column, widths, numbers = [], [], [], []  # of all lines; of all steps
    for step, name in enumerate(net.graph.kinked):
        units, before, first = [np.zeros(0, np.int64)], words, base
        pixels = _window(section, name)
        for k in range(1, max(2, pixels)):  # a pooling is drawn pixel by pixel
            ahead, floor = _changing(section, name, k, sheet.vertices)
            while len(ahead):  # values of a few units at a time, since there may be thousands, and a million vertices
                many = min(LINES, max(64, ROOM // (8 * len(sheet.vertices))))
                changing, ahead = ahead[:many], ahead[many:]
                values = _values(section, name, k, sheet.vertices, changing, floor)
                drawing = Drawing(sheet._replace(values=values), len(frame), 1.0, most, None)
                drawing.base = base
                try:
                    drawing.draw(np.eye(len(changing)), np.zeros(len(changing)), 1)
                    sheet, base = drawing.finish(), base + len(changing)
                except ValueError as error:
                    coarse = f"{net.dtype} is too coarse for this window: take of(model.double()), or a smaller one"
                    raise ValueError(str(error) if net.dtype == torch.float64 else coarse) from None
                except (OverflowError, MemoryError) as error:
                    why = error if isinstance(error, OverflowError) else "more pieces than memory holds"
                    raise ValueError(f"{why} at {name}: take a smaller window, or raise most={most:,}") from None
                start = 64 * (words - before)  # each drawing has words of bits of its own
                units.append(np.full(start - len(np.concatenate(units)), -1))
                units.append(changing)
                column.append(start + np.arange(len(changing)))
                layer.append(np.full(len(changing), step))
                words += -(-len(changing) // 64)
        numbers.append(np.concatenate(units))
        widths.append(len(numbers[-1]))
        if pixels > 2 and base > first:
            sheet = merged(sheet, _false(section, name, np.unique(numbers[-1][numbers[-1] >= 0]), sheet, first))
            sheet.bits[:, before:words] = 0
    sheet = sheet._replace(values=section(sheet.vertices).cpu().numpy())
    layer, column = np.concatenate([*layer, np.full(len(frame), -1)]), np.concatenate([*column, np.arange(len(frame))[::-1]])
    section = replace(section, sizes=(2, *widths, int(np.prod(net.output_shape))))
    ends = np.cumsum([-(-width // 64) for width in widths])[:-1]
    bits = tuple(map(np.ascontiguousarray, np.split(sheet.bits, ends, axis=1))) if widths else ()
    parts = (sheet.vertices, sheet.values, sheet.starts, sheet.corners, sheet.sides, sheet.edges, sheet.faces)
    return Slice(section, *parts, layer[sheet.lines], column[sheet.lines], bits, tuple(numbers))


def _section(net: PiecewiseLinear, origin, axes) -> Section:
    size = int(np.prod(net.input_shape))
    if (origin is None) != (axes is None) or (origin is None and size != 2):
        raise ValueError(f"a plane in {size} dimensions has an origin and two axes")
    origin = torch.zeros(2) if origin is None else torch.as_tensor(origin)
    axes = torch.eye(2) if axes is None else torch.stack([torch.as_tensor(axis).flatten() for axis in axes])
    origin, axes = (p.detach().to(net.device, torch.float64) for p in (origin.flatten(), axes))
    if origin.shape != (size,) or axes.shape != (2, size):
        shapes = f"{tuple(origin.shape)} and {tuple(axes.shape)}"
        raise ValueError(f"origin and axes have the shape of an input, {net.input_shape}; got {shapes}")
    if not (origin.isfinite().all() and axes.isfinite().all()):
        raise ValueError("origin and axes of a plane are finite; some numbers here are NaN or infinite")
    if torch.linalg.matrix_rank(axes) < 2:
        raise ValueError("the two axes of a plane point in different directions; these are parallel, or zero")
    return Section(net, origin, axes)


@torch.no_grad()
def _window(section: Section, name: str) -> int:
    """How many pixels a window of a pooling has; 0 of other steps."""
    seen = [0]

    def see(node: fx.Node, values: dict) -> None:
        if node.name == name and section.net.graph.kinds[node] == "pool":
            seen.append(section.net.graph.windows(node, values)[0].shape[2])

    section.net.graph.run(section.inputs(np.zeros((1, 2))), see, until=name)
    return seen[-1]


def _seen(section: Section, name: str, k: int, x: Tensor, columns) -> Tensor:
    """The values of a step's units `columns` at inputs; of a pooling those of its k-th pixel beside the ones before it."""
    graph, seen = section.net.graph, []

    def see(node: fx.Node, values: dict) -> None:
        if node.name == name:
            z = graph.round(node, values, k) if graph.kinds[node] == "pool" else graph.decisions(node, values)
            seen.append(z[:, columns])

    graph.run(x, see, until=name)
    return seen[0]


@torch.no_grad()
def _changing(section: Section, name: str, k: int, vertices: np.ndarray) -> tuple[np.ndarray, float]:
    """The units of a step that change sides among the corners of pieces, and what counts as zero there."""
    chunks = section.chunks(vertices)
    both = torch.stack([torch.stack(_seen(section, name, k, x, slice(None)).aminmax(dim=0)) for x in chunks])
    low, high = both[:, 0].amin(0), both[:, 1].amax(0)
    floor = NOISE[section.net.dtype] * max(float(low.abs().max()), float(high.abs().max()))
    return ((low < -floor) & (high > floor)).nonzero().flatten().cpu().numpy(), floor


@torch.no_grad()
def _values(section: Section, name: str, k: int, vertices: np.ndarray, columns: np.ndarray, floor: float) -> np.ndarray:
    """The values of some units of a step at the corners of pieces, `(V, units)`."""
    which = torch.as_tensor(columns, device=section.axes.device)
    found = torch.cat([_seen(section, name, k, x, which) for x in section.chunks(vertices)])
    return torch.where(found.abs() <= floor, 0.0, found).double().cpu().numpy()


@torch.no_grad()
def _false(section: Section, name: str, units: np.ndarray, sheet: Sheet, first: int) -> np.ndarray:
    """Which edges separate nothing: those of a pooling on both sides of which each unit takes the same pixel, `(E,)`."""
    graph, seen = section.net.graph, []

    def see(node: fx.Node, values: dict) -> None:
        if node.name == name:
            windows = graph.windows(node, values)[0][:, units]
            floor = NOISE[windows.dtype] * windows.abs().where(windows.isfinite(), 0.0).max()
            seen.append(windows >= windows.amax(2, keepdim=True) - floor)

    candidates = np.flatnonzero((sheet.lines >= first) & (sheet.faces >= 0).all(1))
    centres = np.add.reduceat(sheet.vertices[sheet.corners], sheet.starts[:-1]) / np.diff(sheet.starts)[:, None]
    same = [np.zeros(0, dtype=bool)]
    for left, right in zip(*(section.chunks(centres[faces]) for faces in sheet.faces[candidates].T)):
        for x in (left, right):
            graph.run(x, see, until=name)
        right_takes, left_takes = seen.pop(), seen.pop()
        same.append((left_takes & right_takes).any(2).all(1).cpu().numpy())
    false = np.zeros(len(sheet.edges), dtype=bool)
    false[candidates] = np.concatenate(same)
    return false
