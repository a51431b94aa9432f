"""Training with growth: against torch's own optimizer, against training without growth, and against the rules it states."""

import numpy as np
import pytest
import torch

from foldnet.growth.minibatches import Training
from foldnet.growth.smooth import SmoothNet
from foldnet.growth.widen import widen

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 6))
Y = (X @ RNG.normal(size=(6, 4))).argmax(1)


def nets(batch=3, sizes=(6, 5, 3, 4), seed=0):
    return SmoothNet.random(sizes, batch=batch, init="he", activation="selu", seed=seed)


def by_torch(net, orders, lr=1e-2):
    """One network trained by torch.optim.Adam on the minibatches of these orders."""
    layers = []
    for w, b in zip(net.weights, net.biases):
        linear = torch.nn.Linear(w.shape[1], w.shape[0], dtype=w.dtype)
        linear.weight.data, linear.bias.data = w.clone(), b.clone()
        layers += [linear, torch.nn.SELU()]
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for chosen in orders:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.as_tensor(X[chosen])), torch.as_tensor(Y[chosen])).backward()
        optimizer.step()
    return [layer.weight.data for layer in model[::2]], [layer.bias.data for layer in model[::2]], optimizer, model


def minibatches(seed, epochs, size=20):
    return [order for epoch in range(epochs) for order in np.random.default_rng([seed, epoch]).permutation(60).reshape(-1, size)]


def largest_gap(a, b):
    return max(float((p - q).abs().max()) for p, q in zip(a, b))


def test_each_network_trains_as_torch_trains_it_alone():
    training = Training(nets(), X, Y, lr=1e-2, batch_size=20)
    training.train(12)
    for b in range(3):
        weights, biases, *_ = by_torch(nets()[b], minibatches(b, 4))
        assert largest_gap([w[b] for w in training.net.weights], weights) < 1e-10
        assert largest_gap([v[b] for v in training.net.biases], biases) < 1e-10


def test_a_network_trains_the_same_alone_as_beside_others():
    together, alone = Training(nets(), X, Y, batch_size=20), Training(nets()[2:], X, Y, batch_size=20, seeds=[2])
    together.train(7)
    alone.train(7)
    assert largest_gap([w[2:] for w in together.net.weights], alone.net.weights) < 1e-12


def test_the_value_handed_out_does_not_change_with_further_training():
    training = Training(nets(), X, Y, batch_size=20)
    training.train(1)
    value = training.net
    copy = [w.clone() for w in value.weights]
    training.train(1)
    assert largest_gap(value.weights, copy) == 0
    assert largest_gap(training.net.weights, copy) > 1e-6


def test_growth_keeps_adams_memory_of_the_old_and_gives_the_new_a_fresh_one():
    """With zero outgoing weights nothing changes for the old parameters; a new one moves as Adam moves a new network's."""
    plain, grown = (Training(nets(), X, Y, lr=1e-2, batch_size=20) for _ in range(2))
    plain.train(9)
    grown.train(9)
    fresh = torch.as_tensor(np.random.default_rng(1).normal(size=(2, 6)))
    grown.become(widen(grown.net, 0, fresh, torch.zeros(2), torch.zeros(3, 2)))
    wide = grown.net
    plain.train(1)
    grown.train(1)
    assert largest_gap([grown.net.weights[0][:, :5]], [plain.net.weights[0]]) < 1e-12
    assert largest_gap([grown.net.weights[1][..., :5]], [plain.net.weights[1]]) < 1e-12
    assert largest_gap([grown.net.weights[2], *grown.net.biases[1:]], [plain.net.weights[2], *plain.net.biases[1:]]) < 1e-12
    for b in range(3):
        chosen = minibatches(b, 4)[9]
        weights, *_ = by_torch(wide[b], [chosen])  # a new Adam: its first step is lr in size wherever the slope is not tiny
        assert torch.allclose(grown.net.weights[1][b, :, 5:], weights[1][:, 5:], atol=1e-10)
        moved = (grown.net.weights[1][b, :, 5:] - wide.weights[1][b, :, 5:]).abs()
        assert torch.allclose(moved, torch.full_like(moved, 1e-2), rtol=1e-3)


def test_bad_training_is_refused_in_a_sentence():
    one = nets()[0]
    with pytest.raises(ValueError, match=r"batch of networks of shape \(B,\)"):
        Training(one, X, Y)
    with pytest.raises(ValueError, match="3 networks need as many seeds; got 2"):
        Training(nets(), X, Y, batch_size=20, seeds=[1, 2])
    with pytest.raises(ValueError, match="1 to 60 points here; got 100"):
        Training(nets(), X, Y)
    with pytest.raises(ValueError, match="labels are 0 to 3"):
        Training(nets(), X, Y + 1)
    with pytest.raises(ValueError, match="whole-numbered labels"):
        Training(nets(), X, Y * 1.0)
    training = Training(nets(), X, Y, batch_size=20)
    with pytest.raises(ValueError, match="narrower"):
        training.become(nets(sizes=(6, 4, 3, 4)))
