"""The swaps value of a Boolean function: the fewest changes of class along any line, exactly, with a line that attains it.

`f` is a table, a batch of tables or a number, as `truth_table` takes it; a number needs `n`, how many inputs it has, as well.
(boolean/swaps; S2-def-swaps)

>>> from foldnet.boolean.swaps import class_changes, swaps
>>> swaps([0, 1, 1, 0]), class_changes([0, 1, 1, 0], [1, 2])
(2, 2)
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from .functions import corners, input_count, symmetries, truth_table
from .orderings import MOST_ORDERED, corner_orders, ordering_weights


@dataclass(frozen=True, eq=False)
class Witness:
    """A swaps value with its reason: along `weights` (n whole numbers) the corners come in `order`, with `swaps` changes."""

    swaps: int
    weights: np.ndarray
    order: np.ndarray


def class_changes(f, weights, n: int | None = None) -> np.ndarray | int:
    """How often the class changes along projections, or -1 where corners of two classes fall together.

    f: one function, as `truth_table` takes it.
    weights: the direction of the line, `(n,)`, or many, `(*batch, n)`. Sums are compared as they are, so give whole numbers
        where corners may fall together: 0.1 + 0.2 is not 0.3 in floats.
    n: the number of inputs, needed where f is a number.
    """
    t = truth_table(f, n)
    weights = np.asarray(weights)
    if t.ndim != 1 or weights.shape[-1:] != (input_count(t),):
        raise ValueError(f"one function of n inputs and weights (..., n) are needed; got {t.shape} and {weights.shape}")
    place = weights @ corners(input_count(t), low=0).T
    order = np.argsort(place, axis=-1, kind="stable")
    place, values = np.take_along_axis(place, order, -1), t[order]
    differ = values[..., 1:] != values[..., :-1]
    # neighbours are enough: if corners of two classes fall together, some two neighbours among them differ
    clash = (differ & (place[..., 1:] == place[..., :-1])).any(-1)
    found = np.where(clash, -1, differ.sum(-1))
    return int(found) if found.ndim == 0 else found


def swaps(f, n: int | None = None, threads: int | None = None) -> np.ndarray | int:
    """The swaps value of a function of at most six inputs, or of each table of a batch, `(*batch,)`. (S2-def-swaps)

    f: a function or a batch, as `truth_table` takes it.
    n: the number of inputs, needed where f is a number.
    threads: how many threads share the work; by default those of torch, and no more than numba's.
    """
    t = truth_table(f, n)
    n = input_count(t)
    _check_exact(n)
    if t.ndim == 1:
        return int(_over_symmetries(t, threads).min())
    flat = t.reshape(-1, 2**n)
    if n == MOST_ORDERED:
        found = np.array([_over_symmetries(one, threads).min() for one in flat], dtype=np.int64)
    else:
        half = symmetries(n)[: len(symmetries(n)) // 2 or 1]
        found = fewest_changes(flat, half, corner_orders(n), threads)
    return found.reshape(t.shape[:-1])


def count_best_orders(f, n: int | None = None, threads: int | None = None) -> tuple:
    """The swaps value of a function of at most five inputs, or of a batch, and along how many orders it is attained, `(*batch,)`.

    The orders are those of all projections without ties, an order and its reverse counted once: 990,720 for five inputs. A
    projection with ties that attains the value lies at the border of some that are counted.

    f, n, threads: as in `swaps`.
    """
    t = truth_table(f, n)
    n = input_count(t)
    if n >= MOST_ORDERED:
        raise ValueError(f"best orders are counted for at most {MOST_ORDERED - 1} inputs; got {n}")
    half = symmetries(n)[: len(symmetries(n)) // 2 or 1]
    found = _walked(t.reshape(-1, 2**n), half, corner_orders(n), threads, True)
    return tuple(int(part[0]) if t.ndim == 1 else part.reshape(t.shape[:-1]) for part in found)


def witness(f, n: int | None = None) -> Witness:
    """The swaps value of one function with weights and the order of the corners that attain it."""
    t = truth_table(f, n)
    if t.ndim != 1:
        raise ValueError(f"one function has a witness, not a batch of shape {t.shape[:-1]}")
    n = input_count(t)
    _check_exact(n)
    best = _over_symmetries(t)
    image = symmetries(n)[best.argmin()].astype(np.int64)
    along = t[image[corner_orders(n)]]
    k = (along[:, 1:] != along[:, :-1]).sum(1).argmin()
    negated = image[0] >> np.arange(n - 1, -1, -1) & 1
    came_from = [n - int(image[1 << (n - 1 - j)] ^ image[0]).bit_length() for j in range(n)]
    weights = np.zeros(n, dtype=np.int64)
    weights[came_from] = ordering_weights(n)[k]
    return Witness(int(best.min()), np.where(negated, -weights, weights), image[corner_orders(n)[k]])


def _over_symmetries(t: np.ndarray, threads: int | None = None) -> np.ndarray:
    """For each symmetry of the inputs (up to negating all) the fewest changes of one function over the listed orders."""
    n = input_count(t)
    half = symmetries(n)[: len(symmetries(n)) // 2 or 1]
    return fewest_changes(t[half], np.arange(2**n, dtype=np.uint8)[None], corner_orders(n), threads)


def fewest_changes(tables: np.ndarray, maps: np.ndarray, order: np.ndarray, threads: int | None = None) -> np.ndarray:
    """The fewest changes of class of each table over given orders of the corners, `(k,)`.

    tables: truth tables, `(k, 2**n)`.
    maps: maps of the corners that are applied to each order, such as rows of `symmetries(n)`.
    order: orders of the corners, such as rows of `corner_orders(n)`.
    threads: how many threads share the work; by default those of torch, and no more than numba's.
    """
    return _walked(tables, maps, order, threads, False)[0]


def _walked(tables: np.ndarray, maps: np.ndarray, order: np.ndarray, threads: int | None, counting: bool):
    """The fewest changes, and how many orders and maps have so few, where they are counted: `(k,)` each."""
    from .._compiled import most_threads
    from . import _swaps_kernel as kernel

    depth, point = kernel.prefix_tree(order)
    count, size = tables.shape
    filled = np.zeros((-(-count // kernel.LANES) * kernel.LANES, size), dtype=np.uint8)
    filled[:count] = tables
    bits = np.packbits(np.ascontiguousarray(filled.T), axis=1, bitorder="little")
    blocks = bits.view("<u8").reshape(size, -1, kernel.WORDS)
    work = [np.ascontiguousarray(blocks[:, b]).ravel() for b in range(blocks.shape[1])]
    maps = np.array(maps, order="C")  # a copy: numba would compile the kernel once more for an array that is locked
    with ThreadPoolExecutor(threads or most_threads()) as pool:
        found = list(pool.map(lambda block: kernel.fewest_changes(block, maps, depth, point, counting), work))
    best, totals = zip(*found)
    digits = np.stack(best).reshape(-1, kernel.DIGITS, kernel.WORDS).swapaxes(0, 1).reshape(kernel.DIGITS, -1)
    bits = np.unpackbits(digits.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return (bits.astype(np.int64) << np.arange(kernel.DIGITS)[:, None]).sum(0)[:count], np.concatenate(totals)[:count]


# ---- beyond exact values -----------------------------------------------------------------------------------------------------


def swaps_at_most(f, n: int | None = None, projections: int = 10_000, seed: int = 0) -> int:
    """An upper bound on the swaps value for any n: the fewest changes along random directions.

    f: one function, as `truth_table` takes it.
    n: the number of inputs, needed where f is a number.
    projections: how many directions are drawn.
    seed: of the draw.
    """
    t = truth_table(f, n)
    if projections < 1:
        raise ValueError(f"a bound needs at least one projection; got {projections}")
    rng, best = np.random.default_rng(seed), t.shape[-1] - 1
    portion = max(1, 2**22 // t.shape[-1])
    for start in range(0, projections, portion):
        found = class_changes(t, rng.normal(size=(min(portion, projections - start), input_count(t))))
        found = np.asarray(found)
        best = min(best, int(found[found >= 0].min(initial=best)))
    return best


def _check_exact(n: int) -> None:
    if n > MOST_ORDERED:
        raise ValueError(
            f"swaps values are exact for at most {MOST_ORDERED} inputs; got {n}: swaps_at_most gives a bound for more"
        )
