"""Densities of one random neuron, for the checks of the chapter on breakpoints."""

from __future__ import annotations

import numpy as np

from foldnet.splines.initialization import breakpoint_density


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


def delta_slope_cdf(mu, sigma_w: float, sigma_v: float) -> np.ndarray:
    """The distribution function of a neuron's delta-slope, by the closed form of the integral of K_0."""
    from scipy.special import iti0k0

    t = np.asarray(mu, dtype=float) / (sigma_v * sigma_w)
    return 0.5 + np.sign(t) * iti0k0(np.abs(t))[1] / np.pi
