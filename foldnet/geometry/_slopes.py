"""Slopes of networks at many images on a processor: what `_slope_kernel` multiplies, in as many threads as torch has."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d

from .._compiled import most_threads
from ..nets import ReLUNet
from . import _slope_kernel as kernel

if TYPE_CHECKING:
    from ._chain import Chain

LANES, ROWS = 16, 4  # outputs in one sum, and sums at a time
PORTION = 16  # images whose convolutions are made together


def shared(work: Callable[[int, int], None], count: int, portion: int) -> None:
    """`work(first, last)` for portions of so many images, in threads of our own: numba's pool ends a process that has forked."""
    ends = [*range(0, count, portion), count]
    threads = min(most_threads(), len(ends) - 1)
    if threads < 2:
        for first, last in pairwise(ends):
            work(first, last)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, ends[:-1], ends[1:]))


# ---- convolutions --------------------------------------------------------------------------------------------------------------


def of_convolutions(chain: Chain, x: Tensor, slopes: Tensor) -> None:
    """Writes the slopes `(n, out, pixels)` of a chain, of one convolution at least, at images `(n, pixels)`."""
    (*weights, above), outputs = chain.weights, chain.outputs
    size = min(LANES, -(-outputs // 4) * 4)
    last = np.zeros((above.shape[1], -(-outputs // size) * size), slopes.numpy().dtype)
    last[:, :outputs] = above.numpy().T
    tables = [np.ravel(last[:, o : o + size]) for o in range(0, outputs, size)]
    turned = [w.permute(0, 2, 3, 1).contiguous().numpy().ravel() for w in weights]

    def work(first: int, end: int) -> None:
        desk, winners = _Desk(chain.shapes, size, last.dtype), []
        h = x[first:end].reshape(-1, *chain.shapes[0])
        for w, b in zip(weights, chain.biases):
            z = conv2d(h, w, b, padding=1)
            h = z.new_empty(*z.shape[:2], z.shape[2] // 2, z.shape[3] // 2)
            winners.append(np.empty(h.shape, np.int32))
            kernel.pool(z.numpy(), h.numpy(), winners[-1])
        for i in range(end - first):
            desk.sort([w[i] for w in winners])
            for block, table in enumerate(tables):
                desk.back(table, turned, slopes[first + i, block * size : (block + 1) * size].numpy())

    shared(work, len(x), PORTION)


class _Desk:
    """Memory that the kernels work in, for one image after the other."""

    def __init__(self, shapes: list[tuple[int, int, int]], size: int, dtype):
        self.shapes, self.lanes = shapes, (0,) * size
        areas = [height * width for _, height, width in shapes]
        counts = [channels * area for (channels, *_), area in zip(shapes, areas)]
        self.first = [np.empty(area + 2, np.int64) for area in areas[:-1]]
        self.vector, self.factor = ([np.empty(count, np.int64) for count in counts[1:]] for _ in range(2))
        self.target = [np.empty(count * size, dtype) for count in counts[:-1]]
        # of the input all pixels are wanted, of other maps what is on
        self.slot = [(np.arange(counts[0]) * size).reshape(areas[0], -1)]
        self.slot += [np.empty((area, channels), np.int64) for area, (channels, *_) in zip(areas[1:], shapes[1:])]
        self.room = np.empty(2 * (max(channels for channels, *_ in shapes) + ROWS), np.int64)

    def sort(self, winners: list[np.ndarray]) -> None:
        size = len(self.lanes)
        for layer, winner in enumerate(winners):
            channels, _, width = self.shapes[layer]
            lists = self.first[layer], self.slot[layer + 1], self.vector[layer], self.factor[layer]
            kernel.sort(winner.reshape(len(winner), -1), width, channels, size, layer + 1 == len(winners), *lists)

    def back(self, vectors: np.ndarray, weights: list[np.ndarray], slopes: np.ndarray) -> None:
        for layer in reversed(range(len(weights))):
            channels, height, width = self.shapes[layer]
            rows = (0,) * min(ROWS, channels)
            lists = self.vector[layer], weights[layer], self.factor[layer], self.slot[layer], self.target[layer], self.room
            kernel.back(rows, self.lanes, height, width, self.first[layer], vectors, *lists)
            vectors = self.target[layer]
        kernel.spread(vectors, len(self.lanes), slopes.reshape(len(slopes), self.shapes[0][0], -1))


# ---- one hidden layer ----------------------------------------------------------------------------------------------------------

TILE, TILES, FIVE = 16, 4, 5  # pixels in one sum, such sums that go through all images together, outputs at a time
FOREST = 1000  # images that share a tree
TURNS = 2  # switches on the way from the root to any image, in neurons


def of_hidden_layer(net: ReLUNet, x: Tensor, slopes: Tensor) -> None:
    """Writes the slopes `(n, out, pixels)` of one network with one hidden layer at points `(n, pixels)`, sixteen pixels at least.

    Patterns of images stand in a tree, each beside a near one, and its slopes are those of its parent and what the neurons that
    switch add. On the way from the root there are m such terms, m <= TURNS * neurons, and each is rounded once: no slope is off
    by more than m u / (1 - m u) times the sum of |v w| over all neurons, u half a unit of the last place, where a product of
    matrices promises half of that. (With a leak the root is such a product, and three stands for two.)
    """
    (first, above), outputs, pixels, neurons = (w.detach() for w in net.weights), *net.sizes[::-2], net.sizes[1]
    on = (x.detach() @ first.T + net.biases[0].detach() > 0).numpy()
    root = (net.leak * (above @ first)).numpy()
    places = np.minimum(np.arange(0, pixels, TILE), pixels - TILE)
    weights = first[:, places[:, None] + np.arange(TILE)].transpose(0, 1).reshape(len(places), -1).numpy()
    switched = ((1 - net.leak) * above.T).contiguous()
    factors = torch.stack([switched, -switched]).reshape(-1).numpy()
    rows, lanes = (0,) * min(FIVE, outputs), (0,) * TILE

    def work(begin: int, end: int) -> None:
        order, parent, start, who = kernel.tree(on[begin:end], TURNS * neurons)
        neuron = np.where(who < 0, -1 - who, who)
        lists = neuron * TILE, (neuron + neurons * (who < 0)) * outputs, weights, places, factors, root
        kernel.along(rows, lanes, order, parent, start, *lists, slopes[begin:end].numpy(), TILES)

    shared(work, len(x), min(FOREST, -(-len(x) // most_threads())))
