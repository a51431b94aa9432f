"""Depth and breakpoints: 40 neurons in 1, 2, 4 or 5 layers trained on ten targets, and breakpoints followed through training.

The runs behind Table 2 (S3-tab-2-pieces), the table of correlations (S3-tab-corr-curvature) and two figures of the lecture
(S3-fig-deep-breakpoints, S3-fig-birth-death).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..nets import ReLUNet, stack
from ..splines import targets
from ..splines.depth import DeepSpline, deep_spline, movement
from ..train import Fit, fit
from .runner import device, short

NEURONS, DATA_POINTS, EPOCHS, LR, NETWORKS, BINS = 40, 40, 50_000, 3e-5, 100, 50
TARGETS = {name: target for name, target in targets.TARGETS.items() if name != "bump"}
# name: start, what the lecture's rate is multiplied with
SETTINGS = {
    "sum of 40": ("torch", 1.0),
    "sum of 200": ("torch", 5.0),
    "mean": ("torch", 2 / DATA_POINTS),
    "zero biases": ("glorot", 1.0),
}
# layer sizes, epochs, lr: the lecture's two figures, and one layer of as many neurons beside each
FIGURES = {
    "five layers of 6": ((1, 6, 6, 6, 6, 6, 1), 50_000, 3e-5),
    "one layer of 30": ((1, 30, 1), 50_000, 3e-5),
    "four layers of 15": ((1, 15, 15, 15, 15, 1), 25_000, 5e-5),
    "one layer of 60": ((1, 60, 1), 25_000, 5e-5),
}
EARLY = 2_000  # where a chapter can check the stored run by a short one
FOLLOWED, MARKS, SHOWN = 64, 250, 4  # networks, marks through training, and every how many of them the first network is kept


def cells() -> list[dict]:
    return [{"layers": layers} for layers in (1, 2, 4, 5)] + [{"figure": name} for name in FIGURES]


def cell(layers: int | None = None, figure: str | None = None) -> dict:
    """One row of the tables (`layers`), or the paths of breakpoints of one shape (`figure`)."""
    if layers is not None:
        return table(layers)
    if figure is None:
        raise ValueError("a cell has layers or a figure; got neither")
    return paths(figure)


# ---- the tables ----------------------------------------------------------------------------------------------------------


def initial(layers: int, networks: int = NETWORKS) -> ReLUNet:
    """A batch (setting, target, network); all targets start from the same networks."""
    sizes = (1, *[NEURONS // layers] * layers, 1)
    default = ReLUNet.random(sizes, batch=networks, init="torch", seed=100 + layers)
    # uniform on +-sqrt(6 / (fan-in + fan-out)), no biases: the default of Keras
    glorot = [w * np.sqrt(6 * w.shape[-1] / sum(w.shape[-2:])) for w in default.weights]
    starts = {"torch": default, "glorot": ReLUNet(glorot, [0 * b for b in default.biases])}
    return stack([stack([starts[start]] * len(TARGETS)) for start, _ in SETTINGS.values()])


def train(nets: ReLUNet, epochs: int = EPOCHS) -> Fit:
    """Gradient descent of a batch (setting, target, network) on half the sum of squared errors at 40 evenly spaced points."""
    x, y = (v[:, None, :, None] for v in targets.data(TARGETS, DATA_POINTS, nets.device))
    lr = LR * torch.tensor([factor for _, factor in SETTINGS.values()], device=nets.device)[:, None, None]
    return fit(nets, x, y, loss="half_sum", optimizer="gd", lr=lr, epochs=epochs, progress=False)


def table(layers: int) -> dict:
    """Kinks on the whole line and among the data (mean, spread), where they lie in 50 bins, mean squares, some trained weights.

    What holds after training as `[setting][target]`, what before as `[start]`, its bins `[start][reach]`.
    """
    nets = initial(layers)
    trained = train(nets.to(device()))
    after, alive = trained.net.to("cpu"), ~trained.diverged.cpu()
    early = trained.loss[trained.epoch.tolist().index(EARLY)].cpu()
    result: dict = {"diverged": (~alive).sum(-1).tolist(), "before_kinks": {}, "before_bins": {}}
    found: dict = {name: {s: {} for s in SETTINGS} for name in ("kinks", "kinks_inside", "bins", "loss", "early_loss", "weights")}
    for i, (setting, (start, _)) in enumerate(SETTINGS.items()):
        for j, (target, (_, reach)) in enumerate(TARGETS.items()):
            before = deep_spline(nets[i, j])
            result["before_kinks"][start] = _mean_and_spread(before.piece_count() - 1)
            result["before_bins"].setdefault(start, {})[f"{reach:.0f}"] = _bins(before, reach)
            if not alive[i, j].any():
                continue
            f = deep_spline(after[i, j][alive[i, j]])
            found["kinks"][setting][target] = _mean_and_spread(f.piece_count() - 1)
            found["kinks_inside"][setting][target] = _mean_and_spread(f.piece_count(-reach, reach) - 1)
            found["bins"][setting][target] = _bins(f, reach)
            found["loss"][setting][target] = _mean_and_spread(trained.final_loss[i, j].cpu()[alive[i, j]] * 2 / DATA_POINTS)
            found["early_loss"][setting][target] = short(early[i, j, :2] * 2 / DATA_POINTS, 6)
            if i == 0 and j < 6:
                found["weights"][setting][target] = short(after[i, j, 0].vector(), 5)
    return result | found


def _mean_and_spread(values: torch.Tensor) -> list[float]:
    values = values.double()
    return short(torch.stack([values.mean(), values.std(correction=0)]), 4)  # ty: ignore[invalid-return-type]


def _bins(f: DeepSpline, reach: float) -> list[int]:
    return np.histogram(f.place[f.kink], BINS, (-reach, reach))[0].tolist()


# ---- breakpoints through training ------------------------------------------------------------------------------------------


def follow(figure: str, networks: int = FOLLOWED, epochs: int | None = None) -> ReLUNet:
    """Networks of one shape through their training on the sine, a batch (mark, network); a mark every 1/250 of the epochs."""
    sizes, all_epochs, lr = FIGURES[figure]
    nets = ReLUNet.random(sizes, batch=FOLLOWED, init="torch", seed=7)[:networks].to(device())
    x, y = (v[0, :, None] for v in targets.data(["sine"], DATA_POINTS))
    settings: dict[str, Any] = {
        "loss": "half_sum",
        "optimizer": "gd",
        "lr": lr,
        "epochs": epochs or all_epochs,
        "every": all_epochs // MARKS,
    }
    run = fit(nets, x, y, record=lambda net: net.vector(), progress=False, **settings)
    return nets.with_vector(run.recorded["value"]).to("cpu")


def paths(figure: str) -> dict:
    """How much breakpoints move, are born and die, for each network and layer, and the paths of the first network.

    `number[layer]` and `place[layer]`: how many breakpoints it has at each mark shown, and where.
    """
    nets = follow(figure)
    reach, layers = TARGETS["sine"][1], len(nets.sizes) - 2
    f = deep_spline(nets)
    count = f.breakpoint_count()
    result = {"first": count[0], "last": count[-1], "least": count.amin(0), "most": count.amax(0), "of_one": count[:, 0]}
    result = {name: value.tolist() for name, value in result.items()}
    for name, value in movement(f, layers, -reach, reach).items():
        result[name] = short(value, 4)  # ty: ignore[invalid-assignment]
    one = deep_spline(nets[::SHOWN, 0])
    result["number"], result["place"] = [], []
    for layer in range(layers):
        rows = one.vertex[one.switches & (one.layer == layer)]
        rows = rows[one.place[rows].abs() < 1.5 * reach]
        result["number"].append(one.network[rows].bincount(minlength=len(one.outermost)).tolist())
        result["place"].append(one.place[rows].round(decimals=3).tolist())
    return result
