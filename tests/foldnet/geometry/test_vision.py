"""Convolutional networks and local linear maps, beside torch's own layers and autograd, in double precision."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import jacrev, vmap

from foldnet.geometry import _chain, vision
from foldnet.geometry.vision import affine_at, jacobian, jacobians
from foldnet.nets import ReLUNet
from foldnet.piecewise.net import of
from tests.convolutional import random

SHAPE = (3, 12, 8)
NETS = {
    "pool, ReLU": random((4, 5), 10, SHAPE, seed=1),
    "ReLU, pool": random((4, 5, 6), 3, (3, 13, 9), relu_first=True, seed=2),
    "one layer": random((4,), 2, (1, 5, 5), seed=3),
    "no convolution": random((), 4, SHAPE, seed=4),
    "dense": ReLUNet.random((20, 8, 10), seed=5),
    "dense, deep and leaky": ReLUNet.random((20, 8, 7, 6), leak=0.1, seed=6),
    "linear": ReLUNet.random((20, 10), seed=7),
}


def ends(net):
    """How many numbers a network reads and gives."""
    return (net.sizes[0], net.sizes[-1]) if isinstance(net, ReLUNet) else (*net.input_shape, *net.output_shape)


def images(net, n=6, seed=0):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(n, ends(net)[0]))).to(net.dtype)


@pytest.mark.parametrize("net", NETS.values(), ids=NETS)
def test_values_and_slopes_are_those_of_torch(net):
    x = images(net)
    plain = net.to_sequential() if isinstance(net, ReLUNet) else net.graph.module
    torch.testing.assert_close(net(x), plain(x).detach(), atol=1e-12, rtol=1e-12)
    expected = vmap(jacrev(lambda v: plain(v[None])[0]))(x).detach()
    torch.testing.assert_close(jacobian(net, x), expected, atol=1e-12, rtol=1e-12)
    slope, constant = affine_at(net, x)
    assert slope.shape == (6, *ends(net)[::-1])
    near = x + 1e-9 * images(net, seed=1)
    assert (net.pattern(near) == net.pattern(x)).all()
    torch.testing.assert_close(torch.einsum("noi,ni->no", slope, near) + constant, net(near), atol=1e-12, rtol=1e-12)
    assert torch.equal(torch.cat([*jacobians(net, x, chunk=4)]), jacobian(net, x))


CONVOLUTIONS = {
    "pool, ReLU": NETS["pool, ReLU"],
    "ReLU, pool": random((4, 5, 6), 9, (3, 13, 9), relu_first=True, seed=2),
    "one layer, grey": NETS["one layer"],
    "more outputs than lanes": random((6, 33), 21, (5, 7, 11), seed=9),
}
DOUBLE, SINGLE = (torch.float64, 1e-13), (torch.float32, 3e-6)  # gap, in the largest of all slopes


@pytest.mark.parametrize(("name", "dtype", "gap"), [*[(name, *DOUBLE) for name in CONVOLUTIONS], ("pool, ReLU", *SINGLE)])
def test_the_kernel_for_many_images_gives_the_same_slopes(name, dtype, gap, monkeypatch):
    net = CONVOLUTIONS[name].to(dtype)
    x, double = images(net, 40), net.to(torch.float64)
    expected = double.jacobians(x)
    alike = (net.pattern(x) == double.pattern(x)).all(-1)
    assert alike.double().mean() > 0.9  # a crease may lie between two precisions
    monkeypatch.setattr(_chain, "WORTH", 0)
    found = net.jacobians(x)
    assert found.dtype == dtype
    assert found.shape == expected.shape
    assert (found - expected).abs()[alike].max() < gap * expected.abs().max()
    assert torch.equal(jacobian([net, net], x)[1], found)


class Around(nn.Module):
    """A chain of convolutions, with something added that no list of its layers shows."""

    def __init__(self, net, way):
        super().__init__()
        self.parts, self.way = net.graph.module, way

    def forward(self, x):
        image, conv, pool, relu, *rest = self.parts
        h = self.way(conv(image(x)), pool, relu)
        for part in rest:
            h = part(h)
        return h


def test_what_is_almost_a_chain_is_none_and_has_its_own_slopes(monkeypatch):
    monkeypatch.setattr(_chain, "WORTH", 0)
    net = NETS["one layer"]
    image, conv, pool, relu, flat, linear = net.graph.module
    wide = nn.Conv2d(1, 4, 3, padding=1, stride=1, dilation=1, padding_mode="reflect").double()
    almost = {
        "a pooling that laps over": [image, conv, nn.MaxPool2d(3, 2, padding=1), relu, flat, nn.Linear(36, 2).double()],
        "edges that are no zeros": [image, wide, pool, relu, flat, linear],
        "two ReLUs": [image, conv, relu, relu, flat, nn.Linear(100, 2).double()],
        "an absolute value": [image, conv, pool, nn.LeakyReLU(), flat, linear],
        "another layer": [*net.graph.module, nn.ReLU(), nn.Linear(2, 2).double()],
        "no bias": [image, nn.Conv2d(1, 4, 3, padding=1, bias=False).double(), pool, relu, flat, linear],
    }
    modules = {name: nn.Sequential(*parts) for name, parts in almost.items()}
    modules["a ReLU beside the way"] = Around(net, lambda h, pool, relu: (relu(h), relu(pool(h)))[1])
    modules["a sum around it"] = Around(net, lambda h, pool, relu: relu(pool(h)) + pool(h))
    for name, module in modules.items():
        traced = of(module, 25)
        assert (traced.chain is None) == (name != "no bias"), name
        x = images(traced)
        plain = vmap(jacrev(lambda v, module=module: module(v[None])[0]))(x).detach()
        torch.testing.assert_close(traced.jacobians(x), plain, atol=1e-12, rtol=1e-12)


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
    monkeypatch.setattr(_chain, "WORTH", 0)
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
    expected = net.jacobians(x)
    monkeypatch.setattr(_chain, "WORTH", 0)
    alone = net.jacobians(x)
    assert (alone - expected).abs().max() < 1e-13
    from foldnet.geometry import _slopes

    monkeypatch.setattr(_slopes, "most_threads", lambda: 3)
    assert torch.equal(net.jacobians(x), alone)


def test_the_pattern_has_every_relu_and_every_pooling():
    net = random((2,), 3, (1, 4, 6), relu_first=True, seed=0)
    x = images(net, 40)
    image, conv, *_ = net.graph.module
    with torch.no_grad():
        z = conv(image(x))
    seen, place = net.pattern(x), torch.arange(24).view(1, 1, 4, 6).expand_as(z)
    assert torch.equal(seen[:, :48].view(40, 2, 4, 6), (z > 0).long())
    four = lambda v: v.view(40, 2, 2, 2, 3, 2).permute(0, 1, 2, 4, 3, 5).reshape(40, 12, 4)  # noqa: E731
    taken = lambda v: four(place).gather(2, four(v).argmax(2, keepdim=True))[..., 0]  # noqa: E731
    assert torch.equal(seen[:, 48:], taken(z.relu()))
    after = random((2,), 3, (1, 4, 6), seed=0)
    torch.testing.assert_close(after(x), net(x))
    assert torch.equal(after.pattern(x), torch.cat([taken(z), (four(z).amax(-1) > 0).long()], -1))
    assert NETS["no convolution"].pattern(images(NETS["no convolution"])).shape == (6, 0)


def test_a_list_is_its_networks():
    nets = [random((4, 3), 5, SHAPE, seed=seed) for seed in (1, 2)]
    x = images(nets[0])
    for many, *alone in zip(affine_at(nets, x), *(affine_at(net, x) for net in nets)):
        torch.testing.assert_close(many, torch.stack(alone))
    linear = ReLUNet.random((20, 8, 3), batch=2, seed=1)
    torch.testing.assert_close(jacobian(linear, images(linear))[1], jacobian(linear[1], images(linear)))


def test_single_precision_stays_single():
    double = NETS["pool, ReLU"]
    net, x = double.to(torch.float32), images(double)
    slope, constant = affine_at(net, x)
    assert slope.dtype == constant.dtype == net.dtype == torch.float32
    torch.testing.assert_close(slope.double(), jacobian(double, x), atol=1e-6, rtol=1e-4)


def test_a_chunk_has_an_image():
    with pytest.raises(ValueError, match="at least one image"):
        next(vision.jacobians(NETS["one layer"], torch.zeros(4, 25), chunk=0))
