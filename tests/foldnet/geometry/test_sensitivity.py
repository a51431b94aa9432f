"""Active subspaces: streamed moments, leading directions, explained variance, ranks."""

import math

import numpy as np
import pytest
import torch

from foldnet.geometry import sensitivity as s
from foldnet.nets import ReLUNet

X = torch.as_tensor(np.random.default_rng(0).normal(size=(400, 6)))


def autograd_slopes(net, x):
    """Gradients one by one, by autograd."""
    rows = []
    for point in x:
        point = point.clone().requires_grad_()
        out = net(point[None])[0]
        rows.append(torch.stack([torch.autograd.grad(o, point, retain_graph=True)[0] for o in out]))
    return torch.stack(rows)


def test_streamed_moments_are_those_of_all_gradients_by_autograd():
    net = ReLUNet.random((6, 9, 3), seed=1)
    slopes = autograd_slopes(net, X)
    found = s.moments(net.jacobian(X[k : k + 150]) for k in range(0, 400, 150))
    plain = torch.stack([sum(torch.outer(g, g) for g in slopes[:, o]) / 400 for o in range(3)])
    assert torch.allclose(found.second, plain, atol=1e-14)
    assert torch.allclose(found.mean, slopes.mean(0), atol=1e-14)
    sigma = torch.linalg.svdvals(slopes[:, 1])  # of the gradients themselves
    assert torch.allclose(s.singular_values(found.second)[1], sigma.square() / 400, atol=1e-13)
    assert torch.allclose(found.trace, slopes.square().sum(-1).mean(0), atol=1e-13)
    values = s.singular_values(found.second)
    assert torch.allclose(found.participation, values.sum(-1) ** 2 / values.square().sum(-1), atol=1e-10)


def test_a_batch_of_networks_is_a_loop_over_them():
    nets = ReLUNet.random((6, 5, 2), batch=3, seed=2)
    found = s.moments([nets.jacobian(X)])
    for i in range(3):
        one = s.moments([nets[i].jacobian(X)])
        assert torch.allclose(found.second[i], one.second, atol=1e-14)
        assert torch.allclose(s.directions(found)[i], s.directions(one), atol=1e-9)


def test_the_moments_of_no_gradients_are_refused():
    with pytest.raises(ValueError, match="at least one gradient"):
        s.moments([])


def test_a_linear_network_has_one_direction_and_it_explains_all():
    net = ReLUNet.random((6, 4), seed=3)
    found = s.moments([net.jacobian(X)])
    values = s.singular_values(found.second)
    assert (values[:, 1:] < 1e-12 * values[:, :1]).all()
    assert torch.allclose(values[:, 0], net.weights[0].square().sum(-1))
    ways = s.directions(found)
    assert torch.allclose(ways, net.weights[0] / net.weights[0].norm(dim=-1, keepdim=True), atol=1e-12)
    assert torch.allclose(s.explained(ways @ X.T, net(X).T), torch.ones(4, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(found.steady, torch.ones(4, dtype=torch.float64))
    centred = found.second - found.mean.unsqueeze(-1) * found.mean.unsqueeze(-2)
    assert centred.abs().max() < 1e-14  # a covariance without the mean has no direction at all


def test_two_hand_made_directions():
    """|3 x_0| + |x_1| by four neurons: every gradient is (+-3, +-1, 0), so the values are 9 and 1 and the axes the directions."""
    first = [[3, 0, 0], [-3, 0, 0], [0, 1, 0], [0, -1, 0]]
    net = ReLUNet([first, [[1, 1, 1, 1]]], [[0] * 4, [0]])
    x = torch.tensor([[a, b, c] for a in (-1.0, 1) for b in (-1.0, 1) for c in (-1.0, 0.5)], dtype=torch.float64)
    found = s.moments([net.jacobian(x)])
    assert s.singular_values(found.second)[0].tolist() == pytest.approx([9, 1, 0], abs=1e-14)
    values, ways = s.leading_eigenpairs(found.second, count=2)
    assert values[0].tolist() == pytest.approx([9, 1])
    assert ways[0].abs().T.tolist() == [pytest.approx([1, 0, 0], abs=1e-12), pytest.approx([0, 1, 0], abs=1e-12)]
    assert found.steady.item() == 0
    assert found.participation.item() == pytest.approx(100 / 82)


def test_leading_directions_are_those_of_eigh():
    x = torch.as_tensor(np.random.default_rng(6).normal(size=(400, 40)))  # more inputs than directions that are iterated
    second = s.moments([ReLUNet.random((40, 30, 3), seed=4).jacobian(x)]).second
    values, ways = s.leading_eigenpairs(second, count=2)
    expected, vectors = torch.linalg.eigh(second)
    assert torch.allclose(values, expected.flip(-1)[:, :2], rtol=1e-10)
    overlap = (ways * vectors.flip(-1)[..., :2]).sum(-2).abs()
    assert torch.allclose(overlap, torch.ones_like(overlap), atol=1e-8)


def test_a_ridge_function_is_explained_by_its_direction_and_by_no_other():
    way = torch.tensor([0.6, 0.8, 0, 0, 0, 0], dtype=torch.float64)
    x = torch.as_tensor(np.random.default_rng(1).normal(size=(20_000, 6)))
    f = (2 * (x @ way)).tanh()
    across = torch.tensor([0.8, -0.6, 0, 0, 0, 0], dtype=torch.float64)
    assert s.explained(x @ way, f) > 0.995
    assert abs(s.explained(x @ across, f)) < 0.01
    noisy = f + f.std() * torch.as_tensor(np.random.default_rng(2).normal(size=len(f)))
    assert s.explained(x @ way, noisy).item() == pytest.approx(0.5, abs=0.02)


def test_explained_variance_against_a_plain_loop():
    t, f = X[:, 0], X[:, 0].square() + X[:, 1]
    left = 0.0
    for k in (0, 1):
        fit_t, fit_f = t[1 - k :: 2].numpy(), f[1 - k :: 2].numpy()
        order = np.argsort(fit_t)
        knots, heights = (v[order].reshape(40, 5).mean(1) for v in (fit_t, fit_f))
        for a, b in zip(t[k::2].tolist(), f[k::2].tolist()):
            i = min(max(int(np.searchsorted(knots, a)), 1), 39)
            slope = (heights[i] - heights[i - 1]) / (knots[i] - knots[i - 1])
            left += (b - heights[i - 1] - slope * (a - knots[i - 1])) ** 2
    expected = 1 - left / (len(f) * f.numpy().var())
    assert s.explained(t, f).item() == pytest.approx(expected, abs=1e-12)
    assert s.explained(torch.stack([t, t]), f).tolist() == pytest.approx([expected] * 2)
    with pytest.raises(ValueError, match="at least 2 bins; got 1"):
        s.explained(torch.zeros(100), torch.zeros(100), bins=1)
    with pytest.raises(ValueError, match="160 points"):
        s.explained(t[:100], f[:100])


def test_points_that_share_one_place_are_predicted_by_their_mean():
    f = torch.arange(200.0, dtype=torch.float64) % 7
    assert abs(s.explained(torch.zeros(200), f).item()) < 0.6
    assert math.isfinite(s.explained(torch.zeros(200), f).item())
