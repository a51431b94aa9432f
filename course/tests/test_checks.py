"""What students see of the tests: an answer that has the right shape and nothing in it is not called correct."""

import copy
import itertools
import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from course import classroom, numbers, rehearse, source
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
    for answer, number in itertools.product((cell for cell in problems.of("answer") if cell.defines), (0.0, math.nan)):
        own = names | {key: blanked(names[key], number) for key in answer.defines}
        asked = [test.name for test in problems.tests if rehearse.used(test.public) & set(answer.defines)]
        if all(classroom.verdict(problems, test, own, hidden=False).passed for test in asked):
            right.append((answer.name, number))
        plt.close("all")
    assert right == []
