"""Each of the four verdicts, with the failing case named."""

import numpy as np
import pytest

from foldnet.exercises import verdict

CASES = [((1.0, 2.0), 2.0), ((3.0, 4.0), 12.0)]


def product(a, b):
    return a * b


def nothing(a, b):
    return None


def rounded(a, b):
    return a * b * 1.01


def total(a, b):
    return a + b


def broken(a, b):
    return a / 0


def words(a, b):
    return "twelve"


def array(a, b):
    return np.ones(3)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (product, "correct: product passes all 2 cases"),
        (nothing, "missing: nothing returns nothing yet"),
        (rounded, "almost: rounded(1, 2) gives 2.02, which is close"),
        (total, "keep working: total(1, 2) gives 3, which is not right"),
        (broken, "keep working: broken(1, 2) raises ZeroDivisionError"),
        (words, "keep working: words(1, 2) gives 'twelve', not a number"),
        (array, "keep working: array(1, 2) has shape (3,); () is needed"),
    ],
)
def test_verdicts(answer, line):
    assert verdict(answer, CASES).startswith(line)


def test_nan_is_not_correct():
    assert verdict(lambda a, b: float("nan"), CASES).startswith("keep working")


def test_no_cases_is_an_error():
    with pytest.raises(ValueError, match="at least one case"):
        verdict(product, [])
