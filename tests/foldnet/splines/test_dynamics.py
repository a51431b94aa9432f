"""Laws of motion against autograd, real training steps and conservation; moves against a plain loop."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from experiments import relocation
from foldnet.nets import ReLUNet
from foldnet.splines import dynamics
from foldnet.splines import landscape as land
from foldnet.splines.breakpoints import Spline, spline
from foldnet.splines.initialization import gaussian, zero_start
from foldnet.train import fit

x = torch.linspace(-2, 2, 15, dtype=torch.float64)
y = torch.sin(2 * x)
nets = st.builds(lambda width, seed: gaussian(width, 1.0, 1.0, 1.0, seed=seed), st.integers(1, 9), st.integers(0, 10_000))


def loss_of(net):
    return lambda p: 0.5 * (net.with_vector(p)(x[:, None])[:, 0] - y).square().sum()


def in_spline_coordinates(net):
    def coordinates(p):
        f = spline(net.with_vector(p))
        return torch.cat([f.breakpoints, f.delta_slopes, f.offset[None]])

    return coordinates


@settings(deadline=None, max_examples=40)
@given(nets)
def test_velocity_is_the_jacobian_times_the_weights_velocity(net):
    """d(beta, mu, c)/dt = J * (-gradient), both by autograd."""
    p = net.vector()
    expected = -torch.func.jacrev(in_spline_coordinates(net))(p) @ torch.func.grad(loss_of(net))(p)
    v = dynamics.velocity(net, x, y)
    found = torch.cat([v.breakpoints, v.delta_slopes, v.offset[None]])
    assert torch.allclose(found, expected, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(nets)
def test_spline_gradient_is_autograd_and_is_not_the_velocity(net):
    f = spline(net)
    loss = lambda beta, mu, c: 0.5 * (Spline(beta, mu, f.orientations, c)(x) - y).square().sum()  # noqa: E731
    expected = torch.func.grad(loss, (0, 1, 2))(f.breakpoints, f.delta_slopes, f.offset)
    for found, wanted in zip(land.spline_gradient(f, x, y), expected):
        assert torch.allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_printed_middle_equality_fails():
    """S3-thm-5 says d beta/dt = -dl/d beta; with |w| = 2 it cannot be."""
    net = gaussian(5, 2.0, 1.0, 1.0, seed=3)
    by_beta, by_mu, _ = land.spline_gradient(spline(net), x, y)
    v = dynamics.velocity(net, x, y)
    assert (v.breakpoints + by_beta).abs().max() > 0.1
    assert (v.delta_slopes + by_mu).abs().max() > 0.1


def test_velocity_is_that_of_real_training():
    net, rate = gaussian(7, 1.0, 1.0, 1.0, batch=20, seed=1), 1e-9
    after = spline(fit(net, x[:, None], y, loss="half_sum", optimizer="gd", lr=rate, epochs=1, progress=False).net)
    before, v = spline(net), dynamics.velocity(net, x, y)
    for found, wanted in [
        ((after.breakpoints - before.breakpoints) / rate, v.breakpoints),
        ((after.delta_slopes - before.delta_slopes) / rate, v.delta_slopes),
        ((after.offset - before.offset) / rate, v.offset),
    ]:
        assert ((found - wanted).abs() <= 1e-3 * (1 + wanted.abs())).all()


@settings(deadline=None, max_examples=40)
@given(nets)
def test_conserved_quantity_gives_the_weights_back(net):
    f = spline(net)
    w = net.weights[0].squeeze(-1)
    assert torch.allclose(dynamics._squared_weight(f.breakpoints, f.delta_slopes, dynamics.conserved(net)), w**2, rtol=1e-6)
    gradient = net.with_vector(torch.func.grad(loss_of(net))(net.vector()))
    change = 2 * (w * gradient.weights[0].squeeze(-1) + net.biases[0] * gradient.biases[0])
    assert torch.allclose(change, 2 * (net.weights[1] * gradient.weights[1]).squeeze(-2), rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(nets)
def test_flow_in_spline_coordinates_starts_with_the_velocity(net):
    """The preconditioned gradient of the corrected S3-thm-5 is the law of motion: the slope of the path at its start.

    From three points of the path, so that the error is of second order and the step can be a long one, in which no breakpoint
    reaches a data point: networks with a breakpoint all but on one would ask for a step so short that rounding drowns the
    quotient. What rounding does to it otherwise is part of the tolerance: some breakpoints lie far out.
    """
    clear = (spline(net).breakpoints[:, None] - x).abs().min().item()
    assume(clear > 1e-4)
    v = dynamics.velocity(net, x, y)
    size = 1e-5 / (1 + torch.cat([v.breakpoints, v.delta_slopes]).abs().max().item())
    _, path = dynamics.gradient_flow(net, x, y, 2 * size, 2)
    for found, wanted in ((path.breakpoints, v.breakpoints), (path.delta_slopes, v.delta_slopes), (path.offset, v.offset)):
        speed = (4 * found[1] - 3 * found[0] - found[2]) / (2 * size)
        rounding = 8 * torch.finfo(speed.dtype).eps * found[0].abs() / size
        assert ((speed - wanted).abs() <= 1e-5 * (1 + wanted.abs().max()) + rounding).all()


def test_flow_in_spline_coordinates_follows_training():
    net = gaussian(4, 1.0, 1.0, 0.5, batch=3, seed=5)
    rate, steps = 2e-5, 5000
    trained = fit(net, x[:, None], y, loss="half_sum", optimizer="gd", lr=rate, epochs=steps, progress=False, engine="torch").net
    times, path = dynamics.gradient_flow(net, x, y, rate * steps, 1000, every=1000)
    assert times.tolist() == pytest.approx([0, 0.1])
    start, end = spline(net), spline(trained)
    assert (end.breakpoints - start.breakpoints).abs().max() > 0.1
    assert torch.allclose(path.breakpoints[-1], end.breakpoints, atol=2e-3)
    assert torch.allclose(path.delta_slopes[-1], end.delta_slopes, atol=2e-3)
    assert torch.allclose(path.offset[-1], end.offset, atol=2e-3)


@settings(deadline=None, max_examples=20)
@given(nets)
def test_tangent_kernel_is_the_product_of_jacobians(net):
    jacobian = torch.func.jacrev(lambda p: net.with_vector(p)(x[:, None])[:, 0])(net.vector())
    hidden, output = dynamics.tangent_kernel(net, x)
    assert torch.allclose(hidden + output + 1, jacobian @ jacobian.T, rtol=1e-10, atol=1e-10)
    h = 2 * net.sizes[1]
    assert torch.allclose(hidden, jacobian[:, :h] @ jacobian[:, :h].T, rtol=1e-10, atol=1e-10)


def plain_relocate(net, flat=False):
    """One network, one loop: remove each neuron in turn, then try each hinge."""
    w, b, v, c = net.weights[0][:, 0].numpy(), net.biases[0].numpy(), net.weights[1][0].numpy(), net.biases[1].numpy()
    t, u = x.numpy(), y.numpy()
    part = [v[i] * np.maximum(w[i] * t + b[i], 0) for i in range(len(w))]
    residual = u - c - sum(part)
    worst = min(range(len(w)), key=lambda i: np.sum((residual + part[i]) ** 2))
    left, best = residual + part[worst], (np.inf, None)
    for s in (1.0, -1.0):
        for beta in (t[1:] + t[:-1]) / 2:
            h = np.maximum(s * (t - beta), 0)
            mu = h @ left / (h @ h)
            best = min(best, (np.sum((left - mu * h) ** 2), (s, beta, mu)))
    w, b, v = w.copy(), b.copy(), v.copy()
    if best[0] < np.sum(residual**2):
        s, beta, mu = best[1]
        w[worst], b[worst], v[worst] = s, -s * beta, 0.0 if flat else mu
    return w, b, v


@pytest.mark.parametrize("flat", [False, True])
def test_relocate_is_the_plain_loop(flat):
    many = gaussian(5, 1.0, 1.0, 1.0, batch=30, seed=4)
    moved = dynamics.relocate(many, x, y, flat)
    for i in range(30):
        w, b, v = plain_relocate(many[i], flat)
        assert np.allclose(moved[i].weights[0][:, 0], w)
        assert np.allclose(moved[i].biases[0], b)
        assert np.allclose(moved[i].weights[1][0], v)
    assert (moved.vector() != many.vector()).any()


@settings(deadline=None, max_examples=40)
@given(nets)
def test_a_move_never_raises_the_loss_and_touches_one_neuron(net):
    moved = dynamics.relocate(net, x, y)
    assert dynamics.loss(moved, x, y) <= dynamics.loss(net, x, y) * (1 + 1e-12)
    assert int((moved.weights[0] != net.weights[0]).sum()) <= 1


def test_training_with_moves_has_as_many_steps_and_ends_lower():
    many = gaussian(4, 1.0, 1.0, 1.0, batch=16, seed=2)
    plain = dynamics.train(many, x, y, lr=1e-3, epochs=300)
    whole = fit(many, x[:, None], y, loss="half_sum", optimizer="gd", lr=1e-3, epochs=300, progress=False).net
    assert torch.allclose(plain.vector(), whole.vector())
    by_hand = dynamics.relocate(dynamics.train(many, x, y, lr=1e-3, epochs=100), x, y)
    by_hand = dynamics.train(
        dynamics.relocate(dynamics.train(by_hand, x, y, lr=1e-3, epochs=100), x, y), x, y, lr=1e-3, epochs=100
    )
    with_moves = dynamics.train(many, x, y, lr=1e-3, epochs=300, moves=2, every=100)
    assert torch.allclose(with_moves.vector(), by_hand.vector())
    assert dynamics.loss(with_moves, x, y).median() < dynamics.loss(plain, x, y).median()


def test_batches_with_their_own_data():
    """The stored run trains all targets in one batch: each must come out as alone."""
    xs, ys = relocation.points()
    many = relocation.initial(4)[:, :3]
    together = dynamics.train(many, xs, ys, lr=5e-4, epochs=60, moves=2, every=20)
    for i, target in enumerate(relocation.TARGETS):
        alone = dynamics.train(
            many[i], *(a.flatten() for a in relocation.points([target])), lr=5e-4, epochs=60, moves=2, every=20
        )
        assert torch.allclose(together[i].vector(), alone.vector(), rtol=1e-9)


no_breakpoint = ReLUNet([[[0.0], [1.0]], [[1.0, 1.0]]], [[1.0, 0.1], [0.0]])
on_data = ReLUNet([[[1.0], [1.0]], [[1.0, 1.0]]], [[2.0, 0.1], [0.0]])


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: dynamics.velocity(no_breakpoint, x, y), "w = 0 has no breakpoint"),
        (lambda: dynamics.gradient_flow(no_breakpoint, x, y, 1.0, 10), "w = 0 has no breakpoint"),
        (lambda: dynamics.gradient_flow(no_breakpoint, x, y, 1.0, 0), "steps"),
        (lambda: dynamics.gradient_flow(no_breakpoint, x, y, 1.0, 10, every=0), "every"),
        (lambda: land.spline_gradient(spline(no_breakpoint), x, y), "w = 0 and so no breakpoint"),
        (lambda: dynamics.velocity(on_data, x, y), "neuron 0 bends exactly at the data point x = -2"),
        (lambda: land.spline_gradient(spline(on_data), x, y), "bends exactly at the data point"),
        (lambda: dynamics.relocate(on_data, [0.0, 1.0, 1.0], [1.0, 2.0, 3.0]), "two data points stand at x = 1"),
        (lambda: dynamics.velocity(on_data, x, y[:3]), "one length"),
        (lambda: dynamics.train(on_data, x, y, lr=1e-3, epochs=100, moves=3, every=50), "do not fit into 100 epochs"),
        (lambda: dynamics.velocity(ReLUNet.random((2, 3, 1)), x, y), "one input"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()


def test_scale_slows_breakpoints_beside_delta_slopes():
    speed = dynamics.velocity(zero_start(40, 2.1, [10.0, 1.0], seed=1), x, y)
    assert torch.allclose(speed.breakpoints[0], speed.breakpoints[1])
    assert torch.allclose(speed.delta_slopes[0], 100 * speed.delta_slopes[1])
