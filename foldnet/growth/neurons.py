"""The neurons that help a layer most, in closed form: TINY's optimal neurons with the factors that its paper leaves out.

>>> import torch
>>> from foldnet.growth.neurons import optimal_neurons, with_neurons
>>> from foldnet.nets import ReLUNet
>>> net = ReLUNet.random((2, 1, 1), seed=0)
>>> x, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [[1.0], [2.0], [3.0], [0.0]]
>>> new = optimal_neurons(net, 0, x, y, k=1)
>>> wider = with_neurons(net, 0, new, amplitude=0.1)
>>> wider.sizes
(2, 2, 1)
>>> mse = lambda net: float((net(x) - torch.tensor(y)).square().mean())
>>> mse(wider) < mse(net)
True

The amplitude with the lowest loss is what `foldnet.growth.amplitude.best_amplitude` finds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .._checks import finite
from ..nets import Network
from ..training.losses import point_losses
from ..training.problem import checked_data
from ._passes import affine, around, goal_at, layer_reads, tall_svd
from .expressivity import Update, best_update
from .moments import SecondMoment, cross_products, with_one
from .widen import widen

OLD = ("first", "jointly", "kept")


@dataclass(frozen=True, eq=False)
class NewNeurons:
    """New neurons of a hidden layer, best first, and what they promise; every tensor has the batch axes of the networks in front.

    `incoming` `(k, in)`, `bias` `(k,)`, `outgoing` `(out, k)`: what `widen` takes.
    `singular_values` `(r,)`: all lambda_k; the first k neurons reduce the mean squared misfit by the sum of their squares.
    `rank` `()`: how many neurons are of use, and above the threshold where one is given; the others are 0.
    `gain` `()`: how fast the mean loss falls, at first order in the amplitude, when the neurons alone are added and the old
    weights stay. It may be negative where the neurons count on a move of the old weights, as with `old="first"`.
    `update`: the move of the old weights of the next layer that the neurons count on, with a gain of its own; 0 if they are kept.
    """

    incoming: Tensor
    bias: Tensor
    outgoing: Tensor
    singular_values: Tensor
    rank: Tensor
    gain: Tensor
    update: Update

    @property
    def joint_gain(self) -> Tensor:
        """How fast the mean loss falls, at first order, with neurons and update of one amplitude, `(*batch,)`."""
        return self.gain + self.update.gain


def second_moment(net: Network, layer: int, x, tolerance: float | None = None) -> SecondMoment:
    """The factored second moment S of what hidden layer `layer` (0 is the first) reads, to pass as `moment=` again and again.

    That of layer 0 is a property of the points alone, so it stays valid while the network grows. `tolerance` as in
    `SecondMoment.of`.
    """
    _hidden(net, layer)
    return SecondMoment.of(layer_reads(net, layer, net.points(x).detach()), tolerance)


def optimal_neurons(
    net: Network,
    layer: int,
    x,
    y,
    k: int | None = None,
    loss: str | Callable = "mse",
    moment: SecondMoment | None = None,
    old: str = "first",
    signs: bool = True,
    threshold: float = 0.0,
) -> NewNeurons:
    """The k neurons of hidden layer `layer` (0 is the first) that come closest to what the next layer asks for, at first order.

    `net`: one network or a batch.
    `layer`: the hidden layer that is to grow.
    `x`, `y`, `loss`: points, targets and loss, as in `desired_update`.
    `k`: how many. Fewer are returned where no network of the batch has use for more (none where nothing is left to gain); None
    returns all of use.
    `moment`: what `second_moment` found for this layer and these points, to save the work; `old="jointly"` does not use it.
    `old`: what the old outgoing weights do meanwhile. `"first"`: they move first and the neurons serve what is left (the paper's
    two steps). `"jointly"`: the true minimum over both. `"kept"`: they stay.
    `signs`: of each pair +-(incoming, outgoing), equal in the linear theory, return the one with the larger exact slope for what
    the neurons serve, where the activation has a kink at 0. With slopes a and b there, it is at least (a + b) / 2 times what
    the linear theory predicts for slope 1. False saves this pass over the points: each neuron's largest outgoing weight is
    positive, and `gain` is what the linear theory promises of the goal that the old weights leave, (a + b) / 2 times the sum of
    the squared singular values.
    `threshold`: of these neurons only those are added whose lambda_k^2, times the mean loss of the network, is above it.

    (S1-prop-3.2-solution, S1-cor-1-dW, S1-def-K-update)
    """
    with torch.no_grad():
        return _optimal(net, layer, x, y, k, loss, moment, old, signs, threshold)


def _optimal(net, layer, x, y, k, loss, moment, old, signs, threshold) -> NewNeurons:
    _hidden(net, layer)
    if not threshold >= 0:
        raise ValueError(f"a threshold is at least 0; got {threshold}")
    if k is not None and (int(k) != k or k < 1):
        raise ValueError(f"k is a whole number of neurons, at least 1, or None for all of use; got {k!r}")
    if old not in OLD:
        raise ValueError(f"old is one of {', '.join(map(repr, OLD))}; got {old!r}")
    x, y = checked_data(net, x, y, loss, finite_points=layer > 0)  # what is wrong with the points of layer 0 is seen in `asked`
    below, here, z = around(net, layer, x)
    if moment is not None and moment.inputs != below.shape[-1]:
        raise ValueError(f"layer {layer} of a {net} reads {below.shape[-1]} inputs; the second moment given has {moment.inputs}")
    goal, n = goal_at(net, layer + 1, z, y, loss), x.shape[-2]
    least = (threshold / point_losses(net(x), y, loss).mean(-1)).sqrt() if threshold else 0.0
    del z  # its memory serves the next large tensor
    update = Update.zero(here, goal) if old == "kept" else best_update(here, goal)
    target = goal if old == "kept" else update.rest(goal)
    if old == "jointly":
        moment = _apart(below, here)
    new = nearest(below, target, goal, net.slopes_at_zero, update, k, moment, signs, least)
    if old == "jointly":
        update = best_update(here, goal - affine(below, new.incoming, new.bias) @ new.outgoing.mT)
        new = replace(new, update=Update(update.weights, update.bias, here, (update.move * goal).sum((-2, -1)) / n))
    return new


def nearest(
    below: Tensor,
    target: Tensor,
    goal: Tensor,
    slopes: tuple[float, float],
    update: Update,
    k: int | None = None,
    moment: SecondMoment | None = None,
    signs: bool = True,
    least: Tensor | float = 0.0,
) -> NewNeurons:
    """The neurons that read `below` `(*batch, n, in)` and come nearest to `target` `(*batch, n, out)`, whatever reads them.

    `goal`: what the target is a part of: what `update`, the move of the old weights, has left of it.
    `slopes`: the activation's at 0, from the left and from the right.
    `least`: the singular values, `(*batch,)`, that a neuron must be above.
    `k`, `moment`, `signs`: as in `optimal_neurons`.
    """
    n = below.shape[-2]
    asked = cross_products(below, target) / n
    if not asked.isfinite().all():
        finite(inputs=below, desired_updates=goal, products=asked)
    moment = SecondMoment.of(below) if moment is None else moment
    size = torch.linalg.vector_norm(goal, dim=(-2, -1)) / n**0.5
    alpha, omega, singular, rank = _best(moment, asked, size, k, least)
    sign, gain = _signs(slopes, below, alpha, omega, target, goal) if signs else _plain_signs(slopes, omega)
    alpha, omega = alpha * sign.unsqueeze(-1), omega * sign.unsqueeze(-2)
    return NewNeurons(alpha[..., :-1], alpha[..., -1], omega, singular, rank, gain, update)


def _best(moment: SecondMoment, asked: Tensor, size: Tensor, k: int | None, least) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The closed form: weights `(*batch, k, in + 1)` and `(*batch, out, k)` of the k best neurons, all singular values, the rank.

    `asked` are the products B'V / n of inputs and target; what is less than a rounding error of `size` is of no use, and what is
    not above `least` is not wanted.
    """
    directions, singular, v = tall_svd(moment.whiten(asked))
    least = torch.maximum(torch.finfo(asked.dtype).eps ** 0.75 * size, torch.as_tensor(least).to(size))
    rank = (singular > least.unsqueeze(-1)).sum(-1)
    k = int(rank.max()) if k is None else min(k, int(rank.max()))
    useful = torch.arange(k, device=singular.device) < rank.unsqueeze(-1)
    root = (singular[..., :k] * useful).sqrt().unsqueeze(-2)
    return (moment.weights(directions(k)) * root).mT, v[..., :k, :].mT * root, singular, rank


def with_neurons(net: Network, layer: int, new: NewNeurons, amplitude=1.0, update=None, split: float = 1.0) -> Network:
    """The network with the new neurons in hidden layer `layer`, and with the move of the old weights that they count on.

    `new`: what `optimal_neurons` found for this network and layer.
    `amplitude`: a number or `(*batch,)`, at least 0. A small one lowers the loss; 0 changes nothing.
    `update`: the amplitude of the old weights' move, by default the same; one of its own where it was searched by itself. With
    0 the old weights stay, and the loss falls only where `new.gain` is positive.
    `split`: the amplitude multiplies the incoming weights (1, so the paper), or the incoming ones to this power and the outgoing
    ones to the rest.

    With the default `update` there is a warning for networks whose loss will not fall: `new.joint_gain` is not positive. Nothing
    is left to gain there or, with `old="jointly"` and a kink at 0, the linear theory promises too much.
    """
    amplitude = torch.as_tensor(amplitude, dtype=net.dtype, device=net.device)
    if not (amplitude >= 0).all():
        raise ValueError(f"an amplitude is at least 0; got {float(amplitude.min()):g}")
    if update is None:
        update, idle = amplitude, (new.joint_gain <= 0) & (amplitude > 0)
        if idle.any():
            few = f"in {int(idle.sum())} of {idle.numel()} networks" if idle.ndim else "here"
            warnings.warn(
                f"no small amplitude lowers the loss {few}: the joint gain of the neurons is not positive", stacklevel=2
            )
    amplitude = amplitude[..., None]
    read, write = amplitude**split, amplitude ** (1 - split)
    net = new.update.applied(net, layer + 1, update)
    return widen(net, layer, new.incoming * read[..., None], new.bias * read, new.outgoing * write[..., None])


def _apart(below: Tensor, here: Tensor) -> SecondMoment:
    """The second moment of the inputs below less their best prediction by the inputs here (both with a constant)."""
    rows, moment = with_one(below), SecondMoment.of(here)
    rest = rows
    for _ in range(2):  # once leaves the rounding error of a squared condition, which would be taken for new directions
        rest = best_update(here, rest, moment).rest(rest)
    rest = rest * (rest.square().sum(-2) > 1e-20 * rows.square().sum(-2)).unsqueeze(-2)  # rounding is no new direction
    apart = SecondMoment.of(rest, tolerance=1e-10)
    return SecondMoment(apart.whitening[..., :-1, :], apart.rank)


def _signs(slopes, below, alpha, omega, target, goal) -> tuple[Tensor, Tensor]:
    """The better sign of each neuron `(*batch, k)` and the exact first-order gain of all of them `(*batch,)`."""
    left, right = slopes
    even, odd = (right - left) / 2, (right + left) / 2  # near 0 the activation is odd * z + even * |z|; a sign turns the second
    reads, asked = affine(below, alpha[..., :-1], alpha[..., -1]), goal @ omega
    if not even:
        return _plain_signs(slopes, omega)[0], odd * (reads * asked).sum((-2, -1)) / goal.shape[-2]
    size = reads.abs()
    sign = torch.where(even * (size * (target @ omega)).sum(-2) < 0, -1.0, 1.0).to(omega.dtype)
    gain = odd * (reads * asked).sum((-2, -1)) + even * (sign * (size * asked).sum(-2)).sum(-1)
    return sign, gain / goal.shape[-2]


def _plain_signs(slopes: tuple[float, float], omega: Tensor) -> tuple[Tensor, Tensor]:
    """The sign that makes each neuron's largest outgoing weight positive, and the gain that the linear theory promises."""
    largest = omega.gather(-2, omega.abs().argmax(-2, keepdim=True)).squeeze(-2)
    singular = omega.square().sum(-2)
    return torch.where(largest < 0, -1.0, 1.0).to(omega.dtype), sum(slopes) / 2 * singular.square().sum(-1)


def _hidden(net: Network, layer: int) -> None:
    hidden = len(net.weights) - 1
    if not 0 <= layer < hidden:
        raise ValueError(f"hidden layers of a {net} are numbered 0 to {hidden - 1}; got {layer}")
