"""Modes, shares and steepness, against counting, quadrature and finite differences."""

import numpy as np
import pytest
import torch

from foldnet.nets import ReLUNet
from foldnet.splines import modes


def test_a_grid_and_its_samples():
    five = modes.mode_grid(5, 1.0, 0.1)
    assert five.centers.shape == (25, 2)
    assert five.spacing == pytest.approx(1)
    assert five.gap == pytest.approx(0.4)
    assert modes.mode_grid(4, 2.0, dimension=1).centers[:, 0].tolist() == [-3, -1, 1, 3]
    points = five.sample((20_000,), torch.Generator().manual_seed(0))
    shares = five.shares(points)
    inside = 1 - np.exp(-4.5)  # of a normal distribution of two dimensions, within 3 standard deviations
    assert modes.quality(shares).item() == pytest.approx(inside, abs=3 * (inside * (1 - inside) / 20_000) ** 0.5)
    assert modes.covered(shares) == 25
    with pytest.raises(ValueError, match="at least two points"):
        modes.Modes(torch.zeros(1, 2), 0.1)


def test_shares_by_hand():
    two = modes.Modes(torch.tensor([[0.0, 0.0], [1.0, 0.0]]), 0.1)
    points = torch.tensor([[0.0, 0.29], [0.0, 0.31], [0.9, 0.0], [1.0, 0.1], [0.5, 0.0]])
    assert two.shares(points).tolist() == pytest.approx([0.2, 0.4])
    assert modes.covered(torch.tensor([[0.1, 0.5], [0.09, 0.5]])).tolist() == [2, 1]


def test_a_smear_covers_modes_that_are_near_and_none_that_are_far():
    rng = torch.Generator().manual_seed(0)
    for grid, covered in ((modes.mode_grid(5, 1.0, 0.1), 25), (modes.mode_grid(3, 5.0, 0.1), 0)):
        side = grid.spacing * len(grid.centers) ** 0.5
        smear = grid.shares(side * (torch.rand(40_000, 2, generator=rng, dtype=torch.float64) - 0.5))
        assert modes.covered(smear) == covered
        assert modes.quality(smear).item() == pytest.approx(torch.pi * (0.3 / grid.spacing) ** 2, abs=0.01)
        assert modes.covered(grid.shares(grid.sample((40_000,), rng))) == len(grid.centers)


def test_steepness_is_the_norm_of_the_slope():
    rng = torch.Generator().manual_seed(0)
    for sizes in ((2, 9, 2), (1, 9, 2), (2, 9, 1), (3, 9, 4)):
        net, z = ReLUNet.random(sizes, batch=2, seed=1), torch.randn(6, sizes[0], generator=rng, dtype=torch.float64)
        norms = torch.linalg.matrix_norm(net.jacobian(z), 2)
        torch.testing.assert_close(modes.steepness(net, z), norms)


def test_folds_are_found_where_the_pattern_changes():
    net = ReLUNet.random((2, 40, 2), batch=3, seed=2)
    turn = torch.linspace(0, 2 * torch.pi, 4001, dtype=torch.float64)
    for radius in (0.1, 0.5, 1.0):
        circle = radius * torch.stack([turn.cos(), turn.sin()], -1)
        on = net.pattern(circle)  # a line meets the disc if and only if it meets the circle
        crossed = (on.any(-2) & ~on.all(-2)).sum(-1)
        assert modes.folds_within(net, radius).tolist() == crossed.tolist()


@pytest.mark.parametrize(("count", "steep", "scale"), [(2, 10.0, 1.0), (5, 30.0, 1.0), (5, 200.0, 0.1)])
def test_a_staircase_loses_what_is_said(count, steep, scale):
    net = modes.staircase(count, 1.0, steep, scale)
    line = modes.mode_grid(count, 1.0, 0.1, dimension=1)
    levels = np.linspace(0, 1, 200_001)[1:-1]
    noise = scale * torch.special.ndtri(torch.as_tensor(levels))  # quantiles: quadrature by the law of the noise
    shares = line.shares(net(noise[:, None]))
    assert 1 - modes.quality(shares).item() == pytest.approx(modes.lost_by_staircase(count, 0.4, steep, scale), abs=1e-4)
    assert modes.steepness(net, noise[:, None]).max().item() == pytest.approx(steep)
    room = modes.room_needed(shares, line.gap, steep, scale).item()
    assert 0.5 < room <= 1 + 1e-4
    assert modes.room_needed(shares, line.gap, steep / 4, scale) > 1  # a flatter generator could not do it


def test_two_halves_reach_the_bound():
    """For two modes the isoperimetric inequality is attained: half-lines, which a staircase of one step makes of noise."""
    best = modes.best_quality(2, 0.4, 3.0, 1.0).item()
    assert best == pytest.approx(1 - modes.lost_by_staircase(2, 0.4, 3.0), abs=1e-12)
    p = torch.full((25,), modes.best_quality(25, 0.4, 40.0, 0.1).item() / 25, dtype=torch.float64)
    assert modes.room_needed(p, 0.4, 40.0, 0.1).item() == pytest.approx(1)


def test_a_flat_generator_has_room_for_one_mode():
    assert modes.most_modes(25, 0.4, 0.1, 0.1) == 1
    assert modes.most_modes(25, 0.4, 1000.0, 0.1) == 25
    steep = 4.0
    assert modes.most_modes(25, 0.4, steep, 0.1).item() > 1
    share = torch.zeros(25, dtype=torch.float64)
    for k in range(25):
        share[k] = modes.SHARE / 25
        fits = modes.room_needed(share, 0.4, steep, 0.1) <= 1
        assert bool(fits) == (k + 1 <= modes.most_modes(25, 0.4, steep, 0.1))


def test_no_generator_needs_more_room_than_there_is():
    five = modes.mode_grid(5, 1.0, 0.1)
    nets = ReLUNet.random((2, 64, 2), batch=40, init="he", seed=3)
    nets = nets.with_layers([nets.weights[0], 3 * nets.weights[1]], nets.biases)
    noise = torch.randn(4000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    room = modes.room_needed(five.shares(nets(noise)), five.gap, modes.steepness(nets, noise).amax(-1), 1.0)
    assert (room <= 1).all()
    assert room.max() > 0.1


def test_folds_of_deeper_layers_are_not_lines():
    with pytest.raises(ValueError, match="one hidden layer is needed"):
        modes.folds_within(ReLUNet.random((2, 4, 4, 2)), 1.0)


@pytest.mark.parametrize("bad", [(1, 1.0), (3, 0.0)])
def test_no_staircase(bad):
    with pytest.raises(ValueError, match="a staircase has two modes"):
        modes.staircase(bad[0], 1.0, bad[1])


def test_steps_that_run_into_each_other_are_none():
    assert modes.lost_by_staircase(5, 0.4, 1.0) < 1
    with pytest.raises(ValueError, match="run into each other"):
        modes.staircase(5, 1.0, 0.5)
    with pytest.raises(ValueError, match="overlap"):
        modes.lost_by_staircase(5, 10.0, 1.0)
    with pytest.raises(ValueError, match="a slope above 0"):
        modes.lost_by_staircase(5, 0.4, 0.0)
