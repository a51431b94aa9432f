"""Small convolutional networks, pruned: beside torch's own convolution and SGD, and brute force, on pictures made here."""

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d, cross_entropy, max_pool2d

from experiments import pruning_images as run

SIDE, COLOURS, WIDTHS = 9, 2, (4, 3, 5)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.integers(0, 256, (200, SIDE, SIDE, COLOURS)), dtype=torch.uint8)
    y = torch.as_tensor(rng.integers(0, 10, 200))
    return run.Pictures(x[:120], y[:120], x[120:], y[120:])


@pytest.fixture
def parts():
    return run.start(SIDE, COLOURS, WIDTHS, range(2))


def plain(parts, x, row):
    """The logits of one network of the batch, by torch's own convolutions; images `(n, h, w, colours)`."""
    h = x.permute(0, 3, 1, 2)
    for w, b in zip(parts[:-2:2], parts[1:-2:2]):
        kernel = w[row].T.reshape(w.shape[-1], h.shape[1], 3, 3)
        h = max_pool2d(conv2d(h, kernel, b[row, 0], padding=1).relu(), 2)
    return h.permute(0, 2, 3, 1).flatten(1) @ parts[-2][row] + parts[-1][row]


def test_the_network_is_that_of_torch(data, parts):
    x = run.scaled(data.x[:6])
    assert x.min() >= -1
    assert x.max() <= 1
    found = run.logits(parts, x.expand(2, *x.shape))
    for row in range(2):
        torch.testing.assert_close(found[row], plain(parts, x, row), atol=1e-5, rtol=1e-4)


def test_training_is_that_of_torch(data, parts):
    done = run.Training(parts, data, [0, 1]).run(range(2, 4))
    for row in range(2):
        leaves = [p[row : row + 1].clone().requires_grad_() for p in parts]
        sgd = torch.optim.SGD(leaves, lr=run.LR, momentum=run.MOMENTUM, weight_decay=run.DECAY)
        for epoch in range(2, 4):
            order = np.random.default_rng([12, row, epoch]).permutation(len(data.x)).reshape(-1, run.BATCH)
            for numbers in order:
                sgd.zero_grad()
                cross_entropy(plain(leaves, run.scaled(data.x[numbers]), 0), data.y[numbers]).backward()
                sgd.step()
        for mine, theirs in zip(done, leaves):
            torch.testing.assert_close(mine[row], theirs[0].detach(), atol=1e-5, rtol=1e-4)


def test_the_loss_without_a_channel_is_that_of_the_network_without_it(data, parts):
    found = run.without_each(parts, data)
    assert found.shape == (2, sum(WIDTHS))
    x = run.scaled(data.x)
    for k in range(sum(WIDTHS)):
        less = run.remove(parts, torch.tensor([k, sum(WIDTHS) - 1 - k]))
        for row, channel in enumerate((k, sum(WIDTHS) - 1 - k)):
            expected = cross_entropy(plain(less, x, row), data.y)
            assert found[row, channel].item() == pytest.approx(expected.item(), abs=1e-4)
    assert run.without_each(less, data).isinf().sum(-1).tolist() == [1, 1]  # what is gone cannot go again


def test_narrow_arrays_hold_the_same_networks(data, parts):
    for chosen in ([0, 5], [1, 4], [8, 11], [2, 9]):
        parts = run.remove(parts, torch.tensor(chosen))
    x = run.scaled(data.x[:5]).expand(2, 5, SIDE, SIDE, COLOURS)
    less = run.narrowed(parts, room=1)
    torch.testing.assert_close(run.logits(less, x), run.logits(parts, x))
    there = [mask.sum(-1).tolist() for mask in run.alive(parts)]
    assert there == [mask.sum(-1).tolist() for mask in run.alive(less)] == [[1, 4], [3, 1], [4, 3]]
    assert [p.shape[-1] for p in less[::2]] == [4, 3, 4, 10]
    wide = run._widened(run.start(SIDE, COLOURS, (3,) * 3, range(2)), 3, 6)
    torch.testing.assert_close(run.logits(wide, x), run.logits(run.start(SIDE, COLOURS, (3,) * 3, range(2)), x))


def test_every_way_keeps_its_books(data, monkeypatch):
    small = run.trained(data, 2, 1, 4)
    monkeypatch.setattr(run, "trained", lambda _: small)
    found = run.channels(data, removals=5, probe=40)
    for way in ("structural", "random"):
        count = np.array(found["channels"][way])
        assert count.shape == (6, 2, 3)
        assert count.sum(-1).tolist() == [[12 - k] * 2 for k in range(6)]
        assert count.min() >= 1
        assert np.shape(found["right"][way]) == (6, 2)
        assert np.all(np.diff(found["kept"][way], axis=0) < 0)
    found = run.weights(data, shares=(0.5, 0.2))
    weights, biases = (sum(p[0].numel() for p in small[k::2]) for k in range(2))
    for way in ("magnitude", "random"):
        assert np.array(found["kept"][way]).tolist() == [[round(s * weights) + biases] * 2 for s in (1, 0.5, 0.2)]
    assert np.array(found["kept"]["dense"]).tolist() == [[weights + biases] * 2] * 3
    found = run.scratch(data, widths=(3, 2), seeds=2, epochs=1)
    assert found["kept"] == [sum(p[0].numel() for p in run.start(SIDE, COLOURS, (w,) * 3, [0])) for w in (3, 2)]
    assert np.shape(found["right"]) == (2, 2)


def test_magnitude_removes_the_smallest(data, monkeypatch):
    small = run.trained(data, 2, 1, 4)
    monkeypatch.setattr(run, "trained", lambda _: small)
    seen = []
    monkeypatch.setattr(run.Training, "run", lambda self, _: seen.append([p.clone() for p in self.parts]))
    run.weights(data, shares=(0.3,))
    flat = lambda parts, row: torch.cat([p[row].flatten() for p in parts[::2]])  # noqa: E731
    for row in range(2):
        before, after = flat(small, row).abs(), flat(seen[0], row)
        assert before[after != 0].min() >= before[after == 0].max()
