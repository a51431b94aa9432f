"""A ball inside a shell: how many networks of width n + 1 learn to fence it in, in the plane and in dimensions up to eight.

The runs behind Tables 4.2 and 4.3 (S2-tab-4.2, S2-tab-4.3), the skewed fences of Figure 4.6 (S2-fig-4.6) and the counts of
Figure 4.8 (S2-fig-4.8). Every network has its own start and its own data. Where the source is silent, a start other than torch's
and other radii stand beside the reading that we took.

>>> from experiments.annulus_training import cells
>>> len(cells()) > 36
True
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foldnet.geometry.boundaries import kinks
from foldnet.nets import ReLUNet
from foldnet.train import fit

from .runner import short

LOSSES, LEAKS, BATCHES = ("mse", "bce"), (0.0, 0.01, 0.1), (1000, 100, 10)
R1, LR, EPOCHS, POINTS = 0.5, 0.01, 1000, 1000
NETWORKS, BLOCK, OTHERS, RAYS = 1024, 256, 128, 720
DIMENSIONS, MANY = range(2, 9), 10_000
STARTS = ("torch", "he", "glorot")
# the shell begins at so many radii of the ball, and ends at so many times that
RADII = {
    "octahedron": lambda n: (np.sqrt(n), np.sqrt(2)),  # a hyperoctahedron just fits; in the plane as printed
    "equal volumes": lambda n: (2 ** (1 / n), 2 ** (1 / n)),  # the other way to go on from the plane
}
SPAN, LONGER = 100, 300  # epochs of 100 steps: as many steps as batches of 100 take in the plane, and a control


def cells() -> list[dict]:
    """The 36 settings of the plane, two readings of Figure 4.8, some of it longer, some of the plane from other starts."""
    plane: list[dict] = [
        {"loss": loss, "leak": leak, "batch": batch, "normalized": normalized, "start": "torch", "networks": NETWORKS}
        for loss in LOSSES
        for leak in LEAKS
        for batch in BATCHES
        for normalized in (False, True)
    ]
    some = [{k: c[k] for k in c if k != "networks"} for c in plane if c["batch"] == 100 and c["leak"] < 0.1]
    others = [{**c, "start": s} for s in STARTS[1:] for c in some]
    ball = [{"dimension": n, "leak": leak, "epochs": SPAN} for leak in LEAKS[:2] for n in DIMENSIONS]
    first, second = ([{**c, "radii": radii} for c in ball] for radii in RADII)
    longer = [{"dimension": n, "leak": 0.0, "radii": "octahedron", "epochs": LONGER} for n in (2, 3, 4)]
    return plane + longer + first + others + second[:7]  # the second reading without a leak alone


def cell(**setting) -> dict:
    return space(**setting) if "dimension" in setting else plane(**setting)


def plane(loss: str, leak: float, batch: int, normalized: bool, start: str, networks: int = OTHERS) -> dict:
    """Networks 2-3-1 after 1,000 epochs. `correct`: points of 1,000 that each gets right; `corners`, `inner`, `outer`: its fence.

    The radii are in units of the ball's. `ever`: how many were successful at the end or after any hundred epochs before it.
    They come in blocks of 256, each with a seed of its own: the first networks are the same, however many there are.
    """
    setting = (loss, leak, batch, normalized, start)
    seeds = [_seed(*setting, *([block] if block else [])) for block in range(-(-networks // BLOCK))]
    sizes = [min(BLOCK, networks - BLOCK * block) for block in range(len(seeds))]
    blocks = [_block(*setting, networks=size, seed=seed) for size, seed in zip(sizes, seeds, strict=True)]
    return {name: sum((block[name] for block in blocks), 0 if name == "ever" else []) for name in blocks[0]}


def _block(loss: str, leak: float, batch: int, normalized: bool, start: str, networks: int, seed: int) -> dict:
    x, y = data(2, POINTS, networks, seed, *RADII["octahedron"](2))
    scale = spread(x) if normalized else torch.ones(networks, 1, 1)
    x = x / scale
    nets = begin(2, networks, leak, seed, start)
    best = torch.zeros(networks, dtype=torch.int64)

    def record(now: ReLUNet) -> Tensor:
        best.copy_(torch.maximum(best, right(now, x, y, loss)))
        return best.clone()

    how: dict[str, Any] = {
        "loss": loss,
        "lr": LR,
        "epochs": EPOCHS,
        "batch_size": None if batch == POINTS else batch,
        "seed": seed,
    }
    done = fit(nets, x, y, record=record, every=100, engine="fused", progress=False, **how).net
    corners, inner, outer = fences(inside(done, loss))
    unit = R1 / scale[:, 0, 0]
    return {
        "correct": right(done, x, y, loss).tolist(),
        "ever": int((best >= 0.95 * POINTS).sum()),
        "corners": corners.tolist(),
        "inner": short((inner / unit).nan_to_num(0.0), 4),
        "outer": short((outer / unit).nan_to_num(0.0), 4),
    }


def space(dimension: int, leak: float, radii: str, epochs: int, networks: int = OTHERS, points: int = MANY) -> dict:
    """Networks n-(n + 1)-1, cross-entropy, batches of 100. `correct[epoch]`: fresh points of 10,000 that each gets right."""
    seed, ratios = _seed(dimension, leak, radii), RADII[radii](dimension)
    x, y = data(dimension, points, networks, seed, *ratios)
    scale = spread(x)
    fresh, labels = data(dimension, points, networks, seed + 1, *ratios)
    fresh = fresh / scale
    every = epochs // 10
    how: dict[str, Any] = {
        "loss": "bce",
        "lr": LR,
        "epochs": epochs,
        "batch_size": 100,
        "seed": seed,
        "every": every,
        "engine": "fused",
    }
    nets = begin(dimension, networks, leak, seed, "torch")
    done = fit(nets, x / scale, y, record=lambda now: right(now, fresh, labels, "bce"), progress=False, **how)
    return {"correct": {str(k * every): done.recorded["value"][k].tolist() for k in (1, 3, 10)}}


# ---- data and networks -------------------------------------------------------------------------------------------------


def data(n: int, points: int, networks: int, seed: int, gap: float, thick: float) -> tuple[Tensor, Tensor]:
    """For each network its own points `(networks, points, n)`, half in the ball (label 1), half in the shell (0), by volume."""
    rng = np.random.default_rng([seed, 1])
    way = rng.normal(size=(networks, points, n))
    way /= np.linalg.norm(way, axis=-1, keepdims=True)
    share = rng.uniform(size=(networks, points, 1))
    ball = np.arange(points)[:, None] < points // 2
    low, high = np.where(ball, 0.0, R1 * gap), np.where(ball, R1, R1 * gap * thick)
    radius = (low**n + share * (high**n - low**n)) ** (1 / n)
    y = torch.as_tensor(ball, dtype=torch.float32).expand(networks, points, 1)
    return torch.as_tensor(way * radius, dtype=torch.float32), y


def spread(x: Tensor) -> Tensor:
    """The standard deviation of all coordinates of each network's points, `(networks, 1, 1)`; normalized means divided by it."""
    return x.square().mean((1, 2), keepdim=True).sqrt()


def begin(n: int, networks: int, leak: float, seed: int, start: str) -> ReLUNet:
    """Networks n-(n + 1)-1 in single precision, by a start of `ReLUNet.random`."""
    return ReLUNet.random((n, n + 1, 1), batch=networks, init=start, leak=leak, seed=seed, dtype=torch.float32)


def inside(nets: ReLUNet, loss: str) -> ReLUNet:
    """The networks whose output is positive where these say ball: an output trained by squares on 0 and 1 is cut at 1/2."""
    if loss == "bce":
        return nets
    return nets.with_layers(nets.weights, [*nets.biases[:-1], nets.biases[-1] - 0.5])


def right(nets: ReLUNet, x: Tensor, y: Tensor, loss: str) -> Tensor:
    """How many points each network gets right, `(networks,)`."""
    return ((inside(nets, loss)(x) > 0) == (y > 0.5)).sum((1, 2))


def successes(correct, needed: float) -> int:
    """How many networks get at least so many points right."""
    return int((np.asarray(correct) >= needed).sum())


# ---- the fence around the ball -----------------------------------------------------------------------------------------


def fences(nets: ReLUNet) -> tuple[Tensor, Tensor, Tensor]:
    """The boundary around the origin of networks of the plane, positive inside: corners, inner and outer radius, `(networks,)`.

    0 corners and nan where it is not closed, or the origin lies outside. A corner is a kink that the origin sees; the inner
    radius is taken along 720 rays, which is too much by 1e-5 of it at most.
    """
    nets = nets.to(torch.float64)
    angle = torch.arange(RAYS, dtype=torch.float64) * (2 * np.pi / RAYS)
    rays = torch.stack([angle.cos(), angle.sin()], -1).expand(*nets.batch_shape, -1, -1)
    far = reach(nets, rays)
    closed = far.isfinite().all(-1) & (far > 0).all(-1)
    points = torch.cat([kinks(nets, unit, reach=1e3).point for unit in range(nets.sizes[1])], 1)
    length = points.norm(dim=-1)
    seen = reach(nets, (points / length.unsqueeze(-1)).nan_to_num(0.5))
    corner = ((seen - length).abs() < 1e-6 * length) & closed.unsqueeze(-1)
    outer = length.where(corner, -torch.inf).amax(-1)
    inner = far.amin(-1)
    return corner.sum(-1), inner.where(closed, torch.nan), outer.where(closed, torch.nan)


def reach(nets: ReLUNet, rays: Tensor) -> Tensor:
    """How far from the origin along each unit vector `(networks, n, 2)` the output first is 0: exact, inf if never, 0 if at once.

    Along a ray the output is straight between its crossings with the lines of the hidden units, and beyond the last of them.
    """
    z, slope = nets.biases[0].unsqueeze(-2), rays @ nets.weights[0].mT
    cross = -z / slope
    cross = cross.where((cross > 0) & cross.isfinite(), 0.0)
    knots = torch.cat([torch.zeros_like(cross[..., :1]), cross], -1).sort(-1).values
    knots = torch.cat([knots, knots[..., -1:] + 1], -1)
    there = (knots.unsqueeze(-1) * rays.unsqueeze(-2)).flatten(1, 2)
    value = nets(there)[..., 0].unflatten(-1, knots.shape[-2:])
    low, high = value[..., :-1], value[..., 1:]
    t = knots[..., :-1] + low / (low - high) * knots.diff(dim=-1)
    meets = (low > 0) & (high <= 0)
    meets[..., -1] |= (low > high)[..., -1] & (low > 0)[..., -1]  # the last piece goes on for ever
    first = t.where(meets, torch.inf).amin(-1)
    return first.where(value[..., 0] > 0, 0.0)


def _seed(*setting) -> int:
    """A number of its own for each setting, whatever stands beside it."""
    return zlib.crc32(repr(setting).encode())
