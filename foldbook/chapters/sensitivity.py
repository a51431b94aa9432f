"""What geometry/sensitivity and geometry/images measure: ranks of gradients and patterns, and how rough a picture is.

>>> import torch
>>> from foldbook.chapters.sensitivity import rank
>>> int(rank(torch.tensor([4.0, 1.0, 1e-15])))
2
"""

from __future__ import annotations

import torch
from torch import Tensor


def rank(values: Tensor, tolerance: float = 1e-12) -> Tensor:
    """How many singular values, sorted, are above `tolerance` times the largest; noise of double precision is well below that."""
    return (values > tolerance * values[..., :1]).sum(-1)


def roughness(pictures: Tensor) -> Tensor:
    """How much neighbours differ in pictures `(*, height, width)`: their mean squared difference over twice the mean square.

    0 for a constant picture, 1 in the mean for white noise.
    """
    square = pictures.square()
    across, down = pictures.diff(dim=-1).square(), pictures.diff(dim=-2).square()
    return (across.mean((-1, -2)) + down.mean((-1, -2))) / (4 * square.mean((-1, -2)))


def turning_units(pattern: Tensor) -> Tensor:
    """The rank of patterns `(*batch, n, units)` of zeros and ones: in so many directions can the gradients of a network with one
    hidden layer turn (S2-find-rank-128). A unit that is never on adds none, and all that are always on add one together."""
    gram = pattern.double().mT @ pattern.double()  # of whole numbers below 2^53: exact
    return torch.linalg.matrix_rank(gram, hermitian=True)
