"""Functions as integrals over all creases, by the dual Radon transform, for the chapter on several inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Activation:
    """An activation and one over its Fourier transform, both functions of a tensor; F[g](t) is the integral of g(z) exp(-itz)."""

    name: str
    value: Callable[[Tensor], Tensor]
    inverse: Callable[[Tensor], Tensor]

    def __call__(self, z) -> Tensor:
        return self.value(_doubles(z)[0])


def _doubles(*values) -> list[Tensor]:
    return [torch.as_tensor(v, dtype=torch.float64) for v in values]


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
    (slices,) = _doubles(slices)
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
    x, normals, weights, offsets, coefficients = _doubles(x, normals, weights, offsets, coefficients)
    if x.ndim != 2 or x.shape[-1] != normals.shape[-1]:
        raise ValueError(f"points are (n, {normals.shape[-1]}), as many numbers as a normal has; got {tuple(x.shape)}")
    spacing, carried = offsets[1] - offsets[0], coefficients.expand(len(normals), -1)
    total = x.new_zeros(len(x))
    for normal, weight, c in zip(normals, weights, carried):
        total += weight * spacing * ridges(x, normal[None], offsets, activation) @ c
    return total


def ridges(x, normals, offsets, activation: Activation = RELU) -> Tensor:
    """What each neuron of a grid draws, phi(<xi, x> - gamma): `(n, M K)` for normals `(M, D)` and offsets `(K,)`."""
    x, normals, offsets = _doubles(x, normals, offsets)
    return activation((x @ normals.mT).unsqueeze(-1) - offsets).flatten(-2)


def descend(features, y, free, steps: int = 5000) -> tuple[Tensor, Tensor]:
    """Outer weights `(H,)` by gradient descent with momentum from 0, while a free part `(n, k)` stays at its best, `(k,)`.

    Features are `(n, H)`. Rate and momentum are the best ones for these features (Polyak); more neurons than points are needed.
    """
    features, y, free = _doubles(features, y, free)
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
