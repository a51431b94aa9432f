"""Planes through max pooling: exact small cases, ties, and drawn networks against a fine grid and the module."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from torch import nn
from torch.nn import functional as F

from foldnet.geometry.regions import boundary, decision
from foldnet.piecewise.net import of

DOUBLE = torch.float64


class Pooled(nn.Module):
    """Affine pixels of two inputs, pooled in windows of m, whatever comes after."""

    def __init__(self, weights, biases, window: int, stride: int | None = None, padding: int = 0, relu: bool = False):
        super().__init__()
        self.pixels = nn.Linear(2, len(weights)).to(DOUBLE)
        self.pixels.weight.data, self.pixels.bias.data = torch.tensor(weights, dtype=DOUBLE), torch.tensor(biases, dtype=DOUBLE)
        self.pool, self.relu = nn.MaxPool1d(window, stride or window, padding), relu

    def forward(self, x):
        z = self.pixels(x).unsqueeze(1)
        return self.pool(torch.relu(z) if self.relu else z).flatten(1)


def check(found, net, grid: int = 0):
    """What every complex is: a disc without overlaps, one pattern a piece, neighbours that differ, maps that are the module's."""
    assert len(found.vertices) - len(found.edges) + len(found) == 1
    assert (found.areas > 0).all()
    assert (found.edges[:, 0] < found.edges[:, 1]).all()
    assert (found.edge_faces >= 0).sum() == len(found.sides)
    (start, end), sides = found.vertices[found.edges].transpose(1, 0, 2), found.edge_faces.T
    for faces, sign in zip(sides, (1, -1)):  # to the left of an edge, and to the right
        way, there = (end - start)[faces >= 0], found.centres[faces[faces >= 0]] - start[faces >= 0]
        assert (sign * (way[:, 0] * there[:, 1] - way[:, 1] * there[:, 0]) > 0).all()
    slopes, offsets = found.maps()
    values = np.einsum("foi,fi->fo", slopes, found.centres) + offsets
    assert np.allclose(values, found.net(found.centres).numpy(), atol=1e-9)
    for f in range(len(found)):  # the map of a piece holds at its corners, so no crease runs through it
        assert np.allclose(found.face(f) @ slopes[f].T + offsets[f], found.net(found.face(f)).numpy(), atol=1e-8)


SMALL = {  # pixels, their offsets, the window, and how many pieces the square from -1 to 1 has
    "two": ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], 2, 2),
    "a corner": ([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]], [0.0, 0.0, 0.0], 3, 3),
    "four sides": ([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [0.0] * 4, 4, 4),
    "a lid that hides the middle": ([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], [0.0, 0.0, 0.5], 3, 3),
    "a lid that hides all": ([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], [0.0, 0.0, 5.0], 3, 1),
    "twins": ([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0.0] * 4, 4, 2),
    "twins above a hidden crease": ([[1.0, 0.0], [0.0, 1.0], [0.3, 0.1], [0.3, 0.1]], [0.0, 0.0, 5.0, 5.0], 4, 1),
    "three at one line": ([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], [0.0, 0.0, 0.0], 3, 2),
    "two windows that share a crease": ([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0.0] * 4, 2, 2),
    "a hidden crease over a true one": (
        [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]],
        [0.0, 0.0, 5.0, 0.0, 0.0, -9.0],
        3,
        2,
    ),
    "hidden creases that cross": (
        [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]],
        [0, 0, 5.0, 0, 0, 5.0],
        3,
        1,
    ),
    "huge and tiny": ([[1e8, 0.0], [0.0, 1e8], [1e-8, 0.0], [0.0, 1e-8]], [0.0] * 4, 2, 2),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_cases_have_the_pieces_that_one_counts_by_hand(name):
    weights, biases, window, pieces = SMALL[name]
    net = of(Pooled(weights, biases, window), input_shape=(2,))
    found = net.regions()
    assert len(found) == pieces
    assert found.areas.sum() == pytest.approx(4)
    check(found, net)


def test_the_lid_has_its_place():
    weights, biases, window, _ = SMALL["a lid that hides the middle"]
    found = of(Pooled(weights, biases, window), input_shape=(2,)).regions()
    assert sorted(found.areas) == pytest.approx([1, 1, 2])
    assert len(found.vertices) == 8
    assert set(found.unit[found.layer == 0]) == {0}


def test_dead_pixels_tie_and_draw_nothing():
    """Two pixels that are 0 in the same half are equal there: one crease, where they leave it, and where one is larger."""
    net = of(Pooled([[1.0, 0.0], [1.0, 1.0]], [0.0, 0.0], 2, relu=True), input_shape=(2,))
    found = net.regions()
    check(found, net)
    assert len(found) == len(np.unique(net.pattern(torch.as_tensor(found.centres)).numpy(), axis=0))
    inner = found.edges[found.layer == 1]
    ends = found.vertices[inner].reshape(-1, 2)
    assert (np.maximum(ends[:, 0], ends.sum(1)) >= -1e-12).all()


@settings(max_examples=15, deadline=None)
@given(some.integers(2, 5), some.integers(1, 3), some.integers(0, 1), some.booleans(), some.integers(0, 10**6))
def test_drawn_poolings_have_the_pieces_of_a_fine_grid(window, stride, padding, twins, seed):
    made = np.random.default_rng(seed)
    weights, biases = made.normal(size=(7, 2)), made.normal(size=7)
    if twins:
        weights[3], biases[3] = weights[2], biases[2]
    model = Pooled(weights.tolist(), biases.tolist(), window, stride, min(padding, window // 2), relu=bool(seed % 2))
    units = model(torch.zeros(1, 2, dtype=DOUBLE)).shape[1]
    after = nn.Sequential(nn.Linear(units, 3), nn.ReLU(), nn.Linear(3, 1)).to(DOUBLE)
    net = of(nn.Sequential(model, after), input_shape=(2,))
    found = net.regions(2.0)
    check(found, net)
    assert found.areas.sum() == pytest.approx(16)
    grid = made.uniform(-2, 2, (3000, 2))
    inside = _face_of(found, grid)
    slopes, offsets = found.maps()
    assert np.allclose(np.einsum("noi,ni->no", slopes[inside], grid) + offsets[inside], found.net(grid).numpy(), atol=1e-8)
    if not twins and not seed % 2:  # where nothing ties, a piece is a pattern
        seen = {row.tobytes() for row in net.pattern(torch.as_tensor(grid)).numpy()}
        mine = [row.tobytes() for row in found.pattern]
        assert len(set(mine)) == len(mine)
        assert seen <= set(mine)


def _face_of(found, points) -> np.ndarray:
    """The piece of each point, by brute force."""
    face = np.full(len(points), -1)
    for f in range(len(found)):
        corners = found.face(f)
        sides = np.roll(corners, -1, 0) - corners
        turn = sides[:, 0] * (points[:, None, 1] - corners[:, 1]) - sides[:, 1] * (points[:, None, 0] - corners[:, 0])
        face[(turn >= -1e-12).all(1)] = f
    assert (face >= 0).all(), "a point lies in no piece"
    return face


class Image(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3)
        self.last = nn.Linear(16, 3)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.first(x)), 3, stride=2, padding=1)
        x = torch.minimum(self.second(F.pad(x, (1, 1, 1, 1))), x)
        return self.last(F.max_pool2d(x, 2).flatten(1))


def test_a_plane_through_a_network_of_images_and_its_decision():
    torch.manual_seed(1)
    net = of(Image().to(DOUBLE), input_shape=(1, 8, 8))
    sides = torch.randn(3, 1, 8, 8, dtype=DOUBLE)
    found = net.plane(*sides, window=0.1)
    assert len(found) > 100
    check(found, net)
    assert found.areas.sum() == pytest.approx(0.04)
    assert len(np.unique(found.pattern, axis=0)) == len(found)
    grid = np.random.default_rng(0).uniform(-0.1, 0.1, (2000, 2))
    known = {row.tobytes() for row in found.pattern}
    assert {row.tobytes() for row in net.pattern(found.net.inputs(grid)).numpy()} <= known
    level = found.net(found.centres).numpy().mean(0)  # so that all classes win somewhere
    net.graph.parts["last"].bias.data -= torch.as_tensor(level)
    found = net.plane(*sides, window=0.1)
    finer, winner = decision(found)
    assert (found.net(finer.centres).numpy().argmax(1) == winner).all()
    assert len(finer) > len(found)
    assert len(boundary(found)) > 0


def test_colours_by_class_send_no_corner_through_the_network_again(monkeypatch):
    torch.manual_seed(0)
    made = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 3)).to(torch.float64)
    a, u, v = torch.randn(3, 1, 6, 6, dtype=torch.float64)
    net = of(made, input_shape=(1, 6, 6))
    found, run, passed = net.plane(a, u, v, window=2), net.graph.run, []
    monkeypatch.setattr(net.graph, "run", lambda x, *more, **named: passed.append(len(x)) or run(x, *more, **named))
    finer, winner = decision(found)
    assert 0 < sum(passed) == len(finer.vertices) - len(found.vertices)
    true = made(
        torch.as_tensor(finer.vertices[:, :1, None, None] * u.numpy() + finer.vertices[:, 1:, None, None] * v.numpy()) + a
    )
    assert np.allclose(finer.values, true.detach().numpy(), rtol=0, atol=1e-10)
    assert len(set(winner)) > 1
