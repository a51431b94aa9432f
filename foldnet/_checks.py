"""Checks that several parts share: each refuses in a sentence."""

from __future__ import annotations

import math

import torch
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


def torchs_own(*modules: torch.nn.Module) -> None:
    """Refuse modules that compute something else than torch's of the same kind."""
    kinds = torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU, torch.nn.LeakyReLU
    for m in modules:
        kind = next(k for k in kinds if isinstance(m, k))
        if type(m).forward is not kind.forward or "forward" in vars(m):
            raise ValueError(f"a network is read off torch's own modules; {type(m).__name__} has a forward pass of its own")
        if m._forward_hooks or m._forward_pre_hooks:
            raise ValueError(f"a network is read off modules without hooks; {type(m).__name__} has a forward hook")


def network(net) -> None:
    """Refuse weights and biases that make none."""
    if not net.weights or len(net.weights) != len(net.biases):
        raise ValueError(
            f"a network has one bias vector for each weight matrix, at least one; got {len(net.weights)} and {len(net.biases)}"
        )
    batch = net.weights[0].shape[:-2]
    for layer, (w, b) in enumerate(zip(net.weights, net.biases)):
        before = net.weights[layer - 1].shape[-2] if layer else w.shape[-1] if w.ndim >= 2 else None
        if w.ndim < 2 or w.shape[:-2] != batch or b.shape != w.shape[:-1] or w.shape[-1] != before:
            shapes = f"weights {tuple(w.shape)}, biases {tuple(b.shape)}"
            raise ValueError(
                f"layer {layer} does not fit: it needs (*batch, out, in) and (*batch, out) with in = {before}; got {shapes}"
            )
        if not w.numel():
            raise ValueError(f"layer {layer} is empty: weights {tuple(w.shape)} (an empty batch, or a layer without neurons)")
        if not (torch.isfinite(w).all() and torch.isfinite(b).all()):
            raise ValueError(f"layer {layer} has weights or biases that are NaN or infinite")
