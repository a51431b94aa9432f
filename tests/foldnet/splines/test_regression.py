"""Optimal continuous piecewise linear regression: against brute force over gaps and signs, local search and known answers."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, minimize

from foldnet.splines.regression import fewest_knots, optimal


def brute_force(x, y, pieces):
    """The least loss over every choice of gaps for the knots and of the signs of their jumps, a least-squares problem each.

    In a gap [l, r] a knot with a jump of one sign is a combination of the hinges at l and r with coefficients of that sign.
    """
    best = np.inf
    hinge = lambda t: np.maximum(x - t, 0)  # noqa: E731
    for gaps in itertools.combinations_with_replacement(range(len(x) - 1), pieces - 1):
        for signs in itertools.product((1, -1), repeat=pieces - 1):
            columns = [s * hinge(x[g + e]) for g, s in zip(gaps, signs) for e in (0, 1)]
            a = np.stack([np.ones_like(x), x, *columns], axis=1)
            low = np.r_[-np.inf, -np.inf, np.zeros(len(columns))]
            best = min(best, lsq_linear(a, y, (low, np.inf), method="bvls", tol=1e-13).cost)
    return best


def data(n, seed, kind):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 1, n))
    return x, rng.normal(size=n) if kind == "noise" else np.sin(4 * x) + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("n", "most", "seed", "kind"),
    [(6, 4, 0, "noise"), (7, 4, 1, "noise"), (8, 3, 2, "noise"), (9, 3, 3, "sine"), (8, 4, 9, "noise"), (9, 4, 1, "noise")],
)
def test_optimum_is_that_of_brute_force(n, most, seed, kind):
    x, y = data(n, seed, kind)
    for k, found in enumerate(optimal(x, y, most), 1):
        assert found.loss == pytest.approx(brute_force(x, y, k), rel=1e-7, abs=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_no_choice_of_knots_is_better(seed):
    """Given the knots, least squares; seven places in each gap, then Nelder-Mead: never below the optimum, and it gets there."""
    x, y = data(12, seed, "noise")
    places = np.concatenate([np.linspace(l, r, 8)[:-1] for l, r in itertools.pairwise(x)])

    def loss(knots):
        a = np.stack([np.ones_like(x), x, *(np.maximum(x - t, 0) for t in knots)], axis=1)
        return 0.5 * np.sum((a @ np.linalg.lstsq(a, y, rcond=None)[0] - y) ** 2)

    for k in (2, 3):
        found = optimal(x, y, k)[-1].loss
        starts = sorted(itertools.combinations(places, k - 1), key=loss)[:3]
        tried = [minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13}).fun for start in starts]
        assert found <= min(tried) + 1e-7  # two knots in one gap make a jump, with slopes of 1e8: that much is rounding
        assert found == pytest.approx(min(tried), rel=1e-5)


@settings(deadline=None, max_examples=40)
@given(st.integers(3, 14), st.integers(1, 5), st.integers(0, 10_000))
def test_fit_is_continuous_has_its_pieces_and_its_loss(n, k, seed):
    x, y = data(n, seed, "noise")
    all_fits = optimal(x, y, min(k, n - 1))
    found = all_fits[-1]
    knots, values = found.fit.knots.numpy(), found.fit(x).numpy()
    assert len(knots) <= min(k, n - 1) - 1
    assert (np.diff(knots) >= 0).all()
    assert 0.5 * np.sum((values - y) ** 2) == pytest.approx(found.loss, rel=1e-7, abs=1e-10)
    left, right = found.fit.slopes[:-1] * found.fit.knots + found.fit.intercepts[:-1], found.fit.slopes[1:] * found.fit.knots
    assert np.allclose(left, right + found.fit.intercepts[1:], atol=1e-7 * (1 + np.abs(left).max() if len(knots) else 1))
    assert all(a.loss >= b.loss - 1e-12 for a, b in itertools.pairwise(all_fits))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.floats(-5, 5), st.floats(0.1, 50), st.floats(-20, 20))
def test_affine_changes_of_the_data_change_nothing(seed, slope, scale, shift):
    x, y = data(10, seed, "noise")
    plain = [f.loss for f in optimal(x, y, 4)]
    moved = [f.loss for f in optimal(scale * x + shift, y + slope * x + 3, 4)]
    mirrored = [f.loss for f in optimal(-x, y, 4)]
    assert moved == pytest.approx(plain, rel=1e-6, abs=1e-9)
    assert mirrored == pytest.approx(plain, rel=1e-6, abs=1e-9)


def test_a_piecewise_linear_target_is_found():
    x = np.linspace(-1, 1, 25)
    y = 1 + 2 * x - 3 * np.maximum(x + 0.37, 0) + 4 * np.maximum(x - 0.411, 0)
    two, three = optimal(x, y, 3)[1:]
    assert two.loss > 1e-2
    assert three.loss < 1e-20
    assert three.fit.knots.tolist() == pytest.approx([-0.37, 0.411], abs=1e-9)
    assert three.fit.slopes.tolist() == pytest.approx([2, -1, 3], abs=1e-9)


def test_last_number_of_pieces_interpolates():
    x, y = data(7, 5, "noise")
    assert optimal(x, y, 6)[-1].loss < 1e-20


def test_values_may_come_from_a_network_that_is_trained():
    """They carry gradients, which the fit does not need."""
    x, y = (torch.tensor(a) for a in data(6, 0, "sine"))
    found = optimal(x, y.clone().requires_grad_(), 2)
    assert [one.loss for one in found] == [one.loss for one in optimal(x, y, 2)]
    assert not found[-1].fit.knots.requires_grad


def test_order_of_the_data_does_not_matter():
    x, y = data(15, 8, "sine")
    shuffle = np.random.default_rng(0).permutation(15)
    assert optimal(x[shuffle], y[shuffle], 4)[-1].loss == pytest.approx(optimal(x, y, 4)[-1].loss)


@pytest.mark.parametrize(
    ("jumps", "count"),
    [
        ([], 0),
        ([0, 0], 0),
        ([1], 1),
        ([1, 2], 1),
        ([1, -2], 2),
        ([1, 0, 2], 2),
        ([1, 2, 3], 2),
        ([1, 2, 3, 4], 2),
        ([1, 2, -1], 2),
        ([1, -2, 1], 3),
        ([1, 1, 1, 1, 1], 3),
        ([-1, 1, 1, -1], 3),
        ([1, -1, -1, 1, 1], 3),
    ],
)
def test_fewest_knots_by_hand(jumps, count):
    found, knots = fewest_knots(jumps)
    assert found == count
    again = np.zeros(len(jumps) + 1)
    for n, left, right in knots:
        assert left * right >= 0
        again[n] += left
        again[n + 1] += right
    assert again[: len(jumps)].tolist() == list(map(float, jumps))
    assert again[-1] == 0


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: optimal([0, 1, 1, 2], [1, 2, 3, 4], 2), "two data points stand at x = 1"),
        (lambda: optimal([0, 1, 2], [1, 2, 3], 3), "2 pieces already interpolate 3 points"),
        (lambda: optimal([0, 1, 2], [1, 2, 3], 0), "at least 1"),
        (lambda: optimal([0, 1, 2], [1, 2], 1), "one length"),
        (lambda: optimal([0, 1, np.nan], [1, 2, 3], 1), "NaN"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()
