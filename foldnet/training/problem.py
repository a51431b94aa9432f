"""A training problem: networks, data and settings, checked once and in one place.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.training.problem import Problem
>>> net, how = ReLUNet.random((1, 3, 1), seed=0), {"loss": "mse", "optimizer": "adam", "lr": 0.1, "epochs": 3}
>>> problem = Problem.checked(net, [[0.0]], [[1.0]], **how)
>>> problem.epochs, problem.loss
(3, 'mse')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .._checks import count, finite, flat_batch, one_of
from ..nets import Network, ReLUNet, as_tensor
from .losses import LOSSES

OPTIMIZERS = ("gd", "sgd", "adam")
# Activations that the fused and the cuda kernels know, numbered so; torch trains every network.
IN_KERNELS = ("relu", "tanh", "abs", "gelu", "sine")


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked training problem with the batch flattened to B networks of P parameters; what an engine is given.

    `theta` `(B, P)`, `x` `(B or 1, n, in)`, `y` `(B or 1, n, out)`, `rate` `(B,)`; a callable `until` takes the flat batch too.
    """

    net: Network
    theta: Tensor
    x: Tensor
    y: Tensor
    rate: Tensor
    loss: str
    optimizer: str
    epochs: int
    every: int
    batch_size: int | None
    until: float | Callable[[Tensor, Tensor], Tensor] | None
    seed: int

    @classmethod
    def checked(cls, net, x, y, *, loss, optimizer, lr, epochs, batch_size=None, until=None, every=None, seed=0) -> Problem:
        """The problem that `foldnet.train.fit` describes, or a sentence about what is wrong with its arguments.

        They are those of `fit`: `loss`, `optimizer`, `lr`, `epochs`, `batch_size`, `until`, `every`.
        """
        if not isinstance(net, Network):
            raise ValueError(
                f"fit trains networks of foldnet, as ReLUNet and SmoothNet; for a {type(net).__name__} take torch.optim"
            )
        if 0 in net.batch_shape:
            raise ValueError(f"there is no network to train in a {net}")
        epochs = count("epochs", epochs, 0)
        one_of("loss", loss, LOSSES)
        one_of("optimizer", optimizer, OPTIMIZERS)
        if optimizer == "gd" and batch_size is not None:
            raise ValueError(
                f"'gd' is full-batch gradient descent, without batch_size; for mini-batches of {batch_size} take 'sgd'"
            )
        if optimizer == "sgd" and batch_size is None:
            raise ValueError("'sgd' needs a batch_size; for the full batch take 'gd'")
        if until is not None and not callable(until) and not np.isfinite(until):
            raise ValueError(f"until is a finite loss, a function of outputs and y, or None; got {until!r}")
        x, y = checked_data(net, x, y, loss)
        return cls(
            net=net,
            theta=net.vector().detach().reshape(-1, net.parameter_count),
            x=flat_batch(x, net),
            y=flat_batch(y, net),
            rate=_rates(net, lr),
            loss=loss,
            optimizer=optimizer,
            epochs=epochs,
            every=max(1, epochs // 100) if every is None else count("every", every, 1),
            batch_size=None if batch_size is None else count("batch_size", batch_size, 1),
            until=_until(net, until) if callable(until) else None if until is None else float(until),
            seed=seed,
        )

    @property
    def leak(self) -> float:
        """The slope of a leaky ReLU left of zero; 0 for other activations, which have none."""
        return self.net.leak if isinstance(self.net, ReLUNet) else 0.0

    def marked(self, epoch: int) -> bool:
        """Whether the history has an entry for this epoch."""
        return epoch % self.every == 0 or epoch == self.epochs


# ---- points and targets ------------------------------------------------------------------------------------------------


def checked_data(net: Network, x, y, loss: str | Callable, finite_points: bool = True) -> tuple[Tensor, Tensor]:
    """Points `(..., n, in)` and targets `(..., n, out)` as the losses take them, in the dtype and on the device of the network.

    `x`: points `(..., n, in)`.
    `y`: targets; of `"cross_entropy"` distributions, or class numbers `(..., n)`, which become rows of 0 and 1; for a single
    output `(n,)` will do.
    `loss`: a name, or a function, to which it is left what to make of y.
    `finite_points`: False spares the look at all points, for a caller that takes sums of them and sees there what is wrong.
    """
    x = net.points(x).detach()
    if not x.numel():
        finite(points=x)
    _fits("points", x, x.shape[:-2], net)
    if callable(loss):
        y = torch.as_tensor(y).detach().to(net.device)
    else:
        one_of("loss", loss, LOSSES)
        y = _distributions(net, y) if loss == "cross_entropy" else as_tensor(y)
        y, n, out = y.detach().to(net.dtype).to(net.device), x.shape[-2], net.sizes[-1]
        if y.ndim == 1 and out == 1:
            y = y.unsqueeze(-1)
        if y.ndim < 2 or y.shape[-2:] != (n, out):
            bare = f"({n},), " if out == 1 else ""
            raise ValueError(f"targets have shape {bare}({n}, {out}) or (*batch, {n}, {out}) here; got {tuple(y.shape)}")
        _fits("targets", y, y.shape[:-2], net)
    finite(targets=y)
    if loss == "bce" and not ((y >= 0) & (y <= 1)).all():
        raise ValueError(f"targets of 'bce' are in [0, 1]; got {y.min():g} to {y.max():g}")
    if finite_points:
        finite(points=x)
    return x, y


def _distributions(net: Network, y) -> Tensor:
    """The targets of a softmax: each point's distribution over the classes, made from class numbers where these are given."""
    y, classes = torch.as_tensor(y), net.sizes[-1]
    if classes < 2:
        raise ValueError(f"'cross_entropy' is for two outputs or more; for one take 'bce'. Here a {net}")
    if not y.is_floating_point():
        if y.numel() and not (0 <= int(y.min()) and int(y.max()) < classes):
            raise ValueError(f"classes of a {net} are 0 to {classes - 1}; got {int(y.min())} to {int(y.max())}")
        return torch.nn.functional.one_hot(y.long(), classes)
    if not ((y >= 0).all() and ((y.sum(-1) - 1).abs() < 1e-5).all()):
        raise ValueError("targets of 'cross_entropy' are class numbers or distributions: not negative, with sum 1 for each point")
    return y


# ---- settings ----------------------------------------------------------------------------------------------------------


def _rates(net: Network, lr) -> Tensor:
    lr = as_tensor(lr).detach().to(net.dtype).to(net.device)
    _fits("learning rates", lr, lr.shape, net)
    bad = lr[~((lr > 0) & lr.isfinite())]
    if bad.numel():
        raise ValueError(f"lr is positive and finite; got {bad[0]:g}")
    return lr.expand(net.batch_shape).reshape(-1).contiguous()


def _until(net: Network, until: Callable) -> Callable:
    """The same question for the flat batch: outputs and targets come and the answer goes in the shape the user works with."""

    def ask(outputs: Tensor, y: Tensor) -> Tensor:
        shape = (*net.batch_shape, *outputs.shape[-2:])
        answer = torch.as_tensor(until(outputs.reshape(shape), y.expand_as(outputs).reshape(shape)))
        if answer.dtype != torch.bool or tuple(answer.shape) != net.batch_shape:
            raise ValueError(f"until returns a bool tensor of shape {net.batch_shape}; got {answer.dtype}, {tuple(answer.shape)}")
        return answer.reshape(-1).to(outputs.device)

    return ask


def _fits(what: str, value: Tensor, batch: tuple[int, ...], net: Network) -> None:
    """Refuse a value whose batch axes do not broadcast to those of the networks."""
    try:
        fits = tuple(torch.broadcast_shapes(batch, net.batch_shape)) == net.batch_shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"{what} of shape {tuple(value.shape)} do not fit networks of batch shape {net.batch_shape}")
