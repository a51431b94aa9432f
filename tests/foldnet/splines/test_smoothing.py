"""Smallest interpolants and their limits, against scipy, quadrature, real descent and a constrained minimizer."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize
from scipy.interpolate import CubicSpline

from foldbook.chapters.smoothing import boundary_spline
from foldnet.splines.breakpoints import hinges
from foldnet.splines.initialization import breakpoint_grid
from foldnet.splines.smoothing import _kernel, limit, minimum_norm

X, Y = np.array([-0.9, -0.5, 0.1, 0.4, 0.8]), np.array([0.3, -0.6, 0.5, 0.9, -0.2])
T = np.linspace(-0.9, 0.8, 201)
MODELS = [(facing, affine) for facing in ("right", "left", "both") for affine in (False, True)]


def problems():
    """Distinct places, not too close, and values."""
    steps = st.lists(st.floats(0.15, 0.5), min_size=2, max_size=5)
    return st.tuples(steps, st.integers(0, 10_000)).map(_problem)


def _problem(drawn):
    steps, seed = drawn
    x = np.cumsum(steps)
    x = 0.9 * (2 * (x - x[0]) / (x[-1] - x[0]) - 1)
    return x, np.random.default_rng(seed).normal(size=len(x))


@settings(deadline=None, max_examples=40)
@given(problems(), st.sampled_from(["right", "left", "both"]))
def test_minimum_norm_is_the_pseudoinverse(problem, facing):
    x, y = problem
    beta, s = breakpoint_grid(60, 1.3, facing=facing)
    f = minimum_norm(x, y, beta, s)
    by_pinv = np.linalg.pinv(hinges(x, beta, s).numpy()) @ y
    assert np.allclose(f.delta_slopes, by_pinv, rtol=0, atol=1e-9 * np.abs(by_pinv).max())
    assert np.allclose(f(x), y, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("facing", "affine"), MODELS)
def test_minimum_norm_against_a_constrained_minimizer(facing, affine):
    beta, s = breakpoint_grid(24, 1.5, facing=facing)
    rows = np.hstack([hinges(X, beta, s).numpy(), np.stack([np.ones(5), X], 1)[:, : 2 * affine]])
    found = optimize.minimize(
        lambda p: p[:24] @ p[:24],
        np.linalg.lstsq(rows, Y, rcond=None)[0],
        jac=lambda p: np.r_[2 * p[:24], np.zeros(len(p) - 24)],
        constraints={"type": "eq", "fun": lambda p: rows @ p - Y, "jac": lambda p: rows},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    f = minimum_norm(X, Y, beta, s, affine=affine)
    assert (f.delta_slopes @ f.delta_slopes).item() == pytest.approx(found.fun, rel=1e-7)
    assert np.allclose(f.delta_slopes, found.x[:24], rtol=0, atol=1e-4)


def test_descent_ends_at_the_smallest_and_from_a_start_at_the_nearest():
    beta, s = breakpoint_grid(40, 1.5)
    x, y = X[[0, 2, 4]], Y[[0, 2, 4]]
    phi = hinges(x, beta, s).numpy()
    start = np.random.default_rng(3).normal(size=40)
    for mu0 in (np.zeros(40), start):
        mu = mu0.copy()
        rate = 1.9 / np.linalg.eigvalsh(phi @ phi.T)[-1]
        for _ in range(20_000):
            mu += rate * (y - phi @ mu) @ phi
        assert np.allclose(mu, minimum_norm(x, y, beta, s, start=mu0).delta_slopes.numpy(), rtol=0, atol=1e-9)
    kept = minimum_norm(x, y, beta, s, start=start).delta_slopes.numpy() - start
    null = np.linalg.svd(phi)[2][3:]
    assert np.abs(null @ kept).max() < 1e-12


@pytest.mark.parametrize("facing", ["right", "left", "both"])
def test_kernel_is_its_integral(facing):
    for x, t in [(0.3, -0.7), (-0.2, -0.2), (1.4, 0.9), (-1.5, 0.4), (0.4, -1.9), (-0.3, 2.2)]:  # the last two beyond the grid

        def product(beta, x=x, t=t):
            right, left = max(x - beta, 0) * max(t - beta, 0), max(beta - x, 0) * max(beta - t, 0)
            return {"right": right, "left": left, "both": right + left}[facing]

        by_quadrature = integrate.quad(product, -1.5, 1.5, points=[x, t], epsabs=1e-13)[0]
        assert _kernel([x], [t], 1.5, facing)[0, 0].item() == pytest.approx(by_quadrature, abs=1e-10)


@settings(deadline=None, max_examples=40)
@given(problems(), st.sampled_from(MODELS), st.floats(1.0, 4.0))
def test_limit_is_the_spline_of_its_boundary_conditions(problem, model, reach):
    x, y = problem
    t = np.linspace(-reach, reach, 101)
    f, by_scipy = limit(x, y, reach, *model), boundary_spline(x, y, reach, *model)
    size = np.abs(by_scipy(t)).max() + 1
    assert np.allclose(f(t), by_scipy(t), rtol=0, atol=1e-8 * size)


def test_natural_only_with_a_free_affine_part():
    natural = CubicSpline(X, Y, bc_type="natural")(T)
    for facing in ("right", "left", "both"):
        assert np.abs(limit(X, Y, 1.5, facing, affine=True)(T).numpy() - natural).max() < 1e-11
        assert np.abs(limit(X, Y, 1.5, facing)(T).numpy() - natural).max() > 0.01
        far = [np.abs(limit(X, Y, reach, facing)(T).numpy() - natural).max() for reach in (20.0, 40.0)]
        assert far[0] / far[1] == pytest.approx(2, rel=0.05)  # like 1 / reach


@pytest.mark.parametrize(("facing", "affine"), MODELS)
def test_networks_converge_to_the_limit_at_second_order(facing, affine):
    goal = limit(X, Y, 1.5, facing, affine)(T).numpy()
    gaps = [
        np.abs(minimum_norm(X, Y, *breakpoint_grid(H, 1.5, facing=facing), affine=affine)(T).numpy() - goal).max()
        for H in (400, 6400)
    ]
    assert np.log(gaps[0] / gaps[1]) / np.log(16) == pytest.approx(2, abs=0.2)
    assert np.abs(minimum_norm(X, Y, *breakpoint_grid(20_000, 1.5, facing=facing), affine=affine)(T).numpy() - goal).max() < 1e-6


def test_a_breakpoint_on_the_end_costs_an_order():
    goal = limit(X, Y, 1.5)(T).numpy()
    gaps = [np.abs(minimum_norm(X, Y, *breakpoint_grid(H, 1.5, "ends"))(T).numpy() - goal).max() for H in (400, 6400)]
    assert np.log(gaps[0] / gaps[1]) / np.log(16) == pytest.approx(1, abs=0.2)


def test_batches_of_values_and_order_of_data():
    many = np.random.default_rng(0).normal(size=(3, 2, 5))
    mixed = [3, 0, 4, 1, 2]
    for model in ({"affine": False}, {"affine": True}):
        f = minimum_norm(X, many, *breakpoint_grid(30, 1.5), **model)
        one = minimum_norm(X[mixed], many[2, 1][mixed], *breakpoint_grid(30, 1.5), **model)
        assert np.allclose(f(T)[2, 1], one(T), rtol=0, atol=1e-10)
        assert np.allclose(limit(X, many, 1.5, **model)(T)[2, 1], limit(X[mixed], many[2, 1][mixed], 1.5, **model)(T), atol=1e-10)


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: minimum_norm([0.1, 0.1], [1, 2], *breakpoint_grid(10, 1.0)), "two data points stand at x = 0.1"),
        (lambda: minimum_norm(X, Y, [-1.0, 0.0, 0.5]), "3 breakpoints leave no interpolant"),
        (lambda: minimum_norm([0.1, 0.2, 0.3], [1, 2, 3], [-1.0, 0.9, 0.95]), "no interpolant: these breakpoints do not tell"),
        (lambda: minimum_norm(X, Y[:3], *breakpoint_grid(10, 1.0)), "got shapes"),
        (lambda: minimum_norm([0.0, np.nan], [1, 2], *breakpoint_grid(10, 1.0)), "NaN"),
        (lambda: limit(X, Y, 0.5), "must cover the data"),
        (lambda: limit([-1.0, 0.0], [1.0, 2.0], 1.0), "take a larger reach"),
        (lambda: limit(X, Y, 1.5, "up"), "facing is one of"),
        (lambda: minimum_norm(X, Y, [[-1.0, 0.0], [0.5, 1.0]]), r"one list \(H,\) for all data; got shape \(2, 2\)"),
        (lambda: breakpoint_grid(7, 1.0, facing="both"), "even width"),
        (lambda: breakpoint_grid(10, 1.0, "spiral"), "middles, ends or random"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_breakpoints_that_cannot_tell_the_data_apart_are_refused_in_every_precision(dtype):
    x, y = torch.tensor([0.0, 1.0, 2.0], dtype=dtype), torch.tensor([0.0, 1.0, 0.0], dtype=dtype)
    with pytest.raises(ValueError, match="do not tell all data points apart"):
        minimum_norm(x, y, [-1.0, -2.0, -3.0, -4.0])
    found = minimum_norm(x, y, [-1.0, 0.5, 1.5, 3.0])
    assert found(x).dtype == dtype
    assert torch.allclose(found(x), y, atol=1e-6)


@pytest.mark.parametrize("facing", ["right", "left", "both"])
def test_beyond_the_reach_there_are_no_breakpoints(facing):
    sides = {"right": (1,), "left": (-1,), "both": (1, -1)}[facing]
    for x, t in ((2.0, 3.0), (-2.0, -1.5), (-2.0, 3.0), (0.3, 2.0)):
        hinge = lambda beta, x=x, t=t: sum(max(s * (x - beta), 0) * max(s * (t - beta), 0) for s in sides)  # noqa: E731
        assert _kernel([x], [t], 1.0, facing).item() == pytest.approx(integrate.quad(hinge, -1, 1, points=[0.3])[0], abs=1e-9)
    f, far = limit(X, Y, 1.5, facing), np.array([-4.0, -2.0, 1.6, 3.0])
    assert np.allclose(f(far + 0.1) - 2 * f(far) + f(far - 0.1), 0, atol=1e-9)
