"""Kernel and rich regime: what the scale of the initial weights does to breakpoints, delta-slopes and the fitted function."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..nets import ReLUNet
from .breakpoints import shallow, spline
from .smoothing import grid


def start(width: int, reach: float, alpha, seed: int = 0) -> ReLUNet:
    """A 1-H-1 network that computes 0, with breakpoints evenly spaced on [-reach, reach]; `alpha` scales all its weights.

    Four neurons at every place, two facing each way, with opposite v. w = ±alpha and v is uniform on ±alpha / sqrt(H), so that
    alpha changes neither the breakpoints nor the function. A list of alphas gives a batch. (splines/rich)
    """
    alpha = np.asarray(alpha, dtype=float)
    if width % 4 or not (alpha > 0).all():
        raise ValueError(f"four neurons stand at every place, and alpha is positive; got a width of {width} and alpha {alpha}")
    beta, s = (np.tile(a, 2) for a in grid(width // 2, reach, facing="both"))
    v = np.random.default_rng(seed).uniform(-1, 1, width // 2) / np.sqrt(width)
    w, b, v = (alpha[..., None] * a for a in (s, -s * beta, np.r_[v, -v]))
    return ReLUNet([w[..., None], v[..., None, :]], [b, np.zeros((*alpha.shape, 1))])


def speeds(net: ReLUNet, x, y) -> tuple[Tensor, Tensor]:
    """How fast breakpoints and delta-slopes move, `(*batch, H)` each, under gradient flow on half the summed squared error.

    With residuals e = y - f and a_i = [w_i x + b_i > 0]: dbeta_i = -(v_i/w_i) (<e a_i, 1> + beta_i <e a_i, x>) and
    dmu_i = s_i ((v_i^2 + w_i^2) <e a_i, x> + w_i b_i <e a_i, 1>). (S3-fig-9-alpha)
    """
    w, b, v, _ = shallow(net)
    x, y = (torch.as_tensor(a, dtype=net.dtype).reshape(-1, 1) for a in (x, y))
    z = w.unsqueeze(-2) * x + b.unsqueeze(-2)
    if (z == 0).any():
        raise ValueError("a breakpoint stands on a data point, where the speed is not defined: move one of them a little")
    if (w == 0).any():
        raise ValueError("a neuron with w = 0 has no breakpoint, so none that moves")
    pull = (y - net(x)) * (z > 0)
    first, second = pull.sum(-2), (pull * x).sum(-2)
    return -(v / w) * (first - b / w * second), torch.sign(w) * ((v**2 + w**2) * second + w * b * first)


def bends(net: ReLUNet, edges) -> Tensor:
    """`(*batch, cells)`: by how much the slope changes in each cell between neighbouring `edges`, all neurons there together."""
    f, edges = spline(net), torch.as_tensor(edges, dtype=net.dtype, device=net.device)
    cell = torch.bucketize(f.breakpoints.contiguous(), edges) - 1
    inside = (cell >= 0) & (cell < len(edges) - 1)
    total = torch.zeros(*net.batch_shape, len(edges) - 1, dtype=net.dtype, device=net.device)
    return total.scatter_add(-1, cell.where(inside, 0), f.delta_slopes.where(inside, 0.0))


def participation(amounts: Tensor) -> Tensor:
    """On how many cells an amount is spread: (sum |c|)^2 / sum c^2, between 1 and the number of cells. (S3-fig-rich)"""
    amounts = amounts.abs()
    return amounts.sum(-1).square() / amounts.square().sum(-1)


def distance_to_data(net: ReLUNet, x) -> Tensor:
    """`(*batch, H)`: from each breakpoint to the nearest data point. (S3-find-rich-attractors)"""
    x = torch.as_tensor(x, dtype=net.dtype, device=net.device).flatten()
    return (spline(net).breakpoints.unsqueeze(-1) - x).abs().amin(-1)
