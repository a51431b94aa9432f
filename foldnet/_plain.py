"""Kernels as plain Python, for small work while nothing is compiled yet: compiling takes longer than a small picture."""

from __future__ import annotations

import contextlib
import ctypes
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from . import _compiled


def ready(kernel: Any) -> bool:
    """Whether a kernel is compiled already, in this process or on disk."""
    if kernel.signatures:
        return True
    with contextlib.suppress(AttributeError, OSError):  # no folder to keep it in
        return bool(kernel._cache._cache_file._load_index())
    return False


def plain(kernel: Any) -> Callable:
    """The same function without compilation, and so are those that it calls."""
    if kernel not in _TWINS:
        made = kernel.py_func
        space = dict(made.__globals__)
        _TWINS[kernel] = types.FunctionType(made.__code__, space, made.__name__, made.__defaults__, made.__closure__)
        called = {name: space[name] for name in made.__code__.co_names if isinstance(space.get(name), Dispatcher)}
        space.update((name, plain(other)) for name, other in called.items())
    return _TWINS[kernel]


def _ones(word) -> int:
    return int(word).bit_count()


def _lowest(word) -> int:
    word = int(word)
    return (word & -word).bit_length() - 1 if word else 64


def _signs_of(values, first, number):
    p = q = 0
    for d, value in enumerate(values[int(first) : int(first) + int(number)].tolist()):
        p |= (value > 0) << d
        q |= (value < 0) << d
    return np.uint64(p), np.uint64(q)


def _floats_at(address, number):
    return np.ctypeslib.as_array((ctypes.c_double * int(number)).from_address(int(address)))


_TWINS: dict[Any, Callable] = {
    _compiled.ones: _ones,
    _compiled.lowest: _lowest,
    _compiled.signs_of: _signs_of,
    _compiled.floats_at: _floats_at,
}
