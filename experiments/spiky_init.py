"""Spiky against standard starts: six targets, shallow and deep networks, 8 or 32 each; the table of the lecture (S3-tab-spiky).

A spike is a triangle made of three neurons, between two neighbouring data points, where the data do not see it, or, as a rival,
on one. What the lecture does not say is varied: the random start, the optimizer, the range of the data, the height of the spikes.

>>> from experiments import spiky_init
>>> len(spiky_init.cells())
30
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foldnet.nets import ReLUNet, stack
from foldnet.train import Fit, fit

from . import _targets
from .runner import device, short

TARGETS = {name: _targets.TARGETS[name] for name in ("sine", "arctan", "sawtooth", "cubic", "quadratic", "exponential")}
TARGETS["arctan"] = torch.arctan, 2.0
TARGETS["sawtooth"] = (lambda x: 2 * torch.remainder(x / np.pi, 1) - 1), np.pi  # two teeth, and the second falls at the end
DATA_POINTS, SPIKES, EARLY = 20, 8, 2500
NETWORKS = dict.fromkeys(TARGETS, 32) | dict.fromkeys(("cubic", "quadratic", "exponential"), 8)  # these without a GPU
INITS = ("torch", "he")
STARTS = {"standard": (0.0, False), "spiky": (1.0, False), "spikier": (1.75, False), "on data": (1.0, True)}  # height, seen
TRAININGS = (("gd", 1.0), ("adam", 1.0), ("adam", 1.5), ("adam", 2.0), ("adam", 3.0))  # optimizer, and the range times this
EPOCHS = 50_000
SHAPES = {"shallow": (1, 64, 1), "deep": (1, 40, 24, 1)}


def cells() -> list[dict]:
    """All trainings of three targets, for deep networks up to 1.5 times the range; of the three others gradient descent."""
    return [
        {"target": target, "shape": shape, "optimizer": optimizer, "widen": widen}
        for target in TARGETS
        for shape in SHAPES
        for optimizer, widen in TRAININGS
        if optimizer == "gd" or (NETWORKS[target] == 32 and (shape == "shallow" or widen < 2))
    ]


def places(target: str, widen: float = 1.0, count: int = DATA_POINTS) -> Tensor:
    reach = widen * TARGETS[target][1]
    return torch.linspace(-reach, reach, count, dtype=torch.float64)


def initial(target: str, shape: str, widen: float = 1.0, networks: int | None = None) -> tuple[ReLUNet, Tensor, Tensor]:
    """A batch (init, start, network), and apexes and signs of the spikes, `(start, network, spike)`.

    The spiky networks are the standard one with some neurons exchanged: three of the first layer for each spike, and in a deep
    network one of the second layer that adds the three up. "he" has normal biases of variance 1.
    """
    seed, x, networks = list(TARGETS).index(target), places(target, widen), networks or NETWORKS[target]
    rng = np.random.default_rng(100 + seed)
    gaps, points = (np.stack([rng.permutation(n)[:SPIKES] for _ in range(networks)]) for n in (DATA_POINTS - 1, DATA_POINTS - 2))
    signs = torch.as_tensor(rng.choice([-1.0, 1.0], (networks, SPIKES)))
    apex = {False: x[torch.as_tensor(gaps)] + (x[1] - x[0]) / 2, True: x[torch.as_tensor(points) + 1]}
    batches = []
    for init in INITS:
        nets = ReLUNet.random(SHAPES[shape], batch=networks, init=init, seed=seed)
        if init == "he":
            nets = ReLUNet(nets.weights, [torch.as_tensor(rng.normal(size=b.shape)) for b in nets.biases])
        add = functools.partial(spiked, nets, half=0.42 * (x[1] - x[0]), signs=signs)
        batches.append(stack([add(apex=apex[seen], height=height) if height else nets for height, seen in STARTS.values()]))
    return stack(batches), torch.stack([apex[seen] for _, seen in STARTS.values()]), signs.expand(len(STARTS), -1, -1)


def spiked(nets: ReLUNet, apex: Tensor, half: Tensor, height: float, signs: Tensor) -> ReLUNet:
    """The networks with triangles of this height and half width at the apexes `(network, spike)`, up or down by their signs."""
    beta = torch.stack([apex - half, apex, apex + half], -1).flatten(1)
    mu = (height / half * torch.tensor([1.0, -2.0, 1.0]).double()).repeat(SPIKES)
    weights, biases = [w.clone() for w in nets.weights], [b.clone() for b in nets.biases]
    scale = mu.abs().sqrt()  # |v| = |w|, as even as it gets
    count = 3 * SPIKES
    weights[0][:, :count, 0], biases[0][:, :count] = scale, -scale * beta
    if len(weights) == 2:
        weights[1][:, 0, :count] = mu / scale * signs.repeat_interleave(3, 1)
    else:
        weights[1][:, :SPIKES, :], weights[1][:, :, :count], biases[1][:, :SPIKES] = 0.0, 0.0, 0.0
        for k in range(SPIKES):
            weights[1][:, k, 3 * k : 3 * k + 3] = (mu / scale)[3 * k : 3 * k + 3]
        weights[2][:, 0, :SPIKES] = signs
    return ReLUNet(weights, biases)


def train(nets: ReLUNet, target: str, optimizer: str = "gd", widen: float = 1.0, epochs: int | None = None) -> Fit:
    """Gradient descent on half the sum of squared errors at the lecture's rate 3e-5, or Adam at 1e-3, which gets further."""
    x = places(target, widen).to(nets.device)[:, None]
    lr, loss = (3e-5, "half_sum") if optimizer == "gd" else (1e-3, "mse")
    settings: dict[str, Any] = {"optimizer": optimizer, "lr": lr, "epochs": epochs or EPOCHS, "every": EARLY, "progress": False}
    record = lambda net: error(net, target, widen)  # noqa: E731
    return fit(nets, x, TARGETS[target][0](x), loss=loss, record=record, **settings)


def error(nets: ReLUNet, target: str, widen: float = 1.0) -> Tensor:
    """`(*batch,)`: squared errors summed over 401 points of the range of the data."""
    x = places(target, widen, 401).to(nets.device)[:, None]
    return (nets(x) - TARGETS[target][0](x)).square().sum((-1, -2))


def spikes(nets: ReLUNet, target: str, apex: Tensor, signs: Tensor, widen: float = 1.0) -> Tensor:
    """`(*batch,)`: the mean height of the spikes left, by how far the error at an apex stands off its line half a gap around."""
    half = (places(target, widen)[1] - places(target, widen)[0]) / 2
    at = torch.stack([apex - half, apex, apex + half], -1).to(nets.device)
    x = at.flatten(-2).expand(*nets.batch_shape, -1).unsqueeze(-1)
    off = (nets(x) - TARGETS[target][0](x))[..., 0].unflatten(-1, at.shape[-2:])
    return (signs.to(nets.device) * (off[..., 1] - (off[..., 0] + off[..., 2]) / 2)).mean(-1)


def cell(target: str, shape: str, optimizer: str, widen: float) -> dict:
    """`(init, start, network)`: errors early and at the end, mean squares on the data, spikes left; curves of a first network."""
    nets, apex, signs = initial(target, shape, widen)
    result, x = train(nets.to(device()), target, optimizer, widen), places(target, widen).to(device())[:, None]
    tidy = functools.partial(short, digits=4)
    out = {
        "error": tidy(result.recorded["value"][-1]),
        "early_error": tidy(result.recorded["value"][1]),
        "loss": tidy((result.net(x) - TARGETS[target][0](x)).square().mean((-1, -2))),
        "spikes": tidy(spikes(result.net, target, apex, signs, widen)),
    }
    if shape == "shallow" and target == "sine" and widen == 1.0:
        points = places(target, widen, 381)[:, None]
        out |= {
            name: tidy(net[0, :, 0].to("cpu")(points)[..., 0]) for name, net in (("curves", result.net), ("start_curves", nets))
        }
    return out
