"""Chains of small convolutions: where a kernel of our own makes their slopes, at many images eight times as fast as autograd."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

WORTH = 2e9  # multiplications, half a second of them, from which on a kernel is taken


@dataclass(frozen=True, eq=False)
class Chain:
    """Convolutions of 3 x 3 that keep the size, each with a max pooling of 2 x 2 and a ReLU behind it, then a linear layer.

    The `weights` and `biases` of all layers; `shapes` are channels, height and width of the input and after each pooling.
    """

    weights: list[Tensor]
    biases: list[Tensor]
    shapes: list[tuple[int, int, int]]

    @property
    def outputs(self) -> int:
        return len(self.weights[-1])

    @torch.no_grad()
    def slopes(self, x: Tensor) -> Tensor | None:
        """The slopes `(n, out, pixels)` at images `(n, pixels)`; None where a kernel does not pay or does not take them."""
        work = sum(w.numel() * prod(shape[1:]) for w, shape in zip(self.weights[:-1], self.shapes))
        if work * self.outputs * len(x) <= WORTH or x.device.type not in ("cpu", "cuda"):
            return None
        slopes = x.new_empty(len(x), self.outputs, x.shape[1])
        if x.device.type == "cuda":
            from . import _slopes_cuda

            if not _slopes_cuda.fits(self):
                return None
            _slopes_cuda.of_convolutions(self, x, slopes)
        else:
            from . import _slopes  # numba, which takes a second, only where it pays

            _slopes.of_convolutions(self, x, slopes)
        return slopes
