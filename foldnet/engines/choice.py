"""Which engine carries out a training, and what `fit` asks of one.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.train import fit
>>> fit(ReLUNet.random((1, 3, 1), seed=0), [[0.0]], [[1.0]], epochs=1, engine="torch", progress=False).engine
'torch'
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from .._checks import one_of
from ..training.problem import IN_KERNELS, Problem
from ._cuda_plan import best_layout, epoch_time

ENGINES = ("auto", "torch", "fused", "cuda")


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
    """The engine that is asked for by name, ready to train this problem.

    "auto" takes fused on a CPU and cuda on a GPU where they can run and pay.
    """
    one_of("engine", name, ENGINES)
    if name == "auto":
        if _fused_obstacle(problem) is None and _fused_pays(problem):
            return _fused(problem)
        if _cuda_obstacle(problem) is None and _cuda_pays(problem):
            return _cuda(problem)
        return _torch(problem)
    if name == "fused":
        if obstacle := _fused_obstacle(problem):
            raise ValueError(f"the fused engine trains float32 or float64 networks on the CPU; here {obstacle}")
        return _fused(problem, required=True)
    if name == "cuda":
        if obstacle := _cuda_obstacle(problem):
            raise ValueError(f"the cuda engine trains small float32 or float64 networks on a GPU; here {obstacle}")
        return _cuda(problem, required=True)
    return _torch(problem)


def _torch(problem: Problem) -> Engine:
    from ._torch_engine import TorchEngine

    return TorchEngine(problem)


def _fused(problem: Problem, required: bool = False) -> Engine:
    """The fused engine; without numba torch takes over, unless it is `required`."""
    try:
        from ._fused import FusedEngine
    except ImportError as error:
        if required:
            raise ValueError(f"the fused engine needs numba, which cannot be imported here: {error}") from None
        return _torch(problem)
    return FusedEngine(problem)


def _cuda(problem: Problem, required: bool = False) -> Engine:
    """The cuda engine; where its kernel cannot be made torch takes over, unless it is `required`."""
    from ._cuda import CudaEngine
    from ._nvrtc import KernelError

    try:
        return CudaEngine(problem)
    except KernelError as error:
        if required:
            raise ValueError(f"the cuda engine cannot make its kernel: {error}") from None
        return _torch(problem)


def _fused_obstacle(problem: Problem) -> str | None:
    """What keeps the fused engine from this problem."""
    return _obstacle(problem, "cpu")


def _cuda_obstacle(problem: Problem) -> str | None:
    """What keeps the cuda engine from this problem."""
    return _obstacle(problem, "cuda") or (None if best_layout(problem) else f"a {problem.net} is too large for it")


def _obstacle(problem: Problem, device: str) -> str | None:
    if problem.theta.device.type != device:
        return f"the network is on {problem.theta.device}"
    if problem.theta.dtype not in (torch.float32, torch.float64):
        return f"the network is {problem.theta.dtype}"
    if problem.net.activation not in IN_KERNELS:
        return f"the activation is {problem.net.activation}"
    return "until is a function" if callable(problem.until) else None


def _fused_pays(problem: Problem) -> bool:
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


def _cuda_pays(problem: Problem) -> bool:
    """Whether the cuda engine saves more than it takes to compile its kernel, by what was measured on an H200.

    As for the fused engine the GPU at hand does not count, and mini-batches go there only where asked for.
    """
    layout = best_layout(problem)
    if problem.batch_size is not None or layout is None:
        return False
    (count, parameters), n, units = problem.theta.shape, problem.x.shape[1], sum(problem.net.sizes[1:])
    plain = 7e-5 + count * n * units * 7e-11
    return problem.epochs * (plain - epoch_time(layout, count)) > 1 + parameters / 200
