"""What is linear about a network at many images: slopes and affine maps, some images at a time (geometry/images).

A network is a `ReLUNet`, one or a batch, or what `foldnet.of` makes of any module, one or a list of them. What reads rows of
pixels begins with `nn.Unflatten`.

>>> import torch
>>> from foldnet import of
>>> from foldnet.geometry.vision import affine_at
>>> from torch import nn
>>> parts = nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)
>>> net, x = of(nn.Sequential(*parts).double(), input_shape=64), torch.full((1, 64), 0.5)
>>> slope, constant = affine_at(net, x)
>>> slope.shape, bool((slope.sum(-1) * 0.5 + constant - net(x)).abs().max() < 1e-12)
(torch.Size([1, 3, 64]), True)
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..nets import ReLUNet, as_tensor
from . import _chain

if TYPE_CHECKING:
    from ..piecewise.net import PiecewiseLinear

    Nets: TypeAlias = "ReLUNet | PiecewiseLinear | list[PiecewiseLinear]"

TREES = platform.machine() in ("aarch64", "arm64")  # with the wide vectors of x86 a product of matrices is faster than a tree


def _outputs(net: Nets, x) -> Tensor:
    """The outputs `(*batch, n, out)` of one network, or of each of a list."""
    return torch.stack([one(x) for one in net]) if isinstance(net, (list, tuple)) else net(x)


@torch.no_grad()
def jacobian(net: Nets, x) -> Tensor:
    """The slopes of all outputs at each image, `(*batch, n, out, pixels)`.

    Many images of a network with a hidden layer go through a kernel on an ARM processor: there an image differs from one with a
    similar pattern by the neurons that switch between them (`_slopes.of_hidden_layer` says how large rounding can become). Those
    of a chain of small convolutions have a kernel too, `_chain`.
    """
    if isinstance(net, (list, tuple)):
        return torch.stack([jacobian(one, x) for one in net])
    if not isinstance(net, ReLUNet):
        return net.jacobians(x)
    x = net.points(x)
    work = net.weights[0].numel() if TREES and len(net.weights) == 2 and net.sizes[0] >= 16 else 0
    few = work * net.sizes[-1] * x.shape[-2] <= _chain.WORTH
    if few or net.dtype not in (torch.float32, torch.float64) or net.device.type != "cpu":
        return net.jacobian(x)
    from . import _slopes  # numba, which takes a second, only where it pays

    slopes = x.new_empty(*net.batch_shape, x.shape[-2], net.sizes[-1], net.sizes[0])
    for one in np.ndindex(net.batch_shape):
        _slopes.of_hidden_layer(net[one] if one else net, x[one] if x.ndim > 2 else x, slopes[one])
    return slopes


def jacobians(net: Nets, x, chunk: int = 500) -> Iterator[Tensor]:
    """`jacobian` of some images at a time, in order: the slopes of ten thousand images never stand in memory together.

    `net`, `x`: as for `jacobian`.
    `chunk`: how many images at a time.
    """
    if chunk < 1:
        raise ValueError(f"a chunk has at least one image; got {chunk}")
    yield from (jacobian(net, part) for part in as_tensor(x).split(chunk, dim=-2))


@torch.no_grad()
def affine_at(net: Nets, x) -> tuple[Tensor, Tensor]:
    """The affine map in force at each image, J `(*batch, n, out, pixels)` and c `(*batch, n, out)`: `net(x)` is J x + c there."""
    slope = jacobian(net, x)
    x = as_tensor(x).to(slope)
    return slope, _outputs(net, x) - (slope @ x.expand(*slope.shape[:-2], x.shape[-1]).unsqueeze(-1)).squeeze(-1)
