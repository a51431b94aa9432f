"""Planes like those of the source: which images they go through, and how pieces on them are compared."""

from itertools import product

import numpy as np
import pytest
import torch

from experiments import image_nets
from experiments import image_sections as run
from foldnet.data import Images
from foldnet.nets import ReLUNet

RNG = np.random.default_rng(4)
X, Y = RNG.random((60, 3072)).astype(np.float32), np.arange(60) % 10


@pytest.mark.parametrize("data", ["mnist", "cifar10"])
def test_three_images_are_the_closest_of_their_classes(data):
    found = run.triples(X, Y, data)
    labels = [tuple(Y[t]) for t in found]
    assert len(set(labels)) == {"mnist": 10, "cifar10": 90}[data]
    assert all(a == b for a, b, _ in labels)
    assert all((a == c) == (data == "mnist") for a, _, c in labels)
    length = lambda t: sum(np.linalg.norm(X[t[a]] - X[t[b]]) for a, b in ((0, 1), (1, 2), (0, 2)))  # noqa: E731
    places = [np.flatnonzero(Y == c) for c in labels[7]]
    assert length(found[7]) == pytest.approx(min(length(t) for t in product(*places) if len(set(t)) == 3))


def test_a_cell_counts_on_all_planes_and_in_wider_windows(monkeypatch):
    images = Images(X, Y, X, Y)
    monkeypatch.setattr(run.sets, "cifar10", lambda: images)
    monkeypatch.setattr(image_nets, "scale", lambda data: (torch.zeros(3, 1, 1), torch.ones(3, 1, 1)))
    monkeypatch.setattr(image_nets, "samples", lambda data: (torch.as_tensor(X), torch.as_tensor(Y)))
    monkeypatch.setattr(image_nets, "kept_images", lambda data, what: torch.as_tensor(X[:3]))
    monkeypatch.setattr(image_nets, "networks", lambda *_: ReLUNet.random((3072, 6, 3), batch=2, seed=1))
    found = run.cell("cifar10")
    assert {c["data"] for c in run.cells()} == {"mnist", "cifar10"}
    assert np.shape(found["triples"]) == (90, 3)
    assert found["closest"] == found["kept"]
    assert np.shape(found["closest"]["sgd"]) == (2, 90)
    wider = np.array(found["wider"]["adamw"])
    assert wider.shape == (2, len(run.WIDER))
    assert (np.diff(wider) >= 0).all()
    assert wider.max() <= 1 + 6 + 15


def test_a_surplus_is_a_ratio_with_an_interval_over_runs():
    low, mean, high = run.surplus([[20, 80], [30, 30]], [[10, 10], [10, 10]])
    assert mean == pytest.approx((4 * 3) ** 0.5)
    assert low * high == pytest.approx(mean**2)
    assert low < 1
