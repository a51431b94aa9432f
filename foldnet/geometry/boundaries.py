"""The decision boundary of a network: the affine map at a point, the hyperplane where two classes tie, and where it is folded."""

from __future__ import annotations

import torch
from torch import Tensor

FLAT = 1e-12  # a line that turns by less than this, relative to the weights, is parallel


def segment(net, x) -> tuple[Tensor, Tensor]:
    """The affine map active at each point, W `(*batch, n, out, in)` and b `(*batch, n, out)`: f = W x + b on its whole region."""
    x = net.points(x)
    weight = net.jacobian(x)
    return weight, net(x) - (weight @ x.unsqueeze(-1)).squeeze(-1)


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

    Rows `predicted` minus rows `true` of the affine map, both `(*batch, n)` or one number (S0-def-decision-boundary).
    """
    weight, bias = segment(net, x)
    columns = _two(torch.cat([weight, bias.unsqueeze(-1)], -1).mT)
    i, j = (torch.as_tensor(c, device=net.device).expand(bias.shape[:-1])[..., None, None] for c in (predicted, true))
    i, j = (columns.gather(-1, c.expand(*columns.shape[:-1], 1)).squeeze(-1) for c in (i, j))
    return (i - j)[..., :-1], (i - j)[..., -1]


def project(x, normal, offset) -> Tensor:
    """The point of the hyperplane w.x + b = 0 closest to x: x - (w.x + b) w / w.w (S0-prop-closed-form-fold-point)."""
    x, normal, offset = (torch.as_tensor(a, dtype=torch.float64) for a in (x, normal, offset))
    square = normal.square().sum(-1, keepdim=True)
    if not (square > 0).all():
        raise ValueError("a hyperplane needs a normal other than 0: here the boundary has none, the segment is flat")
    return x - ((normal * x).sum(-1, keepdim=True) + offset.unsqueeze(-1)) * normal / square


def creases(net, reach: float = 1.0) -> Tensor:
    """Where the decision boundary of one shallow two-class network of the plane is folded, `(number, 2)`, in [-reach, reach]^2.

    Along the line of each unit the margin is a chain of straight lines between the crossings with the other units' lines, so
    its zeros are found exactly. A crossing without a bend (both classes get the same outgoing weight) does not count.
    """
    if net.batch_shape or net.sizes[0] != 2 or len(net.weights) != 2:
        raise ValueError(f"creases are listed for one network of the plane with one hidden layer; got a {net}")
    found = [torch.zeros(0, 2, dtype=net.dtype, device=net.device)]
    rows, size, bends = net.weights[0], net.weights[0].norm(dim=-1), _two(net.weights[1].mT)
    ends = torch.tensor([-3.0 * reach, 3.0 * reach], dtype=net.dtype, device=net.device)
    for k in (size * (bends[:, 1] - bends[:, 0])).nonzero().flatten():
        foot, way = -net.biases[0][k] * rows[k] / size[k] ** 2, torch.stack([-rows[k, 1], rows[k, 0]]) / size[k]
        slope, height = rows @ way, rows @ foot + net.biases[0]
        far = slope.abs() > FLAT * size
        t = torch.cat([-height[far] / slope[far], ends]).clamp(*ends.tolist()).sort().values
        g = margin(net, foot + t.unsqueeze(-1) * way)
        cross = (g[:-1] < 0) != (g[1:] < 0)
        root = t[:-1] - g[:-1] * (t[1:] - t[:-1]) / (g[1:] - g[:-1])
        found.append(foot + root[cross].unsqueeze(-1) * way)
    points = torch.cat(found)
    return points[points.abs().amax(-1) <= reach]


def _two(z: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(z), z], -1) if z.shape[-1] == 1 else z
