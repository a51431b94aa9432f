"""The neurons that help a layer most, in closed form: TINY's optimal neurons with the factors that its paper leaves out.

>>> from foldnet.growth.neurons import optimal_neurons, with_neurons
>>> from foldnet.nets import ReLUNet
>>> net = ReLUNet.random((2, 1, 1), seed=0)
>>> x, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [[1.0], [2.0], [3.0], [0.0]]
>>> with_neurons(net, 0, optimal_neurons(net, 0, x, y, k=1), amplitude=0.1).sizes
(2, 2, 1)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..nets import Network
from ..training.problem import data, finite, shaped
from .expressivity import Update, best_update, goal_at, no_update
from .moments import SecondMoment, affine, cross, moment_of, tall_svd, with_one
from .widen import widen

OLD = ("first", "jointly", "kept")


@dataclass(frozen=True, eq=False)
class NewNeurons:
    """New neurons of a hidden layer, best first, and what they promise; every tensor has the batch axes of the networks in front.

    `incoming` `(k, in)`, `bias` `(k,)`, `outgoing` `(out, k)` are what `widen` takes. `singular_values` `(r,)` are all lambda_k;
    the first k reduce the mean squared misfit by the sum of their squares. `rank` `()` says how many neurons are of use; the
    others are 0. `gain` `()` is how fast the mean loss falls, at first order in the amplitude, when the neurons are added to the
    network as it is, unless `optimal_neurons` was told to leave the signs open. `update` is the best move of the old weights of
    the next layer, with its own gain.
    """

    incoming: Tensor
    bias: Tensor
    outgoing: Tensor
    singular_values: Tensor
    rank: Tensor
    gain: Tensor
    update: Update


def second_moment(net: Network, layer: int, x, tolerance: float | None = None) -> SecondMoment:
    """The factored second moment S of what hidden layer `layer` (0 is the first) reads, to pass as `moment=` again and again.

    That of layer 0 is a property of the points alone, so it stays valid while the network grows.
    """
    _hidden(net, layer)
    return moment_of(_reads(net, layer, net.points(x).detach()), tolerance)


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
) -> NewNeurons:
    """The k neurons of hidden layer `layer` (0 is the first) that come closest to what the next layer asks for, at first order.

    Points, targets and `loss` as in `desired_update`. `moment` is what `second_moment` found for this layer and these points, to
    save the work; with `old="jointly"` it is not used. Fewer than k are returned where no network of the batch has use for more
    (`rank`; none at all where nothing is left to gain), and all of use for `k=None`. `old` says what the old outgoing weights do
    meanwhile: they move `"first"` and the neurons serve what is left (the paper's two steps), they move `"jointly"` (the true
    minimum over both), or they are `"kept"`. Of each pair +-(incoming, outgoing), equal in the linear theory, the one with the
    larger exact slope for what the neurons serve is returned where the activation has a kink at 0: for slopes a and b there, at
    least (a + b) / 2 times what the linear theory predicts for slope 1. `signs=False` saves this pass over the points: then each
    neuron's largest outgoing weight is positive, and `gain` is what the linear theory promises of the goal that the old weights
    leave, (a + b) / 2 times the sum of the squared singular values. (S1-prop-3.2-solution, S1-cor-1-dW)
    """
    with torch.no_grad():
        return _optimal(net, layer, x, y, k, loss, moment, old, signs)


def _optimal(net, layer, x, y, k, loss, moment, old, signs) -> NewNeurons:
    _hidden(net, layer)
    if k is not None and (int(k) != k or k < 1):
        raise ValueError(f"k is a whole number of neurons, at least 1, or None for all of use; got {k!r}")
    if old not in OLD:
        raise ValueError(f"old is one of {', '.join(map(repr, OLD))}; got {old!r}")
    x, y = (data if layer else shaped)(net, x, y, loss)  # what is wrong with the points of layer 0 is seen in `asked`
    below, here, z = around(net, layer, x)
    if moment is not None and moment.inputs != below.shape[-1]:
        raise ValueError(f"layer {layer} of a {net} reads {below.shape[-1]} inputs; the second moment given has {moment.inputs}")
    goal, n = goal_at(net, layer + 1, z, y, loss), x.shape[-2]
    del z  # its memory serves the next large tensor
    update = no_update(here, goal) if old == "kept" else best_update(here, goal)
    target = goal if old == "kept" else update.rest(goal)
    asked = cross(below, target) / n
    if not asked.isfinite().all():
        finite(points=x, targets=y, desired_updates=goal, products=asked)
    if old == "jointly":
        moment = _apart(below, here)
    elif moment is None:
        moment = moment_of(below)
    size = torch.linalg.vector_norm(goal, dim=(-2, -1)) / n**0.5
    alpha, omega, singular, rank = _best(moment, asked, size, k)
    sign, gain = _signs(net, below, alpha, omega, target, goal) if signs else _plain_signs(net, omega)
    alpha, omega = alpha * sign.unsqueeze(-1), omega * sign.unsqueeze(-2)
    if old == "jointly":
        update = best_update(here, goal - affine(below, alpha[..., :-1], alpha[..., -1]) @ omega.mT)
        update = Update(update.weights, update.bias, here, (update.move * goal).sum((-2, -1)) / n)
    return NewNeurons(alpha[..., :-1], alpha[..., -1], omega, singular, rank, gain, update)


def _best(moment: SecondMoment, asked: Tensor, size: Tensor, k: int | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The closed form: weights `(*batch, k, in + 1)` and `(*batch, out, k)` of the k best neurons, all singular values, the rank.

    `asked` are the products B'V / n of inputs and target; what is less than a rounding error of `size` is of no use.
    """
    directions, singular, v = tall_svd(moment.whiten(asked))
    rank = (singular > torch.finfo(asked.dtype).eps ** 0.75 * size.unsqueeze(-1)).sum(-1)
    k = int(rank.max()) if k is None else min(k, int(rank.max()))
    useful = torch.arange(k, device=singular.device) < rank.unsqueeze(-1)
    root = (singular[..., :k] * useful).sqrt().unsqueeze(-2)
    return (moment.weights(directions(k)) * root).mT, v[..., :k, :].mT * root, singular, rank


def with_neurons(net: Network, layer: int, new: NewNeurons, amplitude=1.0, update=0.0, split: float = 1.0) -> Network:
    """The network with the new neurons, and with `update` times the best move of the old weights of the next layer.

    `amplitude` and `update` are numbers or tensors `(*batch,)`. The amplitude multiplies the incoming weights (so the paper)
    or, with `split` below 1, the incoming ones to the power `split` and the outgoing ones to the rest. Zero changes nothing.
    """
    amplitude = torch.as_tensor(amplitude, dtype=net.dtype, device=net.device)[..., None]
    if not (amplitude >= 0).all():
        raise ValueError(f"an amplitude is at least 0; got {float(amplitude.min()):g}")
    read, write = amplitude**split, amplitude ** (1 - split)
    net = moved(net, layer + 1, new.update, update)
    return widen(net, layer, new.incoming * read[..., None], new.bias * read, new.outgoing * write[..., None])


def moved(net: Network, layer: int, update: Update, amplitude) -> Network:
    """The network with affine layer `layer` changed by `amplitude`, a number or `(*batch,)`, times an update."""
    amplitude = torch.as_tensor(amplitude, dtype=net.dtype, device=net.device)[..., None]
    weights, biases = list(net.weights), list(net.biases)
    weights[layer] = weights[layer] + amplitude[..., None] * update.weights
    biases[layer] = biases[layer] + amplitude * update.bias
    return net.with_layers(weights, biases)


def around(net: Network, layer: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What hidden layer `layer` reads, and what the next affine layer reads and gives, all `(*batch, n, width)`."""
    below = _reads(net, layer, x)
    here = net.activate_(affine(below, net.weights[layer], net.biases[layer]))
    return below, here, affine(here, net.weights[layer + 1], net.biases[layer + 1])


def _reads(net: Network, layer: int, x: Tensor) -> Tensor:
    """What affine layer `layer` reads at points that are checked already."""
    for w, b in zip(net.weights[:layer], net.biases[:layer]):
        x = net.activate_(affine(x, w, b))
    return x


def _apart(below: Tensor, here: Tensor) -> SecondMoment:
    """The second moment of the inputs below less their best prediction by the inputs here (both with a constant)."""
    rows, moment = with_one(below), moment_of(here)
    rest = rows
    for _ in range(2):  # once leaves the rounding error of a squared condition, which would be taken for new directions
        rest = best_update(here, rest, moment).rest(rest)
    rest = rest * (rest.square().sum(-2) > 1e-20 * rows.square().sum(-2)).unsqueeze(-2)  # rounding is no new direction
    apart = moment_of(rest, tolerance=1e-10)
    return SecondMoment(apart.whitening[..., :-1, :], apart.rank)


def _signs(net, below, alpha, omega, target, goal) -> tuple[Tensor, Tensor]:
    """The better sign of each neuron `(*batch, k)` and the exact first-order gain of all of them `(*batch,)`."""
    left, right = net.slopes_at_zero
    even, odd = (right - left) / 2, (right + left) / 2  # near 0 the activation is odd * z + even * |z|; a sign turns the second
    reads, asked = affine(below, alpha[..., :-1], alpha[..., -1]), goal @ omega
    if not even:
        return _plain_signs(net, omega)[0], odd * (reads * asked).sum((-2, -1)) / goal.shape[-2]
    size = reads.abs()
    sign = torch.where(even * (size * (target @ omega)).sum(-2) < 0, -1.0, 1.0).to(omega.dtype)
    gain = odd * (reads * asked).sum((-2, -1)) + even * (sign * (size * asked).sum(-2)).sum(-1)
    return sign, gain / goal.shape[-2]


def _plain_signs(net: Network, omega: Tensor) -> tuple[Tensor, Tensor]:
    """The sign that makes each neuron's largest outgoing weight positive, and the gain that the linear theory promises."""
    largest = omega.gather(-2, omega.abs().argmax(-2, keepdim=True)).squeeze(-2)
    singular = omega.square().sum(-2)
    return torch.where(largest < 0, -1.0, 1.0).to(omega.dtype), sum(net.slopes_at_zero) / 2 * singular.square().sum(-1)


def _hidden(net: Network, layer: int) -> None:
    hidden = len(net.weights) - 1
    if not 0 <= layer < hidden:
        raise ValueError(f"hidden layers of a {net} are numbered 0 to {hidden - 1}; got {layer}")
