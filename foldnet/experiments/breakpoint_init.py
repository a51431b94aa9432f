"""Standard against uniform breakpoints: gradient descent on a sine and a quadratic, 200 networks a case.

The runs behind Table 1 of the lecture (S3-tab-1-init) and its slide "Breaking Bad" (S3-fig-breaking-bad).
"""

from __future__ import annotations

import numpy as np
import torch

from ..nets import ReLUNet
from ..splines.initialization import uniform_breakpoints
from ..train import Fit, fit

TARGETS = {"sine": (lambda x: torch.sin(2 * x), np.pi), "quadratic": (lambda x: x**2 / 2, 2.0)}
DATA_POINTS, STEPS, RATE, NETWORKS = 40, 50_000, 3e-5, 100


def cells() -> list[dict]:
    return [
        {"target": target, "start": start, "width": width, "block": block}
        for width in (20, 40, 80)
        for block in range(2)
        for target in TARGETS
        for start in ("standard", "uniform")
    ]


def cell(target: str, start: str, width: int, block: int) -> dict:
    """Test losses of 100 networks after training, smallest digits dropped."""
    nets = initial(target, start, width, block)
    return {"test_loss": [float(f"{v:.5g}") for v in test_loss(train(nets, target).net, target).tolist()]}


def initial(target: str, start: str, width: int, block: int) -> ReLUNet:
    """100 networks from torch's default start, or the same with breakpoints uniform over the data."""
    nets = ReLUNet.random((1, width, 1), batch=NETWORKS, init="torch", seed=1000 * width + block)
    if start == "standard":
        return nets
    reach = TARGETS[target][1]
    return uniform_breakpoints(nets, -reach, reach, seed=1000 * width + block + 500)


def train(nets: ReLUNet, target: str, steps: int = STEPS, **options) -> Fit:
    """Gradient descent on half the sum of squared errors at 40 evenly spaced points, at the lecture's rate."""
    f, reach = TARGETS[target]
    x = torch.linspace(-reach, reach, DATA_POINTS, dtype=torch.float64)[:, None]
    return fit(nets, x, f(x), loss="mse", optimizer="gd", lr=RATE * DATA_POINTS / 2, epochs=steps, **options)


def test_loss(nets: ReLUNet, target: str) -> torch.Tensor:
    """The mean squared error over 401 points times 40: comparable with a sum over the data."""
    f, reach = TARGETS[target]
    x = torch.linspace(-reach, reach, 401, dtype=torch.float64)[:, None]
    return DATA_POINTS * (nets(x) - f(x)).square().mean((-1, -2))
