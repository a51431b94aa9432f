"""The orders of the cube's corners: the list, its length by another road, and orders met by chance."""

import numpy as np
import pytest

from foldnet.boolean import _ordering_kernel, _swaps_kernel
from foldnet.boolean.functions import corners
from foldnet.boolean.orderings import corner_orders, count_corner_orders, ordering_weights

A009997 = {1: 1, 2: 1, 3: 2, 4: 14, 5: 516, 6: 124187}


@pytest.mark.parametrize(("n", "count"), A009997.items())
def test_as_many_orders_as_the_oeis_and_the_finite_field_say(n, count):
    assert count_corner_orders(n) == count
    assert ordering_weights(n).shape == (count, n)
    assert len(np.unique(corner_orders(n), axis=0)) == count


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_weights_are_ascending_without_ties_and_give_the_orders(n):
    w = ordering_weights(n)
    assert (w[:, 0] > 0).all()
    assert (np.diff(w, axis=1) > 0).all()
    some = np.random.default_rng(n).choice(len(w), min(len(w), 500), replace=False)
    for k in some:
        sums = [sum(int(a) * b for a, b in zip(w[k], x)) for x in corners(n, low=0).tolist()]
        assert len(set(sums)) == 2**n
        assert corner_orders(n)[k].tolist() == sorted(range(2**n), key=sums.__getitem__)


@pytest.mark.parametrize(("n", "draws"), [(3, 2000), (4, 20_000), (5, 20_000), (6, 5_000)])
def test_an_order_met_by_chance_is_in_the_list(n, draws):
    w = np.sort(np.abs(np.random.default_rng(n).normal(size=(draws, n))), axis=1)
    met = np.argsort(w @ corners(n, low=0).T, axis=1).astype(np.uint8)
    known = {o.tobytes() for o in corner_orders(n)}
    assert {o.tobytes() for o in met} <= known


def test_the_search_finds_the_smallest_weights_and_stops_short_without_them():
    assert len(_ordering_kernel.small_weights(4, 14, 10)) == 14
    assert len(_ordering_kernel.small_weights(4, 14, 9)) < 14
    assert len(_ordering_kernel.small_weights(5, 516, 29)) < 516
    assert ordering_weights(6).max() == 114


@pytest.mark.parametrize("n", [1, 3, 5])
def test_the_tree_holds_every_first_half_once(n):
    depth, point = _swaps_kernel.prefix_tree(corner_orders(n))
    path, halves = {}, []
    for d, p in zip(depth.tolist(), point.tolist()):
        path[d] = p
        if d == 2**n // 2 - 1:
            halves.append([path[i] for i in range(d + 1)])
    assert sorted(halves) == sorted(corner_orders(n)[:, : 2**n // 2].tolist())


def test_the_far_half_mirrors_the_near_one():
    for n in (3, 4, 5):
        assert np.array_equal(corner_orders(n)[:, ::-1], 2**n - 1 - corner_orders(n))


def test_seven_inputs_are_refused_with_their_number():
    with pytest.raises(ValueError, match="214,580,603"):
        ordering_weights(7)
