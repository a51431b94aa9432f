"""Where does a fold go when training goes on? The kink that one neuron makes in a boundary, and Adam with some weights held."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ..geometry.boundaries import margin

HOLD = ("nothing", "old", "row", "old and row")


@dataclass(frozen=True, eq=False)
class Kinks:
    """What one neuron of each network does to the boundary: `point` `(B, h, 2)` and `angle` `(B, h)` in degrees, nan where none.

    A line meets a boundary of straight pieces at most once between two other lines, so h hidden units leave h places.
    """

    point: Tensor
    angle: Tensor

    def nearest(self, to) -> tuple[Tensor, Tensor]:
        """Distance `(B,)` from the points `to` `(B, 2)` to the nearest kink, infinite where there is none, and its angle (0)."""
        away = (self.point - torch.as_tensor(to, dtype=self.point.dtype).unsqueeze(1)).norm(dim=-1).nan_to_num(torch.inf)
        distance, which = away.min(-1)
        return distance, self.angle.gather(1, which.unsqueeze(1)).squeeze(1).nan_to_num(0.0)


@torch.no_grad()
def kinks(nets, unit: int = -1, reach: float = 10.0) -> Kinks:
    """Where the line of one hidden unit crosses the decision boundary of each network `(B,)` of the plane, and the angle there.

    Along the line the margin is straight between its crossings with the other lines, so the zeros are exact; at each the normal
    of the boundary jumps by (1 - leak) c w, w the row of the unit and c how much more it gives to class 1 than to class 0.
    """
    if len(nets.batch_shape) != 1 or nets.sizes[0] != 2 or len(nets.weights) != 2 or nets.sizes[-1] > 2:
        raise ValueError(f"kinks are followed in a batch (B,) of two-class networks of the plane, one hidden layer; got a {nets}")
    nets = nets.to(torch.float64)
    (w, v), (b, _) = nets.weights, nets.biases
    pull = v[:, -1] - (v[:, 0] if len(v[0]) == 2 else 0)  # a single output is the margin itself
    unit = range(nets.sizes[1])[unit]
    others = [k for k in range(nets.sizes[1]) if k != unit]
    row, rest = w[:, unit], w[:, others]
    length = row.norm(dim=-1, keepdim=True)
    alive = (length.squeeze(-1) > 0) & (pull[:, unit] != 0)
    length = length.where(length > 0, 1.0)
    foot, way = -b[:, [unit]] * row / length**2, torch.stack([-row[:, 1], row[:, 0]], -1) / length
    height = (rest @ foot.unsqueeze(-1)).squeeze(-1) + b[:, others]
    cross = (-height / (rest @ way.unsqueeze(-1)).squeeze(-1)).nan_to_num(reach).clamp(-reach, reach)
    ends = torch.full_like(length, reach)
    t = torch.cat([-ends, cross, ends], 1).sort(1).values
    g = margin(nets, foot.unsqueeze(1) + t.unsqueeze(-1) * way.unsqueeze(1))
    low, high = g[:, :-1], g[:, 1:]
    root = t[:, :-1] - low * t.diff(dim=1) / (high - low)
    point = foot.unsqueeze(1) + root.unsqueeze(-1) * way.unsqueeze(1)
    there = ((low < 0) != (high < 0)) & alive.unsqueeze(1)
    slope = torch.where(point @ rest.mT + b[:, None, others] > 0, 1.0, nets.leak).to(w.dtype)
    jump = pull[:, None, [unit]] * row.unsqueeze(1)
    before = (slope * pull[:, None, others]) @ rest + nets.leak * jump
    after = before + (1 - nets.leak) * jump
    turn = before[..., 0] * after[..., 1] - before[..., 1] * after[..., 0]
    angle = torch.atan2(turn.abs(), (before * after).sum(-1)).rad2deg()
    return Kinks(point.where(there.unsqueeze(-1), torch.nan), angle.where(there, torch.nan))


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


def rebuilt(found, x, point=None, row=None, push=None):
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


def follow(nets, x, y, marks, rate: float = 1e-2, hold: str = "nothing", optimizer: str = "adam") -> list:
    """The networks `(B,)` after each number of full-batch steps in `marks`, in order, with part of them held (see `held`).

    Labels `(n,)`, two outputs; the mean cross-entropy of their softmax; Adam, or plain gradient descent ("gd").
    """
    marks = set(map(int, marks))
    x = torch.as_tensor(x, dtype=nets.dtype, device=nets.device)
    y = torch.nn.functional.one_hot(torch.as_tensor(y, device=nets.device), 2).to(nets.dtype)
    free = held(nets, hold)
    theta = nets.vector().detach().clone().requires_grad_()
    stepper = {"adam": torch.optim.Adam, "gd": torch.optim.SGD}[optimizer]([theta], lr=rate)
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
