"""Networks that see: convolutions and max pooling as a value, and what is linear about any network at an image (geometry/images).

`pattern`, `jacobian`, `affine_at` and `features` take a `ReLUNet` and a `ConvNet` alike, one network or a batch of them.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, max_pool2d

from ..nets import ReLUNet, as_tensor

SIDE = 3  # of a kernel; one pixel of zeros around the image keeps its size
WORTH = 2e9  # multiplications, half a second of them, from which on a compiled kernel is taken
TREES = platform.machine() in ("aarch64", "arm64")  # with the wide vectors of x86 a product of matrices is faster than a tree


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
        """Random networks, uniform on +-1/sqrt(fan-in) as torch starts them; on every machine the same for a given seed."""
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


# ---- what is linear at an image ------------------------------------------------------------------------------------------------


@torch.no_grad()
def pattern(net: ReLUNet | ConvNet, x) -> Tensor:
    """The choices of a network at each image, int8 `(*batch, n, units)`: 1 for a ReLU that is on, 0 for one that is off, and
    which of its four pixels (0 to 3, row by row) a pooling takes. Equal patterns mean one affine map. Layer after layer,
    and within a layer in the order of the network: ReLUs before the pooling, or after it."""
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
    """`jacobian` for so many images at a time, in order: ten thousand images never stand in memory together."""
    if chunk < 1:
        raise ValueError(f"a chunk has at least one image; got {chunk}")
    x = as_tensor(x)
    yield from (jacobian(net, part) for part in x.split(chunk, dim=-2))


@torch.no_grad()
def affine_at(net: ReLUNet | ConvNet, x) -> tuple[Tensor, Tensor]:
    """The affine map in force at each image, J `(*batch, n, out, pixels)` and c `(*batch, n, out)`: `net(x)` is J x + c there."""
    slope, x = jacobian(net, x), net.points(x)
    return slope, net(x) - (slope @ x.expand(*slope.shape[:-2], x.shape[-1]).unsqueeze(-1)).squeeze(-1)


@torch.no_grad()
def features(net: ReLUNet | ConvNet, x) -> Tensor:
    """What the last, linear layer reads at each image, `(*batch, n, features)`; the pixels, where there is no other layer."""
    if isinstance(net, ConvNet):
        return net.features(x)
    hidden = net.preactivations(x)
    return net.activate(hidden[-1]) if hidden else net.points(x).expand(*net(x).shape[:-1], -1)
