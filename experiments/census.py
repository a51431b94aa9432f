"""The census: every tenth class of five inputs, six activations, six widths, a hundred starts each.

What makes a Boolean function hard to learn for a small network? The protocol of the three runs `census`, `census_settings` and
`census_six`, written before any result of theirs was computed. What was known then: over all classes of five inputs, with ReLU
and leaky ReLU, influence goes with failure (rank correlations 0.77 and 0.80 at width 4) and the swaps value hardly (0.24); in a
trial on a few hundred functions the Fourier weight above degree 2 did better than influence for rectifiers.

- Task. One hidden layer, He's normal weights, biases uniform as in torch, inputs -1 and 1, binary cross-entropy, Adam at 0.025,
  all corners at each step, at most 1,000 epochs; solved means that all corners are on the right side at the end. Leaky ReLU
  (0.1), ReLU, GELU, tanh, |x|, and the sine as a control. Widths 3, 4, 5, 6, 8; width 4 for 4,000 epochs as well.
- Three questions, asked apart. Reach: does any of 100 starts solve the function? Share: how many do? Time: half of those that
  solve it have done so after how many epochs? Shares with Wilson's intervals, rank correlations with a bootstrap over functions.
- Halves. The functions of five inputs fall into two halves by `default_rng(0).permutation`, as in `training.held_out`. Signs and
  fits come from the first half alone; what is reported is the second half, and the sample of six inputs.
- Predictors, all with "more is harder" but for the last: swaps (five inputs), influence, degree, entropy, balance (ones of the
  rarer value), Fourier weight above degree 1, 2 and 3, sensitivity, block sensitivity and certificate complexity (means over
  corners), depth and leaves of the smallest decision tree, leap; y'K^-1 y for the kernel of infinite width, and for the width at
  hand (the mean of inverses over starts, with a ridge of a hundredth of the mean eigenvalue); the alignment y'Ky of the gradient
  at the start. Kernels have the symmetry of the cube, so each of theirs is a sum over degrees of the Fourier weight there.
  Left out, since they cost too much: the smallest width at which a function is representable, the smallest threshold formula,
  minimal projections, and swaps values of six inputs (1.3 seconds each).
- Expected order, share of starts at width 4, second half of five inputs (size of the rank correlation):
  leaky, ReLU, GELU: weight above 2 > y'K^-1 y at hand > influence > weight above 1 > leaves > certificates > balance > swaps,
  entropy, degree; weight above 2 between 0.80 and 0.90, influence between 0.74 and 0.83.
  tanh: weight above 1 or influence first, above 0.7; weight above 2 behind influence.
  |x|: weight above 2 first; influence at least 0.10 behind it.
  Sine: no predictor above 0.6, influence below 0.3, as one sine makes parity.
- Reach at width 4 is expected to follow the same order with smaller correlations; time is expected to follow influence more than
  weight above 2. Median shares: leaky > GELU > ReLU; |x| above them all at width 4; tanh below leaky.
- Fitted: ridge regression of the ranks of the share on the ranks of all predictors, on the first half, for each activation.
  Expected: between 0.88 and 0.95 on the second half for rectifiers; on six inputs, all kinds of functions pooled, at least
  0.85. The fit of one activation, used for another: among leaky, ReLU and GELU at most 0.03 worse; from leaky to tanh at
  least 0.05 worse.
- Odd swaps values. In the stored run they are harder than the next even ones. Expected here too for rectifiers, and gone when
  functions of equal weight above degree 2 (within 0.02) are compared.
- What would change the story. The page says that influence beats the swaps value. If for tanh, GELU or |x| swaps is ahead of
  influence, that sentence is limited to rectifiers. If weight above 2 is ahead of influence by 0.02 or more for leaky, ReLU and
  GELU, on five and six inputs alike, the page names it in place of influence; if for other activations another one leads, the
  page says that hardness belongs to function and activation together. If a kernel at the width at hand is ahead of every
  spectral weight for all six, the page is about kernels. If none of these, influence stays.

This run has 37 cells, about a minute on an H200; all with `--jobs 4`, since the GPU waits for the processor.

>>> from experiments import census
>>> len(census.cells()), census.cells()[1]
(37, {'task': 'training', 'activation': 'leaky', 'width': 4, 'epochs': 1000})
"""

from __future__ import annotations

import numpy as np

from foldbook.chapters import training

from ._census import ACTIVATIONS, EPOCHS, five, times, train
from .runner import short

EVERY, WIDTHS, LONG = 10, (4, 3, 6, 5, 8), 4000
KEPT = 8  # so many-th classes are kept, but of width 4 at 1,000 epochs all


def cells() -> list[dict]:
    """Swaps values first, then width 4, its longer twin, and the other widths."""
    setups = [(w, EPOCHS) for w in WIDTHS]
    setups.insert(1, (4, LONG))
    made = [{"task": "training", "activation": a, "width": w, "epochs": e} for w, e in setups for a in ACTIVATIONS]
    return [{"task": "swaps"}, *made]


def cell(task: str, **settings) -> dict:
    """`swaps`: of every class. Else `solved`: successes among 100 starts; at width 4 `times` as well, in tens of epochs.

    Of width 4 and 1,000 epochs all classes are kept, else every eighth; `mean` and `ceiling` are those of all.
    """
    if task == "swaps":
        from foldnet.boolean.swaps import swaps

        return {"swaps": np.asarray(swaps(five(EVERY)))}
    return of_training(**settings)


def of_training(activation: str, width: int, epochs: int) -> dict:
    seed = 100_000 * (1 + ACTIVATIONS.index(activation)) + 10 * width + (epochs == LONG)
    found = train(activation, five(EVERY), width, epochs, seed)
    halves = found.solved[:, ::2].sum(1), found.solved[:, 1::2].sum(1)
    result = {"mean": short(found.solved.mean(), 6), "ceiling": short(training.correlation_ceiling(*halves), 6)}
    return kept(result | {"solved": found.counts} | ({"times": times(found)} if width == 4 else {}), width, epochs)


def kept(result: dict, width: int, epochs: int) -> dict:
    every = 1 if (width, epochs) == (4, EPOCHS) else KEPT
    return {name: v[::every] if name in ("solved", "times") else v for name, v in result.items()}
