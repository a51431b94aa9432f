"""The gradient of a network, written out: no autograd graph over its layers at each step.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.training.gradient import FlatNetworks
>>> nets = ReLUNet.random((1, 3, 1), batch=5, seed=0)
>>> tuple(FlatNetworks(nets, nets.vector()).gradient.shape)
(5, 10)
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..nets import Network


class FlatNetworks:
    """Networks `(B,)` as one tensor `theta` `(B, P)`, and a `gradient` like it; the layers are views of both."""

    def __init__(self, net: Network, theta: Tensor):
        self.net, self.theta, self.gradient = net, theta, torch.zeros_like(theta)
        self.layers, self.slopes = (list(zip(n.weights, n.biases)) for n in map(net.with_vector, (self.theta, self.gradient)))

    def forward(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """What each affine layer reads and gives at points `(B or 1, n, in)`: each `(B, n, width)`, the last one the outputs."""
        reads, gives = [x.expand(len(self.theta), -1, -1)], []
        for w, b in self.layers:
            if gives:
                reads.append(self.net.activate_(gives[-1]))
            gives.append(torch.baddbmm(b.unsqueeze(1), reads[-1], w.mT))
        return reads, gives

    def backward(self, reads: list[Tensor], gives: list[Tensor], delta: Tensor) -> Tensor:
        """`gradient`, written anew: that of a loss with derivative `delta` `(B, n, out)` by the outputs.

        reads, gives: what `forward` returned.
        """
        for number in reversed(range(len(self.layers))):
            (w, _), (w_slope, b_slope) = self.layers[number], self.slopes[number]
            torch.bmm(delta.mT, reads[number], out=w_slope)
            torch.sum(delta, 1, out=b_slope)
            if number:
                delta = self.net.pull_back(delta @ w, gives[number - 1], reads[number])
        return self.gradient
