"""The optima of one-dimensional XOR, against autograd, brute force over perturbations, SymPy's solver and numpy's eigenvalues."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
import sympy as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments import xor_optima
from foldbook.chapters import optima, optima_symbolic
from foldnet.nets import ReLUNet

FAMILIES = optima.families()
THIRD = Fraction(1, 3)


def _loss(p: torch.Tensor) -> torch.Tensor:
    """Written out once more, for parameters (..., 7): w1, w2, o1, o2, b1, b2, c."""
    w1, w2, o1, o2, b1, b2, c = p.unbind(-1)
    v = lambda x: o1 * torch.relu(w1 * x + b1) + o2 * torch.relu(w2 * x + b2) + c  # noqa: E731
    return (-1 - v(-1)) ** 2 + 2 * (1 - v(0)) ** 2 + (-1 - v(1)) ** 2


def _lowest_nearby(point, radius=0.03, tries=60_000) -> float:
    """How far the loss falls below its value at a point, over random changes of all sizes and of few or many parameters."""
    rng = np.random.default_rng(3)
    steps = rng.normal(size=(tries, 7)) * 10 ** rng.uniform(-2, 0, (tries, 7)) * rng.integers(0, 2, (tries, 7))
    p = torch.tensor([float(t) for t in point], dtype=torch.float64)
    return float((_loss(p + radius * torch.as_tensor(steps)) - _loss(p)).min())


# ---- cases -------------------------------------------------------------------------------------------------------------


def test_13_cases_6_of_them_open_are_all_that_integers_find():
    by_search = {optima.signs(w, b) for w, b in product(range(-4, 5), repeat=2)}
    assert by_search == set(optima.CASES)
    assert len(optima.CASES) == 13
    on = {tuple(z > 0 for z in (b, b + w, b - w)) for w, b in product(range(-4, 5), repeat=2)}
    assert len(on) == len(optima.OPEN) == 6
    assert len(optima.REGIONS) == 36


def test_rays_span_their_case_and_activations_are_linear_there():
    for case, rays in optima.CONES.items():
        for lengths in product((1, 2, 5), repeat=len(rays)):
            w, b = (sum(s * ray[k] for s, ray in zip(lengths, rays)) for k in (0, 1))
            assert optima.signs(w, b) == case
            sums = [sum(s * optima.activation(*ray)[x] for s, ray in zip(lengths, rays)) for x in range(3)]
            assert list(optima.activation(w, b)) == sums
            assert optima.signs(-w, b) == optima.mirrored(case)


def test_orbits_are_13_and_cover_the_36_regions():
    orbits = optima_symbolic.orbits()
    assert sorted(r for orbit in orbits for r in orbit) == sorted(optima.REGIONS)
    assert sorted(map(len, orbits)) == sorted([1, 1, *[2] * 5, *[4] * 6])  # Burnside: (36 + 6 + 4 + 6) / 4 = 13


# ---- steady states -----------------------------------------------------------------------------------------------------


def test_projection_is_weighted_least_squares():
    rng = np.random.default_rng(0)
    for _ in range(20):
        features = rng.integers(-3, 4, (2, 3))
        root = np.sqrt(optima.COPIES)
        solution = np.linalg.lstsq((features * root).T, np.array(optima.TARGETS) * root, rcond=None)[0]
        assert np.allclose(np.array(optima.project(features.tolist()), dtype=float), solution @ features, atol=1e-10)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f"{f.region[0]}|{f.region[1]} {f.live}")
def test_a_witness_is_steady_and_where_it_should_be(family):
    p = torch.tensor([float(t) for t in family.witness], dtype=torch.float64, requires_grad=True)
    value = _loss(p)
    assert torch.autograd.grad(value, p)[0].abs().max() < 1e-12
    assert value.item() == pytest.approx(float(family.loss), abs=1e-12)
    w, o, b = family.witness[:2], family.witness[2:4], family.witness[4:6]
    assert tuple(optima.signs(*node) for node in zip(w, b)) == family.region
    assert tuple(s != 0 for s in o) == family.live


def test_32_regions_have_minima_and_four_have_no_steady_state():
    minima = {f.region for f in FAMILIES if "minimum" in f.kind}
    assert len(minima) == 32
    assert {f.loss for f in FAMILIES} == set(optima.LOSSES)
    empty = set(optima.REGIONS) - {f.region for f in FAMILIES}
    assert empty == {pair for q in ("++-", "+-+") for pair in (("---", q), (q, "---"))}
    assert {f.loss for f in FAMILIES if f.kind == "saddle"} == {Fraction(8, 3)}


@pytest.mark.parametrize("region", [("---", "++-"), ("-+-", "--+"), ("+++", "+++")])
def test_the_general_solver_finds_no_other_loss_and_misses_none_of_ours(region):
    branches = optima_symbolic.solve(region)
    values = {sp.simplify(optima_symbolic.loss(region).subs(branch)) for branch in branches}
    assert values <= {sp.Rational(f.numerator, f.denominator) for f in optima.LOSSES}
    for family in (f for f in FAMILIES if f.region == region):
        point = dict(zip(optima_symbolic.PARAMETERS, map(sp.Rational, family.witness)))
        on_branch = [all(_equal(left, right, point) for left, right in branch.items()) for branch in branches]
        assert any(on_branch)


def _equal(left, right, point) -> bool:
    value = right.subs(point)
    return bool(value.is_finite) and left.subs(point) == value


def test_projections_have_three_losses_whatever_the_cases_of_the_nodes():
    pairs = product(product(optima.CASES, repeat=2), product((True, False), repeat=2))
    assert {optima.loss_of(optima.steady_outputs(*pair)) for pair in pairs} == set(optima.LOSSES)


# ---- minimum or saddle -------------------------------------------------------------------------------------------------


def _points():
    """Steady states of loss 4 and 8/3 with a node in every case that allows it, kinks included."""
    for case, o in product(("---", "+++", "--0", "-0-", "000"), (-1, 0, 1)):
        w, b = _inside(case)
        yield (w, 0, o, 1, b, -2, -o * b if case == "+++" else 0)
    for case in ("++0", "+0+"):
        w, b = _inside(case)
        yield (w, 0, 0, 1, b, -2, 0)
        yield (w, w, 1, -1, b, 3, -b + 3)  # the other node cancels the slope
        yield (w, w, -1, 1, b, 3, b - 3)
    for case, o in product(("---", "-+-", "--0", "-0-", "0+-", "000"), (-1, 0, 1)):
        w, b = _inside(case)
        first = Fraction(-4, 3) - o * max(w + b, 0)
        yield (2, w, first, o, -1, b, THIRD)
        yield (-2, -w, first, o, -1, b, THIRD)
    yield (2, 0, Fraction(-4, 3), 0, -1, 1, THIRD)


def _inside(case):
    rays = optima.CONES[case]
    w, b = (sum(ray[k] for ray in rays) for k in (0, 1))
    return (0, b) if case in ("---", "+++") else (w, b)


@pytest.mark.parametrize("point", list(_points()), ids=str)
def test_minimum_or_saddle_as_a_search_nearby_finds_it(point):
    w, o, b, c = point[:2], point[2:4], point[4:6], point[6]
    outputs = tuple(c + sum(s * max(p * x + q, 0) for s, p, q in zip(o, w, b)) for x in optima.POINTS)
    lower = _lowest_nearby(point)
    assert optima.kind(w, b, o, outputs) == ("saddle" if lower < -1e-9 else "local minimum")


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.loss], ids=lambda f: f"{f.region[0]}|{f.region[1]} {f.live}")
def test_families_are_of_the_kind_they_say(family):
    lower = _lowest_nearby(family.witness, tries=20_000)
    assert (lower < -1e-9) == (family.kind == "saddle")


def test_inertia_counts_as_numpy_does():
    rng = np.random.default_rng(1)
    for rank in (0, 1, 3, 5):
        a = rng.integers(-3, 4, (5, rank))
        signs = rng.choice([-1, 1], rank)
        matrix = (a * signs) @ a.T
        values = np.linalg.eigvalsh(matrix)
        expected = (int((values > 1e-9).sum()), int((values < -1e-9).sum()), int((np.abs(values) <= 1e-9).sum()))
        assert optima_symbolic.inertia(sp.Matrix(matrix)) == expected


def test_hessian_is_autograds():
    for family in FAMILIES[::7]:
        p = torch.tensor([float(t) for t in family.witness], dtype=torch.float64)
        ours = np.array(optima_symbolic.hessian_at(family.region, family.witness).tolist(), dtype=float)
        assert np.allclose(ours, torch.func.hessian(_loss)(p).numpy(), atol=1e-10)


# ---- the way down ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.loss and "local" in f.kind], ids=lambda f: str(f.region))
def test_the_way_down_never_rises(family):
    w1, w2, o1, o2, b1, b2, c = family.witness
    way = torch.tensor(np.array(optima.downhill((w1, w2), (b1, b2), (o1, o2), c), dtype=float))
    t = torch.linspace(0, 1, 101, dtype=torch.float64)[:, None]
    values = torch.cat([_loss(p + t * (q - p)) for p, q in pairwise(way)])
    assert torch.allclose(way[0], torch.tensor([float(s) for s in family.witness], dtype=torch.float64))
    assert float(values.diff().max()) < 1e-12
    assert float(values[-1]) == pytest.approx(0, abs=1e-12)


# ---- networks, and the table -------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-5, 5), min_size=7, max_size=7), st.floats(0.1, 10), st.floats(0.1, 10))
def test_scale_of_a_node_changes_nothing(p, s, t):
    scaled = [p[0] * s, p[1] * t, p[2] / s, p[3] / t, p[4] * s, p[5] * t, p[6]]
    x = torch.linspace(-2, 2, 41, dtype=torch.float64)[:, None]
    assert torch.allclose(optima.network(p)(x), optima.network(scaled)(x), rtol=1e-9, atol=1e-9)


def test_losses_cases_and_levels_of_a_batch():
    points = np.array([[float(t) for t in f.witness] for f in FAMILIES])
    nets = optima.network(points)
    assert torch.equal(optima.parameters(nets), torch.as_tensor(points))
    assert torch.allclose(optima.losses(nets), _loss(torch.as_tensor(points)))
    assert [optima.LOSSES[k] for k in optima.levels(nets)] == [f.loss for f in FAMILIES]
    assert [tuple(optima.CASES[k] for k in row) for row in optima.node_cases(nets)] == [f.region for f in FAMILIES]
    kink = optima.network([1.0, -1.0, 1.0, 1.0, 1e-9, -1.0 + 1e-9, 0.0])
    assert [optima.CASES[k] for k in optima.node_cases(kink)] == ["0+-", "--0"]
    assert [optima.CASES[k] for k in optima.node_cases(kink, tol=0.0)] == ["++-", "--+"]
    assert optima.levels(optima.network([0.0] * 6 + [1.0])) == -1


def test_table_3_2_row_by_row():
    for row in optima_symbolic.TABLE:
        assert not any(optima_symbolic.residuals(row))
    assert len(optima_symbolic.distinct_rows()) == 14
    row = optima_symbolic.TABLE[0]
    wrong = optima_symbolic.Row(row.loss, row.region, {**row.equations, optima_symbolic.c: sp.Integer(2)}, 0)
    assert any(optima_symbolic.residuals(wrong))
    nets = optima.network([[float(t) for t in f.witness] for f in FAMILIES])
    hits = optima_symbolic.matches(nets, row, 1e-9)
    assert [f.region for f, hit in zip(FAMILIES, hits) if hit] == [row.region]
    moved = optima.network(optima.parameters(nets) + 0.01)
    assert not optima_symbolic.matches(moved, row, 1e-3).any()


def test_signs_alone_foretell_the_loss_of_trained_networks():
    nets = xor_optima.train(xor_optima.initial(networks=300))
    pairs = optima.node_cases(nets)
    foretold = [optima.loss_of(optima.steady_outputs([optima.CASES[k] for k in pair], (True, True))) for pair in pairs]
    assert np.mean([optima.LOSSES[k] == loss for k, loss in zip(optima.levels(nets), foretold)]) > 0.98


def test_starts_are_the_same_for_fewer_networks_and_differ_between_blocks():
    some = xor_optima.initial(networks=50)
    assert torch.equal(some.vector(), xor_optima.initial().vector()[:50])
    assert not torch.equal(some.vector(), xor_optima.initial(block=1, networks=50).vector())
    assert float(xor_optima.initial("zero", networks=50).biases[0].abs().max()) == 0
    cells = xor_optima.cells()
    assert len(cells) == 25
    assert len({str(c) for c in cells}) == 25


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: optima.network([1.0, 2.0]), "7 parameters"),
        (lambda: optima.parameters(ReLUNet.random((1, 3, 1))), "1-2-1"),
        (lambda: optima.losses(ReLUNet.random((2, 2, 1))), "points have shape"),
        (lambda: optima.kind((0, 0), (1, 1), (1, 1), (2, 2, 2)), "loss 0, 8/3 or 4"),
        (lambda: optima.downhill((3, -3), (-1, -1), (-1, -1), 1), "poor minimum"),
        (lambda: xor_optima.initial("ones"), "biases are"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()
