"""Three small problems in the plane, drawn anew for every seed: the same points on every machine.

>>> from foldnet.growth import tasks
>>> x, y = tasks.annulus(100, seed=0)
>>> tuple(x.shape), sorted(set(y.tolist()))
((100, 2), [0, 1])
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def sine(n: int = 300, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Points `(n, 2)` of the square [-1, 1]^2 and labels `(n,)`: 1 above one period of a sine, 0 below.

    In the units of the sine the square is [-pi, pi] x [-1.5, 1.5] and the border is x2 = sin x1 (S0-fig-sine).
    """
    rng = _rng(n, seed)
    x = rng.uniform(-1, 1, (n, 2))
    return _pair(x, 1.5 * x[:, 1] > np.sin(np.pi * x[:, 0]))


def overlap_quadratic(n: int = 300, seed: int = 0, noise: float = 0.08) -> tuple[Tensor, Tensor]:
    """Points `(n, 2)` along two parabolas and labels `(n,)`, 0 and 1 in turn (S0-fig-overlap-quadratic).

    Class 0 lies on (t - 0.35, 1.5 t^2 - 0.75), open upwards, class 1 on (t + 0.35, 0.75 - 1.5 t^2), open downwards, with t
    uniform on [-1, 1] and normal noise of standard deviation `noise` in both coordinates; the two arms cross twice.
    """
    rng = _rng(n, seed)
    t, label = rng.uniform(-1, 1, n), np.arange(n) % 2
    sign = 2 * label - 1
    x = np.stack([t + 0.35 * sign, sign * (0.75 - 1.5 * t**2)], axis=1)
    return _pair(x + noise * rng.normal(size=(n, 2)), label)


def annulus(n: int = 300, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Points `(n, 2)` and labels `(n,)`, 0 and 1 in turn: a disc of radius 0.5 and the ring between 0.7 and 1 around it.

    Each class is uniform over its area, so a closed curve has to be drawn between them: no two lines do it.
    """
    rng = _rng(n, seed)
    label, angle = np.arange(n) % 2, rng.uniform(0, 2 * np.pi, n)
    inner, outer = np.where(label, 0.7, 0.0), np.where(label, 1.0, 0.5)
    radius = np.sqrt(inner**2 + rng.uniform(size=n) * (outer**2 - inner**2))
    return _pair(radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), label)


TASKS = {"sine": sine, "overlap_quadratic": overlap_quadratic, "annulus": annulus}


def one_hot(labels: Tensor, classes: int = 2) -> Tensor:
    """Targets `(..., classes)` in float64 for labels `(...)`: what `fit` takes for a network with one output a class."""
    return torch.nn.functional.one_hot(torch.as_tensor(labels), classes).to(torch.float64)


def _rng(n: int, seed: int) -> np.random.Generator:
    if int(n) != n or n < 2:
        raise ValueError(f"a task has a whole number of points, at least 2; got {n}")
    return np.random.default_rng(seed)


def _pair(x: np.ndarray, label: np.ndarray) -> tuple[Tensor, Tensor]:
    return torch.as_tensor(x), torch.as_tensor(label.astype(np.int64))
