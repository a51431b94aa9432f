"""Convex polygons of the plane, cut by the zero line of an affine function that is given at their corners.

>>> from foldbook.polygons import clip
>>> square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
>>> clip(square, [-0.5, 0.5, 0.5, -0.5]).tolist()
[[0.5, 0.0], [1.0, 0.0], [1.0, 1.0], [0.5, 1.0]]
"""

from __future__ import annotations

import torch
from torch import Tensor


def clip(corners, value) -> Tensor:
    """The part of a convex polygon `(n, 2)` where an affine function, `value` `(n,)` at its corners, is positive: `(m, 2)`.

    Its corners in the same order, none twice; two polygons that share an edge get the same corner on it, to the last bit. What
    has no inside (a polygon without area, or one that the positive side only touches) is empty.
    """
    corners, value = _polygon(corners, value)
    crossing, points = _crossings(corners, value)
    chosen = torch.stack([value >= 0, crossing], 1).flatten()
    part = torch.stack([corners, points], 1).flatten(0, 1)[chosen]
    part = part[(part != part.roll(1, 0)).any(-1)]
    return part if (value > 0).any() and _has_inside(part) else part[:0]


def chord(corners, value) -> Tensor:
    """The segment of a convex polygon where an affine function, `value` `(n,)` at its corners, is 0: `(2, 2)`, or none, `(0, 2)`.

    An edge on the line is the whole chord; a single corner on it is none, and a function that is 0 at every corner has none.
    """
    corners, value = _polygon(corners, value)
    if not value.any():
        return corners[:0]
    crossing, points = _crossings(corners, value)
    ends = torch.cat([points[crossing], corners[value == 0]])
    if not len(ends):
        return ends
    # there are more than two where corners lie inside an edge
    far = ends[torch.linalg.vector_norm(ends - ends[0], dim=-1).argmax()]
    other = ends[torch.linalg.vector_norm(ends - far, dim=-1).argmax()]
    return torch.stack([other, far]) if (other != far).any() else ends[:0]


def _polygon(corners, value) -> tuple[Tensor, Tensor]:
    """Corners, and values with a largest size of 1; what is rounding beside that is zero."""
    corners, value = (torch.as_tensor(a) for a in (corners, value))
    corners = corners if corners.is_floating_point() else corners.double()
    if corners.ndim != 2 or corners.shape[1] != 2 or value.shape != corners.shape[:1]:
        raise ValueError(f"corners (n, 2) and a value for each are needed; got {tuple(corners.shape)} and {tuple(value.shape)}")
    value = value.to(corners)
    if not (corners.isfinite().all() and value.isfinite().all()):
        raise ValueError("corners and the values there are finite numbers; here are some that are NaN or infinite")
    value = value / value.abs().max().clamp(min=torch.finfo(value.dtype).tiny) if len(value) else value
    return corners, value.where(value.abs() > _noise(corners), 0.0)


def _crossings(corners: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Which edges, from each corner to the next, the zero line crosses between their ends, and where."""
    after, beyond = corners.roll(-1, 0), value.roll(-1, 0)
    crossing = value.sign() * beyond.sign() < 0
    # symmetric in the two ends and in the sign of the function, so that rounding is the same from both sides of an edge
    a, b = value.abs().unsqueeze(-1), beyond.abs().unsqueeze(-1)
    return crossing, (corners * b + after * a) / (a + b).where(crossing.unsqueeze(-1), 1.0)


def _has_inside(corners: Tensor) -> bool:
    if len(corners) < 3:
        return False
    way = corners[1:] - corners[0]
    area = (way[:-1, 0] * way[1:, 1] - way[:-1, 1] * way[1:, 0]).sum().abs()
    return bool(area > _noise(corners) * way.abs().max() ** 2)


def _noise(a: Tensor) -> float:
    return 1e4 * torch.finfo(a.dtype).eps
