"""Every piece of a traced network on a plane through its inputs, or of its whole input where that is a plane.

Step by step: the values of a step at the corners of all pieces come from passes through the network, in chunks; only units that
change sides among them are kept, and cut the pieces as a layer of lines does.

>>> import torch
>>> from foldnet.piecewise.net import of
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)).double()
>>> model[0].weight.data[:], model[0].bias.data[:] = torch.eye(2), 0.0
>>> of(model).regions(window=2)
Slice(4 pieces, 12 edges, 9 vertices, of a PiecewiseLinear(input 2, output 1, 2 units with kinks, float64))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, fx
from torch.func import jvp, vmap

from ..geometry._sheet import Drawing, Sheet
from ..geometry.complex import Complex
from ..geometry.regions import MOST_FACES, SQUARE, convex
from .line import NOISE

if TYPE_CHECKING:
    from .net import PiecewiseLinear

BUDGET = 256 * 2**20  # bytes of decisions that are computed at once
WINDOW = "a window is a number, a box ((x0, x1), (y0, y1)) or the corners of a convex polygon"


@dataclass(frozen=True, eq=False)
class Section:
    """A network on a plane: `origin + s u + t v`. `sizes` are 2, the units of each step that change sides, and the outputs."""

    net: PiecewiseLinear
    origin: Tensor
    axes: Tensor
    sizes: tuple[int, ...] = (2, 1)

    def inputs(self, points) -> Tensor:
        """The inputs `(n, *input)` at points `(n, 2)` of the plane."""
        points = torch.as_tensor(np.ascontiguousarray(points), dtype=torch.float64, device=self.axes.device)
        return (self.origin + points @ self.axes).to(self.net.dtype).unflatten(-1, self.net.input_shape)

    def chunks(self, points) -> list[Tensor]:
        """The inputs, some at a time, so that the decisions of all units fit into memory."""
        size = sum(self.net.units.values()) * 8 + 8 * self.axes.shape[1]
        return list(self.inputs(points).split(max(16, BUDGET // size)))

    @torch.no_grad()
    def __call__(self, points) -> Tensor:
        """The outputs at points `(n, 2)` of the plane, `(n, out)`."""
        return torch.cat([self.net(x).flatten(1) for x in self.chunks(points)]).double()

    def to(self, *_, **__) -> Section:
        """Itself: a section computes in the precision of its network."""
        return self

    def __repr__(self) -> str:
        return repr(self.net)


@dataclass(frozen=True, eq=False, repr=False)
class Slice(Complex):
    """The pieces of a network on a plane, with all that a `Complex` has: corners, edges, neighbours, areas.

    `layer` of an edge is the number of the step that drew it, as in `net.net.graph.kinked`, and `unit` the number of the unit;
    of each step only those that change sides in the window are drawn, and `units` has their numbers.
    """

    net: Any
    units: tuple[np.ndarray, ...] = ()

    @property
    def unit(self) -> np.ndarray:
        """The unit of its step that drew each edge, `(E,)`; -1 for the window's sides."""
        first = np.cumsum([0, *map(len, self.units)])
        every = np.concatenate([*self.units, [-1]])
        return every[np.where(self.layer < 0, -1, first[self.layer] + self.neuron)]

    def __repr__(self) -> str:
        faces, edges, vertices = len(self), len(self.edges), len(self.vertices)
        return f"Slice({faces:,} pieces, {edges:,} edges, {vertices:,} vertices, of a {self.net})"

    @cached_property
    def pattern(self) -> np.ndarray:
        """The pattern of all units in each piece, `(F, units)`, as `PiecewiseLinear.pattern` gives it at its centre."""
        return torch.cat([self.net.net.pattern(x) for x in self.net.chunks(self.centres)]).cpu().numpy()

    def maps(self, faces=slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """The affine map of each piece in the coordinates of the plane, slopes `(F, out, 2)` and offsets `(F, out)`."""
        section, centres = self.net, self.centres[faces]
        ways = section.axes.to(section.net.dtype).unflatten(-1, section.net.input_shape)

        def along(x: Tensor, way: Tensor) -> Tensor:
            return jvp(section.net.flat, (x,), (way,))[1]

        slopes = [torch.stack([vmap(along, (0, None))(x, way) for way in ways], -1) for x in section.chunks(centres)]
        slope = torch.cat(slopes).double().cpu().numpy()
        return slope, section(centres).cpu().numpy() - np.einsum("foi,fi->fo", slope, centres)


def pieces(net: PiecewiseLinear, origin=None, axes=None, window=SQUARE, most: int = MOST_FACES) -> Slice:
    """All pieces of a network in a convex window of a plane.

    net: a traced network; one of two inputs needs no plane.
    origin: the input at (0, 0) of the plane.
    axes: the two directions u and v, each of the shape of an input.
    window: a number r for the square from -r to r, a box ((x0, x1), (y0, y1)), or the corners of a convex polygon (m, 2).
    most: more pieces than this are refused.
    """
    if any(kind == "pool" for kind in net.graph.kinds.values()):
        raise NotImplementedError("planes through networks with max pooling are not drawn yet; line looks along a segment")
    section, frame = _section(net, origin, axes), corners(window)
    sheet, widths, numbers, base = Sheet.whole(frame, np.zeros((len(frame), 0))), [], [], 0
    for name in net.graph.kinked:
        units, values = _changing(section, name, sheet.vertices)
        widths.append(len(units))
        numbers.append(units)
        if len(units):
            drawing = Drawing(sheet._replace(values=values), len(frame), 1.0, most, None)
            drawing.base = base
            try:
                drawing.draw(np.eye(len(units)), np.zeros(len(units)), 1)
            except OverflowError as error:
                raise ValueError(f"{error} at {name}: take a smaller window, or raise most={most:,}") from None
            sheet = drawing.finish()
        else:  # a layer without lines: no words of bits
            sheet = sheet._replace(values=np.zeros((len(sheet.vertices), 0)))
        base += len(units)
    section = replace(section, sizes=(2, *widths, int(np.prod(net.output_shape))))
    return _slice(section, sheet, widths, numbers, len(frame))


def corners(window) -> np.ndarray:
    """The corners of a window `(m, 2)`, counter-clockwise."""
    given = np.asarray(window, dtype=np.float64)
    if given.ndim == 0 and given > 0:
        return convex(given * np.array(SQUARE))
    if given.shape == (2, 2):
        (x0, x1), (y0, y1) = given
        if not (x0 < x1 and y0 < y1):
            raise ValueError(f"{WINDOW}; the box {given.tolist()} is empty")
        return convex([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
    if given.ndim != 2:
        raise ValueError(f"{WINDOW}; got {window!r}")
    return convex(given)


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
    if torch.linalg.matrix_rank(axes) < 2:
        raise ValueError("the two axes of a plane point in different directions; these are parallel, or zero")
    return Section(net, origin, axes)


@torch.no_grad()
def _changing(section: Section, name: str, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The units of a step that change sides among the corners of pieces, and their values there, `(V, units)`."""
    graph, noise, columns, chunks = section.net.graph, NOISE[section.net.dtype], None, section.chunks(vertices)
    seen: list[Tensor] = []

    def see(node: fx.Node, values: dict) -> None:
        if node.name == name:
            z = graph.decisions(node, values)
            seen.append(z if columns is None else z[:, columns])

    extremes = []
    for x in chunks:  # first which units change sides, then their values: all values of all units need not fit into memory
        graph.run(x, see, until=name)
        extremes.append(torch.stack(seen.pop().aminmax(dim=0)))
    both = torch.stack(extremes)
    low, high = both[:, 0].amin(0), both[:, 1].amax(0)
    floor = noise * max(float(low.abs().max()), float(high.abs().max()))
    columns = ((low < -floor) & (high > floor)).nonzero().flatten()
    for x in chunks if len(columns) else ():
        graph.run(x, see, until=name)
    found = torch.cat(seen) if seen else low.new_zeros(len(vertices), 0)
    found = torch.where(found.abs() <= floor, 0.0, found)
    return columns.cpu().numpy(), found.double().cpu().numpy()


def _slice(section: Section, sheet: Sheet, widths: list[int], numbers: list[np.ndarray], frame: int) -> Slice:
    """The finished value; lines are numbered through all steps, the window's sides -1, -2, ..., so that they come last."""
    layer = np.repeat([*range(len(widths)), -1], (*widths, frame))
    column = np.concatenate([*(np.arange(width) for width in widths), np.arange(frame)[::-1]])
    ends = np.cumsum([-(-width // 64) for width in widths])[:-1]
    words = map(np.ascontiguousarray, np.split(sheet.bits, ends, axis=1)) if widths else ()
    values = section(sheet.vertices).cpu().numpy()
    parts = (sheet.vertices, values, sheet.starts, sheet.corners, sheet.sides, sheet.edges, sheet.faces)
    return Slice(section, *parts, layer[sheet.lines], column[sheet.lines], tuple(words), tuple(numbers))
