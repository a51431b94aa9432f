"""Standard against uniform breakpoints: gradient descent on a sine and a quadratic, 200 networks a case.

The runs behind Table 1 of the lecture (S3-tab-1-init) and its slide "Breaking Bad" (S3-fig-breaking-bad).

>>> from experiments import breakpoint_init
>>> len(breakpoint_init.cells())
12
"""

from __future__ import annotations

import torch

from foldnet.nets import ReLUNet, stack
from foldnet.splines.initialization import uniform_breakpoints
from foldnet.train import fit

from . import _targets
from .runner import device, short

TARGETS = {name: _targets.TARGETS[name] for name in ("sine", "quadratic")}
STARTS = ("standard", "uniform")
DATA_POINTS, EPOCHS, LR, NETWORKS = 40, 50_000, 3e-5, 50


def cells() -> list[dict]:
    return [{"width": width, "block": block} for width in (20, 40, 80) for block in range(4)]


def cell(width: int, block: int) -> dict:
    """`loss[target][start]`: test losses of 50 networks after training, smallest digits dropped."""
    losses = test_loss(train(initial(width, block).to(device())))
    return {"loss": {t: {s: short(losses[i, j], 5) for j, s in enumerate(STARTS)} for i, t in enumerate(TARGETS)}}


def initial(width: int, block: int) -> ReLUNet:
    """A batch (target, start, network): torch's default start, and the same with breakpoints uniform over the data."""
    nets = ReLUNet.random((1, width, 1), batch=NETWORKS, init="torch", seed=1000 * width + block)
    spread = [uniform_breakpoints(nets, -reach, reach, seed=1000 * width + block + 500) for _, reach in TARGETS.values()]
    return stack([stack([nets, uniform]) for uniform in spread])


def train(nets: ReLUNet, epochs: int = EPOCHS) -> ReLUNet:
    """Gradient descent on half the sum of squared errors at 40 evenly spaced points, at the lecture's rate."""
    x, y = _points(DATA_POINTS, nets.device)
    return fit(nets, x, y, loss="half_sum", optimizer="gd", lr=LR, epochs=epochs, progress=False).net


def test_loss(nets: ReLUNet) -> torch.Tensor:
    """`(target, start, network)`: the mean squared error over 401 points times 40, comparable with a sum over the data."""
    x, y = _points(401, nets.device)
    return DATA_POINTS * (nets(x) - y).square().mean((-1, -2))


def _points(n: int, device) -> tuple[torch.Tensor, torch.Tensor]:
    """Evenly spaced points and values for each target, `(target, 1, 1, n, 1)`."""
    x, y = _targets.samples(TARGETS, n, device)
    return x[:, None, None, :, None], y[:, None, None, :, None]
