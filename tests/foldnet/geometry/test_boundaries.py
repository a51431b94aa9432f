"""Segments, boundaries, feet and creases, against autograd, numerical projection, a fine grid and the network itself."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from foldnet.geometry.boundaries import closest_point, creases, hyperplane, kinks, logits, margin
from foldnet.geometry.vision import affine_at
from foldnet.nets import ReLUNet


def points(inputs, seed=0, n=40):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(n, inputs)))


@pytest.mark.parametrize(("hidden", "leak"), [((6,), 0.0), ((6,), 0.2), ((5, 4), 0.1)])
def test_affine_map_is_the_autograd_jacobian_and_reproduces_the_value(hidden, leak):
    net = ReLUNet.random((3, *hidden, 4), leak=leak, seed=1)
    x = points(3, seed=1)
    weight, bias = affine_at(net, x)
    jacobian = torch.stack([torch.func.jacrev(lambda p: net(p[None])[0])(p) for p in x])
    assert torch.allclose(weight, jacobian, atol=1e-13)
    assert torch.allclose((weight @ x[..., None])[..., 0] + bias, net(x), atol=1e-13)
    same = (net.pattern(x)[:, None] == net.pattern(x)[None]).all(-1)
    pairs = torch.nonzero(same & ~torch.eye(len(x), dtype=torch.bool))
    assert len(pairs) > 10
    for i, j in pairs:
        assert torch.allclose(weight[i] @ x[j] + bias[i], net(x)[j], atol=1e-12)


@pytest.mark.parametrize(("out", "leak"), [(1, 0.0), (2, 0.3), (4, 0.0)])
def test_on_the_boundary_the_two_classes_tie(out, leak):
    net = ReLUNet.random((3, 5, out), init="glorot", leak=leak, seed=2)
    x = points(3, seed=2)
    i, j = 0, max(out, 2) - 1
    w, b = hyperplane(net, x, i, j)
    z = logits(net, x)
    assert torch.allclose((w * x).sum(-1) + b, z[:, i] - z[:, j], atol=1e-12)
    foot = closest_point(x, w, b)
    same = (net.pattern(foot) == net.pattern(x)).all(-1)
    assert same.any()
    tie = logits(net, foot)[same]
    assert torch.allclose(tie[:, i], tie[:, j], atol=1e-12)


def test_closed_form_is_the_numerical_projection():
    rng = np.random.default_rng(3)
    for n in (2, 3, 6):
        x, w, b = rng.normal(size=n), rng.normal(size=n), rng.normal()
        constraint = {"type": "eq", "fun": lambda d, w=w, b=b: w @ d + b}
        found = minimize(lambda d, x=x: np.sum((d - x) ** 2), np.zeros(n), method="SLSQP", constraints=[constraint])
        assert np.allclose(closest_point(x, w, b).numpy(), found.x, atol=1e-5)


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_creases_lie_on_the_boundary_and_on_a_unit_and_none_is_missed(leak):
    """Against a walk: sign patterns of neighbouring boundary points on a fine grid change once for each crease."""
    net = ReLUNet.random((2, 5, 2), seed=14, init="glorot")
    net = ReLUNet(net.weights, (torch.tensor([0.1, -0.2, 0.15, 0.05, -0.1]), net.biases[1]), leak)
    points = creases(net)
    assert len(points) >= 2
    assert margin(net, points).abs().max() < 1e-9
    assert net.preactivations(points)[0].abs().min(-1).values.max() < 1e-9
    grid = torch.linspace(-1, 1, 1601, dtype=torch.float64)
    flat = torch.stack(torch.meshgrid(grid, grid, indexing="ij"), -1).reshape(-1, 2)
    side, code = (margin(net, flat) > 0).reshape(1601, 1601), net.pattern(flat).long() @ (2 ** torch.arange(5))
    code = code.reshape(1601, 1601)
    mixed = side[:-1, :-1].int() + side[1:, 1:].int() + side[:-1, 1:].int() + side[1:, :-1].int()
    mixed = (mixed > 0) & (mixed < 4)
    kinds = torch.stack([code[:-1, :-1], code[1:, 1:], code[:-1, 1:], code[1:, :-1]])
    spots = torch.nonzero(mixed & (kinds.amax(0) != kinds.amin(0))).double() * 0.00125 - 1
    # every place of the grid where boundary and pattern change together is a crease, and the other way round
    near = torch.cdist(spots, points)
    assert near.min(1).values.max() < 0.02
    assert near.min(0).values.max() < 0.02


@pytest.mark.parametrize(("out", "leak"), [(2, 0.0), (2, 0.3), (1, 0.1)])
def test_the_angle_of_a_kink_is_the_angle_between_two_boundary_normals(out, leak):
    nets = ReLUNet.random((2, 4, out), batch=40, init="he", leak=leak, seed=3)
    rng = np.random.default_rng(5)
    nets = ReLUNet(nets.weights, [0.3 * rng.normal(size=tuple(b.shape)) for b in nets.biases], leak)
    places, seen = kinks(nets), 0
    for k, p in torch.nonzero(places.angle.isfinite()):
        point, row = places.point[k, p], nets[int(k)].weights[0][-1]
        sides = torch.stack([point - 1e-5 * row / row.norm(), point + 1e-5 * row / row.norm()])
        if not (nets[int(k)].pattern(sides)[0, :-1] == nets[int(k)].pattern(sides)[1, :-1]).all():
            continue
        first, second = hyperplane(nets[int(k)], sides, 1, 0)[0]
        cosine = first @ second / first.norm() / second.norm()
        assert places.angle[k, p].item() == pytest.approx(torch.rad2deg(torch.arccos(cosine.clamp(-1, 1))).item(), abs=1e-4)
        assert abs(margin(nets[int(k)], point[None]).item()) < 1e-9
        seen += 1
    assert seen > 5


def test_one_point_stands_for_all_networks():
    places = kinks(ReLUNet.random((2, 4, 2), batch=3, init="he", seed=3))
    for many, one in zip(places.nearest(torch.tensor([[0.2, -0.1]] * 3, dtype=torch.float64)), places.nearest([0.2, -0.1])):
        assert torch.equal(many, one)


def test_creases_of_a_flat_unit_and_of_bad_input():
    straight = ReLUNet([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.0, 0.5]]], [[1.0, 0.0], [0.0, 1.0]])
    assert len(creases(straight)) == 0  # the second unit adds the same to both classes: no fold
    tiny = ReLUNet.random((2, 5, 1), init="glorot", seed=3)
    tiny = ReLUNet(tiny.weights, [torch.tensor([0.1, -0.2, 0.15, 0.05, -0.1]), tiny.biases[1]])
    small = ReLUNet([1e-14 * tiny.weights[0], tiny.weights[1]], [1e-14 * tiny.biases[0], 1e-14 * tiny.biases[1]])
    assert len(creases(tiny))
    assert torch.allclose(creases(small), creases(tiny), atol=1e-9)
    with pytest.raises(ValueError, match="one network of the plane"):
        creases(ReLUNet.random((3, 2, 2)))
    with pytest.raises(ValueError, match="normal other than 0"):
        closest_point([1.0, 2.0], [0.0, 0.0], 1.0)
    with pytest.raises(ValueError, match="between two classes"):
        margin(ReLUNet.random((2, 2, 3)), points(2))
