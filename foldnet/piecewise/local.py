"""The affine map that a network is near a point, and how far it holds: what `net.affine` and `net.margin` give.

>>> import torch
>>> from foldnet.piecewise.net import of
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)).double()
>>> model[0].weight.data[:], model[0].bias.data[:] = torch.eye(2), 0.0
>>> of(model).margin([[3.0, 4.0], [2.0, 1.0]]).tolist()
[3.0, 1.0]
>>> of(model).affine([3.0, 4.0])
LocalMap(1 x 2, at one point of a PiecewiseLinear(input 2, output 1, 2 units with kinks, float64))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.func import jvp, vjp, vmap

from ._local import at_once, jacobians
from ._precision import full_precision

if TYPE_CHECKING:
    from .net import PiecewiseLinear


@dataclass(frozen=True, eq=False, repr=False)
class LocalMap:
    """The affine map that a network is near each of its `points`: `y = matrix @ x + offset`, inputs and outputs as flat vectors.

    `m @ v` and `m.transposed(u)` are products with the matrix that never build it; `matrix` builds it. Of many points all that
    is asked for has a dimension for them in front.
    """

    net: PiecewiseLinear
    points: Tensor
    single: bool

    def __repr__(self) -> str:
        where = "at one point" if self.single else f"at each of {len(self.points):,} points"
        return f"LocalMap({prod(self.net.output_shape)} x {prod(self.net.input_shape)}, {where} of a {self.net})"

    @full_precision()
    def _each(self, run: Callable[..., Tensor], *given: Tensor) -> Tensor:
        if self.single:
            return run(self.points[0], *(each[0] for each in given))
        return vmap(run, chunk_size=at_once(self.net))(self.points, *given)

    def __matmul__(self, v: Tensor) -> Tensor:
        """The matrix times a direction `(in,)` or of the shape of an input, or one for each point."""
        v = torch.as_tensor(v)
        size = prod(self.net.input_shape)
        ways = self.net.points(v.reshape(-1, *self.net.input_shape) if v.numel() % size == 0 else v)[0]
        if len(ways) not in (1, len(self.points)):
            raise ValueError(f"one direction is needed, or one for each of {len(self.points)} points; got {len(ways)}")
        return self._each(lambda x, way: jvp(self.net.flat, (x,), (way,))[1], ways.expand_as(self.points))

    def transposed(self, u: Tensor) -> Tensor:
        """The transposed matrix times a vector of outputs `(out,)`, in the shape of an input; or one for each point."""
        u = torch.as_tensor(u, dtype=self.points.dtype, device=self.points.device).detach()
        u = u.reshape(-1, prod(self.net.output_shape)).expand(len(self.points), -1)
        return self._each(lambda x, row: vjp(self.net.flat, x)[1](row)[0], u)

    @property
    def matrix(self) -> Tensor:
        """The matrix `(out, in)`."""
        return jacobians(self.net, self.points, 1)[0] if self.single else self.net.jacobians(self.points)

    @property
    def offset(self) -> Tensor:
        """The constant `(out,)`."""
        return self._each(lambda x: self.net.flat(x) - jvp(self.net.flat, (x,), (x,))[1])
