"""growth/folding: where a fold goes when training goes on, with some weights held, and training with batch normalisation.

>>> import torch
>>> from foldnet.growth import tasks
>>> from foldbook.chapters.folding import follow, line_distance
>>> from foldnet.nets import ReLUNet
>>> x, y = tasks.sine(60, seed=0)
>>> start, end = follow(ReLUNet.random((2, 3, 2), batch=4, seed=0), x, y, marks=[0, 50])
>>> (held,) = follow(start, x, y, marks=[50], hold="row")
>>> far = lambda nets: line_distance(nets, torch.zeros(4, 2))  # of the last neuron's line from the origin
>>> (far(end) != far(start)).all().item(), (far(held) == far(start)).all().item()
(True, True)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from foldnet.growth.folding import Fold
from foldnet.nets import ReLUNet
from foldnet.training.problem import checked_data

HOLD = ("nothing", "old", "row", "old and row")
OPTIMIZERS = {"adam": torch.optim.Adam, "gd": torch.optim.SGD}


def other_places(nets, found, x, seed: int = 0, least: float = 0.3, tries: int = 64) -> tuple[Tensor, Tensor]:
    """Another place `(B, 2)` for each fold on the same straight piece of the boundary, and a mask `(B,)` of those that have one.

    Drawn along `found.along`, `least` to 2 away from the fold point, within the range of the data and with the same active units.
    """
    rng = np.random.default_rng(seed)
    x, shape = torch.as_tensor(x, dtype=found.point.dtype), (len(found.point), tries)
    way = torch.as_tensor(rng.uniform(least, 2.0, shape) * rng.choice([-1, 1], shape), dtype=x.dtype)
    places = found.point.unsqueeze(1) + way.unsqueeze(-1) * found.along.unsqueeze(1)
    same = (nets.pattern(places) == nets.pattern(found.point.unsqueeze(1))).all(-1)
    usable = same & ((places >= x.amin(0)) & (places <= x.amax(0))).all(-1)
    return places[torch.arange(len(places)), usable.int().argmax(1)], usable.any(1) & found.inside


def rebuilt(found: Fold, x, point=None, row=None, push=None) -> Fold:
    """A `Fold` of networks `(B,)` at another point, with another row `(B, in)` or another push `(B, out)`.

    What is not given stays. The neuron still vanishes at the point, and still moves no output on the data by more than before.
    """
    x = torch.as_tensor(x, dtype=found.point.dtype)
    reach = lambda row, bias: (row @ x.T + bias).clamp(min=0).amax(-1, keepdim=True)  # noqa: E731
    old_row, old_push = found.incoming.squeeze(-2), found.outgoing.squeeze(-1)
    size = old_push.abs().amax(-1, keepdim=True) * reach(old_row, found.bias)
    point, row, push = (b if a is None else a.to(x.dtype) for a, b in ((point, found.point), (row, old_row), (push, old_push)))
    bias = -(row * point).sum(-1, keepdim=True)
    far = reach(row, bias)
    push = push / push.abs().amax(-1, keepdim=True) * size / far.where(far > 0, 1.0)
    return replace(found, point=point, incoming=row.unsqueeze(-2), bias=bias, outgoing=push.unsqueeze(-1))


def line_distance(nets, to, unit: int = -1) -> Tensor:
    """Distance `(B,)` from the points `to` `(B, 2)` to the line on which a hidden unit switches."""
    row, bias = nets.weights[0][:, unit], nets.biases[0][:, unit]
    return ((row * torch.as_tensor(to, dtype=row.dtype)).sum(-1) + bias).abs() / row.norm(dim=-1)


def held(nets, what: str) -> Tensor:
    """Which parameters may move, `(parameters,)` of 0 and 1, when part of a just grown network is held.

    "old" holds all that was there before the last hidden unit, the output bias too; "row" the input weights and bias of that
    unit; "old and row" both, so that its output weights alone are free.
    """
    if what not in HOLD:
        raise ValueError(f"hold is one of {', '.join(HOLD)}; got {what!r}")
    one = nets[0] if nets.batch_shape else nets
    old, row = float("old" not in what), float("row" not in what)
    free = one.with_vector(torch.full_like(one.vector(), old))
    free.weights[0][-1], free.biases[0][-1], free.weights[1][:, -1] = row, row, 1.0
    return free.vector()


def follow(nets, x, y, marks, lr: float = 1e-2, hold: str = "nothing", optimizer: str = "adam") -> list:
    """The networks `(B,)` after each number of full-batch steps in `marks`, in order, with part of them held (see `held`).

    Labels `(n,)`, two outputs; the mean cross-entropy of their softmax; Adam, or plain gradient descent ("gd").
    """
    if nets.sizes[-1] != 2:
        raise ValueError(f"networks with two outputs are followed; got a {nets}")
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"optimizer is one of {', '.join(map(repr, OPTIMIZERS))}; got {optimizer!r}")
    marks = set(map(int, marks))
    x = torch.as_tensor(x, dtype=nets.dtype, device=nets.device)
    y = torch.nn.functional.one_hot(torch.as_tensor(y, device=nets.device), 2).to(nets.dtype)
    free = held(nets, hold)
    theta = nets.vector().detach().clone().requires_grad_()
    stepper = OPTIMIZERS[optimizer]([theta], lr=lr)
    seen = []
    for step in range(max(marks) + 1):
        if step in marks:
            seen.append(nets.with_vector(theta.detach().clone()))
        out = nets.with_vector(theta)(x)
        cost = (out.logsumexp(-1) - (out * y).sum(-1)).mean(-1)
        (theta.grad,) = torch.autograd.grad(cost.sum(), theta)
        theta.grad *= free
        stepper.step()
    return seen


def fit_normalised(net, x, y, epochs: int, lr: float = 1e-2, normalise: bool = True) -> ReLUNet:
    """Train with batch normalisation before every ReLU, and return it folded into plain weights (S0-find-dead-layer).

    Each preactivation is shifted and scaled to mean 0 and variance 1 over the whole data, then given a learned scale (1 at
    first) and shift (0). With `normalise=False` the same loop trains the plain network. Labels `(n,)`; Adam, cross-entropy.
    """
    x, targets = checked_data(net, x, y, "cross_entropy")
    weights = [w.clone().requires_grad_() for w in net.weights]
    shifts = [b.clone() if not normalise or b is net.biases[-1] else torch.zeros_like(b) for b in net.biases]
    shifts = [b.requires_grad_() for b in shifts]
    gains = [torch.ones_like(b).requires_grad_() for b in net.biases[:-1]]
    optimizer = torch.optim.Adam([*weights, *shifts, *(gains if normalise else [])], lr=lr)

    def folded():
        """Weights and biases of the plain network that computes the same on these data."""
        h, plain = x, []
        for w, gain, shift in zip(weights[:-1], gains, shifts[:-1]):
            if normalise:
                z = h @ w.mT
                scale = gain / (z.var(-2, correction=0) + 1e-5).sqrt()
                w, shift = scale.unsqueeze(-1) * w, shift - scale * z.mean(-2)
            plain.append((w, shift))
            h = net.activate(h @ w.mT + shift.unsqueeze(-2))
        return [*plain, (weights[-1], shifts[-1])], h @ weights[-1].mT + shifts[-1].unsqueeze(-2)

    for _ in range(epochs):
        optimizer.zero_grad()
        output = folded()[1]
        torch.nn.functional.binary_cross_entropy_with_logits(output, targets.expand_as(output), reduction="sum").backward()
        optimizer.step()
    plain = folded()[0]
    return replace(net, weights=tuple(w.detach() for w, _ in plain), biases=tuple(b.detach() for _, b in plain))
