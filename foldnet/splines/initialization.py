"""Random 1-H-1 networks: how breakpoints and delta-slopes are spread, in closed form, and how to spread them better.

Densities are functions of numbers and numpy arrays, as those of scipy.stats, beside which they are used.

>>> import numpy as np
>>> from foldnet.splines import initialization as init
>>> nets = init.gaussian(1, sigma_w=2.0, sigma_b=1.0, sigma_v=1.0, batch=100_000, seed=0)
>>> beta = -nets.biases[0] / nets.weights[0][..., 0]
>>> round(float((beta.abs() < 0.5).double().mean()), 2)  # half of them, by Cauchy's law
0.5
"""

from __future__ import annotations

import numpy as np

from ..nets import ReLUNet
from .breakpoints import shallow, unshallow
from .points import tensors


def gaussian(width: int, sigma_w: float, sigma_b: float, sigma_v: float, batch=(), seed: int = 0) -> ReLUNet:
    """1-H-1 networks with independent normal w, b, v of these standard deviations and no output bias."""
    if width < 1 or min(sigma_w, sigma_b, sigma_v) < 0:
        raise ValueError(
            f"a width of at least 1 and standard deviations of at least 0 are needed; got {width}, {(sigma_w, sigma_b, sigma_v)}"
        )
    batch = (batch,) if isinstance(batch, int) else tuple(batch)
    rng = np.random.default_rng(seed)
    w, b, v = tensors(*(sigma * rng.normal(size=(*batch, width)) for sigma in (sigma_w, sigma_b, sigma_v)))
    return unshallow(w, b, v, w.new_zeros(batch))


def uniform_breakpoints(net: ReLUNet, low: float, high: float, seed: int = 0) -> ReLUNet:
    """The same w and v, with biases b = -w * beta for breakpoints beta uniform on [low, high]. (S3-alg-uniform-init)"""
    if not low < high:
        raise ValueError(f"breakpoints need a range with low < high; got [{low}, {high}]")
    w, _, v, offset = shallow(net)
    (beta,) = tensors(np.random.default_rng(seed).uniform(low, high, tuple(w.shape)), like=net)
    return unshallow(w, -w * beta, v, offset)


def joint_density(beta, mu, sigma_w: float, sigma_b: float, sigma_v: float) -> np.ndarray:
    """The density of (breakpoint, delta-slope) of one neuron. (S3-thm-1-joint)"""
    spread = np.hypot(sigma_b, sigma_w * np.asarray(beta))
    return np.exp(-np.abs(mu) * spread / (sigma_b * sigma_v * sigma_w)) / (2 * np.pi * sigma_v * spread)


def laplace_scale(beta, sigma_w: float, sigma_b: float, sigma_v: float) -> np.ndarray:
    """Given its breakpoint, a neuron's delta-slope is Laplace with mean 0 and this scale. (S3-thm-1-laplace)"""
    return sigma_b * sigma_v * sigma_w / np.hypot(sigma_b, sigma_w * np.asarray(beta))


def cell_probabilities(beta_edges, mu_edges, sigma_w: float, sigma_b: float, sigma_v: float) -> np.ndarray:
    """How likely (breakpoint, delta-slope) is in each cell of a grid: Gauss rule in beta, exact in mu. (S3-fig-joint-density)"""
    beta_edges = np.asarray(beta_edges, dtype=float)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half, middle = np.diff(beta_edges) / 2, (beta_edges[1:] + beta_edges[:-1]) / 2
    beta = middle[:, None] + half[:, None] * nodes
    t = np.asarray(mu_edges) / laplace_scale(beta, sigma_w, sigma_b, sigma_v)[..., None]
    below = np.where(t < 0, np.exp(np.minimum(t, 0)) / 2, 1 - np.exp(-np.maximum(t, 0)) / 2)
    return np.einsum("i,k,ik,ikm->im", half, weights, breakpoint_density(beta, sigma_w, sigma_b), np.diff(below))


def he(width: int) -> tuple[float, float]:
    """(sigma_w, sigma_v) of He's start for a 1-H-1 network: variances 2 and 2/H."""
    return 2**0.5, (2 / width) ** 0.5


def glorot(width: int) -> tuple[float, float]:
    """(sigma_w, sigma_v) of Glorot's start for a 1-H-1 network: variances 2/(H + 1)."""
    return (2 / (width + 1)) ** 0.5, (2 / (width + 1)) ** 0.5


def delta_slope_density(mu, sigma_w: float, sigma_v: float) -> np.ndarray:
    """The density of a neuron's delta-slope: K_0(|mu| / (sigma_v sigma_w)) / (pi sigma_v sigma_w). (S3-thm-1-bessel)"""
    from scipy.special import k0

    return k0(np.abs(mu) / (sigma_v * sigma_w)) / (np.pi * sigma_v * sigma_w)


def delta_slope_cdf(mu, sigma_w: float, sigma_v: float) -> np.ndarray:
    """The distribution function of a neuron's delta-slope, by the closed form of the integral of K_0."""
    from scipy.special import iti0k0

    t = np.asarray(mu, dtype=float) / (sigma_v * sigma_w)
    return 0.5 + np.sign(t) * iti0k0(np.abs(t))[1] / np.pi


def breakpoint_density(beta, sigma_w: float, sigma_b: float) -> np.ndarray:
    """The density of a neuron's breakpoint: Cauchy with scale sigma_b / sigma_w. (S3-thm-cauchy)"""
    return sigma_b * sigma_w / (np.pi * (sigma_w**2 * np.square(beta) + sigma_b**2))
