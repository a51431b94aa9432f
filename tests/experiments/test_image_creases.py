"""One crease at a time: what switches and how far the Jacobian turns, beside brute force on small networks."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from experiments import image_creases as run
from experiments import image_nets
from experiments.image_planes import effective
from tests.convolutional import random

RNG = np.random.default_rng(5)
SMALL = (3, 8, 8)
FIRST, SECOND = (torch.as_tensor(RNG.normal(size=(30, 192))) for _ in range(2))


def small(relu_first=False, seed=2):
    return random((4, 5), 3, SMALL, relu_first, seed=seed)


def first(net, x):
    """What the first convolution gives, `(n, 4, 64)`, as a pooling reads it."""
    parts = itertools.takewhile(lambda part: not isinstance(part, (nn.MaxPool2d, nn.ReLU)), net.graph.module.children())
    with torch.no_grad():
        return nn.Sequential(*parts)(x).flatten(2)


@pytest.mark.parametrize("relu_first", [False, True])
def test_one_crease_is_left_between_two_points(relu_first):
    net = small(relu_first)
    a, b = run.bracketed(net, FIRST, SECOND, halvings=30)
    count = (net.pattern(a) != net.pattern(b)).sum(1)
    assert (count > 0).all()
    assert ((count == 1) | ((a - b).norm(dim=1) < 1e-6)).all()  # what switches together is never told apart
    assert (net(a) - net(b)).abs()[count > 1].sum() < 1e-4  # a network is continuous
    found = run.crossed(net, FIRST, SECOND)
    force, gap = (effective(net, a) != effective(net, b)).any(1), (net.jacobians(a) - net.jacobians(b)).flatten(1).norm(dim=1)
    assert np.sum(found["idle"]) == int((~force).sum()) > 0
    assert np.sum(found["relu"]) + np.sum(found["pooling"]) == int(force.sum()) > 0
    assert np.sum(found["idle"]) == np.sum(found["idle"], 0)[0]  # all of them within rounding
    assert (gap[~force] < 1e-12).all()
    assert found["several"] < 3


@pytest.mark.parametrize("relu_first", [False, True])
def test_halving_to_the_end_finds_the_same_creases(relu_first):
    net = small(relu_first)
    a, b = FIRST, SECOND
    for _ in range(30):
        middle = (a + b) / 2
        left = (net.pattern(middle) != net.pattern(a)).any(1, keepdim=True)
        a, b = torch.where(left, a, middle), torch.where(left, middle, b)
    found = run.bracketed(net, FIRST, SECOND, halvings=30)
    same = (net.pattern(found[0]) != net.pattern(found[1])) == (net.pattern(a) != net.pattern(b))
    assert same.all(1).sum() >= 29  # two creases of one choice look like none


def test_points_of_one_piece_are_left_out():
    far = FIRST + torch.cat([torch.full((29, 192), 1e-12), torch.ones(1, 192)])
    assert len(run.bracketed(small(), FIRST, far)[0]) == 1
    with pytest.raises(ValueError, match="no crease lies between these 30 pairs"):
        run.bracketed(small(), FIRST, FIRST + 1e-12)


def test_what_a_relu_and_a_pooling_do_is_told_apart():
    weights = [torch.zeros(1, 1, 3, 3), torch.ones(1, 1)]
    weights[0][0, 0, 1, 1] = 1  # the pixel itself
    net = image_nets.convolutional([w.double() for w in weights], [torch.zeros(1).double()] * 2, (1, 2, 2))
    at = lambda *rows: torch.tensor(rows).double()  # noqa: E731
    cases = {
        "relu": ([-1, -3, -3, -3], [2, -3, -3, -3]),
        "pooling": ([3, 1, 0, 0], [1, 3, 0, 0]),
        "idle": ([-1, -3, -5, -5], [-3, -1, -5, -5]),
    }
    for name, (a, b) in cases.items():
        found = run.crossed(net, at(a), at(b))
        assert [k for k in ("idle", "relu", "pooling") if np.sum(found[k])] == [name]
    gap, same = run.turned(*(net.jacobians(at(side)) for side in cases["pooling"]))
    assert gap.tolist() == [pytest.approx(2**0.5)]
    assert same.tolist() == [0]


def test_an_output_that_does_not_bend_is_counted():
    net = small()
    assert run.crossed(net, FIRST, SECOND)["silent"] == 0
    image_nets.learned(net)[-1].weight.data[0] = 0  # this output sees nothing
    found = run.crossed(run.changed(net, lambda module: module), FIRST, SECOND)
    assert found["silent"] == np.sum([found[k] for k in ("relu", "pooling")], axis=(0, 1))[1:].sum() > 0


def test_kernels_are_dealt_out_anew_at_every_place():
    net = small()
    other = run.unshared(net)
    before, after = first(net, FIRST), first(other, FIRST)
    torch.testing.assert_close(before.sort(1).values, after.sort(1).values)  # the same numbers at each place
    assert (before != after).any(1).float().mean() > 0.8
    x = FIRST[:3]
    step = 1e-6 * torch.as_tensor(RNG.normal(size=x.shape))
    slope = (other.jacobians(x) @ step.unsqueeze(-1))[..., 0]
    torch.testing.assert_close(other(x + step) - other(x), slope, atol=1e-9, rtol=1e-4)


def test_a_cell_has_creases_grids_and_cost(monkeypatch):
    images = torch.as_tensor(RNG.normal(size=(3, 3072)))
    monkeypatch.setattr(image_nets, "kept_images", lambda data, what: images)
    monkeypatch.setattr(image_nets, "networks", lambda *_: [random((2,), 3, seed=k, dtype=torch.float32) for k in (1, 2)])
    monkeypatch.setattr(run, "POINTS", 3)
    monkeypatch.setattr(run, "SIDE", 9.0)
    found = run.cell("simple", pairs=4, runs=2)
    assert {c["kind"] for c in run.cells()} == {"simple", "complex"}
    assert set(found["creases"]) == set(run.PLACES)
    for place in run.PLACES:
        for copy in run.COPIES:
            assert len(found["creases"][place][copy]["adamw"]) == 2
            assert ("hidden" in found["creases"][place][copy]["sgd"][0]) == (copy == "as trained")
    assert len(found["grids"]["sgd"][0]["patterns"]) == run.GRIDS
    assert all(jacobians > 0 and again > 0 for jacobians, again in found["cost"]["sgd"])
    weight = image_nets.learned(run.halved(random((2,), 3)))[0].weight
    assert (weight == weight.half().double()).all()


def test_the_share_of_missed_creases():
    gaps = {"idle": [0.0, 0.0], "relu": [], "pooling": [0.01, 0.02]}
    found = {k: run.counted(np.array(g)) for k, g in gaps.items()}
    assert np.shape(found["relu"]) == (2, len(run.EDGES) + 1)
    assert run.missed(found) == 0.75
    assert run.missed(found, ("pooling",)) == 0.5
    assert run.missed(found, part=slice(1, None)) == 0.5
    assert run.missed(found, part=slice(1)) == 1
    assert np.isnan(run.missed(found, ("relu",)))


def test_channels_are_exchanged_alike_at_all_places():
    net = small()
    other = run.exchanged(net)
    before, after = first(net, FIRST), first(other, FIRST)
    order = [next(c for c in range(4) if torch.equal(before[:, c], after[:, k])) for k in range(4)]
    assert sorted(order) == [0, 1, 2, 3] != order
    assert torch.equal(*(image_nets.learned(n)[-1].weight for n in (other, net)))


@pytest.mark.parametrize("relu_first", [False, True])
def test_short_weights_along_the_same_choices(relu_first, monkeypatch):
    net = small(relu_first)
    torch.testing.assert_close(run.along(net, net, FIRST), net.jacobians(FIRST))
    layers = image_nets.learned(net)
    signs = [part.weight.sign() * part.weight.abs().mean() for part in layers]
    rough = image_nets.convolutional(signs, [part.bias for part in layers], SMALL, relu_first)
    a, b = run.bracketed(net, FIRST, SECOND)
    gaps = run.turned(net.jacobians(a), net.jacobians(b))[0]
    monkeypatch.setattr(run, "NEAR", float(gaps[gaps > run.SAME].median()) * 1.001)
    miss = lambda slopes: run.turned(*map(slopes, (a, b)))[0] <= run.NEAR  # noqa: E731
    own, other = miss(lambda x: net.jacobians(x)), miss(lambda x: run.along(rough, net, x))
    found = run.crossed(net, FIRST, SECOND, short_of=rough)
    assert (found["hidden"], found["shown"]) == (int((other & ~own).sum()), int((own & ~other).sum()))
    assert found["hidden"] + found["shown"] > 0
    assert run.crossed(net, FIRST, SECOND, short_of=net)["hidden"] == 0


def test_a_refined_network_has_this_one_as_its_copy_with_16_bits():
    net = run.halved(small())
    fine = run.refined(net)
    same = zip(
        *(net.graph.module.state_dict().values() for net in (run.halved(fine), net)), fine.graph.module.state_dict().values()
    )
    assert all(torch.equal(w, v) and (w != u).all() for w, v, u in same)
