"""Only plain data crosses from a submission to its judge."""

import json
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

from course import answers
from foldnet import plots
from foldnet.nets import ReLUNet

PLAIN = some.recursive(
    some.none() | some.booleans() | some.integers(-(2**62), 2**62) | some.floats(allow_nan=False) | some.text(),
    lambda inner: some.lists(inner) | some.tuples(inner, inner) | some.dictionaries(some.text(), inner),
    max_leaves=12,
)


def sent(value):
    return answers.decode(json.loads(json.dumps(answers.encode(value))))


@given(PLAIN)
def test_plain_data_comes_back(value):
    assert sent(value) == value


@given(arrays.arrays(some.sampled_from(answers.DTYPES), arrays.array_shapes(min_dims=0, max_dims=3)))
def test_arrays_come_back(value):
    back = sent(value)
    assert back.dtype == value.dtype
    assert back.shape == value.shape
    assert np.array_equal(back, value, equal_nan=value.dtype.kind in "fc")


def test_networks_tensors_and_figures_come_back():
    net = ReLUNet.random((1, 3, 1), batch=2, leak=0.1)
    back = sent(net)
    assert back.leak == 0.1
    assert all(torch.equal(a, b) for a, b in zip((*back.weights, *back.biases), (*net.weights, *net.biases)))
    assert torch.equal(sent(torch.arange(3.0, requires_grad=True)), torch.arange(3.0))
    fig, ax = plots.subplots()
    ax.plot([1, 10], [2, 20], label="a")
    ax.set(xlabel="x", xscale="log")
    ax.legend()
    (axes,) = sent(fig)
    assert (axes["xlabel"], axes["ylabel"], axes["xscale"], axes["yscale"], axes["legend"]) == ("x", "", "log", "linear", ["a"])
    assert np.array_equal(axes["lines"][0], [[1, 10], [2, 20]])
    ax.get_legend().remove()
    fig.legend()
    assert sent(fig)[0]["legend"] == ["a"]


class Sly(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


@pytest.mark.parametrize("value", [object(), lambda: 1, 10**400, np.array([object()]), {1, 2}, np.dtype, type])
def test_what_is_not_plain_is_opaque(value):
    back = sent(value)
    assert isinstance(back, answers.Opaque)
    assert back != value
    with pytest.raises(TypeError):
        float(back)


def test_fractions_are_numbers():
    assert sent(Fraction(1, 2)) == 0.5
    assert sent((Fraction(1, 3), [Fraction(2), 1])) == (1 / 3, [2.0, 1])
    assert sent(np.array([Fraction(1, 4), 2])) == [0.25, 2]
    assert isinstance(sent(Fraction(10**400)), answers.Opaque)


def test_a_number_that_equals_everything_is_a_number():
    assert type(sent(Sly(3))) is float
    assert sent(Sly(3)) != 4


@pytest.mark.parametrize(
    "data",
    [
        {"is": "code", "text": "1"},
        {"is": "array", "dtype": "object", "shape": [1], "data": "AAAA"},
        {"is": "array", "dtype": "float64", "shape": [10**12], "data": "AAAA"},
        {"is": "pickle"},
        {},
        [1],
    ],
)
def test_the_judge_takes_no_code_and_no_nonsense(data):
    with pytest.raises((ValueError, KeyError)):
        answers.decode(data)


def test_code_goes_the_other_way_alone():
    asked = json.loads(json.dumps(answers.encode(answers.Code("lambda x: np.abs(x)"))))
    assert answers.decode(asked, {"np": np})(-3) == 3
