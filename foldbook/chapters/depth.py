"""How often a random deep network bends a line, in the mean and exactly, for the chapter on depth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np
import torch

from foldnet.nets import ReLUNet
from foldnet.splines.depth import deep_spline

LAWS = ("normal", "uniform")


def mean_switches(hidden: Sequence[int], leak: float = 0.0) -> list[float]:
    """How often the neurons of each hidden layer switch on a line, in the mean: `n` times the chance that no layer below is off.

    For independent weights and biases with symmetric densities; with a leak no layer is ever off, and each neuron switches once.
    """
    on = _on(hidden, leak)
    return [n * prod(on[:layer]) for layer, n in enumerate(hidden)]


def mean_bends(hidden: Sequence[int], leak: float = 0.0) -> float:
    """How often such a network bends a line, in the mean: a switch is a bend if no other layer is off at its place.

    >>> round(mean_bends([8] * 5), 4)
    39.3787
    """
    on = _on(hidden, leak)
    return sum(n * prod(on[:layer] + on[layer + 1 :]) for layer, n in enumerate(hidden))


def draw(hidden: Sequence[int], law: str = "normal", networks: int = 1, leak: float = 0.0, seed: int = 0) -> ReLUNet:
    """Networks of one input and one output whose weights and biases all have one law, `"normal"` or `"uniform"` on [-1, 1]."""
    if law not in LAWS:
        raise ValueError(f"weights are drawn by a 'normal' or by a 'uniform' law; got {law!r}")
    rng = np.random.default_rng(seed)
    one = rng.normal if law == "normal" else lambda size: rng.uniform(-1, 1, size)
    sizes = [1, *hidden, 1]
    weights = [torch.as_tensor(one(size=(networks, o, i))) for i, o in pairwise(sizes)]
    return ReLUNet(weights, [torch.as_tensor(one(size=(networks, o))) for o in sizes[1:]], leak=leak)


def bends(net: ReLUNet) -> np.ndarray:
    """How often each network of a batch bends, exactly."""
    return deep_spline(net).piece_count().double().numpy() - 1


def spread(counts, draws: int = 400, seed: int = 0) -> tuple[float, float, float]:
    """The standard deviation of such counts, and the ends of its 95 % interval by a bootstrap."""
    counts = np.asarray(counts, dtype=float)
    again = np.random.default_rng(seed).choice(counts, (draws, len(counts)))
    low, high = np.quantile(again.std(1), [0.025, 0.975])
    return float(counts.std()), float(low), float(high)


def two_slopes(net: ReLUNet, below: float, above: float, at_zero: float = 0.0) -> ReLUNet:
    """The same weights with the activation `below * z` for z < 0 and `above * z` for z > 0, moved up by `at_zero`.

    It is made of rectifiers, two for each neuron: `above * (z)+ - below * (-z)+`.
    """
    weights, biases = [net.weights[0]], [net.biases[0]]
    for w, b in zip(net.weights[1:], net.biases[1:]):
        weights.append(torch.cat([above * w, -below * w], -1))
        biases.append(b + at_zero * w.sum(-1))
    weights[:-1] = [torch.cat([w, -w], -2) for w in weights[:-1]]
    biases[:-1] = [torch.cat([b, -b], -1) for b in biases[:-1]]
    return ReLUNet(weights, biases)


def _on(hidden: Sequence[int], leak: float) -> list[float]:
    """The chance that a layer has a neuron that is on, with signs that are fair coins."""
    if not hidden or min(hidden) < 1:
        raise ValueError(f"each hidden layer has at least one neuron, and there is at least one; got {list(hidden)}")
    return [1.0 if leak else 1 - 0.5**n for n in hidden]
