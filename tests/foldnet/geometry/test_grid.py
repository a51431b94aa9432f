"""Patterns on a grid, against the exact regions, a loop over points, and max-pooling written with ReLUs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from foldnet.geometry.grid import on_grid
from foldnet.geometry.regions import SQUARE, regions
from foldnet.nets import ReLUNet

TRIANGLE = [(-2, -1), (3, 0), (0, 2)]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(2, 8, 1), (2, 10, 10, 2), (2, 6, 6, 6, 3)]),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from([SQUARE, TRIANGLE]),
)
def test_every_pattern_that_the_grid_sees_is_a_region_and_none_is_found_twice(seed, sizes, leak, window):
    net = ReLUNet.random(sizes, leak=leak, seed=seed)
    c, seen = regions(net, window), on_grid(net, window, 150)
    exact = {p.tobytes(): a for p, a in zip(c.pattern, c.areas)}
    assert len(exact) == len(c)
    met = [p.tobytes() for p in seen.patterns]
    assert len(set(met)) == len(met) == len(seen) <= len(c)
    assert set(met) <= exact.keys()
    # the points of a pattern, times the area of a cell, are the area of its region up to the cells on its border
    left, right, below, above = seen.extent
    cell = (right - left) * (above - below) / 150**2
    area = cell * np.bincount(seen.labels[seen.labels >= 0], minlength=len(seen))
    border = 150 * 2.5 * cell * 4
    assert np.abs(area - [exact[p] for p in met]).max() < border
    assert area.sum() == pytest.approx(c.areas.sum(), abs=border)


def test_labels_are_those_of_a_loop_over_the_points():
    net = ReLUNet.random((2, 7, 5, 1), seed=2)
    seen = on_grid(net, TRIANGLE, 40)
    left, right, below, above = seen.extent
    assert seen.extent == (-2, 3, -1, 2)
    order = []
    for i in range(40):
        for j in range(40):
            x, y = left + (right - left) * (j + 0.5) / 40, below + (above - below) * (i + 0.5) / 40
            inside = all(
                (bx - ax) * (y - ay) >= (by - ay) * (x - ax) for (ax, ay), (bx, by) in zip(TRIANGLE, TRIANGLE[1:] + TRIANGLE[:1])
            )
            assert (seen.labels[i, j] >= 0) == inside
            if inside:
                assert (
                    seen.patterns[seen.labels[i, j]] == net.pattern(torch.tensor([[x, y]], dtype=torch.float64))[0].numpy()
                ).all()
                if seen.labels[i, j] not in order:
                    order.append(seen.labels[i, j])
    assert order == list(range(len(seen)))


def test_a_finer_grid_sees_more_and_in_the_end_all():
    net = ReLUNet.random((2, 8, 6, 1), seed=5)
    counts = [len(on_grid(net, points=n)) for n in (5, 50, 1000)]
    assert counts[0] < counts[1] <= counts[2] <= len(regions(net))
    assert counts[2] >= 0.95 * len(regions(net))


@pytest.mark.parametrize("kind", ["relu", "leaky", "pool"])
def test_a_torch_network_is_read_off_its_modules(kind):
    """A maximum of two neurons is one of them plus a ReLU of the difference, so pooling has the regions of the differences."""
    torch.manual_seed(0)
    first, last = nn.Linear(2, 16), nn.Linear(16 if kind != "pool" else 8, 1)
    middle = {"relu": nn.ReLU(), "leaky": nn.LeakyReLU(0.3), "pool": nn.MaxPool1d(2)}[kind]
    w, b = first.weight.detach().double(), first.bias.detach().double()
    if kind == "pool":
        w, b = w[0::2] - w[1::2], b[0::2] - b[1::2]
    same = ReLUNet([w, torch.ones(1, len(b))], [b, torch.zeros(1)])
    net = nn.Sequential(first, middle, last).double()
    seen, want = on_grid(net, points=300), on_grid(same, points=300)
    assert (seen.labels == want.labels).all()
    assert len(want) > 10
    assert not middle._forward_hooks


def test_pooling_in_two_dimensions_on_a_slice_of_pictures():
    torch.manual_seed(1)
    lift, conv = nn.Sequential(nn.Linear(2, 36), nn.Unflatten(1, (1, 6, 6))).double(), nn.Conv2d(1, 3, 3).double()
    seen = on_grid(nn.Sequential(lift, conv, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), points=100)
    line = (torch.arange(100, dtype=torch.float64) + 0.5) / 50 - 1
    hidden = conv(lift(torch.cartesian_prod(line, line).flip(1))).relu()
    winner = hidden.unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2).argmax(-1)
    rows = torch.cat([(hidden > 0).flatten(1), winner.flatten(1)], 1).detach().numpy()
    assert len(seen) == len(np.unique(rows, axis=0)) > len(np.unique(rows[:, :48], axis=0)) > 20
    assert (seen.patterns[seen.labels.flatten(), :48] == rows[:, :48]).all()


def test_any_function_may_say_what_its_pattern_is():
    seen = on_grid(lambda x: torch.stack([(x[:, 0] > 0).long(), (x[:, 1] > 0.5).long() * 7], 1), points=10)
    assert len(seen) == 4
    assert seen.patterns.tolist() == [[0, 0], [1, 0], [0, 7], [1, 7]]


def test_bad_input_gets_one_sentence():
    net = ReLUNet.random((2, 5, 1))
    with pytest.raises(ValueError, match="a window is"):
        on_grid(net, [(0, 0), (1, 1)])
    with pytest.raises(ValueError, match="at least one point"):
        on_grid(net, points=0)
    with pytest.raises(ValueError, match="one network of two inputs"):
        on_grid(ReLUNet.random((3, 5, 1)))
    with pytest.raises(ValueError, match="give its pattern as a function"):
        on_grid(nn.Sequential(nn.Linear(2, 3), nn.Tanh()).double())
    with pytest.raises(ValueError, match="row of whole numbers"):
        on_grid(lambda x: x)


class Hidden(nn.Module):
    """A network with a ReLU that is no module, so that no hook sees it; frozen batch normalization below one in training."""

    def __init__(self, seen: bool):
        super().__init__()
        torch.manual_seed(2)
        self.first, self.second, self.last = nn.Linear(2, 6), nn.Linear(6, 5), nn.Linear(5, 2)
        self.frozen, self.norm, self.drop = nn.BatchNorm1d(6), nn.BatchNorm1d(5), nn.Dropout(0.5)
        self.on, self.also = nn.ReLU(), nn.ReLU() if seen else torch.relu
        self.double().train()
        self.frozen.eval()

    def forward(self, x):
        h = self.on(self.frozen(self.first(x)))
        return self.last(self.drop(self.also(self.norm(self.second(h)))))


def test_a_module_is_seen_as_it_answers_and_is_left_as_it_was():
    net = Hidden(seen=True)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    modes, draws = [part.training for part in net.modules()], torch.get_rng_state()
    seen = on_grid(net, points=60)
    after = net.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert [part.training for part in net.modules()] == modes == [True] * 4 + [False] + [True] * 4
    assert torch.equal(torch.get_rng_state(), draws)
    line = (torch.arange(60, dtype=torch.float64) + 0.5) / 30 - 1
    net.eval()  # dropout and the statistics of a batch are for training
    first = net.frozen(net.first(torch.cartesian_prod(line, line).flip(1)))
    rows = torch.cat([first > 0, net.norm(net.second(first.relu())) > 0], 1).numpy()
    assert (seen.patterns[seen.labels.flatten()] == rows).all()


def test_the_mode_comes_back_after_an_error():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Unflatten(1, (5, 7)))
    with pytest.raises(RuntimeError):
        on_grid(net, points=3)
    assert all(part.training for part in net.modules())


@pytest.mark.parametrize("single", [False, True])
def test_an_activation_that_no_hook_sees_is_told(single):
    net = Hidden(seen=False)
    with pytest.warns(UserWarning, match="not affine where the pattern is the same"):
        on_grid(net.float() if single else net, points=60)
    on_grid(Hidden(seen=True).float() if single else Hidden(seen=True), points=60)  # warnings are errors here


def test_an_output_that_is_no_tensor_is_not_tried():
    class Pair(Hidden):
        def forward(self, x):
            return super().forward(x), None

    assert len(on_grid(Pair(seen=True), points=20)) > 5
