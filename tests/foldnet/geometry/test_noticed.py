"""What `python -m tools.mutants` found untested in foldnet.geometry: each test fails where one place of the source is changed."""

import matplotlib.colors
import numpy as np
import pytest
import torch

from foldnet import plots
from foldnet.geometry import draw
from foldnet.geometry.regions import boundary, decision, regions
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
