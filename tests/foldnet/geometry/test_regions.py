"""Exact regions: against fractions, Euler's formula, areas, autograd, and on the networks where others fail."""

import os
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.region_cost import network
from foldnet.boolean.constructions import wrong_corners
from foldnet.geometry import _sheet
from foldnet.geometry import regions as R
from foldnet.geometry._outlines import chains
from foldnet.geometry.cells import count_regions
from foldnet.geometry.grid import on_grid
from foldnet.geometry.regions import boundary, decision, on_plane, plane_through, regions
from foldnet.nets import ReLUNet
from tests.foldnet.geometry.rational import area, faces

TRIANGLE = [(-2, -1), (3, 0), (0, 2)]


def whole(rng, sizes, reach=3, leak=0.0):
    """A network with small whole weights: every vertex of its complex is a fraction, and many lines meet or coincide."""
    weights = [rng.integers(-reach, reach + 1, (o, i)) for i, o in pairwise(sizes)]
    biases = [rng.integers(-reach, reach + 1, o) for o in sizes[1:]]
    return ReLUNet([w.astype(float) for w in weights], [b.astype(float) for b in biases], leak)


def lists(net):
    return [[[int(v) for v in row] for row in w] for w in net.weights], [[int(v) for v in b] for b in net.biases]


def holds_together(c, window_area):
    """Euler's formula for a disc, areas that add up, two faces at each inner edge, one pattern a face."""
    assert len(c.vertices) - len(c.edges) + len(c) == 1
    assert c.areas.min() > 0
    assert c.areas.sum() == pytest.approx(float(window_area), rel=1e-12)
    assert ((c.edge_faces < 0).any(1) == (c.layer == -1)).all()
    assert len(np.unique(c.pattern, axis=0)) == len(c)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from([(2, 3, 1), (2, 4, 3, 1), (2, 3, 3, 3, 1), (2, 6, 4, 2)]), st.sampled_from([0.0, 0.5])
)
def test_faces_of_whole_networks_are_those_counted_in_fractions(seed, sizes, leak):
    rng = np.random.default_rng(seed)
    net = whole(rng, sizes, leak=leak)
    window = R.SQUARE if rng.random() < 0.5 else TRIANGLE
    truth = {pattern: area(polygon) for pattern, polygon in faces(*lists(net), window, Fraction(leak))}
    c = regions(net, window)
    found = {tuple(map(bool, p)): a for p, a in zip(c.pattern, c.areas)}
    assert found.keys() == truth.keys()
    for pattern, exact in truth.items():
        assert found[pattern] == pytest.approx(float(exact), rel=1e-9, abs=1e-15)
    holds_together(c, sum(truth.values()))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(2, 8, 1), (2, 10, 10, 2), (2, 6, 6, 6, 3)]), st.sampled_from([0.0, 0.1]))
def test_affine_maps_are_autograds(seed, sizes, leak):
    net = ReLUNet.random(sizes, leak=leak, seed=seed)
    c = regions(net)
    holds_together(c, 4)
    slopes, offsets = c.maps()
    inside = torch.as_tensor(c.centres)
    for f in range(0, len(c), max(1, len(c) // 10)):
        jacobian = torch.autograd.functional.jacobian(lambda p: net(p.unsqueeze(0))[0], inside[f])
        assert np.allclose(slopes[f], jacobian, atol=1e-12)
    assert np.allclose((slopes @ c.centres[..., None])[..., 0] + offsets, net(inside), atol=1e-12)
    assert np.allclose(c.values, net(torch.as_tensor(c.vertices)), atol=1e-12)


def test_an_edge_is_drawn_by_a_neuron_that_vanishes_on_it():
    net = ReLUNet.random((2, 7, 6, 5, 1), seed=3)
    c = regions(net)
    ends = net.preactivations(torch.as_tensor(c.vertices))
    for e in np.flatnonzero(c.layer >= 0):
        assert ends[c.layer[e]][c.edges[e], c.neuron[e]].abs().max() < 1e-12
    frame = np.array(R.SQUARE)
    for e in np.flatnonzero(c.layer == -1):
        a, b = frame[c.neuron[e]], frame[(c.neuron[e] + 1) % 4]
        for p in c.vertices[c.edges[e]] - a:
            assert abs(p[0] * (b - a)[1] - p[1] * (b - a)[0]) < 1e-12
    left, right = c.edge_faces[c.layer >= 0].T
    differ = c.pattern[left] != c.pattern[right]
    column = np.cumsum([0, *net.sizes[1:-2]])[c.layer] + c.neuron
    assert differ[np.arange(len(left)), column[c.layer >= 0]].all()


# ---- where public tools go wrong ---------------------------------------------------------------------------------------


def test_without_biases_all_lines_of_the_first_layer_meet_in_one_point():
    net = ReLUNet.random((2, 9, 1), init="he", seed=1)
    assert len(regions(net)) == 18
    deep = ReLUNet.random((2, 8, 8, 8, 1), init="he", seed=2)
    c = regions(deep)
    holds_together(c, 4)  # a cone of each pattern, and no vertex but the centre and those on the frame
    inner = np.abs(c.vertices).max(1) < 1 - 1e-9
    assert inner.sum() == 1
    angle = 2 * np.pi * (np.arange(100_000) + 0.5) / 100_000
    circle = torch.as_tensor(np.column_stack([np.cos(angle), np.sin(angle)]))
    pattern = deep.pattern(circle).numpy()
    assert len(c) == (pattern != np.roll(pattern, 1, 0)).any(1).sum()


def test_duplicated_and_dead_neurons_draw_nothing_new():
    net = ReLUNet.random((2, 6, 5, 1), seed=4)
    (w1, w2, w3), (b1, b2, b3) = net.weights, net.biases
    dead = torch.zeros(1, 2, dtype=w1.dtype)
    twice = ReLUNet(
        [torch.cat([w1, -2 * w1, w1, dead]), torch.cat([w2, torch.zeros(5, 13, dtype=w2.dtype)], 1), w3],
        [torch.cat([b1, -2 * b1, b1, -torch.ones(1, dtype=b1.dtype)]), b2, b3],
    )
    assert len(regions(twice)) == len(regions(net))
    holds_together(regions(twice), 4)


@pytest.mark.parametrize(("layers", "count"), [(1, 4), (2, 16), (3, 64), (4, 256), (5, 1024)])
def test_folding_networks_have_four_to_the_depth_faces(layers, count):
    """Each layer folds [-1, 1]^2 along both axes: x -> 2|x| - 1, |x| made of two neurons that share their crease."""
    fold = torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    back = torch.tensor([[2.0, 2, 0, 0], [0, 0, 2, 2]])
    weights = [fold, *[fold @ back] * (layers - 1), back]
    biases = [torch.zeros(4), *[fold @ torch.tensor([-1.0, -1.0])] * (layers - 1), -torch.ones(2)]
    c = regions(ReLUNet([w.double() for w in weights], [b.double() for b in biases]))
    assert len(c) == count
    holds_together(c, 4)


def test_three_lines_through_a_point_and_lines_along_the_frame():
    w = torch.tensor([[1.0, 0], [0, 1], [1, 1], [1, 0], [1, -1]], dtype=torch.float64)
    b = torch.tensor([0.0, 0, 0, -1, 0], dtype=torch.float64)  # the fourth lies on a side of the window
    c = regions(ReLUNet([w, torch.ones(1, 5, dtype=w.dtype)], [b, torch.zeros(1, dtype=w.dtype)]))
    assert len(c) == 8
    holds_together(c, 4)


def test_the_network_of_the_benchmark_has_the_regions_that_integers_count():
    assert [len(regions(network(w))) for w in (8, 16, 32, 64)] == [128, 451, 2626, 13072]


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_size_and_place_of_the_window_do_not_matter(scale):
    """Rounding is judged beside the size of the terms: a network in small or large units has the same faces."""
    net = network(16)
    scaled = ReLUNet([net.weights[0] / scale, *net.weights[1:]], net.biases)
    assert len(regions(scaled, scale * np.array(R.SQUARE))) == 451
    shift = torch.tensor([1e3, -1e3], dtype=torch.float64)
    moved = ReLUNet(net.weights, [net.biases[0] - net.weights[0] @ shift, *net.biases[1:]])
    assert len(regions(moved, np.array(R.SQUARE) + shift.numpy())) == 451


def test_without_hidden_layers_the_window_is_one_face():
    net = ReLUNet([[[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]]], [[0.5, 0.0, -1.0]])
    c = regions(net, TRIANGLE)
    assert (len(c), len(c.edges)) == (1, 3)
    assert (c.values == net(c.vertices).numpy()).all()
    assert np.allclose(decision(c)[0].areas.sum(), c.areas.sum())


ARRAYS = ("vertices", "values", "starts", "corners", "sides", "edges", "edge_faces", "layer", "neuron")


def same(c, d):
    """Two complexes are one, to the last bit and in every number."""
    pairs = [(getattr(c, name), getattr(d, name)) for name in ARRAYS] + list(zip(c.bits, d.bits, strict=True))
    return all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)


@pytest.mark.parametrize("sizes", [(2, 24, 16, 1), (2, 30, 9, 7, 3)])
def test_threads_change_nothing(monkeypatch, sizes):
    """Bit for bit, whatever is numbered or rounded, in a sheet of many parts."""
    net = ReLUNet.random(sizes, init="torch", seed=3)
    monkeypatch.setattr(_sheet, "FACES", 8)
    monkeypatch.setattr(_sheet, "LEAST", 2)
    alone, together = (regions(net, threads=t) for t in (1, 3))
    assert same(alone, together)
    assert same(decision(alone, threads=1)[0], decision(together, threads=3)[0])
    holds_together(together, 4)


@pytest.mark.parametrize(("faces", "left"), [(67, 31), (257, 31), (1024, 2), (5000, 1), (10**6, 3)])
def test_parts_become_smaller_and_none_is_empty(faces, left):
    blank = _sheet.Sheet.whole(np.array(R.SQUARE), np.zeros((4, 2)))
    drawing = _sheet.Drawing(blank._replace(bits=np.zeros((faces, 0), np.uint64)), 4, 0.0, faces, 1)
    limits = drawing._limits(left)
    sizes = np.diff(limits)
    assert (limits[0], limits[-1]) == (0, faces)
    assert _sheet.LEAST - 2 <= len(sizes) <= _sheet.PARTS
    assert sizes.min() >= 1
    assert (np.diff(sizes) <= 1).all()  # up to rounding
    assert sizes[0] <= 2 * faces / len(sizes) + 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_threads_that_are_kept_are_made_anew_in_a_fork_and_shared_by_callers():
    """In an interpreter of its own: a fork that waited for threads it has not would wait for ever."""
    code = """
import os
from concurrent.futures import ThreadPoolExecutor
from experiments.region_cost import network
from foldnet.geometry.regions import regions
net = network(64)
one = regions(net, threads=1).vertices.tobytes()
same = lambda threads: regions(net, threads=threads).vertices.tobytes() == one
assert same(2)
child = os.fork()
if child == 0:
    os._exit(0 if same(2) else 1)
assert os.waitpid(child, 0)[1] == 0
with ThreadPoolExecutor(4) as pool:
    assert all(pool.map(same, (2, 3, 2, 4)))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=600)


@pytest.mark.parametrize("faces", [2, 15])
@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_a_sheet_in_parts_is_the_sheet_in_one(monkeypatch, faces, leak):
    """The same faces in the same order, corner by corner; vertices and edges may have other numbers, and so other rounding."""
    rng = np.random.default_rng(faces)
    for net in (network(16), whole(rng, (2, 9, 6, 5, 2), leak=leak), ReLUNet.random((2, 12, 10, 2), init="torch", leak=leak)):
        found = []
        for least in (faces, 10**9):
            monkeypatch.setattr(_sheet, "FACES", least)
            monkeypatch.setattr(_sheet, "LEAST", 2)
            c = regions(net, TRIANGLE, threads=2)
            found += [c, decision(c)[0]]
        for c, d in (found[::2], found[1::2]):
            holds_together(c, area([tuple(map(Fraction, p)) for p in TRIANGLE])) if c is found[0] else None
            assert (c.starts == d.starts).all()
            assert all((a == b).all() for a, b in zip(c.bits, d.bits, strict=True))
            assert np.allclose(c.vertices[c.corners], d.vertices[d.corners], rtol=0, atol=1e-12)
            assert np.allclose(c.values[c.corners], d.values[d.corners], rtol=1e-11, atol=1e-11)
            assert (c.layer[c.sides] == d.layer[d.sides]).all()
            assert (c.neuron[c.sides] == d.neuron[d.sides]).all()
            assert len(c.vertices) == len(d.vertices)
            assert sorted(map(sorted, c.edge_faces.tolist())) == sorted(map(sorted, d.edge_faces.tolist()))
            for e in (c, d):  # an edge joins the corner of its side with the next one, and the first face lies to its left
                after = np.roll(e.corners, -1)
                after[e.starts[1:] - 1] = e.corners[e.starts[:-1]]
                assert (np.sort(np.stack([e.corners, after], 1), axis=1) == e.edges[e.sides]).all()
                face = np.repeat(np.arange(len(e)), np.diff(e.starts))
                assert (e.edge_faces[e.sides, (e.corners > after).astype(int)] == face).all()


# ---- decisions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_every_face_of_a_decision_has_one_class_and_the_boundary_lies_between(outputs):
    net = ReLUNet.random((2, 9, 7, outputs), seed=8)
    mean = net(torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (500, 2)))).mean(0)
    net = ReLUNet(net.weights, [*net.biases[:-1], net.biases[-1] - mean])  # so that every class wins somewhere
    c = regions(net)
    finer, winner = decision(c)
    assert len(finer.vertices) - len(finer.edges) + len(finer) == 1
    assert finer.areas.sum() == pytest.approx(4)
    assert len(set(winner.tolist())) >= min(outputs, 2)
    for f in range(len(finer)):
        corners = finer.face(f)
        inside = np.random.default_rng(f).dirichlet(np.ones(len(corners)), 20) @ corners
        value = net(torch.as_tensor(inside)).numpy()
        said = (value[:, 0] > 0) if outputs == 1 else value.argmax(1)
        assert (said == winner[f]).all()
    new = finer.layer == 2
    assert new.any()
    for line in boundary(c):
        value = np.sort(net(torch.as_tensor(line)).numpy(), axis=1)
        tie = value[:, 0] if outputs == 1 else value[:, -1] - value[:, -2]
        assert np.abs(tie).max() < 1e-12


def test_a_circle_of_edges_is_one_closed_chain_and_a_crossing_ends_chains():
    assert chains(np.array([[0, 1], [1, 2], [0, 2]])) == [[0, 1, 2, 0]]
    assert sorted(map(len, chains(np.array([[0, 1], [1, 2], [1, 3], [1, 4], [4, 5]])))) == [2, 2, 2, 3]
    assert chains(np.zeros((0, 2), np.int64)) == []


# ---- slices and refusals -----------------------------------------------------------------------------------------------


def test_a_slice_is_the_network_on_the_plane():
    net = ReLUNet.random((6, 10, 8, 3), seed=5)
    a, b, c = np.random.default_rng(0).normal(size=(3, 6))
    origin, axes = plane_through(a, b, c)
    assert np.allclose(axes @ axes.T, np.eye(2))
    flat = on_plane(net, origin, axes)
    for point in (a, b, c):
        place = axes @ (point - origin)
        assert np.allclose(origin + place @ axes, point)
        assert np.allclose(flat(place[None]), net(point[None]))
    holds_together(regions(flat, 3 * np.array(R.SQUARE)), 36)


@pytest.mark.parametrize("window", [0.5, np.float32(0.5), ((-0.5, 0.5), (-0.5, 0.5)), np.array([[-0.5, 0.5]] * 2)])
def test_a_window_is_a_number_or_a_box_too(window):
    net = ReLUNet.random((2, 9, 1), seed=0)
    corners = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]
    assert np.array_equal(regions(net, window).vertices, regions(net, corners).vertices)
    seen, true = on_grid(net, window, points=50), on_grid(net, corners, points=50)
    assert seen.extent == true.extent == (-0.5, 0.5, -0.5, 0.5)
    assert np.array_equal(seen.labels, true.labels)


def test_a_box_need_not_be_a_square():
    assert np.isclose(regions(ReLUNet.random((2, 9, 1), seed=0), ((0, 3), (-1, 1))).areas.sum(), 6.0)


def test_bad_input_gets_one_sentence():
    net = ReLUNet.random((2, 5, 1))
    for window in (0, -1.0, np.nan, np.inf, ((1, 0), (0, 1)), ((0, np.inf), (0, 1)), (1, 2, 3)):
        with pytest.raises(ValueError, match="a window is"):
            regions(net, window)
    flat, dented = [(0, 0), (1, 1), (2, 2)], [(0, 0), (2, 0), (1, 0.1), (1, 2)]
    for window in ([(0, 0), (1, 0)], flat, dented, [(0, 0), (np.nan, 0), (1, 1)], []):
        with pytest.raises(ValueError, match="a window is"):
            regions(net, window)
    star = [(np.cos(a), np.sin(a)) for a in 4 * np.pi * np.arange(5) / 5]
    for around in (star, star[::-1]):
        with pytest.raises(ValueError, match="a window is convex"):
            regions(net, around)
    with pytest.raises(ValueError, match="on one line"):
        plane_through([0, 0, 0], [1, 1, 1], [2, 2, 2])
    with pytest.raises(ValueError, match="point in different directions"):
        on_plane(ReLUNet.random((3, 4, 1)), np.zeros(3), np.ones((2, 3)))
    with pytest.raises(ValueError, match="two inputs"):
        regions(ReLUNet.random((3, 4, 1)))
    with pytest.raises(ValueError, match="two inputs"):
        regions(ReLUNet.random((2, 4, 1), batch=2))
    with pytest.raises(ValueError, match=r"at least 1\d\d faces in hidden layer 3 of 3: .* raise most=100$"):
        regions(network(8), most=100)
    assert len(regions(network(8), most=128)) == 128
    with pytest.raises(ValueError, match=r"at least \d+ faces where classes meet: .* raise most=8$"):
        decision(regions(ReLUNet.random((2, 5, 4), seed=1)), most=8)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN or infinite has no regions"):
            regions(net.with_vector(torch.full_like(net.vector(), bad)))
        with pytest.raises(ValueError, match="three finite points"):
            plane_through([0, 0, 0], [1, bad, 1], [2, 0, 2])
        with pytest.raises(ValueError, match="are finite numbers"):
            on_plane(net, [0, 0], [[1, 0], [bad, 1]])
    with pytest.raises(ValueError, match="at least 1; got 5 and 0"):
        regions(net, most=5, threads=0)
    with pytest.raises(ValueError, match="two inputs"):
        regions(torch.nn.Linear(2, 1))
    for reach in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="reach of a cube is positive and finite"):
            count_regions(net, reach)
    with pytest.raises(ValueError, match="more than most=50 regions"):
        count_regions(ReLUNet.random((4, 200, 1)), 100.0, most=50)  # without counting the millions
    clockwise = regions(net, R.SQUARE[::-1])
    assert len(clockwise) == len(regions(net))


def test_faces_where_all_outputs_are_equal_have_the_first_class_and_no_boundary_between_them():
    """Behind a dead layer two outputs are equal on whole faces, and rounding must not choose between them."""
    tied = 0
    for seed in range(30):
        net = ReLUNet.random((2, 4, 4, 2), init="he", seed=seed)
        finer, winner = decision(regions(net))
        out = net(finer.centres).numpy()
        assert np.array_equal(winner, out.argmax(1)), seed
        tied += int((out[:, 0] == out[:, 1]).sum())
    assert tied > 20


def test_what_is_kept_of_a_complex_cannot_be_overwritten():
    c = regions(ReLUNet.random((2, 3, 1), seed=1))
    for kept in (c.pattern, c.areas):
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = 0
    slopes, offsets = c.maps()
    for some in ([1], slice(1, 2), np.arange(len(c)) == 1):
        assert np.array_equal(c.maps(some)[0], slopes[1:2])
        assert np.array_equal(c.maps(some)[1], offsets[1:2])


def test_a_network_that_is_being_trained_can_be_drawn():
    alone = ReLUNet.random((2, 3, 1), seed=1)
    net = ReLUNet(*([a.clone().requires_grad_() for a in part] for part in (alone.weights, alone.biases)))
    c, same = regions(net), regions(alone)
    assert [line.tolist() for line in boundary(c)] == [line.tolist() for line in boundary(same)]
    for ours, theirs in zip(c.maps(), same.maps()):
        assert np.array_equal(np.asarray(ours), np.asarray(theirs))
    assert wrong_corners(net, "0110") == wrong_corners(alone, "0110")
