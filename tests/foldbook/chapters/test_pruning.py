"""How results of pruning are read: curves of accuracy, and the smallest networks of a depth."""

import numpy as np
import pytest

from foldbook.chapters.pruning import accuracy_at, knee, smallest_widths


def test_what_a_curve_says_of_a_network_that_shrinks():
    share = np.array([[1.0, 1.0], [0.5, 0.5], [0.25, 0.25], [0.125, 0.125]])
    accuracy = np.array([[90.0, 92.0], [90.0, 92.0], [89.5, 91.5], [88.0, 90.0]])  # one point down a third of the way
    assert knee(share, accuracy) == pytest.approx(25 * 2 ** (-1 / 3))
    assert knee(share, accuracy, lost=5) == pytest.approx(12.5)
    assert accuracy_at(25, share, accuracy).tolist() == pytest.approx([89.5, 91.5])
    assert accuracy_at(12.5 * 2**0.5, share, accuracy).tolist() == pytest.approx([88.75, 90.75])


def test_the_smallest_of_a_depth_is_the_most_frequent_of_the_smallest():
    ends = ["2-3", "3-2", "3-2", "2-4", "2-2-2", "4"]
    assert smallest_widths(ends, 2) == [3, 2]
    assert smallest_widths(ends, 3) == [2, 2, 2]
    assert smallest_widths(ends, 4) == []
