"""What boolean/pruning has beyond the package: how its results are read.

>>> from foldbook.chapters.pruning import smallest_widths
>>> smallest_widths(["2-3", "3-2", "3-2", "2-4", "4"], layers=2)
[3, 2]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


def smallest_widths(architectures: Sequence[str], layers: int) -> list[int]:
    """Of hidden widths such as "2-3", those of this depth with the fewest neurons; of several the most frequent. [] for none."""
    found = [tuple(map(int, text.split("-"))) for text in architectures]
    found = [widths for widths in found if len(widths) == layers]
    least = min(map(sum, found), default=0)
    often = Counter(widths for widths in found if sum(widths) == least).most_common(1)
    return list(often[0][0]) if often else []


def knee(share: np.ndarray, accuracy: np.ndarray, lost: float = 1.0) -> float:
    """The share of a network at which its accuracy has fallen by `lost`, in the mean over seeds, in percent.

    Both are `(steps, seeds)`, shares falling from 1 and accuracies in percent. Between two steps the logarithm of the share is
    interpolated; where the accuracy never falls so far, the last share.
    """
    x, fallen = np.log(np.mean(share, 1)), np.mean(accuracy[0]) - np.mean(accuracy, 1)
    below = np.flatnonzero(fallen > lost)
    if not len(below):
        return float(100 * np.exp(x[-1]))
    k = below[0]
    return float(100 * np.exp(np.interp(lost, fallen[k - 1 : k + 1], x[k - 1 : k + 1])))


def accuracy_at(percent: float, share: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    """The accuracy of each seed, `(seeds,)`, at this percentage of the network, interpolated as in `knee`."""
    x, y = np.log(share)[::-1], np.asarray(accuracy)[::-1]
    return np.array([np.interp(np.log(percent / 100), x[:, s], y[:, s]) for s in range(x.shape[1])])
