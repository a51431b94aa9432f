"""Spiky against standard starts: six targets, shallow and deep networks, 32 of each; the table of the lecture (S3-tab-spiky).

A spike is a triangle of height 1 between two neighbouring data points, made of three neurons: the data do not see it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from ..nets import ReLUNet, stack
from ..splines import targets
from ..train import Fit, fit
from .runner import device, short

TARGETS = {name: targets.TARGETS[name] for name in ("sine", "arctan", "sawtooth", "cubic", "quadratic", "exponential")}
TARGETS["arctan"] = torch.arctan, 2.0
TARGETS["sawtooth"] = (lambda x: 2 * torch.remainder(x / np.pi, 1) - 1), np.pi  # two teeth, and the second falls at the end
DATA_POINTS, SPIKES, HEIGHT, NETWORKS, EARLY = 20, 8, 1.0, 32, 2500
EPOCHS = {"gd": 50_000, "adam": 20_000}
SHAPES = {"shallow": (1, 64, 1), "deep": (1, 40, 24, 1)}


def cells() -> list[dict]:
    return [{"target": target, "shape": shape, "optimizer": o} for target in TARGETS for shape in SHAPES for o in EPOCHS]


def places(target: str) -> torch.Tensor:
    reach = TARGETS[target][1]
    return torch.linspace(-reach, reach, DATA_POINTS, dtype=torch.float64)


def initial(target: str, shape: str, networks: int = NETWORKS) -> tuple[ReLUNet, torch.Tensor]:
    """A batch (start, network), standard and spiky, and the gaps `(network, spike)` where the spikes stand.

    The spiky network is the standard one with some neurons exchanged: three of the first layer for each spike, and in a deep
    network one of the second layer that adds the three up.
    """
    seed = list(TARGETS).index(target)
    nets = ReLUNet.random(SHAPES[shape], batch=networks, init="torch", seed=seed)
    rng = np.random.default_rng(100 + seed)
    gaps = np.stack([rng.permutation(DATA_POINTS - 1)[:SPIKES] for _ in range(networks)])
    signs = torch.as_tensor(rng.choice([-1.0, 1.0], (networks, SPIKES)))
    x = places(target)
    gap, half = x[1] - x[0], 0.42 * (x[1] - x[0])
    apex = x[torch.as_tensor(gaps)] + gap / 2
    beta = torch.stack([apex - half, apex, apex + half], -1).flatten(1)
    mu = (HEIGHT / half * torch.tensor([1.0, -2.0, 1.0]).double()).repeat(SPIKES)
    weights, biases = [w.clone() for w in nets.weights], [b.clone() for b in nets.biases]
    scale = mu.abs().sqrt()  # |v| = |w|, as even as it gets
    count = 3 * SPIKES
    weights[0][:, :count, 0], biases[0][:, :count] = scale, -scale * beta
    if shape == "shallow":
        weights[1][:, 0, :count] = mu / scale * signs.repeat_interleave(3, 1)
    else:
        weights[1][:, :SPIKES, :], weights[1][:, :, :count], biases[1][:, :SPIKES] = 0.0, 0.0, 0.0
        for k in range(SPIKES):
            weights[1][:, k, 3 * k : 3 * k + 3] = (mu / scale)[3 * k : 3 * k + 3]
        weights[2][:, 0, :SPIKES] = signs
    return stack([nets, ReLUNet(weights, biases)]), torch.as_tensor(gaps)


def train(nets: ReLUNet, target: str, gaps: torch.Tensor, optimizer: str = "gd", epochs: int | None = None) -> Fit:
    """Gradient descent on half the sum of squared errors at the lecture's rate 3e-5, or Adam at 1e-3, which gets further."""
    x = places(target).to(nets.device)[:, None]
    record = lambda net: {"error": error(net, target), "spikes": spikes(net, target, gaps)}  # noqa: E731
    lr, loss = (3e-5, "half_sum") if optimizer == "gd" else (1e-3, "mse")
    settings: dict[str, Any] = {
        "optimizer": optimizer,
        "lr": lr,
        "epochs": epochs or EPOCHS[optimizer],
        "every": EARLY,
        "progress": False,
    }
    return fit(nets, x, TARGETS[target][0](x), loss=loss, record=record, **settings)


def error(nets: ReLUNet, target: str) -> torch.Tensor:
    """`(*batch,)`: squared errors summed over 401 points of the range of the data."""
    f, reach = TARGETS[target]
    x = torch.linspace(-reach, reach, 401, dtype=torch.float64, device=nets.device)[:, None]
    return (nets(x) - f(x)).square().sum((-1, -2))


def spikes(nets: ReLUNet, target: str, gaps: torch.Tensor) -> torch.Tensor:
    """`(start, network, spike)`: how far the middle of a spike's gap stands off the line between its data points."""
    x = places(target).to(nets.device)
    low = x[gaps.to(nets.device)]
    step = x[1] - x[0]
    values = [nets((low + k * step / 2).expand(*nets.batch_shape, -1).unsqueeze(-1))[..., 0] for k in range(3)]
    return values[1] - (values[0] + values[2]) / 2


def cell(target: str, shape: str, optimizer: str) -> dict:
    """Errors `(start, network)` early and at the end, mean squares on the data, median spikes, curves of the first network."""
    nets, gaps = initial(target, shape)
    result, x = train(nets.to(device()), target, gaps, optimizer), places(target).to(device())[:, None]
    tidy = functools.partial(short, digits=4)
    out = {
        "error": tidy(result.recorded["error"][-1]),
        "early_error": tidy(result.recorded["error"][1]),
        "loss": tidy((result.net(x) - TARGETS[target][0](x)).square().mean((-1, -2))),
        "spikes": tidy(result.recorded["spikes"].abs().median(-1).values[-1]),
    }
    if shape == "shallow" and target in ("sine", "cubic"):
        points = torch.linspace(-1, 1, 381, dtype=torch.float64)[:, None] * TARGETS[target][1]
        out |= {name: tidy(net[:, 0].to("cpu")(points)[..., 0]) for name, net in (("curves", result.net), ("start_curves", nets))}
    return out
