"""Which engine carries out a training, and what `fit` asks of one."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ..training.problem import Problem, one_of

ENGINES = ("auto", "torch", "fused")


class Engine(Protocol):
    """A training under way, made from a `Problem`; tensors are on the device of the networks, `(B, ...)` for the flat batch.

    An epoch looks first (the loss on all data, who stops) and then steps; the last one, `problem.epochs`, only looks.
    """

    name: str

    def advance(self, count: int) -> list[Tensor]:
        """Go through `count` epochs more; the losses `(B,)` at the marked ones among them."""

    def running(self) -> bool:
        """Whether any network is still being trained."""

    def losses(self) -> Tensor:
        """What the last look saw, `(B,)`: for a frozen network its loss."""

    def vector(self) -> Tensor:
        """The parameters now, `(B, P)`."""

    def stops(self) -> Tensor:
        """The epoch at which each network was frozen, -1 for those that never were, `(B,)`."""


def engine_for(problem: Problem, name: str = "auto") -> Engine:
    """The engine asked for, ready to train; "auto" takes the fused one where it can run and is worth its start."""
    one_of("engine", name, ENGINES)
    if name != "torch":
        obstacle = fused_obstacle(problem)
        if obstacle and name == "fused":
            raise ValueError(f"the fused engine trains float32 or float64 networks on the CPU; here {obstacle}")
        if not obstacle and (name == "fused" or fused_pays(problem)):
            try:
                from .fused import FusedEngine
            except ImportError as error:
                if name == "fused":
                    raise ValueError(f"the fused engine needs numba, which cannot be imported here: {error}") from None
            else:
                return FusedEngine(problem)
    from .torch_engine import TorchEngine

    return TorchEngine(problem)


def fused_obstacle(problem: Problem) -> str | None:
    """What keeps the fused engine from this problem."""
    if problem.theta.device.type != "cpu":
        return f"the network is on {problem.theta.device}"
    if problem.theta.dtype not in (torch.float32, torch.float64):
        return f"the network is {problem.theta.dtype}"
    if callable(problem.until):
        return "until is a function"
    return None


def fused_pays(problem: Problem) -> bool:
    """Whether the fused engine saves more than the second it needs to start, by the rates measured in benchmarks/README.md.

    It computes 64 networks at a time whether they are there or not, so a lone network must be small; wide layers, on the other
    hand, fill the matrix products of torch. Threads and load do not count: one problem, one engine, on every machine.
    Mini-batches go there only where asked for: stored results are torch's, and many steps part ways by rounding.
    """
    if problem.batch_size is not None:
        return False
    (count, parameters), n, units = problem.theta.shape, problem.x.shape[1], sum(problem.net.sizes[1:])
    double = 1 if problem.theta.dtype == torch.float32 else 2
    fused = -(-count // 64) * 64 * n * parameters * 0.65e-9 * double
    plain = 3e-4 + count * n * (units * 15e-9 + parameters * 0.35e-9 * double)
    return problem.epochs * (plain - fused) > 1
