"""How bends are spread over a line, for the chapter on the rich regime."""

from __future__ import annotations

import torch
from torch import Tensor

from foldnet.nets import ReLUNet
from foldnet.splines.breakpoints import spline


def slope_changes(net: ReLUNet, edges) -> Tensor:
    """`(*batch, cells)`: by how much the slope changes between neighbouring `edges`, in order; the left one does not belong."""
    f, edges = spline(net), torch.as_tensor(edges, dtype=net.dtype, device=net.device)
    cell = torch.bucketize(f.breakpoints.contiguous(), edges) - 1
    inside = (cell >= 0) & (cell < len(edges) - 1)
    total = torch.zeros(*net.batch_shape, len(edges) - 1, dtype=net.dtype, device=net.device)
    return total.scatter_add(-1, cell.where(inside, 0), f.delta_slopes.where(inside, 0.0))


def participation_ratio(amounts: Tensor) -> Tensor:
    """On how many cells an amount is spread: (sum |c|)^2 / sum c^2, between 1 and the number of cells. (S3-fig-rich)"""
    amounts = amounts.abs()
    return amounts.sum(-1).square() / amounts.square().sum(-1)
