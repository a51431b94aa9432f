"""Slopes of convolutional networks at many images on a GPU: one kernel for each convolution, made for its shape."""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..engines._nvrtc import kernel
from .convnet import ConvNet

PORTION = 2048  # images at a time: slopes of all layers but the first stand in memory
WARPS, MEMORY, SUMS = 8, 48 * 1024, 64  # of a block, bytes that it shares, sums of a thread
TEXT = Path(__file__).parents[1] / "engines" / "kernels" / "slopes.cu"


class Task(ctypes.Structure):
    """What the kernel is given; the structure of the same name in its text says what is what."""

    _fields_ = (*((name, ctypes.c_void_p) for name in ("winner", "vectors", "weights", "target")), ("step", ctypes.c_longlong))


def fits(net: ConvNet) -> bool:
    """Whether sums and lists of every convolution find a place on the GPU."""
    outputs, real = net.sizes[-1], 4 if net.dtype == torch.float32 else 8
    padded, teams = -(-outputs // 4) * 4, max(32 // outputs, 1)
    for layer, ((channels, _, width), (given, *_)) in enumerate(zip(net.shapes, net.shapes[1:])):
        stage = WARPS * channels * padded if layer else width * teams * channels * outputs
        if max(padded, channels if not layer else 0) > SUMS or WARPS * 32 * given + stage * real > MEMORY:
            return False
    return True


def of_convolutions(net: ConvNet, x: Tensor, slopes: Tensor) -> None:
    """Writes the slopes `(n, out, pixels)` of one network that `fits` at images `(n, pixels)`."""
    outputs = -(-net.sizes[-1] // 4) * 4  # slopes are read four at a time
    last = pad(net.weights[-1].T.unflatten(0, net.shapes[-1]).permute(1, 2, 0, 3), (0, outputs - net.sizes[-1])).contiguous()
    weights = [w.permute(0, 2, 3, 1).contiguous() for w in net.weights[:-1]]
    kernels = [kernel(source(net, layer), x.device) for layer in range(len(weights))]
    for first in range(0, len(x), PORTION):
        part = x[first : first + PORTION]
        _, places, on = net.pieces(part)
        vectors, step = last, 0
        for layer in reversed(range(len(weights))):
            channels, height, width = net.shapes[layer]
            corner = 2 * width * torch.arange(height // 2, device=x.device).unsqueeze(1) + 2 * torch.arange(
                width // 2, device=x.device
            )
            taken = (places[layer] - corner).masked_fill_(~on[layer], -1).permute(0, 2, 3, 1)
            winner = torch.empty(taken.shape, dtype=torch.int16, device=x.device).copy_(taken)
            target = slopes[first : first + len(part)] if not layer else x.new_empty(len(part), height, width, channels, outputs)
            pointers = (t.data_ptr() for t in (winner, vectors, weights[layer], target))
            kernels[layer](Task(*pointers, step), len(part) * height, 32 * WARPS, wait=False)
            vectors, step = target, target[0].numel()


def source(net: ConvNet, layer: int) -> str:
    """The text to compile for one convolution."""
    channels, height, width = net.shapes[layer]
    values = {
        "REAL": "float" if net.dtype == torch.float32 else "double",
        "C": channels, "D": net.shapes[layer + 1][0], "OUT": net.sizes[-1], "H": height, "W": width, "FIRST": int(not layer),
    }  # fmt: skip
    return "\n".join([*(f"#define {name} {value}" for name, value in values.items()), TEXT.read_text()])
