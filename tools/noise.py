"""Arithmetic as another processor might do it: sums, products of matrices and new weights are off in the last digits.

`on(seed)` changes torch, numpy and foldnet in this process, for good: `tools.tremble` calls it in the kernel that runs a chapter.
"""

from __future__ import annotations

import functools
import random

import numpy as np
import torch
from torch.overrides import TorchFunctionMode, resolve_name

# what libraries add up in an order of their own, or take from a table of their own
ADDED = {
    "matmul",
    "__matmul__",
    "__rmatmul__",
    "mm",
    "bmm",
    "baddbmm",
    "einsum",
    "linear",
    "sum",
    "mean",
    "cumsum",
    "var",
    "std",
    "norm",
}
TAKEN = {"exp", "log", "tanh", "sigmoid", "softmax", "log_softmax", "cross_entropy", "solve", "lstsq", "eigh", "svd", "cholesky"}
NUMPY = {
    np: ("sum", "mean", "dot", "einsum", "cumsum", "std", "var", "corrcoef"),
    np.linalg: ("solve", "lstsq", "norm", "inv", "eigvalsh"),
}
COUNTED = {"sum", "mean", "cumsum"}  # of whole numbers, as shares are: exact in any order
RELATIVE = {torch.float64: 1e-15, torch.float32: 5e-7, np.dtype("float64"): 1e-15, np.dtype("float32"): 5e-7}


class Noise(TorchFunctionMode):
    """Results of sums and products times 1 + a few units of the last digit; one factor a call: vmap and autograd go on."""

    def __init__(self, seed: int):
        super().__init__()
        self.draw = random.Random(seed)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = (resolve_name(func) or "").rsplit(".", 1)[-1]
        if name not in ADDED | TAKEN or "out" in (kwargs or {}) or (name in COUNTED and whole(*args[:1])):
            return result
        return self.off(result)

    def off(self, value):
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(map(self.off, value))
        if isinstance(value, (torch.Tensor, np.ndarray, np.floating)) and value.dtype in RELATIVE:
            return value * (1 + RELATIVE[value.dtype] * self.draw.uniform(-1, 1))
        return value


def whole(values=0.5) -> bool:
    """Whether these are whole numbers, and can be asked (a tensor inside of `torch.func` cannot)."""
    if isinstance(values, torch.Tensor):
        if not values.is_floating_point() or torch._C._functorch.is_functorch_wrapped_tensor(values):
            return not values.is_floating_point()
        return bool((values == values.round()).all())
    values = np.asarray(values)
    return values.dtype == bool or np.array_equal(values, values.round())


def on(seed: int) -> None:
    """From now on, noise; each seed another one."""
    from foldnet.nets import ReLUNet

    noise = Noise(seed)
    noise.__enter__()  # for the rest of this process
    for module, names in NUMPY.items():
        for name in names:
            setattr(module, name, _noisy(getattr(module, name), noise))
    made = ReLUNet.random.__func__

    def random_network(cls, *args, **kwargs):
        net = made(cls, *args, **kwargs)
        return net.with_vector(noise.off(net.vector()))

    ReLUNet.random = classmethod(random_network)  # ty: ignore[invalid-assignment]  the method is replaced on purpose


def _noisy(function, noise: Noise):
    @functools.wraps(function)
    def call(*args, **kwargs):
        result = function(*args, **kwargs)
        return result if function.__name__ in COUNTED and whole(*args[:1]) else noise.off(result)

    return call
