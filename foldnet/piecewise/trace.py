"""A torch module as a graph of affine steps and of steps with kinks: what may stand in it, and what each step does.

>>> import torch
>>> from foldnet.piecewise.trace import Graph
>>> Graph(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))).kinked
['_1']
"""

from __future__ import annotations

import copy
import itertools
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
from ._export import exported
from ._layers import BOUNDED, COMPARED, MAXIMA, PAIRS, PLACES, POOLS, argument, first, tensors
from ._pools import NotPiecewiseLinear, Pooling
from ._tracer import Asked, Tracer

WAY_OUT = "foldnet.geometry.grid.on_grid counts patterns of any module on a grid, and torch.func differentiates it"
CUT = "end the module before it, with the logits, or say of(model, cut_head=True), which leaves it out"

JUMPS = "is known here in torch.where(h > a, ...) and h * (h > 0), with sides that visibly meet where it changes"


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


def _traced(module: nn.Module, shape: tuple[int, ...] | None) -> fx.GraphModule:
    """The module by torch.fx; where that fails and the shape of an input is known, by torch.export."""
    like = next((p for p in module.parameters() if p.is_floating_point()), torch.zeros(())).detach()
    try:
        return fx.GraphModule(module, Tracer(shape, like).trace(module))
    except Exception as error:
        if isinstance(error, Asked) or shape is None:
            raise
        try:
            return exported(module, shape, like)
        except Exception:  # the reason of torch.fx is the shorter one
            raise error from None


def _named_first(node: fx.Node) -> None:
    """Let `input` and `other` be the first arguments where they were given by name."""
    for k, name in enumerate(("input", "other")):
        if len(node.args) == k and name in node.kwargs:
            named = dict(node.kwargs)
            node.args, node.kwargs = (*node.args, named.pop(name)), named


def _rows(z: Any) -> Any:
    """What a step gives each point as a row, also where that is one number."""
    return z.flatten(1) if z.ndim > 1 else z[:, None]


class Graph(Pooling):
    """The steps of a module in the order in which they are done; `kinked` names those at which it can bend.

    module: any `torch.nn.Module`; a copy in eval mode is taken, and the module itself is left as it is.
    cut_head: leave out what follows the last affine step, as a softmax does.
    shape: of one input, for modules that ask for it.

    Its methods about one step take `node`, the step, and `values`, what each step before it gives.
    """

    def __init__(self, module: nn.Module, cut_head: bool = False, shape: tuple[int, ...] | None = None):
        _check(module)
        self.module = copy.deepcopy(module)  # as it was, whatever becomes of the user's
        self.cut_head, self.shape = cut_head, shape
        copied = copy.deepcopy(module).eval().requires_grad_(False)
        for part in copied.modules():
            if getattr(part, "inplace", False):
                setattr(part, "inplace", False)  # noqa: B010 (a module's attributes are tensors, to a type checker)
        try:
            self.traced = _traced(copied, shape)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise NotPiecewiseLinear(f"{type(module).__name__} cannot be traced ({reason}); {WAY_OUT}") from None
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
        *body, output = self.nodes[: self._body()] + self.nodes[-1:]
        output.args = (body[-1],)
        self.nodes = [*body, output]

    def _body(self) -> int:
        """How many steps come before what is not piecewise linear at the very end, and before the output."""
        many = len(self.nodes) - 1
        while many and self._refusal(self.nodes[many - 1]) and len(self.nodes[many - 1].all_input_nodes) == 1:
            many -= 1
        return many

    def _kind(self, node: fx.Node) -> str:
        if refusal := self._refusal(node):
            if self.nodes.index(node) >= self._body():
                refusal = f"{refusal.removesuffix(f'; {WAY_OUT}')}: {CUT}"
            raise NotPiecewiseLinear(refusal)
        what = self.what(node)
        if node not in self.of_data or node.op in ("placeholder", "output", "get_attr"):
            return "affine"
        if what in POOLS or self.along(node) is not None:
            return "pool"
        return "kinks" if any(what in kinds for kinds in (PLACES, BOUNDED, PAIRS, COMPARED)) else "affine"

    def what(self, node: fx.Node) -> Any:
        """What a node does: the type of its module, its function, or the name of its method."""
        return type(self.parts[str(node.target)]) if node.op == "call_module" else node.target

    def part(self, node: fx.Node) -> nn.Module | None:
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
        training = _layers.TRAINING.get(what)
        if training and argument(node, "training", *training):
            return f"{where} works as in training: give it training=self.training"
        if node.kwargs.get("rounding_mode") is not None:
            return f"{where} rounds, which is not piecewise linear; {WAY_OUT}"
        if getattr(self.part(node), "return_indices", False) or node.kwargs.get("return_indices"):
            return f"{where} returns indices too: a pooling without them is needed"
        if what is getattr:
            known = node.args[1] in ("T", "mT", "data") or (node.args[1] == "values" and self.along(first(node)) is not None)
            return "" if known else f"{where} reads {node.args[1]!r}, which is not known here; {WAY_OUT}"
        if what in MAXIMA and self.along(node) is None and not self._of_two(node):
            return f"{where} is known here of two tensors, along a dimension as a maximum, and as a max pooling; {WAY_OUT}"
        if what in _layers.LARGEST and self.along(node) is None:
            return f"{where} needs the dimension along which it takes the largest; {WAY_OUT}"
        if what in COMPARED or any(self.what(used) in COMPARED for used in node.all_input_nodes):
            return "" if self._meets(node) else f"{where} {JUMPS}; {WAY_OUT}"
        if what in (nn.Threshold, F.threshold):
            level, below = _layers.given(node, self.part(node), BOUNDED[what])
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

    def _meets(self, node: fx.Node) -> bool:
        """Whether a comparison with a number, or what chooses by one, leaves a continuous function."""
        if self.what(node) in COMPARED:
            number = len(node.args) == 2 and isinstance(node.args[1], (int, float)) and math.isfinite(node.args[1])
            return number and all(self.what(user) in _layers.CHOICES for user in node.users)
        of = [used for used in node.all_input_nodes if self.what(used) in COMPARED]
        if self.what(node) not in _layers.CHOICES or len(of) != 1 or len(node.args) < 2:
            return False
        (of,), place = of, of[0].args[1]
        if not self._meets(of) or not isinstance(place, (int, float)):
            return False
        sides = [_layers.at_place(other, first(of), place) for other in node.args if other is not of]
        if len(node.args) == 3 and node.args[0] is of:
            return None not in sides and sides[0] == sides[1]
        return len(node.args) == 2 and sides == [0.0]

    def _of_two(self, node: fx.Node) -> bool:
        """Whether a maximum is that of two tensors, and not of the numbers of one."""
        other = argument(node, "dim", 1)
        return isinstance(other, fx.Node) and other not in self.sizes

    def straight(self) -> list[fx.Node]:
        """The steps between input and output that do something, where each reads the one before and nothing else; else none."""
        if any(node.all_input_nodes != [before] for before, node in itertools.pairwise(self.nodes)):
            return []
        return [node for node in self.nodes[1:-1] if self.what(node) not in (nn.Identity, nn.Dropout)]

    def dense(self) -> ReLUNet:
        """A chain of linear layers with one kind of (leaky) ReLU between them, as a `ReLUNet`; others are refused."""
        layers: list[nn.Module] = []
        steps = self.straight()
        for node in steps:
            what = self.what(node)
            if what in _layers.RELU:
                layers.append(nn.ReLU())
            elif node.op == "call_module" and what in (nn.Linear, nn.LeakyReLU):
                layers.append(self.parts[str(node.target)])
            else:
                steps = []
        if not steps:
            raise ValueError("only dense networks are written: Linear layers, one after the other, with (Leaky)ReLU between them")
        return ReLUNet.from_sequential(nn.Sequential(*layers))

    # ---- running ---------------------------------------------------------------------------------------------------

    def apply(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        """The value of a node, from the values of those it uses."""

        def value(used: fx.Node):  # points may have come since a size was asked for
            return self._size(used, values) if used in self.sizes else values[used]

        args: Any = fx.node.map_arg(node.args, value)
        named = {k: v for k, v in fx.node.map_arg(dict(node.kwargs), value).items() if k != "inplace"}
        if node.op == "call_module":
            part = self.parts[str(node.target)]
            return _layers.MODULES.get(type(part), lambda part, *x, **named: part(*x, **named))(part, *args, **named)
        if node.op == "get_attr":
            return operator.attrgetter(str(node.target))(self.traced)
        if self._read(node) in ("detach", "data"):  # a derivative is that of the function
            return args[0]
        what = self.what(node)
        if what in COMPARED and node in self.of_data:  # what is positive where it holds: affine where nothing bends
            return COMPARED[what] * (args[0] - args[1])
        if what in _layers.CHOICES:
            pairs = zip(node.args, args)
            args = [a > 0 if isinstance(n, fx.Node) and self.what(n) in COMPARED else a for n, a in pairs]
        if what in MAXIMA and (dims := self.along(node)) is not None:
            return (torch.amax(args[0], dims, keepdim=argument(node, "keepdim", 2, False)),)
        if node.target is getattr and args[1] == "values":
            return args[0][0]
        if node.op == "call_method":
            return getattr(args[0], str(node.target).removesuffix("_"))(*args[1:], **named)
        return _layers.INSTEAD.get(node.target, node.target)(*args, **named)

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
            values = self.step(k, values, x)
        return x

    def step(self, k: int, values: dict[fx.Node, Any], x: Tensor | None = None) -> dict[fx.Node, Any]:
        """What is alive after step number k; `x` are the inputs, which the first step takes."""
        node = self.nodes[k]
        made = x if node.op == "placeholder" else self.apply(node, values)
        count = next((len(v) for n, every in values.items() if n in self.of_data for v in tensors(every)), None)
        for v in tensors(made) if node in self.of_data and count is not None else ():
            used = values.get(first(node)) if node.args and isinstance(node.args[0], fx.Node) else None
            if isinstance(used, Tensor) and used.dtype != v.dtype and self.what(node) in _layers.CASTS:
                raise NotPiecewiseLinear(f"{node.name} rounds {used.dtype} to {v.dtype}: give a network that is in one of them")
            if not v.ndim or len(v) != count:
                why = "say in which dimension the others are, as in x.squeeze(-1), x.flatten(1) or x.mean(1)"
                raise NotPiecewiseLinear(f"after {node.name} points do not stand one by one in the first dimension: {why}")
        return {n: v for n, v in {**values, node: made}.items() if self.last_use.get(n, -1) > k}

    def decisions(self, node: fx.Node, values: dict[fx.Node, Any]) -> Tensor:
        """Numbers `(n, units)` whose signs say on which side of its kinks each unit of a step is."""
        what = self.what(node)
        z = values[first(node)]
        if what in COMPARED:
            return _rows(z) - node.args[1]
        if what in PAIRS:
            other = node.args[1]
            return _rows(z - values.get(other, other))
        places = PLACES[what] if what in PLACES else self._bounds(node, what)
        if places == (0.0,):  # the common case, without a copy
            return _rows(z)
        return torch.cat([_rows(z) - place for place in places], dim=1)

    def _bounds(self, node: fx.Node, what) -> list[float]:
        """The finite bounds between which a clamp or a hard tanh leaves its input as it is."""
        found = _layers.given(node, self.part(node), BOUNDED[what])
        if any(isinstance(bound, (fx.Node, Tensor)) for bound in found):
            raise NotPiecewiseLinear(f"{node.name} has bounds that are tensors; bounds are numbers here")
        numbers = sorted({float(bound) for bound in found if bound is not None and math.isfinite(bound)})
        return numbers + [-number for number in numbers if what in _layers.EVEN]
