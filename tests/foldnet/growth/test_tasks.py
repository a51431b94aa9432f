"""The three toy tasks: shapes, labels recomputed from the points, and the same points for the same seed."""

import numpy as np
import pytest
import torch

from foldnet.growth.tasks import TASKS, annulus, one_hot, overlap_quadratic, sine


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_shapes_classes_and_seeds(task):
    x, y = task(301, seed=4)
    assert (x.shape, x.dtype) == ((301, 2), torch.float64)
    assert (y.shape, y.dtype) == ((301,), torch.int64)
    assert set(y.tolist()) == {0, 1}
    assert torch.equal(x, task(301, seed=4)[0])
    assert not torch.equal(x, task(301, seed=5)[0])
    with pytest.raises(ValueError, match="at least 2"):
        task(1)


def test_sine_labels_say_which_side_of_the_curve():
    x, y = sine(2000, seed=1)
    in_units = x.numpy() * [np.pi, 1.5]
    assert np.array_equal(in_units[:, 1] > np.sin(in_units[:, 0]), y.numpy() == 1)
    assert x.abs().max() <= 1
    assert x.abs().max(0).values.min() > 0.99


def test_overlap_quadratic_without_noise_lies_on_two_parabolas_that_cross():
    x, y = overlap_quadratic(400, seed=2, noise=0.0)
    a, b = x[y == 0], x[y == 1]
    assert torch.allclose(a[:, 1], 1.5 * (a[:, 0] + 0.35) ** 2 - 0.75, atol=1e-12)
    assert torch.allclose(b[:, 1], 0.75 - 1.5 * (b[:, 0] - 0.35) ** 2, atol=1e-12)
    # each arm has points on both sides of the other one: no line between them, and they do overlap
    above = a[:, 1] > 0.75 - 1.5 * (a[:, 0] - 0.35) ** 2
    assert 0 < above.sum() < len(above)
    assert (overlap_quadratic(400, seed=2)[0] - x).std().item() == pytest.approx(0.08, rel=0.1)


def test_annulus_is_a_disc_and_a_ring_each_uniform():
    x, y = annulus(20_000, seed=3)
    r = x.norm(dim=1)
    assert r[y == 0].max() <= 0.5
    assert r[y == 1].min() >= 0.7
    assert r[y == 1].max() <= 1.0
    # half of the area of a disc lies beyond radius / sqrt(2)
    assert (r[y == 0] > 0.5 / 2**0.5).double().mean().item() == pytest.approx(0.5, abs=0.02)
    assert (r[y == 1] > ((1 + 0.49) / 2) ** 0.5).double().mean().item() == pytest.approx(0.5, abs=0.02)


def test_one_hot():
    assert one_hot(torch.tensor([1, 0])).tolist() == [[0.0, 1.0], [1.0, 0.0]]
