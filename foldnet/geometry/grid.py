"""The classical way to look at regions: the activation patterns on a grid of points (chapter geometry/polytopes).

It misses what is smaller than a cell and says nothing exactly; but it takes any network, also with max-pooling. `regions` is its
exact twin.

>>> from foldnet.geometry.grid import on_grid
>>> from foldnet.geometry.regions import regions
>>> from foldnet.nets import ReLUNet
>>> net = ReLUNet.random((2, 3, 1), seed=1)
>>> len(on_grid(net, points=200)) <= len(regions(net))
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..nets import ReLUNet
from ._outlines import convex
from .regions import SQUARE

AT_ONCE = 1 << 16  # points that go through the network at once


@dataclass(frozen=True, eq=False)
class GridPatterns:
    """The patterns that a grid of points sees: `patterns` `(P, k)`, each once, in the order in which they were met.

    `labels` `(n, n)` says which of them a point has, rows from below to above, -1 outside of the window; `extent` is the
    rectangle (left, right, below, above) whose cells the points are centres of: `imshow(labels, origin="lower", extent=extent)`.
    """

    patterns: np.ndarray
    labels: np.ndarray
    extent: tuple[float, float, float, float]

    def __len__(self) -> int:
        return len(self.patterns)


@torch.no_grad()
def on_grid(net: ReLUNet | nn.Module | Callable, window=SQUARE, points: int = 500) -> GridPatterns:
    """The activation patterns of a network of two inputs at the centres of `points` x `points` cells, within a convex window.

    Of a torch module: what its ReLU and LeakyReLU modules have on, and which input its MaxPool modules take. Any other function
    says itself what the pattern is, from points `(n, 2)` to rows `(n, k)` of whole numbers or truth values.
    """
    corners, code = convex(window), _code(net)
    if points < 1:
        raise ValueError(f"a grid has at least one point a side; got {points}")
    (left, below), (right, above) = low, high = corners.min(0), corners.max(0)
    x, y = (low[:, None] + (high - low)[:, None] * (np.arange(points) + 0.5) / points).copy()
    known: dict[bytes, int] = {}
    labels, rows, step = np.empty((points, points), np.int64), [], max(1, AT_ONCE // points)
    for first in range(0, points, step):
        place = np.stack(np.meshgrid(x, y[first : first + step]), -1).reshape(-1, 2)
        pattern = np.ascontiguousarray(code(torch.as_tensor(place)))
        # one look for each stretch of points with the same pattern
        heads = np.flatnonzero(np.append(True, (pattern[1:] != pattern[:-1]).any(1)))
        number = []
        for head in heads:
            row = pattern[head].tobytes()
            if row not in known:
                known[row] = len(known)
                rows.append(pattern[head])
            number.append(known[row])
        part = np.repeat(number, np.diff(np.append(heads, len(place))))
        labels[first : first + step] = part.reshape(-1, points)
    return _within(np.array(rows), labels, corners, x, y, (float(left), float(right), float(below), float(above)))


def _within(patterns, labels, corners, x, y, extent) -> GridPatterns:
    """Without the points outside of the window, and the patterns that are nowhere else."""
    way = np.roll(corners, -1, 0) - corners
    for (ax, ay), (dx, dy) in zip(corners, way):
        labels[dx * (y[:, None] - ay) < dy * (x - ax)] = -1
    kept, place = np.unique(labels, return_index=True)
    order = np.argsort(place[kept >= 0])
    kept = kept[kept >= 0][order]
    new = np.full(len(patterns) + 1, -1)
    new[kept] = np.arange(len(kept))
    return GridPatterns(patterns[kept], new[labels], extent)


def _code(net) -> Callable[[Tensor], np.ndarray]:
    """The function from points to patterns."""
    if isinstance(net, ReLUNet):
        if net.batch_shape or net.sizes[0] != 2:
            raise ValueError(f"a grid of the plane is seen by one network of two inputs; got a {net}")
        return lambda x: net.pattern(x).cpu().numpy()
    if isinstance(net, nn.Module):
        return lambda x: _of_module(net, x)
    return lambda x: _whole(net(x), len(x))


def _of_module(net: nn.Module, x: Tensor) -> np.ndarray:
    """Which parts of a torch network are on, read off its modules while the points go through."""
    found: list[Tensor] = []

    def look(module, inputs, output):
        if isinstance(module, (nn.ReLU, nn.LeakyReLU)):
            found.append(output > 0)
        else:
            how = module.kernel_size, module.stride, module.padding, module.dilation, module.ceil_mode
            found.append(type(module)(*how[:4], return_indices=True, ceil_mode=how[4])(inputs[0])[1])

    kinds = nn.ReLU, nn.LeakyReLU, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d
    hooks = [module.register_forward_hook(look) for module in net.modules() if isinstance(module, kinds)]
    try:
        some = next(net.parameters(), x)
        net(x.to(some))
    finally:
        for hook in hooks:
            hook.remove()
    if not found:
        raise ValueError(
            f"no ReLU, LeakyReLU or MaxPool module is used by this {type(net).__name__}: give its pattern as a function"
        )
    return np.concatenate([_whole(part.flatten(1), len(x)) for part in found], 1)


def _whole(code, count: int) -> np.ndarray:
    code = np.asarray(torch.as_tensor(code).cpu())
    if code.ndim != 2 or len(code) != count or code.dtype.kind not in "bui":
        raise ValueError(f"a pattern is a row of whole numbers or truth values for each point; got {code.shape} of {code.dtype}")
    return code
