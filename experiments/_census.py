"""What the three runs of the census share: activations, starts, functions, and the training of one cell.

>>> from experiments import _census
>>> _census.start("tanh", (5, 4, 1), (2, 3), seed=0).batch_shape
(2, 3)
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from foldnet.boolean.functions import corners, input_count, npn_classes, parity, truth_tables
from foldnet.boolean.training import LEAKY, TrainingOutcome, initial_networks, trained
from foldnet.growth.smooth import SmoothNet
from foldnet.nets import Network, ReLUNet

from .runner import device

ACTIVATIONS = ("leaky", "relu", "gelu", "tanh", "abs", "sine")
TRIALS, EPOCHS = 100, 1000
AT_ONCE = 4_000_000  # networks that are trained together, some 5 GB
KINDS, OF_EACH, UNIT = ("coins", "sparse", "smooth", "trees"), 25_600, 10


def start(activation: str, sizes, batch, seed: int, biases: str = "torch", scale: float = 1.0, middle: float = 0.0) -> Network:
    """Random networks, He's normal weights; all is multiplied by `scale`, then the output bias is moved by `middle`.

    With squares and targets 0 and 1 the outputs start around 1/2, so that a function and its complement are equally far.
    """
    leak = LEAKY if activation == "leaky" else 0.0
    nets = initial_networks(sizes, batch, leak, seed, device(), biases)
    weights, offsets = [scale * w for w in nets.weights], [scale * b for b in nets.biases]
    offsets[-1] = offsets[-1] + middle
    if activation in ("leaky", "relu"):
        return ReLUNet(weights, offsets, leak)
    return SmoothNet(weights, offsets, activation)


def train(activation: str, t: np.ndarray, width: int, epochs: int, seed: int, trials: int = 0, **how: Any) -> TrainingOutcome:
    """Networks with one hidden layer on the functions `(functions, 2**n)`, some at a time; `TRIALS` on each, or `trials`."""
    trials = trials or TRIALS
    begin = {name: how.pop(name) for name in ("biases", "scale") if name in how}
    begin["middle"] = 0.5 if how.get("loss") == "mse" else 0.0
    at_once, parts = max(1, AT_ONCE // trials), []
    engine = "cuda" if device() == "cuda" else "auto"
    for portion, first in enumerate(range(0, len(t), at_once)):
        some = t[first : first + at_once]
        nets = start(activation, (input_count(t), width, 1), (len(some), trials), seed + 1009 * portion, **begin)
        parts.append(trained(nets, some, epochs, seed=seed, engine=engine, **how))
    return TrainingOutcome(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("solved", "right", "epochs")))


def times(found: TrainingOutcome) -> np.ndarray:
    """Half of the networks of a function that solve it did so within so many tens of epochs, rounded up; 0 where none did."""
    epochs = np.where(found.solved, found.epochs, np.iinfo(np.int64).max)
    epochs.sort(axis=1)
    half = np.take_along_axis(epochs, (np.maximum(found.counts, 1)[:, None] - 1) // 2, 1)[:, 0]
    return np.where(found.counts > 0, -(-half // UNIT), 0)


# ---- functions ---------------------------------------------------------------------------------------------------------


@cache
def five(every: int) -> np.ndarray:
    """The tables of every so many of the 616,126 classes of five inputs, `(classes, 32)`, in the order of their numbers."""
    return truth_tables(npn_classes(5)[::every], 5)


@cache
def six(seed: int = 35, of_each: int = 0) -> np.ndarray:
    """A sample of six inputs, `(4 * of_each, 64)`: the four kinds behind each other, no function twice within a kind."""
    rng, draws = np.random.default_rng([6, seed]), {"coins": _coins, "sparse": _sparse, "smooth": _smooth, "trees": _trees}
    return np.concatenate([_different(draws[k], rng, of_each or OF_EACH) for k in KINDS])


def _different(draw, rng: np.random.Generator, wanted: int) -> np.ndarray:
    """The first functions, as many as are wanted, that differ from those before them and are not constant."""
    t = draw(rng, 2 * wanted)
    t = t[(t.min(1) < t.max(1))]
    first = np.sort(np.unique(t, axis=0, return_index=True)[1])
    if len(first) < wanted:
        raise ValueError(f"{len(first)} different functions were drawn; {wanted} are needed")
    return t[first[:wanted]]


def _coins(rng, count: int) -> np.ndarray:
    """A fair coin for each corner."""
    return rng.integers(0, 2, (count, 64), dtype=np.uint8)


def _sparse(rng, count: int) -> np.ndarray:
    """So many ones as a die with the sides 3 to 32 says, at random corners."""
    place = rng.permuted(np.tile(np.arange(64), (count, 1)), axis=1)
    return (place < rng.integers(3, 33, (count, 1))).astype(np.uint8)


def _smooth(rng, count: int) -> np.ndarray:
    """The sign of a random polynomial whose coefficients shrink by a random factor with each degree."""
    x = corners(6)
    powers = np.array([[k >> i & 1 for i in range(6)] for k in range(64)])
    characters = np.where(powers[:, None], x, 1).prod(2)  # (64, corners)
    factor = rng.uniform(0.1, 1, (count, 1)) ** powers.sum(1)
    return ((rng.normal(size=(count, 64)) * factor) @ characters > 0).astype(np.uint8)


def _trees(rng, count: int) -> np.ndarray:
    """A random decision tree of 2 to 24 leaves, grown by splitting a random leaf; brothers that are leaves differ."""
    bits = [sum(1 << k for k in np.flatnonzero(column).tolist()) for column in corners(6, low=0).T]
    splits, draws = rng.integers(1, 24, count).tolist(), rng.random((count, 23, 3)).tolist()
    found = []
    for number, dice in zip(splits, draws):
        leaves: list[tuple[int, tuple[int, ...], int]] = [
            ((1 << 64) - 1, (0, 1, 2, 3, 4, 5), 0)
        ]  # corners inside as bits, inputs that are left, value
        for which, what, turn in dice[:number]:
            wide = [k for k, leaf in enumerate(leaves) if leaf[1]]
            inside, left, value = leaves.pop(wide[int(which * len(wide))])
            i = left[int(what * len(left))]
            rest, flip = tuple(k for k in left if k != i), turn < 0.5
            leaves += [(inside & bits[i], rest, value ^ flip), (inside & ~bits[i], rest, value ^ flip ^ 1)]
        found.append(sum(inside for inside, _, value in leaves if value))
    return truth_tables(np.array(found, dtype=np.uint64), 6)[:, ::-1]


@cache
def extremes() -> dict[str, np.ndarray]:
    """Named functions of six inputs, tables `(k, 64)` each: parities, majorities, bent and threshold functions."""
    x = corners(6)
    rng = np.random.default_rng([6, 36])
    code = lambda b: b @ (4, 2, 1)  # noqa: E731
    bit = corners(6, low=0)
    left, right = bit[:, :3], bit[:, 3:]
    bent = []
    for _ in range(32):  # Maiorana and McFarland: x . pi(y) + g(y)
        order, g = corners(3, low=0)[rng.permutation(8)], rng.integers(0, 2, 8)
        bent.append(((left * order[code(right)]).sum(1) + g[code(right)]) % 2)
    weights = rng.normal(size=(64, 7))
    return {
        "parity": np.stack([np.repeat(parity(k), 2 ** (6 - k)) for k in range(1, 7)]),
        "majority": np.stack([x.sum(1) > 2 * k - 6 for k in range(6)]).astype(np.uint8),
        "bent": np.array(bent, dtype=np.uint8),
        "threshold": (weights[:, :6] @ x.T + weights[:, 6:] > 0).astype(np.uint8),
    }
