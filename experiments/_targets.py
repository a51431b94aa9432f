"""Functions of one variable to train networks on, each with its interval [-reach, reach], and evenly spaced data of them.

>>> from experiments._targets import samples
>>> x, y = samples(["sine"], 9)  # nine points from -pi to pi
>>> tuple(x.shape), y[0, 1::2].numpy().round(6).tolist()
((1, 9), [1.0, -1.0, 1.0, -1.0])
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor


def sine(x: Tensor) -> Tensor:
    """Two periods of a sine on [-pi, pi]."""
    return torch.sin(2 * x)


def _five_arches(x: Tensor) -> Tensor:
    """Five arcs of parabolas, up and down in turn, on [-pi, pi]."""
    u = 5 * (x / math.pi + 1) / 2
    arch = u.floor().clamp(0, 4)
    return (1 - 2 * (arch % 2)) * 4 * (u - arch) * (1 - u + arch)


def _sawtooth(x: Tensor) -> Tensor:
    """Three teeth on [-pi, pi]: each rises from -1 to 1, then it falls at once."""
    u = 3 * (x / math.pi + 1) / 2
    return 2 * (u - u.floor().clamp(0, 2)) - 1


# name: function, reach; the first six are those of the lecture's Table 2 (S3-tab-2-pieces)
TARGETS = {
    "sine": (sine, math.pi),
    "five arches": (_five_arches, math.pi),
    "sawtooth": (_sawtooth, math.pi),
    "arctan": (torch.arctan, math.pi),
    "exponential": (torch.exp, 2.0),
    "quadratic": (lambda x: x**2 / 2, 2.0),
    "sin x": (torch.sin, math.pi),
    "cubic": (lambda x: x**3, 2.0),
    "chirp": (lambda x: torch.sin(x**2 / 2), 2.0),
    "wide chirp": (lambda x: torch.sin(x**2 / 2), math.pi),
    "small cubic": (lambda x: x**3 / 8, 2.0),
    "bump": (lambda x: torch.exp(-4 * (x - 1) ** 2), math.pi),
}


def samples(names: Iterable[str], count: int, device=None) -> tuple[Tensor, Tensor]:
    """Evenly spaced points, both ends included, and values of some targets of `TARGETS`, `(targets, count)` each."""
    names = (names,) if isinstance(names, str) else tuple(names)
    if unknown := [name for name in names if name not in TARGETS]:
        raise ValueError(f"targets are {', '.join(TARGETS)}; got {unknown[0]!r}")
    functions, reaches = zip(*(TARGETS[name] for name in names))
    x = torch.stack([torch.linspace(-reach, reach, count, dtype=torch.float64, device=device) for reach in reaches])
    return x, torch.stack([f(row) for f, row in zip(functions, x)])
