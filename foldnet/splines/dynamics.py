"""How breakpoints and delta-slopes move when a shallow network of one variable is trained, and a way to help them along.

The loss is half the sum of squared residuals, `0.5 * sum_n (f(x_n) - y_n)^2`, and the residual is `y_n - f(x_n)`. All functions
take one 1-H-1 network or a batch. (splines/dynamics)

>>> from foldnet.nets import ReLUNet
>>> from foldnet.splines.dynamics import conserved, relocate
>>> net = ReLUNet.random((1, 4, 1), seed=0)
>>> conserved(net).shape
torch.Size([4])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..nets import ReLUNet
from ..train import fit
from ._points import distinct, pairs
from .breakpoints import Spline, hinges, shallow, spline, unshallow
from .landscape import generators, gradient, residuals, spline_gradient


@dataclass(frozen=True, eq=False)
class Velocity:
    """How fast breakpoints and delta-slopes `(*batch, H)` and the offset `(*batch,)` change under gradient flow."""

    breakpoints: Tensor
    delta_slopes: Tensor
    offset: Tensor


def velocity(net: ReLUNet, x, y) -> Velocity:
    """Gradient flow on the weights, seen in (beta, mu): the laws of motion of S3-thm-5, with mu = v|w|.

    With residuals e = y - f and a_i = [w_i x + b_i > 0]: dbeta_i = -(v_i/w_i) (<e a_i, 1> + beta_i <e a_i, x>) and
    dmu_i = s_i ((v_i^2 + w_i^2) <e a_i, x> + w_i b_i <e a_i, 1>). (S3-fig-9-alpha)
    """
    w, b, v, _ = shallow(net)
    _moving(w)
    dw, db, dv, dc = (-gradient(net, x, y)).split([*3 * [w.shape[-1]], 1], -1)
    return Velocity((b / w * dw - db) / w, w.sign() * (w * dv + v * dw), dc.squeeze(-1))


def conserved(net: ReLUNet) -> Tensor:
    """w^2 + b^2 - v^2 of each neuron, `(*batch, H)`: gradient flow never changes it."""
    w, b, v, _ = shallow(net)
    return w**2 + b**2 - v**2


def _squared_weight(beta: Tensor, mu: Tensor, constant: Tensor) -> Tensor:
    """w^2 of a neuron from its breakpoint, its delta-slope and its conserved quantity."""
    spread = 1 + beta**2
    root = torch.sqrt(constant**2 + 4 * spread * mu**2)
    # of the two forms of the root of a quadratic, the one without cancellation
    return torch.where(constant > 0, (constant + root) / (2 * spread), 2 * mu**2 / (root - constant))


def gradient_flow(net: ReLUNet, x, y, time: float, steps: int, every: int = 1) -> tuple[Tensor, Spline]:
    """Gradient flow computed in (beta, mu) alone, weights never formed: times `(K,)` and splines with a first axis of K.

    Heun's method with equal steps. What the laws need of the weights comes from the conserved quantity. (S3-thm-5)

    net: the network at time 0, or a batch.
    x, y: data points `(n,)` or `(*batch, n)` and their values.
    time, steps: until when, and in how many steps.
    every: each so many steps a state is kept, the first included.
    """
    if min(steps, every) < 1:
        raise ValueError(f"steps and every are whole numbers from 1 on; got {steps} and {every}")
    f, constant, step = spline(net), conserved(net), time / steps
    x, y = pairs(x, y, like=net)
    _moving(net.weights[0])

    def law(beta, mu, offset):
        by_beta, by_mu, by_offset = spline_gradient(Spline(beta, mu, f.orientations, offset), x, y)
        ww = _squared_weight(beta, mu, constant)
        mixed = beta * mu / ww
        return -(1 + beta**2) / ww * by_beta + mixed * by_mu, mixed * by_beta - (mu**2 / ww + ww) * by_mu, -by_offset

    state, kept = (f.breakpoints, f.delta_slopes, f.offset), []
    for k in range(steps + 1):
        if k % every == 0:
            kept.append(state)
        first = law(*state)
        second = law(*(p + step * d for p, d in zip(state, first)))
        state = tuple(p + step / 2 * (d + e) for p, d, e in zip(state, first, second))
    beta, mu, offset = (torch.stack(parts) for parts in zip(*kept))
    times = step * every * torch.arange(len(kept), dtype=beta.dtype, device=beta.device)
    return times, Spline(beta, mu, f.orientations.expand_as(beta), offset)


def tangent_kernel(net: ReLUNet, x) -> tuple[Tensor, Tensor]:
    """The two parts of the tangent kernel on the points `x`, each `(*batch, n, n)`. (S3-thm-5-ntk)

    The first comes from the hidden weights, the second from the output weights. A trained output bias adds 1 to each entry.
    """
    columns, h = generators(net, x), net.sizes[1]
    hidden, output = columns[..., : 2 * h], columns[..., 2 * h : -1]
    return hidden @ hidden.mT, output @ output.mT


# ---- global moves ------------------------------------------------------------------------------------------------------------


def relocate(net: ReLUNet, x, y, flat: bool = False) -> ReLUNet:
    """Move one bad breakpoint of each network, if a better place is found for it. (S3-alg-relocate)

    Bad is the neuron whose removal raises the loss least. The best place is the hinge that can lower the loss most afterwards,
    its breakpoint midway between two data points, facing either way. The neuron moves if that gains more than its removal costs.

    net: one network or a batch.
    x, y: data points `(n,)` or `(*batch, n)` and their values.
    flat: the moved neuron gets delta-slope 0 instead of the best one, with which a move never raises the loss.
    """
    w, b, v, offset = shallow(net)
    x, y = pairs(x, y, like=net)
    beta, s = _midway(x)
    candidates = hinges(x, beta, s).mT
    outputs = v.unsqueeze(-1) * (w.unsqueeze(-1) * x.unsqueeze(-2) + b.unsqueeze(-1)).clamp(min=0)
    residual = y - offset.unsqueeze(-1) - outputs.sum(-2)
    without, worst = (0.5 * (residual.unsqueeze(-2) + outputs).square().sum(-1)).min(-1)
    is_worst = torch.zeros_like(w, dtype=torch.bool).scatter(-1, worst.unsqueeze(-1), True)
    residual_without = residual + (outputs * is_worst.unsqueeze(-1)).sum(-2)
    size = candidates.square().sum(-1)
    overlap = (candidates @ residual_without.unsqueeze(-1)).squeeze(-1)
    gain, place = (0.5 * overlap**2 / size).max(-1)
    here = is_worst & (without - gain < 0.5 * residual.square().sum(-1)).unsqueeze(-1)
    beta, s, mu = (t.expand_as(overlap).gather(-1, place.unsqueeze(-1)) for t in (beta, s, overlap / size))
    moved = zip((s, -s * beta, 0 * mu if flat else mu), (w, b, v))
    w, b, v = (torch.where(here, new, old) for new, old in moved)
    return unshallow(w, b, v, offset)


def train(
    net: ReLUNet, x, y, *, lr: float, epochs: int, moves: int = 0, every: int = 1000, flat: bool = False, engine: str = "auto"
) -> ReLUNet:
    """Gradient descent on the loss, with calls of `relocate` in between.

    net: one network or a batch.
    x, y: data points `(n,)` or `(*batch, n)` and their values.
    lr, epochs: rate and number of gradient steps, as many with moves as without.
    moves, every: how often `relocate` is called, and after how many epochs each time.
    flat: that of `relocate`.
    engine: that of `foldnet.train.fit`.
    """
    shallow(net)  # refuses what could not be relocated before any of it is trained
    if moves * every > epochs:
        raise ValueError(f"{moves} moves, one every {every} epochs, do not fit into {epochs} epochs")
    x, y = pairs(x, y, like=net)

    def descend(net: ReLUNet, count: int) -> ReLUNet:
        options: dict[str, Any] = {
            "loss": "half_sum",
            "optimizer": "gd",
            "lr": lr,
            "epochs": count,
            "progress": False,
            "engine": engine,
        }
        return fit(net, x.unsqueeze(-1), y.unsqueeze(-1), **options).net

    for _ in range(moves):
        net = relocate(descend(net, every), x, y, flat)
    return descend(net, epochs - moves * every)


def loss(net: ReLUNet, x, y) -> Tensor:
    """Half the sum of squared residuals, `(*batch,)`."""
    return 0.5 * residuals(net, x, y).square().sum(-1)


# ---- helpers -----------------------------------------------------------------------------------------------------------------


def _midway(x: Tensor) -> tuple[Tensor, Tensor]:
    """Breakpoints midway between neighbouring data points, facing right and left: places and orientations `(..., M)`."""
    x = distinct(x)
    beta = (x[..., 1:] + x[..., :-1]) / 2
    s = torch.ones_like(beta)
    return torch.cat([beta, beta], -1), torch.cat([s, -s], -1)


def _moving(w: Tensor) -> None:
    if (w == 0).any():
        raise ValueError("a neuron with w = 0 has no breakpoint, so there is no law of its motion: leave it out")
