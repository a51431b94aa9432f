"""What is known of a traced network before anything is asked: the shape of an input, and that it is the module's function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ._between import CONVOLUTIONS
from ._layers import first
from .trace import Graph, NotPiecewiseLinear

if TYPE_CHECKING:
    from .net import PiecewiseLinear

TRIALS = 4  # random points at which a converted network is compared with the module
USUAL = (28, 32, 8, 16, 64, 96, 224, 299)  # how many pixels images often have in each direction
CLOSE = {torch.float64: 1e-9, torch.float32: 1e-4}  # how near they must be, relative to the largest output


def known_shape(given: int | tuple[int, ...] | None, x: Tensor | None) -> tuple[int, ...] | None:
    """The shape of one input, as given, or as the points have it."""
    if given is not None:
        return (given,) if isinstance(given, int) else tuple(given)
    return None if x is None else tuple(x.shape[1:])


def shape_of(graph: Graph) -> tuple[int, ...]:
    """The shape of one input, as is known, or as the first layer has it."""
    if graph.shape is not None:
        return graph.shape
    layer = next((node for node in graph.nodes if node.op == "call_module"), None)
    if layer is not None and first(layer).op == "placeholder":
        part = graph.parts[str(layer.target)]
        if isinstance(part, nn.Linear):
            return (part.in_features,)
    raise ValueError("of(model, input_shape=...) needs the shape of one input, as (3, 32, 32): the first layer does not tell it")


@torch.no_grad()
def that_fits(graph: Graph, given: tuple[int, ...], zero: Tensor) -> str:
    """A shape of an input that a network takes, where it does not take the given one; empty where none is found."""
    layers = (graph.part(node) for node in graph.nodes if node.op == "call_module")
    layer: Any = next((part for part in layers if isinstance(part, (nn.Linear, *CONVOLUTIONS))), None)
    flat, dims = isinstance(layer, nn.Linear), 0 if layer is None else layer.weight.ndim - 2
    ahead = [(layer.in_features,)] if flat else [] if layer is None else [(layer.in_channels, *[n] * dims) for n in USUAL]
    batch = len(given) == dims + 2 or given[:1] == (1,)
    for shape in [given[1:], *ahead] if batch else ahead:
        try:
            for n in (3, 2):
                graph.run(zero.new_zeros(n, *shape))
        except (NotPiecewiseLinear, RuntimeError, ValueError, IndexError, TypeError):
            continue
        return f", but one of shape {shape}" + ": leave out the batch" * (batch and shape == given[1:])
    return ""


@torch.no_grad()
def compare(net: PiecewiseLinear, module: nn.Module, cut_head: bool, own: Tensor | None) -> None:
    """Refuse what is not the module's function, or not affine on a piece, at random points and at one's own."""
    made = torch.Generator().manual_seed(0)
    x = torch.randn(TRIALS, *net.input_shape, generator=made).to(net.dtype).to(net.device)
    y = net(x)
    near = CLOSE[net.dtype] * max(float(y.abs().max()), 1e-30)
    if not (torch.stack([net(point) for point in x]) - y).abs().max() <= near:
        raise NotPiecewiseLinear("one point gives other outputs than the same point among others: some step mixes them")
    if not cut_head:
        modes = [(part, part.training) for part in module.modules()]
        try:
            module.eval()
            _same(module, x, y, "at random points")
            for some in () if own is None else net.points(own)[0].split(256):
                _same(module, some, net(some), "at points that are given")
        finally:
            for part, training in modes:
                part.training = training
    towards = x[0] + 1e-3 * (x[1] - x[0])
    try:
        found = net.line(x[0], towards, most=20_000, progress=False)
    except ValueError:  # too many bends even there to be looked at
        return
    middle = (found.t[:-1] + found.t[1:])[:8] / 2
    seen = net(torch.lerp(x[:1], towards[None], middle.view(-1, *[1] * len(net.input_shape))))
    if not (found.at(middle) - seen).abs().max() <= near:
        raise NotPiecewiseLinear("between two bends this network is not affine: some step bends unseen")


def _same(module: nn.Module, x: Tensor, y: Tensor, where: str) -> None:
    true = module(x)
    if true.shape != y.shape or not (true - y).abs().max() <= CLOSE[y.dtype] * max(float(y.abs().max()), 1e-30):
        raise NotPiecewiseLinear(
            f"the traced network gives other outputs than the module {where}: its forward may draw random numbers, branch on "
            "data, or change a tensor in place that it uses again"
        )
