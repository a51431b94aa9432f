"""Modules that torch.fx cannot trace, by torch.export: loops over sizes, types that are asked for, lists that are unpacked."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from . import _layers

NORM = (0, 3, 4, 1, 2, 5, 6, 7)  # the arguments of torch.nn.functional's batch_norm among those of aten's
METHODS = ("view", "expand", "detach", "contiguous", "repeat", "unflatten", "size")


def exported(module: nn.Module, shape: tuple[int, ...], like: Tensor) -> fx.GraphModule:
    """The module, in eval mode, as a graph of functions that `Graph` knows; torch's own error where it cannot be made.

    shape: of one input.
    like: a number in the dtype and on the device of the module.
    """
    points = {0: torch.export.Dim("points", min=1)}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        made: Any = torch.export.export(module, (like.new_zeros(3, *shape),), dynamic_shapes=(points,), strict=False)
        traced = made.module(check_guards=False)
    for node in list(traced.graph.nodes):
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            _renamed(traced.graph, node)
    traced.graph.eliminate_dead_code()
    traced.graph.set_codegen(fx.graph.CodeGen())
    output = next(node for node in traced.graph.nodes if node.op == "output")
    if isinstance(output.args[0], (tuple, list)) and len(output.args[0]) == 1:
        output.args = (output.args[0][0],)
    traced.recompile()
    return traced


def _renamed(graph: fx.Graph, node: fx.Node) -> None:
    """One of aten's functions as that of torch with the same name."""
    name = str(node.target).split(".")[1]  # as in aten.linear.default
    if name == "sym_size":
        name = "size"
    elif name.endswith("_") and not name.startswith("_"):
        name = name[:-1]
    if name == "batch_norm":
        node.args = tuple(node.args[k] for k in NORM)
    if name == "slice":
        node.target = _layers.sliced
    elif name in METHODS:
        node.op, node.target = "call_method", name
    else:
        both = [getattr(where, name) for where in (F, torch) if hasattr(where, name)]
        known = [each for each in both if each in _layers.KNOWN | _layers.PRODUCTS | _layers.COMPARED.keys() | _layers.CHOICES]
        node.target = (known or both or [node.target])[0]
