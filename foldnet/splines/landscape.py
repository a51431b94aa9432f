"""The loss of a shallow network of one variable: gradient, Hessian, flat directions, and slices along one breakpoint.

The loss is half the sum of squared residuals, eps_n = y_n - f(x_n). Weights come in the order of `ReLUNet.vector()`, that is
w, b, v (each of length H) and the output bias; splines in the order breakpoints, delta-slopes, offset.
For a neuron i, 1_i is 1 on the data points at which it is active and 0 elsewhere, and x_i is x times 1_i.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.splines.landscape import hessian, nullity
>>> net = ReLUNet.random((1, 3, 1), seed=0)
>>> x = [-1.0, -0.5, 0.0, 0.5, 1.0]
>>> y = net([[t] for t in x])[:, 0]
>>> int(nullity(hessian(net, x, y))) >= 3  # at least one flat direction per neuron
True
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from ..nets import ReLUNet
from ._points import ordered, pairs, tensors
from .breakpoints import Spline, shallow

# ---- in the weights ----------------------------------------------------------------------------------------------------


def generators(net: ReLUNet, x) -> Tensor:
    """The derivatives of the outputs on the data: `v x_i`, `v 1_i`, `w x_i + b 1_i` and 1, `(*batch, N, 3H + 1)`.

    The Gram matrix of these columns is the Hessian at most critical points. (S3-prop-gradients, S3-prop-hessian-gram)
    """
    w, b, v = (t.unsqueeze(-2) for t in shallow(net)[:3])
    x = tensors(x, like=net)[0].unsqueeze(-1)
    z = w * x + b
    _smooth(z, x)
    on = (z > 0).to(net.dtype)
    return torch.cat([v * x * on, v * on, z * on, torch.ones_like(z[..., :1])], -1)


def residuals(net: ReLUNet, x, y) -> Tensor:
    """`y - f(x)` on the data, `(*batch, N)`."""
    shallow(net)
    x, y = pairs(x, y, like=net)
    return y - net(x.unsqueeze(-1)).squeeze(-1)


def gradient(net: ReLUNet, x, y) -> Tensor:
    """The gradient of the loss in the weights, `(*batch, 3H + 1)`. (S3-prop-gradients)"""
    return -(residuals(net, x, y).unsqueeze(-2) @ generators(net, x)).squeeze(-2)


def hessian(net: ReLUNet, x, y) -> Tensor:
    """The Hessian of the loss in the weights, anywhere but where a neuron bends on a data point. (S3-def-full-hessian)

    It is the Gram matrix of the generators minus the residual's product with the second derivatives, which are x_i between
    w and v and 1_i between b and v of the same neuron.
    """
    columns, eps = generators(net, x), residuals(net, x, y)
    x = tensors(x, like=net)[0].unsqueeze(-1)
    on, h = net.pattern(x).to(net.dtype), net.sizes[1]
    result = columns.mT @ columns
    for start, second in ((0, x * on), (h, on)):
        _add_cross(result, start, 2 * h, -(eps.unsqueeze(-2) @ second).squeeze(-2))
    return result


# ---- in breakpoints and delta-slopes -----------------------------------------------------------------------------------


def _spline_generators(f: Spline, x) -> Tensor:
    """The derivatives of the outputs in breakpoints, delta-slopes and offset, `(*batch, N, 2H + 1)`. (S3-prop-hessian-pd)"""
    x = tensors(x, like=f.offset)[0].unsqueeze(-1)
    beta, mu, s = (t.unsqueeze(-2) for t in (_finite(f), f.delta_slopes, f.orientations))
    z = s * (x - beta)
    _smooth(z, x)
    on = (z > 0).to(z.dtype)
    return torch.cat([-mu * s * on, z * on, torch.ones_like(z[..., :1])], -1)


def spline_gradient(f: Spline, x, y) -> tuple[Tensor, Tensor, Tensor]:
    """The derivatives of the loss in breakpoints, delta-slopes `(*batch, H)` and offset `(*batch,)`. (S3-prop-kernel-law)

    Minus the second is the law of the delta-slopes when the breakpoints are held fixed.
    """
    x, y = pairs(x, y, like=f.offset)
    gradient, h = ((f(x) - y).unsqueeze(-2) @ _spline_generators(f, x)).squeeze(-2), f.breakpoints.shape[-1]
    return gradient[..., :h], gradient[..., h:-1], gradient[..., -1]


def spline_hessian(f: Spline, x, y) -> Tensor:
    """The Hessian of the loss in breakpoints, delta-slopes and offset, `(*batch, 2H + 1, 2H + 1)`. (S3-find-shared-pattern)"""
    x, y = pairs(x, y, like=f.offset)
    columns, h = _spline_generators(f, x), f.breakpoints.shape[-1]
    on = (columns[..., h:-1] > 0).to(y.dtype)
    result = columns.mT @ columns
    _add_cross(result, 0, h, f.orientations * ((y - f(x)).unsqueeze(-2) @ on).squeeze(-2))
    return result


def _add_cross(matrix: Tensor, first: int, second: int, values: Tensor) -> None:
    """Add values `(*batch, H)` where the parameters from `first` on meet those from `second` on, neuron by neuron."""
    i = torch.arange(values.shape[-1], device=values.device)
    matrix[..., first + i, second + i] += values
    matrix[..., second + i, first + i] += values


def nullity(matrix: Tensor, rtol: float = 1e-10) -> Tensor:
    """How many eigenvalues of a symmetric matrix (or batch) are zero: at most `rtol` times its largest."""
    size = torch.linalg.eigvalsh(matrix).abs()
    return (size <= rtol * size.amax(-1, keepdim=True)).sum(-1)


def degeneracies(f: Spline, x) -> list[str]:
    """Why the Hessian of one spline at a critical point is singular; empty where it is positive definite.

    The list is complete: without an entry the generators are independent. Data at one place count once. (S3-prop-hessian-pd)
    """
    if f.breakpoints.ndim != 1:
        raise ValueError(
            f"one spline has degeneracies to list, not a batch of shape {tuple(f.breakpoints.shape[:-1])}: choose one"
        )
    _spline_generators(f, x)  # refuses breakpoints on data and neurons without one
    x, (beta, s, mu) = tensors(x, like=f.offset)[0].unique(), (f.breakpoints, f.orientations, f.delta_slopes)
    gap, order = torch.searchsorted(x, beta).tolist(), beta.argsort().tolist()
    found = [f"neuron {i} has delta-slope 0" for i in (mu == 0).nonzero().flatten().tolist()]
    for i, g in enumerate(gap):
        if g in (0, len(x)):
            found.append(f"neuron {i} is active on {'all' if (g == 0) == (s[i] > 0) else 'no'} data")
    for i, j in pairwise(order):
        if gap[i] == gap[j]:
            found.append(f"neurons {i} and {j} have {'the same pattern' if s[i] == s[j] else 'complementary patterns'}")
    if found:
        return found
    edges = [0, *(gap[i] for i in order), len(x)]
    single = [p for p, (a, b) in enumerate(pairwise(edges)) if b - a == 1]
    if len(single) > 1:
        found.append(f"{len(single)} pieces hold a single data point each")
    for p in single:
        left, right = order[p - 1] if p > 0 else None, order[p] if p < len(order) else None
        if (left is None and s[right] < 0) or (right is None and s[left] > 0):
            found.append(f"neuron {right if left is None else left} is active on one data point")
        elif left is not None and right is not None and s[left] == s[right]:
            found.append(f"neurons {left} and {right} have patterns that differ in one data point")
    return found


def _smooth(z: Tensor, x: Tensor) -> None:
    if (z == 0).any():
        where = (z == 0).nonzero()[0]
        here = x.expand_as(z)[tuple(where)]
        raise ValueError(
            f"neuron {where[-1]} bends exactly at the data point x = {here:g}, where the loss is not smooth: move one"
        )


def _finite(f: Spline) -> Tensor:
    if not f.breakpoints.isfinite().all():
        i = (~f.breakpoints.isfinite()).nonzero()[0, -1].item()
        raise ValueError(f"neuron {i} has w = 0 and so no breakpoint: its constant is part of the offset, leave the neuron out")
    return f.breakpoints


# ---- critical points ---------------------------------------------------------------------------------------------------


# ---- one breakpoint moves ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Slice:
    """The loss as a function of one breakpoint: `curvature/2 * beta**2 + slope * beta + constant`, piece by piece.

    `knots` are the sorted data points `(N,)`; the coefficients `(N + 1,)` belong to the intervals between them.
    """

    knots: Tensor
    curvature: Tensor
    slope: Tensor
    constant: Tensor

    def __call__(self, beta) -> Tensor:
        (beta,) = tensors(beta, like=self.knots)
        p = torch.searchsorted(self.knots, beta)
        return self.curvature[p] / 2 * beta**2 + self.slope[p] * beta + self.constant[p]

    @property
    def minimizers(self) -> Tensor:
        """Where the quadratic of each interval, drawn on, has its minimum; nan where it is flat. (S3-thm-3-quadratic)"""
        return torch.where(self.curvature > 0, -self.slope / self.curvature, torch.nan)

    def types(self) -> list[str]:
        """The type of each knot: I (passed), II (a peak), III (a pit), or flat on one side. (S3-fig-2-critical)"""
        m = self.minimizers
        names = []
        for left, knot, right in zip(m[:-1], self.knots, m[1:]):
            if left.isnan() or right.isnan():
                names.append("flat")
            elif left < knot < right:
                names.append("II")
            else:
                names.append("III" if right < knot < left else "I")
        return names


def breakpoint_slice(f: Spline, neuron: int, x, y) -> Slice:
    """The loss of one spline while the breakpoint of one neuron moves and all else stays. (S3-thm-3-quadratic)

    f: the spline, one and not a batch.
    neuron: whose breakpoint moves.
    x, y: data points `(N,)` and their values `(N,)`.
    """
    if f.breakpoints.ndim != 1:
        raise ValueError(f"one spline is sliced, not a batch of shape {tuple(f.breakpoints.shape[:-1])}: choose one")
    _finite(f)
    x, y = ordered(*tensors(x, y, like=f.offset))
    mu, s = f.delta_slopes[neuron], f.orientations[neuron]
    others = f.delta_slopes.clone()
    others[neuron] = 0.0
    rest = y - replace(f, delta_slopes=others)(x)
    line = rest - mu * s * x  # the residual is line + mu s beta where the neuron is active, rest where it is not
    before = lambda t: torch.cat([t.new_zeros(1), t.cumsum(0)])  # noqa: E731
    after = lambda t: before(t.flip(0)).flip(0)  # noqa: E731
    active, passive = (after, before) if s > 0 else (before, after)
    constant = (active(line**2) + passive(rest**2)) / 2
    return Slice(x, mu**2 * active(torch.ones_like(x)), mu * s * active(line), constant)
