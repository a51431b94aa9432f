"""A network as a value: one network or a million, the same object.

>>> from foldnet.nets import ReLUNet
>>> net = ReLUNet([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]])  # |x| from two neurons
>>> net([[-2.0], [0.5]]).tolist()
[[2.0], [0.5]]
>>> net.jacobian([[-2.0], [0.5]]).flatten().tolist()
[-1.0, 1.0]
>>> ReLUNet.random((1, 20, 1), batch=100, seed=0).batch_shape
(100,)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from . import _checks

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """A fully connected network, or a batch of them with the same shape: what `ReLUNet` and its smooth relatives share.

    `weights[l]` has shape `(*batch, out, in)` and `biases[l]` shape `(*batch, out)`. The last layer is affine; every layer
    before it is hidden, followed by `activate`. Layers, hidden or not, count from 0: layer l has `weights[l]`, everywhere in
    foldnet. A network is made of copies of what it is given, and no function here changes one: each returns a new value. Torch
    cannot lock a tensor, so writing into `weights` would change the network, and those that share its memory (`to`,
    `with_vector`, `with_layers`, one of a batch as in `nets[3]`): change a clone and make a network of it.
    """

    weights: Sequence[Tensor]  # kept as a tuple
    biases: Sequence[Tensor]

    def __post_init__(self):
        weights, biases = tuple(map(as_tensor, self.weights)), tuple(map(as_tensor, self.biases))
        dtype = weights[0].dtype if weights else None
        object.__setattr__(self, "weights", tuple(w.to(dtype, copy=True) for w in weights))
        object.__setattr__(self, "biases", tuple(b.to(dtype, copy=True) for b in biases))
        _checks.network(self)

    def activate(self, z: Tensor) -> Tensor:
        """What a hidden neuron makes of its preactivation."""
        raise NotImplementedError

    def activate_(self, z: Tensor) -> Tensor:
        """`activate` for a `z` that nobody needs any more: its memory may be used again."""
        return self.activate(z)

    def pull_back(self, delta: Tensor, z: Tensor, activated: Tensor) -> Tensor:
        """`delta`, a derivative by `activated`, what `activate_` made of `z`, as one by `z` itself."""
        with torch.enable_grad():
            z = z.detach().requires_grad_()
            return torch.autograd.grad(self.activate(z), z, delta)[0]

    @property
    def activation(self) -> str:
        """The name of the activation, `"relu"` with any leak."""
        raise NotImplementedError

    @property
    def slopes_at_zero(self) -> tuple[float, float]:
        """The derivative of the activation at 0 from the left and from the right."""
        raise NotImplementedError

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
        return f"{type(self).__name__}({shape}{batch}{self._kind()}, {str(self.dtype).removeprefix('torch.')})"

    def _kind(self) -> str:
        """What `repr` says of the activation."""
        return ""

    # ---- what it computes ----------------------------------------------------------------------------------------

    def __call__(self, x) -> Tensor:
        """Outputs `(*batch, n, out)` at the points `x`, `(n, in)` for all networks or `(*batch, n, in)` for each its own.

        One point `(in,)` gives `(*batch, out)`, here and wherever a network is asked for values, patterns or slopes.
        """
        return self.layers(x)[-1]

    def preactivations(self, x) -> list[Tensor]:
        """What each hidden neuron sees before its activation: one tensor `(*batch, n, width)` for each hidden layer."""
        return self.layers(x)[:-1]

    def layers(self, x) -> list[Tensor]:
        """What every affine layer gives, `(*batch, n, width)`: the preactivations, then the outputs."""
        if self._single(x):
            return [layer.squeeze(-2) for layer in self.layers(as_tensor(x)[None])]
        x = self.points(x)
        layers = []
        for w, b in zip(self.weights, self.biases):
            x = self.activate(layers[-1]) if layers else x
            layers.append(x @ w.mT + b.unsqueeze(-2))
        return layers

    def _single(self, x) -> bool:
        """Whether this is one point, `(in,)`."""
        return tuple(as_tensor(x).shape) == self.sizes[:1]

    def points(self, x) -> Tensor:
        """Points `(n, in)`, or `(..., n, in)` that broadcast to the batch, in the dtype and on the device of the network."""
        x = as_tensor(x).to(self.dtype).to(self.device)
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

    def with_vector(self, vector: Tensor) -> Self:
        """The network with these parameters and this shape; differentiable in `vector`, the inverse of `vector()`."""
        if vector.shape[-1] != self.parameter_count:
            raise ValueError(f"a {self} has {self.parameter_count} parameters; got a vector of {vector.shape[-1]}")
        weights, biases, start = [], [], 0
        for i, o in pairwise(self.sizes):
            weights.append(vector[..., start : start + o * i].unflatten(-1, (o, i)))
            biases.append(vector[..., start + o * i : start + o * (i + 1)])
            start += o * (i + 1)
        return self.with_layers(weights, biases)

    def to(self, *args, **kwargs) -> Self:
        """Another dtype or device, as `torch.Tensor.to`."""
        return self.with_layers([w.to(*args, **kwargs) for w in self.weights], [b.to(*args, **kwargs) for b in self.biases])

    def __getitem__(self, index) -> Self:
        """Some networks of the batch: `nets[3]`, `nets[:10]`, `nets[loss < 0.1]`."""
        if not self.batch_shape:
            raise IndexError("this is one network, not a batch of them")
        batch = torch.arange(self.biases[0][..., 0].numel()).reshape(self.batch_shape)
        chosen = batch[index.cpu() if isinstance(index, Tensor) else index].to(self.device)
        weights = [w.flatten(0, -3)[chosen] for w in self.weights]
        return self.with_layers(weights, [b.flatten(0, -2)[chosen] for b in self.biases])

    def with_layers(self, weights, biases) -> Self:
        """The same kind of network without the checks of the constructor: for values made from a valid one, and in autograd."""
        net = object.__new__(type(self))
        net.__dict__.update(self.__dict__, weights=tuple(weights), biases=tuple(biases))
        return net

    @staticmethod
    def _draw(sizes: Sequence[int], batch, init: str, seed: int, dtype) -> tuple[list[Tensor], list[Tensor]]:
        """Random weights and biases of a network of these sizes, as `ReLUNet.random` describes them."""
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
        return [torch.as_tensor(w, dtype=dtype) for w in weights], [torch.as_tensor(b, dtype=dtype) for b in biases]


@dataclass(frozen=True, eq=False, repr=False)
class ReLUNet(Network):
    """A fully connected (leaky) ReLU network, or a batch of them with the same shape.

    `weights[l]` has shape `(*batch, out, in)` and `biases[l]` shape `(*batch, out)`. The last layer is affine; every layer
    before it is followed by `max(z, leak * z)`. A network is a value, as `Network` says.
    """

    leak: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "leak", float(self.leak))
        if not 0 <= self.leak < 1:
            raise ValueError(f"leak is in [0, 1), 0 for ReLU; got {self.leak}")

    def activate(self, z: Tensor) -> Tensor:
        return leaky_relu(z, self.leak)

    def activate_(self, z: Tensor) -> Tensor:
        return leaky_relu(z, self.leak, inplace=True)

    def pull_back(self, delta: Tensor, z: Tensor, activated: Tensor) -> Tensor:
        # one kernel instead of three; that an activation is positive where its input was holds for every leak >= 0
        return torch.ops.aten.leaky_relu_backward(delta, activated, self.leak, True)

    @property
    def activation(self) -> str:
        return "relu"

    @property
    def slopes_at_zero(self) -> tuple[float, float]:
        return self.leak, 1.0

    def _kind(self) -> str:
        return f", leak {self.leak:g}" if self.leak else ""

    def pattern(self, x) -> Tensor:
        """Which hidden neurons are active (z > 0) at each point: `(*batch, n, hidden)`, layer after layer."""
        hidden = self.preactivations(x)
        if not hidden:
            return torch.zeros(*self(x).shape[:-1], 0, dtype=torch.bool, device=self.device)
        return torch.cat([z > 0 for z in hidden], dim=-1)

    def jacobian(self, x) -> Tensor:
        """The slope of the linear piece each point lies in: `(*batch, n, out, in)`; on a crease, the piece where z <= 0."""
        if self._single(x):
            return self.jacobian(as_tensor(x)[None]).squeeze(-3)
        *hidden, out = self.layers(x)
        gates = [torch.ones_like(z).where(z > 0, self.leak) for z in hidden]
        if self.sizes[-1] < self.sizes[0]:  # from the outputs back: nothing larger than the result
            slope = self.weights[-1].unsqueeze(-3)
            for gate, w in zip(gates[::-1], self.weights[-2::-1]):
                slope = ((slope * gate.unsqueeze(-2)).flatten(-3, -2) @ w).unflatten(-2, out.shape[-2:])
        else:
            slope = self.weights[0].unsqueeze(-3)
            for gate, w in zip(gates, self.weights[1:]):
                slope = w.unsqueeze(-3) @ (gate.unsqueeze(-1) * slope)
        return slope.expand(*out.shape, self.sizes[0])

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
        """The value of a `torch.nn.Sequential` of Linear layers with one kind of (Leaky)ReLU between them.

        Modules with a forward pass or a forward hook of their own are refused, and so is what gives other values than the model.
        """
        layers = list(model)
        linear = [m for m in layers[::2] if isinstance(m, torch.nn.Linear)]
        between = [m for m in layers[1::2] if isinstance(m, (torch.nn.ReLU, torch.nn.LeakyReLU))]
        leaks = {m.negative_slope if isinstance(m, torch.nn.LeakyReLU) else 0.0 for m in between}
        if len(layers) % 2 == 0 or len(linear) + len(between) < len(layers) or len(leaks) > 1:
            names = ", ".join(type(m).__name__ for m in layers)
            raise ValueError(f"a Sequential of Linear, ReLU, Linear, ... (one leak for all) is needed; got {names}")
        _checks.torchs_own(model, *layers)
        biases = [m.weight.new_zeros(m.out_features) if m.bias is None else m.bias.detach() for m in linear]
        net = cls([m.weight.detach() for m in linear], biases, leaks.pop() if leaks else 0.0)
        x = net.points(np.random.default_rng(0).normal(size=(16, net.sizes[0])))
        with torch.no_grad():
            found, wanted = net(x).double(), model(x).double()
        if not torch.allclose(found, wanted, rtol=0, atol=torch.finfo(net.dtype).eps ** 0.5 * float(wanted.abs().max())):
            raise ValueError("the network that was read off gives other values than the Sequential: its modules compute more")
        return net

    @classmethod
    def random(
        cls, sizes: Sequence[int], batch=(), init: str = "torch", leak: float = 0.0, seed: int = 0, dtype=torch.float64
    ) -> ReLUNet:
        """Random networks; the same numbers on every machine for a given seed and dtype.

        sizes: numbers of inputs, of neurons in each hidden layer and of outputs.
        batch: how many networks, a number or a shape; () is one without batch axes.
        init: "torch" (uniform on +-1/sqrt(fan-in), biases too: the default of torch.nn.Linear), "he" (normal, variance 2/fan-in,
            no bias) or "glorot" (normal, variance 2/(fan-in + fan-out), no bias).
        leak: the slope of the activation below 0.
        seed, dtype: of the draw, and of the weights.
        """
        return cls(*cls._draw(sizes, batch, init, seed, dtype), leak)


def stack(nets: Sequence[ReLUNet]) -> ReLUNet:
    """Networks of one shape as one batch, a new first axis."""
    if not nets:
        raise ValueError("an empty list of networks has no shape to stack")
    if len({(type(n), n.sizes, n.batch_shape, *(getattr(n, f.name) for f in fields(n)[2:])) for n in nets}) > 1:
        raise ValueError(f"networks of one shape and activation stack; got {', '.join(map(repr, nets))}")
    weights, biases = zip(*(n.weights for n in nets)), zip(*(n.biases for n in nets))
    return nets[0].with_layers(map(torch.stack, weights), map(torch.stack, biases))


def as_tensor(a) -> Tensor:
    """Numbers as a floating-point tensor: single precision stays single, whole numbers become double."""
    if isinstance(a, Tensor):
        return a if a.is_floating_point() else a.to(torch.float64)
    a = np.asarray(a)
    return torch.as_tensor(a if a.dtype == np.float32 else a.astype(np.float64))
