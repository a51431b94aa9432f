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

WAY_OUT = "foldnet.geometry.grid.on_grid counts patterns of any module on a grid, and torch.func differentiates it"

AFFINE_MODULES = (
    *(nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.Identity, nn.Flatten, nn.Unflatten, nn.PixelShuffle),
    *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d),
    *(nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d),
    *(nn.ConstantPad1d, nn.ConstantPad2d, nn.ConstantPad3d, nn.ReflectionPad1d, nn.ReflectionPad2d, nn.ReplicationPad2d),
)
AFFINE_FUNCTIONS = {
    *(operator.add, operator.sub, operator.neg, operator.getitem, operator.iadd, operator.isub, torch.add, torch.sub, torch.neg),
    *(torch.flatten, torch.reshape, torch.permute, torch.transpose, torch.squeeze, torch.unsqueeze, torch.cat, torch.concat),
    *(torch.stack, torch.mean, torch.sum, torch.chunk, torch.split, torch.narrow, F.dropout, F.pad, F.avg_pool1d, F.avg_pool2d),
    *(F.avg_pool3d, F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.pixel_shuffle, getattr),
}
AFFINE_METHODS = {
    *("view", "reshape", "flatten", "permute", "transpose", "contiguous", "squeeze", "unsqueeze", "mean", "sum", "size", "dim"),
    *("add", "sub", "neg", "chunk", "split", "narrow", "expand", "unflatten", "movedim", "t", "clone"),
}
# affine in one argument while the others are constants
PRODUCTS = {
    *(operator.mul, operator.truediv, operator.matmul, operator.imul, operator.itruediv, torch.mul, torch.div, torch.matmul),
    *(F.linear, F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d, F.batch_norm),
    *("mul", "div", "matmul"),
}
POOLS: dict[Any, Any] = {nn.MaxPool1d: F.max_pool1d, nn.MaxPool2d: F.max_pool2d, nn.MaxPool3d: F.max_pool3d}
PAIRS = {torch.maximum, torch.minimum, "maximum", "minimum"}
PLACES: dict[Any, tuple[float, ...]] = {  # where an activation has its kinks
    **dict.fromkeys((nn.ReLU, nn.LeakyReLU, nn.PReLU, F.relu, F.leaky_relu, F.prelu, torch.relu, torch.relu_, F.relu_), (0.0,)),
    **dict.fromkeys((torch.abs, operator.abs, "relu", "relu_", "abs"), (0.0,)),
    **dict.fromkeys((nn.ReLU6, F.relu6), (0.0, 6.0)),
    **dict.fromkeys((nn.Hardsigmoid, F.hardsigmoid), (-3.0, 3.0)),
}
NOT_IN_PLACE: dict[Any, Any] = {
    **dict.fromkeys((torch.relu_, F.relu_), torch.relu),
    **{
        operator.iadd: operator.add,
        operator.isub: operator.sub,
        operator.imul: operator.mul,
        operator.itruediv: operator.truediv,
    },
}
BOUNDED = {nn.Hardtanh, F.hardtanh, torch.clamp, torch.clip, "clamp", "clip"}


def argument(node: fx.Node, k: int) -> Any:
    """What a node takes as its k-th argument: most often another node."""
    return node.args[k]


class NotPiecewiseLinear(ValueError):
    """A step of the module is not piecewise linear, or is not known here; the sentence names it and says what else there is."""


class Graph:
    """The steps of a module in the order in which they are done; `kinked` names those at which it can bend.

    module: any `torch.nn.Module`; a copy in eval mode is taken, and the module itself is left as it is.
    cut_head: leave out what follows the last affine step, as a softmax does.
    """

    def __init__(self, module: nn.Module, cut_head: bool = False):
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
        self.of_data = self._of_data()
        if cut_head:
            self._cut_head()
        self.kinds = {node: self._kind(node) for node in self.nodes}
        self.kinked = [node.name for node in self.nodes if self.kinds[node] in ("kinks", "pool")]
        self.counts = {node for node in self.nodes if self._is_count(node)}
        self.last_use = {used: k for k, node in enumerate(self.nodes) for used in node.all_input_nodes}

    def _of_data(self) -> set[fx.Node]:
        """The nodes whose values depend on the input; sizes do not."""
        found: set[fx.Node] = set()
        for node in self.nodes:
            depends = any(used in found for used in node.all_input_nodes)
            if node.op == "placeholder" or (depends and node.target not in ("size", "dim", getattr)):
                found.add(node)
        if sum(node.op == "placeholder" for node in self.nodes) != 1:
            raise NotPiecewiseLinear("a network of one input tensor is needed; this module takes another number of them")
        return found

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
        what = self._what(node)
        if node not in self.of_data or node.op in ("placeholder", "output", "get_attr"):
            return "affine"
        if what in POOLS or what in POOLS.values():
            return "pool"
        return "kinks" if what in PLACES or what in BOUNDED or what in PAIRS else "affine"

    def _is_count(self, node: fx.Node) -> bool:
        """Whether a node is the number of points: `x.size(0)` or `x.shape[0]`."""
        if node.target == "size":
            return tuple(node.args[1:]) == (0,)
        if node.target is not operator.getitem or node.args[1] != 0:
            return False
        of = argument(node, 0)
        return of.target == "size" or (of.target is getattr and of.args[1] == "shape")

    def _what(self, node: fx.Node) -> Any:
        """What a node does: the type of its module, its function, or the name of its method."""
        return type(self.parts[str(node.target)]) if node.op == "call_module" else node.target

    def _refusal(self, node: fx.Node) -> str:
        """Why a node cannot stand in a piecewise linear network; empty where it can."""
        what = self._what(node)
        if node.op in ("placeholder", "output", "get_attr") or node not in self.of_data:
            return ""
        name = getattr(what, "__name__", str(what))
        where = f"{node.name} ({name})"
        if isinstance(what, type) and what in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d):
            if self.parts[str(node.target)].running_mean is None:
                return f"{where} has no running mean and divides by its data: it is not piecewise linear; {WAY_OUT}"
            return ""
        known = what in AFFINE_MODULES or what in AFFINE_FUNCTIONS or what in AFFINE_METHODS
        if known or what in POOLS or what in POOLS.values() or what in PLACES or what in BOUNDED or what in PAIRS:
            return ""
        if what in PRODUCTS:
            factors = [used for used in node.all_input_nodes if used in self.of_data]
            divisor = "div" in name and len(node.args) > 1 and node.args[1] in self.of_data
            wrong = len(factors) > 1 or divisor or list(node.args).count(factors[0]) > 1
            return f"{where} multiplies or divides data by data, which is not piecewise linear; {WAY_OUT}" if wrong else ""
        return f"{where} is not piecewise linear, or not known here; {WAY_OUT}"

    # ---- running ---------------------------------------------------------------------------------------------------

    def apply(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        """The value of a node, from the values of those it uses."""
        count = next((len(v) for n, v in values.items() if n in self.of_data and isinstance(v, Tensor)), 0)

        def value(used: fx.Node):
            return count if used in self.counts else values[used]  # points may have come since the size was asked for

        args = fx.node.map_arg(node.args, value)
        named = {k: v for k, v in fx.node.map_arg(dict(node.kwargs), value).items() if k != "inplace"}
        if node.op == "call_module":
            return self.parts[str(node.target)](*args, **named)
        if node.op == "get_attr":
            return operator.attrgetter(str(node.target))(self.traced)
        if node.op == "call_method":
            return getattr(args[0], str(node.target).removesuffix("_"))(*args[1:], **named)
        return NOT_IN_PLACE.get(node.target, node.target)(*args, **named)

    def run(self, x: Tensor, see: Callable[[fx.Node, dict], object] | None = None, until: str = "") -> Tensor:
        """The output for inputs `(n, *input)`; `see(node, values)` is called before each step that has kinks.

        until: stop before this step; nothing is returned then.
        """
        values: dict[fx.Node, Any] = {}
        for k, node in enumerate(self.nodes):
            if node.op == "output":
                return values[argument(node, 0)]
            if see is not None and self.kinds[node] != "affine":
                see(node, values)
            if node.name == until:
                break
            values[node] = x if node.op == "placeholder" else self.apply(node, values)
            values = {n: v for n, v in values.items() if self.last_use.get(n, -1) > k}
        return x

    def decisions(self, node: fx.Node, values: dict[fx.Node, Any]) -> Tensor:
        """Numbers `(n, units)` whose signs say on which side of its kinks each unit of a step is."""
        what = self._what(node)
        z = values[argument(node, 0)]
        if what in PAIRS:
            other = argument(node, 1)
            return (z - values.get(other, other)).flatten(1)
        places = PLACES[what] if what in PLACES else self._bounds(node, what)
        if places == (0.0,):  # the common case, without a copy
            return z.flatten(1)
        return torch.cat([z.flatten(1) - place for place in places], dim=1)

    def _bounds(self, node: fx.Node, what) -> list[float]:
        """The finite bounds between which a clamp or a hard tanh leaves its input as it is."""
        if what is nn.Hardtanh:
            part = self.parts[str(node.target)]
            found: list[Any] = [part.min_val, part.max_val]
        else:
            names = ("min_val", "max_val") if what is F.hardtanh else ("min", "max")
            found = [node.kwargs.get(name, node.args[k] if len(node.args) > k else None) for k, name in enumerate(names, 1)]
            if what is F.hardtanh:
                found = [-1.0 if found[0] is None else found[0], 1.0 if found[1] is None else found[1]]
        if any(isinstance(bound, (fx.Node, Tensor)) for bound in found):
            raise NotPiecewiseLinear(f"{node.name} has bounds that are tensors; bounds are numbers here")
        numbers: list[Any] = [bound for bound in found if bound is not None]
        return [float(bound) for bound in numbers if math.isfinite(bound)]

    def winners(self, node: fx.Node, values: dict[fx.Node, Any]) -> tuple[Tensor, Tensor]:
        """The input of a max pooling as `(n, planes, pixels)`, and the pixel that each unit takes, `(n, planes, units)`."""
        z = values[argument(node, 0)]
        if node.op == "call_module":
            part = self.parts[str(node.target)]
            pool, named = POOLS[type(part)], {k: getattr(part, k) for k in ("stride", "padding", "dilation", "ceil_mode")}
            _, taken = pool(z, part.kernel_size, return_indices=True, **named)
        else:
            named = {k: v for k, v in node.kwargs.items() if k != "return_indices"}
            pool: Any = node.target
            _, taken = pool(z, *node.args[1:], return_indices=True, **named)
        return z.flatten(2), taken.flatten(2)
