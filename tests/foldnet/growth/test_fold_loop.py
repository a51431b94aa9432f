"""The growth loop and its stopping rules, and exact deepening."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.growth.fold_loop import deepen, grow_by_folding
from foldnet.growth.folding import fold, grow
from foldnet.growth.tasks import one_hot, sine
from foldnet.growth.typical import accuracy, predictions
from foldnet.nets import ReLUNet, stack
from foldnet.train import fit

x, y = sine(80, seed=1)


def test_every_turn_adds_one_unit_and_changes_little():
    nets = ReLUNet.random((2, 2, 2), batch=3, seed=1)
    growth = grow_by_folding(nets, x, y, most=4, epochs=60, gain=-1.0, target=2.0, size=0.05)
    assert [s.width for s in growth.stages] == [2, 3, 4]
    assert growth.why == "width"
    assert growth.stop.tolist() == [2, 2, 2]
    for old, new in zip(growth.stages, growth.stages[1:]):
        assert (new.before(x) - old.net(x)).abs().max() <= 0.05 * (1 + 1e-9)
        assert new.fold.incoming.shape == (3, 1, 2)
    assert torch.equal(growth.stages[-1].accuracy, accuracy(growth.net, x, y))


def test_rules_stop_the_loop():
    net = ReLUNet.random((2, 2, 1), seed=2)
    assert len(grow_by_folding(net, x, y, target=0.3, epochs=60).stages) == 1
    stalled = grow_by_folding(net, x, y, target=2.0, gain=2.0, patience=1, epochs=20)
    assert (len(stalled.stages), stalled.why) == (2, "no gain")
    with pytest.raises(ValueError, match="most is at least"):
        grow_by_folding(net, x, y, most=1)


def test_each_turn_is_a_fold_at_the_mistakes_of_the_last_network_and_a_training():
    """The loop by hand: fit, fold, grow, fit; the same networks come out, and the stages say what they were."""
    nets = ReLUNet.random((2, 2, 2), batch=2, seed=8)
    growth = grow_by_folding(nets, x, y, most=3, epochs=40, lr=0.02, gain=-1.0, target=2.0, size=0.3, seed=5)
    how = {"loss": "bce", "lr": 0.02, "epochs": 40, "progress": False}
    first = fit(nets, x, one_hot(y), **how)
    found = fold(first.net, x, y, seed=6, size=0.3)
    second = fit(grow(first.net, found), x, one_hot(y), **how)
    assert torch.allclose(growth.stages[0].net.vector(), first.net.vector())
    assert torch.allclose(growth.stages[1].fold.incoming, found.incoming)
    assert torch.allclose(growth.net.vector(), second.net.vector(), atol=1e-10)
    assert torch.allclose(growth.stages[1].loss, second.final_loss)


def test_a_batch_stops_each_network_at_its_own_stage():
    """One network is right from the start, one never: the first stops at stage 0, the second when it is wide enough."""
    easy = ReLUNet([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [1.0, -1.0]]], [[2.0, 2.0], [0.0, 0.0]])
    hard = ReLUNet.random((2, 2, 2), seed=3)
    pair = stack([easy, hard])
    right = predictions(easy, x)
    assert 0 < right.sum() < len(x)
    growth = grow_by_folding(pair, x, right, most=3, target=1.0, gain=-1.0, epochs=0)
    assert growth.stop.tolist() == [0, 1]
    assert growth.stages[0].accuracy[0] == 1 > growth.stages[0].accuracy[1]


@pytest.mark.parametrize(("patience", "stages"), [(1, 2), (2, 3), (3, 4)])
def test_the_loop_waits_as_many_folds_as_its_patience(patience, stages):
    net = ReLUNet.random((2, 2, 2), seed=2)
    assert len(grow_by_folding(net, x, y, target=2.0, gain=2.0, patience=patience, epochs=5, most=9).stages) == stages
    gains = grow_by_folding(net, x, y, target=2.0, gain=-2.0, patience=patience, epochs=5, most=4)
    assert gains.why == "width"


def test_a_dead_start_is_brought_to_life():
    """Both units off everywhere: training alone cannot move them, the fallback of the fold can."""
    net = ReLUNet([[[1.0, 0.0], [0.0, 1.0]], [[1.0, -1.0], [-1.0, 1.0]]], [[-50.0, -50.0], [0.1, 0.0]])
    growth = grow_by_folding(net, x, y, most=3, target=2.0, gain=-1.0, epochs=300)
    assert not growth.stages[0].net.pattern(x).any()
    assert growth.stages[1].fold.flat
    assert growth.stages[1].accuracy > growth.stages[0].accuracy + 0.2


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=3, max_size=5), st.integers(0, 1000), st.integers(1, 3))
def test_deepening_is_exact(sizes, seed, times):
    net = ReLUNet.random(sizes, batch=2, seed=seed)
    points = torch.as_tensor(np.random.default_rng(seed).normal(size=(20, sizes[0])))
    deep = net
    for _ in range(times):
        deep = deepen(deep)
    assert len(deep.weights) == len(net.weights) + times
    assert (deep(points) - net(points)).abs().max() <= 1e-12


def test_deepening_refuses_what_it_cannot_keep():
    for net in (ReLUNet.random((2, 2)), ReLUNet.random((2, 3, 2), leak=0.1)):
        with pytest.raises(ValueError, match="identity layer"):
            deepen(net)
