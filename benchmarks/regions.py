"""Exact regions in the plane: foldnet's complex, a plain numpy polygon splitter and a grid of patterns, in one run, one thread.

    python benchmarks/regions.py [WIDTH ...]
    python benchmarks/regions.py threads    # one thread and two, by the clock: wants two cores that nobody else uses

Networks 2-w-w-w-1 on [-1, 1]^2, He-normal weights and uniform biases rounded to multiples of 2^-20, so that the counts can be
repeated in integers. Times are the best of several in turns, in processor seconds.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

from experiments.region_cost import network
from foldnet.geometry.grid import on_grid
from foldnet.geometry.regions import SQUARE, regions
from foldnet.nets import ReLUNet

GRID = 1000


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


def side_by_side(fast, slow, rounds: int) -> tuple[float, float]:
    """The least processor seconds of each, in turns, so that both meet the same machine."""
    least = [np.inf, np.inf]
    for _ in range(rounds):
        for i, (work, times) in enumerate(((fast, 15), (slow, 1))):
            for _ in range(times):
                start = time.process_time()
                work()
                least[i] = min(least[i], time.process_time() - start)
    return least[0], least[1]


def one_and_two(seconds: float = 8.0) -> None:
    """One thread and two in turns by the clock, least and median of each, and how much of a core others used meanwhile."""
    print("network          regions     one thread          two threads    ratio of least, medians   others")
    for width, depth, reach in ((64, 3, 1.0), (128, 3, 1.0), (64, 32, 0.1), (64, 32, 0.2)):
        net, window, took = network(width, depth), reach * np.array(SQUARE), ([], [])
        faces = len(regions(net, window, threads=2))
        begin, busy, own = time.perf_counter(), _busy(), time.process_time()
        while time.perf_counter() - begin < seconds or len(took[0]) < 3:
            for threads in (1, 2):
                start = time.perf_counter()
                regions(net, window, threads=threads)
                took[threads - 1].append(1e3 * (time.perf_counter() - start))
        others = (_busy() - busy - (time.process_time() - own)) / (time.perf_counter() - begin)
        (one, middle), (two, half) = ((min(t), np.median(t)) for t in took)
        row = f"2-{width}x{depth}-1, {reach:<4g} {faces:9,} {one:8.1f} {middle:8.1f} ms {two:8.1f} {half:8.1f} ms"
        print(f"{row} {one / two:8.2f} {middle / half:8.2f} {others:15.2f} cores", flush=True)


def _busy() -> float:
    """Processor seconds that the whole machine has worked, where the system tells."""
    try:
        with open("/proc/stat") as file:
            user, nice, system, *_ = map(int, file.readline().split()[1:])
    except OSError:
        return float("nan")
    return (user + nice + system) / 100


def main(widths: list[int]) -> None:
    torch.set_num_threads(1)
    regions(network(64), threads=1)  # compiled before the clock runs
    print("width  regions       ours    plain numpy   times   grid sees")
    for width in widths:
        net = network(width)
        c = regions(net, threads=1)
        row = f"{width:5} {len(c):8,}"
        if width <= 64:
            count = plain(net)
            assert count == len(c), (count, len(c))
            ours, slow = side_by_side(lambda: regions(net, threads=1), lambda: plain(net), 3)  # noqa: B023
            seen = len(on_grid(net, points=GRID)) / len(c)
            row += f" {1e3 * ours:7.1f} ms {slow:10.2f} s {slow / ours:9.0f} {seen:10.1%}"
        else:
            ours, _ = side_by_side(lambda: regions(net, threads=1), lambda: None, 1)  # noqa: B023
            row += f" {1e3 * ours:7.1f} ms"
        print(row, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["threads"]:
        one_and_two()
    else:
        main([int(a) for a in sys.argv[1:]] or [8, 16, 32, 64, 128])
