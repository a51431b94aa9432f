"""Two solids around a ball: hulls, formulas, networks and searches against each other, and against skewed ones."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch

from foldbook.chapters import annulus as solids
from foldnet.nets import ReLUNet


@pytest.mark.parametrize("n", range(1, 9))
def test_normals_of_a_regular_simplex(n):
    u = solids.simplex_normals(n)
    assert np.allclose(u @ u.T, (n + 1) / n * np.eye(n + 1) - 1 / n, atol=1e-14)
    assert np.allclose(u.sum(0), 0, atol=1e-14)


@pytest.mark.parametrize("n", range(2, 7))
def test_facets_of_the_expanded_simplex_are_sets_of_neurons(n):
    """Twin: for each set of neurons the distance of the plane on which their sum is 1, with the number of such sets."""
    normals, distances = solids.facets(solids.expanded_simplex_corners(n))
    assert np.allclose(np.linalg.norm(normals, axis=1), 1)
    rows = solids.expanded_simplex(n).weights[0].numpy()
    slow = [1 / np.linalg.norm(rows[list(s)].sum(0)) for k in range(1, n + 1) for s in combinations(range(n + 1), k)]
    assert np.allclose(np.sort(distances), np.sort(slow))
    formula = [solids.facet_distance(k, n) for k in range(1, n + 1) for _ in range(math.comb(n + 1, k))]
    assert np.allclose(np.sort(distances), np.sort(formula))
    assert 1 / min(slow) == pytest.approx(solids.expanded_ratio(n))


@pytest.mark.parametrize("n", range(2, 6))
@pytest.mark.parametrize("solid", ["hyperoctahedron", "expanded_simplex"])
def test_the_boundary_of_the_network_is_the_hull_of_the_corners(n, solid):
    net, corners = getattr(solids, solid)(n), getattr(solids, solid + "_corners")(n)
    assert np.allclose(net(torch.as_tensor(corners)), 0, atol=1e-13)
    found = solids.boundary_corners(net)
    assert len(found) == len(corners)
    assert np.linalg.norm(found[:, None] - corners, axis=-1).min(0).max() < 1e-12
    normals, distances = solids.facets(corners)
    rays = np.random.default_rng(n).normal(size=(500, n))
    assert np.allclose(solids.crossings(net, rays), 1 / (rays @ normals.T / distances).max(1))
    inner, outer = solids.searched_radii(net)
    assert inner == pytest.approx(distances.min())
    assert outer == pytest.approx(1)


def test_radii_of_a_solid_that_is_not_regular():
    stretch = np.array([[1.0, 0, 0], [0.3, 2, 0], [-0.4, 0.5, 3]])
    net = solids.hyperoctahedron(3)
    skewed = ReLUNet([net.weights[0].numpy() @ np.linalg.inv(stretch), net.weights[1]], net.biases)
    corners = solids.hyperoctahedron_corners(3) @ stretch.T
    inner, outer = solids.searched_radii(skewed)
    assert inner == pytest.approx(solids.facets(corners)[1].min())
    assert outer == pytest.approx(np.linalg.norm(corners, axis=1).max())


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_between_the_two_solids_there_are_others(n):
    """Weights of different size on the sides of a simplex: its corners come in one by one, and so do those of the solid."""
    rows, biases = np.vstack([np.eye(n), -np.ones(n)]), np.array([0.0] * n + [1.0])
    push = [*np.arange(2.0, n + 2).tolist(), 1.0]
    for k in range(1, n + 1):
        net = ReLUNet([rows, [push]], [biases, [-(k + 0.5)]])
        corners = solids.boundary_corners(net)
        assert len(corners) == k * (2 * n + 1 - k)
        assert len(np.unique(solids.facets(corners - corners.mean(0))[0].round(6), axis=0)) <= 2 ** (n + 1) - 2


@pytest.mark.parametrize(("solid", "kinds"), [("hyperoctahedron", {3: 8}), ("expanded_simplex", {3: 8, 4: 6})])
def test_faces_in_space(solid, kinds):
    """Each ring goes round its face: as many corners as sides, all edges shared by two faces, Euler's formula."""
    corners, rings = solids.faces(getattr(solids, solid)(3))
    assert Counter(len(ring) for _, ring in rings) == kinds
    edges = Counter(frozenset(pair) for _, ring in rings for pair in zip(ring.tolist(), np.roll(ring, -1).tolist(), strict=True))
    assert set(edges.values()) == {2}
    assert len(corners) - len(edges) + len(rings) == 2
    assert all(((corners - corners[ring[0]]) @ normal).max() < 1e-9 for normal, ring in rings)  # outwards


def test_corners_on_the_line():
    assert sorted(solids.boundary_corners(ReLUNet([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0], [-1.0]]))) == [[-1], [1]]


def test_rays_that_never_leave():
    half = ReLUNet([[[1.0, 0], [0, 1]], [[1.0, 1.0]]], [[0.0, 0], [-1.0]])
    assert np.allclose(solids.crossings(half, [[1.0, 0], [1, 1], [-1, -1], [-1, 2]]), [1, 0.5, np.inf, 0.5])


def test_a_shift_moves_the_hyperplanes_outwards():
    net = solids.expanded_simplex(2, shift=0.2)
    u = solids.simplex_normals(2)
    place = 0.2 / np.linalg.norm(net.weights[0][0].numpy())
    assert np.allclose(net.preactivations(torch.as_tensor(u * place))[0].diagonal(), 0, atol=1e-15)


def test_volumes_of_balls():
    assert solids.ball_volume(2, 0.5) == pytest.approx(math.pi / 4)
    assert solids.ball_volume(3, 2) == pytest.approx(32 * math.pi / 3)
    for n in range(2, 30):
        assert solids.ball_volume(n + 2) == pytest.approx(solids.ball_volume(n) * 2 * math.pi / (n + 2))


def test_two_lines_are_nearly_orthogonal_as_often_as_their_angle_says():
    share = 2 * math.asin(0.2) / math.pi  # in the plane the angle is uniform; in space the product is
    error = 3 * math.sqrt(0.25 / 20_000)
    assert solids.nearly_orthogonal(2, 2, trials=20_000) == pytest.approx(share, abs=error)
    assert solids.nearly_orthogonal(3, 2, trials=20_000) == pytest.approx(0.2, abs=error)
    assert solids.nearly_orthogonal(300, 3) > 0.9 > 0.01 > solids.nearly_orthogonal(300, 3, positive=True)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: solids.simplex_normals(0), "at least 1; got 0"),
        (lambda: solids.hyperoctahedron(3, room=1.0), "more than 1; got 1.0"),
        (lambda: solids.facet_distance(4, 3), "types from 1 to its dimension 3; got 4"),
        (lambda: solids.crossings(ReLUNet.random((2, 3, 3, 1), seed=1), [[1.0, 0]]), "one hidden layer of ReLUs"),
        (lambda: solids.crossings(ReLUNet([[[1.0, 0]], [[1.0]]], [[0.0], [0.0]]), [[1.0, 0]]), "0 lies on its boundary"),
        (lambda: solids.searched_radii(ReLUNet([[[1.0, 0]], [[1.0]]], [[0.0], [-1.0]])), "not bounded"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
