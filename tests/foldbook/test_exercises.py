"""Each of the four verdicts, with the failing case named."""

import numpy as np
import pytest

from foldbook import exercises
from foldbook.exercises import drawn, value_verdict, verdict

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


def test_a_condition_may_stand_for_the_expected_value():
    cases = [((1.0, 2.0), lambda value: value > 0), ((3.0, -4.0), lambda value: value > 0)]
    assert verdict(product, cases) == "keep working: product(3, -4) gives -12, which is not right"
    assert verdict(product, cases[:1]) == "correct: product passes all 1 cases"
    assert verdict(nothing, cases).startswith("missing")
    assert verdict(words, [(("a", 1.0), lambda value: False)]) == "keep working: words('a', 1) gives 'twelve', which is not right"


def test_the_worst_case_is_shown():
    nearly = {1.0: 2.02, 3.0: 13.0}
    assert verdict(lambda a, b: nearly[a], CASES) == "keep working: <lambda>(3, 4) gives 13, which is not right"


@pytest.mark.parametrize(
    ("value", "expected", "line"),
    [
        (None, 3.0, "missing: gain has no value yet"),
        (3.0, 3.0, "correct: gain"),
        (3.1, 3.0, "almost: gain is 3.1, which is close"),
        (5, 3.0, "keep working: gain is 5, which is not right"),
        ("x", 3.0, "keep working: gain is 'x', not a number"),
        ([1, 2], [1, 2, 3], "keep working: gain has shape (2,); (3,) is needed"),
        (True, lambda value: value is False, "keep working: gain is True, which is not right"),
        ({"a": 1}, lambda value: "b" in value, "keep working: gain is {'a': 1}, which is not right"),
        ({"a": 1}, lambda value: "a" in value, "correct: gain"),
        ([1], lambda value: value["a"], "keep working: gain is [1], which is not right"),
    ],
)
def test_values_have_the_same_four_verdicts(value, expected, line):
    assert value_verdict("gain", value, expected) == line


# ---- fresh cases and known mistakes -------------------------------------------------------------------------------------


def test_fresh_cases_differ_each_time_and_are_true():
    draw = exercises.fresh(lambda r, n: r**n, count=200, r=(0.5, 2.0), n=(1, 4))
    first, second = draw(), draw()
    assert len(first) == 200
    assert first != second
    for (r, n), truth in first:
        assert 0.5 <= r <= 2.0
        assert n in (1, 2, 3, 4)
        assert truth == r**n
    assert {n for (_, n), _ in first + second} == {1, 2, 3, 4}


def test_rounding_draws_no_zero():
    draw = exercises.fresh(lambda x: x, count=100, x=(-0.004, 0.004))
    assert all(abs(x) >= 0.001 for (x,), _ in draw())


def test_answers_learned_by_heart_do_not_pass_fresh_cases():
    draw = exercises.fresh(lambda x: x**2, x=(0.5, 2.0))
    known = dict(draw())
    assert exercises.verdict(lambda x: x * x, draw).startswith("correct")
    by_heart = lambda x: known.get((x,), 1.0)  # noqa: E731
    assert exercises.verdict(by_heart, draw).startswith(("keep working", "almost"))


def test_a_known_mistake_is_named_only_where_it_is_made_throughout():
    draw = exercises.fresh(lambda x: np.cos(x), x=(1.0, 2.0))
    mistakes = {"this is the sine": np.sin, "this has no sign": lambda x: abs(np.cos(x))}
    assert exercises.verdict(lambda x: np.sin(x), draw, mistakes=mistakes) == "keep working: this is the sine"
    assert exercises.verdict(lambda x: np.cos(x), draw, mistakes=mistakes).startswith("correct")
    assert "this is" not in exercises.verdict(lambda x: np.sin(x) if x > 1.9 else 7.0, draw, mistakes=mistakes)
    assert exercises.verdict(lambda x: None, draw, mistakes=mistakes).startswith("missing")


def test_a_helper_speaks_of_the_function_that_the_student_wrote():
    cases = [((2.0,), 4.0)]
    assert exercises.verdict(lambda x: None, cases, stub="square") == "missing: square returns nothing yet"
    assert exercises.verdict(lambda x: x * x, cases, stub="square") == "correct: square passes all 1 cases"
    assert exercises.verdict(abs, cases, stub="square") == "keep working: abs(2) gives 2, which is not right"


def test_a_blank_figure_shows_nothing():
    """Neither axes without lines, nor lines without labels or numbers; the same for what a judge sees of a figure."""
    from foldnet import plots

    fig, ax = plots.subplots()
    assert not drawn(fig)
    ax.set(xlabel="x", ylabel="y")
    assert not drawn(fig)
    ax.plot([1, 2], [np.nan, np.nan])
    ax.plot([1], [1])
    assert not drawn(fig)
    ax.plot([1, 2], [3, 4])
    assert drawn(fig)
    assert not drawn(fig, 2)
    seen = {"xlabel": "x", "ylabel": "y", "lines": [np.array([[1, 2], [3, 4]])]}
    assert drawn([seen])
    assert not drawn([seen | {"xlabel": " "}])
    assert not drawn([seen | {"lines": []}])


def test_a_tensor_that_is_being_trained_is_a_number():
    import torch

    assert value_verdict("x", torch.tensor([1.0, 2.0], requires_grad=True), [1, 2]) == "correct: x"
