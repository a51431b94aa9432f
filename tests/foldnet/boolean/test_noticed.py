"""What `python -m tools.mutants` found untested in foldnet.boolean: each test fails where one place of the source is changed."""

import dataclasses

import numpy as np
import pytest
import torch

from foldnet.boolean import functions as F
from foldnet.boolean import swaps, training
from foldnet.boolean.capacity import with_changes
from foldnet.boolean.exact import ExactNet, sign_changes
from foldnet.boolean.perceptron import Separation, find_separation
from foldnet.boolean.pruning import keep_neurons
from foldnet.boolean.swaps import class_changes, swaps_at_most
from foldnet.nets import ReLUNet


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


@pytest.mark.parametrize(("weights", "biases"), [([], []), ([[[1]]], []), ([], [[1]])])
def test_a_network_without_layers_or_with_too_few_biases_is_refused(weights, biases):
    with pytest.raises(ValueError, match="as many bias vectors as weight matrices, and at least one"):
        ExactNet(weights, biases)


@pytest.mark.parametrize("projections", [1, 2])
def test_a_bound_looks_at_as_many_projections_as_it_is_asked_for(projections):
    drawn = np.random.default_rng(5).normal(size=(projections, 5))
    t = F.parity(5) ^ (np.arange(32) % 3 == 0)
    changes = class_changes(t, drawn)
    assert swaps_at_most(t, projections=projections, seed=5) == changes.min() < 31


def test_changes_of_sign_may_lie_far_from_zero():
    """Between two of them the network bends, and a third of their sum lies elsewhere."""
    for zeros in ([9, 10, 11], [-12, -11, -10]):
        assert sign_changes(with_changes(zeros, 0)) == tuple(zeros)


def test_a_network_that_diverged_has_no_corner_right():
    nets = ReLUNet.random((2, 2, 1), batch=(1, 3), seed=0).to(torch.float64)
    done = training.trained(nets, F.truth_table("0110")[None], epochs=50, loss="mse", optimizer="gd", lr=1e30)
    assert (done.right == 0).all()
    assert not done.solved.any()


def test_a_bound_draws_no_more_than_it_is_asked_for_in_the_last_portion(monkeypatch):
    drawn = []
    monkeypatch.setattr(swaps, "class_changes", lambda t, w: drawn.append(len(w)) or class_changes(t, w))
    t = F.parity(11)
    swaps_at_most(t, projections=2**22 // t.shape[-1] + 5)
    assert drawn == [2**22 // t.shape[-1], 5]


def test_a_network_is_followed_only_by_one_of_its_outputs_and_its_leak():
    one, other = ExactNet([[[1]], [[1]]], [[0], [0]]), ExactNet([[[1, 1]], [[1]]], [[0], [0]])
    for after in (other, ExactNet([[[1]], [[1]]], [[0], [0]], "1/2")):
        with pytest.raises(ValueError, match="outputs, inputs and leaks must agree"):
            one.then(after)
    assert one.then(one)(3) == 3


def test_a_negative_number_is_no_neuron():
    with pytest.raises(ValueError, match="has neurons 0 to 1; got"):
        keep_neurons(ReLUNet.random((2, 2, 1), seed=0), 0, [-1, 1])
