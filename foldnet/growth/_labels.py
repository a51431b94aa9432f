"""Class numbers from what a user gives as labels."""

from __future__ import annotations

import torch
from torch import Tensor


def labels(net, y, n: int | None = None) -> Tensor:
    """Class numbers `(n,)` or `(*batch, n)` in int64, also from the targets that `fit` takes, `(..., n, out)`.

    Float values are targets and integers class numbers, so that no shape has to be guessed. Where the number `n` of points is
    given, labels of another shape are refused.
    """
    y, out = torch.as_tensor(y, device=net.device), net.sizes[-1]
    if y.is_floating_point():
        if y.ndim < 2 or y.shape[-1] != out:
            raise ValueError(f"targets of a {net} have {out} columns (or give whole class numbers); got {tuple(y.shape)}")
        y = (y[..., 0] > 0.5).long() if out == 1 else y.argmax(-1)
    y = y.long()
    if y.numel() and not (0 <= int(y.min()) and int(y.max()) < max(out, 2)):
        raise ValueError(f"classes of a {net} are 0 to {max(out, 2) - 1}; got {int(y.min())} to {int(y.max())}")
    lead, batch = y.shape[:-1], net.batch_shape
    fits = len(lead) <= len(batch) and all(have in (1, want) for have, want in zip(lead[::-1], batch[::-1]))
    if n is not None and not (fits and y.shape[-1:] == (n,)):
        raise ValueError(f"labels of {n} points are ({n},) or (*batch, {n}) for a {net}; got {tuple(y.shape)}")
    return y
