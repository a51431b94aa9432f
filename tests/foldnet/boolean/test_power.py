"""What width and depth can do: constructions in rational numbers, held against plain evaluation and counts."""

from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest

from foldnet.boolean import power
from foldnet.boolean.exact import ExactNet
from foldnet.geometry.cells import count_regions
from foldnet.geometry.loops import most_cells, most_regions
from foldnet.geometry.regions import regions
from foldnet.nets import ReLUNet

UNIT = ((0, 0), (1, 0), (1, 1), (0, 1))


def whole_network(sizes, rng, low=-3):
    pairs = list(pairwise(sizes))
    weights = [rng.integers(-3, 4, (o, i)).tolist() for i, o in pairs]
    return ExactNet(weights, [rng.integers(low, 4, o).tolist() for o in sizes[1:]])


def test_the_bounds_are_the_formulas():
    assert power.regions_at_most((2, 3, 1)) == most_cells(3) == 7
    assert power.regions_at_most((2, 3, 1), k=1) == 4
    assert power.regions_at_most((3, 1, 5, 1)) == 2 * 6  # behind one neuron space is a line
    for sizes in [(2, 4, 4, 1), (2, 1, 5, 1), (3, 4, 2, 6, 1), (1, 5, 5, 1)]:
        assert power.regions_at_most(sizes) >= most_regions(sizes)
    assert power.regions_at_least((2, 4, 5, 1)) == 4 * 16
    with pytest.raises(ValueError, match="at least as wide as the input"):
        power.regions_at_least((2, 1, 4, 1))


@pytest.mark.parametrize("sizes", [(2, 4, 4, 1), (2, 5, 6, 1), (2, 4, 4, 4, 1), (2, 2, 3, 1)])
def test_folding_networks_reach_the_lower_bound_with_pieces_that_differ(sizes):
    c = regions(power.folding_network(sizes, seed=2), UNIT)
    assert len(c) == power.regions_at_least(sizes)
    slopes, constants = (m.reshape(len(c), -1) for m in c.maps())
    a, b = np.hstack([slopes, constants])[c.neighbours.T]
    assert np.abs(a - b).max(1).min() > 1e-9


def test_a_wide_layer_becomes_narrow_ones_exactly():
    rng = np.random.default_rng(4)
    for at_once in (1, 4, 11, 30):
        net = whole_network((3, 11, 1), rng)
        deep = power.narrowed(net, at_once)
        assert max(deep.sizes) <= at_once + 8
        assert len(deep.sizes) - 2 == -(-11 // at_once)
        assert all(deep(x) == net(x) for x in rng.integers(-50, 51, (20, 3)).tolist())
    with pytest.raises(ValueError, match="one hidden layer"):
        power.narrowed(deep if len(deep.sizes) > 3 else whole_network((2, 2, 2, 1), rng), 2)


@pytest.mark.parametrize("leak", [0, F(1, 10)])
def test_whole_weights_give_a_multiple(leak):
    net = ExactNet([[[F(1, 2), F(-2, 3)], [3, F(1, 5)]], [[F(1, 7), -1]]], [[F(1, 4), 0], [F(-5, 6)]], leak)
    whole, factor = power.with_whole_weights(net)
    assert factor == 420**2
    assert all(v.denominator == 1 for b in whole.biases for v in b)
    assert all(v.denominator == 1 for w in whole.weights for r in w for v in r)
    assert all(whole(x) == factor * net(x) for x in [(0, 0), (F(1, 3), 5), (-2, F(-7, 9))])


@pytest.mark.parametrize(("d", "n"), [(1, 5), (2, 6), (3, 6), (4, 6)])
def test_regions_of_one_layer_are_zaslavskys(d, n):
    rng = np.random.default_rng(n)
    net = ReLUNet([rng.normal(size=(n, d)), np.ones((1, n))], [0.01 * rng.normal(size=n), [0.0]])
    assert count_regions(net, 100.0) == most_cells(n, d)


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_regions_of_deep_networks_are_those_of_the_plane(leak):
    for seed in range(5):
        net = ReLUNet.random((2, 5, 4, 5, 1), seed=seed, leak=leak)
        assert count_regions(net, 3.0) == len(regions(net, [(-3, -3), (3, -3), (3, 3), (-3, 3)]))
    with pytest.raises(ValueError, match="raise it"):
        count_regions(net, 3.0, most=2)


@pytest.mark.parametrize("off", [-1e-15, 0.0, 1e-15])
def test_a_hyperplane_on_a_wall_of_the_cube_cuts_nothing_whichever_way_it_is_rounded(off):
    net = ReLUNet([[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], [[1.0, 1.0]]], [[1.0 + off, 0.5], [0.0]])
    assert count_regions(net, 1.0) == 2
    nearly = ReLUNet(net.weights, [[1.0 - 1e-9, 0.5], [0.0]])
    assert count_regions(nearly, 1.0) == 4
