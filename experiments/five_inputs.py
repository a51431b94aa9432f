"""Every function of five inputs: each of the 616,126 classes trained a hundred times, and what goes with its difficulty.

No published run has all of them. One hidden layer of 3 to 8, ReLU and leaky ReLU, and two hidden layers, for 1,000 epochs; every
twentieth class for 4,000 epochs as well, the dissertation's budget, to see what the shorter one leaves out.

>>> from experiments import five_inputs
>>> five_inputs.cells()[0]
{'leak': 0.1, 'width': 4, 'depth': 1, 'every': 1, 'epochs': 1000}
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from foldbook import paths
from foldbook.chapters import training
from foldnet.boolean.functions import npn_classes, truth_tables
from foldnet.boolean.training import LEAKY, train_many

from .runner import device, short

TRIALS, EPOCHS, LONG, EVERY = 100, 1000, 4000, 20
SHALLOW, DEEP = (4, 5, 6, 3, 7, 8), ((3, 2), (4, 2))
NAMES = ("swaps", "degree", "influence", "entropy", "balance")
BINS = {"swaps": (1, 12), "degree": (1, 6), "influence": (16, 81), "entropy": (4, 21), "balance": (1, 17)}  # a unit, of them
KEPT, EXTREME = (LEAKY, 4, 1), 20  # the shape whose successes are kept for every class; how many hardest and easiest are named


def cells() -> list[dict]:
    """The shape that is kept whole comes first, then the longer runs of a part, which take little, then the others by width."""
    shapes = [(leak, w, 1) for w in SHALLOW for leak in (LEAKY, 0.0)] + [(LEAKY, w, d) for w, d in DEEP]
    longer = [(leak, w, 1) for w in (4, 5, 6) for leak in (LEAKY, 0.0)]
    setup = lambda s, every, epochs: {"leak": s[0], "width": s[1], "depth": s[2], "every": every, "epochs": epochs}  # noqa: E731
    main = [setup(s, 1, EPOCHS) for s in shapes]
    return main[:2] + [setup(s, EVERY, LONG) for s in longer] + main[2:]


def cell(leak: float, width: int, depth: int, every: int, epochs: int, trials: int = TRIALS) -> dict:
    """Successes among the trials of every class, or of every so many, and how they go with the measures of the class.

    `sample`: successes of every twentieth class; `solved`: of all, for one shape. `by[name]` `(bins, trials + 1)`: how many
    classes have a measure (in bins: `BINS`) and so many successes. `ranks[name]`: rank correlation with success; `ceiling`:
    what the noise of the trials leaves room for. `hardest`, `easiest`: number, successes, and measures of the twenty classes at
    either end.
    """
    known = {name: column[::every] for name, column in table_of_measures().items()}
    t = truth_tables(known["number"], 5)
    seed = 10_000 * width + 1000 * depth + (500 if leak else 0) + (250 if epochs == LONG else 0)
    solved = train_many(t, width, depth, leak, trials, epochs, seed, device()).solved
    count = solved.sum(1)
    result = {
        "mean": short(count.mean() / trials, 6),
        "sample": count[:: max(1, EVERY // every)],
        "by": {name: _counted(known[name] * unit, count, bins, trials) for name, (unit, bins) in BINS.items()},
        "ranks": {name: short(training.rank_correlation(known[name], count), 6) for name in NAMES},
        "ceiling": short(training.correlation_ceiling(solved[:, ::2].sum(1), solved[:, 1::2].sum(1)), 6),
        **_extremes(known, count),
    }
    return result | ({"solved": count} if (leak, width, depth) == KEPT and every == 1 else {})


def _counted(values: np.ndarray, count: np.ndarray, bins: int, trials: int) -> np.ndarray:
    place = np.floor(values + 1e-9).astype(np.int64) * (trials + 1) + count
    return np.bincount(place, minlength=bins * (trials + 1)).reshape(bins, trials + 1)


def _extremes(known: dict[str, np.ndarray], count: np.ndarray) -> dict:
    order = np.argsort(count, kind="stable")
    row = lambda k: [int(known["number"][k]), int(count[k]), *(short(float(known[name][k]), 6) for name in NAMES)]  # noqa: E731
    return {"hardest": [row(k) for k in order[:EXTREME]], "easiest": [row(k) for k in order[::-1][:EXTREME]]}


@cache
def table_of_measures() -> dict[str, np.ndarray]:
    """Number, swaps value and measures of every class, one read-only array each.

    The swaps values take three minutes of one core and numba: so they are kept in `_sweeps/`, and a machine without numba can be
    given the file.
    """
    path = Path(paths.repository() / "_sweeps" / "five_inputs_measures.npz")
    if not path.is_file():
        from foldnet.boolean.swaps import swaps

        number = npn_classes(5)
        t = truth_tables(number, 5)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, number=number.astype(np.uint32), swaps=np.asarray(swaps(t), dtype=np.uint8))
    with np.load(path) as kept:
        known = dict(kept)
    known |= training.measures(truth_tables(known["number"], 5))
    for column in known.values():
        column.setflags(write=False)
    return known


if __name__ == "__main__":  # python -m experiments.five_inputs: the table, for a machine that has no numba
    print(f"{len(table_of_measures()['number']):,} classes, with their measures")
