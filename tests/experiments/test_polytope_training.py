"""The run of networks that learn circle and XOR-circle: its data, its rounding, its repeats."""

import numpy as np
import pytest
import torch

from experiments import polytope_training as run
from foldnet.nets import ReLUNet


def test_four_discs_and_rings_exchange_their_classes_as_xor():
    x, y = run.data("xor", 4000)
    quadrant = x.sign()
    radius = (x - 0.5 * quadrant).norm(dim=-1) / 0.45
    ring = radius > 0.6
    assert (((radius <= 0.5) | (radius >= 0.7)) & (radius <= 1)).all()
    assert (y.bool() == (ring != (quadrant.prod(-1) < 0))).all()
    assert all(900 < int((quadrant == torch.tensor([a, b])).all(-1).sum()) < 1100 for a in (-1, 1) for b in (-1, 1))


def test_a_few_networks_are_the_first_of_many_and_weights_fit_into_two_bytes():
    few, all_ = run.start("large", 3), run.start("large")
    assert (few.vector() == all_.vector()[:3]).all()
    grains = few.vector() * run.GRAIN
    assert (grains == grains.round()).all()
    assert (few.vector() - ReLUNet.random((2, 8, 8, 8, 1), batch=64, seed=5).vector()[:3]).abs().max() <= 0.5 / run.GRAIN


def test_training_in_two_legs_is_training_and_learns():
    first = run.train("small", 8, marks=(0, 10, 40))
    again = run.train("small", 8, marks=(10, 40), nets=first[1])
    assert (again[-1].vector() == first[-1].vector()).all()
    x, y = run.data("circle")
    assert run.accuracy(first[-1], x, y).mean() > run.accuracy(first[0], x, y).mean()
    outputs = first[-1](x)[..., 0].numpy()
    by_hand = [np.mean((z > 0) == (y.numpy() == 1)) for z in outputs]
    assert run.accuracy(first[-1], x, y).tolist() == pytest.approx(by_hand)
