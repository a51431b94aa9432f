"""Standard against uniform breakpoints: gradient descent on a sine and a quadratic, 200 networks a case.

The runs behind Table 1 of the lecture (S3-tab-1-init) and its slide "Breaking Bad" (S3-fig-breaking-bad).
"""

from __future__ import annotations

import numpy as np
import torch

from ..nets import ReLUNet, stack
from ..splines.initialization import uniform_breakpoints
from ..train import fit
from .runner import device

TARGETS = {"sine": (lambda x: torch.sin(2 * x), np.pi), "quadratic": (lambda x: x**2 / 2, 2.0)}
STARTS = ("standard", "uniform")
DATA_POINTS, STEPS, RATE, NETWORKS = 40, 50_000, 3e-5, 50


def cells() -> list[dict]:
    return [{"width": width, "block": block} for width in (20, 40, 80) for block in range(4)]


def cell(width: int, block: int) -> dict:
    """`loss[target][start]`: test losses of 50 networks after training, smallest digits dropped."""
    losses = test_loss(train(initial(width, block).to(device())))
    tidy = lambda values: [float(f"{v:.5g}") for v in values.tolist()]  # noqa: E731
    return {"loss": {t: {s: tidy(losses[i, j]) for j, s in enumerate(STARTS)} for i, t in enumerate(TARGETS)}}


def initial(width: int, block: int) -> ReLUNet:
    """A batch (target, start, network): torch's default start, and the same with breakpoints uniform over the data."""
    nets = ReLUNet.random((1, width, 1), batch=NETWORKS, init="torch", seed=1000 * width + block)
    spread = [uniform_breakpoints(nets, -reach, reach, seed=1000 * width + block + 500) for _, reach in TARGETS.values()]
    return stack([stack([nets, uniform]) for uniform in spread])


def train(nets: ReLUNet, steps: int = STEPS) -> ReLUNet:
    """Gradient descent on half the sum of squared errors at 40 evenly spaced points, at the lecture's rate."""
    x, y = _points(DATA_POINTS, nets.device)
    return fit(nets, x, y, loss="mse", optimizer="gd", lr=RATE * DATA_POINTS / 2, epochs=steps, progress=False).net


def test_loss(nets: ReLUNet) -> torch.Tensor:
    """`(target, start, network)`: the mean squared error over 401 points times 40, comparable with a sum over the data."""
    x, y = _points(401, nets.device)
    return DATA_POINTS * (nets(x) - y).square().mean((-1, -2))


def _points(n: int, device) -> tuple[torch.Tensor, torch.Tensor]:
    """Evenly spaced points and values for each target, `(target, 1, 1, n, 1)`."""
    x = torch.stack([torch.linspace(-reach, reach, n, dtype=torch.float64) for _, reach in TARGETS.values()]).to(device)
    y = torch.stack([f(row) for (f, _), row in zip(TARGETS.values(), x)])
    return x[:, None, None, :, None], y[:, None, None, :, None]
