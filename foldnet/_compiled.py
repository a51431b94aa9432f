"""How kernels are compiled: without the GIL, kept on disk where there is a place for it."""

from __future__ import annotations

from typing import Any

import numba


def compiled(function):
    """The function compiled by numba at its first call.

    Of the fast-math licences only fused multiply-add is given: reassociation and no-NaN change what is computed.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy", "boundscheck": False}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to write to
        return numba.njit(**options)(function)
