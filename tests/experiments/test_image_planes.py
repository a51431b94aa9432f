"""Pieces on planes through images: counts beside a grid and brute force, on networks made here."""

import numpy as np
import pytest
import torch

from experiments import image_nets
from experiments import image_planes as run
from foldnet.geometry.regions import plane_through
from foldnet.nets import ReLUNet
from tests.convolutional import random

RNG = np.random.default_rng(3)
CORNERS = RNG.normal(size=(3, 3072))


@pytest.fixture(autouse=True)
def images(monkeypatch):
    monkeypatch.setattr(image_nets, "kept_images", lambda data, what: torch.as_tensor(CORNERS))


def test_exact_counts_are_those_of_a_fine_grid():
    net = ReLUNet.random((3072, 12, 3), seed=1)
    found = run.exact(net, "mnist")
    origin, axes, corners = run.plane("mnist")
    assert np.abs(origin + corners @ axes - CORNERS).max() < 1e-9
    low, high = run.window("mnist").min(0), run.window("mnist").max(0)
    assert (low < corners.min(0)).all()
    assert (high > corners.max(0)).all()
    line = [np.linspace(a, b, 700) for a, b in zip(low, high)]
    place = np.stack(np.meshgrid(*line), -1).reshape(-1, 2)
    w = net.weights[0].numpy() @ axes.T
    on = place @ w.T + net.weights[0].numpy() @ origin + net.biases[0].numpy() > 0
    seen = len(np.unique(on, axis=0))
    assert found["pieces"] - 2 <= seen <= found["pieces"]
    assert found["lines"] == (on.any(0) & ~on.all(0)).sum()
    assert 0 < found["jump"] < 5


@pytest.mark.parametrize("relu_first", [False, True])
def test_a_grid_is_labelled_as_by_brute_force(relu_first):
    net = random((4, 5), 3, (3, 8, 8), relu_first, seed=2)
    origin, axes = plane_through(*RNG.normal(size=(3, 192)))
    x = run.grid(origin, axes, 6, side=0.5)
    assert x.shape == (36, 192)
    slopes, choices, force = net.jacobians(x), net.pattern(x), run.effective(net, x)
    same = lambda rows: (rows[:, None] == rows).all(-1)  # noqa: E731
    distance = (slopes[:, None] - slopes).flatten(2).norm(dim=-1)
    assert (distance[same(force)] < 1e-12).all()  # what is in force decides
    assert (same(choices) <= same(force)).all()
    first, second = run.neighbours(6)
    assert len(first) == 2 * 6 * 5
    size = slopes.flatten(1).norm(dim=1)
    expected = distance[first, second] / torch.maximum(size[first], size[second])
    np.testing.assert_allclose(run.gaps(net, x, 6), expected, atol=1e-12)
    found = run.seen(net, origin, axes, 6)
    assert found["patterns"] >= found["effective"] >= found["maps"][0] >= found["maps"][-1] >= 1


def test_components_are_joined_by_pairs():
    first, second = run.neighbours(3)
    assert run.components(3, np.zeros(len(first), bool)) == 9
    assert run.components(3, np.ones(len(first), bool)) == 1
    assert run.components(3, second == first + 1) == 3


def test_as_many_regions_are_not_more():
    maps = [[3, 2], [3, 3], [1, 1]]
    assert [run.more([3, 3, 3], maps, column) for column in (0, 1)] == [1, 2]


def test_pairs_of_runs_are_compared_and_one_exchanged_pair_weakens_it():
    many, few = {"pieces": [20, 30, 44], "jump": [0.1, 0.1, 0.12]}, {"pieces": [10, 15, 20], "jump": [0.2, 0.22, 0.2]}
    found = run.against(many, few)
    ratio = np.log([2, 2, 2.2])
    low = ratio.mean() - 4.303 * ratio.std(ddof=1) / 3**0.5  # Student, two degrees of freedom
    assert found["SGD / AdamW, lower end"] == pytest.approx(np.exp(low), rel=1e-3)
    turn = np.log([0.1 / 0.2, 0.1 / 0.22, 0.12 / 0.2])
    high = turn.mean() + 4.303 * turn.std(ddof=1) / 3**0.5
    assert found["jump SGD / AdamW, upper end"] == pytest.approx(np.exp(high), rel=1e-3)
    other = run.exchanged(many, few)
    assert other["SGD / AdamW, lower end"] < 1 < found["SGD / AdamW, lower end"]
    assert other["jump SGD / AdamW, upper end"] > 1 > found["jump SGD / AdamW, upper end"]
    assert many["pieces"] == [20, 30, 44]


def test_networks_before_training_are_those_of_both_optimizers(monkeypatch):
    monkeypatch.setattr(run, "exact", lambda net, data: {"pieces": float(net.weights[0][0, 0]), "jump": net.sizes})
    found = run.started("mnist")
    assert len(set(found["pieces"])) == image_nets.RUNS
    assert found["jump"][0] == (3072, 128, 10)
