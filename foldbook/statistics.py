"""Intervals for means over a few runs.

>>> from foldbook.statistics import lower_end
>>> round(lower_end([1.0, 2.0, 3.0]), 2)
-0.48
"""

from __future__ import annotations

import numpy as np


def lower_end(values) -> float:
    """The lower end of Student's 95 % interval for the mean of a few values, one for each run."""
    from scipy.stats import t

    values = np.asarray(values, dtype=float)
    return float(values.mean() - t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)
