"""One crease at a time: what switches where a convolutional network bends, and does its Jacobian show it?

Behind the reasons that S2 gives for Figure 6.13. Two points of a small square, around the photograph or anywhere in the window of
the plane, are brought together by halving until one crease is left between them; the Jacobians on its two sides are compared.
The same for a copy with weights of 16 bits, for one whose kernels are dealt out anew at every place, and for one whose channels
are exchanged alike at all places: it shares its kernels still, but its layers no longer fit each other, as in the copy before.
Weights of 16 bits are also put in along the choices of the network itself, on the two sides of one and the same crease.

>>> import torch
>>> from experiments import image_creases, image_nets
>>> net = image_nets.network("simple", "cifar10", "sgd").to(torch.float64)
>>> found = image_creases.crossed(net, *image_creases.squares("elsewhere", 5, seed=0))
>>> sum(sum(half[1:]) for half in found["idle"])  # what reaches no output turns no Jacobian
0
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from foldnet.piecewise.net import PiecewiseLinear, of

from . import image_nets
from .image_planes import SIDE, effective, plane, seen, window
from .runner import device, short

DATA, PAIRS, HALVINGS, GRIDS, POINTS = "cifar10", 250, 24, 2, 16
PLACES, COPIES = ("photograph", "elsewhere"), ("as trained", "16 bits", "not shared", "exchanged")
SAME, NEAR = 1e-9, 1e-2  # Jacobians that are no further apart, relative to their size: equal up to rounding; or one for the eye
EDGES = (SAME, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, NEAR, 2e-2, 5e-2, 0.1)  # up to and with these gaps are counted, then the rest


def cells() -> list[dict]:
    return [{"kind": kind} for kind in image_nets.CHANNELS]


def cell(kind: str, pairs: int = PAIRS, runs: int = image_nets.RUNS) -> dict:
    """By optimizer, for each run: `creases[place][copy]`, how far Jacobians turn at creases by what switches (`crossed`);
    `grids`, regions on small grids of 16 by 16 points elsewhere in the window (`seen`); and `cost`, what a Jacobian takes in
    units of a pattern, and what the pattern takes if it is timed once more."""
    result: dict = {"creases": {p: {c: {} for c in COPIES} for p in PLACES}, "grids": {}, "cost": {}}
    origin, axes, _ = plane(DATA)
    for optimizer in image_nets.OPTIMIZERS:
        nets = image_nets.networks(kind, DATA, optimizer)
        for run in range(runs):
            net = nets[run].to(torch.float64).to(device())
            copies = dict(zip(COPIES, (net, halved(net), unshared(net), exchanged(net))))
            for place in PLACES:
                ends = squares(place, pairs, seed=run)
                for name, other in copies.items():
                    found = crossed(other, *ends, short_of=copies["16 bits"] if other is net else None)
                    result["creases"][place][name].setdefault(optimizer, []).append(found)
            found = [seen(net, origin + c @ axes, axes, POINTS) for c in scattered(GRIDS, seed=run)]
            columns = {k: [f[k] for f in found] for k in ("patterns", "effective", "maps")}
            result["grids"].setdefault(optimizer, []).append(columns)
            result["cost"].setdefault(optimizer, []).append([short(c, 2) for c in cost(net)])
    return result


def missed(found: dict, kinds=("idle", "relu", "pooling"), part=slice(None)) -> float:
    """The share of creases of some kinds, all or a part of each, at which Jacobians are so near that they count as one."""
    counts = np.sum([np.asarray(found[k])[part] for k in kinds], axis=(0, 1))
    return float(counts[: EDGES.index(NEAR) + 1].sum() / counts.sum()) if counts.sum() else float("nan")


# ---- copies --------------------------------------------------------------------------------------------------------------------


def changed(net: PiecewiseLinear, change: Callable[[nn.Module], nn.Module]) -> PiecewiseLinear:
    """The network of a copy of its module, after a change."""
    return of(change(copy.deepcopy(net.graph.module)), net.input_shape)


def halved(net: PiecewiseLinear) -> PiecewiseLinear:
    """The same network with weights and biases of 16 bits."""
    return changed(net, lambda module: module.half().to(net.dtype))


def refined(net: PiecewiseLinear, seed: int = 0) -> PiecewiseLinear:
    """A network that becomes this one, which has weights of 16 bits, when it is `halved`: the digits behind are drawn."""
    rng = np.random.default_rng([17, seed])

    def draw(module: nn.Module) -> nn.Module:
        layers = image_nets.learned(module)
        for p in [part.weight.data for part in layers] + [part.bias.data for part in layers]:
            p *= 1 + 2.0**-12 * torch.as_tensor(rng.uniform(-1, 1, p.shape)).to(p)
        return module

    return changed(net, draw)


class Dealt(nn.Module):
    """Channels dealt out anew at every place, as `order` `(channels, height, width)` says."""

    taken: Tensor

    def __init__(self, order: Tensor):
        super().__init__()
        self.shape, places = order.shape, torch.arange(order[0].numel(), device=order.device)
        self.register_buffer("taken", (order.flatten(1) * len(places) + places).flatten())

    def forward(self, x: Tensor) -> Tensor:
        return torch.index_select(x.flatten(1), 1, self.taken).unflatten(1, self.shape)


def unshared(net: PiecewiseLinear) -> PiecewiseLinear:
    """A network whose kernels are dealt out anew at every place: the same weights, but a pooling compares different kernels."""

    def deal(module: nn.Module) -> nn.Module:
        parts: list[nn.Module] = []
        layer, (_, *sides) = 0, next(module.children()).unflattened_size  # ty: ignore[not-iterable]
        for part in module.children():
            parts.append(part)
            if isinstance(part, nn.Conv2d):
                order = np.random.default_rng([13, layer]).random((part.out_channels, *sides)).argsort(0)
                parts.append(Dealt(torch.as_tensor(order, device=net.device)))
                layer, sides = layer + 1, [side // 2 for side in sides]
        return nn.Sequential(*parts)

    return changed(net, deal)


def exchanged(net: PiecewiseLinear) -> PiecewiseLinear:
    """The channels of every convolution in another order, the same at all places; what reads them is left as it was."""

    def exchange(module: nn.Module) -> nn.Module:
        for layer, part in enumerate(image_nets.learned(module)[:-1]):
            order = np.random.default_rng([16, layer]).permutation(len(part.bias))
            part.weight.data, part.bias.data = part.weight.data[order], part.bias.data[order]
        return module

    return changed(net, exchange)


# ---- creases -------------------------------------------------------------------------------------------------------------------


def scattered(count: int, seed: int) -> np.ndarray:
    """Places in the window of the plane, `(count, 2)`, drawn evenly."""
    corners = window(DATA)
    return np.random.default_rng([14, seed]).uniform(corners.min(0), corners.max(0), (count, 2))


def squares(place: str, pairs: int, seed: int) -> tuple[Tensor, Tensor]:
    """Pairs of points, `(pairs, pixels)` each, drawn evenly from a small square around the photograph, or each from one around a
    place of its own."""
    origin, axes, _ = plane(DATA)
    centre = scattered(pairs, seed) if place == "elsewhere" else np.zeros((pairs, 2))
    ends = centre + SIDE * np.random.default_rng([15, seed]).uniform(-0.5, 0.5, (2, pairs, 2))
    first, second = torch.as_tensor(origin + ends @ axes)
    return first, second


@torch.no_grad()
def bracketed(net: PiecewiseLinear, first: Tensor, second: Tensor, halvings: int = HALVINGS) -> tuple[Tensor, Tensor]:
    """The two sides of the crease that halving finds between each pair of points; pairs without one are left out.

    Halving ends where one choice is left that differs: the patterns, and with them the maps, are those beside the crease.
    """
    a, b = first.to(net.device), second.to(net.device)
    start, end = net.pattern(a), net.pattern(b)
    apart = (start != end).any(1)
    if not apart.any():
        raise ValueError(f"no crease lies between these {len(a)} pairs of points: take points that are further apart")
    a, b, start, end = a[apart], b[apart], start[apart], end[apart]
    for _ in range(halvings):
        open_ = ((start != end).sum(1) > 1).nonzero()[:, 0]
        if not len(open_):
            break
        middle = (a[open_] + b[open_]) / 2
        new = net.pattern(middle)
        left = (new != start[open_]).any(1)
        b[open_[left]], end[open_[left]] = middle[left], new[left]
        a[open_[~left]], start[open_[~left]] = middle[~left], new[~left]
    return a, b


@torch.no_grad()
def crossed(net: PiecewiseLinear, first: Tensor, second: Tensor, short_of: PiecewiseLinear | None = None) -> dict:
    """How far the Jacobian turns, relative to its size, at one crease for each pair of points, by what switches there: how many
    turn by at most each of `EDGES`, and by more, for every second crease and for the others, `(2, 12)`.

    What switches is an `idle` choice (of a pooling that is off, or the sign of a pixel that no pooling takes), a `relu`, or
    what a `pooling` takes. `several`: creases at which more than one pooling of a layer switches; `silent`: outputs that stay
    straight where another bends. With a copy of shorter weights, put in along the same choices: `hidden`, creases that are
    missed with its weights and not with those of the network, and `shown`, the other way round.
    """
    a, b = bracketed(net, first, second)
    before, after = effective(net, a), effective(net, b)
    switched = before != after
    place = switched.int().argmax(1, keepdim=True)  # the first layer comes first: what follows it is not the cause
    old, new = (rows.gather(1, place)[:, 0] for rows in (before, after))
    kinds = torch.where(old == new, 0, torch.where((old == 0) | (new == 0), 1, 2)).cpu().numpy()
    gap, still = (v.cpu().numpy() for v in turned(net.jacobians(a), net.jacobians(b)))
    found: dict = {name: counted(gap[kinds == k]) for k, name in enumerate(("idle", "relu", "pooling"))}
    sizes = [place[0].numel() for place, _ in image_nets.choices(net, a[:1])]
    several = torch.stack([layer.sum(1) for layer in switched.split(sizes, dim=1)]).amax(0) > 1
    found |= {"several": int(several.sum()), "silent": int(still[gap > SAME].sum())}
    if short_of is not None:
        force = torch.as_tensor(kinds > 0, device=a.device)  # an idle choice is one whatever the weights are
        other = turned(*(along(short_of, net, side[force]) for side in (a, b)))[0].cpu().numpy()
        own = gap[kinds > 0]
        found |= {"hidden": int(((other <= NEAR) & (own > NEAR)).sum()), "shown": int(((other > NEAR) & (own <= NEAR)).sum())}
    return found


def turned(before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """How far Jacobians `(n, out, pixels)` are apart, relative to the larger one, and how many of their rows are equal."""
    turn, size = (after - before).norm(dim=-1), torch.maximum(before.norm(dim=-1), after.norm(dim=-1))
    return turn.norm(dim=1) / size.norm(dim=1), (turn <= SAME * size).sum(1)


def counted(gaps: np.ndarray) -> list[list[int]]:
    """How many gaps are at most each of `EDGES`, and beyond: of every second one, and of the others."""
    return [np.bincount(np.searchsorted(EDGES, half), minlength=len(EDGES) + 1).tolist() for half in (gaps[::2], gaps[1::2])]


def along(net: PiecewiseLinear, chooser: PiecewiseLinear, x: Tensor) -> Tensor:
    """The Jacobian of a network in the choices that another one of its shape makes at these images, by autograd."""
    made = iter(image_nets.choices(chooser, x))
    with torch.enable_grad():
        x = h = x.clone().requires_grad_()
        for part in net.graph.module.children():
            if isinstance(part, nn.MaxPool2d):
                place, on = next(made)
                h = h.flatten(2).gather(2, place.flatten(2)).view_as(place) * on
            elif not isinstance(part, nn.ReLU):
                h = part(h)
        rows = [torch.autograd.grad(h[:, k].sum(), x, retain_graph=True)[0] for k in range(h.shape[1])]
    return torch.stack(rows, 1)


def cost(net: PiecewiseLinear, count: int = 8, repeats: int = 5) -> tuple[float, float]:
    """How long the Jacobians of some images take, and how long their patterns once more, in units of what the patterns take: the
    best of some trials each."""
    x = squares("photograph", count, 0)[0].to(net.device)
    best = []
    for work in (net.pattern, net.jacobians, net.pattern):
        took = []
        for _ in range(repeats):
            start = time.perf_counter()
            work(x).sum().item()
            took.append(time.perf_counter() - start)
        best.append(min(took))
    return best[1] / best[0], best[2] / best[0]
