"""What the chapter on comparison computes, against scikit-learn, scipy and what can be worked out by hand."""

import numpy as np
import pytest
import scipy.stats
import torch

from foldbook.chapters import comparison as compare
from foldnet.geometry.comparison import coefficients, values
from foldnet.nets import ReLUNet
from tests.convolutional import random


def some(n, d, seed=0):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(n, d)))


@pytest.mark.parametrize("net", [ReLUNet.random((12, 5, 3), seed=2), random((4,), 3, (3, 2, 2), seed=3)], ids=str)
def test_one_output_has_rows_of_its_own(net):
    x = some(40, 12)
    rows = coefficients(net, x)
    for j in range(3):
        torch.testing.assert_close(coefficients(compare.one_output(net, j), x)[0], rows[j])


def test_there_are_no_outputs_beyond_the_last():
    for output in (-1, 3):
        with pytest.raises(ValueError, match=f"numbered 0 to 2; got {output}"):
            compare.one_output(ReLUNet.random((12, 5, 3), seed=2), output)


def test_scaled_distance_is_its_formula():
    a, b = some(20, 5, 1), some(20, 5, 2)
    flat = torch.stack([a.flatten(), 3 * b.flatten(), 2 * a.flatten()])
    found = compare.scaled_distance(flat @ flat.T, flat.amax(-1), a.numel())
    by_hand = (a / a.max() - b / b.max()).square().mean()
    assert float(found[0, 1]) == pytest.approx(float(by_hand))
    assert float(found[0, 2]) == pytest.approx(0, abs=1e-12)


def test_cross_entropies_are_their_formula():
    outputs = torch.stack([some(20, 4, s) for s in (1, 2, 3)])
    found = compare.cross_entropies(outputs)
    p, q = (scipy.special.softmax(outputs[k].numpy(), 1) for k in (0, 1))
    assert float(found[0, 1]) == pytest.approx(-(p * np.log(q)).sum(1).mean())
    assert float(found[0, 0]) == pytest.approx(scipy.stats.entropy(p, axis=1).mean())
    assert bool((found >= found.diagonal()[:, None] - 1e-12).all())  # Gibbs


def test_a_one_stands_behind_each_point():
    """So that a row of coefficients times a point is the value of an affine map there, its constant included."""
    x = torch.tensor([[2.0, 3.0], [5.0, 7.0]])
    rows = torch.tensor([[1.0, 10.0, 100.0], [1.0, 10.0, 200.0]])
    assert compare.with_one(x).tolist() == [[2.0, 3.0, 1.0], [5.0, 7.0, 1.0]]
    assert compare.with_one(x.expand(4, 2, 2)).shape == (4, 2, 3)
    assert (rows * compare.with_one(x)).sum(-1).tolist() == values(rows, x).tolist() == [132.0, 275.0]
