"""Shallow networks as splines, against the forward pass, finite differences and hand computation."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.nets import ReLUNet
from foldnet.splines.breakpoints import Spline, hinges, network, pieces, rescale, roughness, spline
from foldnet.splines.initialization import gaussian

x = torch.linspace(-6, 6, 1201, dtype=torch.float64)
nets = st.builds(lambda width, seed: gaussian(width, 1.0, 1.0, 1.0, seed=seed), st.integers(1, 12), st.integers(0, 10_000))


@settings(deadline=None, max_examples=50)
@given(nets, st.floats(0.01, 100))
def test_network_spline_and_pieces_are_one_function(net, scale):
    values = net(x[:, None]).squeeze(-1)
    assert torch.allclose(spline(net)(x), values, rtol=0, atol=1e-12)
    assert torch.allclose(pieces(net)(x), values, rtol=0, atol=1e-11)
    assert torch.allclose(network(spline(net), scale)(x[:, None]).squeeze(-1), values, rtol=0, atol=1e-12)
    assert torch.allclose(rescale(net, scale)(x[:, None]).squeeze(-1), values, rtol=0, atol=1e-12)
    assert len(pieces(net).slopes) == net.sizes[1] + 1


def test_delta_slope_is_the_measured_jump_for_both_orientations():
    net = gaussian(9, 1.0, 1.0, 1.0, seed=4)
    f = spline(net)
    assert {-1.0, 1.0} == set(f.orientations.tolist())
    gap = f.breakpoints.sort().values.diff().min().item() / 4
    for beta, mu in zip(f.breakpoints, f.delta_slopes):
        left, right = net.jacobian(torch.stack([beta - gap, beta + gap])[:, None]).flatten()
        assert (right - left).item() == pytest.approx(mu.item(), abs=1e-12)


def test_a_batch_of_splines_is_its_networks():
    many = gaussian(5, 1.0, 2.0, 1.0, batch=(3, 4), seed=2)
    assert torch.allclose(spline(many)(x), many(x[:, None]).squeeze(-1), rtol=0, atol=1e-12)
    assert torch.equal(spline(many).breakpoints[1, 2], spline(many[1, 2]).breakpoints)
    assert torch.allclose(roughness(many), (many.weights[0].squeeze(-1) * many.weights[1].squeeze(-2)).square().sum(-1))


def test_hinges_and_a_line_by_hand_for_every_shape():
    rng = np.random.default_rng(3)
    beta, s, mu, places = (
        rng.normal(size=(4, 3)),
        rng.choice([-1.0, 1.0], (4, 3)),
        rng.normal(size=(4, 3)),
        rng.normal(size=(4, 5)),
    )
    beta[2, 1] = np.inf  # no breakpoint: draws nothing, whichever way it faces
    found = hinges(places, beta, s)
    f = Spline(*map(torch.as_tensor, (beta, mu, s, rng.normal(size=4), rng.normal(size=4))))
    for k in range(4):
        for n in range(5):
            by_hand = [max(d * (places[k, n] - b), 0.0) if np.isfinite(b) else 0.0 for b, d in zip(beta[k], s[k])]
            assert found[k, n].tolist() == pytest.approx(by_hand, abs=1e-15)
            value = f.offset[k] + f.slope[k] * places[k, n] + mu[k] @ by_hand
            assert f(places)[k, n].item() == pytest.approx(value.item(), abs=1e-14)
    assert hinges([0.0, 2.0], [1.0]).tolist() == [[0.0], [1.0]]
    assert torch.equal(
        f(places[0])[3], Spline(f.breakpoints[3], f.delta_slopes[3], f.orientations[3], f.offset[3], f.slope[3])(places[0])
    )


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_dtype_and_device_are_those_of_the_network(device):
    net = gaussian(4, 1.0, 1.0, 1.0, batch=2, seed=1).to(torch.float32)
    f = spline(net)
    f = Spline(*(t.to(device) for t in (f.breakpoints, f.delta_slopes, f.orientations, f.offset)))
    assert f(np.linspace(-1, 1, 5)).dtype == torch.float32
    assert f([0.0, 1.0]).device.type == hinges([0.0, 1.0], f.breakpoints, f.orientations).device.type == device
    if device == "cpu":
        for other in (network(f), rescale(net, [1.0, 2.0, 3.0, 4.0])):
            assert other.dtype == torch.float32
        assert pieces(net[0])([0.0]).dtype == torch.float32


def test_a_neuron_without_breakpoint_moves_the_offset():
    net = ReLUNet([[[0.0], [0.0], [1.0]], [[2.0, 3.0, 1.0]]], [[1.5, -1.0, 0.0], [0.25]])
    f = spline(net)
    assert f.breakpoints.tolist() == [torch.inf, torch.inf, 0.0]
    assert f.offset.item() == 3.25
    assert torch.allclose(f(x), net(x[:, None]).squeeze(-1), rtol=0, atol=1e-14)
    assert torch.allclose(network(f)(x[:, None]), net(x[:, None]), rtol=0, atol=1e-14)
    assert pieces(net).knots.tolist() == [0.0]


def test_coinciding_breakpoints_merge_and_cancelling_jumps_vanish():
    merged = ReLUNet([[[1.0], [1.0]], [[2.0, 3.0]]], [[-1.0, -1.0], [0.0]])
    assert pieces(merged).knots.tolist() == [1.0]
    assert pieces(merged).slopes.tolist() == [0.0, 5.0]
    linear = ReLUNet([[[1.0], [-1.0]], [[1.0, -1.0]]], [[0.0, 0.0], [0.0]])  # relu(x) - relu(-x) = x
    assert pieces(linear).knots.tolist() == []
    assert pieces(linear).slopes.tolist() == [1.0]


def test_gauge_gives_a_null_direction_of_the_hessian_for_every_neuron():
    """At a zero-residual point the Hessian of the loss vanishes along (w, b, -v) of each neuron."""
    net = gaussian(4, 1.0, 1.0, 1.0, seed=1)
    data = torch.linspace(-2, 2, 30, dtype=torch.float64)[:, None]
    target = net(data)
    loss = lambda p: 0.5 * (net.with_vector(p)(data) - target).square().sum()  # noqa: E731
    hessian = torch.func.hessian(loss)(net.vector())
    w, b, v = net.weights[0].squeeze(-1), net.biases[0], net.weights[1].squeeze(-2)
    for i in range(4):
        direction = torch.zeros(net.parameter_count, dtype=torch.float64)
        direction[[i, 4 + i, 8 + i]] = torch.stack([w[i], b[i], -v[i]])
        assert (hessian @ direction).abs().max() < 1e-12 * hessian.abs().max()
    assert int((torch.linalg.eigvalsh(hessian) > 1e-9).sum()) <= net.parameter_count - 4


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: spline(ReLUNet.random((2, 3, 1))), "one input"),
        (lambda: spline(ReLUNet.random((1, 3, 3, 1))), "one hidden layer"),
        (lambda: spline(ReLUNet.random((1, 3, 1), leak=0.1)), "ReLU network"),
        (lambda: pieces(gaussian(3, 1, 1, 1, batch=2)), "choose one"),
        (lambda: rescale(gaussian(3, 1, 1, 1), -1.0), "positive"),
        (lambda: network(spline(gaussian(3, 1, 1, 1)), np.zeros(3)), "positive"),
        (lambda: network(Spline(*map(torch.ones, (3, 3, 3)), torch.tensor(0.0), torch.tensor(1.0))), "no line of its own"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()
