"""How large can the swaps value of six inputs be? All quadratic functions, and searches for functions with more changes.

A search has a list of orders and a function that is to change at least `aim` times along each. It flips values, best first, until
the list is satisfied; then all orders are asked, those with fewer changes join the list, and so on. Where there are none, the
value is at least `aim`, which rises by one. (Chapter boolean/swaps, section 8 of its checks.) A third of the searches look among
the functions that a random symmetry of the cube leaves alone or negates; a third begin at the record, for six inputs.

>>> from experiments import swaps_six
>>> len(swaps_six.kinds(4)), swaps_six.counting_bound(6)
(4, 8)
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from math import comb, factorial

import numba
import numpy as np

from foldbook.chapters.swaps import RECORD, quadratic
from foldnet.boolean import functions
from foldnet.boolean.orderings import corner_orders, count_corner_orders
from foldnet.boolean.swaps import fewest_changes, swaps

WALKS = {5: 12, 6: 36}
PARTS, ROUNDS, MOVES = 24, 40, 200  # parts of the quadratic functions; rounds of a search, and moves in a round at most
IMAGES, EACH, ROOM = 40, 50, 40_000  # symmetries that are tried first, orders from each of them, orders that are kept


def cells() -> list[dict]:
    walks = [{"inputs": n, "kind": "search", "part": part} for n in WALKS for part in range(WALKS[n])]
    return [{"inputs": 6, "kind": "quadratic", "part": part} for part in range(PARTS)] + walks


def cell(inputs: int, kind: str, part: int) -> dict:
    """The swaps value of each kind of this part. Search: the value at its end, exactly, and the function in hex digits.

    `group`: the order of the symmetry that the function keeps, negative where it negates it; 1 where there was none.
    """
    if kind == "quadratic":
        mine = kinds(inputs)[part::PARTS]
        return {"values": [swaps(quadratic(inputs, *each), threads=1) for each in mine]}
    rng = np.random.default_rng([inputs, part])
    free = np.arange(2**inputs), np.ones(2**inputs, dtype=np.int8), 1
    orbit, sign, group = symmetry(inputs, rng) if part % 3 == 1 else free
    value, table = search(orbit, sign, rng, quadratic(*RECORD) if part % 3 == 2 and inputs == RECORD[0] else None)
    return {"value": value, "table": f"{functions.table_number(table):x}", "group": group, "free": int(orbit.max()) + 1}


def counting_bound(n: int) -> int:
    """Some function has at least this swaps value: those with fewer changes along some order are too few to be all functions."""
    orders = count_corner_orders(n) * 2 ** (n - 1) * factorial(n)  # an order and its reverse counted once
    s = 0
    while orders * 2 * sum(comb(2**n - 1, k) for k in range(s + 1)) < 2**2**n:
        s += 1
    return s


# ---- quadratic functions ---------------------------------------------------------------------------------------------------


@cache
def kinds(n: int) -> list[tuple[list[tuple[int, int]], list[int]]]:
    """The quadratic functions of rank four or more up to the symmetries of the cube, as edges and marked inputs, from 1.

    Negating an input marks its neighbours, or takes their marks away; negating the function changes no swaps value.
    """
    pairs = list(combinations(range(n), 2))
    orders = list(permutations(range(n)))
    place = {pair: k for k, pair in enumerate(pairs)}
    moved = np.array([[place[min(p[i], p[j]), max(p[i], p[j])] for i, j in pairs] for p in orders])
    graphs = np.arange(2 ** len(pairs))[:, None] >> np.arange(len(pairs)) & 1
    smallest = np.min([graphs[:, m] @ (1 << np.arange(len(pairs))) for m in moved], axis=0)
    found = []
    for graph in np.flatnonzero(smallest == np.arange(len(graphs))):
        edges = [pair for pair, on in zip(pairs, graphs[graph]) if on]
        rows = [sum(1 << (j if i == k else i) for i, j in edges if k in (i, j)) for k in range(n)]
        if _rank(rows) < 4:
            continue
        same = [p for p, m in zip(orders, moved) if (graphs[graph][m] == graphs[graph]).all()]
        seen: set[int] = set()
        for marks in range(2**n):
            if marks in seen:
                continue
            found.append(([(i + 1, j + 1) for i, j in edges], [k + 1 for k in range(n) if marks >> k & 1]))
            new = {marks}
            while new:
                seen |= new
                turned = {sum(1 << p[k] for k in range(n) if m >> k & 1) for m in new for p in same}
                new = (turned | {m ^ row for m in new for row in rows}) - seen
    return found


def _rank(rows: list[int]) -> int:
    """The rank mod 2 of rows of bits."""
    basis: list[int] = []
    for row in rows:
        for b in basis:
            row = min(row, row ^ b)
        basis += [row] if row else []
    return len(basis)


# ---- the search ------------------------------------------------------------------------------------------------------------


def symmetry(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """The orbits of a random symmetry of the cube, a sign for each corner, and its order, negative where it negates."""
    while True:
        image = functions.symmetries(n)[rng.integers(len(functions.symmetries(n)))].astype(np.int64)
        orbit, step, sizes = np.full(2**n, -1), np.zeros(2**n, dtype=np.int64), []
        for corner in range(2**n):
            if orbit[corner] < 0:
                at, size = corner, 0
                while orbit[at] < 0:
                    orbit[at], step[at] = len(sizes), size
                    at, size = image[at], size + 1
                sizes.append(size)
        order = int(np.lcm.reduce(sizes))
        negates = bool(rng.integers(2)) and not any(size % 2 for size in sizes)
        if 1 < order <= 4:
            return orbit, (1 - 2 * negates * (step % 2)).astype(np.int8), -order if negates else order


def search(
    orbit: np.ndarray, sign: np.ndarray, rng: np.random.Generator, begin: np.ndarray | None = None
) -> tuple[int, np.ndarray]:
    """The swaps value at which a search ends, and a function with this value.

    orbit: which corners are flipped together `(2**n,)`, 0, 1, ...
    sign: 1 or -1 for each corner: their values within an orbit are these, or their negatives.
    begin: the table at the start, by default a random one.
    """
    n = functions.input_count(orbit)
    drawn = rng.integers(0, 2, orbit.max() + 1)[orbit] ^ (sign < 0)
    table = best = (drawn if begin is None else begin).astype(np.uint8)
    aim = int(swaps(table, threads=1)) + 1
    listed = np.zeros((0, 2**n), dtype=np.uint8)
    for _ in range(ROUNDS):
        less = fewer(table, aim, rng)
        while not len(less):
            best, aim = table, aim + 1
            less = fewer(table, aim, rng)
        listed = np.concatenate([listed, less])
        if len(listed) > ROOM:
            listed = listed[rng.permutation(len(listed))[:ROOM]]
        table = _descend(table, orbit, listed, aim, rng.random((MOVES, orbit.max() + 1)))
    return aim - 1, best


def fewer(table: np.ndarray, aim: int, rng: np.random.Generator) -> np.ndarray:
    """Orders along which a function changes less than `aim` times, `(some, 2**n)`; none if there is none."""
    n = functions.input_count(table)
    images = functions.symmetries(n)[: len(functions.symmetries(n)) // 2]
    chosen = rng.choice(len(images), IMAGES, replace=False)
    orders = corner_orders(n)
    found = _along(table, images[chosen], orders, aim, rng.integers(len(orders), size=len(chosen)))
    if not len(found):
        by_image = fewest_changes(table[images], np.arange(2**n, dtype=np.uint8)[None], orders, threads=1)
        chosen = rng.permutation(np.flatnonzero(by_image < aim))[: 4 * IMAGES]
        found = _along(table, images[chosen], orders, aim, rng.integers(len(orders), size=len(chosen)))
    return found


@numba.njit(cache=True)
def _along(table, images, orders, aim, begin):
    """Of each image of the orders some with less than `aim` changes, looked for from one of them on."""
    size = orders.shape[1]
    found, count = np.empty((len(images) * EACH, size), dtype=np.uint8), 0
    for image, first in zip(images, begin):
        here = 0
        for step in range(len(orders)):
            order = orders[(first + step) % len(orders)]
            changes = 0
            for k in range(size - 1):
                changes += table[image[order[k]]] != table[image[order[k + 1]]]
                if changes >= aim:
                    break
            if changes < aim:
                found[count] = image[order]
                count += 1
                here += 1
                if here == EACH:
                    break
    return found[:count]


@numba.njit(cache=True)
def _descend(table, orbit, listed, aim, chance):
    """The table after some flips of orbits, the best first: fewest changes missing along the list, none flipped twice at once.

    Numbers between 0 and 1, `chance` `(moves, orbits)`, decide between equals, and how long an orbit stays.
    """
    (moves, units), size = chance.shape, listed.shape[1]
    table, best, least = table.copy(), table.copy(), np.int64(2**60)
    barred, differ = np.zeros(units, dtype=np.int64), np.zeros(units, dtype=np.int64)
    for move in range(moves):
        missing, now = np.zeros(units, dtype=np.int64), 0
        for order in listed:
            changes = 0
            differ[:] = 0
            for k in range(size - 1):
                a, b = order[k], order[k + 1]
                d = 1 if table[a] != table[b] else 0
                changes += d
                if orbit[a] != orbit[b]:
                    differ[orbit[a]] += 1 - 2 * d
                    differ[orbit[b]] += 1 - 2 * d
            now += max(0, aim - changes) ** 2
            for u in range(units):
                missing[u] += max(0, aim - changes - differ[u]) ** 2
        if now < least:
            least, best = now, table.copy()
        if now == 0:
            break
        chosen, lowest = -1, np.inf
        for u in range(units):
            if missing[u] + chance[move, u] < lowest and (barred[u] <= move or missing[u] < least):
                chosen, lowest = u, missing[u] + chance[move, u]
        if chosen < 0:
            continue
        for k in range(size):
            if orbit[k] == chosen:
                table[k] = 1 - table[k]
        barred[chosen] = move + 3 + int(chance[move, 0] * units) // 4
    return best
