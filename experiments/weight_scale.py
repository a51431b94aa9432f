"""From the kernel to the rich regime: networks of 1,000 neurons, trained from initial weights of eight scales alpha.

The runs behind the lecture's pictures for alpha = 100, 1 and 0.1 (S3-fig-kernel-vs-spline, S3-fig-rich, S3-find-rich-attractors).

>>> from experiments import weight_scale
>>> len(weight_scale.cells())
3
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from foldbook.chapters.rich import participation_ratio, slope_changes
from foldnet.nets import ReLUNet, stack
from foldnet.splines.breakpoints import spline
from foldnet.splines.initialization import zero_start
from foldnet.splines.smoothing import limit
from foldnet.train import Fit, fit

from .runner import device, short

ALPHAS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
WIDTH, REACH = 1000, 1.5
EDGES = np.linspace(-1, 1, 101)
POINTS = np.linspace(-1, 1, 161)


def cells() -> list[dict]:
    return [{"optimizer": name, "epochs": epochs} for name, epochs in (("adam", 1000), ("adam", 50_000), ("gd", 400_000))]


def data() -> tuple[np.ndarray, np.ndarray]:
    """Eight data sets of five points, `(8, 5)`: the first by hand, the others random, with places not too close."""
    x, y = [np.array([-0.9, -0.5, 0.1, 0.4, 0.8])], [np.array([0.3, -0.6, 0.5, 0.9, -0.2])]
    rng = np.random.default_rng(1)
    while len(x) < 8:
        places = np.sort(rng.uniform(-0.95, 0.95, 5)).round(2)
        if np.diff(places).min() > 0.2 and places[-1] - places[0] > 1.3:
            x.append(places)
            y.append((0.5 * rng.normal(size=5)).round(2))
    return np.array(x), np.array(y)


def train(optimizer: str, epochs: int, alphas=ALPHAS, sets: int = 8) -> tuple[ReLUNet, Fit]:
    """The networks `(data set, alpha)` at the start, and their training, both on the CPU.

    Adam takes the rate 1e-3, less where larger weights make each step count more; gradient descent the inverse of its stiffness.
    """
    x, y = (values[:sets] for values in data())
    alphas = np.array(alphas)
    nets = stack([zero_start(WIDTH, REACH, alphas, seed=k) for k in range(sets)]).to(device())
    large = np.maximum(1, alphas)
    lr = 1e-3 / large if optimizer == "adam" else 1e-3 / large**2
    before = spline(nets).breakpoints
    places = torch.as_tensor(x, device=nets.device)[:, None]
    among = (before > places[..., :1]) & (before < places[..., -1:])

    def record(net):
        now = spline(net).breakpoints
        middle = lambda v: v.where(among, torch.nan).nanmedian(-1).values  # noqa: E731
        return {"near": middle(distance_to_data(net, places)), "moved": middle((now - before).abs())}

    settings: dict[str, Any] = {
        "optimizer": optimizer,
        "lr": lr,
        "epochs": epochs,
        "every": max(1, epochs // 20),
        "progress": False,
    }
    result = fit(nets, places[..., None], torch.as_tensor(y)[:, None, :, None], record=record, **settings)
    return nets.to("cpu"), replace(result, net=result.net.to("cpu"))


def cell(optimizer: str, epochs: int) -> dict:
    """`(data set, alpha)`: loss, distance to the predicted spline, spread of bends, moves; curves of the first."""
    _, result = train(optimizer, epochs)
    net = result.net
    out = {
        "loss": short(result.final_loss, 3),
        "off": short(off(net), 4),
        "spread": short(participation_ratio(slope_changes(net, EDGES)), 4),
        "near": short(result.recorded["near"].movedim(0, -1), 4),
        "moved": short(result.recorded["moved"].movedim(0, -1), 4),
        "curves": short(net[0](POINTS[:, None])[..., 0], 5),
        "bends": short(slope_changes(net[0], EDGES), 4),
    }
    if optimizer == "adam" and epochs > 1000:
        found = {f"{alpha:g}": spline(net[0, ALPHAS.index(alpha)]) for alpha in (100.0, 1.0, 0.1)}
        out["breakpoints"] = {alpha: short(f.breakpoints, 4) for alpha, f in found.items()}
        out["delta_slopes"] = {alpha: short(f.delta_slopes, 4) for alpha, f in found.items()}
    return out


def off(nets: ReLUNet) -> torch.Tensor:
    """`(data set, alpha)`: the largest distance to the predicted spline between the outer data, over the range of y."""
    gaps = []
    for net, x, y in zip((nets[k] for k in range(nets.batch_shape[0])), *data()):
        t = np.linspace(x[0], x[-1], 401)
        gaps.append((net(t[:, None])[..., 0] - limit(x, y, REACH, "both")(t)).abs().amax(-1) / np.ptp(y))
    return torch.stack(gaps)


def distance_to_data(net: ReLUNet, x: torch.Tensor) -> torch.Tensor:
    """`(*batch, H)`: from each breakpoint to the nearest data point of `x`, `(n,)` or `(*batch, n)`. (S3-find-rich-attractors)"""
    return (spline(net).breakpoints.unsqueeze(-1) - x.unsqueeze(-2)).abs().amin(-1)
