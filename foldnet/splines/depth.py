"""Deep networks of one variable as splines: every breakpoint of every neuron, exactly, layer by layer and without a grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from ..nets import ReLUNet
from .breakpoints import Pieces

TOLERANCE = 1e-12  # what is smaller than this, relative to the terms it is summed from, is zero
MOST_ENTRIES = 2_000_000  # vertices times neurons in memory at once; larger batches are done in parts


@dataclass(frozen=True, eq=False)
class DeepSpline:
    """A batch of deep networks of one variable as splines; networks are numbered in the order of the flattened batch.

    One row for each place where something can bend, sorted by network and place: `network`, `place`, `value` (of f there),
    `slope_left`, `slope_right`, `kink` (the slope of f does jump). One row for each breakpoint of a neuron: `vertex` (row of its
    place), `layer` (1 is the first), `neuron`, `switches` (it is on at one side only), `active` (each other layer has a neuron
    that is on there). A neuron that is zero all along an interval has a breakpoint at its ends, one with w = 0 has none.
    `outermost` `(networks, 2)` are slope and intercept of the last piece. (S3-def-1-deep-breakpoints)
    """

    batch_shape: tuple[int, ...]
    network: np.ndarray
    place: np.ndarray
    value: np.ndarray
    slope_left: np.ndarray
    slope_right: np.ndarray
    kink: np.ndarray
    vertex: np.ndarray
    layer: np.ndarray
    neuron: np.ndarray
    switches: np.ndarray
    active: np.ndarray
    outermost: np.ndarray

    def breakpoint_count(self, low: float = -np.inf, high: float = np.inf) -> np.ndarray:
        """How often the neurons of each network switch on or off in [low, high], `(*batch,)`."""
        inside = self.switches & (self.place[self.vertex] >= low) & (self.place[self.vertex] <= high)
        return self._count(self.network[self.vertex[inside]])

    def piece_count(self, low: float = -np.inf, high: float = np.inf) -> np.ndarray:
        """The number of linear pieces of f on (low, high), `(*batch,)`: its kinks there, plus one. (S3-tab-2-pieces)"""
        return self._count(self.network[self.kink & (self.place > low) & (self.place < high)]) + 1

    def _count(self, networks: np.ndarray) -> np.ndarray:
        return np.bincount(networks, minlength=len(self.outermost)).reshape(self.batch_shape)


def deep_spline(net: ReLUNet) -> DeepSpline:
    """All breakpoints and kinks of a (leaky) ReLU network of one input and one output, or of a batch, in float64."""
    weights, biases = _arrays(net)
    count, widest = len(biases[0]), max(net.sizes)
    # a random network has about as many breakpoints as neurons (Hanin and Rolnick), so this keeps an array below MOST_ENTRIES
    step = max(1, MOST_ENTRIES // (widest * (2 * sum(net.sizes[1:-1]) + 8)))
    parts = []
    for first in range(0, count, step):
        part = slice(first, first + step)
        parts.append(_spline_of([w[part] for w in weights], [b[part] for b in biases], net.leak))
    return _joined(parts, net.batch_shape, step)


def deep_pieces(net: ReLUNet) -> Pieces:
    """The linear pieces of one deep network of one variable, from left to right."""
    if net.batch_shape:
        raise ValueError(f"one network has pieces to list, not a batch of shape {net.batch_shape}: choose one, as in nets[0]")
    f = deep_spline(net)
    knots, values = f.place[f.kink], f.value[f.kink]
    slopes, (last_slope, last_intercept) = f.slope_left[f.kink], f.outermost[0]
    lines = np.append(slopes, last_slope), np.append(values - slopes * knots, last_intercept)
    return Pieces(*map(torch.as_tensor, (knots, *lines)))


def movement(f: DeepSpline, layers: int, low: float, high: float) -> dict[str, np.ndarray]:
    """What the breakpoints do along the first axis of the batch (time, networks): four arrays `(networks, layers)`.

    From one time to the next, a neuron with as many breakpoints as before has moved them, in order: `moves` counts those that
    stay in [low, high], `distance` is how far they went together. Otherwise some were born or died: `births` and `deaths`,
    anywhere on the line. (S3-fig-deep-breakpoints, S3-fig-birth-death)
    """
    times, networks = f.batch_shape
    rows = np.flatnonzero(f.switches)
    time, network = np.divmod(f.network[f.vertex[rows]], networks)
    width = f.neuron.max(initial=0) + 1
    neuron = (network * layers + f.layer[rows] - 1) * width + f.neuron[rows]
    count = np.zeros((times, networks * layers * width), dtype=int)
    np.add.at(count, (time, neuron), 1)
    order = np.lexsort((f.place[f.vertex[rows]], time, neuron))
    place, neuron, time = f.place[f.vertex[rows]][order], neuron[order], time[order]
    start = np.cumsum(count.T).reshape(count.T.shape).T - count  # where each neuron's breakpoints of each time begin
    steady = (count[1:] == count[:-1])[np.minimum(time, times - 2), neuron] & (time < times - 1)
    now = np.flatnonzero(steady)
    later = start[time[now] + 1, neuron[now]] + now - start[time[now], neuron[now]]
    kept = (place[now] >= low) & (place[now] <= high) & (place[later] >= low) & (place[later] <= high)
    group = neuron[now[kept]] // width
    distance = np.bincount(group, np.abs(place[later] - place[now])[kept], minlength=networks * layers)
    moves = np.bincount(group, minlength=networks * layers)
    change = np.diff(count, axis=0).reshape(times - 1, networks, layers, width)
    births, deaths = change.clip(min=0).sum((0, 3)), -change.clip(max=0).sum((0, 3))
    shape = (networks, layers)
    return {"moves": moves.reshape(shape), "distance": distance.reshape(shape), "births": births, "deaths": deaths}


# ---- one layer after the other -----------------------------------------------------------------------------------------
#
# The state holds, for all networks one after the other, the vertices found so far in order (network, place), what the layers
# below give out at each of them (`value`), and their slope on each interval between vertices and on the two rays (`slope`: one
# row more than vertices for each network). A layer is affine on each interval, so its zeros are found there and nowhere else,
# and become vertices. It all starts from one vertex at 0 that belongs to no neuron.


@dataclass(frozen=True)
class _State:
    network: np.ndarray
    place: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    lit_at: np.ndarray  # (vertices, layers): some neuron of the layer is on there
    lit_in: np.ndarray  # the same for the open intervals

    @cached_property
    def left(self) -> np.ndarray:
        """The interval to the left of each vertex; the one to its right comes next."""
        return np.arange(len(self.network)) + self.network

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last vertex of each network."""
        last = np.bincount(self.network).cumsum() - 1
        return np.concatenate([[0], last[:-1] + 1]), last


def _spline_of(weights, biases, leak: float) -> DeepSpline:
    count, layers = len(biases[0]), len(biases) - 1
    yes = np.ones((2 * count, layers), dtype=bool)
    state = _State(np.arange(count), np.zeros(count), np.zeros((count, 1)), np.ones((2 * count, 1)), yes[:count], yes)
    rows = []
    for layer in range(layers):
        state, moved, new = _layer(state, weights[layer], biases[layer], leak, layer)
        rows = [(moved[vertex], *rest) for vertex, *rest in rows] + [new]
    return _finish(state, weights[-1], biases[-1], [np.concatenate(column) for column in zip(*rows)])


def _layer(state: _State, weight, bias, leak: float, layer: int) -> tuple[_State, np.ndarray, tuple]:
    """The state after one layer, where the old vertices went, and the breakpoints of the layer's neurons."""
    z, slope = _affine(state, weight, bias)
    noise = _Noise(state, weight, bias)
    noise.silence(z)
    rays = noise.rays(slope)
    interval, neuron, near, place, error = _crossings(state, z, slope, noise, rays)
    # breakpoints of several neurons at one place, up to rounding, are one vertex
    new = np.ones(len(place), dtype=bool)
    new[1:] = (interval[1:] != interval[:-1]) | (place[1:] - place[:-1] > np.maximum(error[1:], error[:-1]))
    group, head = new.cumsum() - 1, np.flatnonzero(new)
    interval, near, place = interval[head], near[head], place[head]
    step = slope[interval] * (place - state.place[near])[:, None]
    z_new = z[near] + step
    z_new[np.abs(z_new) <= noise(near) + TOLERANCE * np.abs(step)] = 0.0
    z_new[group, neuron] = 0.0
    # old and new vertices in one order, and every interval as often as it has parts
    network = state.network[near]
    before = interval - network
    moved = np.arange(len(z)) + np.searchsorted(before, np.arange(len(z)), side="right")
    order = np.empty(len(z) + len(head), dtype=int)
    order[moved], order[before + np.arange(len(head))] = np.arange(len(z)), np.arange(len(z), len(order))
    parts = np.repeat(np.arange(len(slope)), 1 + np.bincount(interval, minlength=len(slope)))
    merged = lambda old, new: np.concatenate([old, new]).take(order, axis=0)  # noqa: E731
    z, slope = merged(z, z_new), slope.take(parts, axis=0)
    lit_at, lit_in = merged(state.lit_at, state.lit_in[interval]), state.lit_in[parts]
    fresh = _State(merged(state.network, network), merged(state.place, place), z, slope, lit_at, lit_in)
    above = z > 0
    on = _on(fresh, above, rays)
    lit_at[:, layer], lit_in[:, layer] = above.any(1), on.any(1)
    vertex, neuron = _where(z == 0)
    switches = on[fresh.left[vertex], neuron] != on[fresh.left[vertex] + 1, neuron]
    np.maximum(z, leak * z if leak else 0.0, out=z)
    slope *= np.where(on, 1.0, leak) if leak else on
    return fresh, moved, (vertex, np.full(len(vertex), layer + 1), neuron, switches)


def _crossings(state: _State, z, slope, noise, rays) -> tuple[np.ndarray, ...]:
    """Zeros strictly inside intervals, sorted: interval, neuron, nearest vertex, place, and how far rounding may move it."""
    left, (first, last), above, below = state.left, state.ends, z > 0, z < 0
    inside = above[:-1] & below[1:]
    inside |= below[:-1] & above[1:]
    inside[last[:-1]] = False  # from one network to the next
    k, i = _where(inside)
    here, there = np.abs(z[k, i]), np.abs(z[k + 1, i])
    near = k + (there < here)
    length = state.place[k + 1] - state.place[k]
    # from the nearer end, so that nothing cancels
    place = state.place[near] + np.where(near == k, here, -there) / (here + there) * length
    found = [(left[k] + 1, i, near, place, noise(near, i) * length / (here + there))]
    for vertex, side, way in ((first, 0, 1), (last, 1, -1)):  # the rays: z falls to 0 on the way out
        tilt = way * rays[side]
        b, i = np.nonzero((above[vertex] & (tilt > 0)) | (below[vertex] & (tilt < 0)))
        near, interval = vertex[b], left[vertex[b]] + side
        step, steep = -z[near, i] / slope[interval, i], np.abs(slope[interval, i])
        found.append((interval, i, near, state.place[near] + step, noise(near, i) / steep + TOLERANCE * np.abs(step)))
    interval, neuron, near, place, error = (np.concatenate(column) for column in zip(*found))
    order = np.lexsort((place, interval))
    return interval[order], neuron[order], near[order], place[order], error[order]


class _Noise:
    """Up to where what the neurons of a layer see is only rounding: a part of the terms that it is a sum of."""

    def __init__(self, state: _State, weight, bias):
        self.state, self.offset, self.norm = state, TOLERANCE * np.abs(bias), TOLERANCE * np.abs(weight).sum(-1)
        self.largest = np.abs(state.value).max(1)

    def __call__(self, vertex, neuron=None) -> np.ndarray:
        """For all neurons at these vertices, or for one at each."""
        network, largest = self.state.network[vertex], self.largest[vertex]
        if neuron is None:
            return largest[:, None] * self.norm[network] + self.offset[network]
        return largest * self.norm[network, neuron] + self.offset[network, neuron]

    def silence(self, z) -> None:
        """Set z to zero where it is only rounding; most often there is nothing to do, which a bound for all shows."""
        highest = self.largest.max() * self.norm.max() + self.offset.max()
        vertex, neuron = _where(np.abs(z) <= highest)
        quiet = np.abs(z[vertex, neuron]) <= self(vertex, neuron)
        z[vertex[quiet], neuron[quiet]] = 0.0

    def rays(self, slope) -> list[np.ndarray]:
        """The slopes of the neurons on the left and the right ray of each network, 0 where they are only rounding."""
        rows = [self.state.left[end] + side for side, end in enumerate(self.state.ends)]
        sizes = [np.abs(self.state.slope[row]).max(1, keepdims=True) * self.norm for row in rows]
        return [np.where(np.abs(slope[row]) > size, slope[row], 0.0) for row, size in zip(rows, sizes)]


def _on(state: _State, above, rays) -> np.ndarray:
    """`(intervals, width)`: is the neuron on inside the interval? So it is if it is at an end, or grows from 0 along a ray."""
    on = np.zeros(state.slope.shape, dtype=bool)
    left = state.left
    on[left] = above
    on[left + 1] |= above
    for side, way in ((0, -1), (1, 1)):
        end = state.ends[side]
        on[left[end] + side] |= (state.value[end] == 0) & (way * rays[side] > 0)
    return on


def _where(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns that are true; `np.nonzero` for two axes, but faster."""
    return np.divmod(np.flatnonzero(mask), mask.shape[1])


def _affine(state: _State, weight, bias) -> tuple[np.ndarray, ...]:
    """What the next neurons see at the vertices, and its slope on the intervals."""
    if len(bias) == 1:
        return state.value @ weight[0].T + bias, state.slope @ weight[0].T
    # all networks in one product: their rows one below the other, filled up to the longest
    first, last = state.ends
    of_interval = np.insert(state.network, last + 1, np.arange(len(bias)))
    at = np.arange(len(state.network)) - first[state.network]
    into = np.arange(len(of_interval)) - (first + np.arange(len(bias)))[of_interval]
    longest = at.max() + 1
    padded = np.zeros((len(bias), 2 * longest + 1, weight.shape[-1]))
    flat_at, flat_into = state.network * padded.shape[1] + at, of_interval * padded.shape[1] + longest + into
    padded.reshape(-1, weight.shape[-1])[flat_at] = state.value
    padded.reshape(-1, weight.shape[-1])[flat_into] = state.slope
    product = (padded @ weight.swapaxes(-1, -2)).reshape(-1, weight.shape[-2])
    return product.take(flat_at, axis=0) + bias.take(state.network, axis=0), product.take(flat_into, axis=0)


def _finish(state: _State, weight, bias, rows) -> DeepSpline:
    value, slope = _affine(state, weight, bias)
    value, slope, left, last = value[:, 0], slope[:, 0], state.left, state.ends[1]
    size = np.abs(state.slope).max(1)
    size = np.maximum(size[left], size[left + 1]) * np.abs(weight).sum(-1)[state.network, 0]
    kink = np.abs(slope[left + 1] - slope[left]) > TOLERANCE * size
    end = slope[left[last] + 1]
    outermost = np.stack([end, value[last] - end * state.place[last]], axis=1)
    vertex, layer, neuron, switches = rows
    others = state.lit_at[vertex]
    others[np.arange(len(vertex)), layer - 1] = True
    kept = kink.copy()
    kept[vertex] = True
    order = np.lexsort((neuron, layer, vertex))
    rows = [(np.cumsum(kept) - 1)[vertex], layer, neuron, switches, others.all(1)]
    columns = [state.network, state.place + 0.0, value, slope[left], slope[left + 1], kink]
    return DeepSpline((len(last),), *(c[kept] for c in columns), *(r[order] for r in rows), outermost)


def _joined(parts: list[DeepSpline], batch_shape, step: int) -> DeepSpline:
    """Parts of `step` networks each, as one."""
    vertices = np.cumsum([0] + [len(p.place) for p in parts])
    join = lambda name: np.concatenate([getattr(p, name) for p in parts])  # noqa: E731
    network = np.concatenate([p.network + i * step for i, p in enumerate(parts)])
    vertex = np.concatenate([p.vertex + first for p, first in zip(parts, vertices)])
    middle = ("place", "value", "slope_left", "slope_right", "kink")
    rest = ("layer", "neuron", "switches", "active", "outermost")
    return DeepSpline(batch_shape, network, *map(join, middle), vertex, *map(join, rest))


def _arrays(net: ReLUNet) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights `(networks, out, in)` and biases `(networks, out)` in float64."""
    if net.sizes[0] != 1 or net.sizes[-1] != 1 or len(net.sizes) < 3:
        raise ValueError(f"a network of one input, one output and at least one hidden layer is needed; got {net}")
    weights = [w.detach().cpu().double().numpy().reshape(-1, *w.shape[-2:]) for w in net.weights]
    biases = [b.detach().cpu().double().numpy().reshape(-1, b.shape[-1]) for b in net.biases]
    if not all(np.isfinite(a).all() for a in (*weights, *biases)):
        raise ValueError("a network with weights that are NaN or infinite has no breakpoints: did its training diverge?")
    return weights, biases
