"""Training of many small networks on a GPU: a kernel made for their shape goes through all epochs of a call without a break.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.train import fit
>>> try:
...     fit(ReLUNet.random((1, 3, 1), seed=0), [[0.0]], [[1.0]], epochs=1, engine="cuda", progress=False)
... except ValueError as error:
...     print(error)
the cuda engine trains small float32 or float64 networks on a GPU; here the network is on cpu
"""

from __future__ import annotations

import ctypes

import numpy as np
import torch
from torch import Tensor

from ..training.adam import BETAS
from ..training.losses import divisor
from ..training.problem import Problem
from ._cuda_plan import Plan, bits, plan_for
from ._nvrtc import kernel
from ._torch_engine import InTensors

POINTERS = ("theta", "first", "second", "x", "y", "rate", "pace", "order", "who", "loss", "history", "stop")
LONGS = ("networks", "x_step", "x_own", "y_step", "y_own")
DOUBLES = ("leak", "until", "share", "share_batch", "share_rest")
INTEGERS = ("count", "now", "epochs", "every", "final", "size", "marks", "unused")


class Task(ctypes.Structure):
    """What the kernel is given; the structure of the same name in its text says what is what."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in POINTERS),
        *((name, ctypes.c_longlong) for name in LONGS),
        *((name, ctypes.c_double) for name in DOUBLES),
        *((name, ctypes.c_int) for name in INTEGERS),
    )


class CudaEngine(InTensors):
    """Each network in the registers of one lane, or of a few lanes with its weights in shared memory, as the plan says."""

    name = "cuda"

    def __init__(self, problem: Problem, plan: Plan | None = None):
        plan = plan or plan_for(problem)
        if plan is None:
            raise ValueError(f"a {problem.net} is too large for the cuda engine")
        self.problem, self.plan, self.epoch = problem, plan, 0
        self.kernel = kernel(plan.source(), problem.theta.device)
        n, out = problem.y.shape[1:]
        self.size = min(problem.batch_size or n, n)
        self.batches = -(-n // self.size)
        self.theta = problem.theta.clone(memory_format=torch.contiguous_format)
        self.moments = [torch.zeros_like(self.theta) for _ in range(2 if plan.adam else 0)]
        self.loss = torch.zeros_like(problem.rate)
        self.stop = torch.full_like(problem.rate, -1, dtype=torch.int64)
        self.permutations = np.random.default_rng(problem.seed)
        self.task = Task(
            networks=len(self.theta),
            leak=problem.leak,
            until=-np.inf if problem.until is None else problem.until,
            share=1 / divisor(problem.loss, n, out),
            share_batch=1 / divisor(problem.loss, self.size, out),
            share_rest=1 / divisor(problem.loss, n - (self.batches - 1) * self.size, out),
            every=problem.every,
            final=problem.epochs,
            size=self.size,
        )
        x, self.task.x_step, self.task.x_own = self._reachable(problem.x)
        y, self.task.y_step, self.task.y_own = self._reachable(problem.y, plan.words)
        moments = dict(zip(("first", "second"), self.moments))
        self._point(theta=self.theta, x=x, y=y, rate=problem.rate, loss=self.loss, stop=self.stop, **moments)
        self.kept = x, y

    def advance(self, count: int) -> list[Tensor]:
        """Go through `count` epochs more; the losses `(B,)` at the marked ones among them."""
        task, device = self.task, self.theta.device
        task.now, task.epochs = self.epoch, count
        task.marks = sum(self.problem.marked(epoch) for epoch in range(self.epoch, self.epoch + count))
        history = self.loss.repeat(task.marks, 1)
        who = (self.stop < 0).nonzero().flatten().int()
        task.count = len(who)
        steps = min(count, self.problem.epochs - self.epoch)  # the last look takes none
        pace, order = self._paces(steps).to(device), self._orders(steps).to(device)
        self._point(history=history, who=who, pace=pace, order=order)
        layout = self.plan.layout
        if len(who):
            self.kernel(task, -(-len(who) * layout.lanes // layout.threads), layout.threads)
        self.epoch += count
        return list(history)

    def running(self) -> bool:
        """Whether any network is still being trained."""
        return bool((self.stop < 0).any())

    # ---- what the kernel reads -------------------------------------------------------------------------------------

    def _point(self, **tensors: Tensor) -> None:
        for name, tensor in tensors.items():
            setattr(self.task, name, tensor.data_ptr())

    def _reachable(self, values: Tensor, words: int = 0) -> tuple[Tensor, int, int]:
        """Data `(B or 1, n, width)` for the kernel, the distance of two values of a network and that of two networks.

        Lanes that read at the same time find what they read side by side: lane by lane a network, or a point.
        """
        packed = bits(values, words) if words else values.flatten(1).t() if self.plan.layout.lanes == 1 else None
        if packed is None:
            return values.contiguous(), 1, values[0].numel() if len(values) > 1 else 0
        return packed.contiguous(), len(values), int(len(values) > 1)

    def _paces(self, steps: int) -> Tensor:
        """For each step of Adam what its averages are divided by, as factors, `(steps, 2)`."""
        if not self.plan.adam:
            return torch.empty(0)
        age = np.arange(self.epoch * self.batches, (self.epoch + steps) * self.batches) + 1.0
        factors = np.stack([1 / (1 - BETAS[0] ** age), 1 / np.sqrt(1 - BETAS[1] ** age)], axis=1)
        return torch.from_numpy(factors).to(self.theta.dtype)

    def _orders(self, steps: int) -> Tensor:
        """The order of the points in each epoch, `(steps, n)`."""
        if self.problem.batch_size is None:
            return torch.empty(0)
        n = self.problem.x.shape[1]
        orders = [self.permutations.permutation(n) for _ in range(steps)]
        return torch.from_numpy(np.array(orders, dtype=np.int32).reshape(steps, n))
