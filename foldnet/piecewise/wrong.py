"""Where a module cannot follow what the data ask of it, the neurons that are missing there, and the module with them.

>>> import torch
>>> from foldnet.piecewise.net import of
>>> model = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)).double()
>>> model[0].weight.data[:], model[0].bias.data[:] = torch.tensor([[1.0], [-1.0]]), 0.5
>>> model[2].weight.data[:], model[2].bias.data[:] = 0.5, 0.0
>>> x = torch.linspace(-2, 2, 20).double()[:, None]
>>> wrong = of(model).wrong(x, torch.sin(3 * x), k=1)
>>> wrong.layer, wrong.following
('0', '2')
>>> mse = lambda module: (module(x) - torch.sin(3 * x)).square().mean().item()
>>> wider = wrong.grow()
>>> wider[0].out_features, mse(wider) < mse(model)
(3, True)
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from ..growth.amplitude import line_search
from ..growth.expressivity import best_update
from ..growth.neurons import NewNeurons, nearest
from ..training.losses import point_losses
from ..training.problem import checked_data
from ._layers import BOUNDED, PLACES
from .trace import Graph

if TYPE_CHECKING:
    from .net import PiecewiseLinear

CONVOLUTIONS: dict[type, tuple[Any, Any]] = {  # and their transposes
    nn.Conv1d: (F.conv1d, F.conv_transpose1d),
    nn.Conv2d: (F.conv2d, F.conv_transpose2d),
    nn.Conv3d: (F.conv3d, F.conv_transpose3d),
}
STEP = 2.0**-10  # how far from 0 the slopes of an activation are read off


@dataclass(frozen=True, eq=False, repr=False)
class Wrong:
    """What the data ask of a module and it cannot do by the weights of one layer, and the neurons that would help.

    `layer` is the name of the layer that lacks neurons, `following` of the one that reads it. `wanted` `(rows, out)` is what each
    point asks of the outputs of `following`, minus the gradient of its own loss; a point has one row, with convolutions one
    for each pixel. `left` `(rows, out)` is what remains after the best move of the weights of `following`.
    `neurons` come closest to that, best first; of a convolution `incoming` and `outgoing` are flat kernels.
    """

    net: PiecewiseLinear
    layer: str
    following: str
    wanted: Tensor
    left: Tensor
    neurons: NewNeurons
    cost: Callable[[Graph], Tensor]

    @property
    def share(self) -> float:
        """The share of what is wanted that no weights of `following` can give, 0 to 1, in squares."""
        return float(self.left.square().sum() / self.wanted.square().sum().clamp(min=torch.finfo(self.left.dtype).tiny))

    def __repr__(self) -> str:
        lost, useful = f"{self.share:.0%} of what is wanted of {self.following!r}", len(self.neurons.bias)
        return f"Wrong({lost} is out of reach, {useful} neurons of {self.layer!r} would help, of a {self.net})"

    @torch.no_grad()
    def grow(self) -> nn.Module:
        """A copy of the module with the neurons in it and the move that they count on, at the amplitude of the lowest loss.

        A layer without a bias gets one. Where no amplitude lowers the loss there is an error.
        """
        if not (len(self.neurons.bias) and self.neurons.joint_gain > 0):
            raise ValueError(f"new neurons in {self.layer!r} do not lower the loss at first order: nothing is left to gain there")
        made, cut = copy.deepcopy(self.net.graph.module), self.net.graph.cut_head
        _widen(made, self)
        graph = Graph(made, cut)

        def loss_at(amplitude: Tensor) -> Tensor:
            _write(graph.traced, self, amplitude)
            return self.cost(graph)

        found = line_search(loss_at, torch.zeros((), dtype=self.net.dtype, device=self.net.device))
        _write(made, self, found.amplitude)
        start, end = self.cost(self.net.graph), self.cost(Graph(made, cut))
        if not end < start:
            raise ValueError(f"no amplitude of new neurons in {self.layer!r} lowers the loss, {float(start):.6g}")
        return made


def wrong(net: PiecewiseLinear, x, y, layer: str | None, k: int | None, loss: str | Callable) -> Wrong:
    """What is wrong at `layer`, or where it helps most: see `PiecewiseLinear.wrong`."""
    if k is not None and (int(k) != k or k < 1):
        raise ValueError(f"k is a whole number of neurons, at least 1, or None for all of use; got {k!r}")
    if len(net.output_shape) != 1:
        raise ValueError(f"a loss is taken of outputs (out,); those of this network have the shape {net.output_shape}")
    flat, y = checked_data(_Flat(net), x, y, loss)  # ty: ignore[invalid-argument-type]
    x = flat.unflatten(-1, net.input_shape)
    whys = {}
    for node in net.graph.nodes:
        if node.op == "call_module" and _grows(type(net.graph.parts[str(node.target)])):
            whys[str(node.target)] = _following(net.graph, node)
    places = {name: found for name, found in whys.items() if not isinstance(found, str)}
    if layer is not None and layer not in places:
        why = whys.get(layer, f"the layers that can grow are {', '.join(places) or 'none'}")
        raise ValueError(f"layer {layer!r} cannot grow: {why}")
    if not places:
        raise ValueError("no layer of this network can grow: " + "; ".join(f"{name}: {why}" for name, why in whys.items()))
    found = [_at(net, name, *places[name], x, y, k, loss) for name in ([layer] if layer is not None else places)]
    return max(found, key=lambda each: float(each.neurons.joint_gain))


@dataclass(frozen=True)
class _Flat:
    """A traced network as `checked_data` sees networks."""

    net: PiecewiseLinear
    batch_shape = ()

    def points(self, x) -> Tensor:
        return self.net.points(x)[0].flatten(1)

    @property
    def sizes(self) -> tuple[int, ...]:
        return prod(self.net.input_shape), *self.net.output_shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self.net, name)

    def __repr__(self) -> str:
        return repr(self.net)


def _grows(kind: type) -> bool:
    return kind is nn.Linear or kind in CONVOLUTIONS


def _following(graph: Graph, node: fx.Node) -> tuple[str, tuple[float, float]] | str:
    """The layer that reads a layer through an activation alone, and the activation's slopes at 0; or why it cannot grow."""
    first = graph.parts[str(node.target)]
    step, value = node, torch.tensor([[-STEP], [0.0], [STEP]]).to(first.weight)
    while True:
        if len(step.users) != 1:
            return f"{step.name} is read in {len(step.users)} places"
        (after,) = step.users
        what = graph.what(after)
        if after.op == "call_module" and _grows(what):
            break
        single = len(after.all_input_nodes) == 1 and (what is not nn.PReLU or graph.parts[str(after.target)].weight.numel() == 1)
        if not (single and (what in PLACES or what in BOUNDED or what in (nn.Identity, nn.Dropout))):
            return f"{after.name} comes before the next layer, and only an activation may"
        value, step = graph.apply(after, {step: value}), after
    second = graph.parts[str(after.target)]
    tied = [n.target for n in graph.nodes if n.op == "call_module"]
    weights = [p for part in graph.parts.values() for p in part.parameters(recurse=False)]
    for part, name in ((first, node.target), (second, after.target)):
        if tied.count(name) > 1 or sum(p is part.weight for p in weights) > 1:
            return f"the weights of {name!r} stand in several places"
        if isinstance(part, tuple(CONVOLUTIONS)) and (part.groups, part.padding_mode) != (1, "zeros"):
            return f"{name!r} has groups of channels, or pads with something other than zeros"
        if isinstance(getattr(part, "padding", 0), str):
            return f"{name!r} has padding={part.padding!r}: give it as numbers"
    if type(first) is not type(second):
        return f"it is followed by a {type(second).__name__}"
    low, middle, high = (float(v) for v in value)
    if middle:
        return "its activation is not 0 at 0"
    return str(after.target), (low / -STEP, high / STEP)


@torch.no_grad()
def _at(net: PiecewiseLinear, name: str, following: str, slopes, x: Tensor, y: Tensor, k, loss) -> Wrong:
    """What is wrong at one layer."""
    graph, kept = net.graph, {}
    first, second = graph.parts[name], graph.parts[following]

    def below(_, inputs) -> None:
        kept["below"] = inputs[0].detach()

    def here(_, inputs, output: Tensor) -> Tensor:
        kept["here"], kept["z"] = inputs[0].detach(), output.detach().requires_grad_()
        return kept["z"]

    hooks = [first.register_forward_pre_hook(below), second.register_forward_hook(here)]
    try:
        with torch.enable_grad():
            cost = point_losses(graph.run(x), y, loss).sum()
            (gradient,) = torch.autograd.grad(cost, kept["z"], allow_unused=True)
    finally:
        for hook in hooks:
            hook.remove()
    wanted = torch.zeros_like(kept["z"]) if gradient is None else -gradient
    goal, inputs = _rows(second, wanted), _reads(first, kept["below"])
    update = best_update(_reads(second, kept["here"]), goal)
    left = update.rest(goal)
    whole, rest = (_back(second, rows, wanted, kept["here"]) for rows in (goal, left))
    update = replace(update, gain=update.gain * (len(goal) / len(x)))  # of the mean loss of points, and not of rows
    new = nearest(inputs, rest, whole, slopes, update, k)
    new = replace(new, gain=new.gain * (len(inputs) / len(x)))
    return Wrong(net, name, following, goal, left, new, lambda graph: point_losses(graph.run(x), y, loss).mean())


def _rows(part: Any, values: Tensor) -> Tensor:
    """A row for each point, or for each pixel of each point: `(n, channels, *pixels)` as `(n * pixels, channels)`."""
    return (values if isinstance(part, nn.Linear) else values.movedim(1, -1)).flatten(0, -2)


def _reads(part: Any, x: Tensor) -> Tensor:
    """What a layer reads: of a convolution, for each of its outputs, the window there, `(n * pixels, in * window)`."""
    if isinstance(part, nn.Linear):
        return _rows(part, x)
    into, run = x.shape[1], CONVOLUTIONS[type(part)][0]
    return _rows(part, run(x, _ones(part, into).flatten(0, 1), None, part.stride, part.padding, part.dilation, into))


def _back(part: Any, rows: Tensor, like: Tensor, here: Tensor) -> Tensor:
    """What is wanted of each output as wanted of each input that it reads, `(n * pixels, out * window)`: `_reads` transposed."""
    if isinstance(part, nn.Linear):
        return rows
    n, out, *size = like.shape
    wanted = rows.view(n, *size, out).movedim(-1, 1)
    how = zip(here.shape[2:], size, part.stride, part.padding, part.dilation, part.kernel_size)
    room = [whole - ((o - 1) * s - 2 * p + d * (k - 1) + 1) for whole, o, s, p, d, k in how]
    run = CONVOLUTIONS[type(part)][1]
    return _rows(part, run(wanted, _ones(part, out).squeeze(2), None, part.stride, part.padding, room, out, part.dilation))


def _ones(part: Any, channels: int) -> Tensor:
    """For each channel the kernels that read one pixel of its window each, `(channels, window, 1, *kernel)`."""
    size = prod(part.kernel_size)
    return torch.eye(size).to(part.weight).view(size, 1, *part.kernel_size).repeat(channels, *[1] * (2 + len(part.kernel_size)))


def _widen(made: nn.Module, wrong: Wrong) -> None:
    """More room in the two layers, for the new neurons."""
    k = len(wrong.neurons.bias)
    for name, out, into in ((wrong.layer, k, 0), (wrong.following, 0, k)):
        part: Any = made.get_submodule(name)
        bias = part.weight.new_zeros(len(part.weight)) if part.bias is None else part.bias
        learns = part.weight.requires_grad
        part.weight = nn.Parameter(F.pad(part.weight, [0, 0] * (part.weight.ndim - 2) + [0, into, 0, out]), learns)
        part.bias = nn.Parameter(F.pad(bias, (0, out)), learns)
        for size, more in (("out_features", out), ("out_channels", out), ("in_features", into), ("in_channels", into)):
            if hasattr(part, size):
                setattr(part, size, getattr(part, size) + more)


def _write(made: nn.Module, wrong: Wrong, amplitude: Tensor) -> None:
    """The new neurons and the move of the old weights, at an amplitude, into a widened module."""
    new, move = wrong.neurons, wrong.neurons.update
    first: Any = made.get_submodule(wrong.layer)
    second: Any = made.get_submodule(wrong.following)
    before: Any = wrong.net.graph.parts[wrong.following]
    k, (out, _, *window) = len(new.bias), before.weight.shape
    first.weight[-k:] = amplitude * new.incoming.view(k, *first.weight.shape[1:])
    first.bias[-k:] = amplitude * new.bias
    second.weight[:, :-k] = before.weight + amplitude * move.weights.view_as(before.weight)
    second.weight[:, -k:] = new.outgoing.view(out, *window, k).movedim(-1, 1)
    second.bias[:] = amplitude * move.bias + (0 if before.bias is None else before.bias)
