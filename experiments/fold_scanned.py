"""How many 2-3-2 networks succeed that were grown by a fold whose angle was searched, beside one that was set to 45 degrees.

S0-find-milestone-constrained names the search as a difficulty; one angle is left, so all are tried. Parents, data and budget are
those of `fold_utilization`.

>>> from experiments import fold_scanned
>>> len(fold_scanned.cells())
5
"""

from __future__ import annotations

from foldnet.growth.folding import fold, grow
from foldnet.nets import ReLUNet

from . import fold_utilization as runs

NETWORKS = 200


def cells() -> list[dict]:
    return [{"task": "sine", "block": block} for block in range(runs.BLOCKS)]


def cell(task: str, block: int, networks: int = NETWORKS) -> dict:
    """`scores[arm]`: how many of the 300 training points each network gets right."""
    small = runs.parents(task, block, networks)
    nets = {"scanned fold": scanned(small, task, block)} | {a: runs.grown(small, a, task, block) for a in ("fold", "random unit")}
    return {
        "scores": {arm: runs.scores(runs.train(net, task, block, runs.EPOCHS // 2), task, block) for arm, net in nets.items()}
    }


def scanned(small: ReLUNet, task: str, block: int) -> ReLUNet:
    """The parents with the fold whose angle gives the longest gradient at the new neuron."""
    x, y = runs.data(task, block)
    return grow(small, fold(small, x, y, seed=block, size=runs.SIZE, angle=None))
