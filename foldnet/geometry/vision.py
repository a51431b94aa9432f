"""Networks that see: convolutions and max pooling as a value, and what is linear about any network at an image (geometry/images).

`pattern`, `jacobian` and `affine_at` take a `ReLUNet` and a `ConvNet` alike, one network or a batch of them.

>>> from foldnet.geometry.convnet import ConvNet
>>> from foldnet.geometry.vision import affine_at, pattern
>>> net = ConvNet.random((4, 4), outputs=3, input_shape=(1, 8, 8), seed=0)
>>> net
ConvNet(1x8x8 4x4x4 4x2x2 3, pool, ReLU, float64)
>>> pattern(net, [[0.5] * 64]).shape  # what each of 80 poolings takes, and which of 80 ReLUs are on
torch.Size([1, 160])
>>> slope, constant = affine_at(net, [[0.5] * 64])
>>> bool((slope.sum(-1) * 0.5 + constant - net([[0.5] * 64])).abs().max() < 1e-12)
True
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d

from ..nets import ReLUNet, as_tensor
from .convnet import SIDE, ConvNet

WORTH = 2e9  # multiplications, half a second of them, from which on a compiled kernel is taken
TREES = platform.machine() in ("aarch64", "arm64")  # with the wide vectors of x86 a product of matrices is faster than a tree


# ---- what is linear at an image ------------------------------------------------------------------------------------------------


@torch.no_grad()
def pattern(net: ReLUNet | ConvNet, x) -> Tensor:
    """The choices of a network at each image, int8 `(*batch, n, units)`; equal patterns mean one affine map.

    1 for a ReLU that is on, 0 for one that is off, and which of its four pixels (0 to 3, row by row) a pooling takes. Layer after
    layer, and within a layer in the order of the network: ReLUs before the pooling, or after it.
    """
    if isinstance(net, ReLUNet):
        return net.pattern(x).to(torch.int8)
    x, found = net.points(x), []
    for z, place, on in zip(*net.pieces(x)):
        width = z.shape[-1]
        choice = 2 * (place // width % 2) + place % width % 2
        found += [z > 0, choice] if net.relu_first else [choice, on]
    parts = [net._unstacked(part.to(torch.int8), x) for part in found]
    return torch.cat(parts, -1) if parts else torch.zeros(*net.batch_shape, len(x), 0, dtype=torch.int8, device=net.device)


@torch.no_grad()
def jacobian(net: ReLUNet | ConvNet, x) -> Tensor:
    """The slopes of all outputs at each image, `(*batch, n, out, pixels)`, in closed form: all outputs go back at once.

    Many images go through kernels: of a convolutional network what is on is multiplied alone, the same sums in another order; of
    one with a hidden layer, on an ARM processor, an image differs from one with a similar pattern by the neurons that switch
    between them (`_slopes.of_hidden_layer` says how large rounding can become).
    """
    x = net.points(x)
    if many := _many(net, x):
        slopes = x.new_empty(*net.batch_shape, x.shape[-2], net.sizes[-1], net.sizes[0])
        for one in np.ndindex(net.batch_shape):
            many(net[one] if one else net, x[one] if x.ndim > 2 else x, slopes[one])
        return slopes
    if isinstance(net, ReLUNet):
        return net.jacobian(x)
    n, many, outputs = x.shape[-2], math.prod(net.batch_shape), net.sizes[-1]
    _, places, on = net.pieces(x)
    # every output of every image is an image of its own: (n, out, B * channels, height, width)
    last = net.weights[-1].reshape(many, outputs, *net.shapes[-1]).transpose(0, 1)
    back = last.reshape(1, outputs, -1, *net.shapes[-1][1:]).expand(n, -1, -1, -1, -1)
    for layer in reversed(range(len(places))):
        _, *before = net.shapes[layer]
        place = places[layer].flatten(2).unsqueeze(1).expand(-1, outputs, -1, -1)
        wide = torch.zeros(*place.shape[:3], math.prod(before), dtype=net.dtype, device=net.device)
        wide.scatter_(-1, place, (back * on[layer].unsqueeze(1)).flatten(3))
        # a convolution read backwards: kernels turned round, channels in exchanged for channels out
        turned = net.weights[layer].reshape(many, *net.weights[layer].shape[-4:]).transpose(1, 2).flip(-2, -1)
        wide = wide.view(n * outputs, -1, *before)
        back = conv2d(wide, turned.reshape(-1, *turned.shape[2:]), padding=1, groups=many).view(n, outputs, -1, *before)
    # the kernels of every network give all channels of the input
    return back.reshape(n, outputs, many, -1).permute(2, 0, 1, 3).reshape(*net.batch_shape, n, outputs, net.sizes[0])


def _many(net: ReLUNet | ConvNet, x: Tensor):
    """What writes the slopes of one network at many images, if there is such a kernel and it pays."""
    if isinstance(net, ConvNet):
        work = sum(w[..., 0, 0].numel() * SIDE**2 * math.prod(shape[1:]) for w, shape in zip(net.weights[:-1], net.shapes))
    else:
        work = net.weights[0].numel() if TREES and len(net.weights) == 2 and net.sizes[0] >= 16 else 0
    if net.dtype not in (torch.float32, torch.float64) or work * net.sizes[-1] * x.shape[-2] <= WORTH:
        return None
    if net.device.type == "cuda" and isinstance(net, ConvNet):
        from . import _slopes_cuda

        return _slopes_cuda.of_convolutions if _slopes_cuda.fits(net) else None
    if net.device.type != "cpu":
        return None
    from . import _slopes  # numba, which takes a second, only where it pays

    return _slopes.of_convolutions if isinstance(net, ConvNet) else _slopes.of_hidden_layer


def jacobians(net: ReLUNet | ConvNet, x, chunk: int = 500) -> Iterator[Tensor]:
    """`jacobian` of some images at a time, in order: the slopes of ten thousand images never stand in memory together.

    `net`, `x`: as for `jacobian`.
    `chunk`: how many images at a time.
    """
    if chunk < 1:
        raise ValueError(f"a chunk has at least one image; got {chunk}")
    x = as_tensor(x)
    yield from (jacobian(net, part) for part in x.split(chunk, dim=-2))


@torch.no_grad()
def affine_at(net: ReLUNet | ConvNet, x) -> tuple[Tensor, Tensor]:
    """The affine map in force at each image, J `(*batch, n, out, pixels)` and c `(*batch, n, out)`: `net(x)` is J x + c there."""
    slope, x = jacobian(net, x), net.points(x)
    return slope, net(x) - (slope @ x.expand(*slope.shape[:-2], x.shape[-1]).unsqueeze(-1)).squeeze(-1)
