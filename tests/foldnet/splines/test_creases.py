"""Creases against the network, and what wide networks draw against scipy."""

import numpy as np
import pytest
import torch
from scipy.interpolate import CubicSpline, RBFInterpolator

from foldnet.nets import ReLUNet
from foldnet.splines import creases


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_creases_draw_the_network(dimension):
    net = ReLUNet.random((dimension, 7, 1), batch=3, seed=dimension)
    weights = net.weights[0].clone()
    weights[0, 2] = 0  # a neuron without a crease
    net = ReLUNet([weights, net.weights[1]], net.biases)
    draw = torch.Generator().manual_seed(dimension)
    found, x = creases.creases(net), torch.randn(20, dimension, dtype=torch.float64, generator=draw)
    torch.testing.assert_close(found(x), net(x)[..., 0], atol=1e-13, rtol=0)
    sizes = found.normals.norm(dim=-1)
    assert sizes[0, 2] == found.delta_slopes[0, 2] == 0
    torch.testing.assert_close(sizes[1:], torch.ones_like(sizes[1:]))
    on = found.normals[1] * found.offsets[1][:, None]  # the foot of each crease: the neuron switches there
    torch.testing.assert_close((net.preactivations(on)[0][1]).diagonal(), torch.zeros(7, dtype=torch.float64), atol=1e-14, rtol=0)


def test_networks_without_creases_are_refused():
    for net in (ReLUNet.random((2, 3, 3, 1)), ReLUNet.random((2, 3, 2)), ReLUNet.random((2, 3, 1), leak=0.1)):
        with pytest.raises(ValueError, match="one hidden layer and one output"):
            creases.creases(net)


def test_half_whole_exponents_are_refused_and_the_free_degree_is_that_of_the_law():
    x = torch.rand(9, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with pytest.raises(ValueError, match=r"for lambda = 1\.5 the law has logarithms"):
        creases.polyharmonic(x, x[:, 0], 1.5)
    assert [creases.monomials(x, lam).shape[1] for lam in (1.25, 1.75)] == [1, 4]


def test_polyharmonic_splines_are_those_of_scipy():
    rng = np.random.default_rng(1)
    x, y = np.sort(rng.uniform(-1, 1, 6)), rng.normal(size=6)
    t = np.linspace(x[0], x[-1], 50)
    np.testing.assert_allclose(creases.polyharmonic(x[:, None], y, 1.0)(t[:, None]), np.interp(t, x, y), atol=1e-10)
    natural = CubicSpline(x, y, bc_type="natural")(t)
    np.testing.assert_allclose(creases.polyharmonic(x[:, None], y, 2.0)(t[:, None]), natural, atol=1e-9)
    x, y, t = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=(9, 3))
    for lam, kernel in ((1.0, "linear"), (2.0, "cubic"), (3.0, "quintic")):
        np.testing.assert_allclose(creases.polyharmonic(x, y, lam)(t), RBFInterpolator(x, y, kernel=kernel)(t), atol=1e-8)
    with pytest.raises(ValueError, match=r"\(n, D\)"):
        creases.polyharmonic([0.0, 1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match="free polynomial"):
        creases.polyharmonic(x[:3], y[:3], 2.0)
