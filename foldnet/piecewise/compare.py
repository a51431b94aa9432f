"""Two networks side by side: the affine maps that they are at the same points.

>>> import torch
>>> from foldnet.piecewise.compare import compare
>>> from foldnet.piecewise.net import of
>>> one, two = (torch.nn.Sequential(torch.nn.Linear(2, 1)).double() for _ in range(2))
>>> one[0].weight.data[:], two[0].weight.data[:] = torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0])
>>> one[0].bias.data[:], two[0].bias.data[:] = 0.0, 1.0
>>> found = compare(of(one), of(two), torch.zeros(2))
>>> found
Comparison(1 point, 1 output: cosine of the slopes 0.96 on average, outputs differ by 1 on average)
>>> found.slopes[0].tolist(), found.constants[1].tolist()
([[[3.0, 4.0]]], [[1.0]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from ..plots import signed

if TYPE_CHECKING:
    from .net import PiecewiseLinear


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Local maps of two networks at `points` `(n, *input)`: each of the three that follow is a pair, one of each network.

    `outputs` `(n, out)`, `slopes` `(n, out, in)` and `constants` `(n, out)`: near a point each output is slopes @ x + constant,
    of the flat input.
    """

    points: Tensor
    outputs: tuple[Tensor, Tensor]
    slopes: tuple[Tensor, Tensor]
    constants: tuple[Tensor, Tensor]

    @property
    def cosine(self) -> Tensor:
        """The cosine between the slopes of the two, `(n, out)`; nan where one of them is flat."""
        flat = (self.slopes[0] == 0).all(-1) | (self.slopes[1] == 0).all(-1)
        return cosine_similarity(*self.slopes, dim=-1, eps=0.0).where(~flat, torch.nan)

    @property
    def stretch(self) -> Tensor:
        """How many times the slope of the second network is as long as that of the first, `(n, out)`."""
        return self.slopes[1].norm(dim=-1) / self.slopes[0].norm(dim=-1)

    def __repr__(self) -> str:
        n, out = (f"{many} {what}{'s' * (many != 1)}" for many, what in zip(self.cosine.shape, ("point", "output")))
        apart = (self.outputs[1] - self.outputs[0]).abs().mean()
        return (
            f"Comparison({n}, {out}: cosine of the slopes {self.cosine.nanmean():.2g} on average, "
            f"outputs differ by {apart:.3g} on average)"
        )

    def draw(self, ax: Any, point: int = 0, output: int = 0) -> None:
        """The two slopes of one output at one point: of images as two images, the first on the left, else a dot for each input.

        Blue is below zero, orange above; channels are summed. On the dashed diagonal the two networks agree.

        ax: the axes of matplotlib that are drawn on.
        """
        one, two = (s[point, output].cpu() for s in self.slopes)
        top = float(torch.stack([one, two]).abs().max()) or 1.0
        if self.points.ndim == 4:
            pair = [s.view(self.points.shape[1:]).sum(0) for s in (one, two)]
            gap = torch.full((len(pair[0]), max(1, pair[0].shape[1] // 10)), torch.nan, dtype=pair[0].dtype)
            top = max(float(p.abs().max()) for p in pair) or 1.0
            ax.imshow(torch.cat([pair[0], gap, pair[1]], 1), cmap=signed(), vmin=-top, vmax=top)
            ax.set_axis_off()
        else:
            ax.plot([-top, top], [-top, top], "--", lw=1, color="0.6")
            ax.plot(one, two, "o", ms=4)
            ax.set(xlabel="slope in the first network", ylabel="slope in the second", aspect="equal")


def compare(net1: PiecewiseLinear, net2: PiecewiseLinear, x) -> Comparison:
    """The local maps of two networks at one point, or at many: slopes, constants, outputs, and how far they agree.

    net1, net2: traced networks, of any architecture, that take inputs and give outputs of the same shapes.
    x: a point of the shape of an input, or many of them.
    """
    for net in (net1, net2):
        if isinstance(net, nn.Module):
            raise ValueError(f"traced networks are compared: give foldnet.of(model), not the {type(net).__name__} itself")
    shapes = [(net.input_shape, net.output_shape) for net in (net1, net2)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"networks of the same inputs and outputs can be compared; these are a {net1} and a {net2}")
    points, found = net1.points(x)[0], []
    for net in (net1, net2):
        own = points.to(net.dtype).to(net.device)
        slopes = net.jacobians(own).double().to(points.device)
        outputs = net(own).reshape(len(own), -1).double().to(points.device)
        found.append((outputs, slopes, outputs - (slopes @ points.double().flatten(1).unsqueeze(-1)).squeeze(-1)))
    return Comparison(points, *zip(*found))
