"""What `python -m tools.mutants` found untested in foldnet.geometry: each test fails where one place of the source is changed."""

import matplotlib.colors
import numpy as np
import pytest
import torch

from foldnet import plots
from foldnet.geometry import draw
from foldnet.geometry.boundaries import hyperplane
from foldnet.geometry.loops import corners
from foldnet.geometry.regions import boundary, decision, regions
from foldnet.geometry.sensitivity import explained, leading_eigenpairs
from foldnet.nets import ReLUNet


@pytest.mark.parametrize("seed", [15, 29])  # there the boundary runs beside the first face
def test_the_boundary_has_all_edges_between_two_classes_those_of_the_first_face_too(seed):
    c = regions(ReLUNet.random((2, 5, 2), seed=seed).to(torch.float64), 3.0)
    finer, winner = decision(c)
    faces = [(a, b) for a, b in finer.edge_faces.tolist() if a >= 0 and b >= 0 and winner[a] != winner[b]]
    assert sum(len(line) - 1 for line in boundary(c)) == len(faces)


def test_colours_are_those_that_matplotlib_reads():
    for name, colour in plots.COLORS.items():
        np.testing.assert_allclose(draw._rgb(name), matplotlib.colors.to_rgb(colour), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_leading_eigenpairs_are_as_exact_at_any_scale(scale):
    """The first two of forty eigenvalues that fall slowly need many steps."""
    turn = torch.linalg.qr(torch.randn(40, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)).Q
    matrix = scale * turn @ torch.diag(0.9 ** torch.arange(40.0, dtype=torch.float64)) @ turn.mT
    values, ways = leading_eigenpairs(matrix, count=2)
    torch.testing.assert_close(values / scale, torch.tensor([1.0, 0.9], dtype=torch.float64), rtol=1e-12, atol=0)
    torch.testing.assert_close((ways * turn[:, :2]).sum(0).abs(), torch.ones(2, dtype=torch.float64), rtol=1e-12, atol=0)


def test_creases_of_later_layers_lie_below_those_of_earlier_ones_and_above_the_pieces():
    c = regions(ReLUNet.random((2, 4, 4, 1), seed=0).to(torch.float64), 3.0)
    _, ax = plots.subplots()
    draw.draw(c, ax)
    heights = [line.get_zorder() for line in [*ax.collections, *ax.lines] if str(line.get_label()).startswith("layer")]
    assert 1 < heights[1] < heights[0]


def test_a_polygon_far_from_the_origin_turns_as_one_around_it():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    for shift in (0.0, 10.0):
        places, turns = corners(square + shift)
        assert sorted(map(tuple, places - shift)) == sorted(map(tuple, square))
        np.testing.assert_allclose(turns, 90)


def test_a_curve_takes_as_many_points_as_it_says_that_it_needs():
    t = torch.linspace(0, 1, 8, dtype=torch.float64)
    assert float(explained(t, t, bins=2)) == pytest.approx(1)
    with pytest.raises(ValueError, match="2 bins need at least 8 points"):
        explained(t[:7], t[:7], bins=2)


def test_a_picture_has_no_boundary_unless_it_is_asked_for():
    c = regions(ReLUNet.random((2, 3, 1), seed=0).to(torch.float64), 3.0)
    _, ax = plots.subplots()
    assert list(draw.draw(c, ax)) == ["layer 1"]
    assert list(draw.draw(c, ax, boundary=True)) == ["layer 1", "boundary"]


def test_a_window_without_a_crease_is_one_face():
    net = ReLUNet([[[1.0, 0.0]], [[1.0]]], [[5.0], [0.0]]).to(torch.float64)
    assert len(regions(net, 1.0, most=1)) == 1
    with pytest.raises(ValueError, match="at least 1; got 0"):
        regions(net, 1.0, most=0)


def test_each_point_has_the_boundary_of_its_own_two_classes():
    net, x = ReLUNet.random((2, 5, 3), seed=0).to(torch.float64), torch.randn(4, 2, dtype=torch.float64)
    predicted, true = torch.tensor([0, 1, 2, 0]), torch.tensor([1, 2, 0, 2])
    normals, offsets = hyperplane(net, x, predicted, true)
    for k in range(4):
        normal, offset = hyperplane(net, x, int(predicted[k]), int(true[k]))
        torch.testing.assert_close((normals[k], offsets[k]), (normal[k], offset[k]))
