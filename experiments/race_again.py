"""The race once more, for two late entrants: TINY with the sign that its protocol means, and dice that move the old weights.

The protocol, written before any result of this run was computed. All that is not said here is as in `experiments/race.py`:
tasks, seeds, networks, budget, charges, training, the choice of the rate on the tuning seeds.

- Why. In the race TINY chose the sign of a neuron for the wishes left over before the old weights move; its protocol means the
  sign that lowers the loss faster, so after the move. And TINY moves the old outgoing weights when it grows, which random
  growth may not: where TINY beats the dice, the move could be the reason and not the neuron.
- tiny_after. As tiny, but the sign of each neuron is that of the larger slope of the training loss after the move. One gradient
  more is charged for it, so 18 evaluations for each growth.
- random_moved. The output layer moves as in tiny, the best update with a line-searched amplitude; then the neurons of random
  come, from the same draws, with outgoing weights zero. Charged: one gradient and 24 forward passes, so 9 evaluations.
- Verdicts. Paired differences on seeds 0 to 199, t intervals at a level of 95 % for all 24 comparisons of this run together
  (Bonferroni): tiny_after with scratch, random, tiny and random_moved, and random_moved with scratch and random, on four
  tasks. The rows of the other methods are those of the race; their verdicts stay as they are.
- Expected. The sign: no difference seen between tiny_after and tiny on any task, since Adam can turn an outgoing weight later.
  The move: no difference seen between random_moved and random in the plane; worse than random on digits, where tiny and
  gradmax are. On sine tiny_after stays better than random_moved.
- What would change the story. It says that clever methods add about half a point on one task of four, sine. If tiny_after is
  better than random on another task, or not on sine, that sentence changes. If on sine random_moved is better than random, and
  tiny_after is not better than random_moved, then the half point belongs to the move and not to the neuron, and the story says
  so. If tiny_after and tiny differ anywhere, the report of the slip gives the difference in place of "a small handicap".

>>> from experiments import race_again
>>> len(race_again.cells())
24
"""

from __future__ import annotations

from foldbook.chapters.race import LATER
from foldbook.statistics import interval
from foldbook.stored import Row

from .race import LRS, WIDTHS, cell, chosen, share_right, verdict

__all__ = ["PAIRS", "cell", "cells", "comparisons"]

PAIRS = [("tiny_after", rival) for rival in ("scratch", "random", "tiny", "random_moved")]
PAIRS += [("random_moved", rival) for rival in ("scratch", "random")]


def cells() -> list[dict]:
    return [{"task": task, "method": method, "lr": lr} for task in WIDTHS for method in LATER for lr in LRS]


def comparisons(rows: list[Row]) -> dict[tuple[str, str, str], tuple[tuple[float, float, float], str]]:
    """For each task, entrant and rival the paired difference (mean, low, high) with its simultaneous interval, and the verdict.

    `rows`: those of the race and of this run together.
    """
    best, level = chosen(rows), 1 - 0.05 / (len(WIDTHS) * len(PAIRS))
    found = {}
    for task in WIDTHS:
        right = {m: share_right(best[task, m]) for pair in PAIRS for m in pair}
        for method, rival in PAIRS:
            gap = interval(right[method] - right[rival], level)
            found[task, method, rival] = gap, verdict(gap)
    return found
