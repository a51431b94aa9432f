"""Intervals against scipy's."""

import pytest
from scipy.stats import ttest_1samp

from foldbook.statistics import lower_end


def test_the_lower_end_of_an_interval_is_that_of_a_t_test():
    values = [0.3, 0.5, 0.45, 0.2, 0.6]
    assert lower_end(values) == pytest.approx(ttest_1samp(values, 0).confidence_interval(0.95).low)
