"""More planes through three images, and wider windows: does what one plane shows of dense networks hold on others?

Behind Figures 6.10 and 6.11 of S2, which show one plane each, through the three closest images of some classes: three zeros, or
two airplanes and a deer. Here are all planes of that kind: three digits of one class, two photographs of one class and one of
another; the closest of the 10,000 test images, and the closest of the 200 that the book keeps.

>>> from experiments import image_sections
>>> threes = image_sections.kept("mnist")  # three close digits of each class
>>> len(threes), threes[0].shape
(10, (3, 3072))
>>> low, mean, high = image_sections.surplus([[30, 60], [50, 50]], [[10, 10], [10, 10]])
>>> round(mean, 1)
4.6
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from foldbook.statistics import lower_end
from foldnet import data as sets

from . import image_nets
from .image_planes import sliced, through

WIDER = (1, 2, 4)  # windows, as wide as that of `image_planes` and wider


def cells() -> list[dict]:
    return [{"data": name} for name in image_nets.DATA]


def cell(data: str) -> dict:
    """Pieces by optimizer: `closest` and `kept`, on planes through the closest of 10,000 and of 200 test images, `(runs,
    planes)`; `wider`, on the plane of `image_planes` in windows of several widths, `(runs, widths)`; `triples`, of the 10,000."""
    images = {"mnist": sets.mnist, "cifar10": sets.cifar10}[data]()
    found = triples(images.x_test, images.y_test, data)
    prepared = [image_nets.prepared(images.x_test[t], image_nets.scale(data)).double().numpy() for t in found]
    planes = {"closest": prepared, "kept": kept(data)}
    result: dict = {"triples": found, "closest": {}, "kept": {}, "wider": {}}
    for optimizer in image_nets.OPTIMIZERS:
        nets = image_nets.networks("dense", data, optimizer)
        nets = [nets[k] for k in range(nets.batch_shape[0])]
        for name, threes in planes.items():
            result[name][optimizer] = [[len(through(net, t)) for t in threes] for net in nets]
        result["wider"][optimizer] = [[len(sliced(net, data, w)) for w in WIDER] for net in nets]
    return result


def triples(x: np.ndarray, y: np.ndarray, data: str) -> list[list[int]]:
    """The three closest of these images for every choice of classes like that of the source."""
    digits = range(len(image_nets.CLASSES[data]))
    alike = len(set(image_nets.THREE[data])) == 1
    choices = [(a, a, a) for a in digits] if alike else [(a, a, b) for a, b in permutations(digits, 2)]
    return [image_nets.closest(x, y, c) for c in choices]


def kept(data: str) -> list[np.ndarray]:
    """The images of such planes, `(3, pixels)` each, among the 200 of the book's copy."""
    x, y = (part.numpy() for part in image_nets.samples(data))
    return [x[t].astype(float) for t in triples(x, y, data)]


def surplus(first, second) -> tuple[float, float, float]:
    """How many times as many pieces the first networks have, in pairs from equal starts, `(runs, planes)`: the lower end of its
    95 percent interval over runs, the mean and the upper end; over planes the geometric mean is taken."""
    ratios = np.log(np.divide(first, second)).mean(-1)
    low, mean, high = np.exp([lower_end(ratios), ratios.mean(), -lower_end(-ratios)])
    return float(low), float(mean), float(high)
