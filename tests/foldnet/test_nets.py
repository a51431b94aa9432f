"""A network as a value: against torch.nn, autograd and hand computation."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.nets import ReLUNet, stack

shapes = st.lists(st.integers(1, 5), min_size=2, max_size=5)


def points(n, d, seed=0):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(n, d)))


@settings(deadline=None, max_examples=40)
@given(sizes=shapes, leak=st.sampled_from([0.0, 0.1, 0.5]), seed=st.integers(0, 1000))
def test_equals_torch_sequential_exactly(sizes, leak, seed):
    net = ReLUNet.random(sizes, leak=leak, seed=seed)
    modules = []
    for w, b in zip(net.weights, net.biases):
        linear = torch.nn.Linear(w.shape[1], w.shape[0], dtype=torch.float64)
        linear.weight.data, linear.bias.data = w, b
        modules += [linear, torch.nn.LeakyReLU(leak)]
    model = torch.nn.Sequential(*modules[:-1])
    x = points(9, sizes[0], seed)
    assert torch.allclose(net(x), model(x), rtol=0, atol=1e-14)
    assert torch.equal(net.to_sequential()(x), model(x))
    back = ReLUNet.from_sequential(net.to_sequential())
    assert torch.equal(back.vector(), net.vector())
    assert len(sizes) == 2 or back.leak == leak


@settings(deadline=None, max_examples=30)
@given(sizes=shapes, leak=st.sampled_from([0.0, 0.1]), seed=st.integers(0, 1000))
def test_jacobian_equals_autograd(sizes, leak, seed):
    net = ReLUNet.random(sizes, leak=leak, seed=seed)
    x = points(6, sizes[0], seed)
    by_autograd = torch.func.vmap(torch.func.jacrev(lambda p: net(p[None])[0]))(x)
    assert torch.allclose(net.jacobian(x), by_autograd, rtol=0, atol=1e-14)


def test_a_batch_is_its_networks():
    nets = ReLUNet.random((3, 4, 2), batch=(5, 6), leak=0.1, seed=3)
    x = points(7, 3)
    own = torch.stack([points(7, 3, seed=s) for s in range(30)]).reshape(5, 6, 7, 3)
    for i, j in [(0, 0), (2, 5), (4, 1)]:
        one = nets[i, j]
        assert one.batch_shape == ()
        for of in (ReLUNet.__call__, ReLUNet.jacobian, ReLUNet.pattern):
            assert torch.allclose(of(nets, x)[i, j].double(), of(one, x).double(), rtol=0, atol=1e-14)
            assert torch.allclose(of(nets, own)[i, j].double(), of(one, own[i, j]).double(), rtol=0, atol=1e-14)
    again = stack([stack([nets[i, j] for j in range(6)]) for i in range(5)])
    assert torch.equal(again.vector(), nets.vector())


def test_indexing_by_mask_and_slice():
    nets = ReLUNet.random((1, 2, 1), batch=4)
    mask = torch.tensor([True, False, False, True])
    assert torch.equal(nets[mask].vector(), nets.vector()[mask])
    assert torch.equal(nets[1:3].vector(), nets.vector()[1:3])
    with pytest.raises(IndexError, match="one network"):
        nets[0][0]


@pytest.mark.parametrize("sizes", [(2, 3, 4, 1), (2, 5, 3), (2, 2), (1, 3, 1)])
@pytest.mark.parametrize("batch", [(), 3, (2, 3)])
def test_one_point_is_a_row_of_many(sizes, batch):
    nets = ReLUNet.random(sizes, batch, seed=1)
    for point in ([0.5, -1.5][: sizes[0]], np.ones(sizes[0]), torch.zeros(sizes[0])):
        rows = torch.as_tensor(point, dtype=nets.dtype)[None]
        assert torch.equal(nets(point), nets(rows).squeeze(-2))
        assert torch.equal(nets.pattern(point), nets.pattern(rows).squeeze(-2))
        assert torch.equal(nets.jacobian(point), nets.jacobian(rows).squeeze(-3))
        assert nets(point).shape == (*nets.batch_shape, sizes[-1])
        assert nets.jacobian(point).shape == (*nets.batch_shape, sizes[-1], sizes[0])


def test_pattern_by_hand():
    net = ReLUNet([[[1.0], [-1.0]], [[1.0, 2.0]]], [[-1.0, 0.0], [0.5]])
    x = torch.tensor([[-2.0], [0.5], [3.0]])
    assert net.pattern(x).tolist() == [[False, True], [False, False], [True, False]]
    assert net(x).squeeze(-1).tolist() == [4.5, 0.5, 2.5]
    assert net.jacobian(x).flatten().tolist() == [-2.0, 0.0, 1.0]


def test_vector_round_trip_and_order():
    net = ReLUNet([[[1.0, 2.0], [3.0, 4.0]], [[7.0, 8.0]]], [[5.0, 6.0], [9.0]])
    assert net.vector().tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert torch.equal(net.with_vector(2 * net.vector()).vector(), 2 * net.vector())


@pytest.mark.parametrize(
    ("init", "fan_variance"),
    [("he", lambda i, o: 2 / i), ("glorot", lambda i, o: 2 / (i + o)), ("torch", lambda i, o: 1 / (3 * i))],
)
def test_initial_variance(init, fan_variance):
    net = ReLUNet.random((8, 16, 2), batch=4000, init=init, seed=1)
    for w in net.weights:
        assert w.var().item() == pytest.approx(fan_variance(w.shape[-1], w.shape[-2]), rel=0.02)


def test_random_is_fixed_by_its_seed():
    assert torch.equal(ReLUNet.random((2, 3, 1), seed=5).vector(), ReLUNet.random((2, 3, 1), seed=5).vector())
    # the numbers themselves, so that no machine and no release moves them unseen
    assert np.round(ReLUNet.random((1, 2, 1), seed=0).vector()[:3].numpy(), 6).tolist() == [0.273923, -0.460427, -0.918053]


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: ReLUNet([torch.ones(2, 3)], [torch.ones(3)]), "layer 0 does not fit"),
        (lambda: ReLUNet([torch.ones(2, 3), torch.ones(1, 3)], [torch.ones(2), torch.ones(1)]), "layer 1 does not fit"),
        (lambda: ReLUNet([torch.ones(0, 2, 3)], [torch.ones(0, 2)]), "empty batch"),
        (lambda: ReLUNet([torch.full((2, 3), torch.nan)], [torch.ones(2)]), "NaN"),
        (lambda: ReLUNet([], []), "at least one"),
        (lambda: ReLUNet([torch.ones(1, 1)], [torch.ones(1)], leak=1.5), "leak"),
        (lambda: ReLUNet.random((2, 1))(torch.ones(3)), "points have shape"),
        (lambda: ReLUNet.random((2, 1))(1.0), "points have shape"),
        (lambda: ReLUNet.random((2, 1))(torch.ones(4, 3)), "points have shape"),
        (lambda: ReLUNet.random((2, 1), batch=3)(torch.ones(2, 4, 2)), "do not fit networks of batch shape"),
        (lambda: ReLUNet.random((2, 1), init="xavier"), "init is"),
        (lambda: ReLUNet.random((2, 0, 1)), "no empty layer"),
        (lambda: ReLUNet.random((2, 1), batch=3).to_sequential(), "choose one"),
        (lambda: ReLUNet.from_sequential(torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Tanh())), "Linear, ReLU"),
        (lambda: stack([]), "empty list"),
        (lambda: stack([ReLUNet.random((2, 1)), ReLUNet.random((3, 1))]), "one shape"),
    ],
)
def test_bad_input_gets_one_sentence(build, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        build()
    assert "\n" not in str(caught.value)


def test_a_network_does_not_change_with_what_it_was_made_of():
    weights, bias = [np.ones((3, 2)), torch.ones(1, 3, dtype=torch.float64)], torch.zeros(3, dtype=torch.float64)
    net = ReLUNet(weights, [bias, [0.0]])
    model = net.to_sequential()
    again, before = ReLUNet.from_sequential(model), net.vector()
    weights[0][0, 0] = weights[1][0, 0] = bias[0] = 5.0
    with torch.no_grad():
        model[0].weight[0, 0] = 5.0
    assert torch.equal(net.vector(), before)
    assert torch.equal(again.vector(), before)
    leaf = torch.ones(1, 3, dtype=torch.float64, requires_grad=True)  # a copy still tells its origin
    ReLUNet([np.ones((3, 2)), leaf], [bias, [0.0]])(np.ones((1, 2))).sum().backward()
    assert torch.equal(leaf.grad, torch.tensor([[7.0, 2.0, 2.0]], dtype=torch.float64))


class Halved(torch.nn.Linear):
    """A layer with a forward pass of its own."""

    def forward(self, x):
        return super().forward(x) / 2


class Named(torch.nn.Linear):
    """A layer with another name and nothing else."""


class Backwards(torch.nn.Sequential):
    def forward(self, x):
        return -super().forward(x)


def shallow(first=torch.nn.Linear, between=torch.nn.ReLU, whole=torch.nn.Sequential):
    return whole(first(2, 3), between(), torch.nn.Linear(3, 1))


def hooked(model, part):
    """The model with a hook in one of its parts, or in itself, that doubles what it gives or takes."""
    if part == "before":
        model[0].register_forward_pre_hook(lambda module, inputs: (2 * inputs[0],))
    else:
        (model if part == "whole" else model[0]).register_forward_hook(lambda module, inputs, output: 2 * output)
    return model


def replaced(model):
    model[0].forward = lambda x: torch.zeros(len(x), 3)
    return model


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: shallow(Halved), "Halved has a forward pass of its own"),
        (lambda: shallow(whole=Backwards), "Backwards has a forward pass of its own"),
        (lambda: replaced(shallow()), "Linear has a forward pass of its own"),
        (lambda: hooked(shallow(), "layer"), "Linear has a forward hook"),
        (lambda: hooked(shallow(), "before"), "Linear has a forward hook"),
        (lambda: hooked(shallow(), "whole"), "Sequential has a forward hook"),
        (lambda: shallow(between=type("Other", (torch.nn.ReLU,), {"forward": lambda self, x: x})), "Other has a forward pass"),
    ],
)
def test_a_module_that_computes_something_else_is_refused(build, words):
    with pytest.raises(ValueError, match=words):
        ReLUNet.from_sequential(build())


def test_what_was_read_off_is_compared_with_the_module():
    hook = torch.nn.modules.module.register_module_forward_hook(lambda module, inputs, output: 2 * output)
    try:
        with pytest.raises(ValueError, match="other values than the Sequential"):
            ReLUNet.from_sequential(shallow())
    finally:
        hook.remove()
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        model = shallow(Named).to(dtype)
        draws = torch.get_rng_state()
        assert torch.equal(ReLUNet.from_sequential(model).weights[0], model[0].weight)
        assert torch.equal(torch.get_rng_state(), draws)
