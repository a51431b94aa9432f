"""Counts against exact sums, Knuth's table and OEIS; threshold gates against truth tables."""

from math import comb, log2

import numpy as np
import pytest

from foldbook.chapters.capacity import (
    ThresholdParity,
    cube_squares,
    functions_by_gates,
    least_hidden_units,
    least_threshold_units,
    log2_circuits,
    log2_dichotomies,
    log2_network_functions,
    parity_solvable,
    threshold_patterns,
)
from foldnet.boolean.functions import corners, parity


@pytest.mark.parametrize("n", range(1, 13))
def test_threshold_parity_and_its_gates(n):
    circuit = ThresholdParity(n)
    assert np.array_equal(circuit(corners(n, low=0)), parity(n))
    assert circuit.block % 2 == 0
    assert sum(circuit.gates) <= 2 * n**0.5 + 1


def test_dichotomies_are_bounded_by_covers_count_from_above():
    for points, inputs in [(16, 4), (64, 6), (1024, 10), (1024, 100)]:
        exact = log2(2 * sum(comb(points - 1, k) for k in range(inputs + 1)))
        assert exact <= log2_dichotomies(points, inputs) <= exact + 3 * log2(points)
    assert log2_dichotomies(16, 4) >= log2(1882)


def test_small_circuits_as_in_knuths_table():
    """The Art of Computer Programming 7.1.2: functions of three and four variables by the least number of gates."""
    assert sum(functions_by_gates(3, 4)) == 2**8
    assert functions_by_gates(4, 3) == [10, 60, 456, 2474]
    assert log2_circuits(4, 3) >= log2(3000)
    assert 2**8 < log2_circuits(8, 31) < 2**8 + 8  # Shannon's bound: not yet decided for eight bits, decided for nine
    assert log2_circuits(9, 56) < 2**9


def test_counting_bounds():
    assert log2_network_functions(14, [2] * 14) == pytest.approx(15230.07, abs=0.01)
    assert log2_network_functions(14, [2] * 14) < 2**14
    assert log2_network_functions(3, [4]) >= 8  # all 256 functions are within reach there
    assert least_threshold_units(3) <= 3  # three units are enough for three bits: parity as a difference of thresholds
    assert least_hidden_units(10) < least_hidden_units(12)


def test_half_spaces_and_squares():
    assert [len(threshold_patterns(n)) for n in (1, 2, 3, 4)] == [4, 14, 104, 1882]  # OEIS A000609
    assert [len(cube_squares(n)) for n in (2, 3, 4)] == [1, 6, 24]


@pytest.mark.parametrize(
    ("n", "width", "leak", "solvable"), [(1, 1, 0, 1), (2, 1, 0, 0), (2, 2, 0, 1), (3, 1, "1/2", 0), (3, 2, "1/10", 1)]
)
def test_how_many_nodes_parity_needs_in_any_direction(n, width, leak, solvable):
    assert parity_solvable(n, width, leak)[0] == bool(solvable)


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: ThresholdParity(4)(np.ones((2, 8))), r"rows of 4 zeros and ones are needed; got shape \(2, 8\)"),
        (lambda: ThresholdParity(4)([[0, 1, 2, 1]]), "zeros and ones"),
        (lambda: log2_network_functions(3, []), "at least one node"),
        (lambda: functions_by_gates(5, 2), "1 to 4 inputs"),
        (lambda: threshold_patterns(5), "1 to 4 inputs"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()
