"""Plain gradient descent, the same with bad breakpoints moved, and the best possible fits: 256 networks per case.

The runs behind the lecture's slides "How suboptimal is gradient descent?" (S3-fig-suboptimal-gd) and "Can we improve GD by
including global moves?" (S3-alg-relocate). The lecture gives no setup; this one is ours.

>>> from experiments import relocation
>>> len(relocation.cells())
4
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from foldnet.nets import ReLUNet, stack
from foldnet.splines import dynamics
from foldnet.splines.breakpoints import shallow, unshallow
from foldnet.splines.initialization import uniform_breakpoints
from foldnet.splines.regression import optimal

from . import _targets
from .runner import device, short

TARGETS = {name: _targets.TARGETS[name] for name in ("sine", "quadratic", "bump")}
WIDTHS = (4, 6, 8, 12)
DATA_POINTS, EPOCHS, LR, MOVES, EVERY, NETWORKS = 40, 50_000, 5e-4, 40, 1000, 256
VARIANTS: dict[str, dict[str, Any]] = {  # the same weights, the same number of gradient steps
    "plain": {},
    "moves": {"moves": MOVES, "every": EVERY},
    "flat moves": {"moves": MOVES, "every": EVERY, "flat": True},
    "random moves": {"moves": MOVES, "every": EVERY},  # of the same neuron, to places drawn at random
    "uniform start": {},
}


def cells() -> list[dict]:
    return [{"width": width} for width in WIDTHS]


def cell(width: int) -> dict:
    """`loss[target][variant]` of 256 networks, and the `optimum[target]` with as many pieces as neurons and with one more."""
    result: dict = {"optimum": {}, "loss": {target: {} for target in TARGETS}}
    for target in TARGETS:
        x, y = (a.flatten() for a in points([target]))
        result["optimum"][target] = short([fit.loss for fit in optimal(x, y, width + 1)[-2:]], 5)
    for variant in VARIANTS:
        found = dynamics.loss(train(variant, initial(width, variant).to(device())), *points())
        for target, row in zip(TARGETS, found.tolist()):
            result["loss"][target][variant] = short(row, 5)
    return result


def points(targets=tuple(TARGETS)) -> tuple[torch.Tensor, torch.Tensor]:
    """The data of each target, `(target, 1, 40)`."""
    x, y = _targets.samples(targets, DATA_POINTS)
    return x.unsqueeze(1), y.unsqueeze(1)


def initial(width: int, variant: str = "plain", targets=tuple(TARGETS)) -> ReLUNet:
    """A batch (target, network): torch's default start; for "uniform start", with breakpoints uniform over the data."""
    nets = ReLUNet.random((1, width, 1), batch=NETWORKS, init="torch", seed=width)
    reach = [TARGETS[target][1] for target in targets]
    spread = variant == "uniform start"
    return stack([uniform_breakpoints(nets, -r, r, seed=1000 + width) if spread else nets for r in reach])


def train(variant: str, nets: ReLUNet, targets=tuple(TARGETS)) -> ReLUNet:
    """A batch (target, network) after 50,000 steps of gradient descent."""
    engine = "fused" if nets.device.type == "cpu" else "auto"  # what auto would take for all the steps in one call
    how: dict[str, Any] = {"lr": LR, "epochs": EPOCHS, "engine": engine, **VARIANTS[variant]}
    if variant != "random moves":
        return dynamics.train(nets, *points(targets), **how)
    moves, every = how.pop("moves"), how.pop("every")
    reach = torch.tensor([[TARGETS[target][1]] for target in targets])
    for place, side in zip(*draws(nets.sizes[1], moves, nets.batch_shape[-1])):
        nets = dynamics.train(nets, *points(targets), **{**how, "epochs": every})
        nets = anywhere(nets, *points(targets), reach * place, side)
    return dynamics.train(nets, *points(targets), **{**how, "epochs": EPOCHS - moves * every})


def draws(width: int, moves: int = MOVES, networks: int = NETWORKS) -> torch.Tensor:
    """Where random moves go, in units of the data's reach, and which way they face: `(2, move, network)`."""
    drawn = torch.tensor(np.random.default_rng(2000 + width).uniform(-1, 1, (2, NETWORKS, MOVES)))
    return torch.stack([drawn[0], drawn[1].sign()]).mT[:, :moves, :networks]


def anywhere(net: ReLUNet, x, y, place, side) -> ReLUNet:
    """The neuron whose removal would raise the loss least breaks at `place` now and faces `side`, with delta-slope 0."""
    w, b, v, offset = (part.clone() for part in shallow(net))
    x, y, place, side = x.to(w), y.to(w), place.to(w).unsqueeze(-1), side.to(w).unsqueeze(-1)
    outputs = v.unsqueeze(-1) * (w.unsqueeze(-1) * x.unsqueeze(-2) + b.unsqueeze(-1)).clamp(min=0)
    residual = y - offset.unsqueeze(-1) - outputs.sum(-2)
    worst = (residual.unsqueeze(-2) + outputs).square().sum(-1).argmin(-1, keepdim=True)
    for part, new in zip((w, b, v), (side, -side * place, 0 * side)):
        part.scatter_(-1, worst, new.expand_as(worst))
    return unshallow(w, b, v, offset)
