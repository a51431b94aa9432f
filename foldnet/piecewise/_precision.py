"""Single precision that is single: a GPU multiplies in TF32 unless told otherwise, which keeps ten bits of each number."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from operator import attrgetter

import torch

SWITCHES = {"cudnn.allow_tf32": False, "float32_matmul_precision": "highest"}
NEWER = dict.fromkeys(("cudnn.conv", "cudnn.rnn", "cuda.matmul", "mkldnn.conv", "mkldnn.matmul"), "ieee")


@contextmanager
def full_precision() -> Generator[None, None, None]:
    """Products of float32 in all their bits, here and in what is called; then as it was. `@full_precision()` does a function."""
    before = switches()
    try:
        switch(SWITCHES if before.keys() == SWITCHES.keys() else NEWER)
        yield
    finally:
        switch(before)


def switches() -> dict:
    """How torch rounds, by name: as most programs set it, or by torch's newer names where a program uses these."""
    try:
        return dict(zip(SWITCHES, (torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision())))
    except RuntimeError:  # torch refuses to mix both
        return {name: attrgetter(name)(torch.backends).fp32_precision for name in NEWER}


def switch(values: dict) -> None:
    """Set what `switches` gives."""
    if values.keys() == SWITCHES.keys():
        torch.backends.cudnn.allow_tf32 = values["cudnn.allow_tf32"]
        torch.set_float32_matmul_precision(values["float32_matmul_precision"])
        return
    for name, value in values.items():
        attrgetter(name)(torch.backends).fp32_precision = value
