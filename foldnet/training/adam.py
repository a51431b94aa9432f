"""Adam: one step, written once.

>>> import torch
>>> from foldnet.training.adam import adam
>>> g, first, second, age = torch.ones(3), torch.zeros(3), torch.zeros(3), torch.zeros(3)
>>> tuple(adam(g, first, second, age, 0.1).shape)
(3,)
"""

from __future__ import annotations

import torch
from torch import Tensor

BETAS = (0.9, 0.999)
EPSILON = 1e-8


def adam(gradient: Tensor, first: Tensor, second: Tensor, age: Tensor, rate: Tensor | float, betas=BETAS) -> Tensor:
    """What torch.optim.Adam subtracts from parameters `(B, P)` for a gradient. A CUDA graph can replay the step.

    gradient: `(B, P)`.
    first, second: its memory, which moves on in place.
    age: the steps of a parameter, this one included, in float64: `()`, or `(P,)` where some are younger than others.
    rate: the learning rate.
    betas: how much of the memory a step keeps.
    """
    first.lerp_(gradient, 1 - betas[0])
    second.mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    # what the averages would be if every gradient had been 1
    mean, square = (torch.rsub(torch.pow(beta, age), 1) for beta in betas)
    return (rate / mean.to(first.dtype)) * first / second.sqrt().div_(square.sqrt_().to(first.dtype)).add_(EPSILON)
