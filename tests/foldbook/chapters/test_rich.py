"""Slope changes and how they are spread, against brute force."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from foldbook.chapters.rich import participation_ratio, slope_changes, train
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


def test_training_is_plain_descent_on_half_the_squares_from_even_bends():
    x, y = torch.tensor([[-0.5, 0.1, 0.6]]).double(), torch.tensor([[0.2, -0.3, 0.4]]).double()
    width, alpha, steps = 8, 0.7, 5
    found = train(x, y, [alpha], width, steps).net
    beta = torch.tensor([-1.125, -0.375, 0.375, 1.125]).double().repeat(2)  # the middles of four cells, facing both ways
    side = torch.tensor([1.0] * 4 + [-1.0] * 4).double()
    w, b, v, c = (t.requires_grad_() for t in (alpha * side, -alpha * side * beta, 0 * side, torch.zeros(()).double()))
    for _ in range(steps):
        f = torch.relu(x[0][:, None] * w + b) @ v + c
        grads = torch.autograd.grad(((f - y[0]) ** 2).sum() / 2, (w, b, v, c))
        with torch.no_grad():
            for t, g in zip((w, b, v, c), grads):
                t -= g / (20 + 2.2 * width * alpha**2)
    at = torch.linspace(-1, 1, 9).double()
    brute = torch.relu(at[:, None] * w + b) @ v + c
    assert torch.allclose(found(at[:, None])[0, 0, :, 0], brute, atol=1e-12)
