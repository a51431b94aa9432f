"""Pruning of networks on the cube: subsets, padding and removals beside plain loops, and what is known of parity."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
import torch

from foldnet.boolean import pruning
from foldnet.boolean.constructions import parity_network
from foldnet.boolean.functions import corners, parity
from foldnet.boolean.pruning import keep_neurons, pad_widths, prune_deep, prune_wide, remove_layer, solves, subnetworks, train_on
from foldnet.nets import ReLUNet, stack


def on_signs(net, n):
    """A network built for inputs 0 and 1, as one for inputs -1 and 1."""
    first, bias = net.weights[0], net.biases[0]
    return ReLUNet([first / 2, *net.weights[1:]], [bias + first.sum(-1) / 2, *net.biases[1:]], net.leak)


BUILT = [(3, (3,), 0), (4, (4,), 0), (4, (2, 2), 0), (5, (2, 3), 0), (4, (2, 2), "1/10")]


@pytest.mark.parametrize(("n", "widths", "leak"), BUILT)
def test_a_network_built_by_hand_solves_parity_and_nothing_else(n, widths, leak):
    net = on_signs(parity_network(n, widths, leak).float(), n)
    assert solves(net, parity(n))
    other = parity(n).copy()
    other[3] ^= 1
    assert not solves(net, other)
    assert not solves(net, 1 - parity(n))


def test_an_output_of_zero_up_to_rounding_solves_nothing():
    w = torch.tensor([[0.1, 0.2]], dtype=torch.float64)
    net = ReLUNet([w, torch.ones(1, 1)], [torch.tensor([0.3]), torch.tensor([-0.6])])  # 0.1 + 0.2 + 0.3 - 0.6 is not 0 in floats
    top = np.array([0, 0, 0, 1])
    assert float(net(corners(2))[-1]) != 0
    assert not solves(net, top)
    sure = net.with_layers(net.weights, [net.biases[0], net.biases[1] + 1e-6])
    assert solves(sure, top)
    both = stack([net, sure])
    assert solves(both, top).tolist() == [False, True]


def test_subnetworks_are_all_subsets_of_each_network():
    nets = ReLUNet.random((3, 5, 1), batch=(2,), leak=0.3, seed=1)
    x = torch.as_tensor(corners(3), dtype=torch.float64)
    for width in range(1, 6):
        subs = subnetworks(nets, width)
        assert subs.batch_shape == (2, comb(5, width))
        assert subs.leak == 0.3
        for b in range(2):
            for k, chosen in enumerate(combinations(range(5), width)):
                z = x @ nets.weights[0][b].T + nets.biases[0][b]
                h = torch.where(z > 0, z, 0.3 * z)
                h[:, [i for i in range(5) if i not in chosen]] = 0
                torch.testing.assert_close(subs(x)[b, k], h @ nets.weights[1][b].T + nets.biases[1][b])


def test_padding_changes_nothing_before_and_after_training():
    nets = ReLUNet.random((3, 4, 3, 1), batch=6, leak=0.1, seed=2)
    wide = pad_widths(nets, (7, 5))
    x, _ = pruning._targets(parity(3), nets)
    torch.testing.assert_close(wide(x), nets(x))
    trained, wide = train_on(nets, parity(3), 60).net, train_on(wide, parity(3), 60).net
    torch.testing.assert_close(wide(x), trained(x))
    assert not wide.weights[0][:, 4:].any()
    assert not wide.weights[1][:, 3:].any()
    assert not wide.biases[1][:, 3:].any()
    assert not wide.weights[1][:, :, 4:].any()
    assert not wide.weights[2][..., 3:].any()


def test_a_layer_that_is_always_on_can_be_left_out():
    net = ReLUNet.random((3, 4, 2, 5, 1), seed=3)
    on = ReLUNet(net.weights, [net.biases[0], net.biases[1] + 100, *net.biases[2:]])
    x, _ = pruning._targets(parity(3), net)
    less = remove_layer(on, 1)
    assert less.sizes == (3, 4, 5, 1)
    torch.testing.assert_close(less(x), on(x))


def test_exhaustive_pruning_beside_one_network_after_the_other():
    starts = [ReLUNet.random((3, w, 1), init="torch", seed=w) for w in (3, 4)]
    nets = [train_on(net, parity(3), 600, 0.01).net for net in starts]
    found = prune_wide(nets, parity(3), epochs=100, at_once=5)
    for net, (width, success, tried) in zip(nets, found):
        count = 0
        for k in range(1, net.sizes[1] + 1):
            each = [
                train_on(keep_neurons(net, 0, list(c)), parity(3), 100, 0.01).net for c in combinations(range(net.sizes[1]), k)
            ]
            count += len(each)
            good = sum(bool(solves(s, parity(3))) for s in each)
            if good:
                break
        assert (width, success, tried) == ((k, good, count) if good else (0, 0, count))
    assert all(width in (0, 3, 4) for width, _, _ in found)  # three neurons at least: exhaustion says so


def test_deep_pruning_ends_at_networks_that_solve_and_cannot_lose_a_neuron():
    starts = ReLUNet.random((2, 4, 3, 1), batch=2, init="torch", seed=5)
    nets = train_on(starts, parity(2), 400, 0.01).net
    nets = [nets[i] for i in solves(nets, parity(2)).nonzero().flatten().tolist()]
    assert nets
    for pruned in prune_deep(nets, parity(2), epochs=(20, 150), seed=1):
        assert solves(pruned.net, parity(2))
        assert pruned.done
        assert pruned.work > 0
        assert pruned.path[0] == (4, 3)
        assert pruned.path[-1] == pruned.net.sizes[1:-1]
        assert all(sum(a) - sum(b) == 1 for a, b in zip(pruned.path, pruned.path[1:]))
        assert sum(pruned.path[-1]) >= 2
        for layer, width in enumerate(pruned.path[-1]):  # each removal was tried in vain
            if width > 1:
                for j in range(width):
                    rest = keep_neurons(pruned.net, layer, [k for k in range(width) if k != j])
                    assert not solves(train_on(rest, parity(2), 150).net, parity(2))


def test_what_does_not_fit_is_refused():
    deep = ReLUNet.random((3, 4, 4, 1))
    with pytest.raises(ValueError, match="one hidden layer"):
        subnetworks(deep, 2)
    with pytest.raises(ValueError, match="hidden layers of a"):
        keep_neurons(deep, 2, [0])
    with pytest.raises(ValueError, match="neurons 0 to 3"):
        keep_neurons(deep, 0, [4])
    with pytest.raises(ValueError, match="none narrower"):
        pad_widths(deep, (3, 4))
    with pytest.raises(ValueError, match="can be chosen"):
        subnetworks(ReLUNet.random((3, 4, 1)), 5)
    with pytest.raises(ValueError, match="one output"):
        solves(ReLUNet.random((3, 4, 2)), parity(3))


def test_removals_are_drawn_in_proportion_to_one_over_their_loss(monkeypatch):
    """Two removals succeed, with losses 1 and 1/3: the second is taken three times as often."""
    net = ReLUNet.random((2, 2, 1), seed=0)

    def two(states, f, epochs):
        if len(states[0].path) > 1:
            return {i: [] for i in range(len(states))}
        return {
            i: [(1.0, lambda: keep_neurons(net, 0, [0])), (3.0, lambda: keep_neurons(net, 0, [1]))] for i in range(len(states))
        }

    monkeypatch.setattr(pruning, "_tried", two)
    ends = pruning.prune_deep([net] * 2000, parity(2), epochs=(1,), seed=1)
    second = np.mean([torch.equal(s.net.weights[0], net.weights[0][1:]) for s in ends])
    assert abs(second - 0.75) < 4 * (0.75 * 0.25 / 2000) ** 0.5


def test_the_score_of_a_removal_is_one_over_its_loss(monkeypatch):
    net = ReLUNet([[[1.0, 1.0], [-1.0, -1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [-1.0]])
    result = pruning.train_on(stack([net, net]), [1, 0, 0, 1], 1)
    monkeypatch.setattr(pruning, "train_on", lambda *_: result)
    states = [pruning.Pruning(net, [(2,)])]
    found = list(pruning._judged(stack([net, net]), [1, 0, 0, 1], 1, states, [0, 0]))
    assert [number for number, *_ in found] == [0, 1], "both solve it"
    assert [score * loss for (_, score, _), loss in zip(found, result.final_loss.tolist())] == pytest.approx([1, 1])


@pytest.mark.parametrize("layer", [-1, 2])
def test_only_a_hidden_layer_can_go(layer):
    with pytest.raises(ValueError, match=f"are 0 to 1; got {layer}"):
        remove_layer(ReLUNet.random((2, 2, 2, 1)), layer)
