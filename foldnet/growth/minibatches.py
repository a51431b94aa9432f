"""Adam for networks that may grow on the way: what is old keeps its memory, what is new starts with none.

>>> import torch
>>> from foldnet.growth.minibatches import Training
>>> from foldnet.nets import ReLUNet
>>> x = torch.linspace(-1, 1, 20).double().unsqueeze(-1)
>>> error = lambda net: (net(x) - x.abs()).square().mean((1, 2))
>>> training = Training(ReLUNet.random((1, 4, 1), batch=3), x, x.abs(), loss="mse", lr=1e-2, batch_size=5)
>>> before = error(training.net)
>>> training.train(200)
>>> training.done, (error(training.net) < before).tolist()
(200, [True, True, True])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from .._checks import flat_batch, one_of
from ..nets import Network
from ..training.adam import BETAS, adam
from ..training.capture import captured
from ..training.gradient import FlatNetworks
from ..training.losses import LOSSES, output_gradient
from ..training.problem import checked_data


class Training:
    """Adam on minibatches, for every network of a batch `(B,)`, each with its own order of the data; any kind of `Network`.

    The state is the subject here: `net` is the networks of now, `train` goes on, and `become` exchanges them for wider ones.

    `x`, `y`, `loss`: points, targets and the name of a loss, as in `fit`.
    `lr`, `betas`: the learning rate of Adam and the decay of its averages.
    `batch_size`: points that do not fill a last minibatch are left out of that epoch; None takes all points in every step.
    `seeds`: network b draws its orders from `numpy.random.default_rng([seeds[b], epoch])`, so it trains the same alone as beside
    others.

    On a GPU one step is captured as a CUDA graph and replayed.
    """

    def __init__(
        self, net, x, y, *, loss: str = "cross_entropy", lr: float = 1e-4, batch_size: int | None = 100,
        seeds: Sequence[int] | None = None, betas: tuple[float, float] = BETAS,
    ):  # fmt: skip
        if len(net.batch_shape) != 1:
            raise ValueError(f"training takes a batch of networks of shape (B,), one by one or many; got {net}")
        self.seeds = list(range(*net.batch_shape)) if seeds is None else list(seeds)
        if len(self.seeds) != net.batch_shape[0]:
            raise ValueError(f"{net.batch_shape[0]} networks need as many seeds; got {len(self.seeds)}")
        one_of("loss", loss, LOSSES)  # a function would have no slope here
        self.x, self.y = (flat_batch(value, net) for value in checked_data(net, x, y, loss))
        self.points = self.x.shape[1]
        self.whole, self.batch_size = batch_size is None, self.points if batch_size is None else batch_size
        if not 1 <= self.batch_size <= self.points:
            raise ValueError(f"a minibatch has 1 to {self.points} points here; got {batch_size}")
        self.loss, self.lr, self.betas, self.done = loss, lr, betas, 0
        self.per_epoch = self.points // self.batch_size
        self.order = torch.zeros(len(self.seeds), self.per_epoch, self.batch_size, dtype=torch.int64, device=net.device)
        self.place = torch.zeros(1, dtype=torch.int64, device=net.device)
        self.nets: Any = None
        self.become(net)

    @property
    def net(self) -> Network:
        """The networks as they are now, as a value."""
        return self.nets.net.with_vector(self.nets.theta.clone())

    def become(self, net) -> None:
        """Go on with these networks, whose new neurons stand last in their layers.

        Adam's memory of the old parameters stays. A new parameter has none: its averages start at zero and, unlike with one
        count of steps for all, it is corrected by the steps it has seen itself, like a parameter of a network just made.
        """
        if self.nets is None:
            self.memory = [torch.zeros_like(net.vector()) for _ in range(2)]
            self.age = torch.zeros_like(self.memory[0][:1], dtype=torch.float64)
        else:
            before = self.nets.net
            if any(new < old for old, new in zip(before.sizes, net.sizes)):
                raise ValueError(f"networks grow in training; {net} has a narrower layer than {before}")
            *self.memory, self.age = (_with_room(before.with_vector(part), net) for part in (*self.memory, self.age))
        self.nets, self._graph = FlatNetworks(net, net.vector().detach().clone()), None

    def prepare(self) -> None:
        """On a GPU, capture the step of the networks as they are; elsewhere nothing."""
        if self.place.is_cuda and self._graph is None:
            self._graph = captured(self._step, (self.nets.theta, *self.memory, self.age))

    def train(self, count: int) -> None:
        """Take `count` steps more, each on a minibatch."""
        for _ in range(count):
            epoch, place = divmod(self.done, self.per_epoch)
            if not self.whole:
                if place == 0:
                    self.order.copy_(self._orders(epoch))
                self.place.fill_(place)
            self.prepare()
            if self._graph is None:
                self._step()
            else:
                self._graph.replay()
            self.done += 1

    def select(self, numbers: Tensor, nets: slice = slice(None)) -> tuple[Tensor, Tensor]:
        """The points `(B, k, in)` of these numbers `(B, k)`, and their targets; of some of the networks only."""
        row = torch.arange(len(numbers), device=numbers.device).unsqueeze(-1)
        x, y = (value[row[nets] if len(value) > 1 else 0, numbers[nets]] for value in (self.x, self.y))
        return x, y

    def _orders(self, epoch: int) -> Tensor:
        used = self.per_epoch * self.batch_size
        orders = [np.random.default_rng([seed, epoch]).permutation(self.points)[:used] for seed in self.seeds]
        return torch.from_numpy(np.stack(orders)).view(self.order.shape)

    def _step(self) -> None:
        x, y = (self.x, self.y) if self.whole else self.select(self.order.index_select(1, self.place).squeeze(1))
        reads, gives = self.nets.forward(x)
        gradient = self.nets.backward(reads, gives, output_gradient(gives[-1], y, self.loss))
        self.age += 1
        self.nets.theta -= adam(gradient, *self.memory, self.age, self.lr, self.betas)


def _with_room(moment, net) -> Tensor:
    """A moment, in the shape of the network it belongs to, as a vector for a wider network: zeros for what is new."""
    parts = []
    for pair in zip(zip(moment.weights, moment.biases), zip(net.weights, net.biases)):
        for old, new in zip(*pair):
            room = [n for was, now in zip(reversed(old.shape[1:]), reversed(new.shape[1:])) for n in (0, now - was)]
            parts.append(pad(old, room).flatten(1))
    return torch.cat(parts, dim=1)
