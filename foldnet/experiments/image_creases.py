"""One crease at a time: what switches where a convolutional network bends, and does its Jacobian show it?

Behind the reasons that S2 gives for Figure 6.13. Two points of a small square, around the photograph or anywhere in the window of
the plane, are brought together by halving until one crease is left between them; the Jacobians on its two sides are compared.
The same for a copy with weights of 16 bits, for one whose kernels are dealt out anew at every place, and for one whose channels
are exchanged alike at all places: it shares its kernels still, but its layers no longer fit each other, as in the copy before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..geometry.vision import ConvNet, jacobian, pattern
from . import image_nets
from .image_planes import SIDE, effective, plane, seen, window
from .runner import device, short

DATA, PAIRS, HALVINGS, GRIDS, POINTS = "cifar10", 40, 24, 2, (8, 16)
PLACES, COPIES = ("photograph", "elsewhere"), ("as trained", "16 bits", "not shared", "exchanged")
SAME, NEAR = 1e-9, 1e-2  # Jacobians that are no further apart, relative to their size: equal up to rounding; or one for the eye


def cells() -> list[dict]:
    return [{"kind": kind} for kind in image_nets.CHANNELS]


def cell(kind: str, pairs: int = PAIRS, runs: int = image_nets.RUNS) -> dict:
    """By optimizer, for each run: `creases[place][copy]`, how far Jacobians turn at creases by what switches (`crossed`);
    `grids[points]`, regions on small grids of 8 by 8 and 16 by 16 points elsewhere in the window (`seen`); and `cost`, what a
    Jacobian takes in units of a pattern, and what the pattern takes if it is timed once more."""
    result: dict = {"creases": {p: {c: {} for c in COPIES} for p in PLACES}, "grids": {str(n): {} for n in POINTS}, "cost": {}}
    origin, axes, _ = plane(DATA)
    for optimizer in image_nets.OPTIMIZERS:
        nets = image_nets.networks(kind, DATA, optimizer)
        for run in range(runs):
            net: ConvNet = nets[run].to(torch.float64).to(device())  # ty: ignore[invalid-assignment]
            copies = dict(zip(COPIES, (net, halved(net), unshared(net), exchanged(net))))
            for place in PLACES:
                ends = squares(place, pairs, seed=run)
                for name, copy in copies.items():
                    result["creases"][place][name].setdefault(optimizer, []).append(crossed(copy, *ends))
            centres = scattered(GRIDS, seed=run)
            for points in POINTS:
                found = [seen(net, origin + c @ axes, axes, points) for c in centres]
                columns = {k: [f[k] for f in found] for k in ("patterns", "effective", "maps")}
                result["grids"][str(points)].setdefault(optimizer, []).append(columns)
            result["cost"].setdefault(optimizer, []).append([short(c, 2) for c in cost(net)])
    return result


def missed(found: dict, kinds=("idle", "relu", "pooling"), part=slice(None)) -> float:
    """The share of creases of some kinds, all or a part of each, at which Jacobians are so near that they count as one."""
    gaps = np.concatenate([np.asarray(found[k], float)[part] for k in kinds])
    return float((gaps <= NEAR).mean()) if len(gaps) else float("nan")


# ---- copies --------------------------------------------------------------------------------------------------------------------


def halved(net: ConvNet) -> ConvNet:
    """The same network with weights and biases of 16 bits."""
    return net.to(torch.float16).to(net.dtype)


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
    """The two sides of the first crease that halving finds between each pair of points; pairs without one are left out."""
    a, b = first.to(net.device), second.to(net.device)
    start = pattern(net, a)
    apart = (start != pattern(net, b)).any(1)
    if not apart.any():
        raise ValueError(f"no crease lies between these {len(a)} pairs of points: take points that are further apart")
    a, b, start = a[apart], b[apart], start[apart]
    for _ in range(halvings):
        middle = (a + b) / 2
        new = pattern(net, middle)
        left = (new != start).any(1, keepdim=True)
        a, b = torch.where(left, a, middle), torch.where(left, middle, b)
        start = torch.where(left, start, new)
    return a, b


@torch.no_grad()
def crossed(net: ConvNet, first: Tensor, second: Tensor) -> dict:
    """How far the Jacobian turns, relative to its size, at one crease for each pair of points, by what switches there.

    That is an `idle` choice (of a pooling that is off, or the sign of a pixel that no pooling takes), a `relu`, or what a
    `pooling` takes. `several`: creases at which more than one pooling of a layer switches; `silent`: outputs that stay
    straight where another bends.
    """
    a, b = bracketed(net, first, second)
    before, after = effective(net, a), effective(net, b)
    switched = before != after
    place = switched.int().argmax(1, keepdim=True)  # the first layer comes first: what follows it is not the cause
    old, new = (rows.gather(1, place)[:, 0] for rows in (before, after))
    kinds = torch.where(old == new, 0, torch.where((old == 0) | (new == 0), 1, 2)).cpu().numpy()
    slopes = [slopes_at(net, side) for side in (a, b)]
    turn, size = (slopes[1] - slopes[0]).norm(dim=-1), torch.maximum(*(s.norm(dim=-1) for s in slopes))
    gap = (turn.norm(dim=1) / size.norm(dim=1)).cpu().numpy()
    still = (turn <= SAME * size).sum(1).cpu().numpy()
    found: dict = {name: [short(float(g), 3) for g in gap[kinds == k]] for k, name in enumerate(("idle", "relu", "pooling"))}
    layers = switched.split(list(net.sizes[1:-1]), dim=1)
    several = torch.stack([layer.sum(1) for layer in layers]).amax(0) > 1
    return {**found, "several": int(several.sum()), "silent": int(still[gap > SAME].sum())}


def slopes_at(net: ConvNet, x: Tensor) -> Tensor:
    """The Jacobian `(n, out, pixels)`: in closed form, or by autograd where kernels are not shared."""
    if not isinstance(net, Unshared):
        return jacobian(net, x)
    with torch.enable_grad():
        x = x.clone().requires_grad_()
        out = net(x)
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
