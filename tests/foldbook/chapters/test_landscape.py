"""Chances to be alone, against enumeration and simulation, and targets of a least-squares fit."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldbook.chapters.landscape import MODELS, alone_share, least_squares_targets, lonely_probability, simulate
from foldnet.splines import landscape as land
from foldnet.splines.initialization import gaussian
from foldnet.splines.partitions import lonely

nets = st.builds(lambda width, seed: gaussian(width, 1.0, 1.0, 1.0, seed=seed), st.integers(1, 6), st.integers(0, 10_000))
x = torch.linspace(-2.05, 2.0, 15, dtype=torch.float64)


@pytest.mark.parametrize(("points", "breakpoints"), [(1, 0), (2, 1), (2, 3), (3, 2), (3, 5), (4, 6), (4, 2)])
def test_counts_by_enumerating_every_order(points, breakpoints):
    places = range(points + breakpoints)
    orders = list(itertools.combinations(places, points))
    flags = [lonely([p for p in places if p not in order], order).item() for order in orders]
    assert lonely_probability(points, breakpoints, "random") == pytest.approx(sum(flags) / len(flags), abs=1e-15)


@pytest.mark.parametrize(("points", "breakpoints"), [(1, 3), (3, 2), (3, 4), (4, 2)])
def test_grid_probability_and_share_by_enumerating_every_cell(points, breakpoints):
    cells = list(itertools.product(range(breakpoints + 1), repeat=points))
    assert lonely_probability(points, breakpoints, "grid") == pytest.approx(np.mean([len(set(c)) == points for c in cells]))
    assert alone_share(points, breakpoints, "grid") == pytest.approx(np.mean([c.count(c[0]) == 1 for c in cells]))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("points", "breakpoints"), [(5, 20), (10, 60), (20, 300)])
def test_simulation_agrees_with_the_exact_chances(points, breakpoints, model):
    lonely, alone = simulate(points, breakpoints, model, draws=10_000, seed=7)
    exact = lonely_probability(points, breakpoints, model)
    assert abs(lonely - exact) < 4 * math.sqrt(exact * (1 - exact) / 10_000)
    assert abs(alone - alone_share(points, breakpoints, model)) < 0.01


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 60), st.floats(1, 20))
def test_exp_of_minus_n_squared_bounds_both_models_from_below(points, alpha):
    breakpoints = math.ceil(alpha * points**2)
    for model in MODELS:
        assert lonely_probability(points, breakpoints, model) > math.exp(-(points**2) / (breakpoints + 1))


@settings(deadline=None, max_examples=40)
@given(nets, st.integers(0, 1000))
def test_least_squares_on_every_piece_is_critical(net, seed):
    targets = least_squares_targets(net, x, seed=seed)
    assert land.gradient(net, x, targets).abs().max() < 1e-10
    columns = land.generators(net, x)
    assert torch.allclose(land.hessian(net, x, targets), columns.mT @ columns, atol=1e-10)


@pytest.mark.parametrize(
    ("points", "breakpoints", "model", "sentence"),
    [
        (3, 5, "even", "'grid' or at 'random'"),
        (0, 5, "random", "at least one data point"),
        (2.5, 5, "random", "in whole numbers; got 2.5 and 5"),
    ],
)
def test_bad_input_gets_one_sentence(points, breakpoints, model, sentence):
    with pytest.raises(ValueError, match=sentence):
        lonely_probability(points, breakpoints, model)
