"""What `python -m tools.mutants` found untested in foldnet.splines: each test fails where one place of the source is changed."""

import math

import pytest
import torch

from experiments import _targets as targets
from foldbook.chapters import beyond
from foldnet.nets import ReLUNet
from foldnet.splines import creases


@pytest.mark.parametrize("neurons", [1, 2])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 1)])
def test_creases_of_few_neurons_at_one_point_keep_their_axes(batch, neurons):
    net = ReLUNet.random((1, neurons, 1), batch=batch, seed=0)
    found = creases.creases(net)
    assert found.normals.shape == (*batch, neurons, 1)
    assert found.offsets.shape == found.delta_slopes.shape == (*batch, neurons)
    assert found.offset.shape == batch
    x = torch.tensor([[0.5]], dtype=torch.float64)
    assert found(x).shape == (*batch, 1)
    torch.testing.assert_close(found(x), net(x)[..., 0])


def test_a_free_part_of_one_column_has_one_coefficient():
    """Descent from 0 with a free constant: the fit is exact, and the outer weights are the smallest that do it."""
    x = torch.linspace(-1, 1, 5, dtype=torch.float64)
    features, y = (x[:, None] - torch.linspace(-2, 1, 12, dtype=torch.float64)).clamp(min=0), x.square() + 3
    free = torch.ones(5, 1, dtype=torch.float64)
    mu, constant = beyond.descend(features, y, free, steps=60_000)
    assert constant.shape == (1,)
    torch.testing.assert_close(features @ mu + free @ constant, y, atol=1e-6, rtol=0)
    middle = lambda a: a - a.mean(0)  # noqa: E731
    torch.testing.assert_close(mu, torch.linalg.pinv(middle(features)) @ middle(y), atol=1e-5, rtol=0)


def test_five_arches_rise_and_fall_in_turn():
    starts = -math.pi + 2 * math.pi / 5 * torch.arange(5, dtype=torch.float64)
    sign = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0], dtype=torch.float64)
    for share, height in ((0.25, 0.75), (0.5, 1.0), (0.75, 0.75)):
        values = targets._five_arches(starts + share * 2 * math.pi / 5)
        torch.testing.assert_close(values, height * sign)
    torch.testing.assert_close(targets._five_arches(torch.tensor([-math.pi, math.pi])), torch.zeros(2))


def test_teeth_rise_from_minus_one_to_one():
    starts = -math.pi + 2 * math.pi / 3 * torch.arange(3, dtype=torch.float64)
    for share in (0.01, 0.25, 0.5, 0.99):
        values = targets._sawtooth(starts + share * 2 * math.pi / 3)
        torch.testing.assert_close(values, torch.full((3,), 2 * share - 1, dtype=torch.float64))
    assert targets._sawtooth(torch.tensor([-math.pi, math.pi], dtype=torch.float64)).tolist() == [-1.0, 1.0]


def test_targets_are_what_their_names_say():
    known = {
        "sine": (lambda x: math.sin(2 * x), math.pi),
        "arctan": (math.atan, math.pi),
        "exponential": (math.exp, 2.0),
        "quadratic": (lambda x: 0.5 * x * x, 2.0),
        "sin x": (math.sin, math.pi),
        "cubic": (lambda x: x * x * x, 2.0),
        "chirp": (lambda x: math.sin(0.5 * x * x), 2.0),
        "wide chirp": (lambda x: math.sin(0.5 * x * x), math.pi),
        "small cubic": (lambda x: x * x * x / 8, 2.0),
        "bump": (lambda x: math.exp(-((2 * x - 2) ** 2)), math.pi),
    }
    assert set(targets.TARGETS) == {*known, "five arches", "sawtooth"}
    for name, (function, reach) in known.items():
        x, y = targets.samples(name, 7)
        assert x[0].tolist() == pytest.approx([reach * (k / 3 - 1) for k in range(7)])
        assert y[0].tolist() == pytest.approx([function(v) for v in x[0].tolist()])
