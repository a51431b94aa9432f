"""Which traced networks are a chain of small convolutions, whose slopes have a kernel of their own."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx, nn

from ..geometry._chain import Chain
from . import _layers
from .trace import Graph

CONVOLUTION = {"kernel_size": 3, "stride": 1, "padding": 1, "dilation": 1, "groups": 1, "padding_mode": "zeros"}
POOLING = {"kernel_size": 2, "stride": 2, "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": False}
FLAT = {"start_dim": 1, "end_dim": -1}


def chain(graph: Graph, shape: tuple[int, ...]) -> Chain | None:
    """A network of inputs of this shape as a chain, where it is one of a convolution at least; else None."""
    steps = iter(graph.straight())
    node = next(steps, None)
    if node and graph.what(node) is nn.Unflatten and len(shape) == 1:
        part: Any = graph.part(node)
        shape, node = tuple(part.unflattened_size), next(steps, None)
    layers: list[Any] = []
    shapes: list[Any] = [shape]
    while len(shape) == 3 and _is(graph, node, nn.Conv2d, CONVOLUTION) and _pooled(graph, next(steps, None), next(steps, None)):
        layers.append(graph.part(node))  # ty: ignore[invalid-argument-type]
        shapes.append((layers[-1].out_channels, *(side // 2 for side in shapes[-1][1:])))
        node = next(steps, None)
    last: Any = next(steps, None)
    if not layers or not _is(graph, node, nn.Flatten, FLAT) or not _is(graph, last, nn.Linear, {}) or next(steps, None):
        return None
    layers.append(graph.part(last))
    return Chain([p.weight for p in layers], [_bias(p) for p in layers], shapes)


def _bias(part: Any) -> torch.Tensor:
    return part.weight.new_zeros(len(part.weight)) if part.bias is None else part.bias


def _is(graph: Graph, node: fx.Node | None, kind: type, settings: dict[str, Any]) -> bool:
    part = graph.part(node) if node else None
    return type(part) is kind and all(getattr(part, name) in (value, (value, value)) for name, value in settings.items())


def _pooled(graph: Graph, *two: fx.Node | None) -> bool:
    """Whether these are a ReLU and a pooling of 2 x 2, in either order: the function is the same."""
    pools = [_is(graph, node, nn.MaxPool2d, POOLING) for node in two]
    other = two[pools.index(False)] if sum(pools) == 1 else None
    return other is not None and graph.what(other) in _layers.RELU
