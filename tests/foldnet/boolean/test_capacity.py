"""Networks of one variable built by hand: exact on hundreds of instances, ugly ones too, and no smaller than they must be."""

from fractions import Fraction as F
from itertools import product
from math import prod

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.boolean.capacity import (
    deep_wave,
    interpolate,
    least_width,
    most_changes,
    parity_line,
    separate,
    wave,
    with_changes,
)
from foldnet.boolean.exact import exact_spline, sign_changes
from foldnet.nets import ReLUNet

leaks = st.sampled_from([F(0), F(1, 10), F(1, 2), F(99, 100)])
signs = st.sampled_from([1, -1])
numbers = st.one_of(
    st.fractions(-100, 100, max_denominator=60), st.builds(lambda k, e: F(k, 10**e), st.integers(-9, 9), st.integers(0, 30))
)
increasing = st.lists(numbers, min_size=2, max_size=9, unique=True).map(sorted)
BAD = [(-1, 1), (101, "101.01"), ("101.02", "101.03")]


@settings(deadline=None, max_examples=30)
@given(increasing, st.data(), leaks)
def test_interpolation_is_exact_and_bends_only_at_the_points(x, data, leak):
    y = data.draw(st.lists(numbers, min_size=len(x), max_size=len(x)))
    net = interpolate(x, y, leak)
    assert [net(t) for t in x] == y
    assert net.sizes == (1, len(x) - 1, 1)
    f = exact_spline(net)
    kinks = {t for t, a, b in zip(f.knots, f.slopes, f.slopes[1:]) if a != b}
    assert kinks <= set(x[:-1])


def test_the_float_twin_interpolates_up_to_rounding_at_any_scale():
    for scale in (1e-9, 1.0, 1e12):
        x = np.sort(np.random.default_rng(3).normal(size=8)) * scale
        y = np.random.default_rng(4).normal(size=8)
        values = interpolate(x, y, 0.25).float()(x[:, None])[:, 0].numpy()
        assert np.allclose(values, y, rtol=0, atol=1e-11)


@settings(deadline=None, max_examples=30)
@given(st.lists(numbers, min_size=4, max_size=14, unique=True).map(sorted), leaks, signs)
def test_intervals_are_separated(ends, leak, first):
    intervals = list(zip(ends[::2], ends[1::2]))
    net = separate(intervals, leak, first)
    assert net.sizes == (1, len(intervals) - 1, 1)
    changes = sign_changes(net)
    for i, (a, b) in enumerate(intervals):
        assert net((a + b) / 2) * first * (-1) ** i > 0
        assert not any(a < z < b for z in changes)


def test_the_printed_heights_fail_left_of_the_first_middle():
    printed, repaired = (sign_changes(separate(BAD, "1/10", as_printed=p)) for p in (True, False))
    assert float(printed[0]) == pytest.approx(-0.10199, abs=1e-5)
    assert -1 < printed[0] < 1
    assert not any(-1 < z < 1 for z in repaired)
    assert not any(-1 < z < 1 for z in sign_changes(separate(BAD, 0, as_printed=True)))


@settings(deadline=None, max_examples=40)
@given(st.lists(numbers, min_size=1, max_size=9, unique=True).map(sorted), leaks, signs)
def test_changes_of_sign_stand_where_they_are_wanted_and_nowhere_else(zeros, leak, first):
    net = with_changes(zeros, leak, first)
    assert sign_changes(net) == tuple(zeros)
    assert net(zeros[0] - 1) * first > 0
    assert net.sizes == (1, least_width(len(zeros), leak), 1)


def test_least_widths():
    assert [least_width(s) for s in range(1, 8)] == [1, 2, 3, 3, 4, 5, 6]
    assert [least_width(s, "1/10") for s in range(1, 8)] == [1, 2, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("leak", [0.0, 0.1, 0.5])
def test_slopes_alternate_where_a_linear_programme_finds_a_way(leak):
    """Independent of the formula: the slopes of each node, with its output weight as the unknown."""
    from scipy.optimize import linprog

    for width in range(1, 6):
        found = False
        for facing in product((1, -1), repeat=width):
            on = [[leak if (way > 0) == (piece <= i) else 1.0 for i, way in enumerate(facing)] for piece in range(width + 1)]
            slopes = np.array(on) * facing  # slope of the piece = slopes @ output weights
            alternate = -slopes * ((-1.0) ** np.arange(width + 1))[:, None]
            for turned in (1, -1):
                result = linprog(np.zeros(width), turned * alternate, -np.ones(width + 1), bounds=[(None, None)] * width)
                found |= result.status == 0
        assert found == (most_changes(width, F(leak)) == width + 1)


@pytest.mark.parametrize(("width", "leak"), [(1, 0.0), (1, 0.3), (2, 0.0), (2, 0.3), (3, 0.0)])
def test_random_networks_never_change_sign_more_often(width, leak):
    nets = ReLUNet.random((1, width, 1), batch=4000, leak=leak, seed=width)
    x = torch.linspace(-40, 40, 801, dtype=torch.float64)[:, None]
    count = (nets(x)[..., 0].sign().diff(dim=-1) != 0).sum(-1)
    assert count.max() <= most_changes(width, F(leak))


@pytest.mark.parametrize("leak", [F(0), F(1, 10), F(1, 2)])
@pytest.mark.parametrize("widths", [(1,), (2,), (5,), (2, 2), (3, 2), (2, 3), (3, 3), (2, 2, 2), (4, 3), (3, 1, 2)])
def test_waves_compose(widths, leak):
    number = prod(widths)
    inside = [z for z in sign_changes(deep_wave(widths, leak, (-3, 5))) if -3 <= z <= 5]
    assert inside == [-3 + F(8, number) * (i + F(1, 2)) for i in range(number)]
    assert len(sign_changes(deep_wave(widths, leak, longest=True))) == most_changes(widths, leak)


@pytest.mark.parametrize("longest", [False, True])
def test_each_piece_of_a_wave_runs_between_zero_and_one(longest):
    for width, leak in product(range(1, 7), (F(0), F(1, 3))):
        net = wave(width, leak, longest)
        f = exact_spline(net)
        inside = [v for t, v in zip(f.knots, f.values) if 0 < t < 1]
        ends = [net(0), *inside, net(1)]
        assert ends == [i % 2 for i in range(len(ends))]
        assert len(ends) - 1 == (most_changes(width, leak) if longest else width)


@pytest.mark.parametrize("leak", [F(0), F(1, 10)])
@pytest.mark.parametrize("widths", [(1,), (2,), (3,), (2, 2), (2, 3), (3, 2), (2, 2, 2)])
def test_parity_along_the_line_for_every_number_of_bits_that_is_promised(widths, leak):
    most = prod(widths[:-1]) * most_changes(widths[-1], leak)
    assert most >= prod(widths)
    for n in range(1, most + 1):
        net = parity_line(n, widths, leak)
        assert all(net(k) * (-1) ** k < 0 for k in range(n + 1))
        assert net.sizes == (1, *widths, 1)


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: interpolate([0, 1, 1], [1, 2, 3]), "without duplicates; number 2"),
        (lambda: interpolate([1, 0], [1, 2]), "increasing"),
        (lambda: interpolate([1], [1]), "two points"),
        (lambda: interpolate([0, 1], [1, float("inf")]), "finite"),
        (lambda: interpolate([0, 1], [1, 2], leak=1), r"\[0, 1\)"),
        (lambda: separate([(0, 1)]), "two intervals"),
        (lambda: separate([(0, 2), (1, 3)]), "no room"),
        (lambda: separate([(0, 0), (0, 3)]), "no room"),
        (lambda: separate([(2, 1), (3, 4)]), "start <= end"),
        (lambda: separate([(0, 1), (2, 3)], first=0), "1 or -1"),
        (lambda: with_changes([]), "at least one"),
        (lambda: with_changes([1, 1]), "duplicates"),
        (lambda: least_width(0), "no node"),
        (lambda: most_changes(()), "at least one node"),
        (lambda: wave(0), "at least one piece"),
        (lambda: deep_wave([2], interval=(1, 1)), "start < end"),
        (lambda: deep_wave([]), "one hidden layer"),
        (lambda: parity_line(5, (2, 2)), "1 to 4 bits; got 5"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()
