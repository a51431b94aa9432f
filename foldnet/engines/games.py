"""Games of two small networks on a GPU: a kernel made for their width plays all steps of a call without a break.

What a step is stands in `foldnet/splines/gans.py`; here it is written for a block of threads, some twenty times as fast.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.splines import gans
>>> import torch
>>> nets = ReLUNet.random((2, 7, 2), batch=3, seed=0), ReLUNet.random((2, 7, 1), batch=3, seed=1)
>>> points = torch.randn(20, 3, 16, 2, dtype=torch.float64)  # on a GPU: twenty steps of three games in one launch
>>> try:
...     gans.Games.start(*nets, scaled=torch.zeros(3)).play(torch.ones(3).double(), points, points)
... except ValueError as error:
...     print(str(error)[:88])
the kernel plays in the plane, both players of one even width, at most n and a divisor o
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ._nvrtc import kernel

POINTERS = ("x", "y", "squares", "scaled", "scale", "data", "noise", "pace")


class _Task(ctypes.Structure):
    """What the kernel is given; the structure of the same name in its text says what is what."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in POINTERS),
        *((name, ctypes.c_double) for name in ("lr", "decay", "tiny", "damping")),
        *((name, ctypes.c_int) for name in ("seeds", "steps", "ridge", "guarded", "inner")),
    )


def play(
    games: Sequence[Tensor],
    scale: Tensor,
    data: Tensor,
    noise: Tensor,
    ridge: bool,
    guarded: bool,
    how: dict[str, float],
    inner: int,
) -> None:
    """One step for each batch of `data` and `noise`, `(steps, seeds, n, 2)`, in place; game g takes those of seed g % seeds.

    games: parameters of generators and discriminators, mean squares, steps played, and which use RMSprop, as `Games` has them.
    scale: of the noise, `(N,)`.
    data, noise: n is a multiple of 16 and at most 512; the width of both players is even, at most n, and divides 2n.
    ridge, inner: whether the discriminator follows its ridge, found by so many rounds of conjugate gradients.
    guarded: end them at a direction of negative curvature too, and not only at one of none.
    how: `lr`, `decay`, `tiny` and `damping`.
    """
    x, y, squares, count, scaled = games
    (steps, seeds, batch, plane), width = data.shape, (y.shape[1] - 1) // 4
    shapes = x.shape[1] == 5 * width + 2 and y.shape[1] == 4 * width + 1 and plane == 2 and data.shape == noise.shape
    if not shapes or width % 2 or 2 * batch % width or 2 * width > 2 * batch or batch % 16 or 2 * batch > 1024:
        raise ValueError(
            "the kernel plays in the plane, both players of one even width, at most n and a divisor of 2n, for batches of n "
            f"points, a multiple of 16 and at most 512; got x {tuple(x.shape)}, y {tuple(y.shape)}, data {tuple(data.shape)}, "
            f"noise {tuple(noise.shape)}"
        )
    real = {torch.float32: "float", torch.float64: "double"}[x.dtype]
    single = "#define SINGLE\n" if real == "float" else ""
    text = (Path(__file__).parent / "kernels" / "games.cu").read_text(encoding="utf-8")
    start = kernel(f"#define REAL {real}\n{single}#define H {width}\n#define B {batch}\n{text}", x.device)
    age = count.item() + 1 + np.arange(steps)
    pace = torch.from_numpy(1 / (1 - how["decay"] ** age)).to(x)
    tensors = {"x": x, "y": y, "squares": squares, "scaled": scaled, "scale": scale, "data": data, "noise": noise, "pace": pace}
    if not all(t.is_contiguous() and t.dtype == x.dtype for t in tensors.values()):
        raise ValueError("the kernel reads contiguous tensors of one dtype")
    where = {name: tensor.data_ptr() for name, tensor in tensors.items()}
    start(_Task(**where, **how, seeds=seeds, steps=steps, ridge=ridge, guarded=guarded, inner=inner), len(x), 2 * batch)
    count += steps
