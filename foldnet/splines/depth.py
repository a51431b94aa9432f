"""Deep networks of one variable as splines: every breakpoint of every neuron, exactly, layer by layer and without a grid.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.splines.depth import deep_pieces
>>> len(deep_pieces(ReLUNet.random((1, 4, 4, 1), seed=0)).slopes) <= 4 * 5 + 5
True
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from ..nets import ReLUNet
from .breakpoints import Pieces

TOLERANCE = 1e-12  # what is smaller than this, relative to the terms it is summed from, is zero
AT_ONCE = 100_000  # networks times squared neurons that plain Python does while nothing is compiled: below a second
DIVERGED = "a network with weights that are NaN or infinite has no breakpoints: did its training diverge?"
COLUMNS = ("network", "place", "value", "slope_left", "slope_right", "kink")  # one row for each vertex
COLUMNS += ("vertex", "layer", "neuron", "switches", "active", "outermost")  # one for each breakpoint; for each network
MOST_ENTRIES = 2_000_000  # vertices times neurons in memory at once; larger batches are done in parts


def _column(name: str) -> cached_property[Tensor]:
    def tensor(spline: DeepSpline) -> Tensor:
        column = spline.found[name]
        return torch.from_numpy(column) if isinstance(column, np.ndarray) else column  # as_tensor takes twice as long

    return cached_property(tensor)


@dataclass(frozen=True, eq=False)
class DeepSpline:
    """A batch of deep networks of one variable as splines; networks are numbered in the order of the flattened batch.

    One row for each place where something can bend, sorted by network and place: `network`, `place`, `value` (of f there),
    `slope_left`, `slope_right`, `kink` (the slope of f does jump). One row for each breakpoint of a neuron: `vertex` (row of its
    place), `layer` (0 is the first), `neuron`, `switches` (it is on at one side only), `active` (each other layer has a neuron
    that is on there). A neuron that is zero all along an interval has a breakpoint at its ends, one with w = 0 has none.
    `outermost` `(networks, 2)` are slope and intercept of the last piece. Columns are kept as they were `found`,
    and become tensors when they are first asked for: twelve tensors take as long as a layer. (S3-def-1-deep-breakpoints)
    """

    batch_shape: tuple[int, ...]
    found: Mapping[str, Tensor | np.ndarray]

    network, place, value, slope_left, slope_right, kink = map(_column, COLUMNS[:6])
    vertex, layer, neuron, switches, active, outermost = map(_column, COLUMNS[6:])

    def breakpoint_count(self, low: float = -torch.inf, high: float = torch.inf) -> Tensor:
        """How often the neurons of each network switch on or off in [low, high], `(*batch,)`."""
        inside = self.switches & (self.place[self.vertex] >= low) & (self.place[self.vertex] <= high)
        return self._count(self.network[self.vertex[inside]])

    def piece_count(self, low: float = -torch.inf, high: float = torch.inf) -> Tensor:
        """The number of linear pieces of f on (low, high), `(*batch,)`: its kinks there, plus one. (S3-tab-2-pieces)"""
        return self._count(self.network[self.kink & (self.place > low) & (self.place < high)]) + 1

    def _count(self, networks: Tensor) -> Tensor:
        return networks.bincount(minlength=len(self.outermost)).reshape(self.batch_shape)


def deep_spline(net: ReLUNet, low: float = -inf, high: float = inf) -> DeepSpline:
    """All breakpoints and kinks of a (leaky) ReLU network of one input and one output, or of a batch, in float64.

    net: one network of any depth, or a batch.
    low, high: only what lies strictly between them is looked for, which takes less time.
    """
    if net.weights[0].shape[-1] != 1 or net.biases[-1].shape[-1] != 1 or len(net.biases) < 2:
        raise ValueError(f"a network of one input, one output and at least one hidden layer is needed; got {net}")
    if not low < high:
        raise ValueError(f"breakpoints are looked for between a number and a larger one; got {low} and {high}")
    return (_by_kernel if net.weights[0].device.type == "cpu" else _by_tensors)(net, _line(float(low), float(high)))


def _line(low: float = -inf, high: float = inf) -> tuple[float, float, float]:
    """The two ends and a finite point between them."""
    if low < 0 < high:
        return low, 0.0, high
    far = max(abs(low), abs(high))
    return low, low / 2 + high / 2 if far < inf else 2 * low + 1 if high == inf else 2 * high - 1, high


def _by_kernel(net: ReLUNet, line: tuple[float, float, float]) -> DeepSpline:
    """The compiled way, for the processor, in as many threads as torch has."""
    from .._plain import plain, ready
    from ._depth_kernel import splines

    sizes, batch = np.array(net.sizes), net.batch_shape
    parts = [p for layer in zip(net.weights, net.biases) for p in layer]
    parts = [p if p.dtype == torch.float64 and p.is_contiguous() else p.detach().double().contiguous() for p in parts]
    where, count = np.array([p.data_ptr() for p in parts]), prod(batch)
    if count * sum(net.sizes) ** 2 <= AT_ONCE and not ready(splines):
        splines = plain(splines)
    threads = min(torch.get_num_threads(), 1 + count // 8)
    step = count if threads == 1 else -(-count // (4 * threads))

    def work(first: int) -> DeepSpline:
        network, real, kink, rows, flags, outermost, sound = splines(
            where, sizes, net.leak, TOLERANCE, line, first, min(first + step, count)
        )
        if not sound:
            raise ValueError(DIVERGED)
        return DeepSpline(batch, dict(zip(COLUMNS, (network, *real, kink, *rows, *flags, outermost))))

    if threads == 1:
        return work(0)
    with ThreadPoolExecutor(threads) as pool:
        return _joined(list(pool.map(work, range(0, count, step))), batch, step)


def _by_tensors(net: ReLUNet, line: tuple[float, float, float]) -> DeepSpline:
    """The same layer by layer on tensors, for the devices that have no kernel."""
    theta = net.vector().detach().double()
    theta = theta.reshape(-1, theta.shape[-1])
    if not theta.isfinite().all():
        raise ValueError(DIVERGED)
    nets, count, widest = net.with_vector(theta), len(theta), max(net.sizes)
    # a random network has about as many breakpoints as neurons (Hanin and Rolnick), so this keeps a tensor below MOST_ENTRIES
    step = max(1, MOST_ENTRIES // (widest * (2 * sum(net.sizes[1:-1]) + 8)))
    parts = []
    for first in range(0, count, step):
        part = slice(first, first + step)
        parts.append(_spline_of([w[part] for w in nets.weights], [b[part] for b in nets.biases], net.leak, line))
    return _joined(parts, net.batch_shape, step)


def deep_pieces(net: ReLUNet) -> Pieces:
    """The linear pieces of one deep network of one variable, from left to right."""
    if net.batch_shape:
        raise ValueError(f"one network has pieces to list, not a batch of shape {net.batch_shape}: choose one, as in nets[0]")
    f = deep_spline(net)
    knots, values, slopes, last = f.place[f.kink], f.value[f.kink], f.slope_left[f.kink], f.outermost[0]
    return Pieces(knots, torch.cat([slopes, last[:1]]), torch.cat([values - slopes * knots, last[1:]]))


# ---- one layer after the other -----------------------------------------------------------------------------------------
#
# The state holds, for all networks one after the other, the vertices found so far in order (network, place), what the layers
# below give out at each of them (`value`), and their slope on each interval between them (`slope`, one row less for each
# network). The ends of the line are vertices too: at -inf and inf `value` is the limit of value / |x|, on which a layer without
# its bias and the ReLU act as they do elsewhere. A layer is affine on each interval, so its zeros are found there and nowhere
# else, and become vertices. It all starts from the ends and one vertex between them that belongs to no neuron.


@dataclass(frozen=True)
class _State:
    network: Tensor
    place: Tensor
    value: Tensor
    slope: Tensor
    lit_at: Tensor  # (vertices, layers): some neuron of the layer is on there
    lit_in: Tensor  # the same for the open intervals

    @cached_property
    def last(self) -> Tensor:
        """The rightmost vertex of each network."""
        return self.network.bincount().cumsum(0) - 1

    @cached_property
    def ends(self) -> Tensor:
        """The leftmost vertices, one for each network, then the rightmost."""
        return torch.cat([self.last.new_zeros(1), self.last[:-1] + 1, self.last])

    @cached_property
    def far(self) -> Tensor:
        """The vertices at -inf and inf."""
        return self.place.isinf().nonzero().flatten()

    @cached_property
    def right(self) -> Tensor:
        """The interval to the right of each vertex; the one to its left comes before it. The rightmost has none."""
        return _count_up(self.network) - self.network


def _spline_of(weights, biases, leak: float, line: tuple[float, float, float]) -> DeepSpline:
    count, layers = len(biases[0]), len(biases) - 1
    network = torch.arange(count, device=weights[0].device).repeat_interleave(3)
    place = weights[0].new_tensor(line).tile(count)
    value = torch.where(place.isinf(), place.sign(), place)[:, None]
    yes = torch.ones(3 * count, layers, dtype=torch.bool, device=place.device)
    state = _State(network, place, value, torch.ones_like(value[: 2 * count]), yes, yes[: 2 * count])
    rows = []
    for layer in range(layers):
        state, moved, new = _layer(state, weights[layer], biases[layer], leak, layer)
        rows = [(moved[vertex], *rest) for vertex, *rest in rows] + [new]
    return _finish(state, weights[-1], biases[-1], [torch.cat(column) for column in zip(*rows)])


def _layer(state: _State, weight, bias, leak: float, layer: int) -> tuple[_State, Tensor, tuple]:
    """The state after one layer, where the old vertices went, and the breakpoints of the layer's neurons."""
    z, slope, noise = _affine(state, weight, bias)
    z.masked_fill_(z.abs() <= noise, 0.0)
    interval, neuron, near, place, error = _crossings(state, z, noise)
    # breakpoints of several neurons at one place, up to rounding, are one vertex
    new = torch.ones_like(interval, dtype=torch.bool)
    new[1:] = (interval[1:] != interval[:-1]) | (place.diff() > torch.maximum(error[1:], error[:-1]))
    group, head = new.cumsum(0) - 1, new.nonzero().flatten()
    interval, near, place = interval[head], near[head], place[head]
    step = slope.index_select(0, interval) * (place - state.place[near])[:, None]
    z_new = z.index_select(0, near) + step
    z_new.masked_fill_(z_new.abs() <= noise.index_select(0, near) + TOLERANCE * step.abs(), 0.0)
    z_new[group, neuron] = 0.0
    # old and new vertices in one order, and every interval as often as it has parts
    network, old = state.network[near], _count_up(z)
    before = interval + network + 1
    moved = old + torch.searchsorted(before, old, right=True)
    order = old.new_empty(len(z) + len(head))
    order[moved], order[before + _count_up(head)] = old, len(z) + _count_up(head)
    parts = _count_up(slope).repeat_interleave(1 + interval.bincount(minlength=len(slope)))
    merged = lambda old, new: torch.cat([old, new]).index_select(0, order)  # noqa: E731
    z, slope = merged(z, z_new), slope.index_select(0, parts)
    lit_at, lit_in = merged(state.lit_at, state.lit_in[interval]), state.lit_in.index_select(0, parts)
    fresh = _State(merged(state.network, network), merged(state.place, place), z, slope, lit_at, lit_in)
    # inside an interval a neuron is on if it is at one of the ends
    above = z > 0
    on = _without(above[:-1] | above[1:], fresh.last[:-1])
    lit_at[:, layer], lit_in[:, layer] = above.any(1), on.any(1)
    zero = z == 0
    zero[fresh.ends] = False
    vertex, neuron = zero.nonzero().unbind(1)
    switches = on[fresh.right[vertex] - 1, neuron] != on[fresh.right[vertex], neuron]
    leaky_relu(z, leak, inplace=True)
    slope *= on.to(slope.dtype).clamp(min=leak)
    return fresh, moved, (vertex, torch.full_like(vertex, layer), neuron, switches)


def _crossings(state: _State, z: Tensor, noise: Tensor) -> tuple[Tensor, ...]:
    """Zeros strictly inside intervals, sorted: interval, neuron, nearest vertex, place, and how far rounding may move it."""
    above, below = z > 0, z < 0
    inside = (above[:-1] & below[1:]).logical_or_(below[:-1] & above[1:])
    inside[state.last[:-1]] = False  # from one network to the next
    k, neuron = inside.nonzero().unbind(1)
    here, there, start, end = z[k, neuron].abs(), z[k + 1, neuron].abs(), state.place[k], state.place[k + 1]
    ray = start.isinf() | end.isinf()
    # from the nearer end, so that nothing cancels; on a ray from the finite one, and z at the other is the slope
    back = torch.where(ray, start.isinf(), there < here)
    near = k + back
    steep = torch.where(ray, torch.where(back, here, there), (here + there) / torch.where(ray, 1.0, end - start))
    step = torch.where(back, -there, here) / steep
    place, error = state.place[near] + step, noise[near, neuron] / steep + TOLERANCE * step.abs()
    interval = state.right[k]
    order = _sorted_by(interval, place)
    return interval[order], neuron[order], near[order], place[order], error[order]


def _affine(state: _State, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What the next neurons see at the vertices, its slope on the intervals, and up to where z is only rounding."""
    norm, offset = TOLERANCE * weight.abs().sum(-1), TOLERANCE * bias.abs()
    largest = state.value.abs().amax(1, keepdim=True)
    if len(bias) == 1:
        z, slope, noise = state.value @ weight[0].T, state.slope @ weight[0].T, largest * norm
    else:  # all networks in one product: their rows one below the other, filled up to the longest
        at = _count_up(state.network) - state.ends[state.network]
        longest = int(at.max()) + 1
        row = state.network * 2 * longest + at
        into = _without(row, state.last) + longest
        padded = state.value.new_zeros(len(bias) * 2 * longest, weight.shape[-1])
        padded[row], padded[into] = state.value, state.slope
        product = (padded.reshape(len(bias), 2 * longest, -1) @ weight.mT).flatten(0, 1)
        z, slope = product.index_select(0, row), product.index_select(0, into)
        noise = largest * norm.index_select(0, state.network)
    limits = z[state.far], noise[state.far]  # a bias does not matter at infinity
    z += bias.index_select(0, state.network)
    noise += offset.index_select(0, state.network)
    z[state.far], noise[state.far] = limits
    return z, slope, noise


def _finish(state: _State, weight: Tensor, bias: Tensor, rows) -> DeepSpline:
    value, slope, _ = _affine(state, weight, bias)
    value, slope, inner = value[:, 0], slope[:, 0], _without(_count_up(value), state.ends)
    right = state.right[inner]
    size = state.slope.abs().amax(1)
    size = torch.maximum(size[right - 1], size[right]) * weight.abs().sum(-1)[state.network[inner], 0]
    kink = (slope[right] - slope[right - 1]).abs() > TOLERANCE * size
    columns = [state.network[inner], state.place[inner] + 0.0, value[inner], slope[right - 1], slope[right], kink]
    outermost = slope[state.right[state.last] - 1]
    outermost = torch.stack([outermost, value[state.last - 1] - outermost * state.place[state.last - 1]], 1)
    vertex, layer, neuron, switches = rows
    others = state.lit_at[vertex]
    others[_count_up(vertex), layer] = True
    vertex = vertex - 2 * state.network[vertex] - 1  # among the inner ones
    kept = kink.clone()
    kept[vertex] = True
    order = _sorted_by(vertex, layer, neuron)
    rows = [(kept.cumsum(0) - 1)[vertex], layer, neuron, switches, others.all(1)]
    found = *(c[kept] for c in columns), *(r[order] for r in rows), outermost
    return DeepSpline((len(bias),), dict(zip(COLUMNS, found)))


def _joined(parts: list[DeepSpline], batch_shape, step: int) -> DeepSpline:
    """Parts of `step` networks each, as one."""
    columns = {name: [getattr(p, name) for p in parts] for name in COLUMNS}
    columns["network"] = [network + i * step for i, network in enumerate(columns["network"])]
    ends = torch.tensor([0] + [len(place) for place in columns["place"]]).cumsum(0).tolist()
    columns["vertex"] = [vertex + first for vertex, first in zip(columns["vertex"], ends)]
    return DeepSpline(batch_shape, {name: torch.cat(column) for name, column in columns.items()})


def _sorted_by(*keys: Tensor) -> Tensor:
    """The order by the first key, then by the next, and so on."""
    order = keys[-1].argsort(stable=True)
    for key in keys[-2::-1]:
        order = order[key[order].argsort(stable=True)]
    return order


def _count_up(rows: Tensor) -> Tensor:
    """0, 1, 2, ... for as many rows."""
    return torch.arange(len(rows), device=rows.device)


def _without(rows: Tensor, left_out: Tensor) -> Tensor:
    keep = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
    keep[left_out] = False
    return rows[keep]
