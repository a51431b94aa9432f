"""Lines, planes, maps and cells of small networks, most of them degenerate, beside fractions that never round."""

from fractions import Fraction as Q

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from foldnet.piecewise.net import of
from tests.foldnet.geometry.rational import area
from tests.foldnet.piecewise import exact

TOP = [[Q(1), Q(-1)], [Q(1, 2), Q(3)], [Q(2), Q(1)]]
FOLD = ("affine", [[1, 1], [1, -1]], [0, 0])


def last(width):
    return ("affine", [[Q(k + 1) for k in range(width)]], [Q(1, 4)])


HOSTILE = {
    "dead neurons": [("affine", [[1, 0], [1, 1], [-1, 0]], [-9, 0, -9]), ("relu", 0), last(3)],
    "a neuron without weights": [("affine", [[0, 0], [1, 2], [0, 0]], [0, 0, 1]), ("relu", 0), last(3)],
    "duplicated neurons": [("affine", [[1, 2], [1, 2], [2, 4]], [Q(1, 2), Q(1, 2), 1]), ("relu", 0), last(3)],
    "mirrored neurons": [("affine", [[1, 2], [-1, -2]], [Q(1, 2), Q(-1, 2)]), ("relu", 0), last(2)],
    "mirrored neurons that cancel": [
        *(("affine", [[1, 2], [-1, -2]], [Q(1, 2), Q(-1, 2)]), ("relu", 0)),
        *(("affine", [[1, -1], [1, 0]], [0, Q(-1, 4)]), ("relu", 0), last(2)),
    ],
    "creases through the corners": [("affine", [[1, 1], [1, -1], [1, 0], [0, 1]], [0, 0, -1, 1]), ("relu", 0), last(4)],
    "creases through one point": [("affine", [[1, 0], [0, 1], [1, 1], [2, -1]], [0, 0, 0, 0]), ("relu", 0), last(4)],
    "a fold that folds again through a corner": [FOLD, ("abs",), FOLD, ("abs",), last(2)],
    "parallel lines": [("affine", [[2, 1], [2, 1], [4, 2]], [0, Q(1, 4), Q(1, 1024)]), ("relu", 0), last(3)],
    "pixels that are equal": [("affine", [[1, 0], [1, 0], [0, 1], [0, 1]], [0, 0, 0, 0]), ("pool", 2, 1), last(3)],
    "pixels that are dead together": [("affine", TOP, [-1, -1, -1]), ("relu", 0), ("pool", 3, 1), last(1)],
    "pixels that meet in a point": [("affine", [[1, 0], [0, 1], [-1, -1]], [0, 0, 0]), ("pool", 3, 1), last(1)],
    "a sum that is flat": [("affine", [[1, 1], [0, 1]], [0, 0]), ("residual", [[-1, 0], [0, 1]], [0, 0]), last(2)],
    "six at both ends": [("affine", [[8, 8], [1, -8]], [0, 3]), ("cap",), last(2)],
    "a tiny layer": [("affine", [[Q(w, 2**60) for w in row] for row in TOP], [Q(1, 2**62)] * 3), ("relu", Q(1, 4)), last(3)],
    "a huge layer": [("affine", [[w * 2**60 for w in row] for row in TOP], [Q(2**58)] * 3), ("relu", 0), last(3)],
    "tiny above huge": [
        *(("affine", [[w * 2**40 for w in row] for row in TOP], [Q(2**38)] * 3), ("relu", 0)),
        *(("affine", [[Q(k - j, 2**50) for k in range(3)] for j in range(3)], [Q(-1, 2**12)] * 3), ("relu", 0), last(3)),
    ],
    "no bend at all": [last(2)],
}
SIDE = [(Q(-1), Q(-1)), (Q(1), Q(-1)), (Q(1), Q(1)), (Q(-1), Q(1))]
ENDS = {"across": ([-1, Q(1, 2)], [1, Q(-1, 4)]), "through corners": ([-1, -1], [1, 1]), "along a crease": ([0, -1], [0, 1])}


def numbers(point):
    return torch.tensor([float(v) for v in point], dtype=torch.float64)


def assert_line(layers, a, b):
    """The line from a to b has the knots of fractions, the values there, and the slopes between them."""
    maps = [(Q(e) - Q(s), Q(s)) for s, e in zip(a, b)]
    found = exact.pieces(layers, (Q(0), Q(1)), maps, exact.intervals)
    knots = sorted({t for ends, _ in found for t in ends})
    line = of(exact.Module(layers), input_shape=len(a)).line(numbers(a), numbers(b))
    assert len(line.t) == len(knots), (line.t.tolist(), knots)
    assert np.allclose(line.t, [float(t) for t in knots], rtol=0, atol=1e-12)
    steepest = max(abs(float(slope)) for _, z in found for slope, _ in z)
    size = max(1.0, np.abs(line.values).max().item(), 1e-6 * steepest)  # t is rounded
    for ends, z in found:
        for t in ends:
            true = np.array([float(slope * t + constant) for slope, constant in z])
            assert np.allclose(line.at(float(t)), true, rtol=0, atol=1e-9 * size)


def assert_plane(layers, scale=Q(1), cells=True):
    """The plane has the pieces of fractions, by their number, areas and maps; the cells around their middles are the same."""
    window = [(scale * x, scale * y) for x, y in SIDE]
    found = exact.pieces(layers, window, [(Q(1), Q(0), Q(0)), (Q(0), Q(1), Q(0))])
    net = of(exact.Module(layers), input_shape=2)
    plane = net.regions(window=float(scale))
    areas = sorted(float(area(polygon)) for polygon, _ in found)
    assert len(plane) == len(found), (sorted(plane.areas), areas)
    assert np.allclose(sorted(plane.areas), areas, rtol=1e-9, atol=1e-12 * float(scale) ** 2)
    for polygon, z in found:
        middle = [sum(p[k] for p in polygon) / len(polygon) for k in range(2)]
        slopes = np.array([[float(v) for v in row[:2]] for row in z])
        assert np.allclose(net.affine(numbers(middle)).matrix, slopes, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(slopes).max()))
        if not cells:
            continue
        cell = net.cell(numbers(middle))
        rows = [(*map(Q, row.tolist()), Q(float(offset))) for row, offset in zip(cell.rows, cell.offsets)]
        inside = sum(area(part) for part in exact.clipped(window, rows))
        assert float(inside) == pytest.approx(float(area(polygon)), rel=1e-9), middle


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_networks_on_planes_and_around_points(name):
    # `cells` says that it takes units for dead whose slopes are below 1e-12 of the steepest one's; lines and planes go by layers
    assert_plane(HOSTILE[name], cells=name != "tiny above huge")


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_networks_on_lines(name, ends):
    assert_line(HOSTILE[name], *ENDS[ends])


@some.composite
def networks(draw):
    """Architectures with numbers in quarters, many of them 0, 1 or -1: ties, parallels and dead units are common."""
    inputs, layers = 2, []
    number = some.sampled_from([Q(0), Q(1), Q(-1), Q(1, 2), Q(-3, 4), Q(2), Q(5, 4)])
    row = lambda count: draw(some.lists(number, min_size=count, max_size=count))  # noqa: E731
    for _ in range(draw(some.integers(1, 2))):
        width = draw(some.integers(1, 4))
        factor = Q(2) ** draw(some.sampled_from([0, 0, -30, 30]))
        layers.append(("affine", [[factor * w for w in row(inputs)] for _ in range(width)], [factor * b for b in row(width)]))
        kind = draw(some.sampled_from(["relu", "leak", "abs", "cap", "pool", "residual", "both"]))
        if kind == "residual":
            layers.append(("residual", [row(width) for _ in range(width)], [factor * b for b in row(width)]))
        elif kind in ("relu", "both"):
            layers.append(("relu", 0))
        elif kind != "pool":
            layers.append({"leak": ("relu", Q(1, 4)), "abs": ("abs",), "cap": ("cap",)}[kind])
        if kind in ("pool", "both") and width > 1:
            layers.append(("pool", 2, 1))
            width -= 1
        inputs = width
    return [*layers, ("affine", [row(inputs), row(inputs)], row(2))]


@settings(max_examples=60, deadline=None)
@given(networks(), some.sampled_from([Q(1), Q(1, 1024), Q(64)]))
def test_drawn_networks_on_planes(layers, scale):
    assert_plane(layers, scale, cells=False)


@settings(max_examples=80, deadline=None)
@given(networks(), some.lists(some.sampled_from([Q(0), Q(1), Q(-1), Q(3, 8), Q(-5, 4)]), min_size=4, max_size=4))
def test_drawn_networks_on_lines(layers, ends):
    if ends[:2] != ends[2:]:
        assert_line(layers, ends[:2], ends[2:])
