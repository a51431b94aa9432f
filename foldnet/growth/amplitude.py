"""How far to go along a direction that theory gives only at first order: a line search that never makes things worse.

>>> from foldnet.growth.amplitude import best_amplitude
>>> from foldnet.growth.neurons import optimal_neurons, with_neurons
>>> from foldnet.nets import ReLUNet
>>> x, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [[1.0], [2.0], [3.0], [0.0]]
>>> net = ReLUNet.random((2, 1, 1), seed=0)
>>> new = optimal_neurons(net, 0, x, y, k=1)
>>> found = best_amplitude(net, 0, new, x, y)
>>> bool(found.loss < found.start)
True
>>> with_neurons(net, 0, new, found.amplitude).sizes
(2, 2, 1)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..nets import Network
from ..training.losses import point_losses
from ..training.problem import checked_data
from ._passes import affine, around, onward
from .neurons import NewNeurons

GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class Amplitude:
    """The best amplitude found, the loss there and the loss at amplitude 0, each `(*batch,)`; `loss <= start` always."""

    amplitude: Tensor
    loss: Tensor
    start: Tensor


def line_search(loss_of: Callable[[Tensor], Tensor], zero: Tensor, least=2.0**-14, most=2.0**10, refine: int = 20) -> Amplitude:
    """The amplitude between 0 and twice `most` with the smallest loss, for each network by itself; the same on every call.

    loss_of: maps amplitudes `(*batch,)` to losses `(*batch,)`.
    zero: zeros of that shape.
    least, most: the first amplitude, which is doubled up to the last.
    refine: steps of a golden section, then, between half and twice the best of them.

    The best amplitude ever looked at is returned, 0 among them. (S1-alg-amplitude)
    """
    if not 0 < least <= most:
        raise ValueError(f"amplitudes are looked at from least > 0 up to most; got least={least} and most={most}")
    start = loss_of(zero)
    if not start.isfinite().all():
        raise ValueError("the loss at amplitude 0 is not finite: there is nothing to compare with")
    best, lowest = zero.clone(), start.clone()

    def look(amplitude: Tensor) -> Tensor:
        value = loss_of(amplitude)
        value = torch.where(value.isfinite(), value, torch.inf)
        better = value < lowest
        best[...], lowest[...] = torch.where(better, amplitude, best), torch.where(better, value, lowest)
        return value

    step = least
    while step <= most:
        look(torch.full_like(zero, step))
        step *= 2
    low, high = (best / 2).log2(), (best * 2).log2()  # -inf where nothing helped: there the section changes nothing
    low, high = (torch.where(a.isfinite(), a, -20.0) for a in (low, high))
    inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_inner, at_outer = look(inner.exp2()), look(outer.exp2())
    for _ in range(refine):
        left = at_inner < at_outer
        low, high = torch.where(left, low, inner), torch.where(left, outer, high)
        probe = torch.where(left, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        value = look(probe.exp2())
        inner, outer = torch.where(left, probe, outer), torch.where(left, inner, probe)
        at_inner, at_outer = torch.where(left, value, at_outer), torch.where(left, at_inner, value)
    return Amplitude(best, lowest, start)


def best_amplitude(
    net: Network, layer: int, new: NewNeurons, x, y, loss: str | Callable = "mse", split: float = 1.0, update=None, **search
) -> Amplitude:
    """The amplitude with which `with_neurons(net, layer, new, amplitude, update, split)` has the smallest mean loss.

    `net`, `layer`, `new`: as in `with_neurons`.
    `x`, `y`, `loss`: points, targets and loss, as in `desired_update`; they need not be those the neurons were fitted to.
    `split`: how both sides of a neuron share the amplitude, as in `with_neurons`.
    `update`: None moves the old weights by the same amplitude. A number or `(*batch,)` is the amplitude of their move, applied
    already. `"only"` searches the amplitude of their move, without new neurons.
    `search`: `least`, `most` and `refine`: amplitudes from `least`, doubled up to `most`, then so many steps of a golden section.

    Only what lies beyond the layer is computed again at each look.
    """
    if isinstance(update, str) and update != "only":
        raise ValueError(f"update is 'only', an amplitude, or None; got {update!r}")
    x, y = checked_data(net, x, y, loss)
    below, here, z = around(net, layer, x)
    move = affine(here, new.update.weights, new.update.bias)
    reads = affine(below, new.incoming, new.bias)
    only = isinstance(update, str)
    if not only and update is not None:
        z = z + torch.as_tensor(update, dtype=net.dtype, device=net.device)[..., None, None] * move

    def loss_of(amplitude: Tensor) -> Tensor:
        g = amplitude[..., None, None]
        here = z + g * move if only or update is None else z
        if not only:
            here = here + net.activate(reads * g**split) @ (new.outgoing * g ** (1 - split)).mT
        return point_losses(onward(net, layer + 1, here), y, loss).mean(-1)

    return line_search(loss_of, torch.zeros(net.batch_shape, dtype=net.dtype, device=net.device), **search)
