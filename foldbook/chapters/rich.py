"""How bends are spread over a line, for the chapter on the rich regime."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from foldnet.nets import ReLUNet
from foldnet.splines.breakpoints import spline, unshallow
from foldnet.splines.initialization import breakpoint_grid
from foldnet.train import Fit, fit

ARROW = {"arrowstyle": "->", "lw": 1.2, "color": "#555555"}


def train(x: Tensor, y: Tensor, alphas, width: int, epochs: int, every: int | None = None) -> Fit:
    """Networks `(data set, alpha)` from even bends of slope `alpha` and no output, by gradient descent on data `(sets, points)`.

    Two neurons, one facing each way, stand at each of `width / 2` places of [-1.5, 1.5]. `every` records the breakpoints.
    """
    beta, side = breakpoint_grid(width, 1.5, facing="both")
    alpha = torch.as_tensor(alphas, dtype=torch.float64)[:, None].expand(len(x), -1, 1)
    w, b = alpha * side, -alpha * side * beta
    begin = unshallow(w, b, 0 * w, torch.zeros(len(x), len(alphas), dtype=torch.float64))
    rates = 1 / (20 + 2.2 * width * np.square(alphas))  # large weights, short steps
    keep = {} if every is None else {"record": lambda net: spline(net).breakpoints, "every": every}
    how: dict[str, Any] = {"loss": "half_sum", "optimizer": "gd", "progress": False, **keep}
    return fit(begin, x[:, None, :, None], y[:, None, :, None], lr=rates, epochs=epochs, **how)


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
