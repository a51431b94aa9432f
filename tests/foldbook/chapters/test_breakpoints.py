"""Densities of one random neuron, against quadrature."""

import numpy as np
import pytest
from scipy import integrate

from foldbook.chapters import breakpoints
from foldnet.splines import initialization as init


def test_cell_probabilities_are_integrals_of_the_joint_density():
    beta_edges, mu_edges = np.array([-1.0, -0.2, 0.5, 2.0]), np.array([-3.0, -0.5, 0.25, 1.0])
    cells = breakpoints.cell_probabilities(beta_edges, mu_edges, 2.0, 0.5, 0.7)
    for i in range(3):
        for m in range(3):
            box = (mu_edges[m], mu_edges[m + 1]), (beta_edges[i], beta_edges[i + 1])
            integral = integrate.nquad(lambda mu, beta: init.joint_density(beta, mu, 2.0, 0.5, 0.7), box, opts={"points": [0.0]})[
                0
            ]
            assert cells[i, m] == pytest.approx(integral, rel=1e-6)


def test_delta_slope_cdf_is_the_integral_of_the_density():
    for mu in (-2.0, 0.0, 0.3, 5.0):
        by_quadrature = 0.5 + np.sign(mu) * integrate.quad(init.delta_slope_density, 0, abs(mu), args=(2.0, 0.7))[0]
        assert breakpoints.delta_slope_cdf(mu, 2.0, 0.7) == pytest.approx(by_quadrature, abs=1e-7)


def test_edges_may_be_lists():
    edges = [-1.0, 0.5, 2.0], [-1.0, 0.0, 3.0]
    assert np.array_equal(
        breakpoints.cell_probabilities(*edges, 1.0, 2.0, 0.5),
        breakpoints.cell_probabilities(*map(np.array, edges), 1.0, 2.0, 0.5),
    )
