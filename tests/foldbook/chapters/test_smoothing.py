"""The bending of wide networks, against scipy's splines integrated by quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline

from foldbook.chapters.smoothing import bending, boundary_spline

X, Y = np.array([-0.9, -0.5, 0.1, 0.4, 0.8]), np.array([0.3, -0.6, 0.5, 0.9, -0.2])


def squared(f, ends):
    """The integral of f'' squared, from knot to knot."""
    knots = np.r_[ends[0], X, ends[1]]
    return sum(quad(lambda t: float(f(t, 2)) ** 2, a, b)[0] for a, b in pairwise(knots))


@pytest.mark.parametrize("facing", ["right", "both"])
def test_wide_networks_bend_as_their_spline_does(facing):
    spline = boundary_spline(X, Y, 1.5, facing)
    assert bending(X, Y, facing, 1.5) == pytest.approx(squared(spline, (-1.5, 1.5)), rel=1e-4)


def test_a_free_straight_part_gives_the_least_bending():
    natural = CubicSpline(X, Y, bc_type="natural")
    assert bending(X, Y, "both", 1.5, affine=True) == pytest.approx(squared(natural, (X[0], X[-1])), rel=1e-4)
