"""Convolutional networks and local linear maps, beside torch's own layers and autograd, in double precision."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import jacrev, vmap

from foldnet.geometry import vision
from foldnet.geometry.convnet import ConvNet
from foldnet.geometry.vision import affine_at, jacobian, jacobians, pattern
from foldnet.nets import ReLUNet

SHAPE = (3, 12, 8)
NETS = {
    "pool, ReLU": ConvNet.random((4, 5), 10, SHAPE, seed=1),
    "ReLU, pool": ConvNet.random((4, 5, 6), 3, (3, 13, 9), relu_first=True, seed=2),
    "one layer": ConvNet.random((4,), 2, (1, 5, 5), seed=3),
    "no convolution": ConvNet.random((), 4, SHAPE, seed=4),
    "dense": ReLUNet.random((20, 8, 10), seed=5),
    "dense, deep and leaky": ReLUNet.random((20, 8, 7, 6), leak=0.1, seed=6),
    "linear": ReLUNet.random((20, 10), seed=7),
}


def module(net: ConvNet) -> nn.Sequential:
    """The same network of torch's own layers."""
    parts: list[nn.Module] = [nn.Unflatten(1, net.input_shape)]
    for w, b in zip(net.weights[:-1], net.biases[:-1]):
        conv = nn.Conv2d(w.shape[1], w.shape[0], 3, padding=1, dtype=w.dtype)
        conv.weight.data, conv.bias.data = w, b
        parts += [conv, nn.ReLU(), nn.MaxPool2d(2)] if net.relu_first else [conv, nn.MaxPool2d(2), nn.ReLU()]
    linear = nn.Linear(*net.weights[-1].shape[::-1], dtype=net.dtype)
    linear.weight.data, linear.bias.data = net.weights[-1], net.biases[-1]
    return nn.Sequential(*parts, nn.Flatten(), linear)


def images(net, n=6, seed=0):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(n, net.sizes[0]))).to(net.dtype)


@pytest.mark.parametrize("net", NETS.values(), ids=NETS)
def test_values_and_slopes_are_those_of_torch(net):
    x = images(net)
    plain = module(net) if isinstance(net, ConvNet) else net.to_sequential()
    torch.testing.assert_close(net(x), plain(x).detach(), atol=1e-12, rtol=1e-12)
    expected = vmap(jacrev(lambda v: plain(v[None])[0]))(x).detach()
    torch.testing.assert_close(jacobian(net, x), expected, atol=1e-12, rtol=1e-12)
    slope, constant = affine_at(net, x)
    assert slope.shape == (6, net.sizes[-1], net.sizes[0])
    near = x + 1e-9 * images(net, seed=1)
    assert (pattern(net, near) == pattern(net, x)).all()
    torch.testing.assert_close(torch.einsum("noi,ni->no", slope, near) + constant, net(near), atol=1e-12, rtol=1e-12)
    assert torch.equal(torch.cat([*jacobians(net, x, chunk=4)]), jacobian(net, x))


CONVOLUTIONS = {
    "pool, ReLU": NETS["pool, ReLU"],
    "ReLU, pool": ConvNet.random((4, 5, 6), 9, (3, 13, 9), relu_first=True, seed=2),
    "a batch": ConvNet.random((4, 3), 10, SHAPE, batch=(2, 3), seed=8),
    "one layer, grey": NETS["one layer"],
    "more outputs than lanes": ConvNet.random((6, 33), 21, (5, 7, 11), seed=9),
}
DOUBLE, SINGLE = (torch.float64, 1e-13), (torch.float32, 3e-6)  # gap, in the largest of all slopes


@pytest.mark.parametrize(
    ("name", "dtype", "gap"), [*[(name, *DOUBLE) for name in CONVOLUTIONS], ("pool, ReLU", *SINGLE), ("a batch", *SINGLE)]
)
def test_the_kernel_for_many_images_gives_the_same_slopes(name, dtype, gap, monkeypatch):
    net = CONVOLUTIONS[name].to(dtype)
    x = images(net, 40)
    expected = jacobian(net.to(torch.float64), x.double())
    alike = (pattern(net, x) == pattern(net.to(torch.float64), x.double())).all(-1)
    assert alike.double().mean() > 0.9  # a crease may lie between two precisions
    monkeypatch.setattr(vision, "WORTH", 0)
    found = jacobian(net, x)
    assert found.dtype == dtype
    assert found.shape == expected.shape
    assert (found - expected).abs()[alike].max() < gap * expected.abs().max()


@pytest.mark.parametrize(("dtype", "leak", "batch"), [(torch.float32, 0.0, ()), (torch.float64, 0.1, (2,))])
def test_slopes_along_a_tree_of_patterns_keep_the_promised_precision(dtype, leak, batch, monkeypatch):
    from foldnet.geometry import _slopes

    nets = ReLUNet.random((37, 70, 7), leak=leak, batch=batch, seed=3, dtype=dtype)
    rng = np.random.default_rng(1)
    walk = np.cumsum(0.1 * rng.normal(size=(300, 37)), 0)  # near ones switch few neurons: long chains
    x = torch.as_tensor(walk[rng.permutation(300)]).to(dtype)
    monkeypatch.setattr(_slopes, "FOREST", 170)
    monkeypatch.setattr(vision, "TREES", True)  # also where they do not pay
    plain = jacobian(nets, x)
    monkeypatch.setattr(vision, "WORTH", 0)
    found = jacobian(nets, x)
    assert found.shape == plain.shape
    for one in np.ndindex(batch):
        net = nets[one] if one else nets
        (w, v), on = (p.double() for p in net.weights), (net.preactivations(x)[0] > 0).double()
        exact = torch.einsum("oh,nh,hi->noi", v, on + leak * (1 - on), w)
        terms = 70 * (_slopes.TURNS + (leak > 0)) * torch.finfo(dtype).eps / 2
        bound = terms / (1 - terms) * (v.abs() @ w.abs())
        if dtype == torch.float32:
            assert ((found[one].double() - exact).abs() <= bound).all()
            own = (plain[one].double() - exact).abs().max()
            assert (found[one].double() - exact).abs().max() < 4 * own
        else:
            assert ((found[one] - exact).abs() <= 2 * bound).all()


def test_the_tree_has_near_parents_and_short_ways():
    from foldnet.geometry import _slope_kernel

    rng = np.random.default_rng(2)
    on = np.cumsum(rng.random((200, 70)) < 0.02, 0) % 2 == 1
    for most in (70, 140):
        order, parent, start, who = _slope_kernel.tree(on, most)
        assert sorted(order) == list(range(200))
        built, depth = {-1: np.zeros(70, bool)}, {-1: 0}
        for step, i in enumerate(order):
            moves = who[start[step] : start[step + 1]]
            row = built[parent[step]].copy()
            assert (row[moves[moves >= 0]] == 0).all()
            assert (row[-1 - moves[moves < 0]] == 1).all()
            row[np.where(moves < 0, -1 - moves, moves)] ^= True
            built[i], depth[i] = row, depth[parent[step]] + len(moves)
            assert (row == on[i]).all()
        assert max(depth.values()) <= most
        assert len(who) < 10 * 200 < on.sum()


def test_the_kernel_for_many_images_at_ties_and_in_threads(monkeypatch):
    net = NETS["pool, ReLU"]
    x = images(net, 40)
    x[:10] = 0  # all four of a pooling equal: the first is taken
    x[10:20, :40] = 1
    x[20, 3] = torch.nan  # and where there is no number there is no slope
    expected = jacobian(net, x)
    monkeypatch.setattr(vision, "WORTH", 0)
    assert (jacobian(net, x) - expected).abs().max() < 1e-13
    alone = jacobian(net, x)
    from foldnet.geometry import _slopes

    monkeypatch.setattr(_slopes, "most_threads", lambda: 3)
    assert torch.equal(jacobian(net, x), alone)


def test_the_pattern_has_every_relu_and_every_pooling():
    net = ConvNet.random((2,), 3, (1, 4, 6), relu_first=True, seed=0)
    x = images(net, 40)
    z = net.preactivations(x)[0].view(40, 2, 4, 6)
    seen = pattern(net, x)
    assert seen.dtype == torch.int8
    assert torch.equal(seen[:, :48].view(40, 2, 4, 6), (z > 0).to(torch.int8))
    blocks = z.relu().view(40, 2, 2, 2, 3, 2).permute(0, 1, 2, 4, 3, 5).reshape(40, 12, 4)
    assert torch.equal(seen[:, 48:], blocks.argmax(-1).to(torch.int8))
    after = ConvNet(net.weights, net.biases, net.input_shape, relu_first=False)
    torch.testing.assert_close(after(x), net(x))
    blocks = z.view(40, 2, 2, 2, 3, 2).permute(0, 1, 2, 4, 3, 5).reshape(40, 12, 4)
    assert torch.equal(pattern(after, x), torch.cat([blocks.argmax(-1), (blocks.amax(-1) > 0)], -1).to(torch.int8))
    assert set(seen[:, 48:].unique().tolist()) == {0, 1, 2, 3}
    assert pattern(NETS["no convolution"], images(NETS["no convolution"])).shape == (6, 0)


@pytest.mark.parametrize("relu_first", [False, True])
def test_a_batch_is_its_networks(relu_first):
    nets = ConvNet.random((4, 3), 5, SHAPE, relu_first, batch=(2, 3), seed=8)
    assert nets.batch_shape == (2, 3)
    x = images(nets)
    own = torch.stack([torch.stack([images(nets, 6, 10 * i + k) for k in range(3)]) for i in range(2)])
    for points in (x, own):
        found = nets(points), pattern(nets, points), *affine_at(nets, points), *nets.preactivations(points)
        for i in range(2):
            for k in range(3):
                one, at = nets[i, k], points if points is x else own[i, k]
                alone = one(at), pattern(one, at), *affine_at(one, at), *one.preactivations(at)
                for many, single in zip(found, alone):
                    torch.testing.assert_close(many[i, k], single, atol=1e-12, rtol=1e-12)
    assert nets.vector().shape == (2, 3, nets.parameter_count)
    assert nets[0].batch_shape == (3,)
    linear = ReLUNet.random((20, 8, 3), batch=2, seed=1)
    torch.testing.assert_close(jacobian(linear, images(linear))[1], jacobian(linear[1], images(linear)))


def test_single_precision_stays_single():
    net = NETS["pool, ReLU"].to(torch.float32)
    slope, constant = affine_at(net, images(NETS["pool, ReLU"]))
    assert slope.dtype == constant.dtype == net.dtype == torch.float32
    torch.testing.assert_close(slope.double(), jacobian(NETS["pool, ReLU"], images(NETS["pool, ReLU"])), atol=1e-6, rtol=1e-4)
    assert repr(net) == "ConvNet(3x12x8 4x6x4 5x3x2 10, pool, ReLU, float32)"


def test_a_network_is_a_value():
    net = NETS["one layer"]
    weights = [w.clone() for w in net.weights]
    copy = ConvNet(weights, net.biases, net.input_shape)
    weights[0].zero_()
    assert torch.equal(copy.weights[0], net.weights[0])


def test_what_does_not_fit_is_refused_in_a_sentence():
    net = NETS["one layer"]
    with pytest.raises(ValueError, match=r"rows of pixels, \(n, 25\); got \(4, 24\)"):
        net(torch.zeros(4, 24))
    with pytest.raises(ValueError, match=r"\(n, 25\) or \(2, n, 25\); got \(3, 4, 25\)"):
        ConvNet.random((4,), 2, (1, 5, 5), batch=2)(torch.zeros(3, 4, 25))
    with pytest.raises(ValueError, match="the linear layer does not fit"):
        ConvNet(net.weights, net.biases, (1, 6, 6))
    with pytest.raises(ValueError, match="convolution 0 does not fit"):
        ConvNet(net.weights, net.biases, (2, 5, 5))
    with pytest.raises(ValueError, match="one bias vector for each weight array"):
        ConvNet(net.weights, net.biases[:1], (1, 5, 5))
    with pytest.raises(ValueError, match="NaN or infinite"):
        ConvNet([net.weights[0] * torch.nan, net.weights[1]], net.biases, (1, 5, 5))
    with pytest.raises(IndexError, match="one network"):
        net[0]
    with pytest.raises(ValueError, match="at least one image"):
        next(vision.jacobians(net, torch.zeros(4, 25), chunk=0))
