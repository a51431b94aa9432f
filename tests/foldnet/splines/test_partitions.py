"""Lonely partitions, against brute force, exact enumeration and simulation."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldbook.chapters.landscape import scatter
from foldnet.splines import partitions as part
from foldnet.splines.breakpoints import hinges

seeds = st.integers(0, 10_000)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 8), st.integers(0, 12), seeds)
def test_alone_is_what_its_definition_says(points, breakpoints, seed):
    x, beta = scatter(points, breakpoints, "random", (), seed)
    by_hand = [
        not any(m != n and not any(min(x[m], x[n]) < b < max(x[m], x[n]) for b in beta) for m in range(points))
        for n in range(points)
    ]
    assert part.alone(beta, x).tolist() == by_hand
    assert part.lonely(beta, x).item() == all(by_hand)


def test_a_batch_is_its_partitions():
    x, beta = scatter(6, 15, "random", (3, 4), seed=1)
    one_by_one = [[part.lonely(beta[i, j], x[i, j]).item() for j in range(4)] for i in range(3)]
    assert part.lonely(beta, x).tolist() == one_by_one
    assert part.alone(beta[0, 0], x).shape == (3, 4, 6)
    for i in range(3):
        assert part.alone(beta, x[0, 0])[i].tolist() == [part.alone(beta[i, j], x[0, 0]).tolist() for j in range(4)]


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
