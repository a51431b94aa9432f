"""Grow by folding: train, fold at a typical mistake, train again, until a rule says stop.

>>> from foldnet.growth import tasks
>>> from foldnet.growth.fold_loop import grow_by_folding
>>> from foldnet.nets import ReLUNet
>>> x, y = tasks.sine(60, seed=0)
>>> grown = grow_by_folding(ReLUNet.random((2, 1, 1), seed=0), x, y, most=1, epochs=20)
>>> len(grown.stages) >= 1
True
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..nets import ReLUNet
from ..train import fit
from ._labels import labels
from .folding import Fold, fold, grow
from .tasks import one_hot
from .typical import accuracy


@dataclass(frozen=True, eq=False)
class Stage:
    """One turn of the loop: the network as grown, `before` its training, and after it, `net`; `fold` is None for the first turn.

    `accuracy` `(*batch,)` on the training data after the training, `loss` `(*batch,)` likewise.
    """

    before: object
    net: ReLUNet
    fold: Fold | None
    accuracy: Tensor
    loss: Tensor

    @property
    def width(self) -> int:
        return self.net.sizes[1]


@dataclass(frozen=True, eq=False)
class Growth:
    """The stages of a growth and, for each network `(*batch,)`, the stage at which the rule of `grow_by_folding` stopped it.

    `why` is the first of "accuracy", "no gain" and "width" that some network met at the last stage.
    """

    stages: list[Stage]
    stop: Tensor
    why: str

    @property
    def net(self) -> ReLUNet:
        """The network after the last stage."""
        return self.stages[-1].net


def grow_by_folding(
    net, x, y, most: int = 8, target: float = 1.0, gain: float = 0.005, patience: int = 2, epochs: int = 3000,
    lr: float = 1e-2, size: float = 0.1, seed: int = 0,
) -> Growth:  # fmt: skip
    """Train and fold in turns (S0-alg-grow-by-folding), one network or a batch of them with shared data and labels `(n,)`.

    `most`: stop a network that has so many hidden units.
    `target`: stop a network whose training accuracy is at least this.
    `gain`, `patience`: stop a network whose last `patience` folds together raised the accuracy by less than `gain`.
    `epochs`, `lr`: of each training, full-batch Adam on the cross-entropy of each output.
    `size`, `seed`: of each fold, as in `fold`.

    A batch goes on until the last network stops; `Growth.stop` says where each would have. The slides' deepening is `deepen`,
    left to the caller.
    """
    if most < net.sizes[1] or patience < 1:
        raise ValueError(f"most is at least the {net.sizes[1]} units there are, patience at least 1; got {most} and {patience}")
    y = labels(net, y)
    targets = y.double().unsqueeze(-1) if net.sizes[-1] == 1 else one_hot(y, net.sizes[-1])
    stages, found = [], None
    stop = torch.full(net.batch_shape, -1, device=net.device)
    while True:
        trained = fit(net, x, targets, loss="bce", lr=lr, epochs=epochs, progress=False)
        stages.append(Stage(net, trained.net, found, accuracy(trained.net, x, y), trained.final_loss))
        rules = {
            "accuracy": stages[-1].accuracy >= target,
            "no gain": _stalled(stages, gain, patience),
            "width": torch.full_like(stop, trained.net.sizes[1] >= most, dtype=torch.bool),
        }
        met = torch.stack(list(rules.values()))
        stop = torch.where((stop < 0) & met.any(0), len(stages) - 1, stop)
        if (stop >= 0).all():
            why = next(name for name, rule in rules.items() if rule.any())
            return Growth(stages, stop, why)
        found = fold(trained.net, x, y, seed=seed + len(stages), size=size)
        net = grow(trained.net, found)


def _stalled(stages: list[Stage], gain: float, patience: int) -> Tensor:
    if len(stages) <= patience:
        return torch.zeros_like(stages[-1].accuracy, dtype=torch.bool)
    return stages[-1].accuracy - stages[-1 - patience].accuracy < gain


def deepen(net: ReLUNet) -> ReLUNet:
    """The same function with one more hidden layer: identity weights and no bias after the last one, exact to the last bit.

    The slides name an "equivalent network deepening" without saying what it is; this is one that keeps its promise, because a
    ReLU changes nothing on what is not negative (S0-alg-equivalent-deepening).
    """
    if len(net.weights) < 2 or net.leak:
        raise ValueError(f"an identity layer goes after a hidden layer of plain ReLUs; got a {net}")
    width, batch = net.sizes[-2], net.batch_shape
    identity = torch.eye(width, dtype=net.dtype, device=net.device).expand(*batch, -1, -1).clone()
    nothing = torch.zeros(*batch, width, dtype=net.dtype, device=net.device)
    return replace(
        net,
        weights=(*net.weights[:-1], identity, net.weights[-1]),
        biases=(*net.biases[:-1], nothing, net.biases[-1]),
    )
