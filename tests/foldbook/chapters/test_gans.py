"""Games of two players and modes, against definitions, counting, quadrature and finite differences."""

import numpy as np
import pytest
import torch
from torch.func import grad, hessian, jacrev

from foldbook.chapters import gans
from foldbook.chapters.gans import (
    curvature,
    is_local_minimax,
    play,
    precondition,
    ridge_correction,
    second_derivatives,
)
from foldnet.nets import ReLUNet
from foldnet.splines.gans import damped_solve

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


# ---- modes ----------------------------------------------------------------------------------------------------------------


def test_a_grid_and_its_samples():
    five = gans.mode_grid(5, 1.0, 0.1)
    assert five.centers.shape == (25, 2)
    assert five.spacing == pytest.approx(1)
    assert five.gap == pytest.approx(0.4)
    assert gans.mode_grid(4, 2.0, dimension=1).centers[:, 0].tolist() == [-3, -1, 1, 3]
    points = five.sample((20_000,), torch.Generator().manual_seed(0))
    shares = five.shares(points)
    inside = 1 - np.exp(-4.5)  # of a normal distribution of two dimensions, within 3 standard deviations
    assert gans.quality(shares).item() == pytest.approx(inside, abs=3 * (inside * (1 - inside) / 20_000) ** 0.5)
    assert gans.covered(shares) == 25
    with pytest.raises(ValueError, match="at least two points"):
        gans.Modes(torch.zeros(1, 2), 0.1)


def test_shares_by_hand():
    two = gans.Modes(torch.tensor([[0.0, 0.0], [1.0, 0.0]]), 0.1)
    points = torch.tensor([[0.0, 0.29], [0.0, 0.31], [0.9, 0.0], [1.0, 0.1], [0.5, 0.0]])
    assert two.shares(points).tolist() == pytest.approx([0.2, 0.4])
    assert gans.covered(torch.tensor([[0.1, 0.5], [0.09, 0.5]])).tolist() == [2, 1]


def test_a_smear_covers_modes_that_are_near_and_none_that_are_far():
    rng = torch.Generator().manual_seed(0)
    for grid, covered in ((gans.mode_grid(5, 1.0, 0.1), 25), (gans.mode_grid(3, 5.0, 0.1), 0)):
        side = grid.spacing * len(grid.centers) ** 0.5
        smear = grid.shares(side * (torch.rand(40_000, 2, generator=rng, dtype=torch.float64) - 0.5))
        assert gans.covered(smear) == covered
        assert gans.quality(smear).item() == pytest.approx(torch.pi * (0.3 / grid.spacing) ** 2, abs=0.01)
        assert gans.covered(grid.shares(grid.sample((40_000,), rng))) == len(grid.centers)


def test_steepness_is_the_norm_of_the_slope():
    rng = torch.Generator().manual_seed(0)
    for sizes in ((2, 9, 2), (1, 9, 2), (2, 9, 1), (3, 9, 4)):
        net, z = ReLUNet.random(sizes, batch=2, seed=1), torch.randn(6, sizes[0], generator=rng, dtype=torch.float64)
        norms = torch.linalg.matrix_norm(net.jacobian(z), 2)
        torch.testing.assert_close(gans.steepness(net, z), norms)


def test_folds_are_found_where_the_pattern_changes():
    net = ReLUNet.random((2, 40, 2), batch=3, seed=2)
    turn = torch.linspace(0, 2 * torch.pi, 4001, dtype=torch.float64)
    for radius in (0.1, 0.5, 1.0):
        circle = radius * torch.stack([turn.cos(), turn.sin()], -1)
        on = net.pattern(circle)  # a line meets the disc if and only if it meets the circle
        crossed = (on.any(-2) & ~on.all(-2)).sum(-1)
        assert gans.folds_within(net, radius).tolist() == crossed.tolist()


@pytest.mark.parametrize(("count", "steep", "scale"), [(2, 10.0, 1.0), (5, 30.0, 1.0), (5, 200.0, 0.1)])
def test_a_staircase_loses_what_is_said(count, steep, scale):
    net = gans.staircase(count, 1.0, steep, scale)
    line = gans.mode_grid(count, 1.0, 0.1, dimension=1)
    levels = np.linspace(0, 1, 200_001)[1:-1]
    noise = scale * torch.special.ndtri(torch.as_tensor(levels))  # quantiles: quadrature by the law of the noise
    shares = line.shares(net(noise[:, None]))
    assert 1 - gans.quality(shares).item() == pytest.approx(gans.lost_by_staircase(count, 0.4, steep, scale), abs=1e-4)
    assert gans.steepness(net, noise[:, None]).max().item() == pytest.approx(steep)
    room = gans.room_needed(shares, line.gap, steep, scale).item()
    assert 0.5 < room <= 1 + 1e-4
    assert gans.room_needed(shares, line.gap, steep / 4, scale) > 1  # a flatter generator could not do it


def test_two_halves_reach_the_bound():
    """For two modes the isoperimetric inequality is attained: half-lines, which a staircase of one step makes of noise."""
    best = gans.best_quality(2, 0.4, 3.0, 1.0).item()
    assert best == pytest.approx(1 - gans.lost_by_staircase(2, 0.4, 3.0), abs=1e-12)
    p = torch.full((25,), gans.best_quality(25, 0.4, 40.0, 0.1).item() / 25, dtype=torch.float64)
    assert gans.room_needed(p, 0.4, 40.0, 0.1).item() == pytest.approx(1)


def test_a_flat_generator_has_room_for_one_mode():
    assert gans.most_modes(25, 0.4, 0.1, 0.1) == 1
    assert gans.most_modes(25, 0.4, 1000.0, 0.1) == 25
    steep = 4.0
    assert gans.most_modes(25, 0.4, steep, 0.1).item() > 1
    share = torch.zeros(25, dtype=torch.float64)
    for k in range(25):
        share[k] = gans.SHARE / 25
        fits = gans.room_needed(share, 0.4, steep, 0.1) <= 1
        assert bool(fits) == (k + 1 <= gans.most_modes(25, 0.4, steep, 0.1))


def test_no_generator_needs_more_room_than_there_is():
    five = gans.mode_grid(5, 1.0, 0.1)
    nets = ReLUNet.random((2, 64, 2), batch=40, init="he", seed=3)
    nets = nets.with_layers([nets.weights[0], 3 * nets.weights[1]], nets.biases)
    noise = torch.randn(4000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    room = gans.room_needed(five.shares(nets(noise)), five.gap, gans.steepness(nets, noise).amax(-1), 1.0)
    assert (room <= 1).all()
    assert room.max() > 0.1


def test_folds_of_deeper_layers_are_not_lines():
    with pytest.raises(ValueError, match="one hidden layer is needed"):
        gans.folds_within(ReLUNet.random((2, 4, 4, 2)), 1.0)


@pytest.mark.parametrize("bad", [(1, 1.0), (3, 0.0)])
def test_no_staircase(bad):
    with pytest.raises(ValueError, match="a staircase has two modes"):
        gans.staircase(bad[0], 1.0, bad[1])


def test_steps_that_run_into_each_other_are_none():
    assert gans.lost_by_staircase(5, 0.4, 1.0) < 1
    with pytest.raises(ValueError, match="run into each other"):
        gans.staircase(5, 1.0, 0.5)
    with pytest.raises(ValueError, match="overlap"):
        gans.lost_by_staircase(5, 10.0, 1.0)
    with pytest.raises(ValueError, match="a slope above 0"):
        gans.lost_by_staircase(5, 0.4, 0.0)
