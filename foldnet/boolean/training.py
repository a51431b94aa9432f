"""Train many small networks on Boolean functions and count who gets every corner right. (boolean/training)

The setting of the dissertation's Section 3.4: inputs in {-1, 1}, He's normal weights, binary cross-entropy with logits, Adam.

>>> from foldnet.boolean.functions import parity
>>> from foldnet.boolean.training import train_many
>>> found = train_many(parity(2)[None], width=3, depth=1, trials=50, epochs=500)
>>> found.solved.shape, bool(found.counts[0] > 25)
((1, 50), True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import torch

from ..nets import Network, ReLUNet
from ..train import fit
from .functions import corners, input_count, truth_table

LR, EPOCHS, LEAKY = 0.025, 4000, 0.1
ROOM = {"cpu": 4e8, "cuda": 3e10}  # bytes that one call of `fit` may take
PARTED = {"bce": (0.0, log(2)), "mse": (0.5, 0.25)}  # the output between the classes, what a wrong corner costs at least
LOOK = 100_000_000  # activations of a layer that are looked at together


@dataclass(frozen=True, eq=False)
class TrainingOutcome:
    """What became of networks `(functions, trials)`: all corners right or not, how many were right, and when they stopped."""

    solved: np.ndarray
    right: np.ndarray
    epochs: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Successes of each function, `(functions,)`."""
        return self.solved.sum(1)


def initial_networks(
    sizes: Sequence[int], batch: Sequence[int], leak: float = LEAKY, seed: int = 0, device: str = "cpu", biases: str = "torch"
) -> ReLUNet:
    """Random networks in single precision with He's normal weights.

    sizes: the widths of the layers, inputs first.
    batch: how many networks, as a shape.
    leak: the slope of the nodes left of zero.
    seed: on the CPU it gives the same numbers on every machine; a GPU draws its own.
    device: where the networks live.
    biases: `"torch"`, uniform as in torch.nn.Linear, or `"zero"`; the dissertation does not say how they begin.
    """
    if biases not in ("torch", "zero"):
        raise ValueError(f"biases are 'torch' or 'zero'; got {biases!r}")
    if device == "cpu":
        weights = list(ReLUNet.random(sizes, batch, "he", seed=2 * seed, dtype=torch.float32).weights)
        offsets = list(ReLUNet.random(sizes, batch, "torch", seed=2 * seed + 1, dtype=torch.float32).biases)
    else:
        weights, offsets = _drawn_there(sizes, batch, seed, device)
    return ReLUNet(weights, [b if biases == "torch" else torch.zeros_like(b) for b in offsets], leak)


def _drawn_there(sizes: Sequence[int], batch: Sequence[int], seed: int, device: str) -> tuple[list, list]:
    """Weights and biases from the device's own generator, so that millions of networks need not be copied to it."""
    source = torch.Generator(device).manual_seed(seed)
    weights, biases = [], []
    for i, o in pairwise(sizes):
        weights.append(torch.randn((*batch, o, i), generator=source, device=device) * (2 / i) ** 0.5)
        biases.append((2 * torch.rand((*batch, o), generator=source, device=device) - 1) / i**0.5)
    return weights, biases


def _enough(n: int, loss: str) -> float:
    """A mean loss at which no corner can be wrong: a wrong one costs log 2 or 1/4 or more, and the mean is over 2**n corners."""
    return PARTED[loss][1] / 2**n


def trained(
    nets: Network,
    f,
    epochs: int = EPOCHS,
    low: int = -1,
    loss: str = "bce",
    optimizer: str = "adam",
    lr: float = LR,
    batch_size: int | None = None,
    seed: int = 0,
    engine: str = "auto",
) -> TrainingOutcome:
    """What becomes of networks `(functions, trials)`, of any activation and start, each row of them on its own function.

    A network stops once its loss says that all corners are right; the classes are parted at 0 for `"bce"`, at 1/2 for `"mse"`.

    nets: the networks, one output each.
    f: the functions, truth tables `(functions, 2**n)`.
    epochs: passes over all corners, at most.
    low: the inputs have the digits `low` and 1.
    loss, optimizer, lr, batch_size, seed, engine: as in `fit`; the loss is `"bce"` or `"mse"`.
    """
    if loss not in PARTED:
        raise ValueError(f"functions are learned with the loss 'bce' or 'mse'; got {loss!r}")
    t = truth_table(f)
    n = input_count(t)
    x = torch.tensor(corners(n, low), dtype=nets.dtype, device=nets.device)
    y = torch.tensor(t, dtype=nets.dtype, device=nets.device)[:, None, :, None]
    how: dict[str, Any] = {
        "loss": loss,
        "optimizer": optimizer,
        "lr": lr,
        "batch_size": batch_size,
        "seed": seed,
        "engine": engine,
    }
    done = fit(nets, x, y, epochs=epochs, until=_enough(n, loss), every=max(1, epochs), progress=False, **how)
    right = _right(done.net, x, y, PARTED[loss][0]).masked_fill_(done.diverged, 0)
    return TrainingOutcome(*(v.cpu().numpy() for v in (right == 2**n, right, done.epochs_run)))


def train_many(
    f,
    width: int,
    depth: int = 1,
    leak: float = LEAKY,
    trials: int = 100,
    epochs: int = EPOCHS,
    seed: int = 0,
    device: str = "cpu",
    biases: str = "torch",
    low: int = -1,
    engine: str = "auto",
) -> TrainingOutcome:
    """Train many networks on each of some Boolean functions, and see which get all corners right.

    A network stops once its loss says that all corners are right. As many functions as fit into memory are taken at a time,
    each portion with a seed of its own.

    f: the functions, truth tables `(functions, 2**n)`.
    width, depth: of the hidden layers, all of one width.
    leak: the slope of the nodes left of zero.
    trials: networks for each function.
    epochs: passes over all corners, at most.
    seed, device, biases: as in `initial_networks`.
    low: the inputs have the digits `low` and 1.
    engine: as in `fit`.
    """
    t = truth_table(f)
    t = t.reshape(-1, t.shape[-1])
    n = input_count(t)
    sizes = (n, *[width] * depth, 1)
    at_once = max(1, int(ROOM[torch.device(device).type] / (trials * _bytes(sizes))))
    parts = []
    for portion, start in enumerate(range(0, len(t), at_once)):
        chosen = t[start : start + at_once]
        nets = initial_networks(sizes, (len(chosen), trials), leak, seed + 1009 * portion, device, biases)
        parts.append(trained(nets, chosen, epochs, low, engine=engine))
    return TrainingOutcome(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("solved", "right", "epochs")))


def _right(nets: Network, x, y, middle: float) -> torch.Tensor:
    """How many corners each network puts on the right side, `(functions, trials)`, some functions at a time."""
    at_once = max(1, LOOK // (nets.batch_shape[1] * len(x) * max(nets.sizes)))
    found = []
    for start in range(0, len(y), at_once):
        part = slice(start, start + at_once)
        some = nets.with_layers([w[part] for w in nets.weights], [b[part] for b in nets.biases])
        found.append(((some(x) > middle) == (y[part] > 0.5)).sum((-2, -1)).int())
    return torch.cat(found)


def _bytes(sizes: Sequence[int]) -> int:
    """About what one network takes while it is trained: parameters, moments and copies, its targets, activations."""
    points, parameters = 2 ** sizes[0], sum(o * (i + 1) for i, o in pairwise(sizes))
    return 4 * (10 * parameters + points * (3 + 3 * sum(sizes[1:])))
