"""How smooth is the fit? Gradient descent on two lines, a smooth and a sharp target, for eight widths and three starts.

The runs behind the lecture's pictures of width (S3-fig-ir-two-lines, S3-fig-ir-smooth, S3-fig-ir-sharp) and of final smoothness
against initial smoothness and width (S3-fig-smoothness-quant).

>>> from experiments import width_smoothness
>>> len(width_smoothness.cells())
24
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from foldnet.nets import ReLUNet, stack
from foldnet.splines.breakpoints import roughness, spline
from foldnet.train import Fit, fit

from . import _targets
from .runner import device, short

WIDTHS = (20, 40, 60, 80, 160, 200, 320, 640)
LOUDNESS = (1.0, 3.0, 10.0)
REACH, EPOCHS, LR, NETWORKS, EARLY = 2.0, 50_000, 3e-5, 32, 2500
SPREAD = torch.linspace(-REACH, REACH, 40, dtype=torch.float64)
TARGETS = {
    "two lines": (torch.cat([torch.linspace(-2, -0.5, 20), torch.linspace(0.5, 2, 20)]).double(), lambda x: x.abs() - 1),
    "smooth": (SPREAD, _targets.sine),
    "sharp": (SPREAD, lambda x: (4 * x).clamp(-1, 1)),
}
WINDOW = {"two lines": 0.5, "smooth": REACH, "sharp": REACH}  # where the bends are looked at: in the gap, or over all data


def cells() -> list[dict]:
    return [{"target": target, "width": width} for target in TARGETS for width in WIDTHS]


def initial(width: int, networks: int = NETWORKS) -> ReLUNet:
    """A batch (loudness, network): torch's default start, with its output weights times 1, 3 and 10."""
    nets = ReLUNet.random((1, width, 1), batch=networks, init="torch", seed=width)
    return stack([ReLUNet([nets.weights[0], k * nets.weights[1]], nets.biases) for k in LOUDNESS])


def train(nets: ReLUNet, target: str, epochs: int = EPOCHS) -> Fit:
    """Gradient descent on half the sum of squared errors at 40 points, at the lecture's rate; `measures` every 2,500 epochs."""
    x, f = TARGETS[target]
    record = lambda net: measures(net, WINDOW[target])  # noqa: E731
    x = x.to(nets.device)[:, None]
    settings: dict[str, Any] = {
        "loss": "half_sum",
        "optimizer": "gd",
        "lr": LR,
        "epochs": epochs,
        "every": EARLY,
        "progress": False,
    }
    return fit(nets, x, f(x), record=record, **settings)


def measures(nets: ReLUNet, window: float) -> dict[str, torch.Tensor]:
    """`(*batch,)` each: the roughness, and the largest jump of the slope and the sum of all jumps within the window."""
    f = spline(nets)
    jumps = f.delta_slopes.abs().where(f.breakpoints.abs() < window, 0.0)
    return {"roughness": roughness(nets), "largest_jump": jumps.amax(-1), "total_bend": jumps.sum(-1)}


def cell(target: str, width: int) -> dict:
    """What was measured at the start, early and at the end, for each loudness; curves of the first network; the mean squares."""
    result = train(initial(width).to(device()), target)
    out = {}
    for name, values in result.recorded.items():
        out[name] = {when: short(values[k], 4) for when, k in (("start", 0), ("early", 1), ("end", -1))}
    points = torch.linspace(-REACH, REACH, 161, dtype=torch.float64)[:, None]
    out["curves"] = np.round(result.net[:, 0].to("cpu")(points)[..., 0].numpy(), 4).tolist()
    out["loss"] = short(result.final_loss * 2 / len(SPREAD), 4)
    return out
