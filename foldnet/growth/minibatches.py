"""Adam on minibatches for networks that may grow on the way: what is old keeps its memory, what is new starts with none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Training:
    """Adam on minibatches of labelled points, for every network of a batch `(B,)`, each with its own order of the data.

    The state is the subject here: `net` is the networks of now, `train` goes on, and `become` exchanges them for wider ones.
    Network b draws its orders from `numpy.random.default_rng([seeds[b], epoch])`, so it trains the same alone as beside others.
    On a GPU one step is captured as a CUDA graph and replayed.
    """

    def __init__(self, net, x, y, lr: float = 1e-4, batch_size: int = 100, seeds: Sequence[int] | None = None):
        if len(net.batch_shape) != 1:
            raise ValueError(f"training takes a batch of networks of shape (B,), one by one or many; got {net}")
        self.seeds = list(range(*net.batch_shape)) if seeds is None else list(seeds)
        if len(self.seeds) != net.batch_shape[0]:
            raise ValueError(f"{net.batch_shape[0]} networks need as many seeds; got {len(self.seeds)}")
        self.x, self.y = points(net, x, y)
        if not 1 <= batch_size <= len(self.x):
            raise ValueError(f"a minibatch has 1 to {len(self.x)} points here; got {batch_size}")
        self.lr, self.batch_size, self.done = lr, batch_size, 0
        self.per_epoch = len(self.x) // batch_size
        self.order = torch.zeros(len(self.seeds), self.per_epoch, batch_size, dtype=torch.int64, device=net.device)
        self.place = torch.zeros(1, dtype=torch.int64, device=net.device)
        self.first = self.second = self.seen = None
        self.become(net)

    @property
    def net(self):
        """The networks as they are now, as a value."""
        return self._net.with_vector(self.theta.clone())

    def become(self, net) -> None:
        """Go on with these networks, whose new neurons stand last in their layers.

        Adam's memory of the old parameters stays. A new parameter has none: its averages start at zero and, unlike with one
        count of steps for all, it is corrected by the steps it has seen itself, like a parameter of a network just made.
        """
        if self.first is None:
            self.first, self.second = torch.zeros_like(net.vector()), torch.zeros_like(net.vector())
            self.seen = torch.zeros_like(self.first[:1]).repeat(2, 1)
        else:
            if any(new < old for old, new in zip(self._net.sizes, net.sizes)):
                raise ValueError(f"networks grow in training; {net} has a narrower layer than {self._net}")
            self.first, self.second, self.seen = (
                _with_room(self._net.with_vector(moment), net) for moment in (self.first, self.second, self.seen)
            )
        self.theta = net.vector().detach().clone()
        # views of theta, so that a step on theta is a step of the network; leaves, so that autograd stops here
        views = net.with_vector(self.theta)
        leaves = [[p.detach().requires_grad_() for p in part] for part in (views.weights, views.biases)]
        self._net, self._graph = replace(net, weights=tuple(leaves[0]), biases=tuple(leaves[1])), None

    def prepare(self) -> None:
        """On a GPU, capture the step of the networks as they are; elsewhere nothing."""
        if self.theta.is_cuda and self._graph is None:
            self._graph = self._captured()

    def train(self, count: int) -> None:
        """Take `count` minibatches more."""
        for _ in range(count):
            epoch, place = divmod(self.done, self.per_epoch)
            if place == 0:
                self.order.copy_(self._orders(epoch))
            self.place.fill_(place)
            if not self.theta.is_cuda:
                self._step()
            else:
                self.prepare()
                self._graph.replay()
            self.done += 1

    def _orders(self, epoch: int) -> Tensor:
        used = self.per_epoch * self.batch_size
        orders = [np.random.default_rng([seed, epoch]).permutation(len(self.x))[:used] for seed in self.seeds]
        return torch.from_numpy(np.stack(orders)).view(self.order.shape)

    def _step(self) -> None:
        chosen = self.order.index_select(1, self.place).squeeze(1)
        loss = cross_entropy(self._net(self.x[chosen]).flatten(0, 1), self.y[chosen].flatten(), reduction="sum")
        leaves = [p for layer in zip(self._net.weights, self._net.biases) for p in layer]  # the order of net.vector()
        slopes = torch.autograd.grad(loss / self.batch_size, leaves)
        slope = torch.cat([s.flatten(1) for s in slopes], dim=1)
        with torch.no_grad():
            self.first.lerp_(slope, 1 - BETAS[0])
            self.second.lerp_(slope.square_(), 1 - BETAS[1])
            # what the averages would be if every slope had been 1: dividing by it is Adam's correction, parameter by parameter
            self.seen[0].lerp_(torch.ones_like(self.seen[0]), 1 - BETAS[0])
            self.seen[1].lerp_(torch.ones_like(self.seen[1]), 1 - BETAS[1])
            scale = (self.second / self.seen[1]).sqrt_().add_(EPSILON)
            self.theta.addcdiv_(self.first / self.seen[0], scale, value=-self.lr)

    def _captured(self) -> torch.cuda.CUDAGraph:
        """One step as a graph; the steps taken to warm up are taken back."""
        state = (self.theta, self.first, self.second, self.seen)
        before = [tensor.clone() for tensor in state]
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step()
        for tensor, value in zip(state, before):
            tensor.copy_(value)
        return graph


def points(net, x, y) -> tuple[Tensor, Tensor]:
    """Points `(n, in)` in the dtype of the networks and labels `(n,)`, on their device."""
    x = torch.as_tensor(x, dtype=net.dtype, device=net.device)
    y = torch.as_tensor(y, device=net.device)
    if x.ndim != 2 or x.shape[1] != net.sizes[0] or y.shape != x.shape[:1] or y.is_floating_point():
        raise ValueError(
            f"points (n, {net.sizes[0]}) and whole-numbered labels (n,) are needed; "
            f"got {tuple(x.shape)} and {y.dtype} {tuple(y.shape)}"
        )
    if not len(y) or not 0 <= int(y.min()) <= int(y.max()) < net.sizes[-1]:
        raise ValueError(f"labels are 0 to {net.sizes[-1] - 1}, one for each output, and there is at least one")
    return x, y.to(torch.int64)


def _with_room(moment, net) -> Tensor:
    """A moment, in the shape of the network it belongs to, as a vector for a wider network: zeros for what is new."""
    parts = []
    for pair in zip(zip(moment.weights, moment.biases), zip(net.weights, net.biases)):
        for old, new in zip(*pair):
            room = [n for was, now in zip(reversed(old.shape[1:]), reversed(new.shape[1:])) for n in (0, now - was)]
            parts.append(pad(old, room).flatten(1))
    return torch.cat(parts, dim=1)
