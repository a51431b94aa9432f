"""Convolutions with max pooling as a value, one network or a batch of them (geometry/images).

>>> from foldnet.geometry.convnet import ConvNet
>>> ConvNet.random((4, 4), outputs=3, input_shape=(1, 8, 8), seed=0)
ConvNet(1x8x8 4x4x4 4x2x2 3, pool, ReLU, float64)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, max_pool2d

from ..nets import as_tensor

SIDE = 3  # of a kernel; one pixel of zeros around the image keeps its size


@dataclass(frozen=True, eq=False, repr=False)
class ConvNet:
    """Convolutions of 3 x 3 with max pooling of 2 x 2 and ReLU, then one linear layer; one network or a batch of one shape.

    `weights[l]` of a convolution has shape `(*batch, out, in, 3, 3)`, that of the last layer `(*batch, out, features)`;
    `biases[l]` has `(*batch, out)`. `input_shape` is channels, height and width; images are rows of pixels, channel by channel.
    `relu_first` says whether ReLU stands before the pooling or after it: the function is the same, its pattern is not.
    """

    weights: Sequence[Tensor]
    biases: Sequence[Tensor]
    input_shape: tuple[int, int, int] = (3, 32, 32)
    relu_first: bool = False

    def __post_init__(self):
        weights, biases = tuple(map(as_tensor, self.weights)), tuple(map(as_tensor, self.biases))
        dtype = weights[0].dtype if weights else None
        object.__setattr__(self, "weights", tuple(w.to(dtype, copy=True) for w in weights))
        object.__setattr__(self, "biases", tuple(b.to(dtype, copy=True) for b in biases))
        object.__setattr__(self, "input_shape", tuple(map(int, self.input_shape)))
        _validate(self)

    # ---- what it is ----------------------------------------------------------------------------------------------

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """Channels, height and width of the input and after the pooling of each convolution."""
        found = [self.input_shape]
        for b in self.biases[:-1]:
            found.append((b.shape[-1], found[-1][1] // 2, found[-1][2] // 2))
        return found

    @property
    def sizes(self) -> tuple[int, ...]:
        """Pixels, what each pooling leaves, and outputs: `(3072, 8192, 2048, 10)`."""
        return (*map(math.prod, self.shapes), self.biases[-1].shape[-1])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return tuple(self.biases[0].shape[:-1])

    @property
    def parameter_count(self) -> int:
        """Weights and biases of one network."""
        return self.vector().shape[-1]

    @property
    def dtype(self) -> torch.dtype:
        return self.weights[0].dtype

    @property
    def device(self) -> torch.device:
        return self.weights[0].device

    def __repr__(self) -> str:
        shape = " ".join(["x".join(map(str, s)) for s in self.shapes] + [str(self.sizes[-1])])
        batch = f", batch {self.batch_shape}" if self.batch_shape else ""
        first = "ReLU, pool" if self.relu_first else "pool, ReLU"
        return f"ConvNet({shape}{batch}, {first}, {str(self.dtype).removeprefix('torch.')})"

    # ---- what it computes ----------------------------------------------------------------------------------------

    def __call__(self, x) -> Tensor:
        """Outputs `(*batch, n, out)` at images `(n, pixels)` for all networks or `(*batch, n, pixels)` for each its own."""
        return self.features(x) @ self.weights[-1].mT + self.biases[-1].unsqueeze(-2)

    def features(self, x) -> Tensor:
        """What the linear layer reads: `(*batch, n, features)`."""
        x = self.points(x)
        h = self._stacked(x)
        for layer in range(len(self.weights) - 1):
            h = max_pool2d(self._convolved(layer, h), 2).relu()
        return self._unstacked(h, x)

    def preactivations(self, x) -> list[Tensor]:
        """What each convolution gives, before pooling and ReLU: `(*batch, n, channels * height * width)` for each layer."""
        x = self.points(x)
        h, found = self._stacked(x), []
        for layer in range(len(self.weights) - 1):
            z = self._convolved(layer, h)
            found.append(self._unstacked(z, x))
            h = max_pool2d(z, 2).relu()
        return found

    def points(self, x) -> Tensor:
        """Images `(n, pixels)` or `(*batch, n, pixels)` in the dtype and on the device of the network; others are refused."""
        x = as_tensor(x).to(self.dtype).to(self.device)
        if x.ndim < 2 or x.shape[-1] != self.sizes[0] or x.shape[:-2] not in (self.batch_shape, ()):
            batch = f" or {(*self.batch_shape, 'n', self.sizes[0])}".replace("'", "") if self.batch_shape else ""
            raise ValueError(f"images are rows of pixels, (n, {self.sizes[0]}){batch}; got {tuple(x.shape)}")
        return x

    def pieces(self, x) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """For each convolution, networks side by side as channels `(n, B * channels, height, width)`: what it gives, the place in
        it that each pooling takes, and whether what is taken is positive."""
        h, gives, places, on = self._stacked(self.points(x)), [], [], []
        for layer in range(len(self.weights) - 1):
            z = self._convolved(layer, h)
            h, place = max_pool2d(z.relu() if self.relu_first else z, 2, return_indices=True)
            gives.append(z)
            places.append(place)
            on.append(h > 0)
            h = h.relu()
        return gives, places, on

    def _convolved(self, layer: int, h: Tensor) -> Tensor:
        w, b = self.weights[layer], self.biases[layer]
        return conv2d(h, w.reshape(-1, *w.shape[-3:]), b.reshape(-1), padding=1, groups=math.prod(self.batch_shape))

    def _stacked(self, x: Tensor) -> Tensor:
        """Images as `(n, B * channels, height, width)`."""
        x = x.expand(*self.batch_shape, *x.shape[-2:]).reshape(-1, *x.shape[-2:])
        return x.transpose(0, 1).reshape(x.shape[1], -1, *self.input_shape[1:])

    def _unstacked(self, h: Tensor, x: Tensor) -> Tensor:
        """From `(n, B * channels, height, width)` to `(*batch, n, all of one network)`."""
        return h.reshape(x.shape[-2], math.prod(self.batch_shape), -1).transpose(0, 1).reshape(*self.batch_shape, x.shape[-2], -1)

    # ---- the same network in other clothes -------------------------------------------------------------------------

    def vector(self) -> Tensor:
        """All parameters as `(*batch, parameter_count)`: weights, then biases, layer by layer."""
        parts = [p.flatten(len(self.batch_shape)) for pair in zip(self.weights, self.biases) for p in pair]
        return torch.cat(parts, dim=-1)

    def to(self, *args, **kwargs) -> ConvNet:
        """Another dtype or device, as `torch.Tensor.to`."""
        weights, biases = ([p.to(*args, **kwargs) for p in part] for part in (self.weights, self.biases))
        return ConvNet(weights, biases, self.input_shape, self.relu_first)

    def __getitem__(self, index) -> ConvNet:
        """Some networks of the batch: `nets[3]`, `nets[:10]`."""
        if not self.batch_shape:
            raise IndexError("this is one network, not a batch of them")
        weights, biases = ([p[index] for p in part] for part in (self.weights, self.biases))
        return ConvNet(weights, biases, self.input_shape, self.relu_first)

    @classmethod
    def random(
        cls, channels: Sequence[int], outputs: int = 10, input_shape=(3, 32, 32), relu_first: bool = False, batch=(),
        seed: int = 0, dtype=torch.float64,
    ) -> ConvNet:  # fmt: skip
        """Random networks, uniform on +-1/sqrt(fan-in) as torch starts them; the same on every machine for one seed and dtype.

        channels: how many each convolution makes, in their order.
        outputs, input_shape: how many classes, and (channels, height, width) of an image.
        relu_first: whether each ReLU comes before its pooling.
        batch, dtype: as in `ReLUNet.random`.
        """
        batch, rng = (batch,) if isinstance(batch, int) else tuple(batch), np.random.default_rng(seed)
        (before, *sides), parts = input_shape, []
        for shape in [(c, SIDE, SIDE) for c in channels] + [(outputs, *(s >> len(channels) for s in sides))]:
            out, fan = shape[0], before * shape[1] * shape[2]
            shape = (out, before, *shape[1:]) if len(parts) < len(channels) else (out, fan)
            parts.append([rng.uniform(-1, 1, (*batch, *s)) / fan**0.5 for s in (shape, (out,))])
            before = out
        weights, biases = ([torch.as_tensor(p, dtype=dtype) for p in part] for part in zip(*parts))
        return cls(weights, biases, input_shape, relu_first)


def _validate(net: ConvNet) -> None:
    if not net.weights or len(net.weights) != len(net.biases) or len(net.input_shape) != 3:
        raise ValueError(
            "a network has one bias vector for each weight array, at least one, and an input shape (channels, height, width); "
            f"got {len(net.weights)}, {len(net.biases)} and {net.input_shape}"
        )
    batch = net.biases[0].shape[:-1]
    for layer, (w, b) in enumerate(zip(net.weights, net.biases)):
        before, last = net.shapes[layer], layer + 1 == len(net.weights)
        needed = (*batch, b.shape[-1], math.prod(before)) if last else (*batch, b.shape[-1], before[0], SIDE, SIDE)
        if tuple(w.shape) != needed or b.shape[:-1] != batch or not w.numel():
            kind = "the linear layer" if last else f"convolution {layer}"
            raise ValueError(f"{kind} does not fit: it needs weights {needed} for {b.shape[-1]} biases; got {tuple(w.shape)}")
        if not (torch.isfinite(w).all() and torch.isfinite(b).all()):
            raise ValueError(f"layer {layer} has weights or biases that are NaN or infinite")
