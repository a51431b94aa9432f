"""The neurons that help a layer most, in closed form: TINY's optimal neurons with the factors that its paper leaves out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..nets import Network
from .expressivity import Update, best_update, data, goal_at
from .moments import SecondMoment, cross, moment_of, with_one
from .widen import widen

OLD = ("first", "jointly", "kept")


@dataclass(frozen=True, eq=False)
class NewNeurons:
    """New neurons of a hidden layer, best first, and what they promise; every tensor has the batch axes of the networks in front.

    `incoming` `(k, in)`, `bias` `(k,)`, `outgoing` `(out, k)` are what `widen` takes. `singular_values` `(r,)` are all lambda_k;
    the first k reduce the mean squared misfit by the sum of their squares. `rank` `()` says how many neurons are of use; the
    others are 0. `gain` `()` is how fast the mean loss falls, at first order in the amplitude, when the neurons are added to the
    network as it is. `update` is the best move of the old weights of the next layer, with its own gain.
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
    return moment_of(_inputs(net, layer, net._points(x).detach())[0], tolerance)


def optimal_neurons(
    net: Network,
    layer: int,
    x,
    y,
    k: int | None = None,
    loss: str | Callable = "mse",
    moment: SecondMoment | None = None,
    old: str = "first",
) -> NewNeurons:
    """The k neurons of hidden layer `layer` (0 is the first) that come closest to what the next layer asks for, at first order.

    Points, targets and `loss` as in `desired_update`. Fewer than k are returned where no network of the batch has use for more
    (`rank`; none at all where nothing is left to gain), and all of use for `k=None`. `old` says what the old outgoing
    weights do meanwhile: they move `"first"` and the neurons serve what is left (the paper's two steps), they move `"jointly"`
    (the true minimum over both), or they are `"kept"`. Of each pair +-(incoming, outgoing), equal in the linear theory, the one
    with the larger exact slope is returned where the activation has a kink at 0: for slopes a and b there, at least (a + b) / 2
    times what the linear theory predicts for slope 1. (S1-prop-3.2-solution, S1-cor-1-dW)
    """
    with torch.no_grad():
        return _optimal(net, layer, x, y, k, loss, moment, old)


def _optimal(net, layer, x, y, k, loss, moment, old) -> NewNeurons:
    _hidden(net, layer)
    if k is not None and (int(k) != k or k < 1):
        raise ValueError(f"k is a whole number of neurons, at least 1, or None for all of use; got {k!r}")
    if old not in OLD:
        raise ValueError(f"old is one of {', '.join(map(repr, OLD))}; got {old!r}")
    x, y = data(net, x, y, loss)
    below, here, z = _inputs(net, layer, x, ahead=True)
    goal, n = goal_at(net, layer + 1, z, y, loss), x.shape[-2]
    moment = moment or moment_of(below)
    if moment.inputs != below.shape[-1]:
        raise ValueError(f"layer {layer} of a {net} reads {below.shape[-1]} inputs; the second moment given has {moment.inputs}")
    update = best_update(here, goal)
    target = goal if old == "kept" else goal - update.move
    whitening = moment.whitening
    if old == "jointly":
        whitening = _apart(below, here)
    u, singular, v = torch.linalg.svd(whitening.mT @ (cross(below, target) / n), full_matrices=False)
    size = goal.square().sum((-2, -1)).div(n).sqrt()
    rank = (singular > torch.finfo(goal.dtype).eps ** 0.75 * size.unsqueeze(-1)).sum(-1)
    k = int(rank.max()) if k is None else min(k, int(rank.max()))
    useful = torch.arange(k, device=singular.device) < rank.unsqueeze(-1)
    root = (singular[..., :k] * useful).sqrt()
    alpha = (whitening @ u[..., :k] * root.unsqueeze(-2)).mT
    omega = v[..., :k, :].mT * root.unsqueeze(-2)
    sign, gain = _signs(net, below, alpha, omega, target, goal)
    alpha, omega = alpha * sign.unsqueeze(-1), omega * sign.unsqueeze(-2)
    if old == "kept":
        update = Update(*(torch.zeros_like(a) for a in (update.weights, update.bias, update.move, update.gain)))
    if old == "jointly":
        update = best_update(here, goal - _linear(below, alpha) @ omega.mT)
        update = Update(update.weights, update.bias, update.move, (update.move * goal).sum((-2, -1)) / n)
    return NewNeurons(alpha[..., :-1], alpha[..., -1], omega, singular, rank, gain, update)


def grow(net: Network, layer: int, new: NewNeurons, amplitude=1.0, update=0.0, split: float = 1.0) -> Network:
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
    return net._with(weights, biases)


def _inputs(net: Network, layer: int, x: Tensor, ahead: bool = False) -> tuple[Tensor, ...]:
    """What hidden layer `layer` reads and, `ahead`, what the next affine layer reads and gives, all `(*batch, n, width)`."""
    below, here = None, x
    for w, b in list(zip(net.weights, net.biases))[: layer + ahead]:
        below, here = here, net.activate(torch.nn.functional.linear(here, w, b) if w.ndim == 2 else here @ w.mT + b.unsqueeze(-2))
    return (below, here, here @ net.weights[layer + 1].mT + net.biases[layer + 1].unsqueeze(-2)) if ahead else (here,)


def _linear(inputs: Tensor, alpha: Tensor) -> Tensor:
    return inputs @ alpha[..., :-1].mT + alpha[..., -1].unsqueeze(-2)


def _apart(below: Tensor, here: Tensor) -> Tensor:
    """The whitening of the inputs below less their best prediction by the inputs here (both with a constant)."""
    rows = with_one(below)
    rest = rows - best_update(here, rows).move
    rest = rest * (rest.square().sum(-2) > 1e-20 * rows.square().sum(-2)).unsqueeze(-2)  # rounding is no new direction
    return moment_of(rest, tolerance=1e-10).whitening[..., :-1, :]


def _signs(net, below, alpha, omega, target, goal) -> tuple[Tensor, Tensor]:
    """The better sign of each neuron `(*batch, k)` and the exact first-order gain of all of them `(*batch,)`."""
    left, right = net.slopes_at_zero
    n, reads, asked = goal.shape[-2], _linear(below, alpha), goal @ omega
    if left == right:
        largest = omega.gather(-2, omega.abs().argmax(-2, keepdim=True)).squeeze(-2)
        return torch.where(largest < 0, -1.0, 1.0).to(omega.dtype), right * (reads * asked).sum((-2, -1)) / n
    plus = torch.where(reads > 0, right * reads, left * reads)
    minus = (left + right) * reads - plus  # what the neuron with both signs turned contributes
    wanted = target @ omega
    flipped = (plus * wanted).sum(-2) < (minus * wanted).sum(-2)
    gain = torch.where(flipped.unsqueeze(-2), minus, plus).mul(asked).sum((-2, -1)) / n
    return torch.where(flipped, -1.0, 1.0).to(omega.dtype), gain


def _hidden(net: Network, layer: int) -> None:
    hidden = len(net.weights) - 1
    if not 0 <= layer < hidden:
        raise ValueError(f"hidden layers of a {net} are numbered 0 to {hidden - 1}; got {layer}")
