"""Tables, numbers, classes and Fourier measures against brute force, Burnside's lemma and the literature."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.boolean import functions as F

SIZES = st.integers(1, 4)
FUNCTIONS = SIZES.flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2**2**n - 1)))


def images(f: int, n: int):
    """The class of a function, by the definition and without arrays."""
    inputs = list(product((0, 1), repeat=n))
    value = {x: f >> (2**n - 1 - i) & 1 for i, x in enumerate(inputs)}
    for order in permutations(range(n)):
        for flips in product((0, 1), repeat=n):
            for out in (0, 1):
                bits = [value[tuple(x[order[k]] ^ flips[k] for k in range(n))] ^ out for x in inputs]
                yield int("".join(map(str, bits)), 2)


@given(FUNCTIONS)
def test_numbers_tables_and_texts_are_the_same(pair):
    n, f = pair
    t = F.truth_table(f, n)
    assert t.shape == (2**n,)
    assert F.table_number(t) == f
    assert F.table_number("".join(map(str, t))) == f
    assert F.table_number(2 * t.astype(int) - 1) == f
    assert F.table_number(F.truth_tables(np.array([f, f]), n)).tolist() == [f, f]


def test_parity_has_the_number_of_table_3_3():
    assert F.table_number(F.parity(4)) == 27030
    assert F.truth_table("0110 1001").tolist() == F.parity(3).tolist()


@given(FUNCTIONS)
@settings(max_examples=40, deadline=None)
def test_the_orbit_is_what_the_definition_says(pair):
    n, f = pair
    members = sorted(set(images(f, n)))
    assert F.npn_class(f, n).tolist() == members
    assert F.npn_canonical(f, n) == members[0]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_five_inputs_have_the_canonical_form_of_their_orbit(f):
    members = F.npn_class(f, 5)
    assert F.npn_canonical(f, 5) == members[0]
    place = np.searchsorted(F.npn_classes(5), members[0])
    assert F.npn_classes(5)[place] == members[0]
    assert F.npn_class_sizes(5)[place] == len(members)


def test_structured_functions_of_five_inputs_too():
    special = [0, F.table_number(F.parity(5)), 2**31, 2**32 - 2, 0xFF, 0xFFFF, 0x69960000, 0x96696996 ^ 0xFFFF, 0x17E817E8]
    for f in special:
        assert F.npn_canonical(f, 5) == F.npn_class(f, 5)[0]


@pytest.mark.parametrize(("n", "count"), [(1, 2), (2, 4), (3, 14), (4, 222), (5, 616126)])
def test_the_number_of_classes_is_a000370(n, count):
    assert len(F.npn_classes(n)) == F.count_npn_classes(n) == count
    assert int(F.npn_class_sizes(n).sum()) == 2**2**n
    assert (np.diff(F.npn_classes(n).astype(np.int64)) > 0).all()


@given(FUNCTIONS)
def test_fourier_coefficients_expand_the_function(pair):
    n, f = pair
    x = F.corners(n)
    characters = np.array([[np.prod(point[s == 1]) for s in F.corners(n, low=0)] for point in x])
    signs = 2.0 * F.truth_table(f, n) - 1
    assert np.array_equal(characters @ F.fourier(f, n), signs)
    assert np.array_equal(F.fourier(f, n), np.linalg.solve(characters, signs).round(12))
    assert (F.fourier(f, n) ** 2).sum() == 1


def test_influence_from_flips_is_influence_from_coefficients():
    t = F.truth_tables(np.arange(2**16), 4)
    assert np.array_equal((F.fourier(t) ** 2) @ F.corners(4, low=0).sum(1), F.total_influence(t))
    assert F.influences("00001111").tolist() == [1, 0, 0]
    assert F.influences("01010101").tolist() == [0, 0, 1]


def test_entropy_of_known_functions():
    assert F.fourier_entropy(F.parity(5)) == 0
    assert F.fourier_entropy("0001") == 2
    bent = F.corners(4, low=0)
    assert F.fourier_entropy((bent[:, 0] & bent[:, 1]) ^ (bent[:, 2] & bent[:, 3])) == 4
    disjunctions = [F.fourier_entropy(np.arange(2**n) > 0) for n in range(2, 11)]
    published = [2, 2.2169, 1.7012, 1.1324, 0.7012, 0.4161, 0.2402, 0.1360, 0.0759]
    assert np.allclose(disjunctions, published, atol=5e-5)


def test_degree_of_known_functions():
    assert F.degree(0, 3) == 0
    assert F.degree(F.parity(5)) == 5
    assert F.degree("00001111") == 1
    assert F.degree("0111") == 2
    assert F.degree(F.truth_tables([0, 27030], 4)).tolist() == [0, 4]


@given(FUNCTIONS, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_the_measures_belong_to_the_class(pair, random):
    n, f = pair
    other = int(random.choice(F.npn_class(f, n).tolist()))
    assert F.degree(f, n) == F.degree(other, n)
    assert F.total_influence(f, n) == pytest.approx(F.total_influence(other, n), abs=1e-12)
    assert F.fourier_entropy(f, n) == pytest.approx(F.fourier_entropy(other, n), abs=1e-12)


@pytest.mark.parametrize(
    ("f", "n", "words"),
    [
        ([0, 1, 0], None, "2\\*\\*n entries .* got 3"),
        ([1], None, "got 1"),
        ([0, 1, 2, 0], None, "values in {0, 1}"),
        ([-1, 0, 1, 1], None, "values in {0, 1} or in {-1, 1}"),
        ([0.5, 0.5], None, "values in"),
        ("0120", None, "digits 0 and 1"),
        (6, None, "give n as well"),
        (16, 2, "0 to 2\\*\\*4 - 1; got 16"),
        (-1, 2, "got -1"),
        (1.5, 2, "whole number"),
        ("0110", 3, "has 8 values; got 4"),
        (1, 99, "1 to 20 inputs"),
    ],
)
def test_bad_tables_are_told_so(f, n, words):
    with pytest.raises(ValueError, match=words):
        F.truth_table(f, n)


def test_what_is_too_large_is_told_so():
    with pytest.raises(ValueError, match="1 to 5 inputs"):
        F.npn_classes(6)
    with pytest.raises(ValueError, match="1 to 6 inputs"):
        F.npn_class(F.parity(7))
    with pytest.raises(ValueError, match="not a batch"):
        F.npn_class(F.truth_tables([1, 2], 3))
    with pytest.raises(ValueError, match="whole numbers from 0"):
        F.truth_tables([1, 300], 3)


def test_what_a_reader_does_to_the_list_of_classes_stays_with_the_reader():
    for listed in (F.npn_classes, F.npn_class_sizes):
        before = listed(3).tolist()
        listed(3)[:] = 0
        assert listed(3).tolist() == before


def test_nobody_can_write_into_what_a_cache_keeps():
    from foldnet.boolean import orderings

    kept = (
        F.symmetries(2),
        orderings.ordering_weights(3),
        orderings.corner_orders(3),
    )
    for array in kept:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    assert F.npn_class("0110").tolist() == [6, 9]
