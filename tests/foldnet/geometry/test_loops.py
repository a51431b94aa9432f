"""Closed boundaries, their corners and bounds: against networks built by hand and counts from papers."""

import numpy as np
import pytest
import torch

from foldnet.geometry.loops import corners, loops, most_cells, most_regions
from foldnet.geometry.regions import regions
from foldnet.nets import ReLUNet

WAY = np.radians([90, 210, 330])
NORMALS = np.stack([np.cos(WAY), np.sin(WAY)], 1)
# three walls at distance 0.3 around the origin: 0 in the triangle, rising outside, and cut at height 0.5
CUP = ReLUNet([NORMALS, [[1.0, 1, 1]]], [[-0.3] * 3, [-0.5]])
LARGE = [(-4, -4), (4, -4), (4, 4), (-4, 4)]


def test_the_cup_of_three_walls_is_a_hexagon():
    c = regions(CUP, LARGE)
    (loop,) = loops(c)
    places, turns = corners(loop)
    assert len(places) == 6
    assert abs(turns.sum()) == pytest.approx(360)
    assert CUP(torch.as_tensor(places)).abs().max() < 1e-12


def test_a_network_of_two_walls_has_no_loop():
    net = ReLUNet([NORMALS[:2], [[1.0, 1]]], [[-0.3] * 2, [-0.5]])
    assert loops(regions(net, LARGE)) == []


def test_bounds_are_those_of_the_papers():
    assert [most_cells(n) for n in (1, 2, 3, 4)] == [2, 4, 7, 11]
    assert most_regions((2, 5, 1)) == most_cells(5)
    assert most_regions((1, 4, 3, 1)) == 1 * (1 + 3) + 4 * (1 + 3)  # on a line each piece may be cut by each neuron
    assert most_regions((2, 1, 4, 1)) == 5 + 1  # four parallel lines where the first neuron is on, one piece where it is off
    for seed in range(20):
        net = ReLUNet.random((2, 6, 5, 4, 1), seed=seed)
        assert len(regions(net, [(-9, -9), (9, -9), (9, 9), (-9, 9)])) <= most_regions(net.sizes)
