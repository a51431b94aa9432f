"""Shallow networks of several inputs: creases, and functions as integrals over all creases, by the dual Radon transform.

A crease is a hyperplane <xi, x> = gamma with a unit normal xi. A network of infinitely many neurons spreads coefficients over
all (xi, gamma); `coefficients` finds them for a given function, `superpose` puts the function together again. (splines/beyond)

>>> from foldnet.nets import ReLUNet
>>> from foldnet.splines.radon import creases, polyharmonic
>>> found = creases(ReLUNet([[[3.0, 4.0]], [[2.0]]], [[-5.0], [0.0]]))  # one neuron of two inputs
>>> found.normals.tolist(), found.offsets.tolist(), found.delta_slopes.tolist()
([[0.6, 0.8]], [1.0], [10.0])
>>> f = polyharmonic([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 2.0])
>>> round(float(f([[0.5, 0.25]])[0]), 6)  # a plane through four points stays one
0.75
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import torch
from torch import Tensor

from ..nets import ReLUNet
from .points import tensors


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


# ---- activations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Activation:
    """An activation and one over its Fourier transform, both functions of a tensor; F[g](t) is the integral of g(z) exp(-itz)."""

    name: str
    value: Callable[[Tensor], Tensor]
    inverse: Callable[[Tensor], Tensor]

    def __call__(self, z) -> Tensor:
        return self.value(tensors(z)[0])


def power_relu(lam: float) -> Activation:
    """`z_+^(lam - 1) / Gamma(lam)`: the step for lam = 1, ReLU for 2, and (i t)^-lam is its transform. (S3-lem-multi-3-power)"""
    if not lam > 0:
        raise ValueError(f"a power-ReLU has lambda > 0; got {lam}")
    value = lambda z: torch.where(z > 0, z.clamp(min=0) ** (lam - 1), 0.0) / math.gamma(lam)  # noqa: E731
    phase = lambda t: torch.exp(0.5j * math.pi * lam * t.sign())  # noqa: E731
    return Activation(f"power {lam:g}", value, lambda t: t.abs() ** lam * phase(t))


def saturating(delta: float, copies: int) -> Activation:
    """`z_+ - (z - delta)_+`. Its inverse is the series of shifts by k delta, cut after `copies`. (S3-lem-multi-6-saturating)"""
    if not (delta > 0 and copies > 0):
        raise ValueError(f"a saturating ReLU has delta > 0, and its series at least one copy; got {delta} and {copies}")

    def inverse(t: Tensor) -> Tensor:
        return -t.square() * sum(torch.exp(-1j * delta * k * t) for k in range(copies))

    return Activation(f"saturating {delta:g}", lambda z: z.clamp(min=0) - (z - delta).clamp(min=0), inverse)


RELU, STEP = power_relu(2), power_relu(1)


# ---- a function and its creases -----------------------------------------------------------------------------------------


def directions(dimension: int, count: int = 64) -> tuple[Tensor, Tensor]:
    """Unit normals `(M, D)` and weights `(M,)` to integrate over the sphere: both directions of a line, a circle, a sphere.

    M is 2, `count`, and `count` * `count` / 2 for one, two and three dimensions; an even `count` has -xi with each xi.
    """
    if dimension not in (1, 2, 3) or count < 2 or count % 2:
        raise ValueError(f"directions are there for 1, 2 and 3 dimensions, an even number of them; got {dimension} and {count}")
    if dimension == 1:
        return torch.tensor([[1.0], [-1.0]], dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    angle = 2 * math.pi * (torch.arange(count, dtype=torch.float64) + 0.5) / count
    circle, even = torch.stack([angle.cos(), angle.sin()], -1), torch.full((count,), 2 * math.pi / count, dtype=torch.float64)
    if dimension == 2:
        return circle, even
    height, weight = map(torch.as_tensor, np.polynomial.legendre.leggauss(count // 2))
    rows = (1 - height.square()).sqrt()[:, None, None] * circle
    normals = torch.cat([rows, height[:, None, None].expand(-1, count, 1)], -1)
    return normals.reshape(-1, 3), (weight[:, None] * even).reshape(-1)


def coefficients(
    slices, spacing: float, dimension: int, activation: Activation = RELU, power: Callable[[Tensor], Tensor] = torch.abs
) -> Tensor:
    """What the neurons of each direction carry, c * eta_0 at the same offsets: `(*directions, n)`. (S3-thm-multi-2-inversion)

    `slices` `(*directions, n)` is the Radon transform of a function of `dimension` variables, its integrals over the hyperplanes
    <xi, x> = gamma, at offsets gamma of even `spacing`; by the slice theorem F_1[slice] is F_D[f] along xi. Past both ends it
    has to be about 0. `power` is raised to D - 1: |t| is right, and t itself is what S3 prints. The real part is returned, and
    for |t| there is no other.
    """
    (slices,) = tensors(slices)
    if slices.shape[-1] < 2 or not spacing > 0:
        raise ValueError(f"a slice has at least two offsets, a positive distance apart; got {slices.shape[-1]} and {spacing}")
    t = 2 * math.pi * torch.fft.fftfreq(slices.shape[-1], spacing, dtype=slices.dtype, device=slices.device)
    multiplier = power(t) ** (dimension - 1) * activation.inverse(t) / (2 * (2 * math.pi) ** (dimension - 1))
    return torch.fft.ifft(multiplier * torch.fft.fft(slices)).real


def superpose(x, normals, weights, offsets, coefficients, activation: Activation = RELU) -> Tensor:
    """The network that carries these coefficients, `(n,)`: the dual Radon transform of their convolution with the activation.

    Normals `(M, D)` with their weights `(M,)`, evenly spaced offsets `(K,)`, coefficients `(M, K)` or `(K,)` for all directions;
    M times K neurons at the points `x` `(n, D)`. (S3-thm-multi-1-radon)
    """
    x, normals, weights, offsets, coefficients = tensors(x, normals, weights, offsets, coefficients)
    if x.ndim != 2 or x.shape[-1] != normals.shape[-1]:
        raise ValueError(f"points are (n, {normals.shape[-1]}), as many numbers as a normal has; got {tuple(x.shape)}")
    spacing, carried = offsets[1] - offsets[0], coefficients.expand(len(normals), -1)
    total = x.new_zeros(len(x))
    for normal, weight, c in zip(normals, weights, carried):
        total += weight * spacing * ridges(x, normal[None], offsets, activation) @ c
    return total


def ridges(x, normals, offsets, activation: Activation = RELU) -> Tensor:
    """What each neuron of a grid draws, phi(<xi, x> - gamma): `(n, M K)` for normals `(M, D)` and offsets `(K,)`."""
    x, normals, offsets = tensors(x, normals, offsets)
    return activation((x @ normals.mT).unsqueeze(-1) - offsets).flatten(-2)


# ---- what wide networks draw through data -------------------------------------------------------------------------------


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

    Points `x` `(n, D)` and their values `(n,)`. For D = 1 and ReLU this is the natural cubic spline. (S3-fig-2d-gap)
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
    """All monomials of degree below lambda - 1/2 at the points `(n, D)`: `(n, how many)`."""
    (x,) = tensors(x)
    most = math.ceil(lam - 0.5) - 1
    columns = [
        x[:, list(of)].prod(-1) for degree in range(most + 1) for of in combinations_with_replacement(range(x.shape[1]), degree)
    ]
    return torch.stack(columns, -1)


def descend(features, y, free, steps: int = 5000) -> tuple[Tensor, Tensor]:
    """Outer weights `(H,)` by gradient descent with momentum from 0, while a free part `(n, k)` stays at its best, `(k,)`.

    Features are `(n, H)`. Rate and momentum are the best ones for these features (Polyak); more neurons than points are needed.
    """
    features, y, free = tensors(features, y, free)
    basis = torch.linalg.qr(free)[0]
    seen, rest = features - basis @ (basis.mT @ features), y - basis @ (basis.mT @ y)
    sizes = torch.linalg.svdvals(seen)
    low, high = sizes[sizes > 1e-9 * sizes[0]][-1], sizes[0]  # directions that no neuron sees apart play no part
    rate, momentum = 4 / (low + high) ** 2, ((high - low) / (high + low)) ** 2
    mu = velocity = features.new_zeros(features.shape[1])
    for _ in range(steps):
        velocity = momentum * velocity + rate * ((rest - seen @ mu) @ seen)
        mu = mu + velocity
    return mu, torch.linalg.lstsq(free, (y - features @ mu).unsqueeze(-1)).solution.squeeze(-1)
