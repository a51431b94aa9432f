"""Deep networks of one variable as splines: every breakpoint of every neuron, exactly, layer by layer and without a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    return replace(parts[0], batch_shape=net.batch_shape) if len(parts) == 1 else _joined(parts, net.batch_shape, step)


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
# below give out at each of them (`value`), and their slope on each interval between them (`slope`, one row less for each
# network). The ends of the line are vertices too: at -inf and inf `value` is the limit of value / |x|, on which a layer without
# its bias and the ReLU act as they do elsewhere. A layer is affine on each interval, so its zeros are found there and nowhere
# else, and become vertices. It all starts from one vertex at 0 that belongs to no neuron.


@dataclass(frozen=True)
class _State:
    network: np.ndarray
    place: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    lit_at: np.ndarray  # (vertices, layers): some neuron of the layer is on there
    lit_in: np.ndarray  # the same for the open intervals

    @cached_property
    def last(self) -> np.ndarray:
        """The vertex inf of each network."""
        return np.bincount(self.network).cumsum() - 1

    @cached_property
    def ends(self) -> np.ndarray:
        """The vertices -inf, one for each network, then those at inf."""
        return np.concatenate([[0], self.last[:-1] + 1, self.last])

    @cached_property
    def right(self) -> np.ndarray:
        """The interval to the right of each vertex; the one to its left comes before it. There is none at inf."""
        return np.arange(len(self.network)) - self.network


def _spline_of(weights, biases, leak: float) -> DeepSpline:
    count, layers = len(biases[0]), len(biases) - 1
    network, place, value = (
        np.repeat(np.arange(count), 3),
        np.tile([-np.inf, 0.0, np.inf], count),
        np.tile([-1.0, 0.0, 1.0], count),
    )
    yes = np.ones((3 * count, layers), dtype=bool)
    state = _State(network, place, value[:, None], np.ones((2 * count, 1)), yes, yes[: 2 * count])
    rows = []
    for layer in range(layers):
        state, moved, new = _layer(state, weights[layer], biases[layer], leak, layer)
        rows = [(moved[vertex], *rest) for vertex, *rest in rows] + [new]
    return _finish(state, weights[-1], biases[-1], [np.concatenate(column) for column in zip(*rows)])


def _layer(state: _State, weight, bias, leak: float, layer: int) -> tuple[_State, np.ndarray, tuple]:
    """The state after one layer, where the old vertices went, and the breakpoints of the layer's neurons."""
    z, slope, noise = _affine(state, weight, bias)
    z[np.abs(z) <= noise] = 0.0
    interval, neuron, near, place, error = _crossings(state, z, noise)
    # breakpoints of several neurons at one place, up to rounding, are one vertex
    new = np.ones(len(place), dtype=bool)
    new[1:] = (interval[1:] != interval[:-1]) | (place[1:] - place[:-1] > np.maximum(error[1:], error[:-1]))
    group, head = new.cumsum() - 1, np.flatnonzero(new)
    interval, near, place = interval[head], near[head], place[head]
    step = slope[interval] * (place - state.place[near])[:, None]
    z_new = z[near] + step
    z_new[np.abs(z_new) <= noise[near] + TOLERANCE * np.abs(step)] = 0.0
    z_new[group, neuron] = 0.0
    # old and new vertices in one order, and every interval as often as it has parts
    network = state.network[near]
    before = interval + network + 1
    moved = np.arange(len(z)) + np.searchsorted(before, np.arange(len(z)), side="right")
    order = np.empty(len(z) + len(head), dtype=int)
    order[moved], order[before + np.arange(len(head))] = np.arange(len(z)), np.arange(len(z), len(order))
    parts = np.repeat(np.arange(len(slope)), 1 + np.bincount(interval, minlength=len(slope)))
    merged = lambda old, new: np.concatenate([old, new]).take(order, axis=0)  # noqa: E731
    z, slope = merged(z, z_new), slope.take(parts, axis=0)
    lit_at, lit_in = merged(state.lit_at, state.lit_in[interval]), state.lit_in[parts]
    fresh = _State(merged(state.network, network), merged(state.place, place), z, slope, lit_at, lit_in)
    # inside an interval a neuron is on if it is at one of the ends
    above = z > 0
    on = np.delete(above[:-1] | above[1:], fresh.last[:-1], axis=0) if len(bias) > 1 else above[:-1] | above[1:]
    lit_at[:, layer], lit_in[:, layer] = above.any(1), on.any(1)
    zero = z == 0
    zero[fresh.ends] = False
    vertex, neuron = _where(zero)
    switches = on[fresh.right[vertex] - 1, neuron] != on[fresh.right[vertex], neuron]
    np.maximum(z, leak * z if leak else 0.0, out=z)
    slope *= np.where(on, 1.0, leak) if leak else on
    return fresh, moved, (vertex, np.full(len(vertex), layer + 1), neuron, switches)


def _crossings(state: _State, z, noise) -> tuple[np.ndarray, ...]:
    """Zeros strictly inside intervals, sorted: interval, neuron, nearest vertex, place, and how far rounding may move it."""
    above, below = z > 0, z < 0
    inside = above[:-1] & below[1:]
    inside |= below[:-1] & above[1:]
    inside[state.last[:-1]] = False  # from one network to the next
    k, neuron = _where(inside)
    here, there, start, end = np.abs(z[k, neuron]), np.abs(z[k + 1, neuron]), state.place[k], state.place[k + 1]
    ray = np.isinf(start) | np.isinf(end)
    # from the nearer end, so that nothing cancels; on a ray from the finite one, and z at the other is the slope
    back = np.where(ray, np.isinf(start), there < here)
    near = k + back
    steep = np.where(ray, np.where(back, here, there), (here + there) / np.where(ray, 1.0, end - start))
    step = np.where(back, -there, here) / steep
    place, error = state.place[near] + step, noise[near, neuron] / steep + TOLERANCE * np.abs(step)
    interval = state.right[k]
    order = np.lexsort((place, interval))
    return interval[order], neuron[order], near[order], place[order], error[order]


def _where(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns that are true; `np.nonzero` for two axes, but faster."""
    return np.divmod(np.flatnonzero(mask), mask.shape[1])


def _affine(state: _State, weight, bias) -> tuple[np.ndarray, ...]:
    """What the next neurons see at the vertices, its slope on the intervals, and up to where z is only rounding."""
    norm, offset = TOLERANCE * np.abs(weight).sum(-1), TOLERANCE * np.abs(bias)
    largest = np.abs(state.value).max(1, keepdims=True)
    if len(bias) == 1:
        z, slope, noise = state.value @ weight[0].T, state.slope @ weight[0].T, largest * norm
    else:  # all networks in one product: their rows one below the other, filled up to the longest
        at = np.arange(len(state.network)) - state.ends[state.network]
        of_interval = np.delete(state.network, state.last)
        into = np.delete(at, state.last)
        longest = at.max() + 1
        padded = np.zeros((len(bias), 2 * longest, weight.shape[-1]))
        at, into = state.network * 2 * longest + at, of_interval * 2 * longest + longest + into
        padded.reshape(-1, weight.shape[-1])[at] = state.value
        padded.reshape(-1, weight.shape[-1])[into] = state.slope
        product = (padded @ weight.swapaxes(-1, -2)).reshape(-1, weight.shape[-2])
        z, slope, noise = product.take(at, axis=0), product.take(into, axis=0), largest * norm.take(state.network, axis=0)
    limits = z[state.ends], noise[state.ends]  # a bias does not matter at infinity
    z += bias if len(bias) == 1 else bias.take(state.network, axis=0)
    noise += offset if len(bias) == 1 else offset.take(state.network, axis=0)
    z[state.ends], noise[state.ends] = limits
    return z, slope, noise


def _finish(state: _State, weight, bias, rows) -> DeepSpline:
    value, slope, _ = _affine(state, weight, bias)
    value, slope, finite = value[:, 0], slope[:, 0], np.flatnonzero(np.isfinite(state.place))
    right = state.right[finite]
    size = np.abs(state.slope).max(1)
    size = np.maximum(size[right - 1], size[right]) * np.abs(weight).sum(-1)[state.network[finite], 0]
    kink = np.abs(slope[right] - slope[right - 1]) > TOLERANCE * size
    columns = [state.network[finite], state.place[finite] + 0.0, value[finite], slope[right - 1], slope[right], kink]
    outermost = slope[state.right[state.last] - 1]
    outermost = np.stack([outermost, value[state.last - 1] - outermost * state.place[state.last - 1]], axis=1)
    vertex, layer, neuron, switches = rows
    others = state.lit_at[vertex]
    others[np.arange(len(vertex)), layer - 1] = True
    vertex = vertex - 2 * state.network[vertex] - 1  # among the finite ones
    kept = kink.copy()
    kept[vertex] = True
    order = np.lexsort((neuron, layer, vertex))
    rows = [(np.cumsum(kept) - 1)[vertex], layer, neuron, switches, others.all(1)]
    return DeepSpline((len(bias),), *(c[kept] for c in columns), *(r[order] for r in rows), outermost)


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
    if not net.vector().isfinite().all():
        raise ValueError("a network with weights that are NaN or infinite has no breakpoints: did its training diverge?")
    weights = [w.detach().cpu().double().numpy().reshape(-1, *w.shape[-2:]) for w in net.weights]
    biases = [b.detach().cpu().double().numpy().reshape(-1, b.shape[-1]) for b in net.biases]
    return weights, biases
