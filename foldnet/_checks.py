"""Checks that several parts share: each refuses in a sentence."""

from __future__ import annotations

import math

from torch import Tensor


def finite(**tensors: Tensor) -> None:
    """Refuse what is empty, NaN or infinite."""
    for name, value in tensors.items():
        # one sum is faster than a look at each; a sum of finite values may still overflow
        if not value.numel() or not (value.sum().isfinite() or value.isfinite().all()):
            raise ValueError(f"{name} of shape {tuple(value.shape)} are empty, or some are NaN or infinite")


def one_of(what: str, name, names: tuple[str, ...]) -> None:
    """Refuse a name that is none of those there are."""
    if name not in names:
        raise ValueError(f"{what} is one of {', '.join(map(repr, names))}; got {name!r}")


def count(what: str, value, least: int) -> int:
    """A whole number, not below `least`."""
    if int(value) != value or value < least:
        raise ValueError(f"{what} is a whole number, at least {least}; got {value!r}")
    return int(value)


def flat_batch(value: Tensor, net) -> Tensor:
    """`(..., n, width)` as `(B, n, width)`, or `(1, n, width)` when all networks share it."""
    if math.prod(value.shape[:-2]) == 1:
        return value.reshape(1, *value.shape[-2:])
    return value.expand(*net.batch_shape, -1, -1).reshape(-1, *value.shape[-2:])
