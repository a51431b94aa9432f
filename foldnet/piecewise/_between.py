"""The way from a layer that grows to the layer that reads it, and what each pixel there is asked for and reads.

What stands between is an activation, and on either side of it batch normalisation, pooling and a flattening. A new channel has
batch normalisations that change nothing; near 0 its activation is two slopes; so its way is `Between.run`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from . import _layers
from ._layers import BOUNDED, PLACES, POOLS, argument
from .trace import Graph

CONVOLUTIONS: dict[type, tuple[Any, Any]] = {  # and their transposes
    nn.Conv1d: (F.conv1d, F.conv_transpose1d),
    nn.Conv2d: (F.conv2d, F.conv_transpose2d),
    nn.Conv3d: (F.conv3d, F.conv_transpose3d),
}
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
AVERAGE: dict[int, Any] = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
STEP = 2.0**-10  # how far from 0 the slopes of an activation are read off


def grows(kind: type) -> bool:
    return kind is nn.Linear or kind in CONVOLUTIONS


@dataclass(frozen=True, eq=False)
class Between:
    """The steps between two layers, `(kind, node)` each, of the kinds norm, bend, pool and flat.

    `slopes` are those of the activation at 0. `pixels` is the shape of a channel as the second layer, a dense one, reads it from
    convolutions; None where it reads as the first layer gives.
    """

    graph: Graph
    first: str
    following: str
    steps: tuple[tuple[str, fx.Node], ...]
    slopes: tuple[float, float]
    pixels: tuple[int, ...] | None

    @property
    def norms(self) -> list[str]:
        return [str(node.target) for kind, node in self.steps if kind == "norm"]

    @property
    def rough(self) -> bool:
        """Whether the closed form takes averages for what is none, or for what its constant does not pass unchanged."""
        kinds = [kind for kind, _ in self.steps]
        early = "pool" in kinds[: kinds.index("bend")] if "bend" in kinds else "pool" in kinds
        return early or any(kind == "pool" and self.graph.what(node) in POOLS for kind, node in self.steps)

    def run(self, maps: Tensor) -> Tensor:
        """The way of new channels `(n, channels, *pixels)` near 0, true at first order."""
        return self._run(self.steps, maps)

    def early(self, maps: Tensor) -> Tensor:
        """The part of it before the activation, with averages for all pooling."""
        return self._run(self._halves()[0], maps, averages=True)

    def late(self, wanted: Tensor, like: Tensor) -> Tensor:
        """The part after it, with averages for all pooling, transposed: from what is wanted where it ends to where it begins.

        like: a tensor of the shape `(1, 1, *pixels)` where it begins.
        """
        start = like.new_zeros(*wanted.shape[:2], *like.shape[2:])
        return torch.func.vjp(lambda maps: self._run(self._halves()[1], maps, averages=True), start)[1](wanted)[0]

    def _halves(self) -> tuple[list, list]:
        kinds = [kind for kind, _ in self.steps]
        middle = kinds.index("bend") if "bend" in kinds else len(kinds)
        return list(self.steps[:middle]), list(self.steps[middle + 1 :])

    def _run(self, steps: Iterable, maps: Tensor, averages: bool = False) -> Tensor:
        for kind, node in steps:
            if kind == "bend":
                maps = torch.where(maps > 0, self.slopes[1] * maps, self.slopes[0] * maps)
            elif kind == "pool" and averages and self.graph.what(node) in POOLS:
                kernel, stride, padding, _, up = self.graph._pooling(node, maps)
                maps = AVERAGE[maps.ndim - 2](maps, kernel, stride, padding, up, count_include_pad=False)
            elif kind == "pool":
                maps = self.graph.apply(node, {_layers.first(node): maps})
        return maps


def following(graph: Graph, node: fx.Node, shape: tuple[int, ...]) -> Between | str:
    """The way from a layer, whose outputs have this shape, to the one that reads it; or why it cannot grow."""
    step, steps, bends = node, [], 0
    maps, value = torch.zeros(shape), torch.tensor([[-STEP], [0.0], [STEP]])
    like = graph.parts[str(node.target)].weight
    maps, value = maps.to(like), value.to(like)
    images = like.ndim > 2
    if not images:
        maps = maps.movedim(-1, 1)
    while True:
        users = [user for user in step.users if user not in graph.sizes]
        if len(users) != 1:
            return f"{step.name} is read in {len(users)} places"
        (after,) = users
        what = graph.what(after)
        if after.op == "call_module" and grows(what):
            break
        kind = _kind(graph, after, maps, images)
        if kind not in ("", "norm", "bend", "pool", "flat"):
            return f"{after.name} {kind}"
        if kind and not (kind == "bend" and bends):  # the slopes are those of all activations in a row
            steps.append((kind, after))
        if kind == "bend":
            value, bends = graph.apply(after, {step: value}), bends + 1
        if kind == "pool":
            maps = graph.apply(after, {step: maps})
        step = after
    name, second = str(after.target), graph.parts[str(after.target)]
    flat = any(kind == "flat" for kind, _ in steps) or maps.ndim == 2
    for part in (str(node.target), name, *(str(n.target) for kind, n in steps if kind == "norm")):
        if why := _unfit(graph, part):
            return why
    if images and (
        flat != isinstance(second, nn.Linear) or (not flat and type(second) is not type(graph.parts[str(node.target)]))
    ):
        return f"it is followed by a {type(second).__name__}" + (
            " of its rows of pixels" if isinstance(second, nn.Linear) else ""
        )
    if not images and not isinstance(second, nn.Linear):
        return f"it is followed by a {type(second).__name__}"
    if not images and flat and maps.ndim > 2:
        return "what it gives is flattened, so that new numbers would stand among the old ones"
    low, middle, high = (float(v) for v in value)
    if middle:
        return "its activation is not 0 at 0"
    if bends > 1 and any(kind == "pool" for kind, _ in steps):
        return "pooling and several activations come before the next layer"
    return Between(
        graph, str(node.target), name, tuple(steps), (low / -STEP, high / STEP), tuple(maps.shape[2:]) if flat else None
    )


def _kind(graph: Graph, node: fx.Node, maps: Tensor, images: bool) -> str:
    """What a step is to a new channel; empty where nothing, and a sentence about it where it may not stand there."""
    what, part = graph.what(node), graph.part(node)
    if what in NORMS:
        return "norm" if images or maps.ndim == 2 else "normalises rows and not neurons"
    if what in (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, F.dropout, "contiguous"):
        return ""
    if what in (nn.Flatten, torch.flatten, "flatten"):
        of_part = part is not None and (part.start_dim, part.end_dim) == (1, -1)
        of_call = part is None and (argument(node, "start_dim", 1, 0), argument(node, "end_dim", 2, -1)) == (1, -1)
        return "flat" if of_part or of_call else "flattens other dimensions than those of a point"
    if what in ("view", "reshape", torch.reshape):
        sizes = node.args[1] if len(node.args) == 2 and isinstance(node.args[1], (tuple, list)) else node.args[1:]
        return "flat" if len(sizes) == 2 and sizes[1] == -1 else "has a fixed shape: say x.flatten(1), and it can grow"
    if len(node.all_input_nodes) != 1:
        return "comes before the next layer, and reads more than it"
    if what in PLACES or what in BOUNDED:
        one = what is not nn.PReLU or graph.parts[str(node.target)].weight.numel() == 1
        return "bend" if one else "has a slope for each channel"
    pooled = maps.ndim > 2 and images
    name = getattr(what, "__name__", str(what))
    if pooled and what in POOLS and graph._pooling(node, maps)[3] == [1] * POOLS[what]:
        return "pool"
    if pooled and what not in POOLS and "avgpool" in name.lower().replace("_", ""):
        return "pool"
    if pooled and what in (torch.mean, torch.sum, "mean", "sum"):
        dims = argument(node, "dim", 1)
        dims = [dims] if isinstance(dims, int) else dims or [0]
        if all(d % maps.ndim >= 2 for d in dims) and len(dims) == maps.ndim - 2:
            return "pool"
    return "comes before the next layer; an activation may, batch normalisation, pooling and a flattening"


def _unfit(graph: Graph, name: str) -> str:
    """Why a layer cannot be widened; empty where it can."""
    part = graph.parts[name]
    tied = [n.target for n in graph.nodes if n.op == "call_module"]
    weights = [p for other in graph.parts.values() for p in other.parameters(recurse=False)]
    if tied.count(name) > 1 or (part.weight is not None and sum(p is part.weight for p in weights) > 1):
        return f"the weights of {name!r} stand in several places"
    if isinstance(part, tuple(CONVOLUTIONS)) and (part.groups, part.padding_mode) != (1, "zeros"):
        return f"{name!r} has groups of channels, or pads with something other than zeros"
    if isinstance(part, tuple(CONVOLUTIONS)) and any(2 * p != whole for p, whole in zip(padding(part), _around(part))):
        return f"{name!r} pads more on one side than on the other: give padding as numbers"
    return ""


def _around(part: Any) -> list[int]:
    """The zeros on both sides of an image together, in each direction."""
    if part.padding == "same":
        return [d * (k - 1) for d, k in zip(part.dilation, part.kernel_size)]
    return [2 * p for p in padding(part)]


def padding(part: Any) -> list[int]:
    """The zeros on one side of an image, in each direction."""
    if isinstance(part.padding, str):
        return [d * (k - 1) // 2 * (part.padding == "same") for d, k in zip(part.dilation, part.kernel_size)]
    return list(part.padding)


# ---- maps: (n, channels, *pixels), and rows of them -----------------------------------------------------------------------


def rows(maps: Tensor) -> Tensor:
    """A row for each pixel of each point, `(n * pixels, channels)`."""
    return maps.movedim(1, -1).flatten(0, -2)


def given(part: Any, values: Tensor) -> Tensor:
    """What a layer gives, or what is wanted of that, as maps."""
    return values.movedim(-1, 1) if isinstance(part, nn.Linear) else values


def reads(part: Any, x: Tensor, pixels: tuple[int, ...] | None = None) -> Tensor:
    """What a layer reads: of a convolution, for each of its outputs, the window there, `(n, in * window, *pixels)`.

    pixels: of a channel, where a dense layer reads `x` as maps, all of them at once.
    """
    if pixels is not None:
        return x.flatten(1)
    if isinstance(part, nn.Linear):
        return x.movedim(-1, 1)
    into, run = x.shape[1], CONVOLUTIONS[type(part)][0]
    return run(x, _ones(part, into).flatten(0, 1), None, part.stride, padding(part), part.dilation, into)


def back(part: Any, wanted: Tensor, pixels: tuple[int, ...]) -> Tensor:
    """What is wanted of outputs as wanted of each pixel that a layer reads, `(n, out * window, *pixels)`: `reads` transposed."""
    n, out, *size = wanted.shape
    if isinstance(part, nn.Linear):
        if not size:
            one = torch.eye(prod(pixels)).to(wanted).view(prod(pixels), *pixels)
            return (wanted.view(n, out, *[1] * one.ndim) * one).flatten(1, 2)
        return wanted
    how = zip(pixels, size, part.stride, padding(part), part.dilation, part.kernel_size)
    room = [whole - ((o - 1) * s - 2 * p + d * (k - 1) + 1) for whole, o, s, p, d, k in how]
    run = CONVOLUTIONS[type(part)][1]
    return run(wanted, _ones(part, out).squeeze(2), None, part.stride, padding(part), room, out, part.dilation)


def _ones(part: Any, channels: int) -> Tensor:
    """For each channel the kernels that read one pixel of its window each, `(channels, window, 1, *kernel)`."""
    size = prod(part.kernel_size)
    return torch.eye(size).to(part.weight).view(size, 1, *part.kernel_size).repeat(channels, *[1] * (2 + len(part.kernel_size)))
