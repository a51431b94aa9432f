"""Pictures of functions on cubes, read back from the axes, and the dissertation's cases against all orders."""

from itertools import pairwise, product
from math import comb

import numpy as np
import pytest
from matplotlib.colors import same_color
from scipy.spatial.distance import pdist, squareform

from foldbook.chapters import swaps
from foldnet import plots
from foldnet.boolean.functions import corners, fourier, npn_classes, symmetries, truth_tables
from foldnet.boolean.orderings import corner_orders, ordering_weights
from foldnet.boolean.swaps import swaps as exact_swaps


def lines(ax) -> list[np.ndarray]:
    """The ends of each line drawn without a marker, `(2, 2)` each."""
    return [line.get_xydata() for line in ax.get_lines() if line.get_marker() == "None"]


def dots(ax) -> dict[bool, set]:
    """Places of the empty and of the filled corners, rounded."""
    drawn = [line for line in ax.get_lines() if line.get_marker() == "o"]
    return {not same_color(d.get_markerfacecolor(), "white"): set(map(tuple, d.get_xydata().round(9))) for d in drawn}


@pytest.fixture
def ax():
    fig, ax = plots.subplots()
    yield ax
    fig.clear()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_edges_join_corners_that_differ_in_one_input(n):
    apart = squareform(pdist(corners(n), "hamming")) * n
    joined = np.zeros((2**n, 2**n), dtype=bool)
    joined[tuple(swaps.cube_edges(n).T)] = True
    assert len(swaps.cube_edges(n)) == n * 2 ** (n - 1)
    assert np.array_equal(joined | joined.T, np.isclose(apart, 1))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_corners_are_drawn_apart_and_a_cube_by_parallel_edges(n):
    at = swaps.corner_places(n)
    assert at.shape == (2**n, 2)
    assert n == 1 or pdist(at).min() > 0.2
    if n < 4:  # edges along one input are equal as vectors
        ways = {tuple((at[j] - at[i]).round(9)) for i, j in swaps.cube_edges(n)}
        assert len(ways) == n
    else:  # the inner cube is the outer one, smaller
        inner, outer = at[:8], at[8:]
        assert np.allclose(inner, 0.4 * outer)
        assert np.allclose(outer, swaps.corner_places(3))


def test_only_one_to_four_inputs_have_places():
    for n in (0, 5):
        with pytest.raises(ValueError, match=f"1 to 4 inputs; got {n}"):
            swaps.corner_places(n)


@pytest.mark.parametrize(("f", "n"), [("0110", None), ("00010111", None), (5000, 4)])
def test_a_cube_has_its_edges_and_fills_the_ones(ax, f, n):
    swaps.draw_cube(ax, f, n, title="a function")
    digits = f if n is None else f"{f:016b}"
    inputs = len(digits).bit_length() - 1
    at = swaps.corner_places(inputs).round(9)
    assert dots(ax) == {bit == "1": {tuple(p) for p, d in zip(at, digits) if d == bit} for bit in "01"}
    assert len(lines(ax)) == inputs * 2 ** (inputs - 1)
    for ends in lines(ax):
        i, j = (int(np.flatnonzero(np.isclose(at, end).all(1))[0]) for end in ends)
        assert bin(i ^ j).count("1") == 1
    assert ax.get_title() == "a function"


def test_corners_may_stand_elsewhere(ax):
    at = np.array([[0, 0], [3, 1], [1, 4], [5, 5]], dtype=float)
    swaps.draw_cube(ax, "0111", at=at)
    assert dots(ax) == {False: {(0.0, 0.0)}, True: {(3.0, 1.0), (1.0, 4.0), (5.0, 5.0)}}


def test_a_projection_puts_corners_on_one_line(ax):
    swaps.draw_projection(ax, "0110", [2.0, 1.0], height=0.5)  # -3, -1, 1, 3: the ones lie in the middle
    assert dots(ax) == {False: {(-3.0, 0.5), (3.0, 0.5)}, True: {(-1.0, 0.5), (1.0, 0.5)}}
    assert [ends.tolist() for ends in lines(ax)] == [[[-3.0, 0.5], [3.0, 0.5]]]


# ---- the dissertation's cases ------------------------------------------------------------------------------------------------


def test_the_printed_cases_leave_four_inputs_open():
    for n, sizes in [(3, [1, 1]), (4, [4, 3, 1, 2, 3, 1])]:
        _, count = np.unique(swaps.case_codes(ordering_weights(n)), axis=0, return_counts=True)
        assert count.tolist() == sizes
    open_question = np.array([[3, 5, 6, 7], [3, 5, 7, 9]])  # w_4 below and above w_1 + w_2
    assert np.array_equal(*swaps.case_codes(open_question))
    order = np.argsort(open_question @ corners(4, low=0).T, axis=1)
    assert not np.array_equal(*order)


def test_thirteen_of_seventy_two_choices_are_right():
    t = truth_tables(npn_classes(4), 4)
    fewest = swaps.fewest_by_weights(t, ordering_weights(4))
    exact = fewest.min(1)
    assert np.bincount(exact).tolist() == [1, 14, 63, 93, 49, 2]
    case = np.unique(swaps.case_codes(ordering_weights(4)), axis=0, return_inverse=True)[1].ravel()
    got = np.array([fewest[:, list(c)].min(1) for c in product(*(np.flatnonzero(case == k) for k in range(6)))])
    assert len(got) == 72
    assert (got == exact).all(1).sum() == 13
    assert (got.max(1) == 6).sum() == 36


def test_the_cases_tell_equal_from_between():
    assert swaps.case_codes([0, 0, 0]).tolist() == [0, 0, 0]
    assert swaps.case_codes([1, 1, 2]).tolist() == [1, 0, 2]
    assert swaps.case_codes([1, 2, 3]).tolist() == [1, 1, 2]
    assert swaps.case_codes([2, 3, 4]).tolist() == [1, 1, 1]
    assert swaps.case_codes([1, 2, 4]).tolist() == [1, 1, 3]
    with pytest.raises(ValueError, match="0 <= w_1"):
        swaps.case_codes([2, 1])


def test_the_algorithm_as_printed_is_right_on_three_inputs():
    wrong = [f for f in range(256) if f % 17 == 0 and swaps.swaps_as_printed(f, 3) != _brute(f)]
    assert wrong == []


def _brute(f):
    t = np.array([f >> k & 1 for k in range(7, -1, -1)])
    along = t[symmetries(3).astype(int)][:, corner_orders(3).astype(int)]
    return (along[..., 1:] != along[..., :-1]).sum(-1).min()


def test_a_quadratic_function_is_the_sum_of_its_products():
    f = swaps.quadratic(3, [(1, 2), (2, 3)], [3])
    assert f.tolist() == [(a * b + b * c + c) % 2 for a, b, c in product((0, 1), repeat=3)]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_mean_changes_are_the_means_over_all_images_of_an_order(n):
    tables = truth_tables(npn_classes(n), n)
    weight = (fourier(tables) ** 2)[:, None, :] * (corners(n, low=0).sum(1) == np.arange(n + 1)[:, None])
    predicted = weight.sum(2) @ swaps.mean_changes(n).T
    along = tables[:, symmetries(n).astype(int)[:, corner_orders(n)]]
    plain = (along[..., 1:] != along[..., :-1]).sum(-1).mean(1)
    for row, means in zip(predicted, plain):
        assert {round(v, 9) for v in row} == {round(v, 9) for v in means}


def test_the_averaged_bound_holds_for_all_functions_of_four_inputs():
    tables = truth_tables(npn_classes(4), 4)
    bound, at_degree = swaps.averaged_bound(4)
    weight = (fourier(tables) ** 2) @ np.eye(5)[corners(4, low=0).sum(1).astype(int)]
    assert bound == pytest.approx(8)
    assert (exact_swaps(tables) <= weight @ at_degree + 1e-9).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_an_exact_mixture_has_as_many_neighbours_at_each_distance_as_a_corner_has(n):
    mixture = swaps.exact_mixture(n)
    assert sum(share for share, _ in mixture) == 1
    assert all(share > 0 for share, _ in mixture)
    assert [sum(share * row[d] for share, row in mixture) for d in range(n)] == [comb(n, d + 1) for d in range(n)]
    if n < 5:  # random lines meet every kind of order
        x = np.arange(2**n)[:, None] >> np.arange(n) & 1
        orders = np.argsort(np.random.default_rng(n).random((3000, n)) @ x.T, axis=1).tolist()
        known = {tuple(np.bincount([(a ^ b).bit_count() for a, b in pairwise(o)], minlength=n + 1)[1:]) for o in orders}
        assert {row for _, row in mixture} <= known


def test_without_a_mixture_there_is_none(monkeypatch):
    monkeypatch.setattr(swaps, "_profiles", lambda n: np.array([[2, 4, 1]]))
    assert swaps.exact_mixture(3) == []
