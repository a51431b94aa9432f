"""Numbers as every function of this part takes them: tensors of one dtype and device, data of one variable in order.

>>> from foldnet.splines._points import ordered
>>> [t.tolist() for t in ordered([2.0, 1.0], [20.0, 10.0])]
[[1.0, 2.0], [10.0, 20.0]]
"""

from __future__ import annotations

import torch
from torch import Tensor


def tensors(*values, like=None) -> list[Tensor]:
    """Numbers as tensors of one dtype and device: those of `like`, or of the first tensor of floats among them, or float64."""
    if like is None:
        like = next((v for v in values if isinstance(v, Tensor) and v.is_floating_point()), None)
    dtype, device = (torch.float64, None) if like is None else (like.dtype, like.device)
    return [torch.as_tensor(v, dtype=dtype, device=device) for v in values]


def pairs(x, y, like=None) -> tuple[Tensor, Tensor]:
    """Places `(n,)` or `(*batch, n)` and their values, whose last axes are equally long."""
    x, y = tensors(x, y, like=like)
    if not x.ndim or x.shape[-1:] != y.shape[-1:] or not x.shape[-1]:
        raise ValueError(f"each x needs its y, as two lists of one length; got shapes {tuple(x.shape)} and {tuple(y.shape)}")
    if not (x.isfinite().all() and y.isfinite().all()):
        raise ValueError("the data have values that are NaN or infinite")
    return x, y


def distinct(x) -> Tensor:
    """Data points `(*batch, n)` in increasing order; two at one place are refused."""
    (x,) = tensors(x)
    x = x.sort(-1).values
    if (same := x.diff(dim=-1) == 0).any():
        place = x[..., 1:][same][0]
        raise ValueError(f"two data points stand at x = {place:g}: a function has one value there; average them or drop one")
    return x


def ordered(x, y) -> tuple[Tensor, Tensor]:
    """Places `(n,)` in increasing order, none twice, and their values `(*batch, n)`."""
    x, y = pairs(x, y)
    if x.ndim != 1:
        raise ValueError(f"the places of the data are one list (n,); got shape {tuple(x.shape)}")
    return distinct(x), y[..., x.argsort()]
