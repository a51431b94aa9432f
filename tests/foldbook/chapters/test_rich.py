"""Slope changes and how they are spread, against brute force."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from foldbook.chapters.rich import participation_ratio, slope_changes
from foldnet.nets import ReLUNet
from foldnet.splines.breakpoints import spline
from foldnet.splines.initialization import gaussian


def test_bends_by_hand_and_in_a_batch():
    net = ReLUNet([[[1.0], [-2.0], [1.0], [0.0]], [[3.0, 1.0, -5.0, 7.0]]], [[0.0, 0.2, -0.9, 1.0], [0.0]])
    edges = [-0.5, 0.05, 0.5, 0.8]
    assert slope_changes(net, edges).tolist() == [3.0, 2.0, 0.0]  # at 0, at 0.1; the third bends outside, the fourth nowhere
    nets = gaussian(20, 1.0, 1.0, 1.0, batch=(2, 3), seed=1)
    edges = np.linspace(-2, 2, 9)
    for i, j in [(0, 0), (1, 2)]:
        f = spline(nets[i, j])
        brute = [f.delta_slopes[(f.breakpoints > a) & (f.breakpoints <= b)].sum() for a, b in pairwise(edges)]
        assert torch.allclose(slope_changes(nets, edges)[i, j], torch.stack(brute))


def test_participation_counts_equal_cells():
    assert participation_ratio(torch.tensor([0.0, 2.0, -2.0, 0.0, 2.0])).item() == pytest.approx(3)
    assert participation_ratio(torch.tensor([0.0, 5.0])).item() == pytest.approx(1)
