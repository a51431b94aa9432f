"""Ways out, curves, pictures and bits as networks in rational numbers, against plain evaluation; descent against autograd."""

from fractions import Fraction as F
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from foldbook.chapters import power
from foldnet.boolean.exact import ExactNet


def whole_network(sizes, rng, low=-3):
    pairs = list(pairwise(sizes))
    weights = [rng.integers(-3, 4, (o, i)).tolist() for i, o in pairs]
    return ExactNet(weights, [rng.integers(low, 4, o).tolist() for o in sizes[1:]])


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_on_a_way_out_nothing_changes(d):
    rng, bent = np.random.default_rng(d), 0
    for _ in range(60):
        sizes = (d, *rng.integers(max(1, d - 1), d + 1, rng.integers(1, 5)), 1)
        net = whole_network(sizes, rng, low=-1)
        x = rng.integers(-9, 10, d).tolist()
        corners, way = power.way_out(net, x)
        bent += len(corners) > 1
        assert list(corners[0]) == x
        assert any(way)
        on = [tuple(p + F(1, 3) * (q - p) for p, q in zip(*pair)) for pair in pairwise(corners)]
        on += [tuple(p + t * v for p, v in zip(corners[-1], way)) for t in (F(1, 7), 10, 10**9)]
        values = [net(p) for p in [*corners[1:], *on]]
        if d > 1:
            assert set(values) == {net(x)}
        else:
            assert all(abs(v) >= abs(net(x)) for v in values)
    assert bent or d != 2


def test_wide_layers_and_leaks_have_no_way_out():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="no wider than its input"):
        power.way_out(whole_network((2, 3, 1), rng), (0, 0))
    with pytest.raises(ValueError, match="a point of 2 coordinates is needed; got 1"):
        power.way_out(whole_network((2, 2, 1), rng), (0,))
    net = whole_network((2, 2, 1), rng)
    with pytest.raises(ValueError, match="no wider than its input"):
        power.way_out(ExactNet(net.weights, net.biases, F(1, 10)), (0, 0))


def test_two_neurons_per_layer_follow_a_curve_and_vanish_outside():
    def f(t):
        return float(np.sin(3 * t))

    net = power.curve_network(f, 0.1, slope=10, interval=(-1, 2))
    assert max(net.sizes) == 2
    t = np.linspace(-0.99, 1.99, 2001)
    assert np.abs(net.float()(t[:, None])[:, 0].numpy() - np.sin(3 * t)).max() < 0.11
    assert [net(v) for v in (-1, 2, -5, 10**6)] == [0] * 4


def test_three_neurons_per_layer_draw_a_picture():
    rows = [[], [(F(-1, 2), 0), (F(1, 4), F(1, 2))], [(F(-1, 2), F(1, 2))], []]
    net = power.picture_network(rows, F(1, 1000))
    assert max(net.sizes) == 3

    def inside(a, b):
        return any(start < a < end for start, end in rows[int((b + 1) * 2)])

    for a, b in product([F(k, 16) - 1 for k in range(1, 32, 2)], [F(2 * k + 1, 4) - 1 for k in range(4)]):
        assert net((a, b)) == inside(a, b), (a, b)
    assert [net(p) for p in [(0, 9), (-7, F(1, 3)), (10**6, 0), (F(1, 3), -1), (1, 0)]] == [0] * 5
    with pytest.raises(ValueError, match="first and the last are empty"):
        power.picture_network([[(0, 1)], [], []], F(1, 9))


@pytest.mark.parametrize(("n", "bits", "at_once"), [(2, 2, 1), (2, 4, 2), (3, 3, 3)])
def test_bit_readers_label_tables_in_every_way(n, bits, at_once):
    points = np.argwhere(np.ones((n, bits))).astype(float)
    for labels in product((0, 1), repeat=n * bits):
        net = power.bit_reader(np.reshape(labels, (n, bits)), at_once).float()
        assert ((net(points)[:, 0] > 0).numpy() == np.array(labels, bool)).all()
    with pytest.raises(ValueError, match="labels 0 or 1"):
        power.bit_reader([[0, 2]], 1)


def test_deep_linear_descent_is_autograds_and_balanced_starts_are():
    rng = np.random.default_rng(0)
    target = torch.as_tensor(rng.normal(size=(4, 3, 2)))
    weights = power.balanced_weights(target, [4, 5])
    assert [tuple(w.shape[-2:]) for w in weights] == [(4, 2), (5, 4), (3, 5)]
    assert torch.allclose(weights[2] @ weights[1] @ weights[0], target)
    assert float(power.imbalance(weights).max()) < 1e-12
    weights = [w + 0.1 * torch.as_tensor(rng.normal(size=tuple(w.shape))) for w in weights]
    losses = power.descend_linear(weights, target, lr=0.05, steps=3)
    plain = [w.clone().requires_grad_() for w in weights]
    for step in range(4):
        loss = (plain[2] @ plain[1] @ plain[0] - target).square().sum((-2, -1)) / 2
        assert torch.allclose(losses[step], loss)
        slopes = torch.autograd.grad(loss.sum(), plain)
        plain = [(w - 0.05 * g).detach().requires_grad_() for w, g in zip(plain, slopes)]
