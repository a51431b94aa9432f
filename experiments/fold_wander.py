"""Where a fold goes when training goes on: how far from its point and how sharp, with parts of the network held.

Behind the finding of `growth/folding` that the fold leaves the place which was chosen for it. Parents, data and budget are those
of `fold_utilization`; each way starts from the same folds. Controls change one thing of a fold and keep the rest, or change
all three: its place on the boundary, the direction of its line, what it gives to the two classes.

>>> from experiments import fold_wander
>>> len(fold_wander.cells())
120
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from foldbook.chapters.folding import follow, line_distance, other_places, rebuilt
from foldnet.geometry.boundaries import kinks
from foldnet.growth.folding import Fold, fold, grow
from foldnet.growth.typical import accuracy
from foldnet.nets import ReLUNet

from . import fold_utilization as runs

MARKS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 5000)
# options of `follow`; `times` stretches the marks of slow ways
WAYS: dict[str, dict[str, Any]] = {
    "free": {},
    "old held": {"hold": "old"},
    "row held": {"hold": "row"},
    "old and row held": {"hold": "old and row"},
    "stronger, 0.5": {"size": 0.5},
    "stronger, 2": {"size": 2.0},
    "a third of the rate": {"lr": runs.LR / 3, "times": 3},
    "gradient descent": {"lr": 0.1, "optimizer": "gd", "times": 4},
    "another place": {},
    "another row": {},
    "another push": {},
    "all three": {},
}


def cells() -> list[dict]:
    return [
        {"task": task, "block": block, "way": way}
        for task in ("sine", "overlap_quadratic")
        for block in range(runs.BLOCKS)
        for way in WAYS
    ]


def cell(task: str, block: int, way: str, networks: int = 200, marks=MARKS) -> dict:
    """At each mark the middle half of the distances and angles; at the end, network by network, how far and how many right."""
    options = dict(WAYS[way])
    small, found = folded(task, block, networks, options.pop("size", runs.SIZE), way)
    times = options.pop("times", 1)
    x, y = runs.data(task, block)
    states = follow(grow(small, found).to(runs.where(networks)), x, y, [times * m for m in marks], **options)
    states = [s.to("cpu") for s in states]
    seen = [measure(s, found) for s in states]
    right = [(accuracy(nets, x, y) * len(x)).round().long() for nets in (small, states[-1])]
    return {
        "networks": len(found.point),
        "within": [int((s["distance"] < 0.1).sum()) for s in seen],
        "no_kink": [int(s["distance"].isinf().sum()) for s in seen],
        **{name: [quartiles(s[name]) for s in seen] for name in ("distance", "line", "angle", "strength")},
        "last_distance": [round(min(v, 99.0), 3) for v in seen[-1]["distance"].tolist()],
        "right_before": right[0].tolist(),
        "right_after": right[1].tolist(),
    }


@functools.cache
def parents(task: str, block: int, networks: int) -> ReLUNet:
    return runs.parents(task, block, networks)


def folded(task: str, block: int, networks: int, size: float = runs.SIZE, way: str = "free") -> tuple[ReLUNet, Fold]:
    """The parents whose fold point lies on their boundary and whose boundary has another place for it, and their folds."""
    x, y = runs.data(task, block)
    small = parents(task, block, networks)
    found = fold(small, x, y, seed=block, size=size)
    place, usable = other_places(small, found, x, seed=block)
    rng = np.random.default_rng(block)
    angle, push = torch.as_tensor(rng.uniform(0, 2 * np.pi, networks)), torch.as_tensor(rng.normal(size=(networks, 2)))
    length = found.incoming.norm(dim=-1)
    other = {"another place": {"point": place}, "another push": {"push": push}}
    other["another row"] = {"row": length * torch.stack([angle.cos(), angle.sin()], -1)}
    other["all three"] = other["another place"] | other["another push"] | other["another row"]
    found = rebuilt(found, x, **other[way]) if way in other else found
    return small[usable], Fold(**{name: value[usable] for name, value in vars(found).items()})


def measure(nets: ReLUNet, found: Fold) -> dict[str, torch.Tensor]:
    """For each network: distance from the fold point to the new unit's kink and to its line, angle and strength of the kink."""
    distance, angle = kinks(nets).nearest(found.point)
    row, out = nets.weights[0][:, -1], nets.weights[1][:, :, -1]
    strength = (out[:, 1] - out[:, 0]).abs() * row.norm(dim=-1)
    return {"distance": distance, "line": line_distance(nets, found.point), "angle": angle, "strength": strength}


def quartiles(values: torch.Tensor) -> list[float]:
    at = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
    return [round(v, 4) for v in values.double().clamp(max=999).quantile(at).tolist()]
