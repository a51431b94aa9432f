"""Ranks of gradients and patterns, and rough pictures, by hand."""

import numpy as np
import pytest
import torch

from foldbook.chapters import sensitivity as page
from foldnet.geometry import sensitivity as s
from foldnet.nets import ReLUNet


def test_rank_is_that_of_the_patterns_and_at_most_the_width():
    net = ReLUNet.random((30, 8, 2), seed=5)
    x = torch.as_tensor(np.random.default_rng(4).normal(size=(300, 30)))
    values = s.singular_values(s.moments([net.jacobian(x)]).second)
    assert page.rank(values).tolist() == [8, 8]
    assert page.turning_units(net.pattern(x)) == 8
    shifted = net.biases[0].clone()
    shifted[:2], shifted[2] = 1e3, -1e3  # two that are always on, one that never is
    other = ReLUNet(net.weights, [shifted, net.biases[1]])
    found = s.moments([other.jacobian(x)]).second
    assert page.rank(s.singular_values(found)).tolist() == [6, 6]
    assert page.turning_units(other.pattern(x)) == 6
    within = s.singular_values(found, within=net.weights[0])
    assert within.shape == (2, 8)
    assert torch.allclose(within, s.singular_values(found)[:, :8], atol=1e-12)


def test_roughness_of_a_constant_a_checkerboard_and_noise():
    board = torch.as_tensor(np.indices((8, 8)).sum(0) % 2 * 2.0 - 1)
    noise = torch.as_tensor(np.random.default_rng(5).normal(size=(50, 32, 32)))
    assert page.roughness(torch.ones(2, 8, 8)).tolist() == [0, 0]
    assert page.roughness(board).item() == 2
    assert page.roughness(noise).mean().item() == pytest.approx(1, abs=0.02)
