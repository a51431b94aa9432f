"""How breakpoints divide data on a line: which points are alone in a piece, and the spline that then meets all of them.

>>> from foldnet.splines.partitions import alone, interpolant
>>> alone([0.5, 1.5], [0.0, 1.0, 2.0, 3.0]).tolist()
[True, True, False, False]
>>> interpolant([0.5, 1.5], [1.0, 1.0], [0.0, 1.0, 2.0], [0.0, 1.0, 0.0])([1.0]).numpy().round(6).tolist()
[1.0]
"""

from __future__ import annotations

import torch
from torch import Tensor

from ._points import distinct, tensors
from .breakpoints import Spline, hinges


def _piece_of(breakpoints, x) -> Tensor:
    """The number of the piece, from 0 on the left to H on the right, in which each data point lies.

    `breakpoints` `(*batch, H)` and `x` `(*batch, N)` broadcast; the result has shape `(*batch, N)`. (S3-def-lonely)
    """
    beta, x = tensors(breakpoints, x)
    batch = torch.broadcast_shapes(beta.shape[:-1], x.shape[:-1])
    beta = beta.sort(-1).values.expand(*batch, -1).contiguous()
    x = x.expand(*batch, -1).contiguous()
    p = torch.searchsorted(beta, x)
    on_one = beta.gather(-1, p.clamp(max=beta.shape[-1] - 1)) == x if beta.shape[-1] else torch.zeros_like(x, dtype=torch.bool)
    if on_one.any():
        raise ValueError(
            f"a breakpoint lies on the data point x = {x[on_one][0]:g}, which is then in two pieces: move one of them"
        )
    return p


def alone(breakpoints, x) -> Tensor:
    """Which data points share their piece with no other, `(*batch, N)`. (S3-fig-11-lonely-percentage)"""
    beta, x = tensors(breakpoints, x)
    p, order = _piece_of(beta, distinct(x)), x.argsort(-1)
    apart = torch.ones(*p.shape[:-1], p.shape[-1] + 1, dtype=torch.bool, device=p.device)
    apart[..., 1:-1] = p.diff(dim=-1) > 0
    result = torch.empty_like(p, dtype=torch.bool)
    return result.scatter(-1, order.expand(p.shape), apart[..., 1:] & apart[..., :-1])


def lonely(breakpoints, x) -> Tensor:
    """Whether every data point is alone in its piece, `(*batch,)`. (S3-def-lonely)"""
    return alone(breakpoints, x).all(-1)


def interpolant(breakpoints, orientations, x, y) -> Spline:
    """The spline with these breakpoints through every data point; of many, the one with the least delta-slopes and offset.

    breakpoints, orientations: those of the neurons, `(*batch, H)`; every data point has to be alone between two breakpoints.
    x, y: data points and their values, `(*batch, N)`. (S3-thm-4a-lonely-global)
    """
    beta, s, x, y = tensors(breakpoints, orientations, x, y)
    if beta.shape[-1] < x.shape[-1] - 1:
        raise ValueError(
            f"{x.shape[-1]} data points need {x.shape[-1] - 1} breakpoints or more, one between any two neighbours; "
            f"with {beta.shape[-1]} there is in general no interpolant"
        )
    if not lonely(beta, x).all():
        raise ValueError(
            "some data points share a piece, and a piece that is a line need not meet them all: no interpolant in general"
        )
    columns = torch.cat([hinges(x, beta, s), torch.ones_like(x).unsqueeze(-1)], -1)
    if torch.linalg.matrix_rank(columns).min() < x.shape[-1]:
        raise ValueError(
            "these breakpoints and orientations are among the rare ones whose hinges are dependent on the data: move one"
        )
    solution = torch.linalg.pinv(columns) @ y.unsqueeze(-1)
    return Spline(beta, solution[..., :-1, 0], s.expand_as(beta), solution[..., -1, 0])
