"""Fold points and the new neuron, against autograd and the network itself."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.geometry.boundaries import hyperplane
from foldnet.growth.folding import fold, grow
from foldnet.growth.tasks import one_hot, sine
from foldnet.growth.typical import class_losses, predictions
from foldnet.growth.widen import widen
from foldnet.nets import ReLUNet

shapes = st.tuples(st.integers(2, 4), st.integers(1, 5), st.integers(1, 4))


def problem(sizes, seed, batch=(), n=40, init="torch"):
    """Random networks with random labels: many mistakes, many patterns."""
    rng = np.random.default_rng(seed)
    x = torch.as_tensor(rng.normal(size=(n, sizes[0])))
    y = torch.as_tensor(rng.integers(0, max(2, sizes[-1]), n))
    return ReLUNet.random(sizes, batch=batch, init=init, seed=seed), x, y


def neuron(*given, **options):
    """What `widen` takes of a fold."""
    found = fold(*given, **options)
    return found.incoming, found.bias, found.outgoing


@settings(deadline=None, max_examples=60)
@given(shapes, st.integers(0, 10_000), st.just(0.0) | st.floats(1e-9, 2))
def test_a_fold_keeps_what_it_promises(sizes, seed, size):
    net, x, y = problem(sizes, seed)
    found = fold(net, x, y, seed=seed, size=size)
    grown = grow(net, found)
    assert grown.sizes == (sizes[0], sizes[1] + 1, sizes[2])
    assert all(torch.isfinite(v.double()).all() for v in vars(found).values())
    # what the neuron adds, by itself: the difference of two networks has their rounding in it, and processors round differently
    before = x @ found.incoming[0] + found.bias
    added = before.clamp(min=0)[:, None] * found.outgoing[:, 0]
    assert torch.allclose(grown(x) - net(x), added, rtol=0, atol=1e-12)
    assert added.abs().max().item() <= size * (1 + 1e-9)
    assert added.abs().max().item() >= 0.99 * size or (before <= 1e-12).all()


@settings(deadline=None, max_examples=60)
@given(shapes, st.integers(0, 10_000))
def test_the_neuron_vanishes_at_the_fold_point_and_sees_the_mistake(sizes, seed):
    net, x, y = problem(sizes, seed)
    found = fold(net, x, y, seed=seed)
    scale = found.incoming.norm() * (1 + found.point.norm())
    assert abs(found.incoming[0] @ found.point + found.bias[0]) <= 1e-12 * scale
    assert found.incoming[0] @ found.instance + found.bias[0] >= -1e-12 * scale
    assert abs(found.along @ found.normal) <= 1e-10 * found.normal.norm()
    assert found.along.norm().item() == pytest.approx(1)
    # 45 degrees between the neuron and the normal: a real fold, neither parallel nor along the boundary
    cosine = abs(found.incoming[0] @ found.normal) / found.incoming.norm() / found.normal.norm()
    assert cosine.item() == pytest.approx(2**-0.5, abs=1e-6)
    assert predictions(net, found.instance[None]).item() != found.true.item() or (predictions(net, x) == y).all()
    # and it helps there: the loss at the mistake falls
    at, label = found.instance[None], found.true[None]
    assert class_losses(grow(net, found), at, label) <= class_losses(net, at, label) + 1e-12


def test_the_boundary_bends_by_the_stated_normal_and_stays_on_the_other_side():
    """S0-thm-3: normal w on the inactive side, w + (w_B,i - w_B,j) w_A on the active one."""
    nets, x, y = problem((2, 4, 3), seed=11, batch=20)
    first = int(fold(nets, x, y).inside.nonzero()[0])
    net = nets[first]
    found = fold(net, x, y, size=0.3)
    assert not found.flat
    grown, i, j = grow(net, found), int(found.predicted), int(found.true)
    step = 1e-6 * found.incoming[0]
    for side, extra in ((-1, 0.0), (1, 1.0)):
        w, b = hyperplane(grown, (found.point + side * step)[None], i, j)
        jump = (found.outgoing[i, 0] - found.outgoing[j, 0]) * found.incoming[0]
        assert torch.allclose(w[0], found.normal + extra * jump, atol=1e-10)
        assert abs(w[0] @ found.point + b[0]) < 1e-10  # both half-boundaries pass through x_f
    assert jump.norm() > 0.1


@pytest.mark.parametrize("out", [1, 2, 3])
def test_a_batch_of_folds_is_its_folds(out):
    nets, x, y = problem((2, 3, out), seed=5, batch=(2, 3))
    many = neuron(nets, x, y, seed=10)
    assert [tuple(a.shape) for a in many] == [(2, 3, 1, 2), (2, 3, 1), (2, 3, out, 1)]
    for k in range(6):
        index = divmod(k, 3)
        one = neuron(nets[index], x, y, seed=10)
        assert all(torch.allclose(a[index], b, atol=1e-12) for a, b in zip(many, one))
    assert widen(nets, 0, *many).sizes == (2, 4, out)
    own = neuron(nets, x.expand(2, 3, -1, -1), y.expand(2, 3, -1), seed=10)
    assert all(torch.allclose(a, b) for a, b in zip(many, own))


@pytest.mark.parametrize("angle", [0.2, 0.7, 1.3])
@pytest.mark.parametrize("inputs", [2, 4])
def test_the_row_is_as_long_as_the_old_ones_and_turned_by_the_angle(inputs, angle):
    nets, x, y = problem((inputs, 5, 3), seed=21, batch=30, init="glorot")
    found = fold(nets, x, y, angle=angle)
    assert torch.allclose(found.incoming.norm(dim=-1)[:, 0], nets.weights[0].norm(dim=-1).mean(-1))
    cosine = (found.incoming[:, 0] * found.normal).sum(-1).abs() / found.incoming.norm(dim=-1)[:, 0] / found.normal.norm(dim=-1)
    assert torch.allclose(cosine, torch.full_like(cosine, np.cos(angle)), atol=1e-6)
    # the rest of the row lies along u, with a plus: u is the way that was taken
    along = (found.incoming[:, 0] * found.along).sum(-1) / found.incoming.norm(dim=-1)[:, 0]
    assert torch.allclose(along, torch.full_like(along, np.sin(angle)), atol=1e-6)


def test_of_the_two_ways_to_turn_the_one_with_the_larger_gradient_is_taken():
    """Against autograd: the gradient of row and bias of the new unit, for the fold as found and for its mirror image."""
    nets, x, y = problem((2, 4, 3), seed=22, batch=40)
    found = fold(nets, x, y, size=0.1)
    better = 0
    for k in range(40):
        w = found.normal[k] / found.normal[k].norm()
        row = found.incoming[k, 0]
        mirror = 2 * (row @ w) * w - row
        push = found.outgoing[k] / found.outgoing[k].abs().max()
        length = []
        for way in (row, mirror):
            grown = widen(nets[k], 0, way[None], -(way @ found.point[k])[None], 1e-6 * push)
            p = grown.vector().requires_grad_()
            loss = torch.nn.functional.cross_entropy(grown.with_vector(p)(x), y)
            gradient = grown.with_vector(torch.autograd.grad(loss, p)[0])
            length.append(torch.cat([gradient.weights[0][-1], gradient.biases[0][-1:]]).norm().item())
        assert length[0] >= length[1] * (1 - 1e-4)
        better += length[0] > length[1] * 1.01
    assert better > 20


@pytest.mark.parametrize(("leak", "out"), [(0.0, 1), (0.3, 3)])
def test_the_scan_finds_the_longest_gradient_of_all_angles(leak, out):
    """Against autograd at a thousand angles on the side of the mistake, and no finer step is missed."""
    nets, x, y = problem((2, 4, out), seed=31, batch=6)
    nets = ReLUNet(nets.weights, nets.biases, leak)
    found = fold(nets, x, y, angle=None)
    fixed = fold(nets, x, y)
    gains = []
    for k in range(6):
        w = found.normal[k] / found.normal[k].norm()
        w = w * (w @ (found.instance[k] - found.point[k])).sign()
        push = found.outgoing[k] / found.outgoing[k].abs().max()

        def length(way, k=k, push=push):
            grown = widen(nets[k], 0, way[None], -(way @ found.point[k])[None], 1e-9 * push)
            p = grown.vector().requires_grad_()
            z = grown.with_vector(p)(x)
            z = torch.cat([torch.zeros_like(z), z], -1) if out == 1 else z
            gradient = grown.with_vector(torch.autograd.grad(torch.nn.functional.cross_entropy(z, y), p)[0])
            return torch.cat([gradient.weights[0][-1], gradient.biases[0][-1:]]).norm().item()

        row, size = found.incoming[k, 0], found.incoming[k, 0].norm()
        assert row @ w > 0
        u = found.along[k]
        sweep = [length(size * (np.cos(t) * w + np.sin(t) * u)) for t in np.linspace(-np.pi / 2, np.pi / 2, 1001)[1:-1]]
        assert length(row) >= max(sweep) * (1 - 1e-6)
        gains.append(length(row) / length(fixed.incoming[k, 0]))
    assert min(gains) >= 1 - 1e-6
    assert max(gains) > 1.01


def test_the_push_is_between_the_true_class_and_its_strongest_rival():
    nets, x, y = problem((2, 4, 4), seed=23, batch=40)
    found = fold(nets, x, y)
    for k in range(40):
        z = nets[k](found.instance[k][None])[0].clone()
        true = int(found.true[k])
        assert y[torch.nonzero((x == found.instance[k]).all(-1)).item()] == true
        z[true] = -torch.inf
        assert int(found.predicted[k]) == int(z.argmax())
        column = found.outgoing[k, :, 0]
        assert column[true] > 0
        assert column[int(found.predicted[k])] == -column[true]
        assert (column != 0).sum() == 2


def test_in_more_than_two_inputs_u_points_where_the_mistakes_pull():
    """The instances' pull on a unit through x_f, less its part along the normal: by hand, for one network."""
    net, x, y = problem((4, 5, 3), seed=24)
    found = fold(net, x, y)
    slope = net(x).softmax(-1) - torch.nn.functional.one_hot(y, 3)
    pull = slope[:, int(found.true)] - slope[:, int(found.predicted)]
    wish = (pull[:, None] * (x - found.point)).mean(0)
    wish = wish - (wish @ found.normal) / (found.normal @ found.normal) * found.normal
    assert abs(torch.cosine_similarity(wish, found.along, dim=0).item()) == pytest.approx(1, abs=1e-9)


def test_a_flat_segment_is_replaced_by_the_way_from_the_nearest_of_the_predicted_class():
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [5.0, 5.0]]).double()
    y = torch.tensor([1, 0, 0, 0])  # the dead network says 0: one mistake, at the origin; (1, 0) is the nearest of class 0
    found = fold(dead(), x, y)
    assert found.flat
    assert found.instance.tolist() == [0.0, 0.0]
    assert torch.allclose(found.normal, torch.tensor([-1.0, 0.0]).double())
    assert torch.allclose(found.point, torch.tensor([0.5, 0.0]).double())


def test_float_targets_are_understood():
    nets, x, y = problem((2, 3, 2), seed=6, batch=4)
    assert all(torch.equal(a, b) for a, b in zip(neuron(nets, x, y), neuron(nets, x, one_hot(y))))
    single, x, y = problem((2, 3, 1), seed=6, batch=4)
    assert all(torch.equal(a, b) for a, b in zip(neuron(single, x, y), neuron(single, x, y.double()[:, None])))


def dead(out=2):
    """Two units that are off everywhere near the data, and an output that says class 0."""
    return ReLUNet([[[1.0, 0.0], [0.0, 1.0]], np.ones((out, 2))], [[-50.0, -50.0], [1.0, 0.0][:out]])


@pytest.mark.parametrize("out", [1, 2])
def test_a_dead_layer_gets_a_neuron_that_lives(out):
    x, y = sine(100, seed=1)
    found = fold(dead(out), x, y)
    assert found.flat
    assert not found.inside
    active = (x @ found.incoming[0] + found.bias) > 0
    assert 0 < active.sum() < len(x)
    assert active[torch.nonzero((x == found.instance).all(-1)).item()]


def test_no_mistake_folds_at_the_highest_loss():
    x = torch.tensor([[-1.0, 0.25], [-0.5, 0.0], [0.125, 0.5], [2.0, 1.0]]).double()
    y = (x[:, 0] > 0).long()
    net = ReLUNet([[[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]], [[0.0, 0.0], [0.0, 0.0]])
    assert (predictions(net, x) == y).all()
    found = fold(net, x, y)
    assert found.instance.tolist() == [0.125, 0.5]
    assert (int(found.predicted), int(found.true)) == (0, 1)
    assert abs(found.point[0]) < 1e-12


def test_only_one_class_and_equal_points_give_no_nan():
    net = dead()
    x, y = torch.ones(5, 2).double(), torch.ones(5).long()
    found = fold(net, x, y)
    assert all(torch.isfinite(v.double()).all() for v in vars(found).values())


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda x, y: fold(ReLUNet.random((2, 3, 3, 2)), x, y), "one hidden layer"),
        (lambda x, y: fold(ReLUNet.random((1, 3, 2)), x[:, :1], y), "at least two inputs"),
        (lambda x, y: fold(ReLUNet.random((2, 3, 2)), x, y, size=-1), "size is at least 0"),
        (lambda x, y: fold(ReLUNet.random((2, 3, 2)), x, y, angle=2), "angle between"),
        (lambda x, y: fold(ReLUNet.random((2, 3, 2)), x, y + 1), "classes of a"),
        (lambda x, y: fold(ReLUNet.random((2, 3, 2)), x, y.double()), "2 columns"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act(*sine(50))
