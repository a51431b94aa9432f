"""Intervals for means over a few runs.

>>> from foldbook.statistics import lower_end
>>> round(lower_end([1.0, 2.0, 3.0]), 2)
-0.48
"""

from __future__ import annotations

import numpy as np


def interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """The mean of a few values, one for each run or seed, and both ends of Student's interval for it."""
    from scipy.stats import t

    mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    reach = float(t.ppf((1 + level) / 2, len(values) - 1)) * error
    return mean, mean - reach, mean + reach


def lower_end(values) -> float:
    """The lower end of Student's 95 % interval for the mean of a few values, one for each run."""
    from scipy.stats import t

    values = np.asarray(values, dtype=float)
    return float(values.mean() - t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)
