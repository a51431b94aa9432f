"""Fit them all at once: every network of a batch is trained by itself, with its own optimizer state and stopping point.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.train import fit
>>> x, y = [[-1.0], [0.0], [1.0]], [[1.0], [0.0], [1.0]]
>>> done = fit(ReLUNet.random((1, 8, 1), batch=5, seed=0), x, y, lr=0.01, epochs=3000, progress=False)
>>> done.net.batch_shape, bool((done.loss[-1] < 1e-3).any())
((5,), True)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor

from ._progress import bar
from .engines.choice import Engine, engine_for
from .nets import Network
from .training.problem import Problem

N = TypeVar("N", bound=Network)


@dataclass(frozen=True, eq=False)
class Fit(Generic[N]):
    """What a training left behind; all tensors are on the device of the network.

    `epoch` `(K,)` are the recorded epochs, `loss` `(K, *batch)` the losses on all data after that many epochs, `recorded[name]`
    `(K, ...)` what `record` returned there, by its own names or as `"value"`. `epochs_run`, `stopped` (met `until`), `diverged`
    (loss not finite) are `(*batch,)`.
    """

    net: N
    epoch: Tensor
    loss: Tensor
    recorded: dict[str, Tensor]
    epochs_run: Tensor
    stopped: Tensor
    diverged: Tensor
    engine: str

    @property
    def final_loss(self) -> Tensor:
        """The loss of each network as it was returned, `(*batch,)`."""
        return self.loss[-1]


def fit(
    net: N,
    x,
    y,
    *,
    loss: str = "mse",
    optimizer: str = "adam",
    lr=1e-3,
    epochs: int = 1000,
    batch_size: int | None = None,
    until: float | Callable[[Tensor, Tensor], Tensor] | None = None,
    record: Callable[[N], Tensor | dict[str, Tensor]] | None = None,
    every: int | None = None,
    seed: int = 0,
    progress: bool = True,
    engine: str = "auto",
) -> Fit[N]:
    """Train every network of the batch by itself; what comes out does not depend, but for rounding, on those beside it.

    `net`: one network or a batch, of any activation.
    `x`: points `(n, in)` for all networks or `(*batch, n, in)` for each its own.
    `y`: targets `(n, out)` or `(*batch, n, out)`; for `"cross_entropy"` distributions, or class numbers `(n,)` or `(*batch, n)`.
    `loss`: `"mse"` or `"bce"` (with logits), the mean over points and outputs; `"half_sum"`, half the sum of the squared errors;
    `"cross_entropy"` of a softmax over the outputs, the mean over points.
    `optimizer`: `"gd"` (full batch), `"sgd"` (mini-batches) or `"adam"` (either).
    `lr`: the learning rate, one number or one for each network.
    `epochs`: how many times all points are gone through.
    `batch_size`: the points of a mini-batch; None takes all of them.
    `until`: freeze a network at the first epoch at which its loss on all data is at most this number, or at which
    `until(outputs, y)` is true for it. A network whose loss is no longer finite is frozen in any case.
    `record`: `record(net)` gives a tensor or a dict of them, kept in `Fit.recorded`.
    `every`: record and keep the loss at epochs 0, `every`, 2 `every`, ... and the last; by default a hundredth of all epochs.
    `seed`: mini-batches follow one permutation an epoch, drawn from `numpy.random.default_rng(seed)`, the same for all networks.
    `progress`: show a bar.
    `engine`: `"torch"`, `"fused"` (CPU) or `"cuda"`; `"auto"` takes the one that is fastest here.
    """
    when = {"epochs": epochs, "every": every, "until": until}
    problem = Problem.checked(net, x, y, loss=loss, optimizer=optimizer, lr=lr, batch_size=batch_size, seed=seed, **when)
    runner = engine_for(problem, engine)
    shape = net.batch_shape

    def current() -> N:
        return net.with_vector(runner.vector().reshape(*shape, -1))

    marks = [*range(0, problem.epochs, problem.every), problem.epochs]
    look = None if record is None else lambda: _named(record(current()))
    losses, records = _advance(problem, runner, len(marks), look, progress)
    history, stops = torch.stack(losses).double().reshape(-1, *shape), runner.stops().reshape(shape)
    diverged = ~history[-1].isfinite()
    return Fit(
        net=current(),
        epoch=torch.tensor(marks, device=net.device),
        loss=history,
        recorded={name: torch.stack([r[name] for r in records]) for name in (records[0] if records else ())},
        epochs_run=stops.where(stops >= 0, problem.epochs),
        stopped=(stops >= 0) & ~diverged,
        diverged=diverged,
        engine=runner.name,
    )


def _advance(problem: Problem, runner: Engine, marks: int, look: Callable | None, progress: bool) -> tuple[list, list]:
    """Train to the end: the losses at all marks, and what `look` sees there."""
    losses, records = [], []
    with bar(problem.epochs, progress) as shown:
        for epoch, count in _chunks(problem, runner, stop_at_marks=look is not None):
            if look is not None and problem.marked(epoch):
                records.append(look())
            losses += runner.advance(count)
            if shown is not None:
                shown.update(min(count, problem.epochs - shown.n))  # the last look is no epoch
    # once no network runs, nothing changes any more
    losses += [runner.losses()] * (marks - len(losses))
    if look is not None and len(records) < marks:
        records += [look()] * (marks - len(records))
    return losses, records


def _chunks(problem: Problem, runner: Engine, stop_at_marks: bool):
    """Pairs (epoch, how many from there) until all networks stop, about a third of a second each: so an interrupt is heard."""
    epoch, size = 0, 8
    while epoch <= problem.epochs and runner.running():
        to_mark = problem.every - epoch % problem.every
        count = min(size, to_mark if stop_at_marks else size, problem.epochs + 1 - epoch)
        start = time.perf_counter()
        yield epoch, count
        seconds = max(time.perf_counter() - start, 1e-6)
        if count == size:
            size = max(1, min(4 * size, int(size * 0.35 / seconds)))
        epoch += count


def _named(value) -> dict[str, Tensor]:
    values = value if isinstance(value, dict) else {"value": value}
    return {name: torch.as_tensor(v).detach() for name, v in values.items()}
