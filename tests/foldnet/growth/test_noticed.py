"""What `python -m tools.mutants` found untested in foldnet.growth: each test fails where one place of the source is changed."""

import warnings

import torch

from foldnet.growth.amplitude import line_search
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


def test_one_amplitude_may_be_first_and_last():
    found = line_search(lambda t: (t - 1).square(), torch.zeros((), dtype=torch.float64), least=1.0, most=1.0)
    assert found.amplitude == 1
