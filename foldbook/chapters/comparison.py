"""What geometry/comparison computes beside `foldnet.geometry.comparison`: single outputs, distances, correlations of ranks.

>>> import torch
>>> from foldbook.chapters.comparison import rank_correlations
>>> rank_correlations(torch.tensor([[1.0, 2.0, 4.0], [9.0, 5.0, 1.0]])).round(decimals=6).tolist()
[[1.0, -1.0], [-1.0, 1.0]]
"""

from __future__ import annotations

import copy
from typing import TypeVar

import torch
from torch import Tensor, nn

from foldnet.geometry.comparison import coefficients
from foldnet.nets import ReLUNet
from foldnet.piecewise.net import PiecewiseLinear, of

Net = TypeVar("Net", ReLUNet, PiecewiseLinear)


def one_output(net: Net, output: int) -> Net:
    """The same network with one of its outputs, which count from 0; its last layer is linear."""
    many = net.sizes[-1] if isinstance(net, ReLUNet) else net.output_shape[0]
    if not 0 <= output < many:
        raise ValueError(f"outputs of a {net} are numbered 0 to {many - 1}; got {output}")
    if isinstance(net, PiecewiseLinear):
        module = copy.deepcopy(net.graph.module)
        *_, last = module.children()
        for name in ("weight", "bias"):
            setattr(last, name, nn.Parameter(getattr(last, name).data[output : output + 1]))
        return of(module, net.input_shape)  # ty: ignore[invalid-return-type]
    weights, biases = list(net.weights), list(net.biases)
    weights[-1], biases[-1] = weights[-1][..., output : output + 1, :], biases[-1][..., output : output + 1]
    return net.with_layers(weights, biases)


def with_one(x: Tensor) -> Tensor:
    """Points with a 1 behind them, so that a row of coefficients times a point is a value."""
    return torch.cat([x, torch.ones_like(x[..., :1])], -1)


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


def same(net: ReLUNet) -> dict[str, ReLUNet]:
    """Networks that compute what `net`, one with two hidden layers, computes: its neurons in another order and rescaled; and
    with each neuron of the first layer in two halves and a layer more that passes everything on."""
    (w, v, u), (b, c, d) = net.weights, net.biases
    order = torch.arange(len(w)).flip(0)
    factor = torch.linspace(0.5, 2, len(w), dtype=w.dtype)
    moved = net.with_layers([factor[:, None] * w[order], v[:, order] / factor, u], [factor * b[order], c, d])
    none = torch.zeros_like(c)
    wide = [torch.cat([w, w]) / 2, torch.cat([v, v], 1), torch.eye(len(v), dtype=v.dtype), u]
    return {"other weights": moved, "another architecture": ReLUNet(wide, [torch.cat([b, b]) / 2, c, none, d])}


def farthest(one: ReLUNet, other: ReLUNet, x: Tensor) -> float:
    """The largest difference of their coefficients at points `(n, in)`."""
    return float((coefficients(one, x) - coefficients(other, x)).abs().max())


def told_apart(net: ReLUNet, seen: Tensor, inside: Tensor, outside: Tensor) -> float:
    """How often a point inside has bits nearer to those of the nearest seen point than a point outside; ties count a half."""
    bits = net.pattern(seen).double()

    def away(x):
        p = net.pattern(x).double()
        return (p @ (1 - bits).T + (1 - p) @ bits.T).amin(1)

    gap = away(outside)[:, None] - away(inside)
    return float(((gap > 0).double() + 0.5 * (gap == 0).double()).mean())
