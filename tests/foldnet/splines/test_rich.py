"""Speeds, bends and starts of the rich regime, against automatic differentiation and brute force."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from experiments import spiky_init, weight_scale
from foldnet.nets import ReLUNet
from foldnet.splines import dynamics, rich, targets
from foldnet.splines.breakpoints import spline
from foldnet.splines.initialization import gaussian

X, Y = np.array([-0.9, -0.5, 0.1, 0.4, 0.8]), np.array([0.3, -0.6, 0.5, 0.9, -0.2])


def test_start_is_zero_with_even_breakpoints_at_every_scale():
    nets = rich.start(40, 1.5, [100.0, 1.0, 0.1], seed=3)
    assert nets(torch.linspace(-3, 3, 50).double()[:, None]).abs().max() < 1e-9
    f = spline(nets)
    assert torch.allclose(f.breakpoints[0], f.breakpoints[2])
    assert len(f.breakpoints[0].unique()) == 10
    assert torch.allclose(f.delta_slopes[0], 10**4 * f.delta_slopes[1])
    assert sorted(f.orientations[0].tolist()) == [-1.0] * 20 + [1.0] * 20


def test_speeds_are_the_gradient_flow_of_the_weights():
    net = gaussian(9, 1.0, 1.0, 1.0, seed=5)
    x, y = torch.as_tensor(X)[:, None], torch.as_tensor(Y)[:, None]
    vector = net.vector().requires_grad_()
    velocity = -torch.autograd.grad(0.5 * (net.with_vector(vector)(x) - y).square().sum(), vector)[0]

    def of(t):
        f = spline(net.with_vector(net.vector() + t * velocity))
        return f.breakpoints, f.delta_slopes

    step = 1e-6
    speed = dynamics.velocity(net, X, Y)
    for formula, after, before in zip((speed.breakpoints, speed.delta_slopes), of(step), of(-step)):
        assert torch.allclose(formula, (after - before) / (2 * step), rtol=1e-5, atol=1e-6)


def test_scale_slows_breakpoints_beside_delta_slopes():
    speed = dynamics.velocity(rich.start(40, 1.5, [10.0, 1.0], seed=1), X, Y)
    assert torch.allclose(speed.breakpoints[0], speed.breakpoints[1])
    assert torch.allclose(speed.delta_slopes[0], 100 * speed.delta_slopes[1])


def test_bends_by_hand_and_in_a_batch():
    net = ReLUNet([[[1.0], [-2.0], [1.0], [0.0]], [[3.0, 1.0, -5.0, 7.0]]], [[0.0, 0.2, -0.9, 1.0], [0.0]])
    edges = [-0.5, 0.05, 0.5, 0.8]
    assert rich.bends(net, edges).tolist() == [3.0, 2.0, 0.0]  # at 0, at 0.1; the third bends outside, the fourth nowhere
    nets = gaussian(20, 1.0, 1.0, 1.0, batch=(2, 3), seed=1)
    edges = np.linspace(-2, 2, 9)
    for i, j in [(0, 0), (1, 2)]:
        f = spline(nets[i, j])
        brute = [f.delta_slopes[(f.breakpoints > a) & (f.breakpoints <= b)].sum() for a, b in pairwise(edges)]
        assert torch.allclose(rich.bends(nets, edges)[i, j], torch.stack(brute))


def test_participation_counts_equal_cells():
    assert rich.participation(torch.tensor([0.0, 2.0, -2.0, 0.0, 2.0])).item() == pytest.approx(3)
    assert rich.participation(torch.tensor([0.0, 5.0])).item() == pytest.approx(1)


def test_distance_to_data():
    net = rich.start(40, 1.5, 1.0)
    brute = [min(abs(b - x) for x in X) for b in spline(net).breakpoints.tolist()]
    assert np.allclose(rich.distance_to_data(net, X), brute)


def test_spikes_are_invisible_at_the_data_and_as_high_as_said():
    for shape in spiky_init.SHAPES:
        nets, apex, signs = spiky_init.initial("sine", shape, networks=3)
        x = spiky_init.places("sine")
        weights = [w.clone() for w in nets.weights]
        weights[-1][..., : 24 if shape == "shallow" else 8] = 0.0  # without what carries the spikes
        quiet = ReLUNet(weights, nets.biases)
        seen = (nets(x[:, None]) - quiet(x[:, None])).abs()[..., 0]
        assert seen[:, 1:3].max() < 1e-12
        assert torch.allclose(seen[:, 3].sum(-1), torch.tensor(8.0).double())  # eight data points, each off by 1
        height = spiky_init.spikes(nets, "sine", apex, signs) - spiky_init.spikes(quiet, "sine", apex, signs)
        assert torch.allclose(height[:, 1:], torch.tensor([1.0, 1.75, 1.0]).double()[:, None].expand(3, 3), atol=1e-12)


def test_weight_scale_data_are_five_separate_points():
    x, y = weight_scale.data()
    assert x.shape == y.shape == (8, 5)
    assert np.diff(x).min() > 0.19


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: rich.start(42, 1.5, 1.0), "four neurons"),
        (lambda: rich.start(40, 1.5, 0.0), "alpha is positive"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()


def test_data_of_one_target_and_of_none_there_is():
    assert torch.equal(targets.data("sine", 5)[1], targets.data(["sine"], 5)[1])
    with pytest.raises(ValueError, match=r"targets are sine, .*; got 'sinus'"):
        targets.data(["sine", "sinus"], 5)
