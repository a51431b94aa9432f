"""Adding neurons: shapes, what is kept, and what each new neuron contributes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.growth.widen import widen
from foldnet.nets import ReLUNet

shapes = st.lists(st.integers(1, 5), min_size=3, max_size=5)


def parts(net, layer, k, seed, zero):
    rng = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*net.batch_shape, *shape, generator=rng, dtype=net.dtype)

    outgoing = draw(net.sizes[layer + 2], k)
    return draw(k, net.sizes[layer]), draw(k), torch.zeros_like(outgoing) if zero else outgoing


@settings(max_examples=60, deadline=None)
@given(shapes, st.integers(0, 3), st.integers(1, 4), st.sampled_from([(), (3,), (2, 2)]), st.integers(0, 99))
def test_zero_outgoing_weights_keep_the_function(sizes, layer, k, batch, seed):
    layer %= len(sizes) - 2
    net = ReLUNet.random(sizes, batch, leak=0.1, seed=seed)
    x = torch.randn(7, sizes[0], dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    wide = widen(net, layer, *parts(net, layer, k, seed, zero=True))
    assert wide.sizes == (*sizes[: layer + 1], sizes[layer + 1] + k, *sizes[layer + 2 :])
    assert wide.leak == net.leak
    assert torch.allclose(wide(x), net(x), rtol=0, atol=1e-12)


def test_each_new_neuron_adds_its_own_term():
    net = ReLUNet.random((2, 3, 4), batch=5, seed=1)
    x = torch.randn(9, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    incoming, bias, outgoing = parts(net, 0, 2, 3, zero=False)
    term = torch.relu(x @ incoming.mT + bias.unsqueeze(-2)) @ outgoing.mT
    assert torch.allclose(widen(net, 0, incoming, bias, outgoing)(x), net(x) + term, atol=1e-12)


def test_one_neuron_for_a_whole_batch():
    net = ReLUNet.random((2, 3, 1), batch=4, seed=1)
    wide = widen(net, 0, [[1.0, -1.0]], [0.5], [[0.0]])
    assert wide.batch_shape == (4,)
    assert wide.weights[0][:, -1].tolist() == [[1.0, -1.0]] * 4


def test_bad_input_is_a_sentence():
    net = ReLUNet.random((2, 3, 1))
    with pytest.raises(ValueError, match="numbered 0 to 0; got 1"):
        widen(net, 1, [[1.0, 2, 3]], [0.0], [[0.0]])
    with pytest.raises(ValueError, match=r"need incoming of shape \(1, 2\); got \(1, 3\)"):
        widen(net, 0, [[1.0, 2, 3]], [0.0], [[0.0]])
    with pytest.raises(ValueError, match=r"need outgoing of shape \(1, 1\)"):
        widen(net, 0, [[1.0, 2]], [0.0], [[0.0, 1.0]])
