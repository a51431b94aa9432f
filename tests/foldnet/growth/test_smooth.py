"""Smooth networks: against torch.nn, and their slopes at zero against autograd and one-sided differences."""

from dataclasses import replace

import pytest
import torch

from foldnet.growth.smooth import ACTIVATIONS, SmoothNet
from foldnet.growth.widen import widen
from foldnet.nets import ReLUNet, stack

X = torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("name", "module"), [("tanh", torch.nn.Tanh()), ("selu", torch.nn.SELU()), ("elu", torch.nn.ELU()), ("gelu", torch.nn.GELU())]
)
def test_equals_torch_nn(name, module):
    net = SmoothNet.random((3, 5, 4, 2), activation=name, seed=1)
    z = X
    for layer, (w, b) in enumerate(zip(net.weights, net.biases)):
        z = torch.nn.functional.linear(z if layer == 0 else module(z), w, b)
    assert torch.allclose(net(X), z, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_is_zero_at_zero_with_the_slopes_it_says(name):
    a, h = ACTIVATIONS[name], 1e-7
    left, zero, right = a.function(torch.tensor([-h, 0.0, h], dtype=torch.float64))
    assert abs(zero) < 1e-16
    assert abs(right / h - a.right) < 1e-6
    assert abs(-left / h - a.left) < 1e-6


def test_the_protocol_of_a_network():
    nets = SmoothNet.random((3, 4, 2), batch=(2, 5), activation="selu", seed=2)
    assert repr(nets) == "SmoothNet(3-4-2, batch (2, 5), selu, float64)"
    assert nets.sizes == (3, 4, 2)
    assert nets.batch_shape == (2, 5)
    assert nets.parameter_count == 26
    assert torch.equal(nets.vector(), ReLUNet.random((3, 4, 2), batch=(2, 5), seed=2).vector())
    # one network and a batch of them go through other matrix products, which some processors round differently
    assert torch.allclose(nets(X)[1, 3], nets[1, 3](X), rtol=0, atol=1e-14)
    assert nets[1, 3].activation == "selu"
    again = nets.with_vector(nets.vector())
    for same in (stack([nets[0], nets[1]]), again):
        assert same.activation == "selu"
        assert torch.equal(same.vector(), nets.vector())
    assert nets.to(torch.float32).dtype == torch.float32
    assert nets.to(torch.float32).activation == "selu"
    assert [z.shape for z in nets.preactivations(X)] == [(2, 5, 9, 4)]
    wide = widen(nets, 0, torch.ones(1, 3), torch.zeros(1), torch.zeros(2, 1))
    assert isinstance(wide, SmoothNet)
    assert wide.activation == "selu"
    assert torch.allclose(wide(X), nets(X), atol=1e-12)
    assert replace(nets, activation="tanh").activation == "tanh"


def test_bad_input_is_a_sentence():
    with pytest.raises(ValueError, match="activation is one of 'tanh'"):
        SmoothNet.random((2, 3, 1), activation="relu")
    with pytest.raises(ValueError, match="one shape and activation"):
        stack([SmoothNet.random((2, 3, 1)), ReLUNet.random((2, 3, 1))])
