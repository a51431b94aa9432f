"""What boolean/perceptron has beyond the package: a neuron that fires, weights made equal under a group, orders counted.

The Hodgkin-Huxley equations, from which the ReLU is said to come (S2-fig-2.1): voltages in mV, times in ms, currents in uA/cm^2,
with Hodgkin and Huxley's constants for a resting voltage of -65 mV.

>>> from foldbook.chapters.perceptron import firing_rates
>>> firing_rates([5.0, 10.0], 200.0).round().tolist()  # spikes per second at two currents
[0.0, 68.0]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foldnet.boolean.functions import npn_class, npn_classes
from foldnet.boolean.perceptron import perceptron_order

SODIUM, POTASSIUM, LEAK = (120.0, 50.0), (36.0, -77.0), (0.3, -54.387)  # conductance and reversal voltage of each current
REST = -65.0


def hodgkin_huxley(state: np.ndarray, current) -> np.ndarray:
    """Time derivatives of voltage and gates, `(4, ...)` as the state `v, m, h, n`, under an injected current."""
    v, m, h, n = state
    opening = _rise(v + 40, 0.1), 0.07 * np.exp(-(v + 65) / 20), _rise(v + 55, 0.01)
    closing = 4 * np.exp(-(v + 65) / 18), 1 / (1 + np.exp(-(v + 35) / 10)), 0.125 * np.exp(-(v + 65) / 80)
    ions = SODIUM[0] * m**3 * h * (v - SODIUM[1]) + POTASSIUM[0] * n**4 * (v - POTASSIUM[1]) + LEAK[0] * (v - LEAK[1])
    return np.stack([current - ions, *(a * (1 - g) - b * g for a, b, g in zip(opening, closing, (m, h, n)))])


def _rise(v, factor: float) -> np.ndarray:
    """`factor * v / (1 - exp(-v / 10))`, which is `10 * factor` at 0."""
    small = np.abs(v) < 1e-6
    return np.where(small, 10 * factor + factor * v / 2, factor * v / -np.expm1(-np.where(small, 1.0, v) / 10))


def resting_state() -> np.ndarray:
    """The state at the resting voltage, with every gate where it settles there: `(4,)`."""
    shut, open_ = (
        hodgkin_huxley(np.array([REST, 0.0, 0.0, 0.0]), 0.0)[1:],
        hodgkin_huxley(np.array([REST, 1.0, 1.0, 1.0]), 0.0)[1:],
    )
    return np.array([REST, *(shut / (shut - open_))])


def simulate_neuron(currents, duration: float = 100.0, step: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Times `(k,)` and voltages `(k, *currents.shape)` of neurons that get constant currents from time 0 on (Runge-Kutta)."""
    currents = np.asarray(currents, dtype=float)
    times = step * np.arange(round(duration / step) + 1)
    state = np.broadcast_to(resting_state().reshape(4, *[1] * currents.ndim), (4, *currents.shape)).copy()
    voltages = np.empty((len(times), *currents.shape))
    voltages[0] = state[0]
    for k in range(1, len(times)):
        a = hodgkin_huxley(state, currents)
        b = hodgkin_huxley(state + step / 2 * a, currents)
        c = hodgkin_huxley(state + step / 2 * b, currents)
        d = hodgkin_huxley(state + step * c, currents)
        state = state + step / 6 * (a + 2 * b + 2 * c + d)
        voltages[k] = state[0]
    return times, voltages


def firing_rates(currents, duration: float = 500.0, step: float = 0.05) -> np.ndarray:
    """Spikes per second of neurons that go on firing under constant currents `(n,)`, and 0 for those that fall silent.

    From the intervals between the spikes of the second half; a spike is the voltage passing 0 on its way up.
    """
    times, voltages = simulate_neuron(currents, duration, step)
    rates = np.zeros(voltages.shape[1])
    for k, v in enumerate(voltages.T):
        up = np.flatnonzero((v[:-1] < 0) & (v[1:] >= 0))
        spikes = times[up] + step * v[up] / (v[up] - v[up + 1])
        late = spikes[spikes > duration / 2]
        if len(late) > 1 and duration - late[-1] < 1.5 * (late[-1] - late[-2]):
            rates[k] = 1000 * (len(late) - 1) / (late[-1] - late[0])
    return rates


# ---- masks under a group of permutations -----------------------------------------------------------------------------------


def averaged_weights(weights, of: Sequence[tuple[int, ...]], group: Sequence[Sequence[int]]) -> np.ndarray:
    """Weights of masks made equal on each orbit: the mean over a group of permutations of the positions.

    `weights[k]` belongs to the position set `of[k]`; a permutation `g` takes position i to `g[i]`, and `of` has to be closed.
    """
    place = {frozenset(s): k for k, s in enumerate(of)}
    try:
        moved = [[place[frozenset(g[i] for i in s)] for s in of] for g in group]
    except KeyError as missing:
        raise ValueError(f"the masks are not closed under the group: {sorted(missing.args[0])} is not among them") from None
    return np.mean([np.asarray(weights, dtype=float)[row] for row in moved], axis=0)


def cyclic_shifts(n: int) -> list[tuple[int, ...]]:
    """The cyclic shifts of n positions, as permutations."""
    return [tuple((i + k) % n for i in range(n)) for k in range(n)]


def counted_orders(bits: int) -> list[int]:
    """How many functions of so many bits have order 0, 1, 2, ...: one of each class is asked, and the class is counted."""
    found = [0] * (bits + 1)
    for f in npn_classes(bits).tolist():
        found[perceptron_order(f, bits)] += len(npn_class(f, bits))
    return found
