"""Networks on the cube against truth tables."""

from fractions import Fraction as F

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.boolean.constructions import (
    dnf_network,
    minterm_network,
    parity_network,
    width_two_network,
    width_two_with_changes,
    wrong_corners,
)
from foldnet.boolean.exact import exact_spline
from foldnet.boolean.functions import corners, parity, truth_tables

literals = st.integers(1, 6).flatmap(lambda i: st.sampled_from([i, -i]))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(literals, max_size=5), min_size=1, max_size=8))
def test_a_normal_form_is_its_network(clauses):
    net = dnf_network(clauses, 6)
    assert net.sizes == (6, len(clauses), 1)
    true = [any(all(x[abs(i) - 1] == (i > 0) for i in clause) for clause in clauses) for x in corners(6, low=0)]
    assert wrong_corners(net, np.array(true).astype(int)) == 0


@pytest.mark.parametrize(("n", "layers"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 4)])
def test_layers_of_minterms_compute_every_function(n, layers):
    every = truth_tables(np.arange(2**2**n), n)
    nets = minterm_network(every, layers)
    assert set(nets.sizes[1:-1]) == {n + 2 ** (n - 1) // layers + 1}
    assert len(nets.sizes) == layers + 2
    assert wrong_corners(nets, every).tolist() == [0] * len(every)
    assert wrong_corners(nets, 1 - every).tolist() == [2**n] * len(every)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([F(0), F(1, 10), F(1, 2)]))
def test_width_two_computes_every_function(n, seed, leak):
    t = np.random.default_rng(seed).integers(0, 2, 2**n)
    net = width_two_network(t, leak)
    assert all((net(c) > 0) == bool(v) and net(c) != 0 for c, v in zip(corners(n, low=0).tolist(), t))
    changes = int((np.diff(t) != 0).sum())
    assert net.sizes == (n, *[2] * max(1, changes - 1), 1)
    assert wrong_corners(net.float(), t) == 0


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.fractions(0, 50, max_denominator=1000), min_size=1, max_size=8, unique=True).map(sorted), st.sampled_from([1, -1])
)
def test_width_two_changes_sign_anywhere(zeros, first):
    net = width_two_with_changes(zeros, start=-1, leak=F(1, 5), first=first)
    assert [z for z in exact_spline(net).sign_changes() if z > -1] == zeros
    assert net(-1) * first > 0


@pytest.mark.parametrize(("n", "widths"), [(4, (3,)), (4, (2, 2)), (8, (2, 2, 2)), (8, (2, 3)), (9, (3, 3)), (12, (3, 3))])
def test_parity_on_every_corner(n, widths):
    net = parity_network(n, widths).float()
    assert net.sizes == (n, *widths, 1)
    assert wrong_corners(net, parity(n)) == 0


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: dnf_network([], 3), "at least one clause"),
        (lambda: dnf_network([(1, -4)], 3), "literals from 1 to 3"),
        (lambda: minterm_network("0110", 3), "divides"),
        (lambda: width_two_with_changes([1, 1]), "duplicates"),
        (lambda: width_two_with_changes([-1]), "right of the start"),
        (lambda: width_two_with_changes([1], first=0), "1 or -1; got 0"),
        (lambda: parity_network(5, (2, 2)), "1 to 4 bits"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()


def test_a_batch_of_functions_has_a_count_each():
    every = truth_tables(np.arange(16), 2)
    assert wrong_corners(minterm_network(every), every).shape == (16,)
    assert torch.is_tensor(minterm_network("0110").weights[0])
