"""Sine by networks of width and depth 1 to 10: how many starts are needed, and how many pieces the trained ones have.

The runs behind Table 5.1 and Figure 5.5 of the dissertation (S2-tab-5.1, S2-fig-5.5). It says neither the batch size nor the
start; three other settings stand beside the one that fits.

>>> from experiments.sine_grid import dead, initial
>>> nets = initial("full batch", width=1, depth=9, restarts=100)
>>> int(dead(nets).sum()) > 50  # most narrow deep networks are off somewhere from the start
True
"""

from __future__ import annotations

import numpy as np
import torch

from foldnet.nets import ReLUNet
from foldnet.splines.depth import deep_spline
from foldnet.train import Fit, fit

from .runner import short

LR, EPOCHS, MORE, GOOD, KEPT, PROBE = 0.1, 200, 1000, 0.45, 40, 20
SIZES = tuple(range(1, 11))
# name: the start, the batch size, and how many networks are tried for each width and depth
SETTINGS = {
    "full batch": ("torch", None, 1000),
    "batches of 10": ("torch", 10, 100),
    "single points": ("torch", 1, 64),
    "He start": ("he", None, 200),
}
SAMPLE = {
    "batches of 10": ((1, 2, 5, 10), SIZES),
    "single points": ((2, 5, 10), (6, 8, 9, 10)),
    "He start": ((2, 10), SIZES),
}


def cells() -> list[dict]:
    grids = {"full batch": (SIZES, SIZES)} | SAMPLE
    return [{"setting": s, "width": w, "depth": d} for s, (widths, depths) in grids.items() for w in widths for d in depths]


def data() -> tuple[torch.Tensor, torch.Tensor]:
    """100 equally spaced points of sine, both ends among them: `(100, 1)` each."""
    x = torch.linspace(-np.pi, np.pi, 100, dtype=torch.float64)[:, None].float()
    return x, torch.sin(x)


def initial(setting: str, width: int, depth: int, restarts: int | None = None) -> ReLUNet:
    """The first `restarts` networks of a cell, or all of them; four times as many for full batches at depth 9 and 10, where few
    succeed."""
    start, batch_size, count = SETTINGS[setting]
    count *= 4 if batch_size is None and depth >= 9 else 1
    nets = ReLUNet.random((1, *[width] * depth, 1), batch=count, init=start, seed=100 * width + depth, dtype=torch.float32)
    return nets[: restarts or count]


def train(nets: ReLUNet, setting: str, epochs: int = EPOCHS, **options) -> Fit:
    """Plain stochastic gradient descent on the mean squared error."""
    batch_size = SETTINGS[setting][1]
    optimizer = "gd" if batch_size is None else "sgd"
    return fit(nets, *data(), optimizer=optimizer, lr=LR, epochs=epochs, batch_size=batch_size, progress=False, **options)


def dead(nets: ReLUNet) -> torch.Tensor:
    """Whether some hidden layer is off at all 100 points, `(*batch,)`: then nothing before it can learn."""
    return torch.stack([(z <= 0).all(-1).all(-1) for z in nets.preactivations(data()[0])]).any(0)


def cell(setting: str, width: int, depth: int) -> dict:
    """How many of `restarts` networks succeed (loss at most 0.45 after 200 epochs), how many end below 0.5, and `dead` layers.

    `dead_at_start`, `dead_at_end` count networks, `failed_...` those of them that fail. `losses` are those of the first 20.
    In the setting "full batch" the first 40 that succeed go on for 1000 epochs: `pieces` on [-pi, pi], `mse` over all points,
    `negative` over x < 0 and `positive`. `weights` are those of the first.
    """
    nets = initial(setting, width, depth)
    run = train(nets, setting, engine="fused")
    good, before, after = run.final_loss <= GOOD, dead(nets), dead(run.net)
    result = {
        "restarts": len(good),
        "successes": int(good.sum()),
        "below_half": int((run.final_loss < 0.5).sum()),
        "dead_at_start": int(before.sum()),
        "dead_at_end": int(after.sum()),
        "failed_dead_at_start": int((before & ~good).sum()),
        "failed_dead_at_end": int((after & ~good).sum()),
        "losses": short(run.final_loss[:PROBE], 5),
    }
    if setting != "full batch" or not good.any():
        return result
    last = train(run.net[good.nonzero().flatten()[:KEPT]], setting, MORE, engine="fused")
    return result | described(last.net)


def described(nets: ReLUNet) -> dict:
    """Pieces and errors of trained networks `(count,)`, and the weights of the first."""
    x, y = data()
    squares = (nets(x) - y).square()[..., 0]
    return {
        "pieces": deep_spline(nets).piece_count(-np.pi, np.pi).tolist(),
        "mse": short(squares.mean(-1), 4),
        "negative": short(squares[:, x[:, 0] < 0].mean(-1), 4),
        "positive": short(squares[:, x[:, 0] > 0].mean(-1), 4),
        "weights": short(nets[0].vector(), 6),
    }
