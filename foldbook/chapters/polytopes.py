"""What geometry/polytopes reads off a closed boundary and the pieces around it: turns, hulls, slopes.

>>> import numpy as np
>>> from foldbook.chapters.polytopes import hull
>>> hull(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.2]]))
3
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from foldnet.geometry.complex import Complex
from foldnet.geometry.loops import corners
from foldnet.geometry.regions import decision
from foldnet.nets import ReLUNet
from foldnet.train import fit


def around(loop: np.ndarray, point=(0.0, 0.0)) -> bool:
    """Whether a closed polygon goes round a point."""
    way = (loop - np.asarray(point)) @ [1, 1j]
    return abs(np.angle(np.roll(way, -1) / way).sum()) > 1


def bends(c: Complex, loop: np.ndarray) -> np.ndarray:
    """By how many degrees, left or right, a closed boundary turns on the line of each neuron of the first layer, `(width,)`."""
    places, turns = corners(loop)
    w, b = (a[0].detach().double().cpu().numpy() for a in (c.net.weights, c.net.biases))
    length = np.linalg.norm(w, axis=1)
    away = np.abs(places @ w.T + b) / np.where(length > 0, length, 1)
    on = (away < 1e-7) & (length > 0)
    return on.T @ np.abs(turns)


def comparisons(p: int, back: int = 1, rows: int = 1) -> int:
    """The most comparisons on a p x p grid of points: with the left one, and with `rows` above from `back` columns before on."""
    above = [min(i, rows) for i in range(p)]
    return sum((j > 0) + k * (p - max(j - back, 0)) for k in above for j in range(p))


def enclosed(w: np.ndarray, b: np.ndarray, point=(0.0, 0.0)) -> bool:
    """Whether the lines w.x + b = 0, `(n, 2)` and `(n,)`, shut a point in: if not, some ray from it meets none of them.

    No line goes through the point itself.
    """
    height = w @ np.asarray(point) + b
    outward = np.sort(np.angle(-np.sign(height) * (w @ [1, 1j])))
    return len(outward) > 2 and np.diff(outward, append=outward[0] + 2 * np.pi).max() < np.pi


def hull(points: np.ndarray) -> int:
    """How many of these points of the plane `(n, 2)` are corners of their convex hull."""
    order = np.unique(points, axis=0)  # from left to right, each once
    if len(order) < 2:
        return len(order)
    count = 0
    for line in (order, order[::-1]):
        chain: list[np.ndarray] = []
        for p in line:
            while len(chain) > 1 and np.linalg.det([chain[-1] - chain[-2], p - chain[-1]]) <= 0:
                chain.pop()
            chain.append(p)
        count += len(chain) - 1
    return count


def ring(c: Complex) -> dict[str, float]:
    """Slopes of the pieces around a closed boundary and inside it, of a network with one output that is negative inside.

    `ring` is the mean length of the slope along the boundary, `centre` that at the origin as a part of it, `between` the share of
    the area inside on which it is a third to two thirds of it (S2-fig-6.5).
    """
    finer, winner = decision(c)
    size = np.linalg.norm(finer.maps()[0][:, 0], axis=1)
    left, right = finer.edge_faces.T
    edge = (left >= 0) & (right >= 0) & (winner[left] != winner[right])
    length = np.linalg.norm(np.diff(finer.vertices[finer.edges[edge]], axis=1)[:, 0], axis=1)
    mean = float(length @ size[left[edge]] / length.sum())
    inside, part = winner == 0, size / mean
    middle = inside & (part > 1 / 3) & (part < 2 / 3)
    centre = float(np.linalg.norm(c.net.jacobian(np.zeros((1, 2)))[0, 0].detach().cpu().numpy()))
    return {"ring": mean, "centre": centre / mean, "between": finer.areas[middle].sum() / finer.areas[inside].sum()}


def first_layer_alone(nets: ReLUNet, x: Tensor, y: Tensor, new: Tensor, label: Tensor) -> Tensor:
    """The share of new points that a read-out of the first layer gets right, fitted to points x and classes y, `(*batch,)`.

    The other layers are thrown away. For a batch of networks with one output; the read-out is a linear map (S2-find-6.5).
    """

    def seen(points: Tensor) -> Tensor:
        return nets.preactivations(points)[0].clamp(min=0)

    kept = seen(x)
    target = y.double().unsqueeze(-1).expand(*kept.shape[:-1], 1)
    start = ReLUNet.random((nets.sizes[1], 1), batch=kept.shape[0], seed=1)
    readout = fit(start, kept, target, loss="bce", lr=0.1, epochs=400, progress=False).net
    return ((readout(seen(new)).squeeze(-1) > 0) == (label > 0)).double().mean(-1)


def random_net(neurons: int, depth: int, seed: int) -> ReLUNet:
    """A network of the plane with so many neurons in all layers: He's weights, and normal biases of 0.3."""
    net = ReLUNet.random((2, *[neurons // depth] * depth, 1), init="he", seed=seed)
    rng = np.random.default_rng([neurons, depth, seed])
    return net.with_layers(net.weights, [torch.as_tensor(0.3 * rng.normal(size=b.shape)) for b in net.biases])


def seen_pieces(act, seed: int, points: int = 61) -> list[int]:
    """What a grid sees of a random network 2-8-1 with an activation `act`: how many affine maps, patterns of the three states
    of a hard tanh, and patterns of bits.

    >>> import torch
    >>> seen_pieces(torch.nn.functional.hardtanh, 1)
    [26, 26, 11]
    """
    draw = torch.Generator().manual_seed(seed)
    w, b, v = (torch.randn(*size, generator=draw, dtype=torch.float64) for size in ((8, 2), (8,), (8,)))
    line = torch.linspace(-1.5, 1.5, points, dtype=torch.float64)
    x = torch.cartesian_prod(line, line).requires_grad_()
    z = 2 * (x @ w.T + b)
    y = act(z) @ v
    (slope,) = torch.autograd.grad(y.sum(), x)
    maps = torch.column_stack([slope, y - (slope * x).sum(1)]).detach()
    kinds = maps.round(decimals=9) + 0.0, (z > 1).int() - (z < -1).int(), z > 0
    return [len(kind.unique(dim=0)) for kind in kinds]
