"""Coefficients of creases against closed forms and the networks that they make; descent against the smallest fit."""

import math

import numpy as np
import pytest
import torch
from numpy.polynomial.hermite_e import hermeval

from foldbook.chapters import beyond

COUNT, SPACING = 4096, 120 / 4096
OFFSETS = (torch.arange(COUNT, dtype=torch.float64) - COUNT // 2) * SPACING


def slices(dimension):
    """The Radon transform of exp(-|x|^2 / 2), the same in all directions."""
    return (2 * math.pi) ** ((dimension - 1) / 2) * torch.exp(-(OFFSETS**2) / 2)


def derivative(order):
    """The derivative of exp(-g^2 / 2), by Hermite polynomials."""
    return (-1) ** order * hermeval(OFFSETS.numpy(), [0] * order + [1]) * np.exp(-(OFFSETS.numpy() ** 2) / 2)


@pytest.mark.parametrize(("activation", "order"), [(beyond.RELU, 2), (beyond.STEP, 1), (beyond.power_relu(3), 3)])
def test_coefficients_of_a_gaussian_in_closed_form(activation, order):
    one = beyond.coefficients(slices(1), SPACING, 1, activation)
    np.testing.assert_allclose(one, derivative(order) / 2, atol=1e-7)
    three = beyond.coefficients(slices(3), SPACING, 3, activation)
    np.testing.assert_allclose(three, -derivative(order + 2) / (4 * math.pi), atol=1e-5)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize(
    ("activation", "error"),
    [(beyond.RELU, 1e-4), (beyond.STEP, 0.02), (beyond.power_relu(1.25), 0.02), (beyond.saturating(0.7, 60), 1e-3)],
)
def test_a_network_with_these_coefficients_draws_the_gaussian(dimension, activation, error):
    x = torch.as_tensor(np.random.default_rng(0).uniform(-1.5, 1.5, (20, dimension)))
    goal = torch.exp(-x.square().sum(-1) / 2)
    normals, weights = beyond.directions(dimension, 32)
    drawn = beyond.superpose(
        x, normals, weights, OFFSETS, beyond.coefficients(slices(dimension), SPACING, dimension, activation), activation
    )
    gap = drawn - goal
    assert (gap - gap.mean()).abs().max() < error  # an affine part is not recovered; here it is a constant
    if dimension == 2:  # t in place of |t|, times i so that something real is left: large coefficients that draw nothing
        printed = beyond.coefficients(slices(2), SPACING, 2, activation, power=lambda t: 1j * t)
        assert printed.abs().max() > 0.01
        nothing = beyond.superpose(x, normals, weights, OFFSETS, printed, activation)
        assert (nothing - nothing.mean()).abs().max() < error / 10


def test_two_points_that_no_step_tells_apart_do_not_stop_a_descent():
    """Sizes that are zero but for rounding would set the momentum to 1."""
    features = torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]], dtype=torch.float64)
    y, free = torch.tensor([1.0, 3.0, 0.0], dtype=torch.float64), torch.ones(3, 1, dtype=torch.float64)
    mu, c = beyond.descend(features, y, free)
    torch.testing.assert_close(features @ mu + c, torch.tensor([2.0, 2.0, 0.0], dtype=torch.float64))


def test_directions_measure_the_sphere_and_its_moments():
    for dimension, area in ((1, 2.0), (2, 2 * math.pi), (3, 4 * math.pi)):
        normals, weights = beyond.directions(dimension, 16)
        assert weights.sum() == pytest.approx(area)
        torch.testing.assert_close((normals.mT * weights) @ normals, area / dimension * torch.eye(dimension, dtype=torch.float64))
        assert (normals[None] + normals[:, None]).norm(dim=-1).min(0).values.max() < 1e-12  # -xi is there too


def test_descent_ends_at_the_smallest_fit():
    rng = np.random.default_rng(2)
    features, y, free = rng.normal(size=(6, 30)), rng.normal(size=6), rng.normal(size=(6, 2))
    mu, c = beyond.descend(features, y, free, 2000)
    np.testing.assert_allclose(features @ mu.numpy() + free @ c.numpy(), y, atol=1e-10)
    rest = np.linalg.svd(free)[0][:, 2:].T  # what the free part cannot reach
    np.testing.assert_allclose(mu, np.linalg.pinv(rest @ features) @ (rest @ y), atol=1e-10)


def test_wrong_sizes_are_sentences():
    for call, words in (
        (lambda: beyond.power_relu(0), "lambda > 0"),
        (lambda: beyond.saturating(0.0, 3), "delta > 0"),
        (lambda: beyond.directions(4), "1, 2 and 3 dimensions"),
        (lambda: beyond.coefficients([1.0], 0.1, 2), "at least two offsets"),
        (lambda: beyond.superpose([[0.0]], [[1.0, 0.0]], [1.0], [0.0, 1.0], [0.0, 0.0]), "as many numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_a_free_part_of_one_column_has_one_coefficient():
    """Descent from 0 with a free constant: the fit is exact, and the outer weights are the smallest that do it."""
    x = torch.linspace(-1, 1, 5, dtype=torch.float64)
    features, y = (x[:, None] - torch.linspace(-2, 1, 12, dtype=torch.float64)).clamp(min=0), x.square() + 3
    free = torch.ones(5, 1, dtype=torch.float64)
    mu, constant = beyond.descend(features, y, free, steps=60_000)
    assert constant.shape == (1,)
    torch.testing.assert_close(features @ mu + free @ constant, y, atol=1e-6, rtol=0)
    middle = lambda a: a - a.mean(0)  # noqa: E731
    torch.testing.assert_close(mu, torch.linalg.pinv(middle(features)) @ middle(y), atol=1e-5, rtol=0)
