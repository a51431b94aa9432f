"""Kernel and rich regime: what the scale of the initial weights does to breakpoints, delta-slopes and the fitted function.

>>> from foldnet.splines.rich import participation
>>> import torch
>>> float(participation(torch.tensor([1.0, 1.0, 0.0, 0.0])))
2.0
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..nets import ReLUNet
from .breakpoints import spline, unshallow
from .points import tensors
from .smoothing import grid


def start(width: int, reach: float, alpha, seed: int = 0) -> ReLUNet:
    """A 1-H-1 network that computes 0, with breakpoints evenly spaced on [-reach, reach]; `alpha` scales all its weights.

    Four neurons at every place, two facing each way, with opposite v. w = ±alpha and v is uniform on ±alpha / sqrt(H), so that
    alpha changes neither the breakpoints nor the function. A list of alphas gives a batch. (splines/rich)
    """
    alpha, v = tensors(alpha, np.random.default_rng(seed).uniform(-1, 1, width // 2) / width**0.5)
    if width % 4 or not (alpha > 0).all():
        raise ValueError(f"four neurons stand at every place, and alpha is positive; got a width of {width} and alpha {alpha}")
    beta, s = (a.to(alpha).tile(2) for a in grid(width // 2, reach, facing="both"))
    w, b, v = (alpha.unsqueeze(-1) * a for a in (s, -s * beta, torch.cat([v, -v])))
    return unshallow(w, b, v, torch.zeros_like(alpha))


def bends(net: ReLUNet, edges) -> Tensor:
    """`(*batch, cells)`: by how much the slope changes between neighbouring `edges`, in order; the left one does not belong."""
    f, (edges,) = spline(net), tensors(edges, like=net)
    cell = torch.bucketize(f.breakpoints.contiguous(), edges) - 1
    inside = (cell >= 0) & (cell < len(edges) - 1)
    total = torch.zeros(*net.batch_shape, len(edges) - 1, dtype=net.dtype, device=net.device)
    return total.scatter_add(-1, cell.where(inside, 0), f.delta_slopes.where(inside, 0.0))


def participation(amounts: Tensor) -> Tensor:
    """On how many cells an amount is spread: (sum |c|)^2 / sum c^2, between 1 and the number of cells. (S3-fig-rich)"""
    amounts = amounts.abs()
    return amounts.sum(-1).square() / amounts.square().sum(-1)


def distance_to_data(net: ReLUNet, x) -> Tensor:
    """`(*batch, H)`: from each breakpoint to the nearest data point of `x`, `(n,)` or `(*batch, n)`. (S3-find-rich-attractors)"""
    (x,) = tensors(x, like=net)
    return (spline(net).breakpoints.unsqueeze(-1) - x.unsqueeze(-2)).abs().amin(-1)
