"""Boolean functions as truth tables and numbers: their classes under symmetry, and what their Fourier coefficients say.

A table lists the values for the inputs in lexicographic order, the first input counting most; as a number it is read from its
first entry, so that 0110 is 6 and the parity of four bits is 27030. The digits 0 and 1 stand for -1 and 1. (boolean/swaps)

`f` is a table, a batch of tables or a number, as `truth_table` takes it; a number needs `n`, how many inputs it has, as well.

>>> from foldnet.boolean import functions
>>> functions.truth_table(6, 2).tolist(), functions.count_npn_classes(4)
([0, 1, 1, 0], 222)
>>> functions.fourier(functions.parity(2)).tolist()
[0.0, 0.0, 0.0, -1.0]
"""

from __future__ import annotations

import operator
from functools import cache
from itertools import permutations
from math import factorial

import numpy as np

MOST_INPUTS = 20
MOST_LISTED = 5


def truth_table(f, n: int | None = None) -> np.ndarray:
    """Truth tables `(*batch, 2**n)` of zeros and ones (uint8) from any of the ways to write a function.

    `f` is a text as "0110", a table or a batch of tables with values in {0, 1} or {-1, 1}, or, with `n`, a number.
    """
    if isinstance(f, str):
        values = np.array([int(c) if c in "01" else 9 for c in f.replace(" ", "").replace("_", "")], dtype=np.int64)
        if (values == 9).any():
            raise ValueError(f"a truth table as a text has the digits 0 and 1; got {f!r}")
    else:
        values = np.asarray(f)
    if values.ndim == 0:
        if n is None:
            raise ValueError(f"the number {f} alone does not say how many inputs its function has: give n as well")
        return _from_number(f, n)
    length = values.shape[-1]
    if length < 2 or length & (length - 1):
        raise ValueError(f"a truth table has 2**n entries for n = 1, 2, ...; got {length}")
    if n is not None and length != 2**n:
        raise ValueError(f"a function of {n} inputs has {2**n} values; got {length}")
    if not (np.isin(values, (0, 1)).all() or np.isin(values, (-1, 1)).all()):
        seen = ", ".join(map(str, np.unique(values)[:4].tolist()))
        raise ValueError(f"a truth table has values in {{0, 1}} or in {{-1, 1}}; got {seen}")
    return (values > 0).astype(np.uint8)


def _from_number(f, n: int) -> np.ndarray:
    _check_inputs(n, MOST_INPUTS)
    try:
        value = operator.index(f.item() if isinstance(f, np.ndarray) else f)
    except TypeError:
        raise ValueError(f"a function is a text, a table or a whole number; got {f!r}") from None
    if not 0 <= value < 1 << 2**n:
        raise ValueError(f"a function of {n} inputs has a number from 0 to 2**{2**n} - 1; got {value}")
    return np.array([value >> k & 1 for k in range(2**n - 1, -1, -1)], dtype=np.uint8)


def truth_tables(numbers, n: int) -> np.ndarray:
    """The tables `(*batch, 2**n)` of many functions (n <= 6) from an array of their numbers."""
    _check_inputs(n, 6)
    numbers = np.asarray(numbers)
    if numbers.dtype.kind not in "iu" or (numbers < 0).any() or int(numbers.max(initial=0)) >> 2**n:
        raise ValueError(f"functions of {n} inputs have whole numbers from 0 to 2**{2**n} - 1; got others")
    places = np.arange(2**n - 1, -1, -1, dtype=np.uint64)
    return (numbers.astype(np.uint64)[..., None] >> places & np.uint64(1)).astype(np.uint8)


def table_number(f) -> int | np.ndarray:
    """The number of a function, the inverse of `truth_table`; for a batch of tables (n <= 6) an array of uint64."""
    t = truth_table(f)
    if t.ndim == 1:
        return int("".join(map(str, t.tolist())), 2)
    _check_inputs(input_count(t), 6)
    return t.astype(np.uint64) @ (np.uint64(1) << np.arange(t.shape[-1] - 1, -1, -1, dtype=np.uint64))


def input_count(t: np.ndarray) -> int:
    """n, for a table with 2**n entries."""
    return int(t.shape[-1]).bit_length() - 1


def corners(n: int, low: int = -1) -> np.ndarray:
    """The inputs `(2**n, n)` in lexicographic order, digits -1 and 1, or 0 and 1 with `low=0`."""
    _check_inputs(n, MOST_INPUTS)
    bits = np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1) & 1
    return (1 - low) * bits + low


def parity(n: int) -> np.ndarray:
    """The table of x_1 xor ... xor x_n: one where an odd number of digits is 1."""
    return (corners(n, low=0).sum(1) & 1).astype(np.uint8)


# ---- symmetry ----------------------------------------------------------------------------------------------------------------


@cache
def symmetries(n: int) -> np.ndarray:
    """Negations and permutations of the inputs as maps of table indices, `(2**n n!, 2**n)`: `table[..., symmetries(n)]`.

    The first half are those whose negation leaves the first digit alone; the second half are the first with all inputs negated.
    """
    _check_inputs(n, 6)
    index = np.arange(2**n)
    digits = index[:, None] >> np.arange(n) & 1
    permuted = np.stack([(digits[:, list(p)] << np.arange(n)).sum(1) for p in permutations(range(n))])
    masks = np.concatenate([np.arange(2 ** (n - 1)), 2**n - 1 - np.arange(2 ** (n - 1))])
    maps = permuted[None] ^ masks[:, None, None]
    maps = maps.reshape(-1, 2**n).astype(np.uint8)
    maps.setflags(write=False)  # a cache hands one and the same to all
    return maps


def npn_class(f, n: int | None = None) -> np.ndarray:
    """The numbers, ascending, of the NPN class of one function (n <= 6).

    These are the functions that negating inputs, permuting them and negating the output make of it.
    """
    t = truth_table(f, n)
    if t.ndim != 1:
        raise ValueError(f"one function has an orbit, not a batch of shape {t.shape[:-1]}")
    same = t[symmetries(input_count(t))]
    return np.unique(np.concatenate([table_number(same), table_number(1 - same)]))


def npn_canonical(f, n: int | None = None) -> int | np.ndarray:
    """The smallest number in the NPN class of a function (n <= 6), or of each function of a batch (n <= 5)."""
    t = truth_table(f, n)
    n = input_count(t)
    if n == 6 and t.ndim == 1:
        return int(npn_class(t)[0])
    _check_inputs(n, MOST_LISTED)
    numbers = np.asarray(table_number(t), dtype=np.uint64)
    smallest = _canonical5(numbers)[0] if n == 5 else _lookup(n)[0][numbers]
    return int(smallest) if t.ndim == 1 else smallest


def npn_classes(n: int) -> np.ndarray:
    """The smallest number of every NPN class, ascending: 2, 4, 14, 222, 616126 of them for n = 1, ..., 5."""
    return _classes(n)[0].copy()


def npn_class_sizes(n: int) -> np.ndarray:
    """How many functions each class in `npn_classes(n)` has; together 2**2**n."""
    return _classes(n)[1].copy()


@cache
def _classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    _check_inputs(n, MOST_LISTED)
    if n == 5:
        from . import _npn_kernel

        found = _npn_kernel.representatives(*_four())
        return found, _canonical5(found)[1]
    return np.unique(_lookup(n)[0], return_counts=True)


@cache
def _lookup(n: int) -> tuple[np.ndarray, np.ndarray]:
    """For n <= 4 and every number: the smallest of its class, and which of the symmetries (then again, negated) leads there."""
    smallest, way = np.zeros(1 << 2**n, dtype=np.uint64), np.full(1 << 2**n, -1)
    maps, inverse = symmetries(n), np.argsort(symmetries(n), axis=1)
    for f in range(1 << 2**n):
        if way[f] < 0:
            reached = table_number(truth_table(f, n)[inverse])
            both = np.concatenate([reached, (1 << 2**n) - 1 - reached])
            smallest[both], way[both] = f, np.arange(2 * len(maps))
    return smallest, way


@cache
def _four() -> tuple[np.ndarray, ...]:
    """What the kernel for n = 5 needs of n = 4: canonical forms, ways there, stabilisers, and symmetries acting on bytes."""
    smallest, way = _lookup(4)
    maps = symmetries(4)
    byte = truth_tables(np.arange(256) << 8, 4), truth_tables(np.arange(256), 4)  # the first and the last eight entries
    moved = np.stack([np.stack([table_number(b[:, m]) for b in byte]) for m in maps]).astype(np.uint16)
    firsts = np.unique(smallest)
    fixing, start = [], np.zeros(1 << 16, dtype=np.int64)
    count = np.zeros(1 << 16, dtype=np.int64)
    for f in firsts.astype(int):
        image = moved[:, 0, f >> 8] | moved[:, 1, f & 255]
        fixed = np.flatnonzero(np.concatenate([image == f, (image ^ 0xFFFF) == f]))
        start[f], count[f] = len(fixing), len(fixed)
        fixing.extend(fixed)
    return smallest.astype(np.uint16), way, np.array(fixing), start, count, moved


def _canonical5(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from . import _npn_kernel

    flat = np.ascontiguousarray(numbers, dtype=np.uint64).ravel()
    smallest, size = _npn_kernel.canonical(flat, *_four())
    return smallest.reshape(numbers.shape), size.reshape(numbers.shape)


def count_npn_classes(n: int) -> int:
    """The number of NPN classes (n <= 6) by Burnside's lemma: the average number of functions that a symmetry fixes."""
    total = 0
    for image in symmetries(n).astype(np.int64):
        least, step = np.arange(2**n), np.arange(2**n)
        length = np.zeros(2**n, dtype=np.int64)
        for k in range(1, 2 * factorial(n) + 1):
            step = image[step]
            length[(length == 0) & (step == np.arange(2**n))] = k
            least = np.minimum(least, step)
            if length.all():
                break
        cycles = len(np.unique(least))
        total += (1 << cycles) + (1 << cycles if (length % 2 == 0).all() else 0)
    return total // (2 * len(symmetries(n)))


# ---- Fourier -----------------------------------------------------------------------------------------------------------------


def walsh(f, n: int | None = None) -> np.ndarray:
    """The integers sum_x f(x) chi_S(x), `(*batch, 2**n)`, by the fast Walsh-Hadamard transform; S in the order of the inputs.

    The set S of a column has those i for which the digit x_i of the column's input is 1. (S2-def-fourier, as printed)
    """
    t = truth_table(f, n)
    n, batch = input_count(t), t.shape[:-1]
    sums = (2 * t.astype(np.int32) - 1).reshape(-1, 2**n)
    for k in range(n):
        halves = sums.reshape(len(sums), -1, 2, 2**k)
        low, high = halves[:, :, 0], halves[:, :, 1]
        sums = np.stack([high + low, high - low], axis=2).reshape(len(sums), -1)
    return sums.reshape(*batch, 2**n)


def fourier(f, n: int | None = None) -> np.ndarray:
    """Fourier coefficients `(*batch, 2**n)`, exact dyadic numbers: f(x) = sum_S fourier[S] chi_S(x). (S2-def-fourier)"""
    sums = walsh(f, n)
    return sums / sums.shape[-1]


def degree(f, n: int | None = None) -> np.ndarray:
    """The size of the largest S with a Fourier coefficient that is not zero, `(*batch,)`; 0 for a constant."""
    sums = walsh(f, n)
    return ((sums != 0) * corners(input_count(sums), low=0).sum(1)).max(-1)


def influences(f, n: int | None = None) -> np.ndarray:
    """For each input the share of the corners at which flipping it flips f, `(*batch, n)`."""
    t = truth_table(f, n)
    n = input_count(t)
    flipped = np.arange(2**n) ^ (1 << np.arange(n - 1, -1, -1))[:, None]
    return (t[..., None, :] != t[..., flipped]).mean(-1)


def total_influence(f, n: int | None = None) -> np.ndarray:
    """The total influence, `(*batch,)`. (S2-eq-3.6)"""
    return influences(f, n).sum(-1)


def fourier_entropy(f, n: int | None = None) -> np.ndarray:
    """The Shannon entropy, in bits, of the squared Fourier coefficients, `(*batch,)`. (S2-eq-3.7)"""
    squares = fourier(f, n) ** 2
    return -(squares * np.log2(np.where(squares > 0, squares, 1.0))).sum(-1) + 0.0


def _check_inputs(n: int, most: int) -> None:
    if not 1 <= n <= most:
        raise ValueError(f"this is done for functions of 1 to {most} inputs; got n = {n}")
