"""The values of a network's steps at more and more points, each of which goes through each step once.

What is alive before a step is kept for the points so far, in chunks; points that are new come from the input to the same step.
Of more points than memory is meant for, the others come from the input each time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, fx

from ._layers import tensors
from .trace import Graph

KEPT = 2**30  # bytes of what is alive; on a GPU a third of what is free


def find(known: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where points `(n, 2)` are among known ones, with new ones after these in their order; and which are new."""
    whole, one = (np.ascontiguousarray(part).view(complex)[:, 0] for part in (known, points))
    order = np.argsort(whole, kind="stable")
    found = np.searchsorted(whole, one, sorter=order).clip(0, max(len(order) - 1, 0))
    place = order[found] if len(order) else np.zeros(len(one), np.int64)
    new = np.flatnonzero(whole[place] != one) if len(order) else np.arange(len(one))
    place[new] = len(whole) + np.arange(len(new))
    return place, new


class Passes:
    """Points of a plane on their way through a graph.

    inputs: from points `(n, 2)` to the inputs of the graph.
    chunk: how many points go through a step at once.
    """

    def __init__(self, graph: Graph, inputs: Callable[[np.ndarray], Tensor], device: torch.device, chunk: int):
        self.graph, self.inputs, self.chunk = graph, inputs, chunk
        self.left = torch.cuda.mem_get_info(device)[0] // 3 if device.type == "cuda" else KEPT
        self.points = np.zeros((0, 2))  # those whose values are kept, as `parts`, before step number `at`
        self.parts: list[dict] = []
        self.at = 0

    @torch.no_grad()
    def each(self, name: str, points: np.ndarray, see: Callable[[fx.Node, dict], Tensor]) -> tuple[list[Tensor], np.ndarray]:
        """What `see(node, values)` gives before the step of this name, chunk by chunk, and where in all of that each point is."""
        number = next(k for k, node in enumerate(self.graph.nodes) if node.name == name)
        node, points = self.graph.nodes[number], np.ascontiguousarray(points)
        for k, values in enumerate(self.parts):
            self.parts[k] = None  # ty: ignore[invalid-assignment] (freed while its successor is made)
            self.left += self._size(values)
            self.parts[k] = self._through(self.at, number, values)
            self.left -= self._size(self.parts[k])
        self.at = number
        place, new = find(self.points, points)
        seen = [see(node, values) for values in self.parts]
        kept = True
        for k in range(0, len(new), self.chunk):
            some = points[new[k : k + self.chunk]]
            values = self._through(0, number, {}, self.inputs(some))
            seen.append(see(node, values))
            kept = kept and self._size(values) < self.left
            if kept:
                self.left -= self._size(values)
                self.parts.append(values)
                self.points = np.concatenate([self.points, some])
        return seen, place

    def _through(self, start: int, stop: int, values: dict, x: Tensor | None = None) -> dict:
        for k in range(start, stop):
            values = self.graph.step(k, values, x)
        return values

    def _size(self, values: dict) -> int:
        return sum(v.numel() * v.element_size() for n in values if n in self.graph.of_data for v in tensors(values[n]))
