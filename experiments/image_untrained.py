"""How much a dense network that was never trained says about a trained one, by least squares, on digits.

A row of a dense network of one hidden layer is a sum over the neurons that are on, so least squares from its coefficients is
least squares from its pattern and a 1. The stored run behind the question in geometry/comparison.

>>> from experiments import image_untrained
>>> image_untrained.cells()[0]
{'source': 'untrained'}
"""

from __future__ import annotations

import torch

from foldbook.chapters.comparison import with_one
from foldnet.geometry.comparison import coefficients, least_squares, values

from . import image_nets

SEEN, TESTED, AT_ONCE = 1500, 1000, 250
SOURCES = ("untrained", "sgd", "adamw")


def cells() -> list[dict]:
    return [{"source": source} for source in SOURCES]


def cell(source: str) -> dict:
    """`right`: of 1,000 test digits, by a simple network trained with AdamW, and by rows for it from those of a dense one."""
    seen, (test, labels) = image_nets.pixels("mnist", "train", SEEN)[0], image_nets.pixels("mnist", "test", TESTED)
    target, dense = image_nets.network("simple", "mnist", "adamw", run=2), _source(source)
    rows = torch.cat([coefficients(target, part) for part in seen.split(AT_ONCE)], 1)
    grey = rows[..., :-1].unflatten(-1, (3, -1)).sum(-2)  # channels are the same
    aim = torch.cat([grey, rows[..., -1:]], -1).transpose(0, 1).flatten(1)
    a, b = (with_one(dense.pattern(some).double()) for some in (seen, test))
    mapped = (b @ least_squares(a, aim)).unflatten(1, (10, -1)).transpose(0, 1)
    said = target(test).argmax(1), values(mapped, test[:, :1024]).argmax(0)
    return {"right": [int((s == labels).sum()) for s in said]}


def _source(name: str):
    """The dense network of run 1, before training or after it by an optimizer."""
    if name == "untrained":
        return image_nets.network_of("dense", image_nets.begin("dense", 1))[0]
    return image_nets.network("dense", "mnist", name)
