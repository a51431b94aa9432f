"""Training with growth: against torch's own optimizer, against training without growth, and against the rules it states."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from experiments import tiny_mnist
from foldbook.chapters import mnist
from foldbook.stored import stored
from foldnet.growth import tiny
from foldnet.growth.minibatches import Training
from foldnet.growth.moments import SecondMoment
from foldnet.growth.neurons import optimal_neurons
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
    with pytest.raises(ValueError, match=r"classes of a .* are 0 to 3; got 1 to 4"):
        Training(nets(), X, Y + 1)
    with pytest.raises(ValueError, match="class numbers or distributions"):
        Training(nets(), X, Y * 1.0)
    training = Training(nets(), X, Y, batch_size=20)
    with pytest.raises(ValueError, match="narrower"):
        training.become(nets(sizes=(6, 4, 3, 4)))


# ---- growth ------------------------------------------------------------------------------------------------------------


def start(batch=2, sizes=(6, 1, 1, 4)):
    return nets(batch, sizes)


def grown(growths=3, delay=2, minibatches=8, **more):
    return tiny.tiny(start(), X, Y, growths, delay, minibatches, lr=1e-2, batch_size=20, points=40, **more)


def test_printed_widths_follow_from_adding_every_singular_vector():
    """The widths in Figures 8, 10 and 13 of the paper."""
    assert [mnist.widths_after(g) for g in (6, 8, 15)] == [[110, 51], [222, 71], [929, 141]]
    run = grown()
    assert [list(r.widths) for r in run.growths[1::2]] == [mnist.widths_after(g, inputs=6, outputs=4) for g in (1, 2, 3)]


@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_on_the_points_searched_no_step_of_a_growth_raises_the_loss(ridge):
    for record in grown(ridge=ridge).growths:
        assert (record.losses[1:] <= record.losses[:-1]).all()
        assert record.losses.shape == (3, 2)


@pytest.mark.parametrize("fresh", [False, True])
def test_losses_of_a_growth_are_those_of_its_networks(fresh):
    """Against torch's cross-entropy of the networks before and after, on the very points, or on the fresh ones."""
    halves = [(torch.as_tensor(X[c]).expand(2, -1, -1), torch.as_tensor(Y[c]).expand(2, -1)) for c in (np.r_[:30], np.r_[30:60])]
    rngs = [np.random.default_rng(b) for b in range(2)]
    net = nets(2, (6, 3, 2, 4))
    wide, record = tiny._widened(net, 0, *halves[0], "optimal", rngs, search=halves[1] if fresh else None)
    x, y = halves[fresh]
    for b in range(2):
        for place, value in ((0, net), (2, wide)):
            expected = torch.nn.functional.cross_entropy(value[b](x[b]), y[b])
            assert float(record.losses[place, b]) == pytest.approx(float(expected), abs=1e-10)


def test_behind_a_softmax_the_last_singular_value_is_zero_and_its_neuron_idles_but_can_learn():
    net = nets(2, (6, 8, 5, 4))
    x, y = torch.as_tensor(X).expand(2, -1, -1), torch.as_tensor(Y).expand(2, -1)
    wide, record = tiny._widened(net, 1, x, y, "optimal", [np.random.default_rng(b) for b in range(2)])
    assert wide.sizes == (6, 8, 9, 4)
    assert float(record.singular_values[:, 3].max()) < 1e-12 < float(record.singular_values[:, 2].min())
    assert float(wide.weights[2][..., -1].abs().max()) == 0  # it changes nothing
    assert float(wide.weights[1][:, -1].abs().min()) > 0  # and it is awake


def test_the_ridge_tends_to_the_second_moment_itself():
    inputs = torch.as_tensor(np.random.default_rng(2).normal(size=(2, 50, 4)))
    rows = torch.cat([inputs, torch.ones(2, 50, 1, dtype=inputs.dtype)], -1)
    s = rows.mT @ rows / 50
    for share in (1e-12, 0.1):
        w = SecondMoment.with_ridge(inputs, share).whitening
        extra = share * s.diagonal(dim1=-2, dim2=-1)[:, :4].mean(-1)
        expected = torch.linalg.inv(s + extra[:, None, None] * torch.eye(5))
        assert torch.allclose(w @ w.mT, expected, rtol=1e-8)


def test_a_rare_input_gets_a_large_weight_without_the_ridge_and_a_small_one_with_it():
    """One point of fifty shows the input: least squares trusts it, the ridge does not."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 50, 6))
    x[:, :, 5] = 0
    x[:, 7, 5] = 1e-3
    y = torch.as_tensor(rng.integers(0, 4, (2, 50)))
    weights = []
    for ridge in (0.0, 0.01):
        rngs = [np.random.default_rng(b) for b in range(2)]
        wide, _ = tiny._widened(nets(2, (6, 3, 2, 4)), 0, torch.as_tensor(x), y, "optimal", rngs, ridge=ridge)
        weights.append(float(wide.weights[0][:, 3:, 5].abs().max() / wide.weights[0][:, 3:, :5].abs().max()))
    assert weights[0] > 10 > 0.1 > weights[1]


@pytest.mark.parametrize("method", tiny.SOURCES)
@pytest.mark.parametrize("fresh", [False, True])
def test_a_network_grows_the_same_alone_as_beside_others(method, fresh):
    options = {"lr": 1e-2, "batch_size": 20, "points": 40, "method": method, "fresh": fresh, "ridge": 0.01}
    together = tiny.tiny(start(), X, Y, 2, 1, 3, **options).net
    alone = tiny.tiny(start()[1:], X, Y, 2, 1, 3, seeds=[1], **options).net
    assert largest_gap([w[1:] for w in together.weights], alone.weights) < 1e-7


def test_random_neurons_move_no_old_weight_and_optimal_ones_do():
    x, y = torch.as_tensor(X).expand(2, -1, -1), torch.as_tensor(Y).expand(2, -1)
    net = nets(2, (6, 3, 2, 4))
    moved = {}
    for method in tiny.SOURCES:
        wide, _ = tiny._widened(net, 0, x, y, method, [np.random.default_rng(b) for b in range(2)])
        assert largest_gap([wide.weights[0][:, :3]], net.weights[:1]) == 0
        moved[method] = largest_gap([wide.weights[1][..., :3]], [net.weights[1]])
    assert moved["random"] == 0 < min(moved["optimal"], moved["random, old moved"])


def test_looks_fall_on_the_marks_and_around_each_growth():
    widths = lambda net: net.sizes[1:-1]  # noqa: E731
    run = grown(look=widths, marks=[0, 2, 5, 8])
    after = [tuple(mnist.widths_after(g, inputs=6, outputs=4)) for g in range(4)]
    assert run.looks == [after[0], after[1], after[2], after[3]]
    assert run.around == list(pairwise(after))
    assert [r.minibatch for r in run.growths] == [2, 2, 4, 4, 6, 6]
    assert run.seconds == sorted(run.seconds)
    assert run.seconds[-1] > sum(r.seconds for r in run.growths) > 0


def test_points_follow_the_printed_rule_until_there_are_no_more():
    """Appendix C of the paper: 100 at first, then times the root of the wider neighbour, after every growth of all layers."""
    counts, seen = [tiny.FIRST_POINTS] * 2, []
    for g in range(1, 4):
        counts = tiny.more_points(nets(1, (784, *mnist.widths_after(g), 10)), counts)
        seen.append([round(n) for n in counts])
    assert seen == [[2800, 316], [78400, 1000], [2195200, 4123]]
    run = tiny.tiny(start(), X, Y, 3, 1, 4, lr=1e-2, batch_size=20)
    assert [r.points for r in run.growths] == [60] * 6  # 100 and more are asked for, 60 are there


def test_printed_neurons_are_all_of_one_size_and_scaled_ones_are_not():
    net, x, y = nets(2, (6, 3, 2, 4)), torch.as_tensor(X).expand(2, -1, -1), torch.as_tensor(Y).expand(2, -1)
    new = optimal_neurons(net, 0, x, y, loss="cross_entropy")
    plain = tiny._unscaled(new)
    root = new.singular_values[:, : new.bias.shape[1]].sqrt()
    assert torch.allclose(plain.outgoing.norm(dim=-2), torch.ones_like(root))
    assert torch.allclose(plain.outgoing * root[:, None], new.outgoing)
    assert torch.allclose(plain.incoming * root[..., None], new.incoming)
    assert torch.allclose(plain.bias * root, new.bias)
    rngs = [np.random.default_rng(b) for b in range(2)]
    grown = [tiny._widened(net, 0, x, y, "optimal", rngs, scaled=s)[0] for s in (False, True)]
    size = [g.weights[1][..., 3:].norm(dim=-2) for g in grown]
    assert torch.allclose(size[0], torch.ones_like(size[0]))
    assert torch.allclose(size[1], root)


def test_networks_widened_in_groups_are_those_widened_together(monkeypatch):
    together = grown(look=lambda net: net.sizes)
    monkeypatch.setattr(tiny, "MOST_ENTRIES", 1)
    alone = grown(look=lambda net: net.sizes)
    assert largest_gap(together.net.weights, alone.net.weights) < 1e-9
    for a, b in zip(together.growths, alone.growths):
        assert largest_gap([a.losses, a.amplitudes, a.singular_values], [b.losses, b.amplitudes, b.singular_values]) < 1e-9


def test_it_stops_when_every_network_has_the_target(monkeypatch):
    """Before a growth, after the last one and at a mark; one network that is there does not stop the others."""
    how = {"lr": 1e-2, "batch_size": 20, "points": 40}

    def right(net):
        guess = torch.stack([net[b](torch.as_tensor(X)).argmax(-1) for b in range(2)])
        return (guess == torch.as_tensor(Y)).double().mean(-1)

    whole = tiny.tiny(start(), X, Y, 3, 10, 70, look=right, **how)
    first, second = (whole.around[g][0] for g in range(2))
    target = float(first.max())
    assert float(first.min()) < target <= float(second.min())
    run = tiny.tiny(start(), X, Y, 3, 10, 70, target=target, **how)
    assert (run.minibatches, len(run.growths)) == (20, 2)
    assert largest_gap(run.net.weights, tiny.tiny(start(), X, Y, 1, 10, 20, **how).net.weights) < 1e-7
    late = tiny.tiny(start(), X, Y, 3, 10, 70, target=1.0, **how)
    assert len(late.growths) == 6
    assert 30 < late.minibatches < 70
    assert late.minibatches % 10 == 0
    assert right(late.net).min() == 1
    marked = tiny.tiny(start(), X, Y, 3, 10, 70, target=target, marks=[20, 60], look=right, **how)
    assert [float(seen.min()) for seen in marked.looks] == [float(second.min())]
    assert (whole.minibatches, len(whole.growths)) == (70, 6)
    monkeypatch.setattr(tiny, "MOST_ENTRIES", 1)
    assert tiny.tiny(start(), X, Y, 3, 10, 70, target=target, **how).minibatches == 20


def test_bad_growth_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="method is one of 'optimal', 'random', 'random, old moved'; got 'best'"):
        grown(method="best")
    with pytest.raises(ValueError, match="5 growths, 2 minibatches apart, do not fit into 8"):
        grown(growths=5)
    with pytest.raises(ValueError, match="marks lie between 0 and 8"):
        grown(marks=[9])
    with pytest.raises(ValueError, match="target is an accuracy, above 0 and at most 1; got 95"):
        grown(target=95)


# ---- the stored run ------------------------------------------------------------------------------------------------------


def test_the_clock_counts_training_and_growth():
    measured = {"widths": [[1, 1], [1000, 1000]], "seconds_a_minibatch": [1.0, 3.0], "seconds_of_8_growths": [10.0] * 8}
    assert tiny_mnist.pace(measured, [1, 1]) == 1.0
    assert tiny_mnist.seconds_until(measured, [0, 7], [1000, 1000]).tolist() == [0.0, 21.0]
    grown_by_one = tiny_mnist.seconds_until(measured, [49, 50, 51], growths=1)
    assert grown_by_one[0] == 49
    assert grown_by_one[1] == 60
    assert 61 < grown_by_one[2] < 61.01


def test_every_cell_of_the_stored_run_is_stored_once():
    run = stored("tiny_mnist")
    assert [r.cell for r in run.rows] == tiny_mnist.cells()
    assert run.row(arm="grown", growths=15, minibatches=10_000)["widths"].tolist() == [
        tiny_mnist.widths_after(g) for g in range(1, 16)
    ]
