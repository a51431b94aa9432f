"""Exact regions in the plane: foldnet's complex, a plain numpy polygon splitter and a grid of patterns, in one run, one thread.

    python benchmarks/regions.py [WIDTH ...]

Networks 2-w-w-w-1 on [-1, 1]^2, He-normal weights and uniform biases rounded to multiples of 2^-20, so that the counts can be
repeated in integers. Times are the best of several, in seconds of this process.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise

import numpy as np
import torch

from foldnet.geometry.regions import SQUARE, regions
from foldnet.nets import ReLUNet

GRID = 1000


def network(width: int, depth: int = 3) -> ReLUNet:
    """The network of a width: the same numbers on every machine."""
    rng, sizes = np.random.default_rng(width), [2, *[width] * depth, 1]
    drawn = [(rng.normal(0, np.sqrt(2 / i), (o, i)), rng.uniform(-(i**-0.5), i**-0.5, o)) for i, o in pairwise(sizes)]
    return ReLUNet(*([np.round(a * 2**20) / 2**20 for a in part] for part in zip(*drawn)))


def plain(net: ReLUNet) -> int:
    """Regions by splitting one polygon after the other, with the affine map of each: how one would write it first."""
    pieces = [(np.array(SQUARE), np.eye(2), np.zeros(2))]
    for w, b in zip(net.weights[:-1], net.biases[:-1]):
        w, b, after = w.numpy(), b.numpy(), []
        for corners, slope, offset in pieces:
            slope, offset = w @ slope, w @ offset + b
            parts = [(corners, corners @ slope.T + offset)]
            for j in np.flatnonzero((parts[0][1] > 0).any(0) & (parts[0][1] < 0).any(0)):
                parts = [half for part in parts for half in _halves(*part, j)]
            for part, _ in parts:
                on = slope @ part.mean(0) + offset > 0
                after.append((part, slope * on[:, None], offset * on))
        pieces = after
    return len(pieces)


def _halves(corners: np.ndarray, z: np.ndarray, j: int):
    """A convex polygon cut by the line on which neuron j vanishes, with the values of all neurons at its corners."""
    here, there = z[:, j], np.roll(z[:, j], -1)
    if here.min() >= 0 or here.max() <= 0:
        return [(corners, z)]
    cut = np.flatnonzero(here * there < 0)
    share, after = (here[cut] / (here[cut] - there[cut]))[:, None], (cut + 1) % len(here)
    both = [np.insert(a, cut + 1, a[cut] + share * (a[after] - a[cut]), axis=0) for a in (corners, z)]
    both[1][cut + 1 + np.arange(len(cut)), j] = 0
    sign = both[1][:, j]
    return [tuple(a[side] for a in both) for side in (sign >= 0, sign <= 0)]


def grid(net: ReLUNet) -> int:
    """Patterns that a grid of a million points sees: fewer than there are."""
    line = torch.linspace(-1, 1, GRID, dtype=torch.float64)
    bits = np.packbits(net.pattern(torch.cartesian_prod(line, line)).numpy(), axis=1)
    return len(np.unique(bits, axis=0))


def best(work, times: int) -> tuple[float, int]:
    """The least time of several calls, and what the last one returned."""
    least, result = np.inf, None
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        least = min(least, time.perf_counter() - start)
    return least, result


def main(widths: list[int]) -> None:
    torch.set_num_threads(1)
    regions(network(4), threads=1)  # compiled before the clock runs
    print("width  regions     ours   2 threads      numpy   times   grid sees")
    for width in widths:
        net = network(width)
        ours, c = best(lambda: regions(net, threads=1), 7)  # noqa: B023
        two, _ = best(lambda: regions(net, threads=2), 7)  # noqa: B023
        row = f"{width:5} {len(c):8,} {1e3 * ours:7.1f} ms {1e3 * two:7.1f} ms"
        if width <= 64:
            slow, count = best(lambda: plain(net), 1)  # noqa: B023
            assert count == len(c), (count, len(c))
            row += f" {slow:8.2f} s {slow / ours:6.0f} {grid(net) / len(c):10.1%}"
        print(row, flush=True)


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [8, 16, 32, 64, 128, 256])
