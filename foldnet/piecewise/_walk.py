"""Every bend of a traced network on a segment, with memory bounded by chunks.

Between two neighbouring knots every tensor of the network is affine. So an affine step acts on the values at the knots alone; a
step with kinks adds knots where a unit changes sides, and there all living tensors are known by interpolation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx

from .._progress import bar
from ._layers import first, tensors
from .line import Bends
from .trace import Graph

NOISE = {torch.float64: 1e-12, torch.float32: 1e-6}  # relative to the largest value of a step: what is smaller is zero
BUDGET = {"cpu": 256 * 2**20, "cuda": 4 * 2**30}  # bytes of living tensors in a chunk of knots
MOST_BENDS = 5_000_000


@torch.no_grad()
def bends(graph: Graph, a: Tensor, b: Tensor, most: int = MOST_BENDS, chunk: int | None = None, progress: bool = False) -> Bends:
    """Every bend between the inputs `a` and `b`, of the shape of one input.

    most: more bends than this are refused.
    chunk: knots that are computed at once; by default as many as take some 256 MB, on a GPU 4 GB.
    progress: show a bar.
    """
    if chunk is not None and chunk < 1:
        raise ValueError(f"chunk is a number of knots, at least 1; got {chunk}")
    with bar(100, progress, "%") as shown:
        walk = _Walk(graph, a, b, most, chunk or _chunk(graph, a), shown)
        walk.go(0, walk.knots((0.0, 1.0)), {})
    parts = [[column if k == 0 else column[1:] for column in part] for k, part in enumerate(walk.done)]
    return Bends(*(torch.cat(columns) for columns in zip(*parts)), names=graph.kinked)


def _chunk(graph: Graph, a: Tensor) -> int:
    """How many knots fit into the budget: by the tensors that live at the same time for one input."""
    most = 0

    def see(node: fx.Node, values: dict) -> None:
        nonlocal most
        most = max(most, sum(v.numel() * v.element_size() for every in values.values() for v in tensors(every)))

    graph.run(a[None], see)
    return max(4, BUDGET.get(a.device.type, BUDGET["cpu"]) // max(3 * most, 1))


@dataclass
class _Knots:
    """Places on the segment, and which unit of which kinked step put each there."""

    t: Tensor
    step: Tensor
    unit: Tensor

    def __len__(self) -> int:
        return len(self.t)

    def part(self, which) -> _Knots:
        return _Knots(self.t[which], self.step[which], self.unit[which])


class _Walk:
    """One segment through the graph, depth first in chunks of knots."""

    def __init__(self, graph: Graph, a: Tensor, b: Tensor, most: int, chunk: int, shown: Any):
        self.graph, self.a, self.b, self.most, self.chunk, self.shown = graph, a, b, most, chunk, shown
        self.done: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
        self.count = 0

    def knots(self, t) -> _Knots:
        t = torch.as_tensor(t, dtype=self.a.dtype, device=self.a.device)
        none = torch.full_like(t, -1, dtype=torch.int64)
        return _Knots(t, none, none)

    def _each(self, values: dict, change: Callable[[Tensor], Tensor]) -> dict:
        """The living tensors, changed; constants and sizes as they are."""

        def new(v):
            return type(v)(map(new, v)) if isinstance(v, (tuple, list)) else change(v)

        return {n: new(v) if n in self.graph.of_data else v for n, v in values.items()}

    def go(self, k: int, knots: _Knots, values: dict) -> None:
        """The steps from number k on, for these knots, whose living tensors are `values`."""
        graph = self.graph
        while k < len(graph.nodes):
            if len(knots) > self.chunk + 1:  # halves share one knot, and are finished one after the other
                half = len(knots) // 2
                for part in (slice(None, half + 1), slice(half, None)):
                    self.go(k, knots.part(part), self._each(values, operator.itemgetter(part)))
                return
            node = graph.nodes[k]
            if node.op == "output":
                self.count += len(knots) - 1
                if self.count > self.most:
                    raise ValueError(f"more than {self.most:,} bends: take a shorter segment, or raise most=")
                self.done.append((knots.t, values[first(node)], knots.step, knots.unit))
                if self.shown is not None:
                    self.shown.update(int(100 * knots.t[-1]) - self.shown.n)
                return
            if node.op == "placeholder":
                values[node] = torch.lerp(self.a[None], self.b[None], knots.t.view(-1, *[1] * self.a.ndim))
            else:
                if graph.kinds[node] == "kinks":
                    knots, values = self._cut(knots, values, *self._crossings(node, values), node)
                elif graph.kinds[node] == "pool":
                    knots, values = self._cut_pool(knots, values, node)
                values[node] = graph.apply(node, values)
            values = {n: v for n, v in values.items() if graph.last_use.get(n, -1) > k}
            k += 1

    def _crossings(self, node: fx.Node, values: dict) -> tuple[Tensor, Tensor, Tensor]:
        """After which knot, at which share of the way to the next one, and which unit changes sides."""
        z = self.graph.decisions(node, values)
        low, high = z.aminmax()
        floor = NOISE[z.dtype] * torch.maximum(-low, high)
        on, off = z > floor, z < -floor
        where, unit = (on[:-1] & off[1:] | off[:-1] & on[1:]).nonzero(as_tuple=True)
        lower, upper = z[where, unit], z[where + 1, unit]
        return where, lower / (lower - upper), unit

    def _cut(self, knots: _Knots, values: dict, where, share, unit, node) -> tuple[_Knots, dict]:
        """The knots with those more, sorted, and the living tensors there; knots that rounding cannot tell apart are one."""
        if not len(where):
            return knots, values
        number = self.graph.kinked.index(node.name)
        t = torch.cat([knots.t, torch.lerp(knots.t[where], knots.t[where + 1], share)])
        order = torch.argsort(t, stable=True)
        close = NOISE[t.dtype]
        apart = torch.cat([t.new_ones(1, dtype=torch.bool), t[order].diff() > close])
        apart[-1] |= order[-1] == len(knots) - 1
        old = order < len(knots)
        order = order[apart | old]  # a knot that was there stays
        at = torch.cat([torch.arange(len(knots), device=t.device), where])[order]
        share = torch.cat([torch.zeros_like(knots.t), share])[order]
        after = (at + 1).clamp(max=len(knots) - 1)

        def there(v):
            weight = share.to(v.dtype).view(-1, *[1] * (v.ndim - 1))
            return torch.lerp(v[at], v[after], weight)

        step = torch.cat([knots.step, torch.full_like(where, number)])[order]
        units = torch.cat([knots.unit, unit])[order]
        return _Knots(t[order], step, units), self._each(values, there)

    def _cut_pool(self, knots: _Knots, values: dict, node: fx.Node) -> tuple[_Knots, dict]:
        """Knots where the largest pixel of a unit changes. By convexity one that wins at both ends wins between them."""
        own = knots.t
        for _ in range(64):  # each round finds the crossing of two winners; a third may win there, and is found in the next
            z, taken = self.graph.winners(node, values)
            left, right = taken[:-1], taken[1:]
            where, plane, unit = (left != right).nonzero(as_tuple=True)
            first, second = left[where, plane, unit], right[where, plane, unit]
            lower = z[where, plane, first] - z[where, plane, second]  # at least 0 before, at most 0 after
            upper = z[where + 1, plane, first] - z[where + 1, plane, second]
            noise = NOISE[z.dtype] * z.abs().max()
            real = (lower > noise) & (upper < -noise)
            if not real.any():
                break
            units = plane * taken.shape[-1] + unit
            share = lower / (lower - upper)
            before = len(knots)
            knots, values = self._cut(knots, values, where[real], share[real], units[real], node)
            if len(knots) == before:
                break
        return self._without_false(knots, values, node, own)

    def _without_false(self, knots: _Knots, values: dict, node: fx.Node, own: Tensor) -> tuple[_Knots, dict]:
        """Without the knots at which the winner was a third pixel all the time: they helped to find others, and bend nothing."""
        pooled = tensors(self.graph.apply(node, values))[0].flatten(1)
        left, here, right = pooled[:-2], pooled[1:-1], pooled[2:]
        share = ((knots.t[1:-1] - knots.t[:-2]) / (knots.t[2:] - knots.t[:-2])).unsqueeze(1)
        off = (torch.lerp(left, right, share) - here).abs().amax(1) > NOISE[pooled.dtype] * pooled.abs().max()
        keep = torch.cat([off.new_ones(1), off | torch.isin(knots.t[1:-1], own), off.new_ones(1)])
        return knots.part(keep), self._each(values, operator.itemgetter(keep))
