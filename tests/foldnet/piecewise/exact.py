"""Small networks as lists of layers, in torch and in fractions: slow, plain, and without any rounding."""

from fractions import Fraction as Q
from functools import reduce

import torch
from torch import nn
from torch.nn import functional as F

from tests.foldnet.geometry.rational import _halves


class Module(nn.Module):
    """What a list of layers says, in torch and in double precision; all its numbers are exact there."""

    def __init__(self, layers):
        super().__init__()
        self.layers, self.parts = layers, nn.ModuleList()
        for kind, *rest in layers:
            if kind in ("affine", "residual"):
                weights, biases = rest
                linear = nn.Linear(len(weights[0]), len(weights)).double()
                linear.weight.data = torch.tensor([[float(w) for w in row] for row in weights]).double()
                linear.bias.data = torch.tensor([float(b) for b in biases]).double()
                self.parts.append(linear)

    def forward(self, x):
        parts = iter(self.parts)
        for kind, *rest in self.layers:
            if kind == "affine":
                x = next(parts)(x)
            elif kind == "residual":
                x = x + next(parts)(x).relu()
            elif kind == "relu":
                x = F.leaky_relu(x, float(rest[0])) if rest[0] else torch.relu(x)
            elif kind == "abs":
                x = torch.abs(x)
            elif kind == "cap":
                x = F.relu6(x)
            else:
                x = F.max_pool1d(x[:, None], *rest)[:, 0]
        return x


def pieces(layers, polytope, maps, halves=_halves):
    """The parts of a polytope on which the network is affine, each with the maps of its outputs: slopes and constant."""
    found = [(polytope, maps)]
    for kind, *rest in layers:
        found = [part for place, z in found for part in _through(kind, rest, place, z, halves)]
    return found


def _through(kind, rest, place, z, halves):
    if kind == "affine":
        return [(place, _affine(*rest, z))]
    if kind == "residual":
        return [
            (part, [_sum([1, 1], pair) for pair in zip(z, y)]) for part, y in _bent(place, _affine(*rest, z), (0, 1), 0, halves)
        ]
    if kind == "cap":
        parts = _bent(place, z, (0, 1), 0, halves)
        return [part for at, y in parts for part in _capped(at, y, halves)]
    if kind in ("relu", "abs"):
        return _bent(place, z, (rest[0], 1) if rest else (-1, 1), 0, halves)
    size, stride = rest
    parts = [(place, [])]
    for first in range(0, len(z) - size + 1, stride):
        window = list(dict.fromkeys(z[first : first + size]))  # of equal pixels one
        parts = [(part, [*old, best]) for at, old in parts for part, best in _largest(at, window, halves)]
    return parts


def _affine(weights, biases, z):
    return [_sum([*row, 1], [*z, (*[Q(0)] * (len(z[0]) - 1), Q(b))]) for row, b in zip(weights, biases)]


def _sum(factors, maps):
    return tuple(sum(Q(f) * m[k] for f, m in zip(factors, maps)) for k in range(len(maps[0])))


def _bent(place, z, slopes, level, halves):
    """Each unit with one slope below a level and another above."""
    parts = [(place, [])]
    for unit in z:
        raised = (*unit[:-1], unit[-1] - level)
        parts = [(half, [*old, _sum([slopes[up]], [unit])]) for at, old in parts for up, half in halves(at, raised)]
    return parts


def _capped(place, z, halves):
    """The smaller of each unit and 6."""
    parts, six = [(place, [])], lambda unit: (*[Q(0)] * (len(unit) - 1), Q(6))
    for unit in z:
        raised = (*unit[:-1], unit[-1] - 6)
        parts = [(half, [*old, six(unit) if up else unit]) for at, old in parts for up, half in halves(at, raised)]
    return parts


def _largest(place, window, halves):
    """The parts in which each of different maps is the largest."""
    for best in window:
        parts = [place]
        for other in window:
            if other is not best:
                apart = _sum([1, -1], [best, other])
                parts = [half for at in parts for up, half in halves(at, apart) if up or not any(apart)]
        yield from ((part, best) for part in parts)


def intervals(ends, z):
    """As `_halves`, of an interval: where z > 0 and where z <= 0."""
    low, high = (z[0] * t + z[1] for t in ends)
    if low <= 0 and high <= 0:
        return [(False, ends)]
    if low >= 0 and high >= 0:
        return [(True, ends)]
    root = -z[1] / z[0]
    return [(low > 0, (ends[0], root)), (high > 0, (root, ends[1]))]


def clipped(polygon, rows):
    """What is left of a polygon where all affine maps `rows` are positive."""
    return reduce(lambda left, z: [p for q in left for up, p in _halves(q, z) if up], rows, [polygon])
