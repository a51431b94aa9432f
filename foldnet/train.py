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

import torch
from torch import Tensor

from ._progress import bar
from .engines.choice import Engine, engine_for
from .nets import ReLUNet
from .training.problem import Problem, checked


@dataclass(frozen=True, eq=False)
class Fit:
    """What a training left behind; all tensors are on the device of the network.

    `epoch` `(K,)` are the recorded epochs, `loss` `(K, *batch)` the losses on all data after that many epochs, `recorded[name]`
    `(K, ...)` what `record` returned there, by its own names or as `"value"`. `epochs_run`, `stopped` (met `until`), `diverged`
    (loss not finite) are `(*batch,)`.
    """

    net: ReLUNet
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
    net: ReLUNet,
    x,
    y,
    *,
    loss: str = "mse",
    optimizer: str = "adam",
    lr=1e-3,
    epochs: int = 1000,
    batch_size: int | None = None,
    until: float | Callable[[Tensor, Tensor], Tensor] | None = None,
    record: Callable[[ReLUNet], Tensor | dict[str, Tensor]] | None = None,
    every: int | None = None,
    seed: int = 0,
    progress: bool = True,
    engine: str = "auto",
) -> Fit:
    """Train every network of the batch: points `x` `(n, in)` or `(*batch, n, in)`, targets `y` `(n, out)` or `(*batch, n, out)`.

    `loss` is `"mse"` or `"bce"` (with logits), the mean over points and outputs, `"half_sum"`, half the sum of the squared errors
    over points and outputs, or `"cross_entropy"` of a softmax over the outputs, the mean over points; its targets are
    distributions, or class numbers `(n,)` or `(*batch, n)`. `optimizer` is `"gd"` (full batch), `"sgd"` (mini-batches) or
    `"adam"` (either); `lr` is one number or one for each network. A network is frozen at the first epoch at which its full-data
    loss is <= `until` (or `until(outputs, y)` is true for it), and when its loss is no longer finite. `record(net)` gives a
    tensor or a dict of them, at epochs 0, `every` (by default a hundredth of all), 2 `every`, ... and the last. Mini-batches
    follow one permutation an epoch, drawn from `numpy.random.default_rng(seed)` and shared by all networks, so no result depends,
    but for rounding, on the networks trained beside it. `engine` is `"auto"`, `"torch"`, `"fused"` (CPU) or `"cuda"`; `progress`
    shows a bar.
    """
    when = {"epochs": epochs, "every": every, "until": until}
    problem = checked(net, x, y, loss=loss, optimizer=optimizer, lr=lr, batch_size=batch_size, seed=seed, **when)
    runner = engine_for(problem, engine)
    shape = net.batch_shape

    def current() -> ReLUNet:
        return net.with_vector(runner.vector().reshape(*shape, -1))

    losses, records = [], []
    with bar(problem.epochs, progress) as shown:
        for epoch, count in _chunks(problem, runner, stop_at_marks=record is not None):
            if record is not None and problem.marked(epoch):
                records.append(_named(record(current())))
            losses += runner.advance(count)
            if shown is not None:
                shown.update(min(count, problem.epochs - shown.n))  # the last look is no epoch
    marks = [*range(0, problem.epochs, problem.every), problem.epochs]
    # once no network runs, nothing changes any more
    losses += [runner.losses()] * (len(marks) - len(losses))
    if record is not None and len(records) < len(marks):
        records += [_named(record(current()))] * (len(marks) - len(records))
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
