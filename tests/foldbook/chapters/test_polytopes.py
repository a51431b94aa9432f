"""Turns, hulls and slopes around closed boundaries: against networks built by hand and scipy."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from foldbook.chapters.polytopes import around, bends, enclosed, first_layer_alone, hull, random_net, ring
from foldnet.geometry.loops import loops
from foldnet.geometry.regions import regions
from foldnet.nets import ReLUNet

WAY = np.radians([90, 210, 330])
NORMALS = np.stack([np.cos(WAY), np.sin(WAY)], 1)
# three walls at distance 0.3 around the origin: 0 in the triangle, rising outside, and cut at height 0.5
CUP = ReLUNet([NORMALS, [[1.0, 1, 1]]], [[-0.3] * 3, [-0.5]])
LARGE = [(-4, -4), (4, -4), (4, 4), (-4, 4)]


def test_the_hexagon_of_the_cup_turns_twice_on_each_line():
    c = regions(CUP, LARGE)
    (loop,) = loops(c)
    assert bends(c, loop) == pytest.approx([120, 120, 120])
    assert around(loop)
    assert not around(loop, (3, 0))


def test_the_slopes_of_the_cup_are_a_point_and_a_hexagon():
    c = regions(CUP, LARGE)
    slopes = c.maps()[0][:, 0]
    assert len(slopes) == 7
    assert hull(slopes) == 6
    found = ring(c)
    assert found["centre"] == 0
    assert found["between"] == 0
    assert found["ring"] == pytest.approx(1)  # each wall, and the sum of two of them, has length 1


def test_between_is_a_share_of_the_inside():
    # |x| + |y| - 1, with a dent of half the slope in the middle: |x| + |y| < 0.5 has slope 1/2 of the outside's
    rows = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    net = ReLUNet([np.concatenate([rows, rows]), [[0.5] * 4 + [0.5] * 4]], [[0.0] * 4 + [-0.5] * 4, [-0.75 - 1e-9]])
    c = regions(net, LARGE)
    x = torch.tensor(np.random.default_rng(0).uniform(-4, 4, (40_000, 2)))
    slope, value = net.jacobian(x)[:, 0].norm(dim=-1), net(x)[:, 0]
    part, inside = slope / ring(c)["ring"], value < 0
    expected = float(((part > 1 / 3) & (part < 2 / 3) & inside).sum() / inside.sum())
    assert ring(c)["between"] == pytest.approx(expected, abs=0.03)


@given(st.integers(0, 10**6), st.integers(3, 20))
def test_the_hull_has_scipys_corners_and_lines_enclose_as_triangles_do(seed, n):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    assert hull(points) == len(ConvexHull(points).vertices)
    w, b = rng.normal(size=(n, 2)), rng.normal(size=n)

    def holds(i, j, k):
        """The triangle of three lines has 0 inside: it is a convex combination of the corners."""
        three = [np.linalg.solve(w[[p, q]], -b[[p, q]]) for p, q in ((i, j), (j, k), (k, i))]
        part = np.linalg.solve(np.vstack([np.transpose(three), np.ones(3)]), [0, 0, 1])
        return (part > 0).all()

    if n <= 7:
        assert enclosed(w, b) == any(holds(*three) for three in combinations(range(n), 3))


def test_the_hull_of_equal_points_has_one_corner():
    assert [hull(np.ones((n, 2))) for n in range(4)] == [0, 1, 1, 1]
    assert hull(np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [0, 1], [0, 1]])) == 3


def test_a_first_layer_that_sees_the_class_is_enough_and_a_blind_one_is_not():
    x = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (400, 2)))
    y = (x[:, 0].abs() > 0.5).long()  # two neurons along the first axis know it, two along the second do not
    other = [[1.0, 1.0]], [0.0]
    rows = [[[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [0.0, -1.0]]]
    nets = ReLUNet([rows, [other[0], other[0]]], [np.zeros((2, 2)), [other[1], other[1]]])
    knows, blind = first_layer_alone(nets, x[:200], y[:200], x[200:], y[200:]).tolist()
    assert knows > 0.97
    assert blind < 0.65


def test_random_networks_have_their_neurons_in_equal_layers():
    assert random_net(12, 3, seed=1).sizes == (2, 4, 4, 4, 1)
    assert torch.equal(random_net(12, 3, seed=1).biases[0], random_net(12, 3, seed=1).biases[0])
    assert not torch.equal(random_net(12, 3, seed=1).biases[0], random_net(12, 3, seed=2).biases[0])
