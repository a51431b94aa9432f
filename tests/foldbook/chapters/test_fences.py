"""Bounded regions in fractions against the fast engine, and the count of cones against what is known of arrangements."""

from fractions import Fraction

import numpy as np
import pytest

from foldbook.chapters.fences import count_faces, fences, sign_vectors
from foldnet.geometry.regions import boundary, regions
from foldnet.nets import ReLUNet


def test_a_square_a_pentagon_and_a_hexagon():
    square = fences([[1, 0], [0, 1], [1, 1]], [0, 0, 2], [2, 2, -1], 1)
    assert [(f.sign, len(f.corners), f.convex) for f in square] == [(-1, 4, True)]
    assert set(square[0].corners) == {(1, 0), (0, 1), (-1, 0), (0, -1)}
    (pentagon,) = fences([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [3, 2, 1], -3)
    assert set(pentagon.corners) == {(1, 0), (0, Fraction(3, 2)), (Fraction(-1, 2), Fraction(3, 2)), (-2, 0), (0, -2)}
    (hexagon,) = fences([[1, 0], [0, 1], [-1, -1]], [0, 0, 0], [-1, -1, -1], 1)
    assert (hexagon.sign, len(hexagon.corners)) == (1, 6)


def test_a_ring_has_a_hole():
    """h(x) + h(y) with h(0) = -1, h(1) = 2 and a fall beyond: a dip, a wall around it, and nothing outside."""
    side, push = [(1, 0), (-1, 0), (1, -1), (-1, -1)], [3, 3, -9, -9]
    rows = [(a, 0) for a, _ in side] + [(0, a) for a, _ in side]
    wall, dip = fences(rows, [b for _, b in side] * 2, push * 2, -2)
    assert (wall.sign, wall.holes, wall.convex) == (1, 1, False)
    assert (dip.sign, dip.holes, dip.convex, len(dip.corners)) == (-1, 0, True, 4)


@pytest.mark.parametrize("width", [3, 4, 5])
def test_closed_boundaries_are_those_of_the_engine(width):
    rng, found = np.random.default_rng(width), 0
    for _ in range(60):
        rows, biases = rng.integers(-5, 6, (width, 2)), rng.integers(-5, 6, width)
        push, offset = rng.integers(-3, 4, width), int(rng.integers(-6, 7))
        exact = fences(rows, biases, push, offset)
        net = ReLUNet([rows.astype(float), [push.astype(float)]], [biases.astype(float), [float(offset)]])
        wide = 500.0 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        loops = [line for line in boundary(regions(net, wide)) if np.array_equal(line[0], line[-1])]
        clear = [f for f in exact if not f.holes]
        if len(clear) == len(exact) == len(loops):
            found += len(loops)
            for f in clear:
                corners = np.array(f.corners, dtype=float)
                assert any(np.abs(line[:, None] - corners).max(-1).min(0).max() < 1e-9 for line in loops)
        else:  # zero on a whole piece, or a line of zeros inside: the engine calls zero not positive
            assert _touches_zero(net, rows, biases, push, offset)
    assert found > 0


def _touches_zero(net, rows, biases, push, offset):
    """Whether some cell of the network has slope zero at height zero."""
    c = regions(net, 500.0 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]))
    slopes, offsets = c.maps()
    flat = np.abs(slopes).max((1, 2)) < 1e-9
    return bool((np.abs(offsets[flat]) < 1e-9).any())


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
def test_cones_of_lines_and_of_coordinate_planes(m):
    assert count_faces([[1, k] for k in range(m)]) == (4 * m + 1 if m > 1 else 3)
    assert count_faces(np.eye(m, dtype=int)) == 3**m


def test_forms_are_taken_exactly_and_zeros_cut_nothing():
    assert count_faces([[Fraction(1, 2), 0], [0, Fraction(1, 3)]]) == count_faces([[0.5, 0], [0, 0.25]]) == 9
    assert count_faces([[0, 0], [1, 0]]) == 3
    assert count_faces([[0, 0]]) == count_faces(np.zeros((0, 2))) == 1
    with pytest.raises(ValueError, match=r"as there are dimensions; got \[1, 2\]"):
        count_faces([[1], [1, 2]])


def test_a_neuron_needs_all_its_weights():
    for short in (
        [[[1, 0]], [0, 0], [1, 1]],
        [[[1, 0], [0, 1]], [0], [1, 1]],
        [[[1, 0], [0, 1]], [0, 0], [1]],
        [[[1]], [0], [1]],
    ):
        with pytest.raises(ValueError, match="a row of two weights, a bias and a push"):
            fences(*short, 1)


def test_every_sign_vector_is_found_once():
    forms = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, -1, 0], [2, 0, 0]]
    found = sign_vectors(forms, 4)
    assert len(found) == count_faces(forms) == len(np.unique(np.sign(found @ np.transpose(forms)), axis=0))
    assert len(sign_vectors(forms, 3)) < len(found)  # too few numbers, and the count tells
