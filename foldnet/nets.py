"""A ReLU network as a value: one network or a million, the same object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False, repr=False)
class ReLUNet:
    """A fully connected (leaky) ReLU network, or a batch of them with the same shape.

    `weights[l]` has shape `(*batch, out, in)` and `biases[l]` shape `(*batch, out)`. The last layer is affine; every layer
    before it is followed by `max(z, leak * z)`. Nothing changes a network in place: every method returns a new value.
    """

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    leak: float = 0.0

    def __post_init__(self):
        weights, biases = tuple(map(_tensor, self.weights)), tuple(map(_tensor, self.biases))
        dtype = weights[0].dtype if weights else None
        object.__setattr__(self, "weights", tuple(w.to(dtype) for w in weights))
        object.__setattr__(self, "biases", tuple(b.to(dtype) for b in biases))
        object.__setattr__(self, "leak", float(self.leak))
        _validate(self)

    # ---- what it is ----------------------------------------------------------------------------------------------

    @property
    def sizes(self) -> tuple[int, ...]:
        """Layer widths from input to output, `(4, 3, 1)` for a 4-3-1 network."""
        return (self.weights[0].shape[-1], *(b.shape[-1] for b in self.biases))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """`()` for one network, `(222, 100)` for 22,200 of them."""
        return tuple(self.biases[0].shape[:-1])

    @property
    def parameter_count(self) -> int:
        """Weights and biases of one network."""
        return sum(o * (i + 1) for i, o in pairwise(self.sizes))

    @property
    def dtype(self) -> torch.dtype:
        return self.weights[0].dtype

    @property
    def device(self) -> torch.device:
        return self.weights[0].device

    def __repr__(self) -> str:
        shape = "-".join(map(str, self.sizes))
        batch = f", batch {self.batch_shape}" if self.batch_shape else ""
        leak = f", leak {self.leak:g}" if self.leak else ""
        return f"ReLUNet({shape}{batch}{leak}, {str(self.dtype).removeprefix('torch.')})"

    # ---- what it computes ----------------------------------------------------------------------------------------

    def __call__(self, x) -> Tensor:
        """Outputs `(*batch, n, out)` at the points `x`, `(n, in)` for all networks or `(*batch, n, in)` for each its own."""
        return self._forward(x)[-1]

    def preactivations(self, x) -> list[Tensor]:
        """What each hidden neuron sees before the ReLU: one tensor `(*batch, n, width)` for each hidden layer."""
        return self._forward(x)[:-1]

    def pattern(self, x) -> Tensor:
        """Which hidden neurons are active (z > 0) at each point: `(*batch, n, hidden)`, layer after layer."""
        hidden = self.preactivations(x)
        if not hidden:
            return torch.zeros(*self(x).shape[:-1], 0, dtype=torch.bool, device=self.device)
        return torch.cat([z > 0 for z in hidden], dim=-1)

    def jacobian(self, x) -> Tensor:
        """The slope of the linear piece each point lies in: `(*batch, n, out, in)`; on a crease, the piece where z <= 0."""
        slope = self.weights[0].unsqueeze(-3)
        for z, w in zip(self.preactivations(x), self.weights[1:]):
            gate = torch.ones_like(z).where(z > 0, self.leak)
            slope = w.unsqueeze(-3) @ (gate.unsqueeze(-1) * slope)
        return slope.expand(*self(x).shape, self.sizes[0])

    def _forward(self, x) -> list[Tensor]:
        x = self._points(x)
        layers = []
        for w, b in zip(self.weights, self.biases):
            z = x @ w.mT + b.unsqueeze(-2)
            layers.append(z)
            x = torch.where(z > 0, z, self.leak * z)
        return layers

    def _points(self, x) -> Tensor:
        x = _tensor(x).to(self.dtype).to(self.device)
        if x.ndim < 2 or x.shape[-1] != self.sizes[0]:
            raise ValueError(f"points have shape (n, {self.sizes[0]}) or (*batch, n, {self.sizes[0]}); got {tuple(x.shape)}")
        try:
            torch.broadcast_shapes(x.shape[:-2], self.batch_shape)
        except RuntimeError:
            raise ValueError(f"points of shape {tuple(x.shape)} do not fit networks of batch shape {self.batch_shape}") from None
        return x

    # ---- the same network in other clothes -------------------------------------------------------------------------

    def vector(self) -> Tensor:
        """All parameters as `(*batch, parameter_count)`: weights row by row, then biases, layer by layer."""
        parts = [p for w, b in zip(self.weights, self.biases) for p in (w.flatten(-2), b)]
        return torch.cat(parts, dim=-1)

    def with_vector(self, vector: Tensor) -> ReLUNet:
        """The network with these parameters and this shape; differentiable in `vector`, the inverse of `vector()`."""
        if vector.shape[-1] != self.parameter_count:
            raise ValueError(f"a {self} has {self.parameter_count} parameters; got a vector of {vector.shape[-1]}")
        weights, biases, start = [], [], 0
        for i, o in pairwise(self.sizes):
            weights.append(vector[..., start : start + o * i].unflatten(-1, (o, i)))
            biases.append(vector[..., start + o * i : start + o * (i + 1)])
            start += o * (i + 1)
        return _trusted(weights, biases, self.leak)

    def to(self, *args, **kwargs) -> ReLUNet:
        """Another dtype or device, as `torch.Tensor.to`."""
        return _trusted([w.to(*args, **kwargs) for w in self.weights], [b.to(*args, **kwargs) for b in self.biases], self.leak)

    def __getitem__(self, index) -> ReLUNet:
        """Some networks of the batch: `nets[3]`, `nets[:10]`, `nets[loss < 0.1]`."""
        if not self.batch_shape:
            raise IndexError("this is one network, not a batch of them")
        batch = torch.arange(self.biases[0][..., 0].numel()).reshape(self.batch_shape)
        chosen = batch[index.cpu() if isinstance(index, Tensor) else index].to(self.device)
        weights = [w.flatten(0, -3)[chosen] for w in self.weights]
        return _trusted(weights, [b.flatten(0, -2)[chosen] for b in self.biases], self.leak)

    def to_sequential(self) -> torch.nn.Sequential:
        """The same function as a `torch.nn.Sequential`, exactly: Linear and (Leaky)ReLU modules."""
        if self.batch_shape:
            raise ValueError(
                f"one network becomes a Sequential, not a batch of shape {self.batch_shape}: choose one, as in nets[0]"
            )
        modules = []
        for w, b in zip(self.weights, self.biases):
            linear = torch.nn.Linear(w.shape[1], w.shape[0], dtype=w.dtype, device=w.device)
            with torch.no_grad():
                linear.weight.copy_(w)
                linear.bias.copy_(b)
            modules += [linear, torch.nn.LeakyReLU(self.leak) if self.leak else torch.nn.ReLU()]
        return torch.nn.Sequential(*modules[:-1])

    @classmethod
    def from_sequential(cls, model: torch.nn.Sequential) -> ReLUNet:
        """The value of a `torch.nn.Sequential` of Linear layers with one kind of (Leaky)ReLU between them."""
        layers = list(model)
        linear, between = layers[::2], layers[1::2]
        leaks = {float(getattr(m, "negative_slope", 0.0)) for m in between}
        fits = (
            len(layers) % 2 == 1
            and all(isinstance(m, torch.nn.Linear) for m in linear)
            and all(isinstance(m, (torch.nn.ReLU, torch.nn.LeakyReLU)) for m in between)
            and len(leaks) <= 1
        )
        if not fits:
            names = ", ".join(type(m).__name__ for m in layers)
            raise ValueError(f"a Sequential of Linear, ReLU, Linear, ... (one leak for all) is needed; got {names}")
        biases = [m.weight.new_zeros(m.out_features) if m.bias is None else m.bias.detach().clone() for m in linear]
        return cls([m.weight.detach().clone() for m in linear], biases, leaks.pop() if leaks else 0.0)

    @classmethod
    def random(
        cls, sizes: Sequence[int], batch=(), init: str = "torch", leak: float = 0.0, seed: int = 0, dtype=torch.float64
    ) -> ReLUNet:
        """Random networks; the same numbers on every machine for a given seed.

        `init` is `"torch"` (uniform on +-1/sqrt(fan-in), biases too: the default of torch.nn.Linear), `"he"` (normal, variance
        2/fan-in, no bias) or `"glorot"` (normal, variance 2/(fan-in + fan-out), no bias).
        """
        batch = (batch,) if isinstance(batch, int) else tuple(batch)
        if len(sizes) < 2 or min(sizes) < 1 or min(batch, default=1) < 1:
            raise ValueError(
                f"sizes need at least an input and an output, and no empty layer or batch; got {tuple(sizes)}, batch {batch}"
            )
        rng = np.random.default_rng(seed)
        weights, biases = [], []
        for i, o in pairwise(sizes):
            if init == "torch":
                weights.append(rng.uniform(-1, 1, (*batch, o, i)) / np.sqrt(i))
                biases.append(rng.uniform(-1, 1, (*batch, o)) / np.sqrt(i))
            elif init in ("he", "glorot"):
                weights.append(rng.normal(size=(*batch, o, i)) * np.sqrt(2 / (i if init == "he" else i + o)))
                biases.append(np.zeros((*batch, o)))
            else:
                raise ValueError(f"init is 'torch', 'he' or 'glorot'; got {init!r}")
        return cls([torch.as_tensor(w, dtype=dtype) for w in weights], [torch.as_tensor(b, dtype=dtype) for b in biases], leak)


def stack(nets: Sequence[ReLUNet]) -> ReLUNet:
    """Networks of one shape as one batch, a new first axis."""
    if not nets:
        raise ValueError("an empty list of networks has no shape to stack")
    if len({(n.sizes, n.batch_shape, n.leak) for n in nets}) > 1:
        raise ValueError(f"networks of one shape and leak stack; got {', '.join(map(repr, nets))}")
    return _trusted(
        [torch.stack(w) for w in zip(*(n.weights for n in nets))],
        [torch.stack(b) for b in zip(*(n.biases for n in nets))],
        nets[0].leak,
    )


def _tensor(a) -> Tensor:
    if isinstance(a, Tensor):
        return a if a.is_floating_point() else a.to(torch.float64)
    a = np.asarray(a)
    return torch.as_tensor(a if a.dtype == np.float32 else a.astype(np.float64))


def _trusted(weights, biases, leak: float) -> ReLUNet:
    """A network without the checks of the constructor: for values made from a valid network, and inside autograd or vmap."""
    net = object.__new__(ReLUNet)
    for name, value in (("weights", tuple(weights)), ("biases", tuple(biases)), ("leak", leak)):
        object.__setattr__(net, name, value)
    return net


def _validate(net: ReLUNet) -> None:
    if not net.weights or len(net.weights) != len(net.biases):
        raise ValueError(
            f"a network has one bias vector for each weight matrix, at least one; got {len(net.weights)} and {len(net.biases)}"
        )
    batch = net.weights[0].shape[:-2]
    for layer, (w, b) in enumerate(zip(net.weights, net.biases)):
        before = net.weights[layer - 1].shape[-2] if layer else w.shape[-1] if w.ndim >= 2 else None
        if w.ndim < 2 or w.shape[:-2] != batch or b.shape != w.shape[:-1] or w.shape[-1] != before:
            shapes = f"weights {tuple(w.shape)}, biases {tuple(b.shape)}"
            raise ValueError(
                f"layer {layer} does not fit: it needs (*batch, out, in) and (*batch, out) with in = {before}; got {shapes}"
            )
        if not w.numel():
            raise ValueError(f"layer {layer} is empty: weights {tuple(w.shape)} (an empty batch, or a layer without neurons)")
        if not (torch.isfinite(w).all() and torch.isfinite(b).all()):
            raise ValueError(f"layer {layer} has weights or biases that are NaN or infinite")
    if not 0 <= net.leak < 1:
        raise ValueError(f"leak is in [0, 1), 0 for ReLU; got {net.leak}")
