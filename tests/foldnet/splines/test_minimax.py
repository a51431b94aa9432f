"""Follow-the-Ridge against its definition, on games small enough to know all of their critical points."""

import numpy as np
import pytest
import torch
from torch.func import grad, hessian, jacrev

from foldnet.splines.minimax import (
    curvature,
    damped_solve,
    is_local_minimax,
    play,
    precondition,
    ridge_correction,
    second_derivatives,
)

ZERO = torch.zeros(1, dtype=torch.float64)


def quadratic(a, b, c):
    """a x^2 / 2 + b x y + c y^2 / 2: local minimax at 0 if and only if c < 0 < a - b^2 / c."""
    return lambda x, y: (a * x * x / 2 + b * x * y + c * y * y / 2).sum()


@pytest.mark.parametrize(
    ("a", "b", "c"), [(-3.0, 4.0, -1.0), (1.0, 10.0, -0.5), (2.0, 1.0, -1.0), (-3.0, 1.0, -1.0), (1.0, 1.0, 0.5)]
)
def test_local_minimax_of_quadratic_games(a, b, c):
    f = quadratic(a, b, c)
    assert is_local_minimax(f, ZERO, ZERO) == (c < 0 < a - b * b / c)
    alone, answered = curvature(f, ZERO, ZERO)
    assert alone.item() == pytest.approx(c)
    assert answered.item() == pytest.approx(a - b * b / c)


def test_where_every_y_answers_equally_well_there_is_no_local_minimax():
    assert not is_local_minimax(quadratic(0.0, 1.0, 0.0), ZERO, ZERO)


def test_follow_the_ridge_goes_to_a_local_minimax_where_simultaneous_descent_turns_away():
    f = quadratic(-3.0, 4.0, -1.0)  # x alone would slide down: not Nash, but minimax
    for ridge, near in ((True, True), (False, False)):
        x, y = play(f, 1.0, 1.0, lr=0.02, steps=1500, ridge=ridge)
        assert (max(abs(x[-1]), abs(y[-1])) < 1e-3) == near


def test_simultaneous_descent_stays_where_no_minimax_is_and_follow_the_ridge_leaves():
    # x^T A x + ... : at 0 the Jacobian of simultaneous descent is stable, though y sits on a minimum: c > 0
    f = quadratic(3.0, 2.0, 0.5)
    assert not is_local_minimax(f, ZERO, ZERO)
    for ridge, stays in ((False, True), (True, False)):
        x, y = play(f, 0.01, 0.01, lr=0.05, steps=400, ridge=ridge)
        assert bool(x[-1].abs() < 1e-4 and y[-1].abs() < 1e-4) == stays


@pytest.mark.parametrize("seed", range(6))
def test_convergence_of_random_games_of_three_and_two_parameters(seed):
    """By linear algebra: the Jacobian of the step, taken apart, has the eigenvalues of -answered and of alone."""
    rng = np.random.default_rng(seed)
    xx, yy, yx = (torch.as_tensor(m) for m in (_symmetric(rng, 3), _symmetric(rng, 2), 3 * rng.normal(size=(2, 3))))
    f = lambda x, y: x @ xx @ x / 2 + y @ yx @ x + y @ yy @ y / 2  # noqa: E731
    x = y = None
    start = torch.as_tensor(rng.normal(size=5))
    x, y = start[:3], start[3:]
    steps = play(f, x, y, lr=1e-3, steps=1, ridge=True)
    moved = torch.cat([steps[0][1] - x, steps[1][1] - y])
    shear = torch.linalg.solve(yy, yx)
    by_hand = torch.cat([-1e-3 * (xx @ x + yx.T @ y), 1e-3 * (yx @ x + yy @ y) + 1e-3 * shear @ (xx @ x + yx.T @ y)])
    torch.testing.assert_close(moved, by_hand, atol=1e-12, rtol=0)
    whole = torch.cat([torch.cat([-xx, -yx.T], 1), torch.cat([yx + shear @ xx, yy + shear @ yx.T], 1)])
    alone, answered = curvature(f, torch.zeros(3, dtype=torch.float64), torch.zeros(2, dtype=torch.float64))
    got = torch.linalg.eigvals(whole).real.sort().values
    torch.testing.assert_close(got, torch.cat([alone, -answered]).sort().values, atol=1e-8, rtol=0)


def test_second_derivatives_are_those_of_torch_func():
    f = lambda x, y: (x[0] ** 3 * y[1] - x[1].sin() * y[0] + y[0] * y[1] ** 2).sum()  # noqa: E731
    x, y = torch.tensor([0.7, -0.4], dtype=torch.float64), torch.tensor([0.9, 0.3], dtype=torch.float64)
    twins = hessian(f, 0)(x, y), jacrev(grad(f, 1), 0)(x, y), hessian(f, 1)(x, y)
    for found, twin in zip(second_derivatives(f, x, y), twins):
        torch.testing.assert_close(found, twin)
    assert second_derivatives(lambda x, y: x.sum() + y.sum(), x, y)[2].abs().sum() == 0


def test_the_correction_keeps_the_gradient_of_y():
    f = lambda x, y: (x[0] ** 2 * y[0] - y[0] ** 4 / 4 - y[1] ** 2 * (1 + x[1] ** 2) + x[0] * x[1] * y[1]).sum()  # noqa: E731
    x, y = torch.tensor([0.7, -0.4], dtype=torch.float64), torch.tensor([0.9, 0.3], dtype=torch.float64)
    way, small = torch.tensor([0.6, -1.1], dtype=torch.float64), 1e-5
    before = grad(f, 1)(x, y)
    bare = grad(f, 1)(x - small * way, y)
    kept = grad(f, 1)(x - small * way, y + small * ridge_correction(f, x, y, way))
    assert (bare - before).norm() > 1e-6
    assert (kept - before).norm() < 1e-8


@pytest.mark.parametrize("damping", [0.1, 1.0])
def test_conjugate_gradients_against_a_dense_solve(damping):
    rng = np.random.default_rng(0)
    h = torch.stack([torch.as_tensor(_symmetric(rng, 6)) for _ in range(4)])
    b = torch.as_tensor(rng.normal(size=(4, 6)))
    exact = torch.linalg.solve(h - damping * torch.eye(6, dtype=torch.float64), b.unsqueeze(-1)).squeeze(-1)
    found = damped_solve(lambda p: (h @ p.unsqueeze(-1)).squeeze(-1), b, damping, 6)
    torch.testing.assert_close(found, exact, atol=1e-6, rtol=1e-6)
    stays = damped_solve(lambda p: 0 * p, b, damping, 3)  # done after one round
    torch.testing.assert_close(stays, -b / damping)
    assert damped_solve(lambda p: p, b, 1.0, 3).abs().max() == 0  # no curvature at all


def test_a_guard_stops_at_the_first_direction_of_the_wrong_curvature():
    h = torch.diag(torch.tensor([-1.0, -2.0, 3.0], dtype=torch.float64))
    product = lambda p: p @ h  # noqa: E731
    good, bad = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.1, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(damped_solve(product, good, 1.0, 5, guarded=True), good / (h.diag() - 1))
    assert damped_solve(product, bad, 1.0, 5, guarded=True).abs().max() == 0
    torch.testing.assert_close(damped_solve(product, bad, 1.0, 5), bad / (h.diag() - 1))


def test_the_damped_correction_is_the_dense_one():
    f = lambda x, y: (x[0] * y[0] + x[1] * y[1] * y[0] - y[0] ** 2 + x[1] * y[0]).sum()  # H_yy is singular where x[1] = 0  # noqa: E731
    x, y, way = (torch.tensor(v, dtype=torch.float64) for v in ([0.3, 0.0], [0.2, 0.5], [1.0, 2.0]))
    _, yx, yy = second_derivatives(f, x, y)
    assert torch.linalg.matrix_rank(yy) == 1
    product = lambda p: hessian(f, 1)(x, y) @ p  # noqa: E731
    torch.testing.assert_close(ridge_correction(f, x, y, way, damping=0.5), damped_solve(product, yx @ way, 0.5, 4))


def test_rmsprop_is_that_of_torch():
    g = torch.as_tensor(np.random.default_rng(0).normal(size=(7, 3)))
    square = torch.zeros(3, dtype=torch.float64)
    for t in range(1, 8):
        step = precondition(g[t - 1], square, t, 0.9)
    weights = 0.1 * 0.9 ** torch.arange(6, -1, -1, dtype=torch.float64)
    mean = (weights[:, None] * g**2).sum(0) / weights.sum()
    torch.testing.assert_close(step, g[-1] / (mean.sqrt() + 1e-8), atol=1e-10, rtol=1e-10)
    x, _ = play(lambda x, y: 1e-4 * x.sum() - y.square().sum(), [1.0], [0.0], lr=0.1, steps=5, rmsprop=True)
    torch.testing.assert_close(x[:, 0], 1 - 0.1 * torch.arange(6).double(), atol=1e-3, rtol=0)  # a small gradient counts whole


def _symmetric(rng, n):
    a = rng.normal(size=(n, n))
    return (a + a.T) / 2
