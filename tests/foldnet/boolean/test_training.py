"""Training on Boolean functions: the rule of success, what symmetry leaves alone, and the families of functions."""

import numpy as np
import pytest
import torch

from foldnet.boolean import functions, training


@pytest.mark.parametrize(("loss", "middle", "far"), [("bce", 0.0, 50.0), ("mse", 0.5, 1.0)])
def test_a_mean_loss_that_is_enough_leaves_no_corner_wrong(loss, middle, far):
    measure = {"bce": torch.nn.functional.binary_cross_entropy_with_logits, "mse": torch.nn.functional.mse_loss}[loss]
    out, y = torch.tensor([[middle + 1e-4]] + [[far]] * 15), torch.ones(16, 1)
    assert measure(out, y) < training._enough(4, loss)  # a corner just right
    out[0] = middle - 1e-4
    assert measure(out, y) > training._enough(4, loss)  # just wrong


def test_successes_are_those_of_a_plain_loop_in_torch():
    f = np.stack([functions.parity(2), functions.truth_table("0001")])
    found = training.train_many(f, 2, 1, leak=0.1, trials=12, epochs=150, seed=3)
    nets = training.initial_networks((2, 2, 1), (2, 12), 0.1, seed=3)
    x = torch.tensor(functions.corners(2), dtype=torch.float32)
    plain, when = np.zeros((2, 12), dtype=bool), np.zeros((2, 12), dtype=int)
    for k in range(2):
        y = torch.tensor(f[k], dtype=torch.float32)[:, None]
        for trial in range(12):
            model = nets[k, trial].to_sequential()
            adam = torch.optim.Adam(model.parameters(), lr=0.025)
            when[k, trial] = 150
            for epoch in range(151):
                loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
                if loss <= np.log(2) / 4:
                    when[k, trial] = epoch
                    break
                if epoch < 150:
                    adam.zero_grad()
                    loss.backward()
                    adam.step()
            plain[k, trial] = bool(((model(x) > 0) == (y > 0.5)).all())
    assert np.array_equal(found.solved, plain)
    assert np.abs(found.epochs - when).max() <= 1  # a loss at the mark may be rounded to either side
    assert np.array_equal(found.right == 4, plain)
    assert np.array_equal(found.counts, plain.sum(1))
    assert plain.any()
    assert not plain.all()


def test_portions_are_all_there_and_in_order(monkeypatch):
    f = functions.truth_tables(functions.npn_classes(3), 3)
    monkeypatch.setitem(training.ROOM, "cpu", 4 * 5 * training._bytes((3, 2, 1)))
    found = training.train_many(f, 2, trials=5, epochs=20)
    assert found.solved.shape == found.right.shape == found.epochs.shape == (14, 5)
    alone = training.train_many(f[4:8], 2, trials=5, epochs=20, seed=1009)  # the second portion has a seed of its own
    assert np.array_equal(found.right[4:8], alone.right)


def test_a_network_that_gets_lost_has_solved_nothing(monkeypatch):
    monkeypatch.setattr(training, "LR", 1e38)
    found = training.train_many(functions.truth_table("0000")[None], 2, trials=20, epochs=50)
    assert found.right.min() == 0 or found.solved.all()
    assert np.array_equal(found.solved, found.right == 4)


@pytest.mark.parametrize("biases", ["torch", "zero"])
def test_networks_begin_as_he_and_torch_have_it(biases):
    nets = training.initial_networks((5, 4, 1), (40, 50), biases=biases)
    there, offsets = training._drawn_there((5, 4, 1), (40, 50), 0, "cpu")
    assert offsets[0].abs().max().item() == pytest.approx(5**-0.5, rel=0.01)
    for weights in (nets.weights, there):
        assert weights[0].std().item() == pytest.approx((2 / 5) ** 0.5, rel=0.02)
        assert weights[1].std().item() == pytest.approx((2 / 4) ** 0.5, rel=0.03)
    offsets = nets.biases
    if biases == "zero":
        assert not any(b.any() for b in offsets)
    else:
        assert offsets[0].abs().max().item() == pytest.approx(5**-0.5, rel=0.01)
        assert offsets[0].mean().item() == pytest.approx(0, abs=0.01)
    with pytest.raises(ValueError, match="biases are"):
        training.initial_networks((5, 4, 1), (1,), biases="normal")
