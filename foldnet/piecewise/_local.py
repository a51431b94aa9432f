"""Matrices and margins of a traced network at its points, as many at a time as memory holds."""

from __future__ import annotations

import os
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.func import jacrev, jvp, vjp, vmap

if TYPE_CHECKING:
    from .net import PiecewiseLinear

AT_ONCE = 256  # units whose gradients are computed at once, and points; fewer where they take more than ROOM bytes
ROOM = 2**30
FEW = 32  # outputs up to which one after the other is faster than all at once


def at_once(net: PiecewiseLinear) -> int:
    """How many points, or gradients at one, go through a network at once."""
    one = 8 * (sum(net.units.values()) + prod(net.input_shape) + prod(net.output_shape))
    return max(1, min(AT_ONCE, ROOM // one))


def jacobians(net: PiecewiseLinear, x: Tensor, chunk: int) -> Tensor:
    """`PiecewiseLinear.jacobians` at points `(n, *input)`; more than memory holds are refused."""
    one = prod(net.output_shape) * prod(net.input_shape) * x.element_size()
    free = free_memory(x.device)
    if one * (len(x) + min(chunk, len(x))) > free:
        fit = int(free // one) // 2
        do = f"take {fit:,} points at a time" if fit else "affine(x) @ v has its products, row by row"
        raise ValueError(f"the matrices of {len(x):,} points take {one * len(x) / 2**30:.3g} GB, more than memory has: {do}")
    if net.chain and (found := net.chain.slopes(x.flatten(1))) is not None:
        return found
    outputs = prod(net.output_shape)
    if len(x) == 1:
        return jacrev(net.flat)(x[0])[None].flatten(2)
    if outputs > FEW:
        return vmap(jacrev(net.flat), chunk_size=chunk)(x).flatten(2)
    return torch.cat([_row_by_row(net, part, outputs) for part in x.split(chunk)])


def _row_by_row(net: PiecewiseLinear, x: Tensor, outputs: int) -> Tensor:
    """The matrices at points `(n, *input)`, one output after the other for all of them: nothing is batched twice."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        y = net.graph.run(x).flatten(1) if net.output_shape else net.graph.run(x)[:, None]
        if not y.requires_grad:  # it depends on its input by its shape alone
            return x.new_zeros(len(x), outputs, x[0].numel())
        rows = [torch.autograd.grad(y[:, k].sum(), x, retain_graph=k + 1 < outputs)[0] for k in range(outputs)]
    return torch.stack(rows, 1).flatten(2)


def free_memory(device: torch.device) -> float:
    """The bytes of memory that are free, as far as one can know."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not every system says it
        return float("inf")


def margin(net: PiecewiseLinear, x: Tensor, direction: Tensor | None, shown: Any) -> Tensor:
    """`PiecewiseLinear.margin` of one point of the shape of an input; `shown` is a bar or None."""
    if direction is not None:
        z, speed, *_ = jvp(net.sides, (x,), (direction,))
        far = (-z / speed)[(speed != 0) & (z * speed < 0)]
        if shown is not None:
            shown.update(1)
    else:
        z, back, *_ = vjp(net.sides, x)
        norms = z.new_zeros(len(z))
        for some in torch.arange(len(z), device=z.device).split(at_once(net)):
            rows = z.new_zeros(len(some), len(z))
            rows[torch.arange(len(some), device=z.device), some] = 1.0
            norms[some] = vmap(lambda row: back(row)[0].norm())(rows)
            if shown is not None:
                shown.update(len(some))
        far = (z.abs() / norms)[norms > 0]
    return far.min() if len(far) else z.new_tensor(float("inf"))
