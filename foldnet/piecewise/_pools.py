"""Max poolings, and the largest along dimensions, in a graph: which pixels each unit reads, and which it takes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, fx, nn

from . import _layers
from ._layers import LARGEST, MAXIMA, POOLS, argument, first


class NotPiecewiseLinear(ValueError):
    """A step of the module is not piecewise linear, or is not known here; the sentence names it and says what else there is."""


class Pooling:
    """What `Graph` knows of steps that take the largest of several numbers."""

    def what(self, node: fx.Node) -> Any:
        raise NotImplementedError

    def part(self, node: fx.Node) -> nn.Module | None:
        raise NotImplementedError

    def apply(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        raise NotImplementedError

    def along(self, node: fx.Node) -> list[int] | None:
        """The dimensions along which a step takes the largest number; None of other steps."""
        dim = argument(node, "dim", 1)
        if self.what(node) in LARGEST and isinstance(dim, (int, tuple, list)):
            return [dim] if isinstance(dim, int) else list(dim)
        return [dim] if self.what(node) in MAXIMA - _layers.MINIMA and isinstance(dim, int) else None

    def _pixels(self, node: fx.Node, values: dict[fx.Node, Any]) -> Tensor:
        """The input of a max pooling as `(n, planes, *pixels)`."""
        z, dims = values[first(node)], self.along(node)
        if dims is None:
            return z
        dims = [d % z.ndim for d in dims]
        if 0 in dims:
            raise NotPiecewiseLinear(
                f"{node.name} takes the largest of all points, which stand one by one in the first dimension"
            )
        rest = [d for d in range(z.ndim) if d not in dims]
        return z.permute(*rest, *dims).flatten(len(rest)).flatten(1, -2) if len(rest) > 1 else z.flatten(1)[:, None]

    def winners(self, node: fx.Node, values: dict[fx.Node, Any]) -> tuple[Tensor, Tensor]:
        """The input of a max pooling as `(n, planes, pixels)`, and the pixel that each unit takes, `(n, planes, units)`."""
        z = self._pixels(node, values)
        *how, up = self._pooling(node, z)
        pool = _layers.MAX_POOL[z.ndim - 2]
        _, taken = pool(z, *how, ceil_mode=up, return_indices=True)
        return z.flatten(2), taken.flatten(2)

    def _pooling(self, node: fx.Node, z: Tensor) -> tuple[list, list, list, list, bool]:
        """Kernel, stride, padding and dilation of a max pooling, by dimensions, and whether it rounds sizes up."""
        what, shape = self.what(node), z.shape[2:]
        if self.along(node) is not None:
            return list(shape), list(shape), [0], [1], False
        many = POOLS[what]
        if len(shape) != many:
            raise NotPiecewiseLinear(
                f"{node.name} pools over {many} of the {z.ndim - 1} dimensions of a point: one for channels belongs before them"
            )

        def each(v: Any) -> list[Any]:
            return [v] * many if isinstance(v, int) else list(v)

        if what not in _layers.ADAPTIVE:
            kernel, stride, padding, dilation, up = _layers.given(node, self.part(node), _layers.WINDOWS)
            return each(kernel), each(stride or kernel), each(padding), each(dilation), up
        (out,) = _layers.given(node, self.part(node), (("output_size", None),))
        sizes = [size if o is None else o for size, o in zip(shape, each(out))]
        if any(size % o for size, o in zip(shape, sizes)):
            raise NotPiecewiseLinear(
                f"{node.name} pools {list(shape)} pixels to {sizes}, in windows of several sizes: sizes that divide are taken"
            )
        kernel = [size // o for size, o in zip(shape, sizes)]
        return kernel, kernel, [0] * many, [1] * many, False

    def windows(self, node: fx.Node, values: dict[fx.Node, Any]) -> tuple[Tensor, Tensor]:
        """The pixels that each unit of a max pooling reads, `(n, units, pixels)`, and which lie inside `(units, pixels)`."""
        z = self._pixels(node, values)
        shape = z.shape[2:]
        out = [1] if self.along(node) is not None else self.apply(node, values).shape[2:]
        kernel, stride, padding, dilation, _ = self._pooling(node, z)
        pixel, inside = torch.zeros(1, 1, dtype=torch.int64, device=z.device), torch.ones(1, 1, dtype=torch.bool, device=z.device)
        for d, size in enumerate(shape):
            start = torch.arange(out[d], device=z.device) * stride[d] - padding[d]
            place = start[:, None] + torch.arange(kernel[d], device=z.device) * dilation[d]
            here = (place >= 0) & (place < size)
            pixel = (pixel[:, None, :, None] * size + place.clamp(0, size - 1)[None, :, None, :]).flatten(2).flatten(0, 1)
            inside = (inside[:, None, :, None] & here[None, :, None, :]).flatten(2).flatten(0, 1)
        return z.flatten(2)[:, :, pixel].where(inside, -torch.inf).flatten(1, 2), inside.repeat(z.shape[1], 1)

    def gaps(self, node: fx.Node, values: dict[fx.Node, Any]) -> tuple[Tensor, Tensor]:
        """How far what each unit of a max pooling takes is above each pixel in its window, `(n, rows)`; the unit of each row."""
        windows, inside = self.windows(node, values)
        unit, where = inside.nonzero(as_tuple=True)
        return (windows.max(2, keepdim=True).values - windows)[:, unit, where], unit

    def round(self, node: fx.Node, values: dict[fx.Node, Any], k: int) -> Tensor:
        """How far the largest of the pixels before the k-th in each window of a max pooling is above it, `(n, units)`."""
        windows, _ = self.windows(node, values)
        gap = windows[..., :k].amax(2) - windows[..., k]
        return gap.where(gap.isfinite(), 0.0)  # a pixel outside of the image draws nothing
