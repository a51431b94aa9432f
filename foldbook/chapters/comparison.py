"""What geometry/comparison computes beside `foldnet.geometry.comparison`: rows of coefficients at points, clusters, distances.

>>> import torch
>>> from foldbook.chapters.comparison import nearest
>>> nearest(torch.tensor([[0.9], [0.2]]), torch.tensor([[0.0], [1.0]])).tolist()
[1, 0]
"""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import torch
from torch import Tensor

from foldnet.geometry.convnet import ConvNet
from foldnet.nets import ReLUNet

Net = TypeVar("Net", ReLUNet, ConvNet)


def one_output(net: Net, output: int) -> Net:
    """The same network with one of its outputs, which count from 0."""
    if not 0 <= output < net.sizes[-1]:
        raise ValueError(f"outputs of a {net} are numbered 0 to {net.sizes[-1] - 1}; got {output}")
    weights, biases = list(net.weights), list(net.biases)
    weights[-1], biases[-1] = weights[-1][..., output : output + 1, :], biases[-1][..., output : output + 1]
    return dataclasses.replace(net, weights=weights, biases=biases)


def with_one(x: Tensor) -> Tensor:
    """Points with a 1 behind them, so that a row of coefficients times a point is a value."""
    return torch.cat([x, torch.ones_like(x[..., :1])], -1)


def values(rows: Tensor, x: Tensor) -> Tensor:
    """What rows of coefficients `(*, n, in + 1)` say at their own points `(n, in)`: `(*, n)`."""
    return (rows[..., :-1] * x).sum(-1) + rows[..., -1]


def kmeans(rows: Tensor, k: int, steps: int = 10, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Lloyd's k-means from `k` different rows drawn at random: centres `(k, d)` and the cluster of each row, `(n,)`.

    A centre that loses all its rows stays where it is.
    """
    if not 1 <= k <= len(rows):
        raise ValueError(f"k-means needs between 1 and {len(rows)} clusters for as many rows; got {k}")
    draw = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))[:k]
    centres = rows[draw.to(rows.device)]
    for _ in range(steps if k > 1 else 1):
        member = torch.nn.functional.one_hot(nearest(rows, centres), k).to(rows.dtype)
        count = member.sum(0).unsqueeze(-1)
        centres = torch.where(count > 0, member.T @ rows / count.clamp(min=1), centres)
    return centres, nearest(rows, centres)


def nearest(rows: Tensor, centres: Tensor) -> Tensor:
    """The number of the nearest centre of each row, `(n,)`."""
    return (centres.square().sum(-1) - 2 * rows @ centres.T).argmin(-1)


def scaled_distance(inner: Tensor, top: Tensor, numbers: int) -> Tensor:
    """The mean squared distance of coefficients divided by the largest of their network (S2-eq-7.6), `(networks, networks)`.

    `inner`, `(networks, networks)`, holds the inner products of all coefficients of two networks, `top`, `(networks,)`, the
    divisors, and `numbers` is how many coefficients each has.
    """
    scaled = inner / top.unsqueeze(-1) / top
    square = scaled.diagonal()
    return (square.unsqueeze(-1) + square - 2 * scaled).clamp(min=0) / numbers


def cross_entropies(outputs: Tensor) -> Tensor:
    """H(p, q) in nats, mean over images, for the softmax p of each network and q of each other: `(networks, networks)`.

    `outputs` are `(networks, n, classes)`. On the diagonal stands the entropy, not zero (S2-eq-7.8).
    """
    log = outputs.double().log_softmax(-1)
    return -torch.einsum("anc,bnc->ab", log.exp(), log) / outputs.shape[1]


def rank_correlations(series: Tensor) -> Tensor:
    """Spearman's correlation of each two rows of `(m, n)`: `(m, m)`. Equal numbers share their mean rank."""
    ranks = torch.stack([_ranks(s) for s in series])
    ranks = ranks - ranks.mean(-1, keepdim=True)
    unit = ranks / ranks.norm(dim=-1, keepdim=True)
    return unit @ unit.T


def _ranks(series: Tensor) -> Tensor:
    _, place, count = series.unique(return_inverse=True, return_counts=True)
    last = count.cumsum(0).double()
    return (last - (count - 1) / 2)[place]
