"""Single precision that is single: a GPU multiplies in TF32 unless told otherwise, which keeps ten bits of each number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import torch

WHERE = ("cudnn.conv", "cudnn.rnn", "cuda.matmul", "mkldnn.conv", "mkldnn.matmul")
SWITCHES: list[tuple[Any, str, Any]] = (
    [(attrgetter(where)(torch.backends), "fp32_precision", "ieee") for where in WHERE]
    if hasattr(torch.backends.cudnn, "conv")
    else [(where, "allow_tf32", False) for where in (torch.backends.cudnn, torch.backends.cuda.matmul)]  # before torch 2.9
)


@contextmanager
def full_precision() -> Iterator[None]:
    """Products of float32 in all their bits, here and in what is called; then as it was. `@full_precision()` does a function."""
    before = [getattr(where, name) for where, name, _ in SWITCHES]
    try:
        for where, name, value in SWITCHES:
            setattr(where, name, value)
        yield
    finally:
        for (where, name, _), value in zip(SWITCHES, before):
            setattr(where, name, value)
