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
import torch
from torch import Tensor

from ..nets import ReLUNet
from ._points import tensors
from .breakpoints import shallow, unshallow


def gaussian(width: int, sigma_w: float, sigma_b: float, sigma_v: float, batch=(), seed: int = 0) -> ReLUNet:
    """1-H-1 networks with independent normal weights and no output bias.

    width: H, the number of hidden neurons.
    sigma_w, sigma_b, sigma_v: standard deviations of input weights, biases and output weights.
    batch: how many networks, a number or a shape.
    """
    if width < 1 or min(sigma_w, sigma_b, sigma_v) < 0:
        raise ValueError(
            f"a width of at least 1 and standard deviations of at least 0 are needed; got {width}, {(sigma_w, sigma_b, sigma_v)}"
        )
    batch = (batch,) if isinstance(batch, int) else tuple(batch)
    rng = np.random.default_rng(seed)
    w, b, v = tensors(*(sigma * rng.normal(size=(*batch, width)) for sigma in (sigma_w, sigma_b, sigma_v)))
    return unshallow(w, b, v, w.new_zeros(batch))


def uniform_breakpoints(net: ReLUNet, low: float, high: float, seed: int = 0) -> ReLUNet:
    """The same w and v, with biases b = -w * beta for breakpoints beta uniform on [low, high]. (S3-alg-uniform-init)

    net: one 1-H-1 network or a batch.
    low, high: the interval of the breakpoints.
    """
    if not low < high:
        raise ValueError(f"breakpoints need a range with low < high; got [{low}, {high}]")
    w, _, v, offset = shallow(net)
    (beta,) = tensors(np.random.default_rng(seed).uniform(low, high, tuple(w.shape)), like=net)
    return unshallow(w, -w * beta, v, offset)


def joint_density(beta, mu, sigma_w: float, sigma_b: float, sigma_v: float) -> np.ndarray:
    """The density of (breakpoint, delta-slope) of one neuron. (S3-thm-1-joint)

    beta, mu: breakpoints and delta-slopes at which it is taken.
    sigma_w, sigma_b, sigma_v: standard deviations of input weights, biases and output weights.
    """
    spread = np.hypot(sigma_b, sigma_w * np.asarray(beta))
    return np.exp(-np.abs(mu) * spread / (sigma_b * sigma_v * sigma_w)) / (2 * np.pi * sigma_v * spread)


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


def breakpoint_density(beta, sigma_w: float, sigma_b: float) -> np.ndarray:
    """The density of a neuron's breakpoint: Cauchy with scale sigma_b / sigma_w. (S3-thm-cauchy)"""
    return sigma_b * sigma_w / (np.pi * (sigma_w**2 * np.square(beta) + sigma_b**2))


def breakpoint_grid(
    width: int, reach: float, kind: str = "middles", facing: str = "right", seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Breakpoints and orientations of neurons on [-reach, reach], `(width,)` each.

    kind: "middles" of equal cells, "ends" (evenly spaced, both ends included) or "random" (uniform).
    facing: the side on which neurons are active: "right", "left", or "both", with two neurons at each place.
    """
    if facing not in ("right", "left", "both") or kind not in ("middles", "ends", "random"):
        raise ValueError(f"neurons face right, left or both, at middles, ends or random places; got {facing!r} and {kind!r}")
    places = width // 2 if facing == "both" else width
    if places < 2 or places * (2 if facing == "both" else 1) != width or not reach > 0:
        raise ValueError(
            f"a grid needs at least 2 places, an even width for two orientations and reach > 0; got {width}, {reach}"
        )
    if kind == "middles":
        beta = reach * ((2 * torch.arange(places, dtype=torch.float64) + 1) / places - 1)
    elif kind == "ends":
        beta = torch.linspace(-reach, reach, places, dtype=torch.float64)
    else:
        beta = torch.as_tensor(np.random.default_rng(seed).uniform(-reach, reach, places)).sort().values
    one = torch.ones_like(beta)
    return {"right": (beta, one), "left": (beta, -one), "both": (beta.tile(2), torch.cat([one, -one]))}[facing]


def zero_start(width: int, reach: float, alpha, seed: int = 0) -> ReLUNet:
    """A 1-H-1 network that computes 0, with evenly spaced breakpoints. (splines/rich)

    Four neurons at every place, two facing each way, with opposite v. w = ±alpha and v is uniform on ±alpha / sqrt(H), so that
    alpha changes neither the breakpoints nor the function.

    width: H, a multiple of 4.
    reach: the breakpoints lie on [-reach, reach].
    alpha: the scale of all weights; a list of them gives a batch.
    """
    alpha, v = tensors(alpha, np.random.default_rng(seed).uniform(-1, 1, width // 2) / width**0.5)
    if width % 4 or not (alpha > 0).all():
        raise ValueError(f"four neurons stand at every place, and alpha is positive; got a width of {width} and alpha {alpha}")
    beta, s = (a.to(alpha).tile(2) for a in breakpoint_grid(width // 2, reach, facing="both"))
    w, b, v = (alpha.unsqueeze(-1) * a for a in (s, -s * beta, torch.cat([v, -v])))
    return unshallow(w, b, v, torch.zeros_like(alpha))
