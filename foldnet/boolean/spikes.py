"""A neuron that fires: the Hodgkin-Huxley equations, from which the ReLU is said to come. (boolean/perceptron, S2-fig-2.1)

Voltages in mV, times in ms, currents in uA/cm^2, with Hodgkin and Huxley's constants for a resting voltage of -65 mV.

>>> from foldnet.boolean.spikes import firing_rates
>>> firing_rates([5.0, 10.0], 200.0).round().tolist()  # spikes per second at two currents
[0.0, 68.0]
"""

from __future__ import annotations

import numpy as np

SODIUM, POTASSIUM, LEAK = (120.0, 50.0), (36.0, -77.0), (0.3, -54.387)  # conductance and reversal voltage of each current
REST = -65.0


def slope(state: np.ndarray, current) -> np.ndarray:
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


def at_rest() -> np.ndarray:
    """The state at the resting voltage, with every gate where it settles there: `(4,)`."""
    shut, open_ = slope(np.array([REST, 0.0, 0.0, 0.0]), 0.0)[1:], slope(np.array([REST, 1.0, 1.0, 1.0]), 0.0)[1:]
    return np.array([REST, *(shut / (shut - open_))])


def simulate(currents, duration: float = 100.0, step: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Times `(k,)` and voltages `(k, *currents.shape)` of neurons that get constant currents from time 0 on (Runge-Kutta)."""
    currents = np.asarray(currents, dtype=float)
    times = step * np.arange(round(duration / step) + 1)
    state = np.broadcast_to(at_rest().reshape(4, *[1] * currents.ndim), (4, *currents.shape)).copy()
    voltages = np.empty((len(times), *currents.shape))
    voltages[0] = state[0]
    for k in range(1, len(times)):
        a = slope(state, currents)
        b = slope(state + step / 2 * a, currents)
        c = slope(state + step / 2 * b, currents)
        d = slope(state + step * c, currents)
        state = state + step / 6 * (a + 2 * b + 2 * c + d)
        voltages[k] = state[0]
    return times, voltages


def firing_rates(currents, duration: float = 500.0, step: float = 0.05) -> np.ndarray:
    """Spikes per second of neurons that go on firing under constant currents `(n,)`, and 0 for those that fall silent.

    From the intervals between the spikes of the second half; a spike is the voltage passing 0 on its way up.
    """
    times, voltages = simulate(currents, duration, step)
    rates = np.zeros(voltages.shape[1])
    for k, v in enumerate(voltages.T):
        up = np.flatnonzero((v[:-1] < 0) & (v[1:] >= 0))
        spikes = times[up] + step * v[up] / (v[up] - v[up + 1])
        late = spikes[spikes > duration / 2]
        if len(late) > 1 and duration - late[-1] < 1.5 * (late[-1] - late[-2]):
            rates[k] = 1000 * (len(late) - 1) / (late[-1] - late[0])
    return rates
