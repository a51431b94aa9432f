"""Small and larger networks while they learn a disc in a ring, and four of them with the classes exchanged as in XOR.

The runs behind Figures 6.4 to 6.6 of the dissertation (S2): SGD and binary cross-entropy as there; radii, rates and epochs are
not given and ours, chosen in a pilot of 16 to 64 networks by how many learn the task, before any picture was measured.
Weights are kept at marks, in multiples of 1/4096, so that a page measures them with the exact engine instead of trusting a table.

>>> from experiments.polytope_training import data
>>> points, labels = data("circle")
>>> points.shape
torch.Size([300, 2])
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foldnet.growth.tasks import annulus
from foldnet.nets import ReLUNet
from foldnet.train import fit

from .runner import device

GRAIN = 4096
MARKS = {
    "circle": (0, 5, 10, 20, 40, 80, 160, 320, 640, 1000),
    "xor": (0, 5, 10, 20, 40, 80, 160, 320, 480, 640, 800, 1000, 1250, 1500),
}
SETTINGS: dict[str, dict] = {
    "small": {"task": "circle", "sizes": (2, 3, 1), "networks": 256, "lr": 0.3, "batch_size": 30},
    "large": {"task": "circle", "sizes": (2, 8, 8, 8, 1), "networks": 64, "lr": 0.3, "batch_size": 30},
    "xor": {"task": "xor", "sizes": (2, 8, 8, 8, 1), "networks": 96, "lr": 0.1, "batch_size": 20},
}


def cells() -> list[dict]:
    return [{"setting": setting} for setting in SETTINGS]


def cell(setting: str) -> dict:
    """`epochs` of the marks and the `weights` of every network there, `(mark, network, parameter)`."""
    states = train(setting)
    return {"epochs": list(MARKS[SETTINGS[setting]["task"]]), "weights": np.stack([s.vector().numpy() for s in states])}


def data(task: str, n: int | None = None, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Points `(n, 2)` of the square [-1, 1]^2 and labels `(n,)` (S2-fig-6.1).

    "circle": 300 points of a disc in a ring. "xor": 600 of four such, a little less than half as large, one in each quadrant,
    with the classes exchanged where x1 x2 < 0.
    """
    if task == "circle":
        return annulus(n or 300, seed)
    x, y = annulus(n or 600, seed)
    centre = torch.as_tensor(np.random.default_rng(seed + 1000).choice([-0.5, 0.5], x.shape))
    return centre + 0.45 * x, (y + (centre.prod(-1) < 0)) % 2


def start(setting: str, networks: int | None = None) -> ReLUNet:
    """Torch's default start; the first few networks are the same however many there are."""
    s = SETTINGS[setting]
    return rounded(ReLUNet.random(s["sizes"], batch=s["networks"], seed=len(setting)))[: networks or s["networks"]]


def train(setting: str, networks: int | None = None, marks=None, nets: ReLUNet | None = None) -> list[ReLUNet]:
    """The networks at each mark, as they are stored; the shuffles of the points depend on the mark that was last."""
    task = SETTINGS[setting]["task"]
    marks, nets = marks or MARKS[task], nets or start(setting, networks)
    states = [nets]
    for begin, end in pairwise(marks):
        states.append(rounded(epochs(setting, states[-1], end - begin, seed=begin)))
    return states


def epochs(setting: str, nets: ReLUNet, count: int, seed: int, **options) -> Any:
    """Networks after so many more epochs; with `record` and `every` of `fit`, what was recorded."""
    s, (x, y) = SETTINGS[setting], data(SETTINGS[setting]["task"])
    how: dict[str, Any] = {"loss": "bce", "optimizer": "sgd", "lr": s["lr"], "batch_size": s["batch_size"], **options}
    found = fit(nets.to(device()), x, y.double().unsqueeze(-1), epochs=count, seed=seed, progress=False, **how)
    return found.recorded["value"].cpu() if "record" in options else found.net.to("cpu")


def rounded(nets: ReLUNet) -> ReLUNet:
    """Weights in multiples of 1/4096: compressed they take some three bytes each, and come back as they were."""
    return nets.with_vector((nets.vector() * GRAIN).round() / GRAIN)


def states(row) -> list[ReLUNet]:
    """The networks of a stored row at its marks."""
    empty = ReLUNet.random(SETTINGS[row.cell["setting"]]["sizes"], batch=len(row["weights"][0]))
    return [empty.with_vector(torch.as_tensor(np.asarray(w), dtype=torch.float64)) for w in row["weights"]]


def accuracy(nets: ReLUNet, x: Tensor, y: Tensor) -> Tensor:
    """The share of points on the right side of the boundary, `(*batch,)`."""
    return ((nets(x).squeeze(-1) > 0) == (y > 0)).sum(-1).double() / len(y)  # counted, so that all of them are exactly 1


def solved(setting: str, nets: ReLUNet, share: float = 1.0) -> list[int]:
    """Which networks have so many of the points of their task right."""
    return torch.nonzero(accuracy(nets, *data(SETTINGS[setting]["task"])) >= share)[:, 0].tolist()
