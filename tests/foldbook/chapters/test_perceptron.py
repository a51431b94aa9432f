"""The neuron that fires against an adaptive solver, and weights made equal on orbits."""

from itertools import permutations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from foldbook.chapters import perceptron
from foldbook.chapters.perceptron import averaged_weights, counted_orders, cyclic_shifts
from foldnet.boolean.perceptron import subsets


def test_averages_are_equal_on_orbits_and_count_ones():
    of, rng = subsets(4), np.random.default_rng(0)
    group = list(permutations(range(4)))
    mean = averaged_weights(rng.normal(size=16), of, group)
    for size in range(5):
        assert np.ptp([v for v, s in zip(mean, of) if len(s) == size]) < 1e-12
    cyclic = dict(zip(of, averaged_weights(np.arange(16.0) ** 2, of, cyclic_shifts(4))))
    assert cyclic[0, 1] == cyclic[1, 2] == cyclic[2, 3] == cyclic[0, 3] != cyclic[0, 2] == cyclic[1, 3]
    with pytest.raises(ValueError, match=r"not closed under the group: \[1\]"):
        averaged_weights([1.0], [(0,)], cyclic_shifts(3))


def by_an_adaptive_solver(current, duration):
    def up(_, y):
        return y[0]

    up.direction = 1
    run = solve_ivp(
        lambda t, y: perceptron.hodgkin_huxley(y, current),
        (0, duration),
        perceptron.resting_state(),
        events=up,
        rtol=1e-8,
        atol=1e-8,
    )
    return run.t_events[0]


def test_a_resting_neuron_rests():
    assert np.abs(perceptron.hodgkin_huxley(perceptron.resting_state(), 0.0)).max() < 1e-2
    assert perceptron.resting_state()[1:] == pytest.approx([0.0529, 0.5961, 0.3177], abs=1e-4)  # the values of the textbooks


def test_rates_are_those_of_an_adaptive_solver():
    rates = perceptron.firing_rates([0.0, 6.0, 6.5, 10.0], 200.0)
    assert rates[:2].tolist() == [0, 0]
    for current, rate in zip((6.5, 10.0), rates[2:]):
        late = by_an_adaptive_solver(current, 200.0)
        late = late[late > 100]
        assert rate == pytest.approx(1000 * (len(late) - 1) / (late[-1] - late[0]), rel=1e-4)


def test_the_gates_have_no_hole():
    """The two rates that are 0 / 0 at one voltage pass through it smoothly."""
    for v in (-40.0, -55.0):
        below, at, above = (perceptron.hodgkin_huxley(np.array([v + d, 0.1, 0.5, 0.3]), 0.0) for d in (-1e-3, 0.0, 1e-3))
        assert at == pytest.approx((below + above) / 2, abs=1e-4)


def test_orders_of_all_functions_of_up_to_three_bits():
    assert counted_orders(2) == [2, 12, 2]  # all but XOR and its opposite have a line
    three = counted_orders(3)
    assert sum(three) == 256
    assert three[0] + three[1] == 104  # threshold functions of three bits, known since the 1960s
    assert three[3] == 2  # parity and its opposite
