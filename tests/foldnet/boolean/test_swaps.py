"""Swaps values against brute force over orders, linear programming, random projections and the literature."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from experiments import swaps_classes, swaps_orders
from foldnet.__main__ import main
from foldnet.boolean import functions as F
from foldnet.boolean.orderings import corner_orders
from foldnet.boolean.swaps import class_changes, count_best_orders, fewest_changes, swaps, swaps_at_most, witness


def by_hand(f, weights, n):
    """Changes along a projection, counted one corner after the other; None where two classes fall together."""
    seen = {}
    for x, value in zip(F.corners(n).tolist(), F.truth_table(f, n).tolist()):
        seen.setdefault(sum(a * b for a, b in zip(weights, x)), set()).add(value)
    if any(len(values) > 1 for values in seen.values()):
        return None
    values = [next(iter(seen[place])) for place in sorted(seen)]
    return sum(a != b for a, b in pairwise(values))


def test_all_functions_of_three_inputs_by_all_orders():
    every = np.concatenate([F.symmetries(3)[:, o] for o in corner_orders(3)])
    assert len(np.unique(every, axis=0)) == 96
    t = F.truth_tables(np.arange(256), 3)
    brute = (t[:, every][..., 1:] != t[:, every][..., :-1]).sum(-1).min(-1)
    assert np.array_equal(swaps(t), brute)
    assert [swaps(f, 3) for f in (0, 1, 27, 105)] == brute[[0, 1, 27, 105]].tolist() == [0, 1, 3, 3]


def test_some_functions_of_five_inputs_by_all_orders():
    t = F.truth_tables(np.random.default_rng(3).integers(0, 2**32, 3), 5)
    brute = np.full(3, 32)
    for symmetry in F.symmetries(5):
        along = t[:, symmetry[corner_orders(5)]]
        brute = np.minimum(brute, (along[..., 1:] != along[..., :-1]).sum(-1).min(1))
    assert np.array_equal(swaps(t), brute)


def test_best_orders_by_all_orders():
    """Every function of three inputs, some of five: a new best begins the count anew, and 63 fit before they are added."""
    every = np.concatenate([F.symmetries(3)[:, o] for o in corner_orders(3)])
    t = F.truth_tables(np.arange(256), 3)
    found = (t[:, every][..., 1:] != t[:, every][..., :-1]).sum(-1)
    value, count = count_best_orders(t)
    assert np.array_equal(value, found.min(1))
    assert np.array_equal(2 * count, (found == found.min(1)[:, None]).sum(1))
    t = F.truth_tables([0, 27, 0x6996_9669, 3_141_592_653], 5)
    spread = np.zeros((4, 33), dtype=int)
    for symmetry in F.symmetries(5):
        along = t[:, symmetry[corner_orders(5)]]
        for row, k in zip(spread, (along[..., 1:] != along[..., :-1]).sum(-1)):
            row += np.bincount(k, minlength=33)
    value, count = count_best_orders(t)
    assert np.array_equal(value, (spread > 0).argmax(1))
    assert np.array_equal(2 * count, spread[np.arange(4), value])
    assert (value[0], count[0]) == (0, 990_720)


def test_best_orders_are_the_same_in_a_class_and_known_for_few_inputs():
    rng = np.random.default_rng(5)
    f = F.truth_table(int(rng.integers(0, 2**32)), 5)
    turned = [1 - f[s] for s in F.symmetries(5)[rng.integers(0, 3840, 5)]]
    assert len({count_best_orders(g) for g in [f, *turned]}) == 1
    assert [count_best_orders(F.parity(n)) for n in (1, 2, 3)] == [
        (1, 1),
        (2, 4),
        (3, 24),
    ]  # of 0 < a < b < c those with c < a + b
    with pytest.raises(ValueError, match="counted for at most 5 inputs; got 6"):
        count_best_orders(F.parity(6))


def test_a_part_of_the_run_on_orders():
    found = swaps_orders.cell(4, 2)
    which = swaps_classes.members(2, 4)
    value, count = count_best_orders(F.truth_tables(F.npn_classes(4)[which], 4))
    assert found["by"].sum() == len(which)
    assert found["by"].sum(1).tolist() == np.bincount(value, minlength=swaps_classes.MOST).tolist()
    assert found["one"] == (count == 1).sum() == found["by"][:, 0].sum()
    assert found["sample"].tolist() == count[which % swaps_classes.EVERY == 0].tolist()


@pytest.mark.parametrize(("n", "counts"), [(1, [1, 1]), (2, [1, 2, 1]), (3, [1, 5, 6, 2]), (4, [1, 14, 63, 93, 49, 2])])
def test_table_3_1_and_the_distribution_over_classes(n, counts):
    assert np.bincount(swaps(F.truth_tables(F.npn_classes(n), n))).tolist() == counts


def test_figure_3_2_shows_the_two_classes_with_five_swaps():
    numbers = F.npn_classes(4)
    assert numbers[swaps(F.truth_tables(numbers, 4)) == 5].tolist() == [1785, 7140]


def test_at_most_one_swap_means_linearly_separable():
    x = np.hstack([F.corners(4), np.ones((16, 1))])
    numbers = F.npn_classes(4)
    signs = 2.0 * F.truth_tables(numbers, 4) - 1
    separable = [linprog(np.zeros(5), -s[:, None] * x, -np.ones(16), bounds=(None, None)).status == 0 for s in signs]
    assert np.array_equal(swaps(F.truth_tables(numbers, 4)) <= 1, separable)
    assert sum(separable) == 15


@pytest.mark.parametrize("n", range(1, 7))
def test_parity_has_n_swaps(n):
    assert swaps(F.parity(n)) == n
    assert class_changes(F.parity(n), np.ones(n)) == n


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2**2**n - 1))))
@settings(max_examples=60, deadline=None)
def test_a_witness_attains_the_value_and_chance_does_not_beat_it(pair):
    n, f = pair
    found = witness(f, n)
    assert found.swaps == swaps(f, n) == class_changes(f, found.weights, n) == by_hand(f, found.weights.tolist(), n)
    place = F.corners(n) @ found.weights
    assert (np.diff(place[found.order]) > 0).all()
    assert found.swaps <= swaps_at_most(f, n, projections=300)


@given(st.integers(0, 2**32 - 1), st.integers(0, 3839), st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_value_belongs_to_the_class(f, which, negate):
    t = F.truth_table(f, 5)
    assert swaps(t) == swaps(t[F.symmetries(5)[which]] ^ negate)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_an_input_that_does_nothing_changes_nothing(n):
    """Functions of n inputs read as functions of n + 1: the value must stay, though it is computed from other orders."""
    rng = np.random.default_rng(n)
    for f in rng.integers(0, 2**2**n, 1 if n == 5 else 10):
        t = F.truth_table(int(f), n)
        assert swaps(np.repeat(t, 2)) == swaps(t)
        assert n == 5 or swaps(np.tile(t, 2)) == swaps(t)


def test_a_batch_of_any_shape_in_any_number_of_threads():
    t = F.truth_tables(np.random.default_rng(0).integers(0, 2**16, (3, 500)), 4)
    assert swaps(t).shape == (3, 500)
    assert np.array_equal(swaps(t, threads=1), swaps(t, threads=3))
    assert swaps(t)[1, 7] == swaps(t[1, 7])
    many = fewest_changes(t[0], np.arange(16, dtype=np.uint8)[None], corner_orders(4)[:1])
    along = t[0][:, corner_orders(4)[0]]
    assert np.array_equal(many, (along[:, 1:] != along[:, :-1]).sum(1))


@given(st.integers(0, 255), st.lists(st.integers(-4, 4), min_size=3, max_size=3))
def test_changes_with_ties(f, weights):
    expected = by_hand(f, weights, 3)
    assert class_changes(f, weights, 3) == (-1 if expected is None else expected)


def test_bounds_for_many_inputs():
    assert swaps_at_most(F.parity(8), projections=50) >= 8
    with pytest.raises(ValueError, match="at most 6 inputs; got 8: swaps_at_most"):
        swaps(F.parity(8))
    with pytest.raises(ValueError, match="not a batch"):
        witness(F.truth_tables([1, 2], 3))
    with pytest.raises(ValueError, match="weights"):
        class_changes(6, [1, 2, 3], 2)


def test_the_stored_run_counts_every_class_and_the_threshold_functions():
    parts = [swaps_classes.cell(4, part) for part in range(3)]
    values = swaps(F.truth_tables(F.npn_classes(4), 4))
    which = np.concatenate([swaps_classes.members(part, 4) for part in range(3)])
    assert np.array_equal(sum(p["classes"] for p in parts), np.bincount(values[which], minlength=swaps_classes.MOST))
    assert sum(p["degree"] for p in parts).sum() == len(which)
    packed = [n for p in parts for n in p["sample"]]
    assert np.array_equal(swaps_classes.unpacked(packed), values[which][which % swaps_classes.EVERY == 0])


def test_the_command_line(capsys):
    assert main(["swaps", "0110"]) == 0
    out = capsys.readouterr().out
    assert "function 6 of 2 inputs: swaps value 2" in out
    assert main(["swaps", "--inputs", "4", "1785"]) == 0
    assert "swaps value 5" in capsys.readouterr().out
    assert main(["swaps", "--classes", "3"]) == 0
    assert capsys.readouterr().out.split()[-3:] == ["3", "2", "26"]
    for wrong, words in [
        (["011"], "2**n entries"),
        (["0112"], "digits 0 and 1"),
        ([], "needs a truth table"),
        (["--classes", "6"], "1 to 5 inputs"),
        (["--inputs", "2", "0x6"], "by its number"),
        (["--inputs", "7", "1"], "at most 6 inputs"),
    ]:
        assert main(["swaps", *wrong]) == 2
        assert words in capsys.readouterr().err


def test_importing_needs_no_numba():
    code = "import sys, foldnet.boolean.swaps, foldnet.boolean.functions; assert not {'numba', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ))
