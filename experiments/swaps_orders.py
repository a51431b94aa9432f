"""Along how many lines each of the 616,126 classes of five inputs attains its swaps value: of all 990,720 orders of the corners.

A predictor of difficulty beside the others of `five_inputs`: there may be one best line, or many.

>>> from experiments import swaps_orders
>>> swaps_orders.cells()[-1]
{'inputs': 5, 'part': 23}
"""

from __future__ import annotations

import zlib

import numpy as np

from foldnet.boolean import functions, swaps

from .swaps_classes import EVERY, MOST, cells, members

__all__ = ["cell", "cells"]
DOUBLINGS = 20  # 2**20 is above 990,720


def cell(inputs: int, part: int) -> dict:
    """For one part of the classes: `sample`, the counts of every twentieth class; `by` `(swaps values, 20)`, how many have
    a swaps value and 1, 2 to 3, 4 to 7, ... best orders; `one`, how many have a single one; `crc32` of all counts."""
    which = members(part, inputs)
    t = functions.truth_tables(functions.npn_classes(inputs)[which], inputs)
    value, count = swaps.count_best_orders(t)
    place = value * DOUBLINGS + np.floor(np.log2(count)).astype(np.int64)
    return {
        "sample": count[(-which[0]) % EVERY :: EVERY],
        "by": np.bincount(place, minlength=MOST * DOUBLINGS).reshape(MOST, DOUBLINGS),
        "one": int((count == 1).sum()),
        "crc32": zlib.crc32(count.astype("<u4").tobytes()),
    }
