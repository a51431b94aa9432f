"""Exact breakpoints of deep networks of one variable against a grid: `python benchmarks/breakpoints.py`.

One network of depth 5 and width 64: seconds for all its kinks, and for the values on a grid of 100,000 points with the kinks
found in them by second differences; then a batch of 1,000 such networks in one call. One thread. Says what the grid misses.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numpy as np
import torch

from foldnet.nets import ReLUNet
from foldnet.splines.depth import deep_spline

SIZES, REACH, POINTS, BATCH = (1, 64, 64, 64, 64, 64, 1), 3.0, 100_000, 1_000


def networks(batch: int) -> ReLUNet:
    """He weights with normal biases, so that breakpoints are everywhere."""
    nets = ReLUNet.random(SIZES, batch=batch, init="he", seed=1)
    rng = np.random.default_rng(2)
    return ReLUNet(nets.weights, [0.5 * rng.normal(size=tuple(b.shape)) for b in nets.biases])


def grid_kinks(net: ReLUNet) -> np.ndarray:
    """Points of the grid at which the slope changes, neighbours counted once: a kink between two points bends both."""
    x = torch.linspace(-REACH, REACH, POINTS, dtype=torch.float64)
    y = net(x[:, None])[:, 0].numpy()
    slopes = np.diff(y) / (x[1] - x[0]).item()
    bend = np.abs(np.diff(slopes)) > 1e-6 * np.abs(slopes).max()
    return x.numpy()[1:-1][bend & ~np.concatenate([[False], bend[:-1]])]


def seconds(work, repeats: int) -> float:
    """The fewest processor seconds of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    torch.set_num_threads(1)
    nets = networks(BATCH)
    one = nets[0]
    f = deep_spline(one, -REACH, REACH)
    exact = f.place[f.kink].numpy()
    found = grid_kinks(one)
    exact_time, grid_time = seconds(lambda: deep_spline(one, -REACH, REACH), 300), seconds(lambda: grid_kinks(one), 3)
    print(f"one {'-'.join(map(str, SIZES))} network: {len(exact)} kinks on [-{REACH:g}, {REACH:g}]")
    print(f"  exact                     {1e3 * exact_time:9.2f} ms")
    print(f"  grid of {POINTS:,} points    {1e3 * grid_time:9.2f} ms, {grid_time / exact_time:.0f} times as long")
    spacing = 2 * REACH / (POINTS - 1)
    print(
        f"  the grid finds {len(found)} kinks; {int((np.diff(exact) < 2 * spacing).sum())} pairs lie closer than two of its steps"
    )
    many_time = seconds(lambda: deep_spline(nets, -REACH, REACH), 3)
    print(f"{BATCH:,} networks in one call  {many_time:.2f} s, {1e3 * many_time / BATCH:.2f} ms each")


if __name__ == "__main__":
    main()
