"""Networks with a named activation that is 0 at 0, such as tanh, GELU, |x| or the sine; most are smooth there, |x| is not.

>>> from foldnet.growth.smooth import SmoothNet
>>> SmoothNet.random((1, 4, 1), seed=0).activation
'tanh'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..nets import Network

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772  # Klambauer et al. (2017)


@dataclass(frozen=True)
class _Activation:
    """A function of the preactivation with value 0 at 0, and its slopes there from the left and from the right."""

    function: Callable[[Tensor], Tensor]
    left: float
    right: float


ACTIVATIONS = {
    "tanh": _Activation(torch.tanh, 1.0, 1.0),
    "selu": _Activation(torch.nn.functional.selu, SELU_SCALE * SELU_ALPHA, SELU_SCALE),
    "elu": _Activation(torch.nn.functional.elu, 1.0, 1.0),
    "gelu": _Activation(torch.nn.functional.gelu, 0.5, 0.5),
    "softplus": _Activation(lambda z: torch.logaddexp(z, torch.zeros_like(z)) - torch.log(torch.full_like(z, 2.0)), 0.5, 0.5),
    "abs": _Activation(torch.abs, -1.0, 1.0),
    "sine": _Activation(torch.sin, 1.0, 1.0),
    "hardtanh": _Activation(torch.nn.functional.hardtanh, 1.0, 1.0),
    "identity": _Activation(lambda z: z, 1.0, 1.0),
}


@dataclass(frozen=True, eq=False, repr=False)
class SmoothNet(Network):
    """A fully connected network with a named activation, or a batch of them.

    It has what every `Network` has, and not `pattern`, `jacobian` and `to_sequential` of a `ReLUNet`. `fit` and
    `growth.minibatches.Training` train it; tanh, |x|, GELU and the sine have kernels of their own.

    `activation` is a key of `ACTIVATIONS`: functions with value 0 at 0. `"softplus"` is shifted by log 2 to pass through
    0; `"selu"` has two slopes at 0, 1.758 on the left and 1.051 on the right, and `"abs"`, |x|, has -1 and 1.
    """

    activation: str = "tanh"

    def __post_init__(self):
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation is one of {', '.join(map(repr, ACTIVATIONS))}; got {self.activation!r}")
        super().__post_init__()

    def activate(self, z: Tensor) -> Tensor:
        return ACTIVATIONS[self.activation].function(z)

    @property
    def slopes_at_zero(self) -> tuple[float, float]:
        return ACTIVATIONS[self.activation].left, ACTIVATIONS[self.activation].right

    def _kind(self) -> str:
        return f", {self.activation}"

    @classmethod
    def random(
        cls, sizes: Sequence[int], batch=(), init: str = "torch", activation: str = "tanh", seed: int = 0, dtype=torch.float64
    ) -> SmoothNet:
        """Random networks with the weights of `ReLUNet.random` for the same sizes, batch, init, seed and dtype.

        sizes, batch, init, dtype: as there.
        activation: a key of `ACTIVATIONS`.
        """
        return cls(*cls._draw(sizes, batch, init, seed, dtype), activation)
