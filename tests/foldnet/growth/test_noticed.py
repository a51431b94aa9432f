"""What `python -m tools.mutants` found untested in foldnet.growth: each test fails where one place of the source is changed."""

import warnings

import torch

from foldnet.growth.amplitude import line_search
from foldnet.growth.fold_loop import grow_by_folding
from foldnet.growth.neurons import Update, nearest
from foldnet.growth.smooth import SmoothNet
from foldnet.growth.tiny import tiny
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


def three_groups() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return x, torch.arange(60) % 3


def test_folding_takes_more_than_two_classes():
    x, y = three_groups()
    grown = grow_by_folding(ReLUNet.random((2, 1, 3), seed=0).to(torch.float64), x, y, most=2, epochs=10)
    assert grown.net.sizes == (2, 2, 3)
    assert 0 <= grown.stages[-1].accuracy <= 1


def test_training_towards_a_target_may_leave_growth_out():
    x, y = three_groups()
    net = SmoothNet.random((2, 2, 3), batch=2, seed=0)
    run = tiny(net, x, y, growths=0, delay=0, minibatches=3, batch_size=20, target=1.0)
    assert run.minibatches == 3
    assert run.net.sizes == net.sizes


def test_a_growth_looks_at_each_point_once():
    """Where it may look at all of them, the order of the draw is all that the seed decides."""
    x, y = three_groups()
    net = SmoothNet.random((2, 2, 3), batch=2, seed=0).to(torch.float64)[[0, 0]]
    run = tiny(net, x, y, growths=1, delay=0, minibatches=0, points=60, batch_size=20, seeds=[1, 2])
    one, two = run.net(x)
    torch.testing.assert_close(one, two)


def test_a_wish_of_a_billionth_is_more_than_rounding_however_many_points_there_are():
    n = 4000
    below = torch.randn(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    wish = below * torch.tensor([1.0, 1e-9], dtype=torch.float64)
    move = Update.zero(below, wish)
    assert nearest(below, wish, wish, (0.0, 1.0), move).rank == 2
    assert nearest(below, wish * torch.tensor([1.0, 1e-6]), wish, (0.0, 1.0), move).rank == 1
