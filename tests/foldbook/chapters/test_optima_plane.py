"""XOR in the plane: the cases, the losses for every leak, and minima against plain search around them."""

import functools
import random
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
import sympy as sp

from foldbook.chapters import optima_plane as plane

critical_sets = cache(plane.critical_sets)


def loss(p, a):
    """The loss of parameters `(..., 9)`, written out."""
    x = np.array(plane.CORNERS, dtype=float)
    z = np.stack([x @ p[..., 0:2, None], x @ p[..., 2:4, None]], -1)[..., 0, :] + p[..., None, 4:6]
    v = (np.where(z > 0, z, a * z) * p[..., None, 6:8]).sum(-1) + p[..., 8:9]
    return ((np.array(plane.XOR) - v) ** 2).sum(-1)


def descent(p, a):
    """The most that small changes of one neuron, of its output weight alone or of both, lower the loss."""
    best = 0.0
    for i in (0, 1):
        for z in plane.RAYS:
            g = np.array([*(np.array(plane.CORNERS).T @ np.array(z)) / 4, np.mean(z)])
            for step, less in product((0, 1e-3), (0, 1e-4, -1e-4, 1e-7, -1e-7)):
                q = p.copy()
                q[[2 * i, 2 * i + 1, 4 + i]] += step * g
                q[6 + i] += less
                best = min(best, loss(q, a) - loss(p, a))
    return best


def test_the_cases_are_those_of_random_and_of_small_whole_networks():
    w = np.array(np.meshgrid(*[range(-3, 4)] * 3)).reshape(3, -1)
    z = np.array(plane.CORNERS) @ w[:2] + w[2]
    assert set(map(tuple, np.sign(z).T.tolist())) == set(plane.CASES)
    assert len(plane.CASES) == 51
    assert sum(0 not in p for p in plane.CASES) == 14


def test_every_pair_of_cases_is_the_image_of_one_that_is_kept():
    images = {
        pair
        for p, q in plane.pairs()
        for s in plane.SYMMETRIES
        for pair in [(tuple(p[k] for k in s), tuple(q[k] for k in s))]
        for pair in (pair, pair[::-1])
    }
    assert images == {(p, q) for p in plane.CASES for q in plane.CASES}


def test_the_four_losses_are_all_there_are_for_every_leak_between_0_and_1():
    found = [plane.symbolic_loss(rows) for rows in plane.spans()]
    assert not any(roots for _, roots in found)
    wanted = [sp.sympify(value) for value in plane.losses(plane.LEAK)]
    assert all(any(sp.simplify(value - want) == 0 for want in wanted) for value, _ in found)
    assert len({value for value, _ in found}) == 4


def test_a_span_that_shrinks_at_some_leak_is_noticed():
    rows = ((1, 1, 1, 1), (1, plane.LEAK, 1, 1), (2, 1, 2, 2 + 0 * plane.LEAK))
    assert plane.symbolic_loss(rows)[1] == []  # the third row keeps the rank
    assert plane.symbolic_loss(((1, 1, 1, 1), (2 * plane.LEAK, 1, 1, 1)))[1] == [sp.Rational(1, 2)]


def parameters(witness) -> np.ndarray:
    """w11, w12, w21, w22, b1, b2, o1, o2, c of a witness."""
    z1, z2, o1, o2, c = (np.array(part, dtype=float) for part in witness)
    (w1, b1), (w2, b2) = (((np.array(plane.CORNERS).T @ z) / 4, z.mean()) for z in (z1, z2))
    return np.array([*w1, *w2, b1, b2, o1, o2, c], dtype=float)


@pytest.mark.parametrize("a", [Fraction(0), Fraction(1, 5), Fraction(3, 4)])
def test_minima_are_minima_and_the_others_are_not(a):
    rng, seen = np.random.default_rng(0), Counter()
    known = [float(value) for value in plane.losses(a)]
    for place in critical_sets(a):
        assert min(abs(float(place.loss) - k) for k in known) < 1e-12
        seen[key := (place.loss, place.kind, place.smooth)] += 1
        if seen[key] > 4:
            continue
        p = parameters(place.witness)
        assert loss(p, float(a)) == pytest.approx(float(place.loss), abs=1e-9)
        near = p + 1e-4 * rng.normal(size=(2000, 9)) * rng.choice([0, 1], size=(2000, 9))
        lowest = min(descent(p, float(a)), (loss(near, float(a)) - loss(p, float(a))).min())
        assert (lowest > -1e-13) == (place.kind == "minimum"), (place, lowest)


def test_with_a_leak_smooth_saddles_have_loss_4():
    for a in (Fraction(1, 5), Fraction(3, 4)):
        found = critical_sets(a)
        assert {p.loss for p in found if p.kind == "saddle"} == {4}
        assert {p.loss for p in found if p.kind == "minimum"} == set(plane.losses(a))
        one = [p for p in found if p.loss == plane.losses(a)[2] and p.kind == "minimum"]
        assert one
        assert not any(p.smooth for p in one)


def test_every_set_is_an_image_of_one_that_is_listed_and_no_other_is():
    """Cases and signs drawn at random, without any symmetry: a network is there if and only if an image is listed."""
    a, rng = Fraction(0), random.Random(0)
    listed = {image for p in critical_sets(a) for image in plane._images(p.cases, p.heads)}
    assert len(listed) == sum(p.images for p in critical_sets(a))
    for _ in range(500):
        cases, heads = rng.choices(list(plane.CASES), k=2), rng.choices((1, -1, 0), k=2)
        spanned = [(1,) * 4, *(plane.passed(z, a) for case, o in zip(cases, heads) if o for z in plane.CASES[case])]
        outputs = plane._project(spanned)
        residual = tuple(y - v for y, v in zip(plane.XOR, outputs))
        there = plane._witness(cases, heads, outputs, residual, a) is not None
        assert there == ((tuple(cases), tuple(heads)) in listed)


def coordinates(place):
    """Bases of the values that neurons of the two cases can have, and the witness in them: values, live output weights, c."""
    spans = [sp.Matrix(plane.CASES[k]).rowspace() if any(k) else [] for k in place.cases]
    bases = [np.array(span, dtype=float).reshape(-1, 4).T for span in spans]
    at = [np.linalg.lstsq(b, np.array(z, dtype=float))[0] for b, z in zip(bases, place.witness)]
    return bases, np.concatenate([*at, [o for o in place.witness[2:4] if o], place.witness[4:]])


def equations(place, a, bases, v):
    """What vanishes in a set: derivatives by values, by output weights and by c."""
    t = np.split(v, np.cumsum([b.shape[1] for b in bases]))
    o = np.zeros(2)
    o[np.flatnonzero(place.heads)] = t[2][:-1]
    slopes = [np.where(np.array(k) > 0, 1.0, a) for k in place.cases]
    passed = np.array([slopes[i] * (bases[i] @ t[i]) for i in (0, 1)])
    left = np.array(plane.XOR) - v[-1] - o @ passed
    return np.concatenate([*(o[i] * bases[i].T @ (slopes[i] * left) for i in (0, 1)), passed @ left, [left.sum()]])


@pytest.mark.parametrize("a", [Fraction(0), Fraction(1, 5)])
def test_dimensions_are_those_of_the_tangent_space(a):
    """By the rank of the derivatives of the equations at the witness."""
    for place in critical_sets(a):
        bases, v = coordinates(place)
        at = functools.partial(equations, place, float(a), bases)
        assert np.abs(at(v)).max() < 1e-7
        jacobian = np.array([(at(v + e) - at(v - e)) / 2e-5 for e in 1e-5 * np.eye(len(v))])
        assert place.dimension == len(v) - np.linalg.matrix_rank(jacobian, tol=1e-5), place
