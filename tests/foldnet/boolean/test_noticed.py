"""What `python -m tools.mutants` found untested in foldnet.boolean: each test fails where one place of the source is changed."""

import dataclasses

import numpy as np
import pytest

from foldnet.boolean.perceptron import Separation, find_separation


def test_a_separation_is_true_where_there_are_weights():
    assert Separation((), None)
    assert not Separation(None, (1, 1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Separation((1,), None).weights = (2,)


def test_samples_without_features_are_all_positive_or_not_separable():
    """A sum of nothing is 0, which belongs to the positive class, unless it has to be more than 0."""
    empty = np.zeros((2, 0), int)
    assert find_separation(empty, [1, 1]) == Separation((), None)
    assert not find_separation(empty, [1, 0])
    assert not find_separation(empty, [1, 1], strict=True)


def test_samples_that_are_all_positive_need_no_weights():
    assert find_separation([[1, 0], [0, 1], [-1, -1]], [1, 1, 1])
    assert find_separation([[1, 0], [0, 1], [-1, -1]], [1, 1, 1], strict=True).balance == (1, 1, 1)
