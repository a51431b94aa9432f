"""Swaps values of all 616,126 classes of functions of five inputs, beside degree, influence and entropy.

The run behind the extension of the dissertation's Table 3.1 (S2-tab-3.1). The classes are listed anew each time; a checksum
of the values of each part says whether they are the same.

>>> from experiments import swaps_classes
>>> len(swaps_classes.cells())
24
"""

from __future__ import annotations

import time
import zlib
from functools import cache

import numpy as np

from foldbook.chapters.swaps import one_for_each_case
from foldnet.boolean import functions, swaps
from foldnet.boolean.orderings import corner_orders, ordering_weights

INPUTS, PARTS, EVERY, DIGITS = 5, 24, 20, 15
MOST, BINS = 12, 21  # values 0, ..., 11; bins of a quarter for influence and entropy
NEAR_THE_TOP = 8


def cells() -> list[dict]:
    return [{"inputs": INPUTS, "part": part} for part in range(PARTS)]


def cell(inputs: int, part: int) -> dict:
    """Counts of classes and functions by swaps value, alone and with each measure, for one part of the classes."""
    which = members(part, inputs)
    numbers, sizes = functions.npn_classes(inputs)[which], functions.npn_class_sizes(inputs)[which]
    t = functions.truth_tables(numbers, inputs)
    start = time.process_time()
    value = np.asarray(swaps.swaps(t))
    seconds = time.process_time() - start
    by_cases = case_values(t)
    measures = {"degree": functions.degree(t), "influence": functions.total_influence(t), "entropy": functions.fourier_entropy(t)}
    result = {
        "classes": np.bincount(value, minlength=MOST),
        "functions": np.bincount(value, sizes, minlength=MOST).astype(np.int64),
        "crc32": zlib.crc32(value.astype(np.uint8).tobytes()),
        "sample": packed(value[(-which[0]) % EVERY :: EVERY]),
        "near_the_top": numbers[value >= NEAR_THE_TOP].astype(np.int64),
        "wrong_by_cases": int((by_cases != value).sum()),
        "largest_by_cases": int(by_cases.max()),
        "cpu_seconds": round(seconds, 1),
    }
    for name, measure in measures.items():
        bins = measure if name == "degree" else np.floor(4 * measure + 1e-9).astype(np.int64)
        result[name] = np.bincount(value * BINS + bins, minlength=MOST * BINS).reshape(MOST, BINS)
        result[f"{name}_sums"] = [float(f"{s:.12g}") for s in (measure.sum(), (measure**2).sum(), (measure * value).sum())]
    return result


def members(part: int, inputs: int = INPUTS) -> np.ndarray:
    """Which classes, by their place in `classes(inputs)`, belong to a part."""
    return np.array_split(np.arange(len(functions.npn_classes(inputs))), PARTS)[part]


@cache
def chosen_orders(inputs: int) -> np.ndarray:
    """One order for each case of the dissertation's algorithm without equalities: that with the smallest weights. Read-only."""
    smallest = ordering_weights(inputs)[np.lexsort(ordering_weights(inputs).T)]
    chosen = {tuple(w) for w in one_for_each_case(smallest).tolist()}
    found = corner_orders(inputs)[[tuple(w) in chosen for w in ordering_weights(inputs).tolist()]]
    found.setflags(write=False)
    return found


def case_values(t: np.ndarray) -> np.ndarray:
    """What the dissertation's algorithm gives for tables `(k, 2**n)` with that choice."""
    n = functions.input_count(t)
    half = functions.symmetries(n)[: len(functions.symmetries(n)) // 2]
    return swaps.fewest_changes(t, half, chosen_orders(n))


def packed(values: np.ndarray) -> list[int]:
    """Values 0, ..., 9 as whole numbers of 15 digits, each led by a 1 so that no zero is lost."""
    digits = "".join(map(str, values.tolist()))
    return [int("1" + digits[k : k + DIGITS]) for k in range(0, len(digits), DIGITS)]


def unpacked(numbers: list[int]) -> np.ndarray:
    """The inverse of `packed`."""
    return np.array([int(d) for number in numbers for d in str(number)[1:]], dtype=np.int64)
