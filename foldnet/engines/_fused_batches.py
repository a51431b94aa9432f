"""Mini-batches for the fused kernel: the points of each batch are gathered, and the kernel takes one step on them."""

from __future__ import annotations

import numpy as np

from .._compiled import compiled
from ._fused_kernel import LANES, POINTS, ROW, note, train_blocks


@compiled
def gather(into, values, order, first, count):
    """Points `order[first : first + count]` of `values` `(groups, width * ROW)` into the first places of `into`, same layout."""
    for place in range(count):
        point = order[first + place]
        old, new = values[point // POINTS], into[place // POINTS]
        for i in range(old.size // ROW):
            a = i * ROW + (point % POINTS) * LANES
            b = i * ROW + (place % POINTS) * LANES
            for t in range(LANES):
                new[b + t] = old[a + t]


@compiled
def train_batches(
    blocks, sizes, units, thetas, firsts, seconds, x, y, weight, rates, stops, losses, histories, goal, kind, when, batches
):
    """As `train_blocks`, but an epoch looks and then takes one step for each mini-batch.

    `batches` is the goal that stops nothing, the order of the points `(count, n)`, the size of a batch, how many there are, and
    the weights of the points in all batches but the last and in the last, both `(groups, POINTS)`.
    """
    free, orders, size, number, common, last = batches
    now, count, every, final = when
    one, never, n = np.zeros(1, np.int64), np.int64(2**62), orders.shape[1]
    groups = len(common)
    points, targets = np.zeros((1, groups, x.shape[2]), x.dtype), np.zeros((1, groups, y.shape[2]), y.dtype)
    seen, ignored = np.zeros((1, 1, LANES), losses.dtype), np.zeros((1, LANES), losses.dtype)
    broken = np.empty((1, LANES), stops.dtype)
    for block in blocks:
        # reshaped, not sliced: numba takes a slice for an array of another kind and would compile the kernel a second time
        theta, first = thetas[block].reshape(1, thetas.shape[1]), firsts[block].reshape(1, firsts.shape[1])
        second, rate = seconds[block].reshape(1, seconds.shape[1]), rates[block].reshape(1, LANES)
        stop, loss = stops[block].reshape(1, LANES), losses[block].reshape(1, LANES)
        all_x = x[block % len(x)].reshape(1, x.shape[1], x.shape[2])
        all_y = y[block % len(y)].reshape(1, y.shape[1], y.shape[2])
        mark = 0
        for k in range(count):
            epoch = now + k
            look = (epoch, 1, 1, epoch)
            train_blocks(one, sizes, units, theta, first, second, all_x, all_y, weight, rate, stop, loss, seen, goal, kind, look)
            if epoch % every == 0 or epoch == final:
                note(histories[block], mark, mark + 1, loss[0])
                mark += 1
            if not rate.any():
                note(histories[block], mark, histories.shape[1], loss[0])
                break
            if epoch == final:
                continue
            broken[:] = -1
            for batch in range(number):
                begin = batch * size
                gather(points[0], all_x[0], orders[k], begin, min(size, n - begin))
                gather(targets[0], all_y[0], orders[k], begin, min(size, n - begin))
                share = common if batch < number - 1 else last
                step = (epoch * number + batch, 1, never, never)
                train_blocks(
                    one, sizes, units, theta, first, second, points, targets, share, rate, broken, ignored, seen, free, kind, step
                )
            # what has left the numbers in the middle of an epoch is frozen by the next look, as the other engine does it
            for t in range(LANES):
                if broken[0, t] >= 0:
                    rate[0, t] = 1
                    for parameter in range(theta.shape[1] // LANES):
                        theta[0, parameter * LANES + t] = np.nan
