"""Rational networks against float64, against the spline code of another wing, and against dense sampling."""

from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.boolean.exact import ExactNet, ExactSpline, exact_spline, rational, sign_changes
from foldnet.nets import ReLUNet
from foldnet.splines.depth import deep_pieces

shapes = st.sampled_from([(1, 1, 1), (1, 3, 1), (1, 2, 2, 1), (1, 3, 2, 1), (1, 2, 3, 2, 1)])
leaks = st.sampled_from([0.0, 0.125, 0.5])


def random_net(sizes, leak, seed) -> ReLUNet:
    """Weights with few bits, so that float64 computes without rounding."""
    rng = np.random.default_rng(seed)
    weights = [torch.as_tensor(rng.integers(-8, 9, (o, i)) / 4.0) for i, o in pairwise(sizes)]
    return ReLUNet(weights, [torch.as_tensor(rng.integers(-8, 9, o) / 4.0) for o in sizes[1:]], leak)


@settings(deadline=None, max_examples=25)
@given(shapes, leaks, st.integers(0, 10_000))
def test_the_exact_network_is_the_float_one(sizes, leak, seed):
    net = random_net(sizes, leak, seed)
    exact = ExactNet.of(net)
    assert exact.sizes == net.sizes
    points = np.arange(-40, 41) / 8
    assert [exact(x) for x in points] == [F(v) for v in net(points[:, None])[:, 0].tolist()]
    assert torch.equal(exact.float().vector(), net.vector())


@settings(deadline=None, max_examples=25)
@given(shapes, leaks, st.integers(0, 10_000))
def test_the_line_has_the_kinks_of_the_float_spline_and_the_values_of_the_network(sizes, leak, seed):
    net = random_net(sizes, leak, seed)
    exact, other = exact_spline(ExactNet.of(net)), deep_pieces(net)
    real = [t for t, a, b in zip(exact.knots, exact.slopes, exact.slopes[1:]) if a != b]
    assert np.allclose([float(t) for t in real], other.knots.numpy(), rtol=1e-9, atol=1e-9)
    slopes = [float(s) for s in exact.slopes] if real else [float(exact.first_slope)]
    assert np.allclose(slopes, other.slopes.numpy(), rtol=1e-9, atol=1e-9)
    assert all(ExactNet.of(net)(t) == v for t, v in zip(exact.knots, exact.values))


@settings(deadline=None, max_examples=25)
@given(shapes, leaks, st.integers(0, 10_000))
def test_between_two_changes_the_sign_is_constant_and_across_one_it_turns(sizes, leak, seed):
    net = ExactNet.of(random_net(sizes, leak, seed))
    places = sign_changes(net)
    ends = [-(10**6), *places, 10**6]
    signs = []
    for a, b in pairwise(ends):
        inside = {np.sign(float(net(a + (b - a) * F(k, 57)))) for k in range(1, 57)} - {0.0}
        assert len(inside) <= 1
        signs += list(inside) or [0.0]
    assert all(a != b for a, b in pairwise(signs))
    assert all(net(z) == 0 for z in places)


def test_a_stretch_of_zeros_is_one_change_or_none():
    assert ExactSpline((F(0), F(1)), (F(0), F(0)), F(1), F(1)).sign_changes() == (F(0),)
    assert ExactSpline((F(0), F(1)), (F(0), F(0)), F(1), F(-1)).sign_changes() == ()
    assert ExactSpline((F(0),), (F(0),), F(-1), F(1)).sign_changes() == ()
    assert ExactSpline((F(0),), (F(3),), F(0), F(0)).sign_changes() == ()


@settings(deadline=None, max_examples=30)
@given(leaks, st.integers(0, 10_000))
def test_composition_and_projection(leak, seed):
    f, g = (ExactNet.of(random_net((1, 3, 1), leak, seed + k)) for k in (0, 1))
    assert f.then(g).sizes == (1, 3, 3, 1)
    assert all(f.then(g)(x) == g(f(x)) for x in (F(-7, 3), F(0), F(5, 2)))
    many = f.before([2, -1, F(1, 3)], 5)
    assert many((1, F(1, 2), 3)) == f(F(15, 2))


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: rational(float("nan")), "finite rational"),
        (lambda: rational("one tenth"), "finite rational"),
        (lambda: ExactNet((((1,),), ((1,),)), ((0,), (0,)), 1), r"\[0, 1\)"),
        (lambda: ExactNet((((1,),), ((1, 2),)), ((0,), (0,))), "layer 1"),
        (lambda: ExactNet.of(ReLUNet.random((1, 2, 1), batch=3)), "choose one"),
        (lambda: exact_spline(ExactNet.of(ReLUNet.random((2, 2, 1)))), "one input"),
        (lambda: ExactNet.of(ReLUNet.random((2, 2, 1)))((1, 2, 3)), "2 coordinates"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()
