"""Lonely partitions, against brute force, exact enumeration and simulation."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.splines import partitions as part
from foldnet.splines.breakpoints import hinges

seeds = st.integers(0, 10_000)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 8), st.integers(0, 12), seeds)
def test_alone_is_what_its_definition_says(points, breakpoints, seed):
    x, beta = part.scatter(points, breakpoints, "random", (), seed)
    by_hand = [
        not any(m != n and not any(min(x[m], x[n]) < b < max(x[m], x[n]) for b in beta) for m in range(points))
        for n in range(points)
    ]
    assert part.alone(beta, x).tolist() == by_hand
    assert part.lonely(beta, x).item() == all(by_hand)


def test_a_batch_is_its_partitions():
    x, beta = part.scatter(6, 15, "random", (3, 4), seed=1)
    one_by_one = [[part.lonely(beta[i, j], x[i, j]).item() for j in range(4)] for i in range(3)]
    assert part.lonely(beta, x).tolist() == one_by_one
    assert part.piece_of(beta[0, 0], x).shape == (3, 4, 6)


@pytest.mark.parametrize(("points", "breakpoints"), [(1, 0), (2, 1), (2, 3), (3, 2), (3, 5), (4, 6), (4, 2)])
def test_counts_by_enumerating_every_order(points, breakpoints):
    places = range(points + breakpoints)
    orders = list(itertools.combinations(places, points))
    flags = [part.lonely([p for p in places if p not in order], order).item() for order in orders]
    assert sum(flags) == part.lonely_count(points, breakpoints)
    assert len(orders) == part.arrangement_count(points, breakpoints)
    assert part.lonely_probability(points, breakpoints, "random") == pytest.approx(sum(flags) / len(flags), abs=1e-15)


@pytest.mark.parametrize(("points", "breakpoints"), [(1, 3), (3, 2), (3, 4), (4, 2)])
def test_grid_probability_and_share_by_enumerating_every_cell(points, breakpoints):
    cells = list(itertools.product(range(breakpoints + 1), repeat=points))
    assert part.lonely_probability(points, breakpoints, "grid") == pytest.approx(np.mean([len(set(c)) == points for c in cells]))
    assert part.alone_share(points, breakpoints, "grid") == pytest.approx(np.mean([c.count(c[0]) == 1 for c in cells]))


@pytest.mark.parametrize("model", part.MODELS)
@pytest.mark.parametrize(("points", "breakpoints"), [(5, 20), (10, 60), (20, 300)])
def test_simulation_agrees_with_the_exact_chances(points, breakpoints, model):
    lonely, alone = part.simulate(points, breakpoints, model, draws=10_000, seed=7)
    exact = part.lonely_probability(points, breakpoints, model)
    assert abs(lonely - exact) < 4 * math.sqrt(exact * (1 - exact) / 10_000)
    assert abs(alone - part.alone_share(points, breakpoints, model)) < 0.01


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 60), st.floats(1, 20))
def test_exp_of_minus_n_squared_bounds_both_models_from_below(points, alpha):
    breakpoints = math.ceil(alpha * points**2)
    for model in part.MODELS:
        assert part.lonely_probability(points, breakpoints, model) > math.exp(-(points**2) / (breakpoints + 1))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 7), st.integers(0, 3), seeds)
def test_the_interpolant_meets_lonely_data(points, spare, seed):
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(0.5, 1.5, points))
    beta = np.r_[x[:-1] + rng.uniform(0.1, 0.9, points - 1) * np.diff(x), rng.uniform(x[0] - 1, x[-1] + 1, spare)]
    y = rng.normal(size=points)
    f = part.interpolant(beta, np.ones(len(beta)), x, y)
    assert torch.allclose(f(x), torch.as_tensor(y), atol=1e-8)


def test_a_dependent_choice_of_orientations_is_refused_with_its_reason():
    x, beta = [0.0, 1.0, 2.0, 3.0], [1 / 2, 4 / 3, 5 / 2]
    with pytest.raises(ValueError, match="rare"):
        part.interpolant(beta, [1, 1, -1], x, [1.0, 0, 0, 0])
    assert torch.allclose(
        part.interpolant(beta, [1, -1, -1], x, [1.0, 0, 0, 0])(x), torch.tensor([1.0, 0, 0, 0]).double(), atol=1e-10
    )


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: part.lonely([0.5], [1.0, 1.0]), "two data points stand at x = 1"),
        (lambda: part.lonely([0.5, 1.0], [0.0, 1.0]), "lies on the data point x = 1"),
        (lambda: part.interpolant([0.5], [1], [0.0, 1.0, 2.0], [0, 0, 0]), "need 2 breakpoints or more"),
        (lambda: part.interpolant([0.5, 0.6], [1, 1], [0.0, 1.0, 2.0], [0, 0, 0]), "share a piece"),
        (lambda: part.interpolant([0.5, 1.5], [1, 1], [0.0, 1.0, 1.0], [0, 0, 0]), "two data points stand at x = 1"),
        (lambda: part.lonely_probability(3, 5, "even"), "'grid' or at 'random'"),
        (lambda: part.lonely_probability(0, 5), "at least one data point"),
        (lambda: part.lonely_probability(2.5, 5), "in whole numbers; got 2.5 and 5"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 6), seeds)
def test_turning_neurons_multiplies_the_determinant_by_one_minus_the_sum_of_c(points, seed):
    """The margin of fit in splines/landscape: x = c_0 + sum c_j relu(x - beta_j) on the data, summed over left-facing ones."""
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(0.5, 1.5, points))
    beta, s = x[:-1] + rng.uniform(0.1, 0.9, points - 1) * np.diff(x), rng.choice([-1.0, 1.0], points - 1)
    ones = torch.ones(points, 1, dtype=torch.float64)
    right, mixed = (torch.cat([ones, hinges(x, beta, facing)], 1) for facing in (np.ones(points - 1), s))
    c = torch.linalg.solve(right, torch.as_tensor(x))[1:]
    ratio = torch.linalg.det(mixed) / torch.linalg.det(right)
    assert ratio.item() == pytest.approx(1 - c[s < 0].sum().item(), rel=1e-8, abs=1e-8)
