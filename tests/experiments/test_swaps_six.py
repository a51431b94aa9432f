"""Quadratic functions against NPN classes, orders with few changes against counting, and searches that end where they say."""

import numpy as np
import pytest

from experiments import swaps_six
from foldbook.chapters.swaps import RECORD, quadratic
from foldbook.stored import stored
from foldnet.boolean import functions
from foldnet.boolean.orderings import corner_orders
from foldnet.boolean.swaps import class_changes, swaps


@pytest.mark.parametrize("n", [4, 5])
def test_the_kinds_are_the_classes_of_quadratic_functions_of_rank_four(n):
    """Of degree two mod 2: products of pairs, single inputs; two quadratic functions of rank 2 or 0 depend on three inputs."""
    tables = np.array([quadratic(n, *kind) for kind in swaps_six.kinds(n)])
    found = functions.npn_canonical(tables)
    assert len(set(found.tolist())) == len(tables)
    rng, all_of_them = np.random.default_rng(0), set(found.tolist())
    pairs = [(i, j) for i in range(1, n + 1) for j in range(i + 1, n + 1)]
    seen = set()
    for _ in range(300):
        edges = [pair for pair in pairs if rng.integers(2)]
        rows = [sum(1 << (j if i == k else i) for i, j in edges if k in (i, j)) for k in range(1, n + 1)]
        if swaps_six._rank(rows) >= 4:
            seen.add(int(functions.npn_canonical(quadratic(n, edges, [k for k in range(1, n + 1) if rng.integers(2)]))))
    assert seen <= all_of_them
    assert len(seen) > len(all_of_them) // 2


def test_counting_gives_a_bound_that_is_true():
    largest = {2: 2, 3: 3, 4: 5, 5: 9}
    assert all(1 <= swaps_six.counting_bound(n) <= most for n, most in largest.items())
    assert swaps_six.counting_bound(6) == 8


def test_orders_with_few_changes_have_few_changes_and_none_is_missed():
    rng = np.random.default_rng(0)
    for table in rng.integers(0, 2, (5, 32)).astype(np.uint8):
        value = swaps(table)
        assert len(swaps_six.fewer(table, value, rng)) == 0
        orders = swaps_six.fewer(table, value + 1, rng)
        assert len(orders)
        assert ((table[orders][:, 1:] != table[orders][:, :-1]).sum(1) == value).all()
        assert {tuple(sorted(order)) for order in orders.tolist()} == {tuple(range(32))}


def test_a_symmetry_has_the_order_that_it_says():
    rng = np.random.default_rng(3)
    for _ in range(10):
        orbit, sign, group = swaps_six.symmetry(5, rng)
        sizes = np.bincount(orbit)
        assert np.lcm.reduce(sizes) == abs(group)
        assert set(sign.tolist()) == ({1, -1} if group < 0 else {1})
        if group < 0:
            assert (np.bincount(orbit, sign) == 0).all()


def test_searches_of_four_inputs_end_at_the_largest_value(monkeypatch):
    rng = np.random.default_rng(0)
    free = np.arange(16), np.ones(16, dtype=np.int8)
    monkeypatch.setattr(swaps_six, "ROUNDS", 10)
    ends = [swaps_six.search(*free, rng) for _ in range(4)]
    assert all(swaps(table) == value for value, table in ends)
    assert max(value for value, _ in ends) == 5


def test_a_search_may_begin_at_a_table_and_is_never_below_it(monkeypatch):
    monkeypatch.setattr(swaps_six, "ROUNDS", 2)
    begin = functions.truth_table(1785, 4)
    value, table = swaps_six.search(np.arange(16), np.ones(16, dtype=np.int8), np.random.default_rng(0), begin)
    assert value == swaps(table) == 5


def test_the_stored_searches_say_what_their_functions_have():
    """The largest value that a search of six inputs ended at, computed anew; and the record is among the quadratic functions."""
    run = stored("swaps_six")
    ends = [row for row in run.rows if row.cell["kind"] == "search"]
    for n in (5, 6):
        best = max((row for row in ends if row.cell["inputs"] == n), key=lambda row: row["value"])
        assert swaps(int(best["table"], 16), n) == best["value"]
    quadratics = np.concatenate([row["values"] for row in run.rows if row.cell["kind"] == "quadratic"])
    assert len(quadratics) == len(swaps_six.kinds(6))
    assert quadratics.max() >= 17
    order = corner_orders(6)[0]
    assert class_changes(quadratic(*RECORD), [9, 31, 23, 34, 21, 37]) == 17 <= (np.diff(quadratic(*RECORD)[order]) != 0).sum()
