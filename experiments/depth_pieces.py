"""Depth and breakpoints: 40 neurons in 1, 2, 4 or 5 layers trained on eleven targets, and breakpoints followed through training.

The runs behind Table 2 (S3-tab-2-pieces), the table of correlations (S3-tab-corr-curvature) and two figures of the lecture
(S3-fig-deep-breakpoints, S3-fig-birth-death).

>>> from experiments import depth_pieces
>>> len(depth_pieces.cells())
10
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from foldnet.nets import ReLUNet, stack
from foldnet.splines.depth import DeepSpline, deep_spline
from foldnet.train import Fit, fit

from . import _targets
from .runner import device, short

NEURONS, DATA_POINTS, EPOCHS, LR, NETWORKS, BINS = 40, 40, 50_000, 3e-5, 100, 50
TARGETS = {name: target for name, target in _targets.TARGETS.items() if name != "bump"}
# name: start, optimizer, its rate, and how many times as far the data reach
SETTINGS = {
    "sum of 40": ("torch", "gd", LR, 1.0),
    "sum of 200": ("torch", "gd", 5 * LR, 1.0),
    "mean": ("torch", "gd", 2 * LR / DATA_POINTS, 1.0),
    "zero biases": ("glorot", "gd", LR, 1.0),
    "Adam": ("torch", "adam", 1e-3, 1.0),
    "Adam, He": ("he", "adam", 1e-3, 1.0),
    "Adam, wide": ("torch", "adam", 1e-3, 2.0),
    "Adam, He, wide": ("he", "adam", 1e-3, 2.0),
}
FOUND = ("kinks", "kinks_inside", "breakpoints", "bins", "loss", "early_loss", "weights")
STRETCHED = ("sine", "five arches", "sawtooth")  # on data that reach farther they keep their number of waves
# layer sizes, epochs, lr: the lecture's two figures, and beside each one layer of as many neurons and one that is as narrow as
# its layers
FIGURES = {
    "five layers of 6": ((1, 6, 6, 6, 6, 6, 1), 50_000, 3e-5),
    "one layer of 30": ((1, 30, 1), 50_000, 3e-5),
    "four layers of 15": ((1, 15, 15, 15, 15, 1), 25_000, 5e-5),
    "one layer of 60": ((1, 60, 1), 25_000, 5e-5),
    "one layer of 6": ((1, 6, 1), 50_000, 3e-5),
    "one layer of 15": ((1, 15, 1), 25_000, 5e-5),
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
    he = ReLUNet.random(sizes, batch=networks, init="he", seed=200 + layers)
    rng = np.random.default_rng(layers)
    normal = [torch.from_numpy(rng.normal(size=(NETWORKS, *b.shape[1:]))[:networks]) for b in he.biases]
    starts = {"torch": default, "glorot": ReLUNet(glorot, [0 * b for b in default.biases]), "he": ReLUNet(he.weights, normal)}
    return stack([stack([starts[start]] * len(TARGETS)) for start, *_ in SETTINGS.values()])


def data(wide: float, device=None) -> tuple[torch.Tensor, torch.Tensor]:
    """Points and values of all targets, `(target, 1, 40, 1)`, on data that reach `wide` times as far."""
    x, y = _targets.samples(TARGETS, DATA_POINTS, device)
    far = [value if name in STRETCHED else f(wide * row) for (name, (f, _)), row, value in zip(TARGETS.items(), x, y)]
    return wide * x[:, None, :, None], torch.stack(far)[:, None, :, None]


def train(nets: ReLUNet, epochs: int = EPOCHS) -> Fit:
    """Training of a batch (setting, target, network) on half the sum of squared errors at 40 evenly spaced points."""
    fits = []
    for optimizer in ("gd", "adam"):
        chosen = [(i, lr, wide) for i, (_, by, lr, wide) in enumerate(SETTINGS.values()) if by == optimizer]
        x, y = (torch.stack(v) for v in zip(*(data(wide, nets.device) for *_, wide in chosen)))
        lr = torch.tensor([lr for _, lr, _ in chosen], device=nets.device)[:, None, None]
        these = nets[[i for i, *_ in chosen]]
        fits.append(fit(these, x, y, loss="half_sum", optimizer=optimizer, lr=lr, epochs=epochs, progress=False))
    whole = {name: torch.cat([getattr(f, name) for f in fits]) for name in ("epochs_run", "stopped", "diverged")}
    weights, biases = ([torch.cat(v) for v in zip(*(getattr(f.net, name) for f in fits))] for name in ("weights", "biases"))
    return replace(fits[0], net=ReLUNet(weights, biases), loss=torch.cat([f.loss for f in fits], 1), **whole)


def table(layers: int) -> dict:
    """Kinks on the whole line and among the data (mean, spread), breakpoints with or without a kink, kinks in 50 bins, mean
    squares, some trained weights.

    What holds after training as `[setting][target]`, what before as `[start]`, its bins `[start][reach]`.
    """
    nets = initial(layers)
    trained = train(nets.to(device()))
    after, alive = trained.net.to("cpu"), ~trained.diverged.cpu()
    early = trained.loss[trained.epoch.tolist().index(EARLY)].cpu()
    result: dict = {"diverged": (~alive).sum(-1).tolist(), "before_kinks": {}, "before_bins": {}}
    found: dict = {name: {s: {} for s in SETTINGS} for name in FOUND}
    for i, (setting, (start, _, _, wide)) in enumerate(SETTINGS.items()):
        for j, (target, (_, reach)) in enumerate(TARGETS.items()):
            reach *= wide
            before = deep_spline(nets[i, j])
            result["before_kinks"][start] = _mean_and_spread(before.piece_count() - 1)
            result["before_bins"].setdefault(start, {})[f"{reach:.0f}"] = _bins(before, reach)
            if not alive[i, j].any():
                continue
            f = deep_spline(after[i, j][alive[i, j]])
            found["kinks"][setting][target] = _mean_and_spread(f.piece_count() - 1)
            found["kinks_inside"][setting][target] = _mean_and_spread(f.piece_count(-reach, reach) - 1)
            found["breakpoints"][setting][target] = _mean_and_spread(f.breakpoint_count())
            found["bins"][setting][target] = _bins(f, reach)
            found["loss"][setting][target] = _mean_and_spread(trained.final_loss[i, j].cpu()[alive[i, j]] * 2 / DATA_POINTS)
            found["early_loss"][setting][target] = short(early[i, j, :2] * 2 / DATA_POINTS, 6)
            if setting in ("sum of 40", "Adam") and j < 6:
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
    x, y = (v[0, :, None] for v in _targets.samples(["sine"], DATA_POINTS))
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
    counts = {"first": count[0], "last": count[-1], "least": count.amin(0), "most": count.amax(0), "of_one": count[:, 0]}
    result: dict = {name: value.tolist() for name, value in counts.items()}
    for name, value in movement(f, layers, -reach, reach).items():
        result[name] = short(value, 4)
    one = deep_spline(nets[::SHOWN, 0])
    result["number"], result["place"] = [], []
    for layer in range(layers):
        rows = one.vertex[one.switches & (one.layer == layer)]
        rows = rows[one.place[rows].abs() < 1.5 * reach]
        result["number"].append(one.network[rows].bincount(minlength=len(one.outermost)).tolist())
        result["place"].append(one.place[rows].round(decimals=3).tolist())
    return result


def movement(f: DeepSpline, layers: int, low: float, high: float) -> dict[str, torch.Tensor]:
    """What breakpoints do in time: four tensors `(networks, layers)`, for a batch `(times, networks)` of so many hidden `layers`.

    From one time to the next, a neuron with as many breakpoints as before has moved them, in order: `moves` counts those that
    stay in [low, high], `distance` is how far they went together. Otherwise some were born or died: `births` and `deaths`,
    anywhere on the line. (S3-fig-deep-breakpoints, S3-fig-birth-death)
    """
    times, networks = f.batch_shape
    rows = f.switches.nonzero().flatten()
    row_network, place = f.network[f.vertex[rows]], f.place[f.vertex[rows]]
    time, width = row_network // networks, 1 + max(f.neuron.tolist(), default=0)
    neuron = (row_network % networks * layers + f.layer[rows]) * width + f.neuron[rows]
    # all breakpoints of a neuron one after the other, by time and place, and how many there are at each time
    slot = neuron * times + time
    order = place.argsort(stable=True)
    order = order[slot[order].argsort(stable=True)]
    place, neuron, time, slot = place[order], neuron[order], time[order], slot[order]
    count = slot.bincount(minlength=networks * layers * width * times)
    start, count = count.cumsum(0) - count, count.reshape(-1, times)
    steady = torch.zeros_like(count, dtype=torch.bool)
    steady[:, :-1] = count[:, 1:] == count[:, :-1]
    now = steady[neuron, time].nonzero().flatten()
    later = now - start[slot[now]] + start[slot[now] + 1]
    kept = (torch.maximum(place[now], place[later]) <= high) & (torch.minimum(place[now], place[later]) >= low)
    group, way = neuron[now[kept]] // width, (place[later] - place[now]).abs()[kept]
    change, shape = count.diff(dim=1).reshape(networks, layers, -1), (networks, layers)
    return {
        "moves": group.bincount(minlength=networks * layers).reshape(shape),
        "distance": group.bincount(way, minlength=networks * layers).reshape(shape),
        "births": change.clamp(min=0).sum(-1),
        "deaths": -change.clamp(max=0).sum(-1),
    }
