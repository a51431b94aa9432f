"""Tropical forms and tables of pieces against exact evaluation of the network, hulls by hand and the engine of the plane."""

from fractions import Fraction as Q
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from foldnet.boolean.exact import ExactNet
from foldnet.geometry._affine_rows import at
from foldnet.geometry.pieces import Piece, linear_map, lookup, pieces
from foldnet.geometry.regions import regions
from foldnet.geometry.tropical import Polynomial, Rational, max_min, max_min_at, tropical
from foldnet.nets import ReLUNet

XOR = ReLUNet([[[1.0, 1.0], [1.0, 1.0]], [[1.0, -2.0]]], [[2.0, 0.0], [-1.0]])


def whole(sizes, seed, leak=0.0, most=3):
    """A network with whole weights."""
    rng = np.random.default_rng(seed)
    shapes = list(zip(sizes[1:], sizes))
    weights = [rng.integers(-most, most + 1, shape).astype(float) for shape in shapes]
    return ReLUNet(weights, [rng.integers(-most, most + 1, out).astype(float) for out, _ in shapes], leak)


def points(dimension, seed=0, count=60):
    rng = np.random.default_rng(seed)
    return [[Q(int(a), 7) for a in row] for row in rng.integers(-40, 41, (count, dimension))]


@pytest.mark.parametrize(("sizes", "leak"), [((1, 3, 3, 1), 0.0), ((2, 3, 2, 1), 0.0), ((3, 3, 1), 0.0), ((2, 2, 2, 1), 0.25)])
def test_tropical_form_is_the_network(sizes, leak):
    for seed in range(4):
        net = whole(sizes, seed, leak)
        exact, (f,), (raw,) = ExactNet.of(net), tropical(net), tropical(net, prune=False)
        assert all(f(x) == exact(x) == raw(x) for x in points(sizes[0], seed))
        assert f.size <= raw.size


def test_several_outputs_have_a_quotient_each():
    net = whole((2, 3, 2), 5)
    for k, f in enumerate(tropical(net)):
        one = ExactNet.of(ReLUNet([net.weights[0], net.weights[1][k : k + 1]], [net.biases[0], net.biases[1][k : k + 1]]))
        assert all(f(x) == one(x) for x in points(2))


def test_xor_by_hand():
    (f,) = tropical(XOR)
    assert set(f.top.terms) == {(0, 0, -1), (1, 1, 1)}
    assert set(f.bottom.terms) == {(0, 0, 0), (2, 2, 0)}


@pytest.mark.parametrize("terms", [1, 2, 5, 8])
def test_a_quotient_becomes_a_network(terms):
    rng = np.random.default_rng(terms)
    f = Rational(*(Polynomial(tuple(map(tuple, rng.integers(-5, 6, (terms, 3)).tolist()))) for _ in range(2)))
    net = f.network()
    exact = ExactNet.of(net)
    assert all(exact(x) == f(x) for x in points(2, terms))
    assert len(net.sizes) - 2 == max(1, int(np.ceil(np.log2(max(f.size)))))


def test_pruning_keeps_the_upper_hull():
    rng = np.random.default_rng(1)
    for _ in range(10):
        p = Polynomial(tuple(map(tuple, rng.integers(-6, 7, (12, 2)).tolist())))
        # in one variable: a term counts if it is alone the largest between two neighbouring crossings
        crossings = sorted({Q(b[1] - a[1], a[0] - b[0]) for a, b in product(p.terms, p.terms) if a[0] != b[0]})
        ends = [crossings[0] - 1, *((a + b) / 2 for a, b in pairwise(crossings)), crossings[-1] + 1]
        largest = {max(p.terms, key=lambda row: row[0] * x + row[1]) for x in ends}
        assert set(p.pruned().terms) == largest


def test_semiring():
    p, q, r = (Polynomial(tuple(map(tuple, np.random.default_rng(k).integers(-4, 5, (3, 3)).tolist()))) for k in range(3))
    for x in points(2):
        assert (p + q)(x) == max(p(x), q(x))
        assert (p * q)(x) == p(x) + q(x)
        assert (p * (q + r))(x) == max(p(x) + q(x), p(x) + r(x))
        assert (p ** Q(3, 2))(x) == Q(3, 2) * p(x)
    with pytest.raises(ValueError, match="exponents >= 0"):
        p**-1
    with pytest.raises(ValueError, match="at least one term"):
        Polynomial(())


@pytest.mark.parametrize("leak", [0.0, 0.5])
def test_pieces_are_the_faces_of_the_plane(leak):
    for seed in range(4):
        net = whole((2, 4, 3, 1), seed, leak)
        window = 1000 * np.array([[-1.0, -1.02], [1.01, -1.0], [1.0, 1.03], [-1.04, 1.0]])
        found = pieces(net)
        assert {p.pattern for p in found} == set(map(tuple, regions(net, window).pattern.tolist()))
        exact = ExactNet.of(net)
        assert all(lookup(found, x) == [exact(x)] for x in points(2, seed))


def test_pieces_in_three_dimensions_and_their_bits():
    net = whole((3, 3, 3, 2), 2)
    found = pieces(net)
    for piece in found:
        x = piece.middle()
        assert tuple(net.pattern(x[None])[0].tolist()) == piece.pattern
        assert torch.allclose(net.jacobian(x[None])[0], torch.tensor(np.array(piece.jacobian, dtype=float)))
        sides = np.array(piece.sides, dtype=float)
        assert (sides @ [*x, 1] >= 0).all()
        assert float(piece.slack(x)) == pytest.approx((sides @ [*x, 1]).min())
        assert linear_map(net, piece.pattern) == piece
        assert np.allclose(net(x[None])[0], np.array(piece.jacobian, float) @ x + np.array(piece.constant, float))
    assert len({p.pattern for p in found}) == len(found)


def test_units_that_see_nothing():
    net = ReLUNet([[[0.0], [0.0], [1.0]], [[1.0, 1.0, 1.0]]], [[0.0, -1.0, 0.0], [3.0]])
    assert {p.pattern for p in pieces(net)} == {(False, False, True), (False, False, False)}


@pytest.mark.parametrize("seed", range(3))
def test_round_trip_through_all_five_forms(seed):
    net = whole((2, 2, 2, 1), seed, most=2)
    exact, table = ExactNet.of(net), pieces(net)
    lists = max_min(table)
    f = Rational.of_max_min(lists)
    back, again = ExactNet.of(f.network()), f.pieces()
    for x in points(2, seed):
        assert [exact(x)] == lookup(table, x) == [max_min_at(lists, x)] == [f(x)] == [back(x)] == lookup(again, x)


def test_a_jump_is_refused():
    step = [Piece((), ((Q(0), Q(0)),), ((Q(-1), Q(0)),)), Piece((), ((Q(0), Q(1)),), ((Q(1), Q(0)),))]
    with pytest.raises(ValueError, match="they jump"):
        max_min(step)
    ramp = [
        Piece((), ((Q(0), Q(0)),), ((Q(-1), Q(0)),)),
        Piece((), ((Q(1), Q(-1, 2)),), ((Q(1), Q(0)), (Q(-1), Q(8)))),  # it jumps down by a half at 0, far from its middle
        Piece((), ((Q(0), Q(15, 2)),), ((Q(1), Q(-8)),)),
    ]
    with pytest.raises(ValueError, match="they jump"):
        max_min(ramp)


def test_a_piece_that_other_maps_cross_is_cut_first():
    net = whole((2, 4, 3, 1), 1)
    exact, lists = ExactNet.of(net), max_min(pieces(net))
    assert all(max_min_at(lists, x) == exact(x) for x in [[-53, 59], *points(2)])


def test_numpys_whole_numbers_stay_exact():
    row, x = tuple(map(Q, (0.1, 0.3, 0.7))), [2000, 30_000]
    for kind in (np.int16, np.int32, np.int64):
        assert at(row, np.array(x, dtype=kind)) == at(row, x)
        assert Polynomial(tuple(map(tuple, np.array([[2000, 30_000, 1]], dtype=kind))))(x) == 2000**2 + 30_000**2 + 1
        assert (Polynomial((row,)) ** kind(2))(x) == 2 * at(row, x)


def test_refusals():
    net = whole((2, 3, 1), 0)
    with pytest.raises(ValueError, match="one network"):
        pieces(ReLUNet.random((2, 3, 1), batch=2))
    with pytest.raises(ValueError, match="NaN"):
        tropical(net.with_vector(net.vector() * np.nan))
    with pytest.raises(ValueError, match="3 hidden neurons"):
        linear_map(net, [True])
    with pytest.raises(ValueError, match="more than 2 pieces"):
        pieces(net, most=2)
    with pytest.raises(ValueError, match="2 coordinates"):
        tropical(net)[0]([1])
    with pytest.raises(ValueError, match="no piece"):
        lookup([], [0, 0])
    many = Polynomial(tuple((k, k * k) for k in range(200)))
    with pytest.raises(ValueError, match="limit of 20000"):
        many * many
    with pytest.raises(ValueError, match="same inputs; got some with 1 and 2"):
        Polynomial(((1, 2), (1, 2, 3)))
    with pytest.raises(ValueError, match="same inputs; got polynomials of 1 and 2"):
        Polynomial(((1, 2),)) * Polynomial(((1, 2, 3),))


def test_too_many_pieces_are_refused_before_a_layer_is_done():
    """Forty neurons in three dimensions have ten thousand pieces: to count them all would take minutes."""
    with pytest.raises(ValueError, match="more than 5 pieces"):
        pieces(ReLUNet.random((3, 40, 1), seed=0), most=5)
