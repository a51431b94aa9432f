"""A sheet of paper folded by a ReLU network: the drawing of the title page and the still of the live figure.

Folding along a line is two neurons, |u| = relu(u) + relu(-u), where u is the distance from the crease; two more carry the
coordinate along the crease. With the weight c in relu(u) + c relu(-u) going from -1 to 1 the sheet turns from flat to folded, and
what the network computes is its shadow. The cut is the last layer: a straight line through the shadow. `live/core/sheet.js` is
the same network in the page, and the tests hold it to this one.

>>> from foldbook.sheet import line, sheet_network
>>> net = sheet_network([line(0, 0.0), line(90, 0.0)], cut=line(45, 0.5))
>>> net.sizes
(2, 4, 4, 1)
>>> [round(u, 6) for u in net([[-0.3, 0.8], [0.3, -0.8]]).flatten().tolist()]  # folded, the two lie on one spot
[0.277817, 0.277817]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from foldnet.nets import ReLUNet, as_tensor

Line = tuple[Sequence[float], float]  # (normal, offset): the points p with normal . p = offset


def line(degrees: float, offset: float) -> Line:
    """The line whose unit normal has this angle and whose signed distance from the origin is `offset`."""
    return (float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))), offset


def sheet_network(creases: Sequence[Line], cut: Line | None = None, folds: float | None = None) -> ReLUNet:
    """The network that folds the plane along creases and cuts it: one hidden layer of four neurons a fold.

    creases: lines with a unit normal; the side with `normal . p < offset` is folded over to the other.
    cut: the output is `normal . p - offset` at the folded point p; without a cut it is p itself, two numbers.
    folds: how many folds are made, the last one in part if it is a fraction; without it, all.
    """
    folds = float(len(creases) if folds is None else folds)
    weights, biases = [], []
    back, shift = np.eye(2), np.zeros(2)  # from the last layer's neurons to the plane
    for i, ((a, b), offset) in enumerate(creases[: math.ceil(folds)]):
        n, t = np.array([a, b], float), np.array([-b, a], float)
        rows = np.stack([n, -n, t, -t])
        weights.append(rows @ back)
        biases.append(rows @ shift - offset * np.array([1, -1, 0, 0]))
        c = -math.cos(math.pi * min(1.0, folds - i))
        back, shift = np.stack([n, c * n, t, -t], axis=1), offset * n
    last, level = (np.eye(2), np.zeros(2)) if cut is None else (np.array([cut[0]], float), np.array([cut[1]]))
    weights, biases = [*weights, last @ back], [*biases, last @ shift - level]
    return ReLUNet([as_tensor(w) for w in weights], [as_tensor(b) for b in biases])
