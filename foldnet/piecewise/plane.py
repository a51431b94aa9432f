"""Every piece of a traced network on a plane through its inputs, or of its whole input where that is a plane.

>>> import torch
>>> from foldnet.piecewise.net import of
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)).double()
>>> model[0].weight.data[:], model[0].bias.data[:] = torch.eye(2), 0.0
>>> of(model).regions(window=2)
Slice(4 pieces, 12 edges, 9 vertices, of a PiecewiseLinear(input 2, output 1, 2 units with kinks, float64))
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.func import jvp, vmap

from ..geometry.complex import Complex
from ._passes import find

if TYPE_CHECKING:
    from .net import PiecewiseLinear

BUDGET = {"cpu": 256 * 2**20, "cuda": 4 * 2**30}  # bytes of decisions that are computed at once


@dataclass(frozen=True, eq=False)
class Section:
    """A network on a plane: `origin + s u + t v`.

    `sizes` are 2, the units of each step that change sides, and the outputs; `whole` is the plane of a network of two inputs.
    `known` are points `(n, 2)` and the outputs there `(n, out)`, which are not computed again.
    """

    net: PiecewiseLinear
    origin: Tensor
    axes: Tensor
    sizes: tuple[int, ...] = (2, 1)
    whole: bool = False
    known: tuple[np.ndarray, np.ndarray] | None = None

    def inputs(self, points) -> Tensor:
        """The inputs `(n, *input)` at points `(n, 2)` of the plane."""
        points = torch.as_tensor(np.ascontiguousarray(points), dtype=torch.float64, device=self.axes.device)
        return (self.origin + points @ self.axes).to(self.net.dtype).unflatten(-1, self.net.input_shape)

    def chunks(self, points) -> list[Tensor]:
        """The inputs, some at a time, so that the decisions of all units fit into memory."""
        return list(self.inputs(points).split(self.at_once))

    @property
    def at_once(self) -> int:
        """How many points fit into memory with the decisions of all units."""
        size = sum(self.net.units.values()) * 8 + 8 * self.axes.shape[1]
        return max(16, BUDGET.get(self.axes.device.type, BUDGET["cpu"]) // size)

    @torch.no_grad()
    def __call__(self, points) -> Tensor:
        """The outputs at points `(n, 2)` of the plane, `(n, out)`."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        where, values = self.known or (np.zeros((0, 2)), np.zeros((0, self.sizes[-1])))
        place, new = find(where, points)
        fresh = [self.net(x).reshape(len(x), -1).double() for x in self.chunks(points[new])] if len(new) else []
        return torch.cat([torch.as_tensor(values, device=self.axes.device), *fresh])[torch.as_tensor(place)]

    def to(self, *_, **__) -> Section:
        """Itself: a section computes in the precision of its network."""
        return self

    def __repr__(self) -> str:
        return repr(self.net)


@dataclass(frozen=True, eq=False, repr=False)
class Slice(Complex):
    """The pieces of a network on a plane, with all that a `Complex` has: corners, edges, neighbours, areas.

    `layer` of an edge is the number of the step that drew it, as in `net.net.graph.kinked`, and `unit` the number of the unit;
    of each step only those that change sides in the window are drawn, and `units` has their numbers. The `bits` of a max
    pooling are 0: `pattern` has the pixels that it takes.
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
