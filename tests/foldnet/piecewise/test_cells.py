"""Pieces in any number of inputs: against the exact plane, exact fractions in space, and what lies on both sides of each wall."""

import numpy as np
import pytest
import torch
from torch import nn

from foldnet.geometry.pieces import pieces
from foldnet.geometry.regions import regions
from foldnet.nets import ReLUNet
from foldnet.piecewise import _search as code
from foldnet.piecewise.net import of

DOUBLE = torch.float64


def traced(dense: ReLUNet):
    return of(dense.to_sequential().to(DOUBLE))


@pytest.mark.parametrize(("sizes", "leak"), [((2, 9, 1), 0.0), ((2, 8, 8, 8, 1), 0.0), ((2, 6, 6, 1), 0.2)])
def test_in_the_plane_the_pieces_are_those_of_the_exact_engine(sizes, leak):
    dense = ReLUNet.random(sizes, seed=0)
    dense = ReLUNet(dense.weights, dense.biases, leak=leak)
    found, true = traced(dense).cells([0.1, 0.2]), regions(dense, window=1e6 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]))
    assert {c.pattern.astype(bool).tobytes() for c in found.pieces} == {row.tobytes() for row in true.pattern}
    assert len(found.pairs) == len(np.unique(np.sort(true.neighbours), axis=0))
    outer = set(true.edge_faces[(true.edge_faces < 0).any(1)].max(1).tolist())
    assert sum(c.bounded for c in found.pieces) == len(true) - len(outer)


@pytest.mark.parametrize("sizes", [(3, 5, 1), (3, 3, 3, 1), (1, 5, 1)])
def test_in_space_the_pieces_are_those_of_exact_fractions(sizes):
    dense = ReLUNet.random(sizes, seed=2)
    found = traced(dense).cells(0.1 * torch.ones(sizes[0]))
    assert {tuple(c.pattern.astype(bool).tolist()) for c in found.pieces} == {p.pattern for p in pieces(dense)}


def test_programs_and_hulls_find_the_same(monkeypatch):
    net = traced(ReLUNet.random((4, 5, 3, 1), seed=1))
    hull = net.cells(0.1 * torch.ones(4))
    monkeypatch.setattr(code, "HULL", 1)
    programs = net.cells(0.1 * torch.ones(4))
    assert {c.pattern.tobytes() for c in hull.pieces} == {c.pattern.tobytes() for c in programs.pieces}
    assert len(hull.pairs) == len(programs.pairs)


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.pool, self.last = nn.Conv2d(1, 2, 2), nn.MaxPool2d(2, stride=1, padding=1), nn.Linear(18, 1)

    def forward(self, x):
        return self.last(torch.relu(self.pool(self.first(x))).flatten(1))


def test_a_cell_of_a_network_with_pooling_ends_at_its_walls_and_nowhere_else():
    net = of(Pooled().to(DOUBLE), input_shape=(1, 3, 3))
    x = torch.randn(1, 3, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    cell, here = net.cell(x), net.pattern(x)
    assert (cell.rows @ x.flatten().numpy() + cell.offsets > 0).all()
    for way in torch.randn(50, 1, 3, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(1)):
        speed = cell.rows @ way.flatten().numpy()
        far = ((cell.rows @ x.flatten().numpy() + cell.offsets) / -speed)[speed < 0].min(initial=np.inf)
        assert np.isclose(far, net.margin(x, way), rtol=1e-9)
        if far < 1e6:
            assert torch.equal(net.pattern(x + 0.999 * far * way), here)
            assert not torch.equal(net.pattern(x + 1.001 * far * way), here)
    for point, column in zip(cell.points, cell.columns):
        inside, outside = (torch.as_tensor(cell.centre + s * (point - cell.centre)).view(1, 3, 3) for s in (1 - 1e-6, 1 + 1e-6))
        assert torch.equal(net.pattern(inside), here)
        assert net.pattern(outside)[column] != here[column]


@pytest.mark.parametrize("windows", [{"kernel_size": 3, "stride": 2, "ceil_mode": True}, {"kernel_size": 2, "dilation": 2}])
def test_the_windows_of_a_pooling_are_torchs(windows):
    torch.manual_seed(0)
    net = of(nn.Sequential(nn.Conv2d(1, 2, 1), nn.MaxPool2d(**windows), nn.Flatten()).to(DOUBLE), input_shape=(1, 6, 5))
    x, way = torch.randn(2, 1, 6, 5, dtype=DOUBLE)
    far = net.margin(x, way)
    assert 0 < far < np.inf
    assert torch.equal(net.pattern(x + 0.999 * far * way), net.pattern(x))
    assert not torch.equal(net.pattern(x + 1.001 * far * way), net.pattern(x))
    assert net.margin(x) <= far * float(way.norm())


DEGENERATE = {
    "duplicated": ([[1.0, 0.3], [1.0, 0.3], [0.2, -1.0]], [0.1, 0.1, 0.0], 4),
    "mirrored": ([[1.0, 0.3], [-1.0, -0.3], [0.2, -1.0]], [0.1, -0.1, 0.0], 4),
    "parallel": ([[1.0, 0.3], [1.0, 0.3], [2.0, 0.6]], [0.1, 0.2, -0.9], 4),
    "through one point": ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.0, 0.0], 6),
    "dead": ([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [-1.0, 0.3, 0.0], 2),
    "huge and tiny": ([[1e4, 3e3], [1e-4, -2e-4], [2.0, 1.0]], [1e3, 1e-5, 3.0], 7),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_what_breaks_others(name):
    weights, biases, number = DEGENERATE[name]
    assert len(traced(ReLUNet([weights, [[1.0, 1.0, -1.0]]], [biases, [0.0]])).cells([0.31, 0.17])) == number


def test_what_is_refused():
    net = traced(ReLUNet([[[1.0, 0.0]], [[1.0]]], [[0.0], [0.0]]))
    with pytest.raises(ValueError, match="lies on a crease"):
        net.cell([0.0, 1.0])
    with pytest.raises(ValueError, match="more than 1 pieces"):
        net.cells([1.0, 1.0], most=1)
    assert repr(net.cell([1.0, 1.0])) == "Cell(1 walls in 2 dimensions, unbounded)"
    assert len(net.cells([1.0, 1.0]).pairs) == 1


def test_the_dual_graph():
    networkx = pytest.importorskip("networkx")
    graph = traced(ReLUNet.random((3, 4, 1), seed=0)).cells([0.1, 0.1, 0.1]).graph()
    assert graph.number_of_nodes() == 15
    assert networkx.is_connected(graph)
