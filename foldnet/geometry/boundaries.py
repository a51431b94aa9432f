"""The decision boundary of a network: the hyperplane where two classes tie, and where the boundary is folded.

>>> from foldnet.geometry.boundaries import margin
>>> from foldnet.nets import ReLUNet
>>> net = ReLUNet([[[1.0, 0.0]], [[1.0]]], [[0.0], [-0.5]])
>>> margin(net, [[0.2, 0.0], [0.9, 0.0]]).tolist()
[-0.3, 0.4]
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .vision import affine_at


def logits(net, x) -> Tensor:
    """One column a class, `(*batch, n, classes)`: a network with a single output z stands for the two classes (0, z)."""
    return _two(net(x))


def margin(net, x) -> Tensor:
    """Logit of class 1 minus logit of class 0, `(*batch, n)`: with two classes the decision boundary is where it vanishes."""
    z = logits(net, x)
    if z.shape[-1] != 2:
        raise ValueError(f"a margin is between two classes; a {net} has {z.shape[-1]}")
    return z[..., 1] - z[..., 0]


def hyperplane(net, x, predicted, true) -> tuple[Tensor, Tensor]:
    """Normal `(*batch, n, in)` and offset `(*batch, n)` of the hyperplane where two classes tie, continued from the segment at x.

    `predicted`, `true`: the two classes, `(*batch, n)` or one number each; their rows of the affine map are subtracted
    (S0-def-decision-boundary).
    """
    weight, bias = affine_at(net, x)
    columns = _two(torch.cat([weight, bias.unsqueeze(-1)], -1).mT)
    i, j = (torch.as_tensor(c, device=net.device).expand(bias.shape[:-1])[..., None, None] for c in (predicted, true))
    i, j = (columns.gather(-1, c.expand(*columns.shape[:-1], 1)).squeeze(-1) for c in (i, j))
    return (i - j)[..., :-1], (i - j)[..., -1]


def closest_point(x, normal, offset) -> Tensor:
    """The point of the hyperplane w.x + b = 0 closest to x: x - (w.x + b) w / w.w (S0-prop-closed-form-fold-point).

    `x`: points `(*, in)`.
    `normal`, `offset`: w `(*, in)` and b `(*)`, as `hyperplane` gives them.
    """
    x, normal, offset = (torch.as_tensor(a, dtype=torch.float64) for a in (x, normal, offset))
    square = normal.square().sum(-1, keepdim=True)
    if not (square > 0).all():
        raise ValueError("a hyperplane needs a normal other than 0: here the boundary has none, the segment is flat")
    return x - ((normal * x).sum(-1, keepdim=True) + offset.unsqueeze(-1)) * normal / square


@dataclass(frozen=True, eq=False)
class Kinks:
    """What one neuron of each network does to the boundary: `point` `(B, h, 2)` and `angle` `(B, h)` in degrees, nan where none.

    A line meets a boundary of straight pieces at most once between two other lines, so h hidden units leave h places.
    """

    point: Tensor
    angle: Tensor

    def nearest(self, to) -> tuple[Tensor, Tensor]:
        """Distance `(B,)` from the points `to`, `(B, 2)` or one `(2,)` for all, to the nearest kink, and the angle there, `(B,)`.

        Where there is no kink the distance is infinite and the angle 0.
        """
        to = torch.as_tensor(to, dtype=self.point.dtype).expand(len(self.point), 2)
        away = (self.point - to.unsqueeze(1)).norm(dim=-1).nan_to_num(torch.inf)
        distance, which = away.min(-1)
        return distance, self.angle.gather(1, which.unsqueeze(1)).squeeze(1).nan_to_num(0.0)


@torch.no_grad()
def kinks(nets, unit: int = -1, reach: float = 10.0) -> Kinks:
    """Where the line of one hidden unit crosses the decision boundary of each network `(B,)` of the plane, and the angle there.

    Along the line the margin is straight between its crossings with the other lines, so the zeros are exact; at each the normal
    of the boundary jumps by c w, less with a leak: w is the row of the unit, c what it gives to class 1 more than to class 0.
    `nets`: a batch `(B,)` of two-class networks of the plane with one hidden layer.
    `unit`: the number of the hidden unit, -1 the last.
    `reach`: how far its line is followed, to both sides of its point closest to 0.
    """
    if len(nets.batch_shape) != 1 or nets.sizes[0] != 2 or len(nets.weights) != 2 or nets.sizes[-1] > 2:
        raise ValueError(f"kinks are followed in a batch (B,) of two-class networks of the plane, one hidden layer; got a {nets}")
    nets = nets.to(torch.float64)
    (w, v), (b, _) = nets.weights, nets.biases
    pull = v[:, -1] - (v[:, 0] if len(v[0]) == 2 else 0)  # a single output is the margin itself
    unit = range(nets.sizes[1])[unit]
    others = [k for k in range(nets.sizes[1]) if k != unit]
    row, rest = w[:, unit], w[:, others]
    length = row.norm(dim=-1, keepdim=True)
    alive = (length.squeeze(-1) > 0) & (pull[:, unit] != 0)
    foot, way = -b[:, [unit]] * row / length**2, torch.stack([-row[:, 1], row[:, 0]], -1) / length
    height = (rest @ foot.unsqueeze(-1)).squeeze(-1) + b[:, others]
    cross = (-height / (rest @ way.unsqueeze(-1)).squeeze(-1)).nan_to_num(reach).clamp(-reach, reach)
    ends = torch.full_like(length, reach)
    t = torch.cat([-ends, cross, ends], 1).sort(1).values
    g = margin(nets, foot.unsqueeze(1) + t.unsqueeze(-1) * way.unsqueeze(1))
    low, high = g[:, :-1], g[:, 1:]
    root = t[:, :-1] - low * t.diff(dim=1) / (high - low)
    point = foot.unsqueeze(1) + root.unsqueeze(-1) * way.unsqueeze(1)
    there = ((low < 0) != (high < 0)) & alive.unsqueeze(1)
    on = (point @ rest.mT + b[:, None, others] > 0).to(w.dtype).clamp(min=nets.leak)
    own = pull[:, None, [unit]] * row.unsqueeze(1)
    before, after = ((on * pull[:, None, others]) @ rest + gate * own for gate in (nets.leak, 1.0))
    turn = before[..., 0] * after[..., 1] - before[..., 1] * after[..., 0]
    angle = torch.atan2(turn.abs(), (before * after).sum(-1)).rad2deg()
    return Kinks(point.where(there.unsqueeze(-1), torch.nan), angle.where(there, torch.nan))


def creases(net, reach: float = 1.0) -> Tensor:
    """Where the decision boundary of one shallow two-class network of the plane is folded, `(number, 2)`, in [-reach, reach]^2.

    The kinks of all its units. A unit that gives the same to both classes makes none.
    """
    if net.batch_shape or net.sizes[0] != 2 or len(net.weights) != 2:
        raise ValueError(f"creases are listed for one network of the plane with one hidden layer; got a {net}")
    one = net.with_vector(net.vector().unsqueeze(0))
    points = torch.cat([kinks(one, unit, 3 * reach).point[0] for unit in range(net.sizes[1])]).to(net.dtype)
    return points[points.abs().amax(-1) <= reach]


def _two(z: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(z), z], -1) if z.shape[-1] == 1 else z
