"""The census over settings: the same functions under 900 ways to train, to see which part of their ranking is common.

The protocol stands in `experiments/census.py`; what belongs to this run, written at the same time:

- Every 200th class of five inputs, 3,081 of them, width 4, 100 starts, 1,000 epochs. All combinations of six activations, two
  losses (binary cross-entropy; squares with targets 0 and 1 and outputs that start around 1/2), Adam and gradient descent,
  three learning rates, all parameters of the start halved, as they are or doubled, biases at the start uniform or zero, inputs
  -1 and 1 or 0 and 1: 864 settings. Mini-batches of 8, with cross-entropy and the usual start: 36 more.
- Rates: Adam 0.008, 0.025, 0.08; descent 0.3, 1, 3.
- Common share. Settings at which the mean share is below 2 or above 98 percent have no ranking and are left out, with their
  number. For each pair of the others the rank correlation, divided by the ceilings of both. Reported: its mean, over pairs that
  differ in one factor alone, for each factor; and the share of the variance of all rankings along their first principal
  component.
- Expected: the activation matters most (mean correlation 0.75 when it alone differs), then inputs 0 and 1 instead of -1 and 1
  (0.85), then scale, loss and optimizer (0.9 or more), biases and rate least. First component: 70 to 85 percent.
- What would change the story. If the first component has less than half, "hard to learn" without a setting means little, and the
  page says so first. If a factor other than the activation parts the rankings most, the page names that one.

900 cells, some two minutes on an H200 with `--jobs 4`.

>>> from experiments import census_settings
>>> len(census_settings.cells())
900
"""

from __future__ import annotations

from itertools import product
from typing import Any
from zlib import crc32

from foldbook.chapters import training

from ._census import ACTIVATIONS, EPOCHS, five, train
from .runner import short

EVERY, WIDTH, BATCH = 200, 4, 8
KEPT = 3  # every third of them is kept
RATES = {"adam": (0.008, 0.025, 0.08), "gd": (0.3, 1.0, 3.0)}
NAMES = ("activation", "loss", "optimizer", "lr", "scale", "biases", "low", "batch")


def cells() -> list[dict]:
    """All combinations, the usual rates and starts first, and the mini-batches behind them."""
    factors = ACTIVATIONS, ("bce", "mse"), tuple(RATES), (1, 0, 2), (1.0, 0.5, 2.0), ("torch", "zero"), (-1, 0)
    # the activations of one setting stand together, so that a run that is cut has whole comparisons
    all_ = [(a, *rest, 0) for rest in product(*factors[1:]) for a in factors[0]]
    few = [(a, "bce", o, r, 1.0, "torch", -1, BATCH) for o, r in product(RATES, (1, 0, 2)) for a in ACTIVATIONS]
    usual = lambda s: s[3] == 1 and s[4] == 1.0  # noqa: E731
    ordered = [*filter(usual, all_), *few, *(s for s in all_ if not usual(s))]
    return [dict(zip(NAMES, (*s[:3], RATES[s[2]][s[3]], *s[4:]))) for s in ordered]


def cell(activation: str, loss: str, optimizer: str, lr: float, scale: float, biases: str, low: int, batch: int) -> dict:
    """`solved`: successes of every third class in 100 starts; `mean` and `ceiling` of rank correlations, of all."""
    how: dict[str, Any] = {"loss": loss, "lr": lr, "scale": scale, "biases": biases, "low": low}
    how |= {"optimizer": "sgd" if batch and optimizer == "gd" else optimizer, "batch_size": batch or None}
    seed = crc32(f"{activation} {batch} {sorted(how.items(), key=str)}".encode())  # starts of two settings are independent
    found = train(activation, five(EVERY), WIDTH, EPOCHS, seed, **how)
    halves = found.solved[:, ::2].sum(1), found.solved[:, 1::2].sum(1)
    ceiling = short(training.correlation_ceiling(*halves), 6)
    return {"mean": short(found.solved.mean(), 6), "ceiling": ceiling, "solved": found.counts[::KEPT]}
