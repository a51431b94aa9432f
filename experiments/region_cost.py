"""What exact regions cost: seconds and memory for windows of growing size, and for networks of growing width.

The stored run behind the plot of the cost in geometry/polytopes and the numbers in benchmarks/README.md.

>>> from experiments.region_cost import network
>>> network(8)
ReLUNet(2-8-8-8-1, float64)
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from foldnet.geometry.regions import SQUARE, regions
from foldnet.nets import ReLUNet

DEEP = 64, 32  # width and depth of the network that is seen through windows of growing size
WINDOWS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
WIDTHS = (8, 16, 32, 64, 128, 256)


def cells() -> list[dict]:
    windows = [{"width": DEEP[0], "depth": DEEP[1], "reach": reach} for reach in WINDOWS]
    return windows + [{"width": width, "depth": 3, "reach": 1.0} for width in WIDTHS]


def cell(width: int, depth: int, reach: float) -> dict:
    """The number of regions in [-reach, reach]^2, processor seconds in one thread (least of several) and peak memory in bytes."""
    net, window = network(width, depth), reach * np.array(SQUARE)
    regions(network(64), threads=1)  # large enough to fall into parts: every kernel is compiled before the clock runs
    faces, seconds = 0, []
    while sum(seconds) < 2 and len(seconds) < 20:
        start = time.process_time()
        faces = len(regions(net, window, threads=1))
        seconds.append(time.process_time() - start)
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # in this process earlier cells have left memory to use again
        held = alone.submit(memory, width, depth, reach).result()
    return {"faces": faces, "seconds": min(seconds), "bytes": held}


def memory(width: int, depth: int, reach: float) -> float:
    """Bytes that the process takes at most beyond what it held before; nan where the system does not tell."""
    net, window = network(width, depth), reach * np.array(SQUARE)
    regions(network(*DEEP), WINDOWS[0] * np.array(SQUARE), threads=1)  # the code of the kernels is not counted
    before = _peak(reset=True)
    regions(net, window, threads=1)
    return float(np.maximum(0.0, _peak() - before))


def network(width: int, depth: int = 3) -> ReLUNet:
    """The network of two inputs with so many layers of a width: the same numbers on every machine.

    He-normal weights and uniform biases, rounded to multiples of 2^-20, so that regions can be counted in integers.
    """
    rng, sizes = np.random.default_rng(width), [2, *[width] * depth, 1]
    drawn = [(rng.normal(0, np.sqrt(2 / i), (o, i)), rng.uniform(-(i**-0.5), i**-0.5, o)) for i, o in pairwise(sizes)]
    weights, biases = ([np.round(a * 2**20) / 2**20 for a in part] for part in zip(*drawn))
    return ReLUNet(weights, biases)


def _peak(reset: bool = False) -> float:
    """The most bytes that this process has held in memory so far or, after a reset, holds now."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
