"""Which steps of a traced module are affine, which have kinks and where, and why the others cannot be taken."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
AFFINE_MODULES = (
    *(nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, *NORMS),
    *(nn.Identity, nn.Flatten, nn.Unflatten, nn.PixelShuffle, nn.PixelUnshuffle, nn.ChannelShuffle, nn.Unfold, nn.Fold),
    *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout),
    *(nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d),
    *(nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d),
    *(nn.ConstantPad1d, nn.ConstantPad2d, nn.ConstantPad3d, nn.ReflectionPad1d, nn.ReflectionPad2d, nn.ReflectionPad3d),
    *(nn.ReplicationPad1d, nn.ReplicationPad2d, nn.ReplicationPad3d, nn.CircularPad1d, nn.CircularPad2d, nn.CircularPad3d),
    *(nn.Upsample, nn.UpsamplingNearest2d, nn.UpsamplingBilinear2d),
)
AFFINE_FUNCTIONS = {
    *(operator.add, operator.sub, operator.neg, operator.getitem, operator.iadd, operator.isub, torch.add, torch.sub, torch.neg),
    *(torch.flatten, torch.reshape, torch.permute, torch.transpose, torch.squeeze, torch.unsqueeze, torch.cat, torch.concat),
    *(torch.stack, torch.mean, torch.sum, torch.chunk, torch.split, torch.narrow, F.dropout, F.pad, F.avg_pool1d, F.avg_pool2d),
    *(F.avg_pool3d, F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.pixel_shuffle, F.pixel_unshuffle),
    *(F.interpolate, F.unfold, F.fold, torch.flip, torch.roll, torch.tile, torch.hstack, torch.dstack, torch.column_stack),
    *(
        torch.swapaxes,
        torch.swapdims,
        torch.movedim,
        torch.moveaxis,
        torch.unbind,
        torch.index_select,
        torch.select,
        torch.cumsum,
    ),
    *(torch.diff, torch.tensor_split, torch.broadcast_to, torch.clone, torch.zeros_like, torch.ones_like),
    *(F.dropout1d, F.dropout2d, F.dropout3d),
}
AFFINE_METHODS = {
    *("view", "reshape", "flatten", "permute", "transpose", "contiguous", "squeeze", "unsqueeze", "mean", "sum", "clone"),
    *("add", "sub", "neg", "chunk", "split", "narrow", "expand", "unflatten", "movedim", "t", "repeat", "tile", "flip", "roll"),
    *("swapaxes", "swapdims", "moveaxis", "unbind", "index_select", "select", "cumsum", "diff", "tensor_split", "broadcast_to"),
    *("expand_as", "view_as", "reshape_as", "detach", "to", "float", "double", "type", "type_as", "cpu", "cuda"),
}
# affine in one argument while the others are constants
PRODUCTS = {
    *(operator.mul, operator.truediv, operator.matmul, operator.imul, operator.itruediv, torch.mul, torch.div, torch.matmul),
    *(F.linear, F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d, F.batch_norm),
    *("mul", "div", "matmul", torch.einsum, torch.addmm, torch.baddbmm, torch.mm, torch.bmm, "addmm", "baddbmm", "mm", "bmm"),
}
COMPARED: dict[Any, int] = {  # with a number: the sign of what is positive where the comparison holds
    **dict.fromkeys((operator.gt, operator.ge, torch.gt, torch.ge, "gt", "ge"), 1),
    **dict.fromkeys((operator.lt, operator.le, torch.lt, torch.le, "lt", "le"), -1),
}
LARGEST = {torch.amax, "amax"}  # along dimensions, as `max` with a number is, which gives indices too
CASTS = {"to", "float", "double", "type", "type_as"}  # which are nothing where a network is in one dtype
ADAPTIVE = {  # how many dimensions a max pooling takes in
    **{nn.AdaptiveMaxPool1d: 1, nn.AdaptiveMaxPool2d: 2, nn.AdaptiveMaxPool3d: 3},
    **{F.adaptive_max_pool1d: 1, F.adaptive_max_pool2d: 2, F.adaptive_max_pool3d: 3},
}
POOLS: dict[Any, int] = {
    **{nn.MaxPool1d: 1, nn.MaxPool2d: 2, nn.MaxPool3d: 3, F.max_pool1d: 1, F.max_pool2d: 2, F.max_pool3d: 3},
    **ADAPTIVE,
}
MAX_POOL: dict[int, Any] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MAXIMA = {torch.max, torch.min, "max", "min"}  # of two tensors, or along a dimension
MINIMA = {torch.min, "min"}  # which are refused there
CHOICES = {torch.where, operator.mul, torch.mul, "mul"}  # what may read a comparison
ELEMENTWISE = {
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.neg,
    torch.add,
    torch.sub,
    torch.mul,
    torch.neg,
}
PAIRS = {torch.maximum, torch.minimum, "maximum", "minimum", *MAXIMA}
PLACES: dict[Any, tuple[float, ...]] = {  # where an activation has its kinks
    **dict.fromkeys((nn.ReLU, nn.LeakyReLU, nn.PReLU, F.relu, F.leaky_relu, F.prelu, torch.relu, torch.relu_, F.relu_), (0.0,)),
    **dict.fromkeys((torch.abs, operator.abs, "relu", "relu_", "abs", nn.RReLU, F.rrelu), (0.0,)),
    **dict.fromkeys((nn.ReLU6, F.relu6), (0.0, 6.0)),
    **dict.fromkeys((nn.Hardsigmoid, F.hardsigmoid), (-3.0, 3.0)),
}
BOUNDED: dict[Any, tuple[tuple[str, Any], ...]] = {  # the arguments that say where the kinks are, and what they are unless given
    **dict.fromkeys((nn.Hardtanh, F.hardtanh), (("min_val", -1.0), ("max_val", 1.0))),
    **dict.fromkeys((torch.clamp, torch.clip, "clamp", "clip"), (("min", None), ("max", None))),
    **dict.fromkeys((torch.clamp_min, "clamp_min"), (("min", None),)),
    **dict.fromkeys((torch.clamp_max, "clamp_max"), (("max", None),)),
    **dict.fromkeys((nn.Softshrink, F.softshrink), (("lambd", 0.5),)),
    **dict.fromkeys((nn.Threshold, F.threshold), (("threshold", None), ("value", None))),  # which are the same, or it jumps
}
EVEN = {nn.Softshrink, F.softshrink}  # with a kink on the other side of 0 for each


def sliced(x: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """A slice along one dimension, as torch.export writes `x[:, 1:3]`."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """As torch's, whose derivative at many points at once fails where each channel has a slope of its own."""
    return torch.where(x > 0, x, x * (weight if weight.numel() == 1 else weight.view(-1, *[1] * (x.ndim - 2))))


def rrelu(x: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, *_: Any, **__: Any) -> Tensor:
    """As torch's when nothing is trained."""
    return F.leaky_relu(x, (lower + upper) / 2)


MODULES: dict[type, Any] = {  # what is done in place of their forward
    nn.PReLU: lambda part, x: prelu(x, part.weight),
    nn.RReLU: lambda part, x: rrelu(x, part.lower, part.upper),
}
TRAINING: dict[Any, tuple[int, bool]] = {  # where a function takes `training`, and what that is unless given
    **dict.fromkeys((F.dropout, F.dropout1d, F.dropout2d, F.dropout3d), (2, True)),
    **{F.batch_norm: (5, False), F.rrelu: (3, False)},
}
INSTEAD: dict[Any, Any] = {  # of what changes its input in place, and of some that derivatives at many points fail at
    **{F.prelu: prelu, F.rrelu: rrelu},
    **dict.fromkeys((torch.relu_, F.relu_), torch.relu),
    **{operator.iadd: operator.add, operator.isub: operator.sub},
    **{operator.imul: operator.mul, operator.itruediv: operator.truediv},
}
SIZES = ("size", "dim", "shape", "ndim", "dtype", "device")  # methods and attributes that do not depend on a tensor's values
RELU = (nn.ReLU, F.relu, torch.relu, "relu")
KNOWN = {sliced, *AFFINE_MODULES, *AFFINE_FUNCTIONS, *AFFINE_METHODS, *POOLS, *PLACES, *BOUNDED, *PAIRS, *LARGEST}
WINDOWS = (("kernel_size", None), ("stride", None), ("padding", 0), ("dilation", 1), ("ceil_mode", False))  # of a max pooling
WHY = {  # by the name of a module, a function or a method
    **dict.fromkeys(("Hardswish", "hardswish"), "is quadratic between -3 and 3: not piecewise linear"),
    **dict.fromkeys(
        ("LayerNorm", "GroupNorm", "RMSNorm", "layer_norm", "group_norm", "rms_norm"),
        "divides by its data: not piecewise linear",
    ),
    **dict.fromkeys(("Hardshrink", "hardshrink"), "jumps, and no network here does"),
    **dict.fromkeys(
        ("Softmax", "softmax", "LogSoftmax", "log_softmax", "Sigmoid", "sigmoid", "Tanh", "tanh"), "is not piecewise linear"
    ),
}


def argument(node: fx.Node, name: str, k: int, usual: Any = None) -> Any:
    """What a node takes as an argument, by its name or as the k-th."""
    return node.kwargs.get(name, node.args[k] if len(node.args) > k else usual)


def at_place(value: Any, of: Any, place: float) -> float | None:
    """A node, or a number, where another node is `place`, if arithmetic with numbers alone leads from one to the other."""
    if value is of:
        return place
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, fx.Node) or value.kwargs:
        return None
    if value.target is torch.zeros_like:
        return 0.0
    found = [at_place(each, of, place) for each in value.args]
    return None if value.target not in ELEMENTWISE or None in found else float(value.target(*map(torch.tensor, found)))


def first(node: fx.Node) -> Any:
    """What a node takes as its first argument: most often another node."""
    return node.args[0]


def tensors(value: Any) -> list[Tensor]:
    """The tensors that a step gives: one, or some as `chunk` does."""
    return [v for v in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(v, Tensor)]


def given(node: fx.Node, part: nn.Module | None, names: Iterable[tuple[str, Any]]) -> list[Any]:
    """What a step takes for some names: attributes of its module, or arguments in this order after the first, or as usual."""
    if part is not None:
        return [getattr(part, name) for name, _ in names]
    return [argument(node, name, k, usual) for k, (name, usual) in enumerate(names, 1)]
