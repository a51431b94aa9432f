"""What `python -m tools.mutants` found untested in foldnet.growth: each test fails where one place of the source is changed."""

import warnings

import numpy as np
import pytest
import torch

from foldbook.chapters import race as methods
from foldnet.growth.neurons import optimal_neurons
from foldnet.growth.typical import typical_mistake
from foldnet.nets import ReLUNet


def says_class_0(inputs: int, batch: tuple[int, ...] = ()) -> ReLUNet:
    """A network with logits 1 and 0 everywhere."""
    hidden, out = torch.zeros(*batch, 1, inputs), torch.zeros(*batch, 2, 1)
    net = ReLUNet([hidden, out], [torch.zeros(*batch, 1), torch.tensor([1.0, 0.0]).expand(*batch, 2)])
    return net.to(torch.float64)


def test_a_cluster_without_a_member_is_not_the_costliest():
    """Two mistakes nearer than k-means can tell apart: one of its two clusters stays empty."""
    from sklearn.exceptions import ConvergenceWarning

    x, y = torch.tensor([[0.0], [1e-200], [5.0]], dtype=torch.float64), torch.tensor([1, 1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert typical_mistake(says_class_0(1), x, y, clusters=2) in (0, 1)


def test_only_the_folded_instance_is_left_out_and_none_that_shares_a_coordinate_with_it():
    corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    nets, y = says_class_0(2, (1,)), torch.tensor([[0.0, 1.0]], dtype=torch.float64).expand(4, 2)
    found = methods.folds(nets, corners[None], y[None], 4, [np.random.default_rng(0)])
    assert found.incoming.shape == (1, 4, 2)
    assert found.incoming.isfinite().all()


@pytest.mark.parametrize("incoming", [[1.0, 0.0], [0.0, 1.0]])
def test_a_neuron_that_reads_one_input_and_feeds_one_output_is_kept(monkeypatch, incoming):
    """It is of use though some of its weights are 0: no random one takes its place."""
    nets = ReLUNet.random((2, 3, 2), batch=1, seed=0)
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(1, 40, 2, generator=draw, dtype=torch.float64)
    y = torch.nn.functional.one_hot((x.sum(-1) > 0).long(), 2).double()

    def bare(*given, **named):
        new = optimal_neurons(*given, **named)
        row = torch.tensor([[incoming]], dtype=torch.float64)
        column = torch.tensor([[[0.0], [1.0]]], dtype=torch.float64)  # raises the logit of class 1 where it is awake
        return type(new)(row, torch.zeros_like(row[..., 0]), column, new.singular_values, new.rank, new.gain, new.update)

    monkeypatch.setattr(methods, "optimal_neurons", bare)
    found = methods.optimal(nets, x, y, 1, [np.random.default_rng(0)])
    assert (found.incoming != 0).tolist() == [[[v != 0 for v in incoming]]]
    assert (found.outgoing != 0).tolist() == [[[False], [True]]]
