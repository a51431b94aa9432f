"""How many lanes of a GPU train a network, and what they keep where: the constants that `kernels/lanes.cu` is compiled with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from ..training.adam import BETAS, EPSILON
from ..training.problem import IN_KERNELS, Problem

# What one thread may hold, and what a block may hold in shared memory without asking for more.
REGISTERS, MEMORY = 250, 48 * 1024
# Everything is written out: longer texts compile for minutes and no longer fit into the cache of instructions.
MOST_PARAMETERS, MOST_WRITTEN = 1024, 2000
# Lanes of an H200 that keep it busy, and the time that one instruction of all of them takes.
LANES_AT_ONCE, TICK = 50_000, 1.8e-9


@dataclass(frozen=True)
class Layout:
    """Where the numbers of a network are; the names are those of the kernel's constants."""

    lanes: int
    threads: int
    blocks: int
    whole: bool
    apart: bool
    ticks: float  # an estimate of the instructions that a lane goes through in an epoch


@dataclass(frozen=True)
class Plan:
    """The constants of the kernel for one problem; `points` are numbers of the code, or None."""

    sizes: tuple[int, ...]
    n: int
    double: bool
    loss: str
    activation: str
    adam: bool
    batches: bool
    looks: bool
    layout: Layout
    flat: bool
    points: tuple[int, ...] | None
    words: int

    def source(self) -> str:
        """The text to compile."""
        layout = self.layout
        values = {
            "REAL": "double" if self.double else "float",
            **({} if self.double else {"SINGLE": ""}),
            "SIZES": ", ".join(map(str, self.sizes)),
            "DEPTH": len(self.sizes) - 1,
            "N": self.n,
            "ACTIVATION": IN_KERNELS.index(self.activation),
            "LOSS": {"bce": 1, "cross_entropy": 2}.get(self.loss, 0),
            "ADAM": int(self.adam),
            "BETA1": BETAS[0],
            "BETA2": BETAS[1],
            "EPSILON": EPSILON,
            "BATCHES": int(self.batches),
            "LOOKS": int(self.looks),
            "LANES": layout.lanes,
            "THREADS": layout.threads,
            "BLOCKS": layout.blocks,
            "WHOLE": int(layout.whole),
            "APART": int(layout.apart),
            "FLAT": int(self.flat),
            **({} if self.points is None else {"POINTS": ", ".join(map(str, self.points))}),
            "WORDS": self.words,
        }
        text = (Path(__file__).parent / "kernels" / "lanes.cu").read_text(encoding="utf-8")
        return "".join(f"#define {name} {value}\n" for name, value in values.items()) + text


def plan_for(problem: Problem, layout: Layout | None = None) -> Plan | None:
    """The plan for this problem, with its best layout or this one; None where a network is too large."""
    layout = layout or best_layout(problem)
    if layout is None:
        return None
    n, parameters = problem.x.shape[1], problem.theta.shape[1]
    double, batches = problem.theta.dtype == torch.float64, problem.batch_size is not None
    flat = layout.lanes == 1 and not batches and n * parameters * (1 + double) <= MOST_WRITTEN
    # Corners of a cube come again and again, so they may stand in the code; other points would mean to compile for each set.
    corners = flat and len(problem.x) == 1 and bool(((problem.x == problem.x.sign()) & (problem.x.abs() <= 1)).all())
    words = -(-n * problem.y.shape[2] // 32)
    return Plan(
        sizes=problem.net.sizes,
        n=n,
        double=double,
        loss=problem.loss,
        activation=problem.net.activation,
        adam=problem.optimizer == "adam",
        batches=batches,
        looks=problem.until is not None or problem.every < 8 or layout.lanes > 1,
        layout=layout,
        flat=flat,
        points=tuple(problem.x.flatten().int().tolist()) if corners else None,
        words=words if words <= 4 and bool(((problem.y == 0) | (problem.y == 1)).all()) else 0,
    )


def bits(y: Tensor, words: int) -> Tensor:
    """Targets `(B, n, out)` of 0 and 1 as words of 32 bits, `(words, B)`, the first point in the lowest bit."""
    flat = y.flatten(1)
    packed = torch.zeros(words, len(y), dtype=torch.int64, device=y.device)
    for k in range(flat.shape[1]):
        packed[k // 32] += flat[:, k].long() << k % 32
    return (packed - (packed >> 31 << 32)).int()


# ---- layouts -----------------------------------------------------------------------------------------------------------


def best_layout(problem: Problem) -> Layout | None:
    """The layout that should be fastest for this many networks on this many points."""
    double, activation = problem.theta.dtype == torch.float64, problem.net.activation
    possible = layouts(problem.net.sizes, problem.x.shape[1], problem.optimizer == "adam", double, activation)
    return min(possible, key=lambda layout: epoch_time(layout, len(problem.theta)), default=None)


def epoch_time(layout: Layout, count: int) -> float:
    """Seconds that an epoch of `count` networks should take."""
    return 3e-6 + TICK * layout.ticks * max(1.0, count * layout.lanes / LANES_AT_ONCE)


def layouts(sizes: tuple[int, ...], n: int, adam: bool, double: bool, activation: str = "relu") -> list[Layout]:
    """All layouts in which such a network fits."""
    parts = [(i + 1) * o for i, o in pairwise(sizes)]
    if sum(parts) > MOST_PARAMETERS or 2 * sizes[0] + sizes[-1] > REGISTERS // (1 + double):
        return []
    kept = 0 if activation in ("relu", "tanh") else sum(sizes[1:-1])  # slopes that lie beside the values
    found = [_alone(sizes, sum(parts), n, adam, double, kept)]
    for lanes in (2, 4, 8, 16, 32):
        if lanes < 2 * n:
            ways = ((whole, apart) for whole in (True, False) for apart in (False, True) if adam or not apart)
            fitting = (_together(sizes, parts, n, adam, double, kept, lanes, *way) for way in ways)
            found.append(next((layout for layout in fitting if layout), None))
    return [layout for layout in found if layout is not None]


def _alone(sizes: tuple[int, ...], parameters: int, n: int, adam: bool, double: bool, kept: int) -> Layout | None:
    """One lane: weights, gradient and moments in its registers."""
    units = sum(sizes[1:])
    registers = (1 + double) * ((4 if adam else 2) * parameters + units + kept + sizes[0] + 2 * sizes[-1]) + 20
    if registers > REGISTERS:
        return None
    ticks = n * (3.2 * parameters + 12 * units + 25) + 13 * parameters
    return Layout(1, 64, _blocks(registers, 64), True, False, ticks * (1 + double))


def _together(
    sizes, parts: list[int], n: int, adam: bool, double: bool, kept: int, lanes: int, whole: bool, apart: bool
) -> Layout | None:
    """More lanes: weights in shared memory, the moments there too if `apart`, a point's activations in registers."""
    parameters, units, widest = sum(parts), sum(sizes[1:]), max(sizes)
    slots, rounds = sum(-(-part // lanes) for part in parts), -(-n // lanes)
    if whole and rounds == 1:
        return None
    held = units + kept + sizes[0] + 2 * widest + (parameters if whole else slots) + (2 * slots if adam and not apart else 0)
    registers = (1 + double) * held + 30
    room = ((parameters + 27) // 32 * 32 + 4) * (3 if apart else 1) * 4 * (1 + double)
    threads = 64 if 64 // lanes * room <= MEMORY else 32
    if registers > REGISTERS or threads // lanes * room > MEMORY:
        return None
    points = rounds * (4.5 * parameters + 12 * units + 40)
    ticks = points + (1 if whole else rounds) * 5 * parameters + (36 if apart else 16) * slots
    blocks = min(_blocks(0.8 * registers, threads), (224 * 1024) // (threads // lanes * room + 1024))
    return Layout(lanes, threads, max(1, blocks), whole, apart, ticks * (1 + double))


def _blocks(registers: float, threads: int) -> int:
    """How many blocks of threads with that many registers, and a few to spare, a multiprocessor holds."""
    return max(1, min(32, int(65536 // (threads * min(255.0, registers + 12)))))
