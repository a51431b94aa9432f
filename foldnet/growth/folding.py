"""Fold a decision boundary at a chosen point: one more hidden neuron whose line passes through it.

>>> from foldnet.growth import tasks
>>> from foldnet.growth.folding import fold, grow
>>> from foldnet.nets import ReLUNet
>>> x, y = tasks.sine(60, seed=0)
>>> net = ReLUNet.random((2, 2, 1), seed=1)
>>> grow(net, fold(net, x, y)).sizes
(2, 3, 1)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..geometry.boundaries import closest_point, hyperplane, logits
from ..nets import ReLUNet
from ._labels import labels
from .typical import class_losses, predictions, typical_mistake
from .widen import widen

FLAT = 1e-12  # a boundary normal shorter than this, relative to the weights, is no normal


@dataclass(frozen=True, eq=False)
class Fold:
    """A mistake, its fold point and the neuron that folds there; every tensor has the batch axes of the network in front.

    `instance` x_t, `point` x_f, `normal` w and `offset` b of the boundary w.x + b = 0 of the classes `predicted` i and `true`
    j, `along` the unit vector u. `incoming` `(1, in)`, `bias` `(1,)` and `outgoing` `(out, 1)` are what `widen` takes. `inside`
    says whether x_f lies in the activation region of x_t, `flat` whether w was 0 there and replaced.
    """

    instance: Tensor
    point: Tensor
    normal: Tensor
    offset: Tensor
    predicted: Tensor
    true: Tensor
    along: Tensor
    incoming: Tensor
    bias: Tensor
    outgoing: Tensor
    inside: Tensor
    flat: Tensor


def grow(net: ReLUNet, found: Fold) -> ReLUNet:
    """The network, or batch of them, whose hidden layer has one neuron more: that of the fold `found`."""
    return widen(net, 0, found.incoming, found.bias, found.outgoing)


@torch.no_grad()
def fold(net, x, y, seed: int = 0, size: float = 0.1, angle: float | None = np.pi / 4, clusters: int = 5) -> Fold:
    """The neuron that folds the boundary behind a typical mistake, for one shallow network or each of a batch.

    `x`, `y`: points `(n, in)` or `(*batch, n, in)`, and labels as in `typical_mistake`.
    `seed`, `clusters`: of the search for a typical mistake x_t.
    `size`: the outgoing weights raise the true class and lower the predicted one, so little that no output changes by more than
    this on the data; 0 changes nothing.
    `angle`: the neuron's weights point this far away from the normal w towards u, on the side of x_t. They are as long as the
    old ones on average; the bias puts the neuron's zero on x_f. None takes the angle, of all those on this side, at which the
    gradient at the new neuron is longest (S0-find-milestone-constrained).

    Two fallbacks: without a mistake, the instance of the highest loss is folded against its strongest rival; without a normal (a
    dead layer, a flat segment), the nearest instance of the predicted class shows the way.
    """
    if len(net.weights) != 2 or net.sizes[0] < 2:
        raise ValueError(f"a fold needs one hidden layer and at least two inputs; got a {net}")
    if not (0 <= size < np.inf and (angle is None or 0 < angle < np.pi / 2)):
        raise ValueError(f"size is at least 0 and angle between 0 and pi/2, or None; got {size} and {angle}")
    batch, count = net.batch_shape, int(np.prod(net.batch_shape))
    flat = net if batch else _batch_of_one(net)
    flat = flat.with_vector(flat.vector().reshape(count, -1))
    x = net.points(x).expand(*batch, -1, -1).reshape(count, -1, net.sizes[0])
    y = labels(net, y, x.shape[1])
    y = y.expand(*batch, x.shape[1]).reshape(count, -1)
    return _reshaped(_fold(flat, x, y, seed, size, angle, clusters), batch)


def _fold(nets, x: Tensor, y: Tensor, seed: int, size: float, angle: float | None, clusters: int) -> Fold:
    row = torch.arange(len(x), device=x.device)
    chosen = torch.tensor([_instance(nets[i], x[i], y[i], clusters, seed) for i in range(len(x))], device=x.device)
    at, true = x[row, chosen], y[row, chosen]
    predicted = _rival(logits(nets, at.unsqueeze(1)).squeeze(1), true)
    normal, offset = (a.squeeze(1) for a in hyperplane(nets, at.unsqueeze(1), predicted.unsqueeze(1), true.unsqueeze(1)))
    scale = nets.weights[0].norm(dim=-1).mean(-1)
    scale = scale.where(scale > 0, 1.0)
    flat = normal.norm(dim=-1) <= FLAT * scale * nets.weights[1].abs().amax((-1, -2)).clamp(min=FLAT)
    towards, middle = _way_out(x, y, at, predicted, seed)
    normal = torch.where(flat.unsqueeze(-1), towards, normal)
    offset = torch.where(flat, -(towards * middle).sum(-1), offset)
    point = closest_point(at.double(), normal.double(), offset.double()).to(x.dtype)

    out = nets.sizes[-1]
    push = torch.zeros(len(x), max(out, 2), dtype=x.dtype, device=x.device)
    push[row, true], push[row, predicted] = 1.0, -1.0
    push = push[:, 1:] if out == 1 else push
    along = _along(nets, x, y, point, normal, push, seed)
    side = ((normal * at).sum(-1) + offset).sign()
    across = normal / normal.norm(dim=-1, keepdim=True) * side.where(side != 0, 1.0).unsqueeze(-1)
    pull = (_loss_gradient(nets, x, y) * push.unsqueeze(1)).sum(-1)
    # of the ways to turn, the one with the larger gradient at the new neuron
    if angle is None:
        turns = _steps(x, point, across, along)
        turns = torch.stack([turns.cos(), turns.sin()], -1)
    else:
        turns = torch.tensor([[[np.cos(angle), sign * np.sin(angle)]] for sign in (1, -1)]).to(x).expand(2, len(x), 2)
    way = lambda turn: turn[:, :1] * across + turn[:, 1:] * along  # noqa: E731
    strength = torch.stack([_gradient(nets.leak, x, point, way(turn), pull).norm(dim=-1) for turn in turns])
    turn = turns[strength.argmax(0), row]
    incoming = scale.unsqueeze(-1) * way(turn)
    along = along * torch.where(turn[:, 1:] < 0, -1.0, 1.0).to(x.dtype)
    bias = -(incoming * point).sum(-1)
    reach = nets.activate(((x - point.unsqueeze(1)) @ incoming.unsqueeze(-1)).squeeze(-1)).abs().amax(-1)
    outgoing = push * (size / reach.where(reach > 0, 1.0)).unsqueeze(-1)
    inside = (nets.pattern(point.unsqueeze(1)) == nets.pattern(at.unsqueeze(1))).all(-1).squeeze(-1) & ~flat
    return Fold(
        instance=at, point=point, normal=normal, offset=offset, predicted=predicted, true=true, along=along,
        incoming=incoming.unsqueeze(1), bias=bias.unsqueeze(1), outgoing=outgoing.unsqueeze(-1), inside=inside, flat=flat,
    )  # fmt: skip


def _instance(net, x: Tensor, y: Tensor, clusters: int, seed: int) -> int:
    """A typical mistake; where there is none, the instance of the highest loss."""
    if (predictions(net, x) == y).all():
        return int(class_losses(net, x, y).argmax())
    return typical_mistake(net, x, y, clusters, seed=seed)


def _rival(z: Tensor, true: Tensor) -> Tensor:
    """The class with the largest logit that is not the true one: the predicted class wherever the prediction is wrong."""
    hidden = torch.zeros_like(z, dtype=torch.bool).scatter(-1, true.unsqueeze(-1), True)
    return z.masked_fill(hidden, -torch.inf).argmax(-1)


def _way_out(x: Tensor, y: Tensor, at: Tensor, predicted: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """A stand-in normal where the segment is flat: from the nearest instance of the predicted class to x_t, and the middle."""
    gap = at.unsqueeze(1) - x
    distance = gap.norm(dim=-1)
    usable = (y == predicted.unsqueeze(-1)) & (distance > 0)
    nearest = distance.where(usable, torch.inf).argmin(-1)
    step = gap[torch.arange(len(x), device=x.device), nearest]
    random = torch.as_tensor(np.random.default_rng(seed).normal(size=at.shape[-1]), dtype=x.dtype, device=x.device)
    step = torch.where(usable.any(-1, keepdim=True), step, random)
    return step / step.norm(dim=-1, keepdim=True), at - step / 2


def _steps(x: Tensor, point: Tensor, across: Tensor, along: Tensor) -> Tensor:
    """An angle from each step of the staircase, `(n + 1, B)`: between two of them an instance changes its side of the neuron."""
    here = x - point.unsqueeze(1)
    a, b = ((here * way.unsqueeze(1)).sum(-1) for way in (across, along))
    turns = torch.atan2(-a * torch.where(b < 0, -1.0, 1.0).to(a), b.abs()).sort(-1).values
    end = torch.full_like(turns[:, :1], np.pi / 2)
    edges = torch.cat([-end, turns, end], -1)
    return ((edges[:, 1:] + edges[:, :-1]) / 2).T


def _gradient(leak: float, x: Tensor, point: Tensor, way: Tensor, pull: Tensor) -> Tensor:
    """Minus the gradient of the mean loss for weights and bias of a neuron along `way` through the fold point, `(B, in + 1)`."""
    slope = torch.where(((x - point.unsqueeze(1)) * way.unsqueeze(1)).sum(-1) > 0, 1.0, leak).to(pull)
    ones = torch.ones_like(x[..., :1])
    return -((pull * slope).unsqueeze(-1) * torch.cat([x, ones], -1)).mean(1)


def _loss_gradient(nets, x: Tensor, y: Tensor) -> Tensor:
    """dL/df of the cross-entropy of each instance, `(B, n, out)`."""
    z = logits(nets, x)
    slope = z.softmax(-1) - torch.nn.functional.one_hot(y, z.shape[-1]).to(z.dtype)
    return slope[..., 1:] if nets.sizes[-1] == 1 else slope


def _along(nets, x: Tensor, y: Tensor, point: Tensor, normal: Tensor, push: Tensor, seed: int) -> Tensor:
    """The unit vector u orthogonal to w: in the plane the only one, else where the instances pull most."""
    pull = (_loss_gradient(nets, x, y) * push.unsqueeze(1)).sum(-1, keepdim=True)
    wish = (pull * (x - point.unsqueeze(1))).mean(1)
    random = torch.as_tensor(np.random.default_rng(seed + 1).normal(size=wish.shape[-1]), dtype=x.dtype, device=x.device)
    rest = _orthogonal(wish, normal)
    lost = rest.norm(dim=-1, keepdim=True) <= 1e-6 * wish.norm(dim=-1, keepdim=True)
    rest = torch.where(lost, _orthogonal(random, normal), rest)
    return _orthogonal(rest / rest.norm(dim=-1, keepdim=True), normal)


def _orthogonal(vector: Tensor, normal: Tensor) -> Tensor:
    return vector - (vector * normal).sum(-1, keepdim=True) / normal.square().sum(-1, keepdim=True) * normal


def _batch_of_one(net):
    return net.with_vector(net.vector().unsqueeze(0))


def _reshaped(found: Fold, batch: tuple[int, ...]) -> Fold:
    return Fold(**{name: value.reshape(batch + value.shape[1:]) for name, value in vars(found).items()})
