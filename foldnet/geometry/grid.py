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

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..nets import ReLUNet
from ._outlines import SQUARE, convex

AT_ONCE = 1 << 16  # points that go through the network at once
TRIED = 1024  # points at which it is tried whether a module is affine where its pattern is the same


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

    `net`: a `ReLUNet`; or a torch module, of which the pattern is what its ReLU and LeakyReLU modules have on and which input its
    MaxPool modules take. It is looked at in evaluation mode and left as it was. A warning tells where it is not affine on
    points with the same pattern, since it bends elsewhere too. Any other function says itself what the pattern is, from points
    `(n, 2)` to rows `(n, k)` of whole numbers or truth values.
    `window`: a number r for the square from -r to r, a box ((x0, x1), (y0, y1)), or the corners of a convex polygon (m, 2).
    `points`: how many there are on each side of the rectangle around it.
    """
    corners, code = convex(window), _code(net)
    if points < 1:
        raise ValueError(f"a grid has at least one point a side; got {points}")
    (left, below), (right, above) = low, high = corners.min(0), corners.max(0)
    x, y = (low[:, None] + (high - low)[:, None] * (np.arange(points) + 0.5) / points).copy()
    with _evaluating(net) if isinstance(net, nn.Module) else nullcontext():
        patterns, labels = _labelled(code, x, y)
        if isinstance(net, nn.Module) and not _is_affine(net, labels, x, y):
            what = "an activation that is no ReLU, LeakyReLU or MaxPool module, as torch.relu in forward, is not seen"
            warnings.warn(f"this {type(net).__name__} is not affine where the pattern is the same: {what}", stacklevel=3)
    return _within(patterns, labels, corners, x, y, (float(left), float(right), float(below), float(above)))


def _labelled(code: Callable, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The patterns in the order in which they are met, each once, and the number of that at each point."""
    points, known, rows = len(x), dict[bytes, int](), []
    labels, step = np.empty((points, points), np.int64), max(1, AT_ONCE // points)
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
    return np.array(rows), labels


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
        return lambda x: _of_module(net, x)[0]
    return lambda x: _whole(net(x), len(x))


@contextmanager
def _evaluating(net: nn.Module) -> Generator[None, None, None]:
    """Evaluation mode, and for each part its own mode again at the end."""
    modes = [(part, part.training) for part in net.modules()]
    net.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _is_affine(net: nn.Module, labels: np.ndarray, x: np.ndarray, y: np.ndarray) -> bool:
    """Whether a module has the mean of two values in the middle of two points with the same pattern, for some pairs of points."""
    some = np.random.default_rng(0).integers(labels.size, size=TRIED)
    some = some[np.argsort(labels.flat[some], kind="stable")]
    pair = np.stack([some[:-1], some[1:]])[:, np.diff(labels.flat[some]) == 0]
    ends = np.stack([x[pair % len(x)], y[pair // len(x)]], -1)
    pattern, output = _of_module(net, torch.as_tensor(np.concatenate([*ends, ends.mean(0)])))
    if not isinstance(output, Tensor) or not output.is_floating_point() or not pair.size:
        return True
    (one, _, middle), (a, b, f) = np.split(pattern, 3), output.double().cpu().chunk(3)
    gap = ((a + b) / 2 - f).flatten(1).abs().amax(1)[torch.as_tensor((one == middle).all(1))]
    return bool((gap <= torch.finfo(output.dtype).eps ** 0.5 * output.abs().max()).all())


def _of_module(net: nn.Module, x: Tensor) -> tuple[np.ndarray, object]:
    """Which parts of a torch network are on, read off its modules while the points go through, and what comes out."""
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
        output = net(x.to(next(net.parameters(), x)))
    finally:
        for hook in hooks:
            hook.remove()
    if not found:
        raise ValueError(
            f"no ReLU, LeakyReLU or MaxPool module is used by this {type(net).__name__}: give its pattern as a function"
        )
    return np.concatenate([_whole(part.flatten(1), len(x)) for part in found], 1), output


def _whole(code, count: int) -> np.ndarray:
    code = np.asarray(torch.as_tensor(code).cpu())
    if code.ndim != 2 or len(code) != count or code.dtype.kind not in "bui":
        raise ValueError(f"a pattern is a row of whole numbers or truth values for each point; got {code.shape} of {code.dtype}")
    return code
