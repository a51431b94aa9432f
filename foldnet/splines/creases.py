"""Shallow networks of several inputs: their creases, and what very wide ones draw through data. (splines/beyond)

A crease is a hyperplane <xi, x> = gamma with a unit normal xi, on which a neuron bends.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.splines.creases import creases, polyharmonic
>>> found = creases(ReLUNet([[[3.0, 4.0]], [[2.0]]], [[-5.0], [0.0]]))  # one neuron of two inputs
>>> found.normals.tolist(), found.offsets.tolist(), found.delta_slopes.tolist()
([[0.6, 0.8]], [1.0], [10.0])
>>> f = polyharmonic([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 2.0])
>>> round(float(f([[0.5, 0.25]])[0]), 6)  # a plane through four points stays one
0.75
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement

import torch
from torch import Tensor

from ..nets import ReLUNet
from ._points import tensors


@dataclass(frozen=True, eq=False)
class Creases:
    """`f(x) = offset + sum_i mu_i * relu(<xi_i, x> - gamma_i)`, one function of D variables or a batch of them.

    `normals` `(*batch, H, D)` are unit vectors, `offsets` and `delta_slopes` `(*batch, H)`, `offset` `(*batch,)`. A neuron
    without weights has no crease: its normal and delta-slope are 0 and what it adds is part of the offset.
    """

    normals: Tensor
    offsets: Tensor
    delta_slopes: Tensor
    offset: Tensor

    def __call__(self, x) -> Tensor:
        """Values `(*batch, n)` at the points `x`, `(n, D)`."""
        (x,) = tensors(x, like=self.normals)
        ridges = (x @ self.normals.mT - self.offsets.unsqueeze(-2)).clamp(min=0)
        return (ridges @ self.delta_slopes.unsqueeze(-1)).squeeze(-1) + self.offset.unsqueeze(-1)


def creases(net: ReLUNet) -> Creases:
    """Unit normals w/|w|, offsets -b/|w| and delta-slopes v|w| of a network with one hidden layer. (S3-def-multivariate-bdso)"""
    if len(net.sizes) != 3 or net.sizes[2] != 1 or net.leak:
        raise ValueError(f"a ReLU network of one hidden layer and one output is needed; got {net}")
    w, b, v = net.weights[0], net.biases[0], net.weights[1].squeeze(-2)
    size = w.norm(dim=-1)
    flat = size == 0
    unit = size.where(~flat, 1.0)
    constant = (v * b.clamp(min=0) * flat).sum(-1)
    offsets = (-b / unit).where(~flat, 0.0)
    return Creases(w / unit.unsqueeze(-1), offsets, v * size, net.biases[1].squeeze(-1) + constant)


@dataclass(frozen=True, eq=False)
class Polyharmonic:
    """`f(t) = sum_n a_n |t - x_n|^(2 lam - 1) + polynomial`: what wide networks with the activation z_+^(lam - 1) draw."""

    x: Tensor
    weights: Tensor
    polynomial: Tensor
    lam: float

    def __call__(self, t) -> Tensor:
        (t,) = tensors(t, like=self.x)
        return torch.cdist(t, self.x) ** (2 * self.lam - 1) @ self.weights + monomials(t, self.lam) @ self.polynomial


def polyharmonic(x, y, lam: float = 2.0) -> Polyharmonic:
    """The limit of least-norm fits by networks with evenly spread creases and a free polynomial of degree below lambda - 1/2.

    For D = 1 and ReLU this is the natural cubic spline. (S3-fig-2d-gap)

    x, y: data points `(n, D)` and their values `(n,)`.
    lam: the activation is z_+^(lam - 1): 2 for ReLU, 1 for a step.
    """
    x, y = tensors(x, y)
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ValueError(f"points are (n, D) and their values (n,); got shapes {tuple(x.shape)} and {tuple(y.shape)}")
    if 2 * lam % 2 == 1:
        raise ValueError(f"for lambda = {lam} the law has logarithms, and an even power of distances would be a polynomial")
    free = monomials(x, lam)
    k, n = free.shape[1], len(x)
    if n < k or torch.linalg.matrix_rank(free) < k:
        raise ValueError(f"{n} points do not fix the free polynomial, which has {k} coefficients")
    top = torch.cat([torch.cdist(x, x) ** (2 * lam - 1), free], 1)
    bottom = torch.cat([free.mT, free.new_zeros(k, k)], 1)
    solution = torch.linalg.solve(torch.cat([top, bottom]), torch.cat([y, y.new_zeros(k)]))
    return Polyharmonic(x, solution[:n], solution[n:], lam)


def monomials(x, lam: float) -> Tensor:
    """All monomials of degree below `lam` - 1/2 at the points `(n, D)`: `(n, how many)`."""
    (x,) = tensors(x)
    most = math.ceil(lam - 0.5) - 1
    columns = [
        x[:, list(of)].prod(-1) for degree in range(most + 1) for of in combinations_with_replacement(range(x.shape[1]), degree)
    ]
    return torch.stack(columns, -1)
