"""Add neurons to a hidden layer, the move that every way of growing ends with.

>>> from foldnet.growth.widen import widen
>>> from foldnet.nets import ReLUNet
>>> widen(ReLUNet.random((2, 3, 1), seed=0), 0, [[1.0, 0.0]], [0.0], [[0.5]]).sizes
(2, 4, 1)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor

from ..nets import Network

Net = TypeVar("Net", bound=Network)


def widen(net: Net, layer: int, incoming, bias, outgoing) -> Net:
    """The network with k more neurons in hidden layer `layer` (0 is the first).

    `incoming` `(*batch, k, in)`, `bias` `(*batch, k)`: the weights with which the new neurons read the layer before.
    `outgoing` `(*batch, out, k)`: the weights with which the next layer reads them; 0 leaves the function as it is.

    Each of the three may lack the batch axes.
    """
    hidden = len(net.weights) - 1
    if not 0 <= layer < hidden:
        raise ValueError(f"hidden layers of a {net} are numbered 0 to {hidden - 1}; got {layer}")
    incoming, bias, outgoing = (_like(net, a) for a in (incoming, bias, outgoing))
    k = bias.shape[-1] if bias.ndim else 0
    needed = {"incoming": (k, net.sizes[layer]), "bias": (k,), "outgoing": (net.sizes[layer + 2], k)}
    for (name, shape), a in zip(needed.items(), (incoming, bias, outgoing)):
        if a.shape[max(a.ndim - len(shape), 0) :] != shape:
            raise ValueError(f"{k} new neurons in layer {layer} of a {net} need {name} of shape {shape}; got {tuple(a.shape)}")
    batch = net.batch_shape
    incoming, bias, outgoing = (a.expand(*batch, *shape) for a, shape in zip((incoming, bias, outgoing), needed.values()))
    weights, biases = list(net.weights), list(net.biases)
    weights[layer] = torch.cat([weights[layer], incoming], dim=-2)
    biases[layer] = torch.cat([biases[layer], bias], dim=-1)
    weights[layer + 1] = torch.cat([weights[layer + 1], outgoing], dim=-1)
    return replace(net, weights=tuple(weights), biases=tuple(biases))


def _like(net, a) -> Tensor:
    return torch.as_tensor(a, dtype=net.dtype, device=net.device)
