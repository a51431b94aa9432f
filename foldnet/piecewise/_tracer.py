"""A trace through what a forward pass asks of shapes: `if x.dim() != 2: raise ...` is answered, a branch on data is not."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx, nn

from ._layers import SIZES


class Asked(ValueError):
    """What a forward pass asks has no answer that holds for any number of points."""


class Tracer(fx.Tracer):
    """torch.fx's, which knows the shape of one input; None where it does not.

    like: a number in the dtype and on the device of the module.
    """

    def __init__(self, shape: tuple[int, ...] | None, like: torch.Tensor):
        super().__init__()
        self.shape, self.like, self.asking = shape, like, False

    def to_bool(self, obj: fx.Proxy) -> bool:
        """The answer to a question, if it is the same for one, two and three points of any values."""
        if _of_values(obj.node):
            return super().to_bool(obj)
        if self.shape is None:
            raise Asked("it asks for a shape: say of(model, input_shape=...)")
        self.asking = True
        try:
            with torch.no_grad():
                found = {bool(self._value(obj.node, {}, points)) for points in (1, 2, 3)}
        finally:
            self.asking = False
        if len(found) > 1:
            raise Asked("it does one thing with one point and another with several")
        return found.pop()

    def call_module(self, m: nn.Module, forward: Any, args: tuple, kwargs: dict) -> Any:
        """As torch.fx; the module itself while a question is answered."""
        return forward(*args, **kwargs) if self.asking else super().call_module(m, forward, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict) -> Any:
        """As torch.fx; the attribute itself while a question is answered."""
        return attr_val if self.asking else super().getattr(attr, attr_val, parameter_proxy_cache)

    def _value(self, node: fx.Node, known: dict, points: int) -> Any:
        if node not in known:
            if node.op == "placeholder":
                known[node] = self.like.new_zeros(points, *self.shape or ())
                return known[node]
            both: Any = fx.node.map_arg((node.args, node.kwargs), lambda n: self._value(n, known, points))
            (args, named), target = both, str(node.target)
            if node.op == "call_module":
                known[node] = self.root.get_submodule(target)(*args, **named)
            elif node.op == "get_attr":
                known[node] = _attribute(self.root, target)
            else:
                run: Any = getattr(args[0], target) if node.op == "call_method" else node.target
                known[node] = run(*args[node.op == "call_method" :], **named)
        return known[node]


def _attribute(root: nn.Module, path: str) -> Any:
    *above, name = path.split(".")
    return getattr(root.get_submodule(".".join(above)), name)


def _of_values(node: fx.Node) -> bool:
    """Whether a node depends on the input other than by its shape."""
    read = node.args[1] if node.target is getattr else node.target
    if node.op == "placeholder":
        return True
    return not (isinstance(read, str) and read in SIZES and node.op != "call_module") and any(
        map(_of_values, node.all_input_nodes)
    )
