"""Training in plain torch: any size, mini-batches, CPU and GPU. The gradient is written out: no autograd graph at each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, leaky_relu

if TYPE_CHECKING:
    from .train import Problem

BETAS = (0.9, 0.999)
EPSILON = 1e-8
# A captured epoch holds every kernel of every mini-batch; beyond this the graph costs more to build than it saves.
BATCHES_CAPTURED = 64


class TorchEngine:
    """All networks in one flat tensor `(B, P)`; weights and gradients of the layers are views of it.

    One epoch looks first (the full-data loss, who stops) and then steps. On a GPU the epoch is captured once as a CUDA graph and
    replayed; whatever changes from epoch to epoch (counters, masks, the order of the points) therefore lives in fixed tensors.
    """

    name = "torch"

    def __init__(self, problem: Problem):
        self.problem, self.done = problem, 0
        self.theta = problem.theta.clone()
        self.gradient = torch.zeros_like(self.theta)
        self.moments = torch.zeros(2, *self.theta.shape if problem.optimizer == "adam" else (0,)).to(self.theta)
        self.layers, self.slopes = self._layers(self.theta), self._layers(self.gradient)
        self.rate = problem.rate.unsqueeze(-1)
        self.loss = torch.zeros_like(problem.rate)
        self.frozen = torch.zeros_like(self.rate, dtype=torch.bool)
        self.stop = torch.full_like(problem.rate, -1, dtype=torch.int64)
        self.epoch = torch.zeros_like(self.stop[0])
        self.steps = torch.zeros_like(self.epoch, dtype=torch.float64)
        self.betas = torch.tensor(BETAS, dtype=torch.float64, device=self.theta.device)
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

    def losses(self) -> Tensor:
        """What the last look saw, `(B,)`: for a frozen network its loss."""
        return self.loss

    def vector(self) -> Tensor:
        """The parameters now, `(B, P)`."""
        return self.theta.clone()

    def stops(self) -> Tensor:
        """The epoch at which each network was frozen, -1 for those that never were, `(B,)`."""
        return self.stop

    # ---- one epoch -------------------------------------------------------------------------------------------------

    def _run(self, epoch: int) -> None:
        if epoch == self.problem.epochs:
            self._look(self._forward(self.problem.x)[-1])
            return
        if self.problem.batch_size is not None:
            self.order.copy_(torch.from_numpy(self.permutations.permutation(len(self.order))))
        if self._capturable():
            self.graph = self.graph or self._captured()
            self.graph.replay()
        else:
            self._epoch()

    def _epoch(self) -> None:
        problem = self.problem
        layers = self._forward(problem.x)
        self._look(layers[-1])
        if problem.batch_size is None:
            self._step(layers, problem.y)
        else:
            for batch in self.order.split(problem.batch_size):
                self._step(self._forward(problem.x.index_select(1, batch)), problem.y.index_select(1, batch))
        self.epoch += 1

    def _look(self, outputs: Tensor) -> None:
        """Take the loss; networks that have reached the goal, or lost it for good, are frozen from now on."""
        loss = self.loss.copy_(losses(self.problem.loss, outputs, self.problem.y))
        done = ~loss.isfinite()
        if callable(self.problem.until):
            done |= self.problem.until(outputs, self.problem.y)
        elif self.problem.until is not None:
            done |= loss <= self.problem.until
        self.stop.copy_(torch.where(done & ~self.frozen.squeeze(-1), self.epoch, self.stop))
        self.frozen |= done.unsqueeze(-1)

    def _step(self, layers: list[Tensor], y: Tensor) -> None:
        self._backward(layers, y)
        if self.problem.optimizer == "adam":
            change = self._adam()
        else:
            change = self.rate * self.gradient
        # a frozen network may have an infinite gradient: its change is replaced, not multiplied by zero
        self.theta -= change.masked_fill_(self.frozen, 0)

    def _adam(self) -> Tensor:
        """The step of torch.optim.Adam; its count of steps is a tensor, since a replayed graph cannot read a Python number."""
        first, second = self.moments
        self.steps += 1
        correction = 1 - self.betas**self.steps
        first.lerp_(self.gradient, 1 - BETAS[0])
        second.mul_(BETAS[1]).addcmul_(self.gradient, self.gradient, value=1 - BETAS[1])
        return (self.rate / correction[0]) * first / (second.sqrt().div_(correction[1].sqrt()).add_(EPSILON))

    # ---- the network -----------------------------------------------------------------------------------------------

    def _layers(self, vector: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views of a `(B, P)` tensor: for each layer `(B, out, in)` and `(B, out)`."""
        net = self.problem.net.with_vector(vector)
        return list(zip(net.weights, net.biases))

    def _forward(self, x: Tensor) -> list[Tensor]:
        """Points, activations of each hidden layer, outputs: each `(B, n, width)`."""
        layers = [x.expand(len(self.theta), -1, -1)]
        for w, b in self.layers[:-1]:
            z = torch.baddbmm(b.unsqueeze(1), layers[-1], w.mT)
            layers.append(leaky_relu(z, self.problem.net.leak, inplace=True))
        w, b = self.layers[-1]
        return [*layers, torch.baddbmm(b.unsqueeze(1), layers[-1], w.mT)]

    def _backward(self, layers: list[Tensor], y: Tensor) -> None:
        """The gradient of the loss at these activations, written into `gradient`."""
        delta = output_gradient(self.problem.loss, layers[-1], y)
        for number in reversed(range(len(self.layers))):
            (w, _), (w_slope, b_slope), below = self.layers[number], self.slopes[number], layers[number]
            torch.bmm(delta.mT, below, out=w_slope)
            torch.sum(delta, 1, out=b_slope)
            if number:
                # one kernel instead of three; that an activation is positive where its input was holds for every leak >= 0
                delta = torch.ops.aten.leaky_relu_backward(delta @ w, below, self.problem.net.leak, True)

    # ---- the CUDA graph --------------------------------------------------------------------------------------------

    def _capturable(self) -> bool:
        """A user's `until` may look at values, which a captured graph forbids."""
        batches = -(-len(self.order) // (self.problem.batch_size or len(self.order)))
        return self.theta.is_cuda and not callable(self.problem.until) and batches <= BATCHES_CAPTURED

    def _captured(self) -> torch.cuda.CUDAGraph:
        """One epoch as a graph. The epochs run to warm up are taken back."""
        state = (self.theta, self.moments, self.frozen, self.stop, self.epoch, self.steps)
        before = [tensor.clone() for tensor in state]
        with torch.cuda.device(self.theta.device):
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(3):
                    self._epoch()
            torch.cuda.current_stream().wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._epoch()
        for tensor, value in zip(state, before):
            tensor.copy_(value)
        return graph


def losses(loss: str, outputs: Tensor, y: Tensor) -> Tensor:
    """The loss of each network, `(B,)`, from outputs `(B, n, out)` and targets `(B or 1, n, out)`."""
    if loss == "mse":
        return (outputs - y).square().mean((1, 2))
    if loss == "half_sum":
        return (outputs - y).square().sum((1, 2)) / 2
    if loss == "bce":
        return binary_cross_entropy_with_logits(outputs, y.expand_as(outputs), reduction="none").mean((1, 2))
    return (outputs.logsumexp(-1) - (y * outputs).sum(-1)).mean(1)


def output_gradient(loss: str, outputs: Tensor, y: Tensor) -> Tensor:
    """The derivative of `losses` by the outputs, `(B, n, out)`."""
    n, out = outputs.shape[1:]
    if loss == "mse":
        return (outputs - y) * (2 / (n * out))
    if loss == "half_sum":
        return outputs - y
    if loss == "bce":
        return (outputs.sigmoid() - y) * (1 / (n * out))
    return (outputs.softmax(-1) - y) * (1 / n)
