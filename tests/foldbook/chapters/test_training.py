"""Ranks, intervals, measures and fits, against scipy and scikit-learn; families of functions corner by corner."""

import numpy as np
import pytest
from scipy import stats

from foldbook.chapters import training
from foldnet.boolean import functions


@pytest.mark.parametrize(("k", "n"), [(0, 100), (3, 100), (50, 100), (100, 100), (7, 10_000)])
def test_wilson(k, n):
    low, high = training.wilson_interval(k, n)
    expected = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    with pytest.raises(ValueError, match="successes are between"):
        training.wilson_interval(n + 1, n)


def test_at_least_once():
    rate = np.array([0.0, 1e-4, 0.01, 0.5, 1.0])
    assert training.at_least_once(rate, 100) == pytest.approx(1 - (1 - rate) ** 100, abs=1e-12)


def test_rank_correlation_with_ties_is_scipys():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, 300), rng.normal(size=300)
    b = b + 0.5 * a
    assert training.rank_correlation(a, b) == pytest.approx(stats.spearmanr(a, b)[0], abs=1e-12)
    assert training.ranks(a).tolist() == (stats.rankdata(a) - 1).tolist()
    assert training.rank_correlation(np.ones(5), np.arange(5)) == 0
    low, high = training.rank_interval(a, b, draws=300)
    assert low < stats.spearmanr(a, b)[0] < high
    # Fisher's approximation has the same width
    assert high - low == pytest.approx(2 * 1.96 / np.sqrt(300) * (1 - training.rank_correlation(a, b) ** 2), rel=0.35)


def test_the_ceiling_is_what_the_truth_itself_reaches():
    rng = np.random.default_rng(1)
    rate = rng.uniform(0, 1, 20_000)
    first, second = rng.binomial(20, rate), rng.binomial(20, rate)
    assert training.correlation_ceiling(first, second) == pytest.approx(
        training.rank_correlation(rate, first + second), abs=0.005
    )
    assert training.correlation_ceiling(first, -second) == 0


def test_measures_and_spectrum():
    f = functions.truth_tables(functions.npn_classes(4), 4)
    known, levels = training.measures(f), training.spectrum(f)
    assert levels.sum(1) == pytest.approx(np.ones(222), abs=1e-12)
    assert levels @ np.arange(5) == pytest.approx(known["influence"], abs=1e-12)
    assert known["degree"].tolist() == [max(k for k in range(5) if row[k] > 0) for row in levels]
    assert known["balance"].tolist() == [min(t.sum(), 16 - t.sum()) for t in f.astype(int)]
    assert np.array_equal(known["entropy"], functions.fourier_entropy(f))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_ranks_do_not_hang_on_the_unit(scale):
    a, b = np.array([3.0, 1.0, 2.0, 2.0]), np.array([4.0, 1.0, 3.0, 2.0])
    assert training.ranks(scale * a).tolist() == [3.0, 0.0, 1.5, 1.5]
    assert training.rank_correlation(scale * a, b) == pytest.approx(training.rank_correlation(a, b))
    assert training.ranks([np.inf, scale, -np.inf, 0.0]).tolist() == [3.0, 2.0, 0.0, 1.0]


def test_with_parity_is_xor_corner_by_corner():
    for n in (4, 6):
        x = functions.corners(n, low=0)
        f = functions.truth_table(406, 4)
        expected = [f[int("".join(map(str, row[:4])), 2)] ^ (row.sum() % 2) for row in x]
        assert training.with_parity(f, n).tolist() == expected
    assert np.array_equal(training.with_parity(np.zeros(16), 7), functions.parity(7))
    with pytest.raises(ValueError, match="no function of the first"):
        training.with_parity(f, 3)


def test_random_functions_are_fair_and_the_same_everywhere():
    f = training.random_functions(10, 50)
    assert f.shape == (50, 1024)
    assert f.mean() == pytest.approx(0.5, abs=0.01)
    assert np.array_equal(f, training.random_functions(10, 50))
    assert not np.array_equal(f, training.random_functions(10, 50, seed=1))
