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

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from foldnet.geometry.convnet import ConvNet
from foldnet.geometry.vision import jacobian, pattern

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
            net: ConvNet = nets[run].to(torch.float64).to(device())  # ty: ignore[invalid-assignment]
            copies = dict(zip(COPIES, (net, halved(net), unshared(net), exchanged(net))))
            for place in PLACES:
                ends = squares(place, pairs, seed=run)
                for name, copy in copies.items():
                    found = crossed(copy, *ends, short_of=copies["16 bits"] if copy is net else None)
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


def halved(net: ConvNet) -> ConvNet:
    """The same network with weights and biases of 16 bits."""
    return net.to(torch.float16).to(net.dtype)


def refined(net: ConvNet, seed: int = 0) -> ConvNet:
    """A network that becomes this one, which has weights of 16 bits, when it is `halved`: the digits behind are drawn."""
    rng = np.random.default_rng([17, seed])
    drawn = lambda p: p * (1 + 2.0**-12 * torch.as_tensor(rng.uniform(-1, 1, p.shape)).to(p))  # noqa: E731
    weights, biases = ([drawn(p) for p in parts] for parts in (net.weights, net.biases))
    return ConvNet(weights, biases, net.input_shape, net.relu_first)


@dataclass(frozen=True, eq=False, repr=False)
class Unshared(ConvNet):
    """A network whose kernels are dealt out anew at every place: the same weights, but a pooling compares different kernels."""

    def _convolved(self, layer: int, h: Tensor) -> Tensor:
        z = super()._convolved(layer, h)
        order = np.random.default_rng([13, layer]).random(z.shape[1:]).argsort(0)
        return z.gather(1, torch.as_tensor(order, device=z.device).expand_as(z))


def unshared(net: ConvNet) -> Unshared:
    return Unshared(net.weights, net.biases, net.input_shape, net.relu_first)


def exchanged(net: ConvNet) -> ConvNet:
    """The channels of every convolution in another order, the same at all places; what reads them is left as it was."""
    *weights, last = net.weights
    *biases, end = net.biases
    orders = [np.random.default_rng([16, layer]).permutation(len(b)) for layer, b in enumerate(biases)]
    weights, biases = ([p[order] for p, order in zip(parts, orders)] for parts in (weights, biases))
    return ConvNet([*weights, last], [*biases, end], net.input_shape, net.relu_first)


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
def bracketed(net: ConvNet, first: Tensor, second: Tensor, halvings: int = HALVINGS) -> tuple[Tensor, Tensor]:
    """The two sides of the crease that halving finds between each pair of points; pairs without one are left out.

    Halving ends where one choice is left that differs: the patterns, and with them the maps, are those beside the crease.
    """
    a, b = first.to(net.device), second.to(net.device)
    start, end = pattern(net, a), pattern(net, b)
    apart = (start != end).any(1)
    if not apart.any():
        raise ValueError(f"no crease lies between these {len(a)} pairs of points: take points that are further apart")
    a, b, start, end = a[apart], b[apart], start[apart], end[apart]
    for _ in range(halvings):
        open_ = ((start != end).sum(1) > 1).nonzero()[:, 0]
        if not len(open_):
            break
        middle = (a[open_] + b[open_]) / 2
        new = pattern(net, middle)
        left = (new != start[open_]).any(1)
        b[open_[left]], end[open_[left]] = middle[left], new[left]
        a[open_[~left]], start[open_[~left]] = middle[~left], new[~left]
    return a, b


@torch.no_grad()
def crossed(net: ConvNet, first: Tensor, second: Tensor, short_of: ConvNet | None = None) -> dict:
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
    gap, still = (v.cpu().numpy() for v in turned(slopes_at(net, a), slopes_at(net, b)))
    found: dict = {name: counted(gap[kinds == k]) for k, name in enumerate(("idle", "relu", "pooling"))}
    layers = switched.split(list(net.sizes[1:-1]), dim=1)
    several = torch.stack([layer.sum(1) for layer in layers]).amax(0) > 1
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


def slopes_at(net: ConvNet, x: Tensor) -> Tensor:
    """The Jacobian `(n, out, pixels)`: in closed form, or by autograd where kernels are not shared."""
    return along(net, net, x) if isinstance(net, Unshared) else jacobian(net, x)


def along(net: ConvNet, chooser: ConvNet, x: Tensor) -> Tensor:
    """The Jacobian of a network in the choices that another one of its shape makes at these images, by autograd."""
    _, places, on = chooser.pieces(x)
    with torch.enable_grad():
        x = x.clone().requires_grad_()
        h = net._stacked(x)
        for layer, (place, gate) in enumerate(zip(places, on)):
            h = net._convolved(layer, h).flatten(2).gather(2, place.flatten(2)).view_as(place) * gate
        out = h.flatten(1) @ net.weights[-1].mT
        rows = [torch.autograd.grad(out[:, k].sum(), x, retain_graph=True)[0] for k in range(out.shape[1])]
    return torch.stack(rows, 1)


def cost(net: ConvNet, count: int = 8, repeats: int = 5) -> tuple[float, float]:
    """How long the Jacobians of some images take, and how long their patterns once more, in units of what the patterns take: the
    best of some trials each."""
    x = squares("photograph", count, 0)[0].to(net.device)
    best = []
    for work in (pattern, jacobian, pattern):
        took = []
        for _ in range(repeats):
            start = time.perf_counter()
            work(net, x).sum().item()
            took.append(time.perf_counter() - start)
        best.append(min(took))
    return best[1] / best[0], best[2] / best[0]
