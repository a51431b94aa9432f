"""Every bend of a traced network on a segment, exactly: what `net.line` gives.

>>> import torch
>>> from foldnet.piecewise.net import of
>>> hat = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)).double()
>>> hat[0].weight.data[:], hat[0].bias.data[:] = 1.0, torch.tensor([-1.0, -3.0])
>>> of(hat).line([0.0], [4.0]).t.tolist()
[0.0, 0.25, 0.75, 1.0]
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Bends:
    """The knots of a network on a segment, between which it is affine.

    `t` `(n,)` are their places from 0 to 1, both ends included, and `values` `(n, *out)` the outputs there. `step` `(n,)` is the
    number of the kinked step, as in `names`, of which the unit `unit` `(n,)` changes sides there; -1 at the ends.
    """

    t: Tensor
    values: Tensor
    step: Tensor
    unit: Tensor
    names: list[str]

    def __len__(self) -> int:
        """How many bends lie strictly inside the segment."""
        return len(self.t) - 2

    def __repr__(self) -> str:
        return f"Bends({len(self):,} bends, outputs {tuple(self.values.shape[1:])}, {str(self.t.dtype).removeprefix('torch.')})"

    @property
    def slopes(self) -> Tensor:
        """The slope of each output between neighbouring knots, `(n - 1, *out)`, for t from 0 to 1."""
        width = self.t.diff().view(-1, *[1] * (self.values.ndim - 1))
        return self.values.diff(dim=0) / width

    def at(self, t) -> Tensor:
        """The outputs at places `t` `(m,)` between 0 and 1, by interpolation, `(m, *out)`."""
        t = torch.as_tensor(t, dtype=self.t.dtype, device=self.t.device)
        left = torch.searchsorted(self.t, t, right=True).clamp(1, len(self.t) - 1) - 1
        share = ((t - self.t[left]) / (self.t[left + 1] - self.t[left])).view(-1, *[1] * (self.values.ndim - 1))
        return torch.lerp(self.values[left], self.values[left + 1], share)
