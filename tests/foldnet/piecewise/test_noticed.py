"""What `python -m tools.mutants` found untested in foldnet.piecewise: each test fails where one place of it is changed."""

import pytest
import torch

from foldnet.nets import ReLUNet
from foldnet.piecewise import _search
from foldnet.piecewise.net import of

DOUBLE = torch.float64


def test_pieces_are_found_portion_by_portion_as_all_at_once(monkeypatch):
    net = of(ReLUNet.random((2, 8, 1), seed=0).to_sequential().to(DOUBLE))
    whole = net.cells([0.1, 0.2])
    monkeypatch.setattr(_search, "AT_ONCE", 3)
    parts = net.cells([0.1, 0.2])
    assert [c.pattern.tobytes() for c in parts.pieces] == [c.pattern.tobytes() for c in whole.pieces]
    assert (parts.pairs == whole.pairs).all()
    bounded = sum(piece.bounded for piece in whole.pieces)
    assert f"{len(whole)} pieces, {len(whole.pairs)} pairs of neighbours, {bounded} bounded" in repr(whole)


@pytest.mark.parametrize(("origin", "axes"), [(3, 2), (2, 3)])
def test_a_plane_has_an_origin_and_axes_of_the_shape_of_an_input(origin, axes):
    net = of(ReLUNet.random((2, 4, 1), seed=0).to_sequential().to(DOUBLE))
    with pytest.raises(ValueError, match="origin and axes have the shape of an input"):
        net.plane(torch.zeros(origin), torch.ones(axes), torch.ones(axes))
