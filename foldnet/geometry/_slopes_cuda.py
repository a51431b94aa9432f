"""Slopes of convolutional networks at many images on a GPU: one kernel for each convolution, made for its shape."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import conv2d, max_pool2d, pad

from ..engines._nvrtc import kernel

if TYPE_CHECKING:
    from ._chain import Chain

PORTION = 2048  # images at a time: slopes of all layers but the first stand in memory
WARPS, MEMORY, SUMS = 8, 48 * 1024, 64  # of a block, bytes that it shares, sums of a thread
TEXT = Path(__file__).parents[1] / "engines" / "kernels" / "slopes.cu"


class Task(ctypes.Structure):
    """What the kernel is given; the structure of the same name in its text says what is what."""

    _fields_ = (*((name, ctypes.c_void_p) for name in ("winner", "vectors", "weights", "target")), ("step", ctypes.c_longlong))


def fits(chain: Chain) -> bool:
    """Whether sums and lists of every convolution find a place on the GPU."""
    outputs, real = chain.outputs, chain.weights[0].element_size()
    padded, teams = -(-outputs // 4) * 4, max(32 // outputs, 1)
    for layer, ((channels, _, width), (given, *_)) in enumerate(zip(chain.shapes, chain.shapes[1:])):
        stage = WARPS * channels * padded if layer else width * teams * channels * outputs
        if max(padded, channels if not layer else 0) > SUMS or WARPS * 32 * given + stage * real > MEMORY:
            return False
    return True


def of_convolutions(chain: Chain, x: Tensor, slopes: Tensor) -> None:
    """Writes the slopes `(n, out, pixels)` of a chain that `fits` at images `(n, pixels)`."""
    (*weights, above), shapes = chain.weights, chain.shapes
    outputs = -(-chain.outputs // 4) * 4  # slopes are read four at a time
    last = pad(above.T.unflatten(0, shapes[-1]).permute(1, 2, 0, 3), (0, outputs - chain.outputs)).contiguous()
    turned = [w.permute(0, 2, 3, 1).contiguous() for w in weights]
    kernels = [kernel(source(chain, layer), x.device) for layer in range(len(weights))]
    for first in range(0, len(x), PORTION):
        part = x[first : first + PORTION]
        h, places = part.unflatten(1, shapes[0]), []
        for w, b in zip(weights, chain.biases):
            h, place = max_pool2d(conv2d(h, w, b, padding=1), 2, return_indices=True)
            places.append((place, h <= 0))
            h = h.relu()
        vectors, step = last, 0
        for layer in reversed(range(len(weights))):
            channels, height, width = shapes[layer]
            place, off = places[layer]
            corner = 2 * width * torch.arange(height // 2, device=x.device).unsqueeze(1) + 2 * torch.arange(
                width // 2, device=x.device
            )
            taken = (place - corner).masked_fill_(off, -1).permute(0, 2, 3, 1)
            winner = torch.empty(taken.shape, dtype=torch.int16, device=x.device).copy_(taken)
            target = slopes[first : first + len(part)] if not layer else x.new_empty(len(part), height, width, channels, outputs)
            pointers = (t.data_ptr() for t in (winner, vectors, turned[layer], target))
            kernels[layer](Task(*pointers, step), len(part) * height, 32 * WARPS, wait=False)
            vectors, step = target, target[0].numel()


def source(chain: Chain, layer: int) -> str:
    """The text to compile for one convolution."""
    channels, height, width = chain.shapes[layer]
    values = {
        "REAL": "float" if chain.weights[0].dtype == torch.float32 else "double",
        "C": channels, "D": chain.shapes[layer + 1][0], "OUT": chain.outputs, "H": height, "W": width, "FIRST": int(not layer),
    }  # fmt: skip
    return "\n".join([*(f"#define {name} {value}" for name, value in values.items()), TEXT.read_text()])
