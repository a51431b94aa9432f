"""A shallow network of one variable as a spline: where it breaks, by how much, and which way each neuron faces.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.splines.breakpoints import pieces, spline
>>> net = ReLUNet([[[1.0], [-2.0], [0.5]], [[1.0, 0.5, -2.0]]], [[1.0, 1.0, -1.5], [0.0]])
>>> spline(net).breakpoints.tolist(), spline(net).delta_slopes.tolist()
([-1.0, 0.5, 3.0], [1.0, 1.0, -1.0])
>>> pieces(net).slopes.tolist()
[-1.0, 0.0, 1.0, 0.0]
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..nets import ReLUNet
from ._points import tensors


def hinges(x, breakpoints, orientations=1.0) -> Tensor:
    """What each neuron draws before its delta-slope, relu(s_i (x_n - beta_i)): `(*batch, n, H)`. (S3-prop-bdso)

    x: points `(n,)` or `(*batch, n)`.
    breakpoints: the beta_i, `(*batch, H)`; a neuron without one has it at infinity and draws 0.
    orientations: the s_i: 1 for a neuron that is active on the right, -1 on the left.
    """
    beta, s, x = (t.unsqueeze(-2) if t.ndim else t for t in tensors(breakpoints, orientations, x))
    return (s * (x.mT - beta.where(beta.isfinite(), 0.0))).clamp(min=0).where(beta.isfinite(), 0.0)


@dataclass(frozen=True, eq=False)
class Spline:
    """`f(x) = offset + slope * x + sum_i mu_i * relu(s_i * (x - beta_i))`, one function or a batch of them.

    `breakpoints`, `delta_slopes` and `orientations` have shape `(*batch, H)`, `offset` and `slope` (0 for a network) `(*batch,)`.
    A neuron with w = 0 has no breakpoint: it stands at infinity with delta-slope 0, and what it adds is part of the offset.
    (splines/breakpoints)
    """

    breakpoints: Tensor
    delta_slopes: Tensor
    orientations: Tensor
    offset: Tensor
    slope: Tensor | float = 0.0

    def __call__(self, x) -> Tensor:
        """Values `(*batch, n)` at the points `x` of shape `(n,)` or `(*batch, n)`."""
        x, slope = tensors(x, self.slope, like=self.offset)
        bends = (hinges(x, self.breakpoints, self.orientations) * self.delta_slopes.unsqueeze(-2)).sum(-1)
        return self.offset.unsqueeze(-1) + slope.unsqueeze(-1) * x + bends


def spline(net: ReLUNet) -> Spline:
    """The spline that a 1-H-1 ReLU network (or batch) computes: beta = -b/w, mu = v|w|, s = sign w. (S3-prop-bdso)"""
    w, b, v, offset = shallow(net)
    flat = w == 0
    beta = torch.where(flat, torch.inf, -b / torch.where(flat, 1.0, w)) + 0.0  # no negative zero
    constant = (v * b.clamp(min=0) * flat).sum(-1)
    return Spline(beta, v * w.abs(), torch.where(w < 0, -1.0, 1.0).to(w.dtype), offset + constant)


def network(f: Spline, scale=1.0) -> ReLUNet:
    """A network that computes the spline f; `scale` > 0 (a number or `(*batch, H)`) picks one of the many. (S3-find-gauge)"""
    if torch.as_tensor(f.slope).any():
        raise ValueError("a shallow network has no line of its own: the slope of the spline has to be 0, or two more neurons")
    scale = _dials(scale, f.offset)
    here = f.breakpoints.isfinite()
    w = torch.where(here, f.orientations * scale, 0.0)
    b = -w * f.breakpoints.where(here, 0.0)
    return unshallow(w, b, f.delta_slopes / scale, f.offset)


@dataclass(frozen=True, eq=False)
class Pieces:
    """A continuous piecewise linear function: `slopes[p] * x + intercepts[p]` on the p-th interval between the sorted `knots`."""

    knots: Tensor
    slopes: Tensor
    intercepts: Tensor

    def __call__(self, x) -> Tensor:
        (x,) = tensors(x, like=self.knots)
        p = torch.searchsorted(self.knots, x, right=True)
        return self.slopes[p] * x + self.intercepts[p]


def pieces(net: ReLUNet) -> Pieces:
    """The linear pieces of one 1-H-1 network from left to right, at most H + 1 of them. (S3-prop-cpwl)

    Neurons that break at the same place make one knot; where their jumps cancel there is none.
    """
    if net.batch_shape:
        raise ValueError(f"one network has pieces to list, not a batch of shape {net.batch_shape}: choose one, as in nets[0]")
    f = spline(net)
    here = f.breakpoints.isfinite()
    knots, which = torch.unique(f.breakpoints[here], return_inverse=True)
    jumps = torch.zeros_like(knots).index_add(0, which, f.delta_slopes[here])
    size = torch.zeros_like(knots).index_add(0, which, f.delta_slopes[here].abs())
    real = jumps.abs() > 50 * torch.finfo(size.dtype).eps * size
    knots, jumps = knots[real], jumps[real]
    facing_left = here & (f.orientations < 0)
    first_slope = -(f.delta_slopes * facing_left).sum()
    first_intercept = f.offset + (f.delta_slopes * f.breakpoints.where(here, 0.0) * facing_left).sum()
    slopes = first_slope + torch.cat([jumps.new_zeros(1), jumps.cumsum(0)])
    intercepts = first_intercept - torch.cat([jumps.new_zeros(1), (jumps * knots).cumsum(0)])
    return Pieces(knots, slopes, intercepts)


def roughness(net: ReLUNet) -> Tensor:
    """The sum of the squared delta-slopes, `(*batch,)`. (S3-def-roughness)"""
    return spline(net).delta_slopes.square().sum(-1)


def rescale(net: ReLUNet, scale) -> ReLUNet:
    """The same function: each hidden neuron's (w, b) times its `scale` > 0, its v divided by it. (S3-find-gauge)"""
    w, b, v, offset = shallow(net)
    scale = _dials(scale, w)
    return unshallow(w * scale, b * scale, v / scale, offset)


def shallow(net: ReLUNet) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """w, b, v of a 1-H-1 network, shape `(*batch, H)`, and its output bias `(*batch,)`; deep and leaky ones are refused."""
    if len(net.sizes) != 3 or net.sizes[0] != 1 or net.sizes[2] != 1 or net.leak:
        raise ValueError(f"a ReLU network of one input, one hidden layer and one output is needed; got {net}")
    return net.weights[0].squeeze(-1), net.biases[0], net.weights[1].squeeze(-2), net.biases[1].squeeze(-1)


def unshallow(w: Tensor, b: Tensor, v: Tensor, offset: Tensor) -> ReLUNet:
    """The network with these parameters: the inverse of `shallow`.

    w, b, v: input weights, biases and output weights, `(*batch, n)`.
    offset: the output bias, `(*batch,)`.
    """
    return ReLUNet([w.unsqueeze(-1), v.unsqueeze(-2)], [b, offset.unsqueeze(-1)])


def _dials(scale, like: Tensor) -> Tensor:
    (scale,) = tensors(scale, like=like)
    if not (scale > 0).all():
        raise ValueError("the scale of a neuron is positive: a negative one would turn it around")
    return scale
