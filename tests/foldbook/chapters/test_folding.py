"""Held weights that stay, folds that start at their point or are rebuilt, and batch normalisation folded away."""

import numpy as np
import pytest
import torch

from foldbook.chapters.folding import HOLD, fit_normalised, follow, held, line_distance, other_places, rebuilt
from foldnet.geometry.boundaries import kinks, margin
from foldnet.growth.folding import fold, grow
from foldnet.growth.tasks import one_hot, sine
from foldnet.growth.typical import accuracy
from foldnet.nets import ReLUNet
from foldnet.train import fit

x, y = sine(80, seed=1)
trained = fit(
    ReLUNet.random((2, 4, 2), batch=40, seed=3), x, one_hot(y), loss="cross_entropy", lr=0.02, epochs=200, progress=False
).net
nets, found = trained, fold(trained, x, y, seed=2)


def test_a_fold_starts_at_its_point_and_the_nearest_kink_is_found():
    grown = grow(nets, found)
    distance, angle = kinks(grown).nearest(found.point)
    assert found.inside.sum() > 10
    assert distance[found.inside].max() < 1e-9
    assert (angle[found.inside] > 0).all()
    assert line_distance(grown, found.point).max() < 1e-12
    moved = found.point + 0.25 * grown.weights[0][:, -1] / grown.weights[0][:, -1].norm(dim=-1, keepdim=True)
    assert torch.allclose(line_distance(grown, moved), torch.full((40,), 0.25).double())


def test_a_unit_that_bends_nothing_has_no_kink():
    silent = grow(nets, found)
    equal = [*silent.weights[:1], torch.cat([silent.weights[1][..., :-1], torch.ones(40, 2, 1)], -1)]
    distance, angle = kinks(ReLUNet(equal, silent.biases)).nearest(found.point)
    assert distance.isinf().all()
    assert (angle == 0).all()
    with pytest.raises(ValueError, match="one hidden layer"):
        kinks(nets[0])


@pytest.mark.parametrize("hold", HOLD)
def test_what_is_held_stays_and_the_rest_moves(hold):
    grown = grow(nets, found)
    start, end = follow(grown, x, y, [0, 20], hold=hold)
    assert torch.equal(start.vector(), grown.vector())
    moved = end.with_vector((end.vector() - grown.vector()).abs())
    old = [moved.weights[0][:, :-1], moved.biases[0][:, :-1], moved.weights[1][..., :-1], moved.biases[1]]
    row = [moved.weights[0][:, -1], moved.biases[0][:, -1]]
    for part, still in ((old, "old" in hold), (row, "row" in hold), ([moved.weights[1][..., -1]], False)):
        largest = max(float(p.max()) for p in part)
        assert largest == 0 if still else largest > 1e-3
    assert held(grown, hold).sum() == {"nothing": 27, "old": 5, "row": 24, "old and row": 2}[hold]


@pytest.mark.parametrize("optimizer", ["adam", "gd"])
def test_following_is_the_training_of_fit(optimizer):
    ours = follow(nets, x, y, [3, 30], lr=0.02, optimizer=optimizer)
    for count, net in zip((3, 30), ours):
        theirs = fit(nets, x, one_hot(y), loss="cross_entropy", optimizer=optimizer, lr=0.02, epochs=count, progress=False).net
        assert torch.allclose(net.vector(), theirs.vector(), atol=1e-6)
    with pytest.raises(ValueError, match="hold is one of"):
        follow(nets, x, y, [1], hold="everything")
    with pytest.raises(ValueError, match="optimizer is one of 'adam', 'gd'; got 'sgd'"):
        follow(nets, x, y, [1], optimizer="sgd")
    for out in (1, 3):
        with pytest.raises(ValueError, match="two outputs are followed"):
            follow(ReLUNet.random((2, 4, out), batch=2), x, y, [1])


def test_another_place_lies_on_the_same_piece_of_the_boundary():
    places, there = other_places(nets, found, x, seed=4)
    assert there.sum() > 5
    assert margin(nets, places[:, None])[there].abs().max() < 1e-9
    away = (places - found.point)[there].norm(dim=-1)
    assert away.min() >= 0.3
    assert away.std() > 0.05
    moved = rebuilt(found, x, point=places)
    assert torch.equal(moved.incoming, found.incoming)
    distance, _ = kinks(grow(nets, moved)).nearest(places)
    assert distance[there].max() < 1e-9


def test_a_rebuilt_fold_keeps_its_promise_and_the_other_two_choices():
    same = rebuilt(found, x)
    assert torch.allclose(same.bias, found.bias)
    assert torch.allclose(same.outgoing, found.outgoing)
    rng = np.random.default_rng(5)
    row, push = torch.as_tensor(rng.normal(size=(40, 2))), torch.as_tensor(rng.normal(size=(40, 2)))
    turned, pushed = rebuilt(found, x, row=row), rebuilt(found, x, push=push)
    assert torch.allclose((turned.incoming[:, 0] * found.point).sum(-1), -turned.bias[:, 0])
    assert torch.equal(pushed.bias, same.bias)
    for new in (turned, pushed):
        change = (grow(nets, new)(x) - nets(x)).abs().amax((-1, -2))
        assert (change < 0.1 + 1e-9).all()
        assert change.median() > 0.1 - 1e-9
    ratio = pushed.outgoing[..., 0] / push
    assert torch.allclose(ratio[:, 0], ratio[:, 1])


def test_normalised_training_returns_the_plain_network_it_stands_for():
    net = ReLUNet.random((2, 3, 3, 2), batch=2, seed=4)
    plain = fit_normalised(net, x, y, epochs=0, normalise=False)
    assert all(torch.equal(a, b) for a, b in zip(plain.weights + plain.biases, net.weights + net.biases))
    start = fit_normalised(net, x, y, epochs=0)
    for z in start.preactivations(x):
        assert torch.allclose(z.mean(-2), torch.zeros_like(z.mean(-2)), atol=1e-10)
        assert z.var(-2, correction=0).max() <= 1
    # against torch's own layers
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU(),
        torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU(), torch.nn.Linear(3, 2),
    ).double()  # fmt: skip
    with torch.no_grad():
        for layer, w, b in zip(model[::3], net.weights, net.biases):
            layer.weight.copy_(w[0])
            layer.bias.copy_(b[0])
    assert torch.allclose(model(x), start(x)[0], atol=1e-9)
    better = fit_normalised(net, x, y, epochs=100)
    assert (accuracy(better, x, y) > accuracy(start, x, y)).all()
