"""Fit them all at once: every network of a batch is trained by itself, with its own optimizer state and stopping point."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ._progress import bar
from .nets import ReLUNet, _tensor

LOSSES = ("mse", "half_sum", "bce", "cross_entropy")
OPTIMIZERS = ("gd", "sgd", "adam")
ENGINES = ("auto", "torch", "fused")


@dataclass(frozen=True, eq=False)
class Fit:
    """What a training left behind; all tensors are on the device of the network.

    `epoch` `(K,)` are the recorded epochs, `loss` `(K, *batch)` the losses on all data after that many epochs, `recorded[name]`
    `(K, ...)` what `record` returned there. `epochs_run`, `stopped` (met `until`), `diverged` (loss not finite) are `(*batch,)`.
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


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked training problem with the batch flattened to B networks of P parameters; what an engine is given.

    `theta` `(B, P)`, `x` `(B or 1, n, in)`, `y` `(B or 1, n, out)`, `rate` `(B,)`; a callable `until` takes the flat batch too.
    """

    net: ReLUNet
    theta: Tensor
    x: Tensor
    y: Tensor
    rate: Tensor
    loss: str
    optimizer: str
    epochs: int
    every: int
    batch_size: int | None
    until: float | Callable | None
    seed: int

    def marked(self, epoch: int) -> bool:
        """Whether the history has an entry for this epoch."""
        return epoch % self.every == 0 or epoch == self.epochs


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
    `"adam"` (either); `lr` is one number or one for each network. A network is frozen at
    the first epoch at which its full-data loss is <= `until` (or `until(outputs, y)` is true for it), and when its loss is no
    longer finite. `record(net)` is called at epochs 0, `every`, 2 `every`, ... and the last. Mini-batches follow one permutation
    an epoch, drawn from `numpy.random.default_rng(seed)` and shared by all networks, so no result depends on the networks trained
    beside it.
    """
    problem = _checked(net, x, y, loss, optimizer, lr, epochs, batch_size, until, every, seed)
    runner = _engine(engine, problem)
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


def _chunks(problem: Problem, runner, stop_at_marks: bool):
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


# ---- which engine ----------------------------------------------------------------------------------------------------


def _engine(name: str, problem: Problem):
    """The engine asked for, ready to train; "auto" takes the fused one where it can run and is worth its start."""
    _one_of("engine", name, ENGINES)
    if name != "torch":
        obstacle = _fused_obstacle(problem)
        if obstacle and name == "fused":
            raise ValueError(f"the fused engine trains full batches of float32 or float64 networks on the CPU; here {obstacle}")
        if not obstacle and (name == "fused" or _fused_pays(problem)):
            try:
                from ._fused import FusedEngine
            except ImportError as error:
                if name == "fused":
                    raise ValueError(f"the fused engine needs numba, which cannot be imported here: {error}") from None
            else:
                return FusedEngine(problem)
    from ._torch_engine import TorchEngine

    return TorchEngine(problem)


def _fused_obstacle(problem: Problem) -> str | None:
    if problem.theta.device.type != "cpu":
        return f"the network is on {problem.theta.device}"
    if problem.theta.dtype not in (torch.float32, torch.float64):
        return f"the network is {problem.theta.dtype}"
    if problem.batch_size is not None:
        return f"batch_size is {problem.batch_size}"
    if callable(problem.until):
        return "until is a function"
    return None


def _fused_pays(problem: Problem) -> bool:
    """Whether the fused engine saves more than the second it needs to start, by the rates measured in benchmarks/README.md.

    It computes 64 networks at a time whether they are there or not, so a lone network must be small; wide layers, on the other
    hand, fill the matrix products of torch. Threads and load do not count: one problem, one engine, on every machine.
    """
    (count, parameters), n, units = problem.theta.shape, problem.x.shape[1], sum(problem.net.sizes[1:])
    double = 1 if problem.theta.dtype == torch.float32 else 2
    fused = -(-count // 64) * 64 * n * parameters * 0.65e-9 * double
    plain = 3e-4 + count * n * (units * 15e-9 + parameters * 0.35e-9 * double)
    return problem.epochs * (plain - fused) > 1


# ---- what is given ---------------------------------------------------------------------------------------------------


def _checked(net, x, y, loss, optimizer, lr, epochs, batch_size, until, every, seed) -> Problem:
    if not isinstance(net, ReLUNet):
        raise ValueError(f"fit trains ReLU networks; for a {net} take torch.optim or foldnet.growth.minibatches")
    epochs = _count("epochs", epochs, 0)
    _one_of("loss", loss, LOSSES)
    _one_of("optimizer", optimizer, OPTIMIZERS)
    if optimizer == "gd" and batch_size is not None:
        raise ValueError(f"'gd' is full-batch gradient descent, without batch_size; for mini-batches of {batch_size} take 'sgd'")
    if optimizer == "sgd" and batch_size is None:
        raise ValueError("'sgd' needs a batch_size; for the full batch take 'gd'")
    if until is not None and not callable(until) and not np.isfinite(until):
        raise ValueError(f"until is a finite loss, a function of outputs and y, or None; got {until!r}")
    x, y = _data(net, x, _distributions(net, y) if loss == "cross_entropy" else y)
    if loss == "bce" and not ((y >= 0) & (y <= 1)).all():
        raise ValueError(f"targets of 'bce' are in [0, 1]; got {y.min():g} to {y.max():g}")
    return Problem(
        net=net,
        theta=net.vector().detach().reshape(-1, net.parameter_count),
        x=_flat(x, net),
        y=_flat(y, net),
        rate=_rates(net, lr),
        loss=loss,
        optimizer=optimizer,
        epochs=epochs,
        every=max(1, epochs // 100) if every is None else _count("every", every, 1),
        batch_size=None if batch_size is None else _count("batch_size", batch_size, 1),
        until=_until(net, until) if callable(until) else until,
        seed=seed,
    )


def _data(net: ReLUNet, x, y) -> tuple[Tensor, Tensor]:
    """Points and targets in the dtype and on the device of the network, targets as `(..., n, out)`."""
    x = net._points(x).detach()
    y, out = _tensor(y).detach().to(net.dtype).to(net.device), net.sizes[-1]
    if y.ndim == 1 and out == 1:
        y = y.unsqueeze(-1)
    if y.ndim < 2 or y.shape[-2:] != (x.shape[-2], out):
        n, bare = x.shape[-2], f"({x.shape[-2]},), " if out == 1 else ""
        raise ValueError(f"targets have shape {bare}({n}, {out}) or (*batch, {n}, {out}) here; got {tuple(y.shape)}")
    if not x.numel():
        raise ValueError(f"there is nothing to fit: x has shape {tuple(x.shape)}")
    for name, value in (("points", x), ("targets", y)):
        if not _fits(value.shape[:-2], net.batch_shape):
            raise ValueError(f"{name} of shape {tuple(value.shape)} do not fit networks of batch shape {net.batch_shape}")
        if not value.isfinite().all():
            raise ValueError(f"{name} have values that are NaN or infinite")
    return x, y


def _distributions(net: ReLUNet, y) -> Tensor:
    """The targets of a softmax: each point's distribution over the classes, made from class numbers where these are given."""
    y, classes = torch.as_tensor(y), net.sizes[-1]
    if classes < 2:
        raise ValueError(f"'cross_entropy' is for two outputs or more; for one take 'bce'. Here a {net}")
    if not y.is_floating_point():
        if y.numel() and not (0 <= int(y.min()) and int(y.max()) < classes):
            raise ValueError(f"classes of a {net} are 0 to {classes - 1}; got {int(y.min())} to {int(y.max())}")
        return torch.nn.functional.one_hot(y.long(), classes).to(net.dtype)
    if not ((y >= 0).all() and ((y.sum(-1) - 1).abs() < 1e-5).all()):
        raise ValueError("targets of 'cross_entropy' are class numbers or distributions: not negative, with sum 1 for each point")
    return y


def _flat(value: Tensor, net: ReLUNet) -> Tensor:
    """`(..., n, width)` as `(B, n, width)`, or `(1, n, width)` when all networks share it."""
    if value.shape[:-2].numel() == 1:
        return value.reshape(1, *value.shape[-2:])
    return value.expand(*net.batch_shape, -1, -1).reshape(-1, *value.shape[-2:])


def _rates(net: ReLUNet, lr) -> Tensor:
    lr = _tensor(lr).detach().to(net.dtype).to(net.device)
    if not _fits(lr.shape, net.batch_shape):
        raise ValueError(f"lr of shape {tuple(lr.shape)} does not fit networks of batch shape {net.batch_shape}")
    bad = lr[~((lr > 0) & lr.isfinite())]
    if bad.numel():
        raise ValueError(f"lr is positive and finite; got {bad[0]:g}")
    return lr.expand(net.batch_shape).reshape(-1).contiguous()


def _until(net: ReLUNet, until: Callable) -> Callable:
    """The same question for the flat batch: outputs and targets come and the answer goes in the shape the user works with."""

    def ask(outputs: Tensor, y: Tensor) -> Tensor:
        shape = (*net.batch_shape, *outputs.shape[-2:])
        answer = torch.as_tensor(until(outputs.reshape(shape), y.expand_as(outputs).reshape(shape)))
        if answer.dtype != torch.bool or tuple(answer.shape) != net.batch_shape:
            raise ValueError(f"until returns a bool tensor of shape {net.batch_shape}; got {answer.dtype}, {tuple(answer.shape)}")
        return answer.reshape(-1).to(outputs.device)

    return ask


def _fits(shape, batch: tuple[int, ...]) -> bool:
    try:
        return tuple(torch.broadcast_shapes(shape, batch)) == batch
    except RuntimeError:
        return False


def _one_of(what: str, name, names: tuple[str, ...]) -> None:
    if name not in names:
        raise ValueError(f"{what} is one of {', '.join(map(repr, names))}; got {name!r}")


def _count(what: str, value, least: int) -> int:
    if int(value) != value or value < least:
        raise ValueError(f"{what} is a whole number, at least {least}; got {value!r}")
    return int(value)


def _named(value) -> dict[str, Tensor]:
    values = value if isinstance(value, dict) else {"value": value}
    return {name: torch.as_tensor(v).detach() for name, v in values.items()}
