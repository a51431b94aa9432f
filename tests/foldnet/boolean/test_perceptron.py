"""The perceptron against plain twins, and its proofs against brute force."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from foldnet.boolean import perceptron
from foldnet.boolean.functions import corners, parity, truth_table
from foldnet.boolean.perceptron import (
    find_separation,
    mask_features,
    novikoff_bound,
    perceptron_order,
    subsets,
    train_perceptron,
    widest_margin,
)


def sample_by_sample(x, t, rate, passes):
    """Equation 2.4 of S2 as it is printed, in fractions: samples of the mistakes, last weights, passes, whether it settled."""
    w, wrong = [Fraction(0)] * (len(x[0]) + 1), []
    for k in range(passes):
        before = len(wrong)
        for i, row in enumerate(x):
            z = [*row, 1]
            f = 1 if sum(a * b for a, b in zip(w, z)) >= 0 else -1
            w = [a + rate * (t[i] - f) * b for a, b in zip(w, z)]
            wrong += [i] * (f != t[i])
        if len(wrong) == before:
            return wrong, w, k + 1, True
    return wrong, w, passes, False


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 15))
def test_the_fast_way_makes_the_mistakes_of_the_printed_one(seed, d, n):
    rng = np.random.default_rng(seed)
    x, t = rng.integers(-5, 6, (n, d)), rng.choice([-1, 1], n)
    wrong, w, passes, done = sample_by_sample(x.tolist(), t.tolist(), Fraction(1, 2), 30)
    run = train_perceptron(x, t, rate=0.5, most_passes=30)
    assert list(run.samples) == wrong
    assert (run.passes, run.done, run.mistakes) == (passes, done, len(wrong))
    assert run.weights[-1].tolist() == [float(v) for v in w]
    assert len(run.weights) == len(wrong) + 1


def test_it_starts_where_it_is_told_and_the_rate_does_not_matter_from_zero():
    x, t = np.array([[2.0, 1.0], [-1.0, 3.0], [1.0, -4.0]]), np.array([1, -1, 1])
    assert (
        train_perceptron(x, t, rate=0.5).samples
        == train_perceptron(x, t, rate=0.25).samples
        == train_perceptron(x, t, rate=1.0).samples
    )
    done = train_perceptron(x, t)
    assert train_perceptron(x, t, start=done.weights[-1]).mistakes == 0
    assert train_perceptron(x, t, start=[0.0, 0.0, -5.0]).samples[0] == 0


@pytest.mark.parametrize("seed", range(8))
def test_the_widest_margin_is_that_of_a_plain_optimizer(seed):
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(12, 2)), rng.normal(size=3)
    t = np.where(x @ w[:2] + w[2] >= 0, 1, -1)
    z = np.c_[x, np.ones(12)] * t[:, None]
    unit, margin = widest_margin(x, t)
    assert np.linalg.norm(unit) == pytest.approx(1)
    assert (z @ unit).min() == pytest.approx(margin)
    plain = minimize(lambda v: v @ v, 50 * w, constraints={"type": "ineq", "fun": lambda v: z @ v - 1}, options={"maxiter": 500})
    assert margin == pytest.approx(1 / np.linalg.norm(plain.x), rel=1e-4)
    assert (
        train_perceptron(x, t, most_passes=10**5).mistakes
        <= novikoff_bound(x, t)
        == pytest.approx((z * z).sum(1).max() / margin**2)
    )


def test_classes_that_no_line_separates_have_no_margin():
    x, t = corners(2, low=0), np.array([-1, 1, 1, -1])
    assert widest_margin(x, t)[1] == 0
    assert novikoff_bound(x, t) == np.inf
    assert not train_perceptron(x, t, most_passes=50).done


def brute_force(features, positive, strict):
    """Whether some weights from -4 to 4 separate: enough for few small features."""
    sums = np.array(list(product(range(-4, 5), repeat=features.shape[1]))) @ features.T
    yes = sums > 0 if strict else sums >= 0
    return bool(np.where(positive, yes, sums < 0).all(1).any())


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_separable_is_what_brute_force_finds(strict, constant):
    z = mask_features(2, subsets(2) if constant else subsets(2)[1:])[:, : 3 if constant else 2]
    for positive in product([False, True], repeat=4):
        answer = find_separation(z, positive, strict)
        assert bool(answer) == brute_force(z, np.array(positive), strict)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_every_answer_carries_its_proof(seed, strict):
    rng = np.random.default_rng(seed)
    z, positive = rng.integers(-3, 4, (9, 3)), rng.random(9) < 0.5
    answer = find_separation(z, positive, strict)
    assert (answer.weights is None) != (answer.balance is None)
    if answer:
        sums = z @ np.array(answer.weights)
        assert (sums[~positive] < 0).all()
        assert (sums[positive] > 0 if strict else sums[positive] >= 0).all()
    else:
        c = np.array(answer.balance)
        assert c.min() >= 0
        assert c[~positive].any() or (strict and c.any())
        assert (c[positive] @ z[positive] == c[~positive] @ z[~positive]).all()


def test_xor_is_the_function_of_two_bits_without_a_line():
    z = np.c_[corners(2, low=0), np.ones(4, int)]
    answers = {f: find_separation(z, truth_table(f, 2) == 1) for f in range(16)}
    assert {f: a.balance for f, a in answers.items() if not a} == {6: (1, 1, 1, 1), 9: (1, 1, 1, 1)}


def test_orders_count_threshold_functions_and_parity_is_alone():
    counts = np.bincount([perceptron_order(f, 3) for f in range(256)])
    assert counts[0] + counts[1] == 104  # OEIS A000609
    assert counts[3] == 2
    assert [perceptron_order(parity(n)) for n in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert perceptron_order([0, 0, 0, 1, 0, 1, 1, 1]) == 1  # majority


def test_masks_are_products_of_bits():
    of = [(), (0,), (1, 2)]
    plain = [[1, x, y * z] for x, y, z in product((0, 1), repeat=3)]
    assert mask_features(3, of).tolist() == plain
    assert len(subsets(5)) == 32
    assert subsets(3, 1) == [(), (0,), (1,), (2,)]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: train_perceptron([[1.0]], [0]), "a class is 1 or -1; got 0"),
        (lambda: train_perceptron([1.0, 2.0], [1, -1]), r"samples have shape \(n, d\)"),
        (lambda: train_perceptron([[1.0]], [1], start=[0.0]), "need 2 weights, the bias last"),
        (lambda: find_separation([[0.5]], [True]), "features are whole numbers"),
        (lambda: perceptron_order([[0, 1], [1, 0]]), "one function has an order"),
    ],
)
def test_errors_are_sentences(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_predict_counts_zero_as_class_one():
    assert perceptron.predict([[1, -1], [1, -2]], [1, 1]).tolist() == [1, -1]


def test_a_margin_that_rounding_hides_is_refused():
    """The class changes between two neighbours far from 0: a line separates them, with a margin of about 1 / (2 c)."""
    t = np.array([-1, 1])
    near = np.array([[20.0], [21.0]])
    assert widest_margin(near, t)[1] == pytest.approx(0.5 / np.hypot(20.5, 1), rel=1e-6)
    with pytest.raises(ValueError, match="rounding hides the margin"):
        novikoff_bound(np.array([[1e6], [1e6 + 1]]), t)
