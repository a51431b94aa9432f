"""How many 2-3-2 networks succeed: from random weights, grown from 2-2-2 by a fold, or by other small units.

The runs behind "65 / 1000" and "360 / 1000" (S0-find-utilization), with controls: 1,000 networks an arm on each of five data sets
of two tasks, with a softmax over both outputs and with a sigmoid for each.

>>> from experiments import fold_utilization
>>> len(fold_utilization.cells())
20
"""

from __future__ import annotations

import numpy as np
import torch

from foldbook.chapters.race import gradmax
from foldnet.growth.folding import fold, grow
from foldnet.growth.tasks import TASKS, one_hot
from foldnet.growth.typical import accuracy
from foldnet.growth.widen import widen
from foldnet.nets import ReLUNet
from foldnet.train import fit

from .runner import device

POINTS, NETWORKS, BLOCKS, FIRST = 300, 1000, 5, 64
EPOCHS, LR, SIZE = 10_000, 1e-2, 0.1
LOSSES = {"softmax": "cross_entropy", "sigmoid": "bce"}
ARMS = ("random 2-3-2", "2-2-2 before", "fold", "random unit", "placed unit", "gradmax")


def cells() -> list[dict]:
    return [
        {"task": task, "block": block, "loss": loss}
        for loss in LOSSES
        for task in ("sine", "overlap_quadratic")
        for block in range(BLOCKS)
    ]


def cell(task: str, block: int, loss: str, networks: int = NETWORKS) -> dict:
    """`arms[arm]`: how many networks get how many of the 300 training points right; every block is a data set of its own."""
    small = parents(task, block, networks, loss)
    plain = train(start(3, block, networks), task, block, loss=loss)
    arms = {"random 2-3-2": summary(plain, task, block), "2-2-2 before": summary(small, task, block)}
    for arm in ARMS[2:]:
        arms[arm] = summary(train(grown(small, arm, task, block), task, block, EPOCHS // 2, loss), task, block)
    return {"arms": arms}


def summary(nets: ReLUNet, task: str, block: int) -> dict:
    """`first`: the scores of the first 64 networks, for a chapter to repeat; `counts`: pairs (score, networks) of all."""
    every = scores(nets, task, block)
    values, counts = np.unique(every, return_counts=True)
    return {"first": every[:FIRST], "counts": np.stack([values, counts], 1).tolist()}


def successes(result: dict, needed: int) -> int:
    """How many networks of a stored arm get at least `needed` points right."""
    return sum(count for score, count in result["counts"] if score >= needed)


def data(task: str, block: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points `(300, 2)` and labels `(300,)`."""
    return TASKS[task](POINTS, seed=block)


def start(width: int, block: int, networks: int = NETWORKS) -> ReLUNet:
    """Networks 2-width-2 with the default start of torch; each network its own draw, whatever stands beside it."""
    every = ReLUNet.random((2, width, 2), batch=NETWORKS, seed=100 * width + block, dtype=torch.float32)
    return every[:networks]


def train(nets: ReLUNet, task: str, block: int, epochs: int = EPOCHS, loss: str = "softmax") -> ReLUNet:
    """Full-batch Adam at rate 0.01 on the cross-entropy: of the softmax over both outputs, or of a sigmoid for each."""
    x, y = data(task, block)
    nets = nets.to(where(len(nets.biases[0])))
    done = fit(nets, x, one_hot(y), loss=LOSSES[loss], lr=LR, epochs=epochs, progress=False)
    return done.net.to("cpu")  # what comes next goes from network to network


def where(networks: int) -> str:
    """The CPU for the few networks that a chapter repeats: it prints the same then, with a GPU beside it or without."""
    return device() if networks > FIRST else "cpu"


def parents(task: str, block: int, networks: int = NETWORKS, loss: str = "softmax") -> ReLUNet:
    """2-2-2 networks after half of the steps, so that a grown network has as many steps as a random one."""
    return train(start(2, block, networks), task, block, EPOCHS // 2, loss)


def grown(small: ReLUNet, arm: str, task: str, block: int) -> ReLUNet:
    """2-3-2 networks: the parents with one more unit, chosen by the arm; it moves no output on the data by more than 0.1.

    *random unit*: torch's start. *placed unit*: as long as the old ones, its line through a random instance in a random
    direction. Both push the outputs in a random direction. *gradmax* keeps the function as it is.
    """
    x, y = data(task, block)
    count = len(small.biases[0])
    rng = [np.random.default_rng([block, i]) for i in range(count)]
    if arm == "fold":
        return grow(small, fold(small, x, y, seed=block, size=SIZE))
    if arm == "gradmax":
        return gradmax(small, x.expand(count, -1, -1), one_hot(y).expand(count, -1, -1), 1, rng).widened()
    draws = torch.as_tensor(np.stack([r.uniform(-1, 1, 3) for r in rng]) / np.sqrt(2))
    if arm == "placed unit":
        angle = torch.as_tensor(np.array([r.uniform(0, 2 * np.pi) for r in rng]))
        length = small.weights[0].norm(dim=-1).mean(-1)
        incoming = length[:, None] * torch.stack([angle.cos(), angle.sin()], -1)
        through = x[torch.as_tensor(np.array([r.integers(len(x)) for r in rng]))]
        bias = -(incoming * through).sum(-1, keepdim=True)
    elif arm == "random unit":
        incoming, bias = draws[:, :2], draws[:, 2:]
    else:
        raise ValueError(f"a grown arm is one of {', '.join(ARMS[2:])}; got {arm!r}")
    reach = (incoming @ x.T + bias).clamp(min=0).amax(-1)
    push = torch.as_tensor(np.stack([r.normal(size=2) for r in rng]))
    outgoing = SIZE * push / push.abs().amax(-1, keepdim=True) / reach.where(reach > 0, 1.0)[:, None]
    return widen(small, 0, incoming.unsqueeze(1), bias, outgoing.unsqueeze(-1))


def scores(nets: ReLUNet, task: str, block: int) -> list[int]:
    """How many points each network gets right."""
    x, y = data(task, block)
    return (accuracy(nets, x, y) * len(x)).round().long().tolist()
