"""The functions of the large runs against what their names say."""

import math

import pytest
import torch

from experiments import _targets as targets


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
