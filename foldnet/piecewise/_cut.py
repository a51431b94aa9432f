"""The pieces of a traced network on a plane, step by step.

The values of a step at the corners of all pieces come from passes through the network, in chunks; only units that change sides
among them are kept, and cut the pieces as a layer of lines does. A max pooling of m pixels is m - 1 such steps, each between a
pixel and the largest of those before it; then pieces are joined in which a later pixel is larger than both.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, fx

from .._progress import bar
from ..geometry._outlines import SQUARE, convex
from ..geometry._sheet import Drawing, Sheet
from ..geometry.regions import MOST_FACES, on_plane, regions
from ._layers import first as first_of
from ._merge import merged
from ._passes import Passes
from ._walk import NOISE
from .plane import Section, Slice
from .trace import Graph

if TYPE_CHECKING:
    from .net import PiecewiseLinear

ROOM = 64 * 2**20  # bytes of values that a drawing begins with; LINES units at most are drawn at once
LINES = 256


def pieces(net: PiecewiseLinear, origin=None, axes=None, window=SQUARE, most: int = MOST_FACES, progress: bool = False) -> Slice:
    """All pieces of a network in a convex window of a plane.

    net: a traced network; one of two inputs needs no plane.
    origin: the input at (0, 0) of the plane.
    axes: the two directions u and v, each of the shape of an input.
    window: a number r for the square from -r to r, a box ((x0, x1), (y0, y1)), or the corners of a convex polygon (m, 2).
    most: more pieces than this are refused.
    progress: show a bar.
    """
    section, frame = _section(net, origin, axes), convex(window)
    try:
        with bar(len(net.graph.kinked), progress, "step") as shown:
            return _drawn(net, section, frame, most, shown)
    except TooMany as error:
        more = "" if error.memory else f", or raise most={most:,}"
        raise ValueError(f"{error}: take a smaller window{_that_would_do(net, section, frame, error.goal)}{more}") from None


class TooMany(Exception):
    """More pieces than are wanted, or than memory holds; `goal` of them would do."""

    def __init__(self, why: str, goal: int, memory: bool):
        super().__init__(why)
        self.goal, self.memory = goal, memory


def _that_would_do(net: PiecewiseLinear, section: Section, frame: np.ndarray, goal: int) -> str:
    """How large a window about the same middle has four fifths of so many pieces, by a small one's number of them."""
    middle, found = frame.mean(0), (0.0, 0)
    for share in (2.0**-9, 2.0**-7, 2.0**-5, 2.0**-4, 2.0**-3, 2.0**-2, 2.0**-1):
        try:
            found = share, len(_drawn(net, section, middle + share * (frame - middle), goal))
        except (TooMany, ValueError):
            break
        if found[1] > min(100, goal / 8):
            break
    share, count = found
    if not count:
        return ""
    size = min(0.9, share * (0.8 * goal / count) ** 0.5)
    return f", {size:.2g} times as wide (some {max(1, round(count * (size / share) ** 2)):,} pieces)"


def _dense(net: PiecewiseLinear, section: Section, frame: np.ndarray, most: int) -> Slice | None:
    """The pieces by the kernels for dense networks, which are faster; None where the network is no such chain in float64."""
    if net.dense is None:
        return None
    dense = net.dense if section.whole else on_plane(net.dense, section.origin, section.axes)
    try:
        found = regions(dense, frame, most)
    except MemoryError:
        raise TooMany("more pieces than memory holds", most // 2, True) from None
    except ValueError as error:
        if isinstance(error.__context__, OverflowError):
            raise TooMany(str(error).split(":")[0], most, False) from None
        raise
    section = replace(section, sizes=(2, *dense.sizes[1:]))
    parts = (getattr(found, part.name) for part in fields(found) if part.name != "net")
    return Slice(section, *parts, tuple(map(np.arange, dense.sizes[1:-1])))


def _drawn(net: PiecewiseLinear, section: Section, frame: np.ndarray, most: int, shown: Any = None) -> Slice:
    """The pieces, step by step; `shown` is a bar or None."""
    if (found := _dense(net, section, frame, most)) is not None:
        return found
    passes = Passes(net.graph, section.inputs, net.device, section.at_once)
    sheet, base, words = Sheet.whole(frame, np.zeros((len(frame), 0))), 0, 0
    layer, column, widths, numbers = [], [], [], []  # of all lines; of all steps
    for step, name in enumerate(net.graph.kinked):
        units, before, first = [np.zeros(0, np.int64)], words, base
        pixels = _window(section, name)
        for k in range(1, max(2, pixels)):  # a pooling is drawn pixel by pixel
            ahead, floor = _changing(passes, name, k, sheet.vertices)
            while len(ahead):  # values of a few units at a time, since there may be thousands, and a million vertices
                many = min(LINES, max(64, ROOM // (8 * len(sheet.vertices))))
                changing, ahead = ahead[:many], ahead[many:]
                values = _values(passes, name, k, sheet.vertices, changing, floor)
                drawing = Drawing(sheet._replace(values=values), len(frame), 1.0, most, None)
                drawing.base = base
                try:
                    drawing.draw(np.eye(len(changing)), np.zeros(len(changing)), 1)
                    sheet, base = drawing.finish(), base + len(changing)
                except ValueError as error:
                    coarse = f"{net.dtype} is too coarse for this window: take of(model.double()), or a smaller one"
                    raise ValueError(str(error) if net.dtype == torch.float64 else coarse) from None
                except OverflowError as error:
                    raise TooMany(f"{error} at {name}", most, False) from None
                except MemoryError:
                    raise TooMany(f"more pieces than memory holds at {name}", len(sheet.bits) // 2, True) from None
                start = 64 * (words - before)  # each drawing has words of bits of its own
                units.append(np.full(start - len(np.concatenate(units)), -1))
                units.append(changing)
                column.append(start + np.arange(len(changing)))
                layer.append(np.full(len(changing), step))
                words += -(-len(changing) // 64)
                if shown is not None:
                    shown.set_postfix_str(f"{len(sheet.bits):,} pieces")
        if shown is not None:
            shown.update(1)
        numbers.append(np.concatenate(units))
        widths.append(len(numbers[-1]))
        if pixels > 2 and base > first:
            sheet = merged(sheet, _false(section, name, np.unique(numbers[-1][numbers[-1] >= 0]), sheet, first))
            sheet.bits[:, before:words] = 0
    ends, place = passes.each("output", sheet.vertices, lambda node, values: values[first_of(node)].flatten())
    sheet = sheet._replace(values=torch.cat(ends).double().cpu().numpy().reshape(-1, int(np.prod(net.output_shape)))[place])
    layer, column = np.concatenate([*layer, np.full(len(frame), -1)]), np.concatenate([*column, np.arange(len(frame))[::-1]])
    section = replace(section, sizes=(2, *widths, int(np.prod(net.output_shape))), known=(sheet.vertices, sheet.values))
    ends = np.cumsum([-(-width // 64) for width in widths])[:-1]
    bits = tuple(map(np.ascontiguousarray, np.split(sheet.bits, ends, axis=1))) if widths else ()
    parts = (sheet.vertices, sheet.values, sheet.starts, sheet.corners, sheet.sides, sheet.edges, sheet.faces)
    return Slice(section, *parts, layer[sheet.lines], column[sheet.lines], bits, tuple(numbers))


def _section(net: PiecewiseLinear, origin, axes) -> Section:
    size = int(np.prod(net.input_shape))
    if (origin is None) != (axes is None) or (origin is None and size != 2):
        how = "" if size == 2 else ": regions() is for two inputs, net.plane(origin, u, v, window) takes others"
        raise ValueError(f"a plane in {size} dimensions has an origin and two axes{how}")
    whole = origin is None
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
    return Section(net, origin, axes, whole=whole)


@torch.no_grad()
def _window(section: Section, name: str) -> int:
    """How many pixels a window of a pooling has; 0 of other steps."""
    seen = [0]

    def see(node: fx.Node, values: dict) -> None:
        if node.name == name and section.net.graph.kinds[node] == "pool":
            seen.append(section.net.graph.windows(node, values)[0].shape[2])

    section.net.graph.run(section.inputs(np.zeros((1, 2))), see, until=name)
    return seen[-1]


def _sides(graph: Graph, k: int, columns=slice(None)):
    """What gives the values of a step's units `columns`; of a pooling those of its k-th pixel beside the ones before it."""

    def see(node: fx.Node, values: dict) -> Tensor:
        return (graph.round(node, values, k) if graph.kinds[node] == "pool" else graph.decisions(node, values))[:, columns]

    return see


def _changing(passes: Passes, name: str, k: int, vertices: np.ndarray) -> tuple[np.ndarray, float]:
    """The units of a step that change sides among the corners of pieces, and what counts as zero there."""
    sides = _sides(passes.graph, k)
    ends, _ = passes.each(name, vertices, lambda node, values: torch.stack(sides(node, values).aminmax(dim=0)))
    both = torch.stack(ends)
    low, high = both[:, 0].amin(0), both[:, 1].amax(0)
    floor = NOISE[low.dtype] * max(float(low.abs().max()), float(high.abs().max()))
    return ((low < -floor) & (high > floor)).nonzero().flatten().cpu().numpy(), floor


def _values(passes: Passes, name: str, k: int, vertices: np.ndarray, columns: np.ndarray, floor: float) -> np.ndarray:
    """The values of some units of a step at the corners of pieces, `(V, units)`."""
    seen, place = passes.each(name, vertices, _sides(passes.graph, k, torch.as_tensor(columns)))
    found = torch.cat(seen)[torch.as_tensor(place)]
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
