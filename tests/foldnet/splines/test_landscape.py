"""Gradient, Hessian and slices of the loss, against autograd, exact ranks and evaluation on a grid."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.nets import ReLUNet
from foldnet.splines import landscape as land
from foldnet.splines.breakpoints import Spline, spline
from foldnet.splines.initialization import gaussian

double = torch.float64
nets = st.builds(lambda width, seed: gaussian(width, 1.0, 1.0, 1.0, seed=seed), st.integers(1, 6), st.integers(0, 10_000))
x = torch.linspace(-2.05, 2.0, 15, dtype=double)
y = torch.sin(2 * x)


def loss_in_weights(net):
    return lambda p: 0.5 * (y - net.with_vector(p)(x[:, None]).squeeze(-1)).square().sum()


def loss_in_spline(f):
    h = len(f.breakpoints)
    return lambda p: 0.5 * (y - Spline(p[:h], p[h : 2 * h], f.orientations, p[-1])(x)).square().sum()


@settings(deadline=None, max_examples=40)
@given(nets)
def test_gradient_and_hessian_in_the_weights_against_autograd(net):
    loss, p = loss_in_weights(net), net.vector()
    assert torch.allclose(land.gradient(net, x, y), torch.func.grad(loss)(p), rtol=1e-11, atol=1e-11)
    assert torch.allclose(land.hessian(net, x, y), torch.func.hessian(loss)(p), rtol=1e-11, atol=1e-11)


@settings(deadline=None, max_examples=40)
@given(nets)
def test_hessian_in_breakpoints_and_delta_slopes_against_autograd(net):
    f = spline(net)
    p = torch.cat([f.breakpoints, f.delta_slopes, f.offset[None]])
    assert torch.allclose(land.spline_hessian(f, x, y), torch.func.hessian(loss_in_spline(f))(p), rtol=1e-11, atol=1e-11)


def test_a_batch_is_its_networks():
    many = gaussian(4, 1.0, 1.0, 1.0, batch=(2, 3), seed=5)
    assert torch.allclose(land.hessian(many, x, y)[1, 2], land.hessian(many[1, 2], x, y))
    assert torch.allclose(land.spline_hessian(spline(many), x, y)[0, 1], land.spline_hessian(spline(many[0, 1]), x, y))
    assert land.nullity(land.hessian(many, x, many(x[:, None]).squeeze(-1))).shape == (2, 3)


@pytest.mark.parametrize(("points", "neurons"), [(5, 1), (5, 2), (6, 2), (7, 3)])
def test_the_list_of_degeneracies_is_complete(points, neurons):
    """Every choice of gaps and orientations, against the rank of the generating vectors over the integers."""
    import sympy

    data = np.arange(points, dtype=float)
    seen = {True: 0, False: 0}
    for gaps in itertools.combinations_with_replacement(range(points + 1), neurons):
        beta = torch.tensor([g - 1 + (2 + k) / 7 for k, g in enumerate(gaps)], dtype=double)
        for s in itertools.product((-1.0, 1.0), repeat=neurons):
            f = Spline(beta, torch.ones(neurons, dtype=double), torch.tensor(s, dtype=double), torch.tensor(0.0, dtype=double))
            on = [(int(t), b) for t, b in zip(s, beta.tolist())]
            columns = [[1] * points]
            for t, b in on:
                mask = [int(t * (u - b) > 0) for u in range(points)]
                columns += [mask, [u * m for u, m in enumerate(mask)]]
            independent = sympy.Matrix(columns).rank() == 2 * neurons + 1
            assert independent == (not land.degeneracies(f, data)), (gaps, s, land.degeneracies(f, data))
            gram = land._spline_generators(f, data)
            assert independent == (land.nullity(gram.mT @ gram).item() == 0)
            seen[independent] += 1
    assert seen[False]
    assert seen[True]


def test_degeneracies_are_named():
    name = lambda beta, s, mu: land.degeneracies(  # noqa: E731
        Spline(torch.tensor(beta), torch.tensor(mu), torch.tensor(s), torch.tensor(0.0).double()), np.arange(9.0)
    )
    d = dict(mu=[1.0, 1.0])
    assert name([2.5, 5.5], [1.0, -1.0], mu=[1.0, 0.0]) == ["neuron 1 has delta-slope 0"]
    assert name([2.5, 9.5], [1.0, -1.0], **d) == ["neuron 1 is active on all data"]
    assert name([2.5, 9.5], [1.0, 1.0], **d) == ["neuron 1 is active on no data"]
    assert name([2.5, 2.7], [1.0, 1.0], **d) == ["neurons 0 and 1 have the same pattern"]
    assert name([2.5, 2.7], [1.0, -1.0], **d) == ["neurons 0 and 1 have complementary patterns"]
    assert name([2.5, 3.5], [1.0, 1.0], **d) == ["neurons 0 and 1 have patterns that differ in one data point"]
    assert name([2.5, 3.5], [1.0, -1.0], **d) == []
    assert name([2.5, 7.5], [1.0, 1.0], **d) == ["neuron 1 is active on one data point"]
    assert name([2.5, 7.5], [1.0, -1.0], **d) == []
    assert name([0.5, 7.5], [1.0, -1.0], **d) == ["2 pieces hold a single data point each"]


@settings(deadline=None, max_examples=40)
@given(nets, st.data())
def test_a_slice_is_the_loss_with_one_breakpoint_moved(net, data):
    f = spline(net)
    i = data.draw(st.integers(0, net.sizes[1] - 1))
    part = land.breakpoint_slice(f, i, x.flip(0), y.flip(0))
    places = torch.linspace(-3, 3, 101, dtype=double)
    for t, value in zip(places, part(places)):
        beta = f.breakpoints.clone()
        beta[i] = t
        assert value.item() == pytest.approx(
            loss_in_spline(f)(torch.cat([beta, f.delta_slopes, f.offset[None]])).item(), rel=1e-9, abs=1e-9
        )
    left, right = (part.curvature[p] * part.knots + part.slope[p] for p in (slice(None, -1), slice(1, None)))
    for kind, a, b in zip(part.types(), left, right):
        assert {"II": a > 0 > b, "III": a < 0 < b, "I": a * b > 0, "flat": a * b == 0}[kind]
    assert part.types().count("flat") == 1


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (
            lambda: land.gradient(ReLUNet([[[1.0]], [[1.0]]], [[-1.0], [0.0]]), [0.0, 1.0], [0.0, 0.0]),
            "neuron 0 bends exactly at the data point x = 1",
        ),
        (lambda: land._spline_generators(spline(ReLUNet([[[1.0]], [[1.0]]], [[-1.0], [0.0]])), [1.0]), "bends exactly"),
        (lambda: land.spline_hessian(spline(ReLUNet([[[0.0]], [[1.0]]], [[-1.0], [0.0]])), [1.0], [0.0]), "neuron 0 has w = 0"),
        (lambda: land.breakpoint_slice(spline(ReLUNet([[[0.0]], [[1.0]]], [[-1.0], [0.0]])), 0, [1.0], [0.0]), "w = 0"),
        (
            lambda: land.breakpoint_slice(spline(gaussian(2, 1, 1, 1)), 0, [1.0, 1.0], [0.0, 0.0]),
            "two data points stand at x = 1",
        ),
        (lambda: land.breakpoint_slice(spline(gaussian(2, 1, 1, 1, batch=2)), 0, [1.0], [0.0]), "choose one"),
        (lambda: land.degeneracies(spline(gaussian(2, 1, 1, 1, batch=2)), [1.0]), "choose one"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()
