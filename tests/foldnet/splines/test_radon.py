"""Creases and coefficients against closed forms, scipy, and the networks that they make."""

import math

import numpy as np
import pytest
import torch
from numpy.polynomial.hermite_e import hermeval
from scipy.interpolate import CubicSpline, RBFInterpolator

from foldnet.nets import ReLUNet
from foldnet.splines import radon

COUNT, SPACING = 4096, 120 / 4096
OFFSETS = (torch.arange(COUNT, dtype=torch.float64) - COUNT // 2) * SPACING


def slices(dimension):
    """The Radon transform of exp(-|x|^2 / 2), the same in all directions."""
    return (2 * math.pi) ** ((dimension - 1) / 2) * torch.exp(-(OFFSETS**2) / 2)


def derivative(order):
    """The derivative of exp(-g^2 / 2), by Hermite polynomials."""
    return (-1) ** order * hermeval(OFFSETS.numpy(), [0] * order + [1]) * np.exp(-(OFFSETS.numpy() ** 2) / 2)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_creases_draw_the_network(dimension):
    net = ReLUNet.random((dimension, 7, 1), batch=3, seed=dimension)
    weights = net.weights[0].clone()
    weights[0, 2] = 0  # a neuron without a crease
    net = ReLUNet([weights, net.weights[1]], net.biases)
    draw = torch.Generator().manual_seed(dimension)
    found, x = radon.creases(net), torch.randn(20, dimension, dtype=torch.float64, generator=draw)
    torch.testing.assert_close(found(x), net(x)[..., 0], atol=1e-13, rtol=0)
    sizes = found.normals.norm(dim=-1)
    assert sizes[0, 2] == found.delta_slopes[0, 2] == 0
    torch.testing.assert_close(sizes[1:], torch.ones_like(sizes[1:]))
    on = found.normals[1] * found.offsets[1][:, None]  # the foot of each crease: the neuron switches there
    torch.testing.assert_close((net.preactivations(on)[0][1]).diagonal(), torch.zeros(7, dtype=torch.float64), atol=1e-14, rtol=0)


def test_networks_without_creases_are_refused():
    for net in (ReLUNet.random((2, 3, 3, 1)), ReLUNet.random((2, 3, 2)), ReLUNet.random((2, 3, 1), leak=0.1)):
        with pytest.raises(ValueError, match="one hidden layer and one output"):
            radon.creases(net)


@pytest.mark.parametrize(("activation", "order"), [(radon.RELU, 2), (radon.STEP, 1), (radon.power_relu(3), 3)])
def test_coefficients_of_a_gaussian_in_closed_form(activation, order):
    one = radon.coefficients(slices(1), SPACING, 1, activation)
    np.testing.assert_allclose(one, derivative(order) / 2, atol=1e-7)
    three = radon.coefficients(slices(3), SPACING, 3, activation)
    np.testing.assert_allclose(three, -derivative(order + 2) / (4 * math.pi), atol=1e-5)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize(
    ("activation", "error"),
    [(radon.RELU, 1e-4), (radon.STEP, 0.02), (radon.power_relu(1.25), 0.02), (radon.saturating(0.7, 60), 1e-3)],
)
def test_a_network_with_these_coefficients_draws_the_gaussian(dimension, activation, error):
    x = torch.as_tensor(np.random.default_rng(0).uniform(-1.5, 1.5, (20, dimension)))
    goal = torch.exp(-x.square().sum(-1) / 2)
    normals, weights = radon.directions(dimension, 32)
    drawn = radon.superpose(
        x, normals, weights, OFFSETS, radon.coefficients(slices(dimension), SPACING, dimension, activation), activation
    )
    gap = drawn - goal
    assert (gap - gap.mean()).abs().max() < error  # an affine part is not recovered; here it is a constant
    if dimension == 2:  # t in place of |t|, times i so that something real is left: large coefficients that draw nothing
        printed = radon.coefficients(slices(2), SPACING, 2, activation, power=lambda t: 1j * t)
        assert printed.abs().max() > 0.01
        nothing = radon.superpose(x, normals, weights, OFFSETS, printed, activation)
        assert (nothing - nothing.mean()).abs().max() < error / 10


def test_two_points_that_no_step_tells_apart_do_not_stop_a_descent():
    """Sizes that are zero but for rounding would set the momentum to 1."""
    features = torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]], dtype=torch.float64)
    y, free = torch.tensor([1.0, 3.0, 0.0], dtype=torch.float64), torch.ones(3, 1, dtype=torch.float64)
    mu, c = radon.descend(features, y, free)
    torch.testing.assert_close(features @ mu + c, torch.tensor([2.0, 2.0, 0.0], dtype=torch.float64))


def test_half_whole_exponents_are_refused_and_the_free_degree_is_that_of_the_law():
    x = torch.rand(9, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with pytest.raises(ValueError, match=r"for lambda = 1\.5 the law has logarithms"):
        radon.polyharmonic(x, x[:, 0], 1.5)
    assert [radon.monomials(x, lam).shape[1] for lam in (1.25, 1.75)] == [1, 4]


def test_directions_measure_the_sphere_and_its_moments():
    for dimension, area in ((1, 2.0), (2, 2 * math.pi), (3, 4 * math.pi)):
        normals, weights = radon.directions(dimension, 16)
        assert weights.sum() == pytest.approx(area)
        torch.testing.assert_close((normals.mT * weights) @ normals, area / dimension * torch.eye(dimension, dtype=torch.float64))
        assert (normals[None] + normals[:, None]).norm(dim=-1).min(0).values.max() < 1e-12  # -xi is there too


def test_polyharmonic_splines_are_those_of_scipy():
    rng = np.random.default_rng(1)
    x, y = np.sort(rng.uniform(-1, 1, 6)), rng.normal(size=6)
    t = np.linspace(x[0], x[-1], 50)
    np.testing.assert_allclose(radon.polyharmonic(x[:, None], y, 1.0)(t[:, None]), np.interp(t, x, y), atol=1e-10)
    natural = CubicSpline(x, y, bc_type="natural")(t)
    np.testing.assert_allclose(radon.polyharmonic(x[:, None], y, 2.0)(t[:, None]), natural, atol=1e-9)
    x, y, t = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=(9, 3))
    for lam, kernel in ((1.0, "linear"), (2.0, "cubic"), (3.0, "quintic")):
        np.testing.assert_allclose(radon.polyharmonic(x, y, lam)(t), RBFInterpolator(x, y, kernel=kernel)(t), atol=1e-8)
    with pytest.raises(ValueError, match="free polynomial"):
        radon.polyharmonic(x[:3], y[:3], 2.0)


def test_descent_ends_at_the_smallest_fit():
    rng = np.random.default_rng(2)
    features, y, free = rng.normal(size=(6, 30)), rng.normal(size=6), rng.normal(size=(6, 2))
    mu, c = radon.descend(features, y, free, 2000)
    np.testing.assert_allclose(features @ mu.numpy() + free @ c.numpy(), y, atol=1e-10)
    rest = np.linalg.svd(free)[0][:, 2:].T  # what the free part cannot reach
    np.testing.assert_allclose(mu, np.linalg.pinv(rest @ features) @ (rest @ y), atol=1e-10)


def test_wrong_sizes_are_sentences():
    for call, words in (
        (lambda: radon.power_relu(0), "lambda > 0"),
        (lambda: radon.saturating(0.0, 3), "delta > 0"),
        (lambda: radon.directions(4), "1, 2 and 3 dimensions"),
        (lambda: radon.coefficients([1.0], 0.1, 2), "at least two offsets"),
        (lambda: radon.polyharmonic([0.0, 1.0], [0.0, 1.0]), r"\(n, D\)"),
        (lambda: radon.superpose([[0.0]], [[1.0, 0.0]], [1.0], [0.0, 1.0], [0.0, 0.0]), "as many numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
