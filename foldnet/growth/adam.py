"""Adam on all points for a batch of shallow networks that grow: old weights keep their state, new ones start with none."""

from __future__ import annotations

import torch
from torch import Tensor

from .methods import slope
from .widen import widen

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Adam:
    """The state of Adam for networks `(B,)`: running means of the gradient and its square, and for each parameter its own age.

    `train` takes steps and returns the networks, `grow` makes room for k new neurons, whose averages start at zero and are
    corrected by their own age, as if they had just been made.
    """

    def __init__(self, nets, rate: float):
        self.rate = rate
        self.first, self.second = torch.zeros_like(nets.vector()), torch.zeros_like(nets.vector())
        # what the averages would be if every gradient had been 1: 1 - beta^age
        self.weight = [torch.zeros_like(self.first[0]) for _ in BETAS]
        self.shape = nets

    def grow(self, k: int) -> None:
        """Make room for k neurons, at the end of the hidden layer."""
        inputs, _, out = self.shape.sizes
        roomy = lambda v: widen(self.shape.with_vector(v), 0, *(torch.zeros(s) for s in ((k, inputs), (k,), (out, k))))  # noqa: E731
        self.weight = [roomy(w).vector() for w in self.weight]
        self.second = roomy(self.second).vector()
        self.shape = roomy(self.first)
        self.first = self.shape.vector()

    def train(self, nets, x: Tensor, y: Tensor, steps: int):
        """The networks after so many steps on the mean loss over all points `x` `(B, n, in)`, `y` `(B, n, out)`."""
        theta = nets.vector()
        nets = nets.with_vector(theta)  # views: a step on theta is a step of the networks
        for _ in range(steps):
            g = gradient(nets, x, y)
            self.first.lerp_(g, 1 - BETAS[0])
            self.second.lerp_(g.square_(), 1 - BETAS[1])
            for w, beta in zip(self.weight, BETAS):
                w.mul_(beta).add_(1 - beta)
            scale = (self.second / self.weight[1]).sqrt_().add_(EPSILON)
            theta.addcdiv_(self.first / self.weight[0], scale, value=-self.rate)
        return nets


def gradient(nets, x: Tensor, y: Tensor) -> Tensor:
    """The gradient of the mean loss for all parameters, `(B, P)` in the order of `nets.vector()`, by hand: no graph is built."""
    (w1, w2), (b1, b2) = nets.weights, nets.biases
    hidden = torch.baddbmm(b1.unsqueeze(1), x, w1.mT).relu_()
    out = torch.baddbmm(b2.unsqueeze(1), hidden, w2.mT)
    pull = slope(out, y)
    back = torch.bmm(pull, w2).mul_(hidden > 0)
    parts = torch.bmm(back.mT, x).flatten(1), back.sum(1), torch.bmm(pull.mT, hidden).flatten(1), pull.sum(1)
    return torch.cat(parts, dim=1)
