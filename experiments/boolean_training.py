"""Training on all four-input classes in 45 shapes, and on parity, random and XORed functions of up to ten inputs.

The runs behind Figures 3.5 to 3.9 and Table 3.3 of the dissertation. The source has 100 trials of each shape and class; here
the smallest shapes have 10,000, since what the claims are about is rare there, and all others 1,000.

>>> from experiments import boolean_training
>>> len([c for c in boolean_training.cells() if c["task"] == "classes" and c["biases"] == "torch"])
90
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from foldbook.chapters.training import random_functions, with_parity
from foldbook.stored import Stored
from foldnet.boolean.functions import npn_classes, parity, truth_tables
from foldnet.boolean.training import LEAKY, train_many

from .runner import device

WIDTHS, DEPTHS, LEAKS = range(2, 11), range(1, 6), (LEAKY, 0.0)
SMALL, MANY, SOME, SOURCE = 50, 10_000, 1000, 100  # parameters of a small shape; trials of these, of others, of the source
TEN_WIDTHS = (2, 3, 4, 6, 8, 10)
RANDOM, TRIALS, SIZES = 100, 40, ((10, 2), (10, 3))  # functions and trials of Figure 3.9; shapes of ours, since none is stated


def cells() -> list[dict]:
    """Small shapes first, then the families of functions, then the rest by size: so a run that is cut has what matters most."""
    shapes = sorted(((w, d) for w in WIDTHS for d in DEPTHS), key=lambda s: parameters(4, *s))
    four = [classes_cell(leak, w, d) for w, d in shapes for leak in LEAKS]
    zero = [classes_cell(leak, w, d) | {"biases": "zero"} for w, d in ((3, 1), (4, 1), (2, 2), (3, 2)) for leak in LEAKS]
    families = [{"task": "families", "inputs": n, "width": w, "depth": d} for w, d in SIZES for n in range(5, 11)]
    ten = [{"task": "sizes", "inputs": 10, "width": w, "depth": d} for w, d in shapes if w in TEN_WIDTHS]
    small = [c for c in four if c["trials"] == MANY]
    return small + families + ten + zero + [c for c in four if c not in small]


def classes_cell(leak: float, width: int, depth: int) -> dict:
    trials = MANY if parameters(4, width, depth) <= SMALL else SOME
    return {"task": "classes", "leak": leak, "width": width, "depth": depth, "trials": trials, "biases": "torch"}


def parameters(n: int, width: int, depth: int) -> int:
    """Weights and biases of a shape."""
    sizes = (n, *[width] * depth, 1)
    return sum(o * (i + 1) for i, o in pairwise(sizes))


def cell(task: str, **settings) -> dict:
    """What `of_classes`, `of_families` or `of_sizes` says."""
    return {"classes": of_classes, "families": of_families, "sizes": of_sizes}[task](**settings)


def of_classes(leak: float, width: int, depth: int, trials: int, biases: str, epochs: int = 4000) -> dict:
    """All 222 classes: `solved`, successes of each in all trials, and in the `first` hundred, as many as the source has.

    `epochs`: deciles of the epoch at which successful networks could be stopped.
    """
    # a seed for each shape and activation: cells are independent
    seed = 10_000 * width + 1000 * depth + (500 if leak else 0) + (250 if biases == "zero" else 0)
    found = train_many(truth_tables(npn_classes(4), 4), width, depth, leak, trials, epochs, seed, device(), biases)
    when = found.epochs[found.solved]
    return {
        "solved": found.counts,
        "first": found.solved[:, :SOURCE].sum(1),
        "epochs": np.quantile(when, np.arange(1, 10) / 10).round().astype(int) if len(when) else [],
    }


def of_families(inputs: int, width: int, depth: int, trials: int = TRIALS, epochs: int = 4000) -> dict:
    """Parity, 100 random functions, 222 XORed ones, in this order: `solved`, successes of each; `right`, corners on average."""
    f = np.concatenate(
        [parity(inputs)[None], random_functions(inputs, RANDOM), with_parity(truth_tables(npn_classes(4), 4), inputs)]
    )
    found = train_many(f, width, depth, LEAKY, trials, epochs, seed=width + 100 * depth + 1000 * inputs, device=device())
    return {"solved": found.counts, "right": found.right.mean(1).round(2)}


def of_sizes(inputs: int, width: int, depth: int, functions: int = 10, trials: int = SOURCE, epochs: int = 4000) -> dict:
    """Parity, then ten random functions: `solved` in a hundred trials of each, and corners `right` on average."""
    f = np.concatenate([parity(inputs)[None], random_functions(inputs, functions)])
    # so few networks of so many points keep torch busy, and no kernel has to be compiled for each shape
    found = train_many(f, width, depth, LEAKY, trials, epochs, seed=width + 100 * depth, device=device(), engine="torch")
    return {"solved": found.counts, "right": found.right.mean(1).round(2)}


def rates(run: Stored, leak: float, biases: str = "torch") -> np.ndarray:
    """The success of every class in every shape, `(widths, depths, 222)`, from the stored run."""
    rows = run.where(task="classes", leak=leak, biases=biases)
    found = np.full((len(WIDTHS), len(DEPTHS), 222), np.nan)
    for row in rows:
        place = WIDTHS.index(row.cell["width"]), DEPTHS.index(row.cell["depth"])
        found[place] = row["solved"] / row.cell["trials"]
    return found


def hardest_counts(rate: np.ndarray, trials: int = SOURCE, seed: int = 0) -> np.ndarray:
    """In how many shapes each class is among the hardest, `(222,)`: within one point of the lowest success. (S2-tab-3.3)

    `rate` is `(..., 222)`; so many trials are drawn with these rates first, as the source has a hundred. Shapes at which more
    than half of the classes are so near are left out: where everybody succeeds nobody is hard.
    """
    seen = np.random.default_rng(seed).binomial(trials, rate.reshape(-1, rate.shape[-1])) / trials
    hard = seen <= seen.min(1, keepdims=True) + 0.01 + 1e-9
    return hard[hard.mean(1) <= 0.5].sum(0)
