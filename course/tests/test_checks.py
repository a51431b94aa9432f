"""What students see of the tests: an answer that has the right shape and nothing in it is not called correct."""

import copy
import itertools
import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from course import judge, numbers, rehearse, source
from course.tests import classroom
from foldnet.nets import ReLUNet

pytestmark = pytest.mark.course


def blank(value, number: float):
    """The same with every number replaced by one: zero errors, empty figures, networks without weights."""
    if isinstance(value, Figure):
        for axes in value.axes:
            for line in axes.get_lines():
                line.remove()
        return value
    if isinstance(value, ReLUNet):
        filled = [[torch.full_like(part, number) for part in parts] for parts in (value.weights, value.biases)]
        return ReLUNet(*filled, leak=value.leak)
    if isinstance(value, torch.Tensor):
        return torch.full(value.shape, number, dtype=torch.float64)
    if isinstance(value, np.ndarray):
        return np.full(value.shape, number)
    if isinstance(value, dict):
        return {key: blank(item, number) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(blank(item, number) for item in value)
    return number


def blanked(answer, number: float):
    if not callable(answer):
        return blank(copy.deepcopy(answer), number)
    return lambda *args, **kwargs: blank(answer(*args, **kwargs), number)


@pytest.mark.parametrize("name", source.names())
def test_no_answer_that_is_blank_is_called_correct(name):
    """A figure without lines, errors that are all zero, and no numbers at all, as of a network whose outputs are NaN.

    A check that looks at shapes alone may be content; another one of the same answer is not.
    """
    problems = source.read(name)
    names, right = numbers.solved(problems), []
    for answer, number in itertools.product(
        (cell for cell in problems.of("answer") if cell.defines and not cell.by_hand), (0.0, math.nan)
    ):
        own = names | {key: blanked(names[key], number) for key in answer.defines}
        asked = [test.name for test in problems.tests if rehearse.used(test.public) & set(answer.defines)]
        if all(classroom.verdict(problems, test, own, hidden=False).passed for test in asked):
            right.append((answer.name, number))
        plt.close("all")
    assert right == []


def emptied(value):
    """The same shapes, but none of them: of no numbers whatever is asked is true."""
    if isinstance(value, ReLUNet):
        return ReLUNet(*([part[None][:0] for part in parts] for parts in (value.weights, value.biases)), leak=value.leak)
    if isinstance(value, Figure):
        return Figure()
    if isinstance(value, (list, tuple)) and any(np.ndim(item) for item in value):
        return type(value)(map(emptied, value))
    return np.zeros((0, *np.shape(value))) if not isinstance(value, (dict, str)) else value


def late(right, hidden: list):
    """Right until the hidden part asks, and then empty."""
    return lambda *args, **kwargs: emptied(right(*args, **kwargs)) if hidden else right(*args, **kwargs)


@pytest.mark.parametrize("name", source.names())
def test_no_hidden_test_takes_nothing_for_an_answer(name, monkeypatch):
    problems, hidden, private = source.read(name), [], judge.private
    names, kinds = numbers.solved(problems), {}
    for cell in problems.of("answer"):
        kinds |= cell.defines
    monkeypatch.setattr(judge, "private", lambda *args: hidden.append(True) or private(*args))
    passed, asked = [], 0
    for test in problems.tests:
        hidden.clear()
        used = [key for key in judge.names_in(test.source) if kinds.get(key) == "function" and key in names]
        verdict = classroom.verdict(problems, test.name, names | {key: late(names[key], hidden) for key in used})
        asked += bool(used and hidden)
        passed += [test.name] * (bool(used) and verdict.passed)
        plt.close("all")
    assert asked
    assert passed == []
