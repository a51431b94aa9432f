"""What `python -m tools.mutants` found untested in foldnet.splines: each test fails where one place of the source is changed."""

import pytest
import torch

from foldnet.nets import ReLUNet
from foldnet.splines import creases
from foldnet.splines.depth import _by_tensors, deep_spline
from foldnet.splines.initialization import breakpoint_grid, glorot


@pytest.mark.parametrize("neurons", [1, 2])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 1)])
def test_creases_of_few_neurons_at_one_point_keep_their_axes(batch, neurons):
    net = ReLUNet.random((1, neurons, 1), batch=batch, seed=0)
    found = creases.creases(net)
    assert found.normals.shape == (*batch, neurons, 1)
    assert found.offsets.shape == found.delta_slopes.shape == (*batch, neurons)
    assert found.offset.shape == batch
    x = torch.tensor([[0.5]], dtype=torch.float64)
    assert found(x).shape == (*batch, 1)
    torch.testing.assert_close(found(x), net(x)[..., 0])


@pytest.mark.parametrize("way", [deep_spline, lambda net, *ends: _by_tensors(net, (ends[0], 0.0, ends[1]))])
def test_what_only_rounding_leaves_of_a_kink_is_none_beside_a_neuron_that_is_constant(way):
    """0.1 + 0.2 - 0.3 is not 0 in float64: three neurons bend at 0 and cancel, and the fourth has the slope 0."""
    net = ReLUNet([[[1.0], [1.0], [1.0], [0.0]], [[0.1, 0.2, -0.3, 1.0]]], [[0.0, 0.0, 0.0, 1.0], [0.0]])
    found = way(net.to(torch.float64), -1.0, 1.0)
    assert 0.1 + 0.2 - 0.3 != 0
    assert not found.kink.any()


@pytest.mark.parametrize(("width", "facing"), [(1, "right"), (2, "both"), (5, "both")])
def test_a_grid_of_one_place_is_refused(width, facing):
    with pytest.raises(ValueError, match="a grid needs at least 2 places"):
        breakpoint_grid(width, 1.0, facing=facing)


def test_glorot_has_one_spread_for_both_layers():
    assert glorot(7) == (0.5, 0.5)
