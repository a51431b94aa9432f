"""Training in plain torch: any size, mini-batches, CPU and GPU.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.train import fit
>>> done = fit(ReLUNet.random((1, 3, 1), batch=4, seed=0), [[0.0]], [[1.0]], epochs=20, engine="torch", progress=False)
>>> bool((done.loss[-1] < done.loss[0]).all())
True
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..training.adam import adam
from ..training.capture import captured
from ..training.gradient import FlatNetworks
from ..training.losses import losses, output_gradient
from ..training.problem import Problem

# A captured epoch holds every kernel of every mini-batch; beyond this the graph costs more to build than it saves.
BATCHES_CAPTURED = 64


class InTensors:
    """An engine that keeps what the driver asks for in tensors of its own."""

    theta: Tensor
    loss: Tensor
    stop: Tensor

    def losses(self) -> Tensor:
        """What the last look saw, `(B,)`: for a frozen network its loss."""
        return self.loss

    def vector(self) -> Tensor:
        """The parameters now, `(B, P)`."""
        return self.theta.clone()

    def stops(self) -> Tensor:
        """The epoch at which each network was frozen, -1 for those that never were, `(B,)`."""
        return self.stop


class TorchEngine(InTensors):
    """All networks in one flat tensor `(B, P)`, with a gradient that is written out.

    One epoch looks first (the full-data loss, who stops) and then steps. On a GPU the epoch is captured once as a CUDA graph and
    replayed; whatever changes from epoch to epoch (counters, masks, the order of the points) therefore lives in fixed tensors.
    """

    name = "torch"

    def __init__(self, problem: Problem):
        self.problem, self.done = problem, 0
        self.nets = FlatNetworks(problem.net, problem.theta.clone())
        self.theta = self.nets.theta
        self.moments = [torch.zeros_like(self.theta) for _ in range(2 if problem.optimizer == "adam" else 0)]
        self.rate = problem.rate.unsqueeze(-1)
        self.loss = torch.zeros_like(problem.rate)
        self.frozen = torch.zeros_like(self.rate, dtype=torch.bool)
        self.stop = torch.full_like(problem.rate, -1, dtype=torch.int64)
        self.epoch = torch.zeros_like(self.stop[0])
        self.age = torch.zeros_like(self.epoch, dtype=torch.float64)
        self.order = torch.arange(problem.x.shape[1], device=self.theta.device)
        self.permutations = np.random.default_rng(problem.seed)
        self.graph = None

    # ---- what the driver calls -------------------------------------------------------------------------------------

    def advance(self, count: int) -> list[Tensor]:
        """Go through `count` epochs more; the losses `(B,)` at the marked ones among them."""
        history = []
        for epoch in range(self.done, self.done + count):
            self._run(epoch)
            if self.problem.marked(epoch):
                history.append(self.loss.clone())
        self.done += count
        return history

    def running(self) -> bool:
        """Whether any network is still being trained."""
        return not self.frozen.all()

    # ---- one epoch -------------------------------------------------------------------------------------------------

    def _run(self, epoch: int) -> None:
        if epoch == self.problem.epochs:
            self._look(self.nets.forward(self.problem.x)[1][-1])
            return
        if self.problem.batch_size is not None:
            self.order.copy_(torch.from_numpy(self.permutations.permutation(len(self.order))))
        if self._capturable():
            state = (self.theta, *self.moments, self.frozen, self.stop, self.epoch, self.age)
            self.graph = self.graph or captured(self._epoch, state)
            self.graph.replay()
        else:
            self._epoch()

    def _epoch(self) -> None:
        problem = self.problem
        reads, gives = self.nets.forward(problem.x)
        self._look(gives[-1])
        if problem.batch_size is None:
            self._step(reads, gives, problem.y)
        else:
            for batch in self.order.split(problem.batch_size):
                self._step(*self.nets.forward(problem.x.index_select(1, batch)), problem.y.index_select(1, batch))
        self.epoch += 1

    def _look(self, outputs: Tensor) -> None:
        """Take the loss; networks that have reached the goal, or lost it for good, are frozen from now on."""
        loss = self.loss.copy_(losses(outputs, self.problem.y, self.problem.loss))
        done = ~loss.isfinite()
        until = self.problem.until
        if isinstance(until, (int, float)):
            done |= loss <= until
        elif until is not None:
            done |= until(outputs, self.problem.y)
        self.stop.copy_(torch.where(done & ~self.frozen.squeeze(-1), self.epoch, self.stop))
        self.frozen |= done.unsqueeze(-1)

    def _step(self, reads: list[Tensor], gives: list[Tensor], y: Tensor) -> None:
        gradient = self.nets.backward(reads, gives, output_gradient(gives[-1], y, self.problem.loss))
        if self.problem.optimizer == "adam":
            self.age += 1
            change = adam(gradient, *self.moments, self.age, self.rate)
        else:
            change = self.rate * gradient
        # a frozen network may have an infinite gradient: its change is replaced, not multiplied by zero
        self.theta -= change.masked_fill_(self.frozen, 0)

    def _capturable(self) -> bool:
        """A user's `until` may look at values, which a captured graph forbids."""
        batches = -(-len(self.order) // (self.problem.batch_size or len(self.order)))
        return self.theta.is_cuda and not callable(self.problem.until) and batches <= BATCHES_CAPTURED
