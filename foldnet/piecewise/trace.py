"""A torch module as a graph of affine steps and of steps with kinks: what may stand in it, and what each step does.

>>> import torch
>>> from foldnet.piecewise.trace import Graph
>>> Graph(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))).kinked
['_1']
"""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F
from torch.nn.utils import parametrize

from ..nets import ReLUNet
from . import _layers
from ._layers import BOUNDED, MAXIMA, PAIRS, PLACES, POOLS, argument, first, tensors

WAY_OUT = "foldnet.geometry.grid.on_grid counts patterns of any module on a grid, and torch.func differentiates it"


def _check(module: Any) -> None:
    """Refuse what no trace would show."""
    if not isinstance(module, nn.Module) or isinstance(module, torch.jit.ScriptModule):
        raise ValueError(f"a torch.nn.Module is needed, and no script of one; got a {type(module).__name__}")
    for name, p in (*module.named_parameters(), *module.named_buffers()):
        if nn.parameter.is_lazy(p):
            raise ValueError(f"{name} has no shape yet: give the module one input first")
        if p.is_meta or (p.is_floating_point() and not p.isfinite().all()):
            raise ValueError(f"{name} has numbers that are NaN or infinite, or none at all (on the meta device)")
    for name, part in module.named_modules():
        own = "forward" in vars(part) and not isinstance(part, fx.GraphModule)
        if own or any(vars(part).get(hooks) for hooks in ("_forward_hooks", "_forward_pre_hooks")):
            what = "a forward of its own" if own else "a hook (a weight_norm or a spectral_norm is one too)"
            raise ValueError(f"module {name!r} has {what}, which no trace shows: remove it first")
        if parametrize.is_parametrized(part):
            names = ", ".join(part.parametrizations)
            raise ValueError(f"module {name!r} computes its {names}: torch.nn.utils.parametrize.remove_parametrizations first")


def _named_first(node: fx.Node) -> None:
    """Let `input` and `other` be the first arguments where they were given by name."""
    for k, name in enumerate(("input", "other")):
        if len(node.args) == k and name in node.kwargs:
            named = dict(node.kwargs)
            node.args, node.kwargs = (*node.args, named.pop(name)), named


class NotPiecewiseLinear(ValueError):
    """A step of the module is not piecewise linear, or is not known here; the sentence names it and says what else there is."""


class Graph:
    """The steps of a module in the order in which they are done; `kinked` names those at which it can bend.

    module: any `torch.nn.Module`; a copy in eval mode is taken, and the module itself is left as it is.
    cut_head: leave out what follows the last affine step, as a softmax does.
    """

    def __init__(self, module: nn.Module, cut_head: bool = False):
        _check(module)
        self.module, self.cut_head = copy.deepcopy(module), cut_head  # as it was, whatever becomes of the user's
        copied = copy.deepcopy(module).eval().requires_grad_(False)
        for part in copied.modules():
            if getattr(part, "inplace", False):
                setattr(part, "inplace", False)  # noqa: B010 (a module's attributes are tensors, to a type checker)
        try:
            self.traced = fx.symbolic_trace(copied)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise NotPiecewiseLinear(f"{type(module).__name__} cannot be traced by torch.fx ({reason}); {WAY_OUT}") from None
        self.parts, self.nodes = dict(self.traced.named_modules()), list(self.traced.graph.nodes)
        for node in self.nodes:
            _named_first(node)
        self.of_data, self.sizes = self._of_data()
        if cut_head:
            self._cut_head()
        self.kinds = {node: self._kind(node) for node in self.nodes}
        self.kinked = [node.name for node in self.nodes if self.kinds[node] in ("kinks", "pool")]
        self.last_use = {used: k for k, node in enumerate(self.nodes) for used in node.all_input_nodes}
        self.last_use.update(dict.fromkeys(self.sizes, len(self.nodes)))

    def _of_data(self) -> tuple[set[fx.Node], set[fx.Node]]:
        """The nodes whose values depend on the input, and those that depend on its shape alone."""
        found: set[fx.Node] = set()
        sizes: set[fx.Node] = set()
        for node in self.nodes:
            used = node.all_input_nodes
            of_tensor = not sizes.isdisjoint(used) or not found.isdisjoint(used)
            if node.op == "placeholder" or (not found.isdisjoint(used) and self._read(node) not in _layers.SIZES):
                found.add(node)
            elif of_tensor:
                sizes.add(node)
        if sum(node.op == "placeholder" for node in self.nodes) != 1:
            raise NotPiecewiseLinear("a network of one input tensor is needed; this module takes another number of them")
        if self.nodes[-1].args[0] not in found:
            raise NotPiecewiseLinear(
                "a network of one output tensor is needed, which depends on the input; this module gives others"
            )
        return found, sizes

    def _read(self, node: fx.Node) -> Any:
        """The name of a method, or of an attribute that is read."""
        return node.args[1] if node.target is getattr else node.target

    def _cut_head(self) -> None:
        """Let the output be the value before what is not piecewise linear at the very end."""
        *body, output = self.nodes
        while body and self._refusal(body[-1]) and len(body[-1].all_input_nodes) == 1:
            body.pop()
        output.args = (body[-1],)
        self.nodes = [*body, output]

    def _kind(self, node: fx.Node) -> str:
        if refusal := self._refusal(node):
            raise NotPiecewiseLinear(refusal)
        what = self.what(node)
        if node not in self.of_data or node.op in ("placeholder", "output", "get_attr"):
            return "affine"
        if what in POOLS:
            return "pool"
        return "kinks" if what in PLACES or what in BOUNDED or what in PAIRS else "affine"

    def what(self, node: fx.Node) -> Any:
        """What a node does: the type of its module, its function, or the name of its method."""
        return type(self.parts[str(node.target)]) if node.op == "call_module" else node.target

    def _part(self, node: fx.Node) -> nn.Module | None:
        """The module that a step calls, if it is one."""
        return self.parts[str(node.target)] if node.op == "call_module" else None

    def _refusal(self, node: fx.Node) -> str:
        """Why a node cannot stand in a piecewise linear network; empty where it can."""
        what = self.what(node)
        if node.op in ("placeholder", "output", "get_attr") or node not in self.of_data:
            return ""
        name = getattr(what, "__name__", str(what))
        where = f"{node.name} ({name})"
        if isinstance(what, type) and what in _layers.NORMS:
            if self.parts[str(node.target)].running_mean is None:
                return f"{where} has no running mean and divides by its data: it is not piecewise linear; {WAY_OUT}"
            return ""
        training = {F.dropout: (2, True), F.batch_norm: (5, False)}.get(what)
        if training and argument(node, "training", *training):
            return f"{where} works as in training: give it training=self.training"
        if node.kwargs.get("rounding_mode") is not None:
            return f"{where} rounds, which is not piecewise linear; {WAY_OUT}"
        if getattr(self._part(node), "return_indices", False) or node.kwargs.get("return_indices"):
            return f"{where} returns indices too: a pooling without them is needed"
        if what is getattr:
            return (
                ""
                if node.args[1] in ("T", "mT", "data")
                else f"{where} reads {node.args[1]!r}, which is not known here; {WAY_OUT}"
            )
        if what in MAXIMA and not self._of_two(node):
            return f"{where} is known here of two tensors, and of many numbers as a max pooling; {WAY_OUT}"
        if what in (nn.Threshold, F.threshold):
            level, below = _layers.given(node, self._part(node), BOUNDED[what])
            return (
                "" if level == below else f"{where} jumps from {below} to {level}: no piecewise linear function does; {WAY_OUT}"
            )
        if what in _layers.KNOWN:
            return ""
        if what in _layers.PRODUCTS:
            read: list[fx.Node] = []
            fx.node.map_arg((node.args, node.kwargs), read.append)
            divisor = "div" in name and len(node.args) > 1 and node.args[1] in self.of_data
            wrong = divisor or sum(used in self.of_data for used in read) > 1
            return f"{where} multiplies or divides data by data, which is not piecewise linear; {WAY_OUT}" if wrong else ""
        return f"{where} {_layers.WHY.get(name, 'is not piecewise linear, or not known here')}; {WAY_OUT}"

    def _of_two(self, node: fx.Node) -> bool:
        """Whether a maximum is that of two tensors, and not of the numbers of one."""
        other = argument(node, "dim", 1)
        return isinstance(other, fx.Node) and other not in self.sizes

    def dense(self) -> ReLUNet:
        """A chain of linear layers with one kind of (leaky) ReLU between them, as a `ReLUNet`; others are refused."""
        layers: list[nn.Module] = []
        for node in self.nodes[1:-1]:
            what = self.what(node)
            if what in _layers.RELU:
                layers.append(nn.ReLU())
            elif node.op == "call_module" and what in (nn.Linear, nn.LeakyReLU):
                layers.append(self.parts[str(node.target)])
            elif what not in (nn.Identity, nn.Dropout):
                raise ValueError(
                    f"only dense networks are written: Linear layers with (Leaky)ReLU between them; here is {node.name}"
                )
        return ReLUNet.from_sequential(nn.Sequential(*layers))

    # ---- running ---------------------------------------------------------------------------------------------------

    def apply(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        """The value of a node, from the values of those it uses."""

        def value(used: fx.Node):  # points may have come since a size was asked for
            return self._size(used, values) if used in self.sizes else values[used]

        args = fx.node.map_arg(node.args, value)
        named = {k: v for k, v in fx.node.map_arg(dict(node.kwargs), value).items() if k != "inplace"}
        if node.op == "call_module":
            return self.parts[str(node.target)](*args, **named)
        if node.op == "get_attr":
            return operator.attrgetter(str(node.target))(self.traced)
        if node.op == "call_method":
            return getattr(args[0], str(node.target).removesuffix("_"))(*args[1:], **named)
        return _layers.NOT_IN_PLACE.get(node.target, node.target)(*args, **named)

    def _size(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        """What depends on the number of points, for as many as there are now."""
        if self.of_data.isdisjoint(node.all_input_nodes):
            return self.apply(node, values)
        found = values[node]
        if self._read(node) not in ("size", "shape"):
            return found
        count = next(len(v) for n, v in values.items() if n in self.of_data and isinstance(v, Tensor))
        if isinstance(found, torch.Size):
            return torch.Size([count, *found[1:]])
        return count if argument(node, "dim", 1) == 0 else found

    def run(self, x: Tensor, see: Callable[[fx.Node, dict], object] | None = None, until: str = "") -> Tensor:
        """The output for inputs `(n, *input)`; `see(node, values)` is called before each step that has kinks.

        until: stop before this step; nothing is returned then.
        """
        values: dict[fx.Node, Any] = {}
        for k, node in enumerate(self.nodes):
            if node.op == "output":
                return values[first(node)]
            if see is not None and self.kinds[node] != "affine":
                see(node, values)
            if node.name == until:
                break
            values[node] = x if node.op == "placeholder" else self.apply(node, values)
            for v in tensors(values[node]) if node in self.of_data else ():
                if not v.ndim or len(v) != len(x):
                    raise NotPiecewiseLinear(
                        f"after {node.name} points do not stand one by one in the first dimension, where they belong: "
                        "say in which dimension the others are, as in x.squeeze(-1), x.flatten(1) or x.mean(1)"
                    )
            values = {n: v for n, v in values.items() if self.last_use.get(n, -1) > k}
        return x

    def decisions(self, node: fx.Node, values: dict[fx.Node, Any]) -> Tensor:
        """Numbers `(n, units)` whose signs say on which side of its kinks each unit of a step is."""
        what = self.what(node)
        z = values[first(node)]
        if what in PAIRS:
            other = node.args[1]
            return (z - values.get(other, other)).flatten(1)
        places = PLACES[what] if what in PLACES else self._bounds(node, what)
        if places == (0.0,):  # the common case, without a copy
            return z.flatten(1)
        return torch.cat([z.flatten(1) - place for place in places], dim=1)

    def _bounds(self, node: fx.Node, what) -> list[float]:
        """The finite bounds between which a clamp or a hard tanh leaves its input as it is."""
        found = _layers.given(node, self._part(node), BOUNDED[what])
        if any(isinstance(bound, (fx.Node, Tensor)) for bound in found):
            raise NotPiecewiseLinear(f"{node.name} has bounds that are tensors; bounds are numbers here")
        numbers = sorted({float(bound) for bound in found if bound is not None and math.isfinite(bound)})
        return numbers + [-number for number in numbers if what in _layers.EVEN]

    def winners(self, node: fx.Node, values: dict[fx.Node, Any]) -> tuple[Tensor, Tensor]:
        """The input of a max pooling as `(n, planes, pixels)`, and the pixel that each unit takes, `(n, planes, units)`."""
        z = values[first(node)]
        *how, up = self._pooling(node, z)
        pool = _layers.MAX_POOL[POOLS[self.what(node)]]
        _, taken = pool(z, *how, ceil_mode=up, return_indices=True)
        return z.flatten(2), taken.flatten(2)

    def _pooling(self, node: fx.Node, z: Tensor) -> tuple[list, list, list, list, bool]:
        """Kernel, stride, padding and dilation of a max pooling, by dimensions, and whether it rounds sizes up."""
        what, shape = self.what(node), z.shape[2:]
        many = POOLS[what]
        if len(shape) != many:
            raise NotPiecewiseLinear(
                f"{node.name} pools over {many} of the {z.ndim - 1} dimensions of a point: one for channels belongs before them"
            )

        def each(v: Any) -> list[Any]:
            return [v] * many if isinstance(v, int) else list(v)

        if what not in _layers.ADAPTIVE:
            kernel, stride, padding, dilation, up = _layers.given(node, self._part(node), _layers.WINDOWS)
            return each(kernel), each(stride or kernel), each(padding), each(dilation), up
        (out,) = _layers.given(node, self._part(node), (("output_size", None),))
        sizes = [size if o is None else o for size, o in zip(shape, each(out))]
        if any(size % o for size, o in zip(shape, sizes)):
            raise NotPiecewiseLinear(
                f"{node.name} pools {list(shape)} pixels to {sizes}, in windows of several sizes: sizes that divide are taken"
            )
        kernel = [size // o for size, o in zip(shape, sizes)]
        return kernel, kernel, [0] * many, [1] * many, False

    def windows(self, node: fx.Node, values: dict[fx.Node, Any]) -> tuple[Tensor, Tensor]:
        """The pixels that each unit of a max pooling reads, `(n, units, pixels)`, and which lie inside `(units, pixels)`."""
        z = values[first(node)]
        shape, out = z.shape[2:], self.apply(node, values).shape[2:]
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
