"""Gradient descent on networks without an activation, where convergence is proved. (boolean/power)

>>> import torch
>>> from foldnet.boolean.deep_linear import balanced, descend
>>> start = balanced(torch.eye(2, dtype=torch.float64) * 0.8, widths=[3, 3])
>>> losses = descend(start, torch.eye(2, dtype=torch.float64), lr=0.1, steps=100)
>>> bool(losses[-1] < 1e-12 < losses[0])
True
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor


def balanced(matrix: Tensor, widths: Sequence[int]) -> list[Tensor]:
    """Weights `W_1, ..., W_N` of hidden `widths` whose product W_N ... W_1 is a matrix `(*batch, out, in)`, exactly balanced.

    Each has the N-th roots of its singular values, so that W_{j+1}^T W_{j+1} = W_j W_j^T. Layers narrower than the rank keep the
    largest of them. (S2-find-linear-net-convergence)
    """
    u, s, vt = torch.linalg.svd(matrix, full_matrices=False)
    kept = min(s.shape[-1], *widths)
    root = torch.zeros_like(s)
    root[..., :kept] = s[..., :kept] ** (1 / (len(widths) + 1))
    diagonal = torch.diag_embed(root)
    sizes = [matrix.shape[-1], *widths, matrix.shape[-2]]
    parts = [diagonal @ vt, *[diagonal] * (len(widths) - 1), u @ diagonal]
    return [_shaped(part, sizes[j + 1], sizes[j]) for j, part in enumerate(parts)]


def imbalance(weights: Sequence[Tensor]) -> Tensor:
    """The largest Frobenius norm of W_{j+1}^T W_{j+1} - W_j W_j^T, `(*batch,)`."""
    gaps = [(b.mT @ b - a @ a.mT).flatten(-2).norm(dim=-1) for a, b in pairwise(weights)]
    return torch.stack(gaps).amax(0)


def descend(weights: Sequence[Tensor], target: Tensor, lr: float, steps: int) -> Tensor:
    """Gradient descent on |W_N ... W_1 - target|^2 / 2, all layers at once: losses before each step, `(steps + 1, *batch)`."""
    losses = []
    for _ in range(steps + 1):
        before: list = [None]  # products below each layer
        after: list = [None]  # and above
        for w in weights[:-1]:
            before.append(w if before[-1] is None else w @ before[-1])
        for w in weights[:0:-1]:
            after.append(w if after[-1] is None else after[-1] @ w)
        gap = weights[-1] @ before[-1] - target
        losses.append(gap.square().sum((-2, -1)) / 2)
        slopes = [gap if high is None else high.mT @ gap for high in reversed(after)]
        slopes = [slope if low is None else slope @ low.mT for slope, low in zip(slopes, before)]
        weights = [w - lr * slope for w, slope in zip(weights, slopes)]  # not in place: products may be weights themselves
    return torch.stack(losses)


def _shaped(part: Tensor, rows: int, columns: int) -> Tensor:
    """A matrix cut or filled with zeros to this shape."""
    part = part[..., :rows, :columns]
    return torch.nn.functional.pad(part, (0, columns - part.shape[-1], 0, rows - part.shape[-2]))
