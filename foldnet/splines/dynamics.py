"""How breakpoints and delta-slopes move when a shallow network of one variable is trained, and a way to help them along.

The loss is half the sum of squared residuals, `0.5 * sum_n (f(x_n) - y_n)^2`, and the residual is `y_n - f(x_n)`. All functions
take one 1-H-1 network or a batch. (splines/dynamics)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..nets import ReLUNet
from ..train import fit
from .breakpoints import Spline, shallow, spline


@dataclass(frozen=True, eq=False)
class Velocity:
    """How fast breakpoints and delta-slopes `(*batch, H)` and the offset `(*batch,)` change under gradient flow."""

    breakpoints: Tensor
    delta_slopes: Tensor
    offset: Tensor


def velocity(net: ReLUNet, x, y) -> Velocity:
    """Gradient flow on the weights, seen in (beta, mu): the laws of motion of S3-thm-5, with mu = v|w|."""
    w, b, v, _ = shallow(net)
    beta, x, y = spline(net).breakpoints, *_data(net, x, y)
    _moving(w, beta, x)
    total, moment, residual = _seen(net, x, y)
    return Velocity(
        -(v / w) * (total + beta * moment),
        w.sign() * ((v**2 + w**2) * moment + w * b * total),
        residual.sum(-1),
    )


def spline_gradient(f: Spline, x, y) -> tuple[Tensor, Tensor, Tensor]:
    """The derivatives of the loss in breakpoints, delta-slopes `(*batch, H)` and offset `(*batch,)`. (S3-prop-kernel-law)

    Minus the second is the law of the delta-slopes when the breakpoints are held fixed.
    """
    x, y = (torch.as_tensor(a, dtype=f.offset.dtype, device=f.offset.device) for a in (x, y))
    _moving(f.orientations, f.breakpoints, x)
    return _gradient(f, x, y)


def conserved(net: ReLUNet) -> Tensor:
    """w^2 + b^2 - v^2 of each neuron, `(*batch, H)`: gradient flow never changes it."""
    w, b, v, _ = shallow(net)
    return w**2 + b**2 - v**2


def squared_weight(beta: Tensor, mu: Tensor, constant: Tensor) -> Tensor:
    """w^2 of a neuron from its breakpoint, its delta-slope and its conserved quantity."""
    spread = 1 + beta**2
    root = torch.sqrt(constant**2 + 4 * spread * mu**2)
    # of the two forms of the root of a quadratic, the one without cancellation
    return torch.where(constant > 0, (constant + root) / (2 * spread), 2 * mu**2 / (root - constant))


def integrate(net: ReLUNet, x, y, time: float, steps: int, every: int = 1) -> tuple[Tensor, Spline]:
    """Gradient flow computed in (beta, mu) alone, weights never formed: times `(K,)` and splines with a first axis of K.

    Heun's method with equal steps. What the laws need of the weights comes from the conserved quantity. (S3-thm-5)
    """
    f, constant, step = spline(net), conserved(net), time / steps
    x, y = _data(net, x, y)
    _moving(net.weights[0].squeeze(-1), f.breakpoints, x)
    s = f.orientations

    def law(beta, mu, offset):
        by_beta, by_mu, by_offset = _gradient(Spline(beta, mu, s, offset), x, y)
        ww = squared_weight(beta, mu, constant)
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
    return step * every * torch.arange(len(kept), dtype=beta.dtype), Spline(beta, mu, s.expand_as(beta), offset)


def tangent_kernel(net: ReLUNet, x) -> tuple[Tensor, Tensor]:
    """The two parts of the tangent kernel on the points `x`, each `(*batch, n, n)`. (S3-thm-5-ntk)

    The first comes from the hidden weights, the second from the output weights. A trained output bias adds 1 to each entry.
    """
    w, b, v, _ = shallow(net)
    x = torch.as_tensor(x, dtype=w.dtype, device=w.device)
    z = w.unsqueeze(-1) * x + b.unsqueeze(-1)
    active = (z > 0).to(w.dtype) * v.unsqueeze(-1)
    z = z.clamp(min=0)
    return (active.mT @ active) * (1 + x.unsqueeze(-1) * x.unsqueeze(-2)), z.mT @ z


# ---- global moves ------------------------------------------------------------------------------------------------------------


def relocate(net: ReLUNet, x, y, flat: bool = False) -> ReLUNet:
    """Move one bad breakpoint of each network, if a better place is found for it. (S3-alg-relocate)

    Bad is the neuron whose removal raises the loss least. The best place is the hinge that can lower the loss most afterwards,
    its breakpoint midway between two data points, facing either way. The neuron moves if that gains more than its removal costs,
    and starts with the best delta-slope, so that a move never raises the loss; or with delta-slope 0 (`flat`).
    """
    w, b, v, offset = shallow(net)
    x, y = _data(net, x, y)
    beta, s, hinges = _hinges(x)
    outputs = v.unsqueeze(-1) * (w.unsqueeze(-1) * x.unsqueeze(-2) + b.unsqueeze(-1)).clamp(min=0)
    residual = y - offset.unsqueeze(-1) - outputs.sum(-2)
    without, worst = (0.5 * (residual.unsqueeze(-2) + outputs).square().sum(-1)).min(-1)
    is_worst = torch.zeros_like(w, dtype=torch.bool).scatter(-1, worst.unsqueeze(-1), True)
    residual_without = residual + (outputs * is_worst.unsqueeze(-1)).sum(-2)
    size = hinges.square().sum(-1)
    overlap = (hinges @ residual_without.unsqueeze(-1)).squeeze(-1)
    gain, place = (0.5 * overlap**2 / size).max(-1)
    here = is_worst & (without - gain < 0.5 * residual.square().sum(-1)).unsqueeze(-1)
    beta, s, mu = (t.expand_as(overlap).gather(-1, place.unsqueeze(-1)) for t in (beta, s, overlap / size))
    moved = zip((s, -s * beta, 0 * mu if flat else mu), (w, b, v))
    w, b, v = (torch.where(here, new, old) for new, old in moved)
    return ReLUNet([w.unsqueeze(-1), v.unsqueeze(-2)], [b, offset.unsqueeze(-1)])


def train(
    net: ReLUNet, x, y, rate: float, steps: int, moves: int = 0, every: int = 1000, flat: bool = False, engine: str = "auto"
) -> ReLUNet:
    """Gradient descent on the loss with `rate`; `relocate` is called `moves` times, after each `every` steps.

    The number of gradient steps is `steps`, with moves and without. `engine` is that of `foldnet.train.fit`.
    """
    if moves * every > steps:
        raise ValueError(f"{moves} moves, one every {every} steps, do not fit into {steps} steps")
    x, y = _data(net, x, y)

    def descend(net: ReLUNet, count: int) -> ReLUNet:
        mean = rate * x.shape[-1] / 2  # fit has the mean of the squares, the loss here is half their sum
        options = {"optimizer": "gd", "lr": mean, "epochs": count, "progress": False, "engine": engine}
        return fit(net, x.unsqueeze(-1), y.unsqueeze(-1), **options).net

    for _ in range(moves):
        net = relocate(descend(net, every), x, y, flat)
    return descend(net, steps - moves * every)


def loss(net: ReLUNet, x, y) -> Tensor:
    """Half the sum of squared residuals, `(*batch,)`."""
    x, y = _data(net, x, y)
    return 0.5 * (y - net(x.unsqueeze(-1)).squeeze(-1)).square().sum(-1)


# ---- helpers -----------------------------------------------------------------------------------------------------------------


def _data(net: ReLUNet, x, y) -> tuple[Tensor, Tensor]:
    x, y = (torch.as_tensor(a, dtype=net.dtype, device=net.device) for a in (x, y))
    if not x.ndim or x.shape[-1] != y.shape[-1]:
        raise ValueError(f"each x needs its y, as two lists of one length; got shapes {tuple(x.shape)} and {tuple(y.shape)}")
    return x, y


def _seen(net: ReLUNet, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sum of the residuals that a neuron sees, the same weighted with x, each `(*batch, H)`; and the residuals `(*batch, n)`."""
    w, b, _, _ = shallow(net)
    residual = y - net(x.unsqueeze(-1)).squeeze(-1)
    seen = residual.unsqueeze(-2) * (w.unsqueeze(-1) * x.unsqueeze(-2) + b.unsqueeze(-1) > 0)
    return seen.sum(-1), (seen * x.unsqueeze(-2)).sum(-1), residual


def _gradient(f: Spline, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    distance = f.orientations.unsqueeze(-1) * (x.unsqueeze(-2) - f.breakpoints.unsqueeze(-1))
    residual = (y - f(x)).unsqueeze(-2)
    towards_beta = f.delta_slopes * f.orientations * (residual * (distance > 0)).sum(-1)
    return towards_beta, -(residual * distance.clamp(min=0)).sum(-1), -residual.squeeze(-2).sum(-1)


def _hinges(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Breakpoints midway between data points, facing right and left: places and orientations `(..., M)`, values `(..., M, n)`."""
    ordered = x.sort(-1).values
    if not (ordered[..., 1:] > ordered[..., :-1]).all():
        raise ValueError("some x occurs more than once, and no breakpoint fits in between: average the targets there")
    beta = (ordered[..., 1:] + ordered[..., :-1]) / 2
    s = torch.ones_like(beta)
    beta, s = torch.cat([beta, beta], -1), torch.cat([s, -s], -1)
    return beta, s, (s.unsqueeze(-1) * (x.unsqueeze(-2) - beta.unsqueeze(-1))).clamp(min=0)


def _moving(w: Tensor, beta: Tensor, x: Tensor) -> None:
    """The laws hold for neurons that have a breakpoint, and off the data points."""
    if (w == 0).any() or not beta.isfinite().all():
        raise ValueError("a neuron with w = 0 has no breakpoint, so there is no law of its motion: leave it out")
    on = (beta.unsqueeze(-1) == x.unsqueeze(-2)).any(-1)
    if on.any():
        place = beta[on][0].item()
        raise ValueError(f"the breakpoint {place:g} lies on a data point, where the loss has a kink and its law two values")
