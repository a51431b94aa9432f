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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..growth.amplitude import line_search
from ..growth.expressivity import best_update
from ..growth.neurons import NewNeurons, nearest
from ..training.losses import point_losses
from ..training.problem import checked_data
from ._between import Between, back, following, given, grows, reads, rows
from ._precision import full_precision
from .trace import Graph

if TYPE_CHECKING:
    from .net import PiecewiseLinear

FEW = 3  # rows for each weight, below which they are called too few
ROOM = 4 * 2**30  # bytes of windows and of what is wanted of them


@dataclass(frozen=True, eq=False, repr=False)
class Wrong:
    """What the data ask of a module and it cannot do by the weights of one layer, and the neurons that would help.

    `layer` is the name of the layer that lacks neurons, `following` of the one that reads it. `wanted` `(rows, out)` is what each
    point asks of the outputs of `following`, minus the gradient of its own loss; a point has one row, with convolutions one
    for each pixel. `left` `(rows, out)` is what remains after the best move of the weights of `following`: it is out of their
    reach, and `share` says how much of `wanted` that is. Few points, as many as `following` has inputs, leave nothing there.
    `neurons` come closest to that, best first; of a convolution `incoming` and `outgoing` are flat kernels. `way` is what stands
    between the two layers, and `others()` has the same as this for each other layer that can grow.
    """

    net: PiecewiseLinear
    layer: str
    following: str
    way: Between
    wanted: Tensor
    left: Tensor
    neurons: NewNeurons
    cost: Callable[[Graph], Tensor]
    others: Callable[[], list[Wrong]]

    @property
    def share(self) -> float:
        """The share of what is wanted that is out of reach, as no weights of `following` can give it: 0 to 1, in squares."""
        return float(self.left.square().sum() / self.wanted.square().sum().clamp(min=torch.finfo(self.left.dtype).tiny))

    def __repr__(self) -> str:
        asked, useful = f"{self.share:.0%} of what the loss asks of {self.following!r}, which reads it,", len(self.neurons.bias)
        help = f"{useful} new neuron{'s' * (useful != 1)} would help"
        many = len(self.wanted), self._weights
        few = f" (of {many[0]} rows for {many[1]} weights: too few)" if many[0] < FEW * many[1] else ""
        return f"Wrong(layer {self.layer!r}: {asked} is out of reach of the weights there{few}; {help}, of a {self.net})"

    @property
    def _weights(self) -> int:
        """The weights of one output of `following`, with its bias."""
        return self.net.graph.parts[self.following].weight[0].numel() + 1

    @property
    def _helps(self) -> bool:
        return len(self.neurons.bias) > 0 and float(self.neurons.joint_gain) > 0

    def _instead(self) -> str:
        """What to do where new neurons of this layer are of no use."""
        try:
            found = [f"{each.share:.0%} at {each.layer!r}" for each in self.others() if each._helps]
        except ValueError:  # their windows take more memory than they may
            return "choose another layer with layer=, or take more points"
        if found:
            return f"out of reach are {', '.join(found)}: choose {'it' if len(found) == 1 else 'one'} with layer="
        several = f"several times the {self._weights} weights of an output of {self.following!r}"
        return f"nor at another layer: take more points, {several}, unless the loss is as low as it can be"

    @full_precision()
    @torch.no_grad()
    def grow(self, neurons: bool = True) -> nn.Module:
        """A copy of the module with the neurons in it and the move of `following` that they count on, where the loss is lowest.

        neurons: False leaves the new neurons unread. What the loss falls by then is due to the move alone: hold the growth
        against it, since often that is most of it.

        It is in the mode of the module, train or eval. The loss is that in eval mode, and new neurons pass batch normalisation
        unchanged there: measure both in eval mode, as in `wrong.grow().eval()`. A layer without a bias gets one. Where no
        amplitude lowers the loss there is an error.
        """
        if not self._helps:
            why = f"new neurons in {self.layer!r} do not lower the loss at first order: nothing is left to gain there"
            raise ValueError(f"{why}; {self._instead()}")
        made, how = copy.deepcopy(self.net.graph.module), (self.net.graph.cut_head, self.net.input_shape)
        _widen(made, self)
        graph, new = Graph(made, *how), self.neurons
        added = self if neurons else replace(self, neurons=replace(new, outgoing=torch.zeros_like(new.outgoing)))

        def loss_at(amplitude: Tensor) -> Tensor:
            _write(graph.traced, added, amplitude)
            return self.cost(graph)

        found = line_search(loss_at, torch.zeros((), dtype=self.net.dtype, device=self.net.device))
        _write(made, added, found.amplitude)
        start, end = self.cost(self.net.graph), self.cost(Graph(made, *how))
        if not end < start:
            raise ValueError(f"no amplitude of new neurons in {self.layer!r} lowers the loss, {float(start):.6g}")
        return made


def wrong(net: PiecewiseLinear, x, y, layer: str | None, k: int | None, loss: str | Callable | None) -> Wrong:
    """What is wrong at `layer`, or where it helps most; `k` and `loss` are those of `PiecewiseLinear.wrong`."""
    if k is not None and (int(k) != k or k < 1):
        raise ValueError(f"k is a whole number of neurons, at least 1, or None for all of use; got {k!r}")
    if len(net.output_shape) != 1:
        raise ValueError(f"a loss is taken of outputs (out,); those of this network have the shape {net.output_shape}")
    if loss is None:
        y = torch.as_tensor(y)
        labels = y.ndim == 1 and not y.is_floating_point() and net.output_shape[0] > 1
        loss = "cross_entropy" if labels else "mse"
        if y.ndim == 1 and not labels and net.output_shape[0] > 1:
            raise ValueError(f"classes are whole numbers, as in y.long(), and targets have the shape (n, {net.output_shape[0]})")
    flat, y = checked_data(_Flat(net), x, y, loss)  # ty: ignore[invalid-argument-type]
    x = flat.unflatten(-1, net.input_shape)
    whys = _ways(net)
    places = {name: way for name, way in whys.items() if not isinstance(way, str)}
    if layer is not None and layer not in places:
        why = whys.get(layer, f"the layers that can grow are {', '.join(places) or 'none'}")
        raise ValueError(f"layer {layer!r} cannot grow: {why}")
    if not places:
        raise ValueError("no layer of this network can grow: " + "; ".join(f"{name}: {why}" for name, why in whys.items()))

    @full_precision()
    def at(names: Iterable[str]) -> list[Wrong]:
        return [
            _at(net, places[name], x, y, k, loss, lambda name=name: at(other for other in places if other != name))
            for name in names
        ]

    return max(at(places if layer is None else [layer]), key=lambda each: (each._helps, float(each.neurons.joint_gain)))


@torch.no_grad()
def _ways(net: PiecewiseLinear) -> dict[str, Between | str]:
    """For each layer its way to the next one, or why it cannot grow."""
    graph, shapes, hooks = net.graph, {}, []
    nodes = {str(n.target): n for n in graph.nodes if n.op == "call_module" and grows(graph.what(n))}
    for name in nodes:
        hooks.append(graph.parts[name].register_forward_hook(lambda _, __, out, name=name: shapes.update({name: out.shape})))
    try:
        graph.run(torch.zeros(1, *net.input_shape, dtype=net.dtype, device=net.device))
    finally:
        for hook in hooks:
            hook.remove()
    return {name: following(graph, node, shapes[name]) for name, node in nodes.items()}


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


@torch.no_grad()
def _at(net: PiecewiseLinear, way: Between, x: Tensor, y: Tensor, k, loss, others: Callable[[], list[Wrong]]) -> Wrong:
    """What is wrong at one layer."""
    graph, kept = net.graph, {}
    first, second = graph.parts[way.first], graph.parts[way.following]

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
    wanted = given(second, torch.zeros_like(kept["z"]) if gradient is None else -gradient)
    pixels = kept["here"].shape[2:] if way.pixels is None else way.pixels
    if way.pixels is None and isinstance(second, nn.Linear):
        pixels = kept["here"].shape[1:-1]
    _fits(way, reads(first, kept["below"][:1]), back(second, wanted[:1], pixels), len(x))
    seen = reads(first, kept["below"])
    inputs = way.early(seen)
    goal = rows(wanted)
    update = best_update(rows(reads(second, kept["here"], way.pixels)), goal)
    left = update.rest(goal)
    rest = left.view(len(x), *wanted.shape[2:], -1).movedim(-1, 1)
    whole, rest = (rows(way.late(back(second, maps, pixels), inputs[:1, :1])) for maps in (wanted, rest))
    update = replace(update, gain=update.gain * (len(goal) / len(x)))  # of the mean loss of points, and not of rows
    new = nearest(rows(inputs), rest, whole, way.slopes, update, k)
    new = replace(new, gain=new.gain * (len(whole) / len(x)))
    if way.rough and len(new.bias):
        new = _turned(way, second, new, seen, left, goal)

    def cost(graph: Graph) -> Tensor:
        return point_losses(graph.run(x), y, loss).mean()

    return Wrong(net, way.first, way.following, way, goal, left, new, cost, others)


def _turned(way: Between, second: Any, new: NewNeurons, seen: Tensor, left: Tensor, goal: Tensor) -> NewNeurons:
    """The neurons with the sign that serves what is left most, and their gain, by the pooling as it is."""
    read = (rows(seen) @ new.incoming.mT + new.bias).view(len(seen), *seen.shape[2:], -1).movedim(-1, 1)
    out = new.outgoing.view(goal.shape[1], -1, len(new.bias))
    gains = []  # for each sign what is left and the goal gain, of each neuron
    for sign in (1.0, -1.0):
        maps, each = way.run(sign * read), []
        for k in range(len(new.bias)):
            moved = rows(reads(second, maps[:, k : k + 1], way.pixels)) @ (sign * out[:, :, k]).mT
            each.append(torch.stack([(moved * left).sum(), (moved * goal).sum()]))
        gains.append(torch.stack(each))
    plus, minus = gains
    turn = minus[:, 0] > plus[:, 0]
    sign = torch.where(turn, -1.0, 1.0).to(goal.dtype)
    gain = torch.where(turn, minus[:, 1], plus[:, 1]).sum() / len(seen)
    return replace(new, incoming=sign[:, None] * new.incoming, bias=sign * new.bias, outgoing=new.outgoing * sign, gain=gain)


def _fits(way: Between, seen: Tensor, wanted: Tensor, points: int) -> None:
    """Refuse more points than memory is meant for, by what one reads and what is wanted of each pixel of it, some times over."""
    one = 2 * (seen.numel() + wanted.shape[1] * seen[0, 0].numel() + wanted.numel()) * seen.element_size()
    if one * points > ROOM:
        raise ValueError(
            f"the windows of {points:,} points at {way.first!r} take {one * points / 2**30:.1f} GB, and {ROOM / 2**30:.1f} are "
            f"taken at most: give {ROOM // one:,} points"
        )


def _widen(made: nn.Module, wrong: Wrong) -> None:
    """More room in the two layers, and in what normalises between them, for the new neurons."""
    k = len(wrong.neurons.bias)
    first: Any = made.get_submodule(wrong.layer)
    channels, pixels = len(first.weight), prod(wrong.way.pixels or ())
    for name, out, into in ((wrong.layer, k, 0), (wrong.following, 0, k * pixels)):
        part: Any = made.get_submodule(name)
        bias = part.weight.new_zeros(len(part.weight)) if part.bias is None else part.bias
        learns = part.weight.requires_grad
        part.weight = nn.Parameter(F.pad(part.weight, [0, 0] * (part.weight.ndim - 2) + [0, into, 0, out]), learns)
        part.bias = nn.Parameter(F.pad(bias, (0, out)), learns)
        for size, more in (("out_features", out), ("out_channels", out), ("in_features", into), ("in_channels", into)):
            if hasattr(part, size):
                setattr(part, size, getattr(part, size) + more)
    for name in wrong.way.norms:  # the new channels pass it unchanged, in eval mode
        norm: Any = made.get_submodule(name)
        more = norm.num_features // channels * k
        norm.num_features += more
        norm.running_mean = F.pad(norm.running_mean, (0, more))
        norm.running_var = F.pad(norm.running_var, (0, more), value=1.0 - norm.eps)
        if norm.affine:
            norm.weight = nn.Parameter(F.pad(norm.weight, (0, more), value=1.0), norm.weight.requires_grad)
            norm.bias = nn.Parameter(F.pad(norm.bias, (0, more)), norm.bias.requires_grad)


def _write(made: nn.Module, wrong: Wrong, amplitude: Tensor) -> None:
    """The new neurons and the move of the old weights, at an amplitude, into a widened module."""
    new, move = wrong.neurons, wrong.neurons.update
    first: Any = made.get_submodule(wrong.layer)
    second: Any = made.get_submodule(wrong.following)
    before: Any = wrong.net.graph.parts[wrong.following]
    k, (out, old, *window) = len(new.bias), before.weight.shape
    first.weight[-k:] = amplitude * new.incoming.view(k, *first.weight.shape[1:])
    first.bias[-k:] = amplitude * new.bias
    second.weight[:, :old] = before.weight + amplitude * move.weights.view_as(before.weight)
    outgoing = new.outgoing.view(out, *(window or wrong.way.pixels or ()), k).movedim(-1, 1)
    second.weight[:, old:] = outgoing if window else outgoing.flatten(1)
    second.bias[:] = amplitude * move.bias + (0 if before.bias is None else before.bias)
