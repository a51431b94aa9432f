"""Training of many small networks on the CPU, in blocks of networks that a numba kernel trains side by side.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.train import fit
>>> fit(ReLUNet.random((1, 3, 1), batch=4, seed=0), [[0.0]], [[1.0]], epochs=1, engine="fused", progress=False).engine
'fused'
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from .._compiled import most_threads
from ..training.losses import divisor
from ..training.problem import IN_KERNELS, Problem
from ._fused_kernel import LANES, POINTS, train_blocks


class FusedEngine:
    """Blocks of LANES networks, trained by `train_blocks` in as many threads as torch has."""

    name = "fused"

    def __init__(self, problem: Problem):
        real = problem.theta.numpy().dtype.type
        self.problem, self.count, self.epoch = problem, len(problem.theta), 0
        self.shape = np.array(problem.net.sizes), sum(problem.net.sizes[1:])
        self.theta = side_by_side(problem.theta.numpy())
        self.first = np.zeros_like(self.theta if problem.optimizer == "adam" else self.theta[:, :0])
        self.second = np.zeros_like(self.first)
        self.x, self.y, self.weight = groups(problem.x.numpy()), groups(problem.y.numpy()), shares(problem, problem.x.shape[1])
        self.permutations = np.random.default_rng(problem.seed)
        self.rate = side_by_side(problem.rate.numpy())
        self.loss = np.zeros_like(self.rate)
        self.stop = np.full(self.rate.shape, -1)
        self.goal = real(problem.leak), real(-np.inf if problem.until is None else problem.until), problem.until is not None
        activation = IN_KERNELS.index(problem.net.activation)
        self.kind = problem.loss == "bce", problem.loss == "cross_entropy", problem.optimizer == "adam", activation

    def advance(self, count: int) -> list[Tensor]:
        """Go through `count` epochs more; the losses `(B,)` at the marked ones among them."""
        marks = sum(self.problem.marked(epoch) for epoch in range(self.epoch, self.epoch + count))
        history = np.repeat(self.loss[:, None], marks, axis=1)
        own = self.theta, self.first, self.second, self.x, self.y, self.weight, self.rate, self.stop, self.loss, history
        when = self.epoch, count, self.problem.every, self.problem.epochs

        batches = self._batches(min(count, self.problem.epochs - self.epoch))

        def train(blocks: np.ndarray) -> None:
            if batches is None:
                train_blocks(blocks, *self.shape, *own, self.goal, self.kind, when)
            else:
                from ._fused_batches import train_batches  # compiled only where there are mini-batches

                train_batches(blocks, *self.shape, *own, self.goal, self.kind, when, batches)

        # threads of our own: numba's pool ends the process when it meets a fork or, in some builds, a second calling thread
        threads = most_threads()
        running = np.flatnonzero(self.rate.any(axis=1))
        with ThreadPoolExecutor(threads) as pool:
            # a few portions for each thread, because blocks whose networks have stopped are done early
            list(pool.map(train, np.array_split(running, min(len(running), 4 * threads))))
        self.epoch += count
        return [self._of_networks(losses) for losses in history.swapaxes(0, 1)]

    def running(self) -> bool:
        """Whether any network is still being trained."""
        return bool(self.rate.any())

    def losses(self) -> Tensor:
        """What the last look saw, `(B,)`: for a frozen network its loss."""
        return self._of_networks(self.loss)

    def vector(self) -> Tensor:
        """The parameters now, `(B, P)`."""
        return self._of_networks(self.theta.reshape(len(self.theta), -1, LANES).swapaxes(1, 2))

    def stops(self) -> Tensor:
        """The epoch at which each network was frozen, -1 for those that never were, `(B,)`."""
        return self._of_networks(self.stop)

    def _batches(self, count: int):
        """What `train_batches` needs to know of the next `count` epochs; None for full batches."""
        if self.problem.batch_size is None:
            return None
        n = self.problem.x.shape[1]
        size = min(self.problem.batch_size, n)
        number = -(-n // size)
        orders = [self.permutations.permutation(n) for _ in range(count)]
        orders = np.stack([*orders, np.arange(n)])  # the last look follows no order
        rest = n - (number - 1) * size
        free = self.goal[0], self.goal[0].dtype.type(-np.inf), False
        return free, orders, size, number, shares(self.problem, size), shares(self.problem, rest, size)

    def _of_networks(self, lanes: np.ndarray) -> Tensor:
        """A copy `(B, ...)` of `(blocks, LANES, ...)`, without the lanes that fill up the last block."""
        return torch.tensor(lanes.reshape(self.rate.size, *lanes.shape[2:])[: self.count])


def side_by_side(values: np.ndarray) -> np.ndarray:
    """`(B, ...)` as `(blocks, ... * LANES)`, the lane running fastest; copies of the last network fill up the last block."""
    filled = np.concatenate([values, np.repeat(values[-1:], -len(values) % LANES, axis=0)])
    blocks = filled.reshape(-1, LANES, *values.shape[1:])
    return np.moveaxis(blocks, 1, -1).reshape(len(blocks), -1)


def groups(values: np.ndarray) -> np.ndarray:
    """Data `(B or 1, n, width)` as `(blocks or 1, groups, width * ROW)`; copies of the last point fill up the last group."""
    points = np.concatenate([values, np.repeat(values[:, -1:], -values.shape[1] % POINTS, axis=1)], axis=1)
    grouped = points.reshape(len(values), -1, POINTS, values.shape[2]).swapaxes(2, 3)
    lanes = np.repeat(grouped, LANES, axis=0) if len(values) == 1 else grouped
    packed = side_by_side(lanes)
    return packed.reshape(len(packed), grouped.shape[1], -1)


def shares(problem: Problem, count: int, room: int | None = None) -> np.ndarray:
    """The weight of each of `count` points in their loss, `(groups, POINTS)` with `room` for more: 0 for what only fills up."""
    room = count if room is None else room
    weight = np.zeros(room + -room % POINTS, problem.y.numpy().dtype)
    weight[:count] = 1 / divisor(problem.loss, count, problem.y.shape[2])
    return weight.reshape(-1, POINTS)
