"""What boolean/pruning has beyond the package: how its results are read.

>>> from foldbook.chapters.pruning import smallest_widths
>>> smallest_widths(["2-3", "3-2", "3-2", "2-4", "4"], layers=2)
[3, 2]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

TICKETS = {"cut out": "tuned", "rewound": "rewound", "fresh": "fresh"}  # as the page and as the stored run call them
SIX, THREE, CHOICES = 37, 19, 20  # parameters of networks of six and of three neurons on four bits; triples of six
AGAIN = {"three fresh neurons": ([3], 0.0), "three with a leak": ([3], 0.1), "two layers of two, with a leak": ([2, 2], 0.1)}


def winners(costs: Sequence) -> dict[str, np.ndarray]:
    """How many of the twenty triples of each network win, `(networks,)`, by how they begin: whole numbers, not stored bytes."""
    return {name: np.concatenate([row["successes"][key] for row in costs]).astype(int) for name, key in TICKETS.items()}


def percent(won: np.ndarray) -> tuple[float, float]:
    """The triples that win, in percent, and two standard errors over networks: the triples of one are not independent."""
    each = 100 * np.asarray(won) / CHOICES
    return float(each.mean()), float(2 * each.std() / len(each) ** 0.5)


def work(stored, block: int) -> dict[str, float]:
    """Epochs times parameters for one network of three neurons that succeeds, or of two layers of two, by the way to get it.

    To prune is to train six neurons, and all triples of them where they succeed; to start again is to train the small one.
    """
    row = stored.row(kind="cost", block=block)
    spent = row["networks"] * row["epochs"]["wide"] * SIX + CHOICES * row["solved"] * row["epochs"]["tuned"] * THREE
    found = {"pruning six neurons": spent / np.sum(np.asarray(row["successes"]["tuned"]) > 0)}
    for name, (hidden, leak) in AGAIN.items():
        small = stored.row(kind="direct", block=block, hidden=hidden, leak=leak)
        found[name] = small["networks"] * small["epochs"] * THREE / small["solved"]
    return {name: float(value) for name, value in found.items()}


def products(channels, side: int, colours: int) -> np.ndarray:
    """Multiplications for one picture, `(*batch,)`, by a network with so many channels, `(*batch, 3)`.

    It has three convolutions of 3 x 3, each followed by a max pool that halves the sides, and a linear layer to ten outputs.
    """
    a, b, c = np.moveaxis(np.asarray(channels, dtype=float), -1, 0)
    return 9 * (side**2 * colours * a + (side // 2) ** 2 * a * b + (side // 4) ** 2 * b * c) + 10 * (side // 8) ** 2 * c


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
