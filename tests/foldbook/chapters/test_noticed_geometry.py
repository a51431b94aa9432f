"""What `python -m tools.mutants` found untested in foldnet.geometry: each test fails where one place of the source is changed."""

import torch

from foldbook.chapters import comparison
from foldnet.geometry.comparison import values


def test_a_one_stands_behind_each_point():
    """So that a row of coefficients times a point is the value of an affine map there, its constant included."""
    x = torch.tensor([[2.0, 3.0], [5.0, 7.0]])
    rows = torch.tensor([[1.0, 10.0, 100.0], [1.0, 10.0, 200.0]])
    assert comparison.with_one(x).tolist() == [[2.0, 3.0, 1.0], [5.0, 7.0, 1.0]]
    assert comparison.with_one(x.expand(4, 2, 2)).shape == (4, 2, 3)
    assert (rows * comparison.with_one(x)).sum(-1).tolist() == values(rows, x).tolist() == [132.0, 275.0]
