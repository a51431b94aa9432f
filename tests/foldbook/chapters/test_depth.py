"""How often random deep networks bend, against cases that are done by hand and against exact counts of drawn networks."""

import numpy as np
import pytest
import torch

from foldbook.chapters import depth
from foldnet.nets import ReLUNet
from foldnet.splines.depth import deep_spline


def test_one_layer_bends_once_per_neuron():
    assert depth.mean_bends([7]) == 7
    assert depth.mean_switches([7]) == [7]


def test_two_layers_of_one_neuron_by_hand():
    # v(wx + b)+ + c: where the first neuron switches, the second sees c, on with chance 1/2; the second has a zero if c/v < 0
    assert depth.mean_switches([1, 1]) == [1, 0.5]
    assert depth.mean_bends([1, 1]) == 0.5 + 0.5


def test_a_leak_makes_it_one_per_neuron():
    assert depth.mean_bends([2, 1, 3], leak=0.1) == 6
    assert depth.mean_switches([2, 1, 3], leak=0.1) == [2, 1, 3]


@pytest.mark.parametrize(("hidden", "leak"), [((2, 2), 0.0), ((1, 3, 2), 0.0), ((2, 1, 2), 0.3)])
@pytest.mark.parametrize("law", depth.LAWS)
def test_exact_counts_of_drawn_networks_have_these_means(hidden, leak, law):
    count = 4000
    f = deep_spline(depth.draw(hidden, law, count, leak, seed=11))
    bends = f.network[f.kink].bincount(minlength=count).double().numpy()
    assert abs(bends.mean() - depth.mean_bends(hidden, leak)) < 4 * bends.std() / count**0.5
    for layer, mean in enumerate(depth.mean_switches(hidden, leak)):
        of = f.network[f.vertex[f.switches & (f.layer == layer)]].bincount(minlength=count).double().numpy()
        assert abs(of.mean() - mean) <= 4 * of.std() / count**0.5


def test_without_the_layers_above_the_number_of_bends_would_be_another():
    hidden, count = (1, 3, 2), 4000
    f = deep_spline(depth.draw(hidden, "normal", count, seed=12))
    bends = f.network[f.kink].bincount(minlength=count).double().numpy()
    below_only = sum(depth.mean_switches(hidden))
    assert abs(bends.mean() - below_only) > 10 * bends.std() / count**0.5


def slow_bends(net, activation, grid):
    """Changes of the pattern of signs between neighbours of a grid: each is the switch of one neuron."""
    a, pattern = grid[:, None], []
    for w, b in zip(net.weights[:-1], net.biases[:-1]):
        z = a @ w.numpy().T + b.numpy()
        pattern.append(z > 0)
        a = activation(z)
    pattern = np.concatenate(pattern, 1)
    return int((pattern[1:] != pattern[:-1]).sum())


@pytest.mark.parametrize(("below", "above", "at_zero"), [(-1, 1, 0), (3, 1, 0), (-0.5, -2, 0), (-1, 1, -1)])
def test_two_slopes_are_those_of_the_activation_and_bend_where_a_neuron_switches(below, above, at_zero):
    grid = np.tan(np.linspace(-np.pi / 2, np.pi / 2, 100_003)[1:-1])
    activation = lambda z: np.where(z < 0, below * z, above * z) + at_zero  # noqa: E731
    nets = depth.draw((2, 3), "normal", 8, seed=5)
    made = depth.two_slopes(nets, below, above, at_zero)
    for i, count in enumerate(depth.bends(made)):
        net, x = nets[i], np.linspace(-3, 3, 7)[:, None]
        a = x
        for w, b in zip(net.weights, net.biases):
            z = a @ w.numpy().T + b.numpy()
            a = activation(z)
        assert np.allclose(made[i](torch.tensor(x)).numpy(), z)
        assert count == slow_bends(net, activation, grid)


@pytest.mark.parametrize(("below", "above"), [(-1, 1), (3, 1), (-0.5, -2)])
def test_two_slopes_that_are_not_zero_bend_once_per_neuron(below, above):
    bends = depth.bends(depth.two_slopes(depth.draw((3, 1, 3), "uniform", 4000, seed=13), below, above))
    assert abs(bends.mean() - 7) < 4 * bends.std() / len(bends) ** 0.5


def test_an_activation_that_is_not_zero_at_its_kink_does_not():
    bends = depth.bends(depth.two_slopes(depth.draw((1, 1), "normal", 4000, seed=14), -1, 1, at_zero=-1))
    error = bends.std() / len(bends) ** 0.5
    assert abs(bends.mean() - 2.5) < 4 * error  # the second neuron: two switches if b/v < 1, a Cauchy variable
    assert abs(bends.mean() - 2) > 10 * error


def test_the_absolute_value_needs_no_symmetry_of_the_biases_and_a_leak_does():
    nets = depth.draw((2, 3), "normal", 4000, seed=15)
    nets = ReLUNet(nets.weights, [b.abs() + 1 for b in nets.biases])
    for below, once in ((-1, True), (0.1, False)):
        bends = depth.bends(depth.two_slopes(nets, below, 1))
        assert (abs(bends.mean() - 5) < 4 * bends.std() / len(bends) ** 0.5) == once


def test_the_spread_and_its_interval():
    counts = np.repeat([0.0, 2.0], 500)
    found, low, high = depth.spread(counts)
    assert found == 1
    assert 0.98 < low <= high <= 1  # a fair coin has the largest spread there is
    counts = np.random.default_rng(3).normal(size=1000)
    found, low, high = depth.spread(counts)
    assert abs((high - low) / (4 * found / (2 * 1000) ** 0.5) - 1) < 0.2  # the error of a normal spread, twice to either side
    assert depth.spread(np.full(9, 3.0)) == (0, 0, 0)


def test_errors_are_sentences():
    with pytest.raises(ValueError, match="at least one neuron"):
        depth.mean_bends([3, 0])
    with pytest.raises(ValueError, match="'normal' or by a 'uniform'"):
        depth.draw([2], "cauchy")
    assert np.isclose(depth.mean_bends([40]), 40)
