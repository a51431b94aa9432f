"""The census for six inputs: 102,400 functions of four kinds and some extreme ones, six activations, widths 4 to 8.

The protocol stands in `experiments/census.py`; what belongs to this run, written at the same time:

- Functions. 2^64 tables are too many to list, and a fair coin for each corner gives functions of one difficulty. So there are
  four kinds of 25,600: *coins*, which represent all functions (nearly each is a class of its own, of the full size);
  *sparse*, 3 to 32 ones at random corners, each number as likely, which represent functions by their balance; *smooth*, signs
  of random polynomials whose coefficients shrink with the degree by a factor drawn from 0.1 to 1, from nearly linear ones to
  coins; *trees*, random decision trees of 2 to 24 leaves, which represent what rules describe. No function twice within a
  kind; none constant. Results are given for each kind and for all pooled; a share of all functions of six inputs is said of
  the coins alone.
- Extreme ones: parities of 1 to 6 bits, the six counts (majority among them), 32 bent functions (Maiorana and McFarland), 64
  threshold functions with normal weights.
- Task as in `census`, widths 4 to 8, 100 starts, 1,000 epochs.
- Expected. The order of predictors is that of five inputs, for each kind but the coins, where all correlations are smaller.
  Weight above 2 is at least 0.85 for rectifiers on the pooled sample at width 6. Fits made on five inputs (the first half)
  lose at most 0.05 to the best single predictor here. Parity of six bits: none of 100 starts with leaky ReLU, ReLU, GELU and
  tanh at width 6; some with |x| and with the sine. Bent functions, whose weights lie near those of coins: within the coins'
  middle half.
- What would change the story. If an order found on five inputs does not hold for the pooled sample, the page says that it belongs
  to five inputs. If bent functions are outside the range of coins, weights by degree do not tell all, and the page shows them.

30 cells, some three minutes on an H200 with `--jobs 3`.

>>> from experiments import census_six
>>> len(census_six.cells())
30
"""

from __future__ import annotations

import numpy as np

from foldbook.chapters import training

from ._census import ACTIVATIONS, EPOCHS, KINDS, OF_EACH, extremes, six, times, train
from .runner import short

WIDTHS, TIMED, EVERY = (6, 4, 8, 5, 7), 6, 2
KEPT = 16  # so many-th functions are kept, but of width 6 all


def cells() -> list[dict]:
    """The middle width first, then the ends."""
    return [{"activation": a, "width": w} for w in WIDTHS for a in ACTIVATIONS]


def cell(activation: str, width: int) -> dict:
    """`solved`: successes of each function in 100 starts; `extreme[name]`: those of the named ones; `means`, of each kind.

    At width 6 all functions are kept, and `times` of every second in tens of epochs; else every sixteenth. `means` are of all.
    """
    names = extremes()
    t = np.concatenate([six(), *names.values()])
    seed = 200_000 * (1 + ACTIVATIONS.index(activation)) + 10 * width
    found = train(activation, t, width, EPOCHS, seed)
    count, ends = found.counts, np.cumsum([len(six()), *map(len, names.values())])
    halves = (found.solved[: ends[0], k::2].sum(1) for k in (0, 1))
    shares = count[: ends[0]].reshape(len(KINDS), OF_EACH).mean(1) / found.solved.shape[1]
    result = {
        "means": {kind: short(share, 6) for kind, share in zip(KINDS, shares)},
        "ceiling": short(training.correlation_ceiling(*halves), 6),
        "solved": count[: ends[0] : 1 if width == TIMED else KEPT],
        "extreme": {name: count[a:b].tolist() for name, a, b in zip(names, ends, ends[1:])},
    }
    return result | ({"times": times(found)[: ends[0] : EVERY]} if width == TIMED else {})
