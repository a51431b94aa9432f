"""Swaps values of six inputs, exactly, for a part of every 32nd function of `census_six`: 150 of each kind.

The census left them out, as too slow. One takes 0.7 seconds of a core, so a sample is within reach; `census_six` keeps the
successes of these functions at every width. Written before the values were computed, but for eight that timed the run.

- Asked: what the swaps value alone says of failure, by kind and pooled, beside influence and weight above 2.
- Expected at width 6, for leaky ReLU, ReLU, GELU and |x|. Pooled: 0.6 or more, since the kinds differ so much, and behind
  weight above 2. Among the coins: 0.25 or less, and behind weight above 2. At width 4, where room is scarce, the swaps value is
  ahead of what it is at width 6, among the coins, for leaky ReLU and GELU (ReLU and |x| learn too few).
- Expected of odd values, among the coins with leaky ReLU at width 6: 13 changes are harder than 14 by no more than 2 of 100.

All but this was in the history before the run (800 of each kind were meant). It was stopped by the clock, after three of sixteen
parts: 600 functions. Parts are alike, but by then these three had been looked at.

>>> from experiments import census_swaps
>>> len(census_swaps.cells())
3
"""

from __future__ import annotations

import numpy as np

from foldnet.boolean.swaps import swaps

from ._census import six

EVERY, PARTS, DONE = 32, 16, 3


def cells() -> list[dict]:
    return [{"part": part} for part in range(DONE)]


def cell(part: int) -> dict:
    """`swaps` of the functions `six()[::EVERY][part::PARTS]`; any part has all four kinds."""
    return {"swaps": np.asarray(swaps(six()[::EVERY][part::PARTS], threads=1))}
