"""What a network would like to do, what it can do, and the gap: desired updates, best moves, lack of expressivity.

>>> from foldnet.growth.expressivity import lack_of_expressivity
>>> from foldnet.nets import ReLUNet
>>> net = ReLUNet.random((2, 3, 1), seed=0)
>>> x, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [[1.0], [0.0], [1.0]]
>>> bool(lack_of_expressivity(net, 0, x, y) >= 0)
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..nets import Network
from ..training.problem import checked_data
from ._passes import affine, goal_at
from .moments import SecondMoment, cross_products


def layer_inputs(net: Network, x) -> list[Tensor]:
    """What each affine layer reads, `(*batch, n, in)`: the points, then the activations of each hidden layer."""
    return [net.points(x), *map(net.activate, net.preactivations(x))]


def desired_update(net: Network, layer: int, x, y, loss: str | Callable = "mse") -> Tensor:
    """The change `(*batch, n, width)` each point asks of the preactivations of affine layer `layer`: v_goal with step size 1.

    Minus the gradient of the point's own loss, by back-propagation. (S1-def-v-goal)

    `layer`: 0 is the first, the last one gives the outputs.
    `x`, `y`: points and targets, as `fit` takes them.
    `loss`: a name of `fit`'s, or a function of outputs and y that returns `(*batch, n)`.
    """
    if not 0 <= layer < len(net.weights):
        raise ValueError(f"affine layers of a {net} are numbered 0 to {len(net.weights) - 1}; got {layer}")
    x, y = checked_data(net, x, y, loss)
    return goal_at(net, layer, net.layers(x)[layer], y, loss)


@dataclass(frozen=True, eq=False)
class Update:
    """A change of one affine layer, weights `(*batch, out, in)` and bias `(*batch, out)`, and what it changes.

    `inputs` `(*batch, n, in)` are what the layer reads, `gain` `(*batch,)` is how fast the mean loss falls at first order in the
    amplitude of the change.
    """

    weights: Tensor
    bias: Tensor
    inputs: Tensor
    gain: Tensor

    @classmethod
    def zero(cls, inputs: Tensor, goal: Tensor) -> Update:
        """No change of a layer that reads `inputs`; the shape of `goal` is that of what the layer gives."""
        batch, out = goal.shape[:-2], goal.shape[-1]
        return cls(goal.new_zeros(*batch, out, inputs.shape[-1]), goal.new_zeros(*batch, out), inputs, goal.new_zeros(batch))

    @property
    def move(self) -> Tensor:
        """The change of the preactivations at the points, `(*batch, n, out)`."""
        return affine(self.inputs, self.weights, self.bias)

    def applied(self, net: Network, layer: int, amplitude) -> Network:
        """The network with affine layer `layer` changed by `amplitude`, a number or `(*batch,)`, times this update."""
        amplitude = torch.as_tensor(amplitude, dtype=net.dtype, device=net.device)[..., None]
        weights, biases = list(net.weights), list(net.biases)
        weights[layer] = weights[layer] + amplitude[..., None] * self.weights
        biases[layer] = biases[layer] + amplitude * self.bias
        return net.with_layers(weights, biases)

    def rest(self, goal: Tensor) -> Tensor:
        """What the move leaves of a goal."""
        if goal.ndim == self.inputs.ndim == self.weights.ndim == 2:
            return torch.addmm(goal, self.inputs, self.weights.mT, alpha=-1).sub_(self.bias)  # one tensor less than below
        return goal - self.move


def best_update(inputs: Tensor, goal: Tensor, moment: SecondMoment | None = None) -> Update:
    """The change of a layer which comes closest to a goal.

    Least squares, the paper's Proposition 3.1: dW = V_goal B' (B B')^+. (S1-prop-3.1)

    inputs: what the layer reads, `(*batch, n, in)`.
    goal: how its values should move, `(*batch, n, out)`.
    moment: the second moment of the inputs, where it is known already.
    """
    moment = moment or SecondMoment.of(inputs)
    n = goal.shape[-2]
    asked = cross_products(inputs, goal) / n
    change = moment.weights(moment.whiten(asked)).mT
    weights, bias = change[..., :-1], change[..., -1]
    return Update(weights, bias, inputs, (change * asked.mT).sum((-2, -1)))


def tangent(net: Network, layer: int, x) -> Tensor:
    """The derivative of the preactivations of affine layer `layer` in all parameters: `(n * width, parameters)`, one network.

    Its columns span the tangent space of the architecture at this network. (S1-def-tangent-space)
    """
    if net.batch_shape:
        raise ValueError(f"the tangent space is that of one network, not of a batch of shape {net.batch_shape}: choose one")
    x = net.points(x)
    return torch.func.jacrev(lambda p: net.with_vector(p).layers(x)[layer].flatten())(net.vector().detach())


def projection(goal: Tensor, span: Tensor) -> Tensor:
    """The orthogonal projection of `goal` `(m,)` onto the columns of `span` `(m, p)`: the best move v*."""
    vectors, singular, _ = torch.linalg.svd(span, full_matrices=False)
    vectors = vectors[:, singular > len(span) * torch.finfo(span.dtype).eps * singular[0]]
    return vectors @ (vectors.mT @ goal)


def lack_of_expressivity(net: Network, layer: int, x, y, loss: str | Callable = "mse", free: str = "layer") -> Tensor:
    """How far the desired update of a layer is from what the network can do: a sum of squares over points and neurons.

    `layer`, `x`, `y`, `loss`: as in `desired_update`.
    `free`: `"layer"` lets the weights of that layer alone change (any batch), `"all"` those of every layer (one network).

    (S1-def-3.1-lack)
    """
    goal = desired_update(net, layer, x, y, loss)
    if free == "layer":
        return best_update(layer_inputs(net, x)[layer], goal).rest(goal).square().sum((-2, -1))
    if free != "all":
        raise ValueError(f"free is 'layer' or 'all'; got {free!r}")
    return (goal.flatten() - projection(goal.flatten(), tangent(net, layer, x))).square().sum()
