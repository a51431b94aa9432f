"""How many regions a network has in a cube of any dimension: cells are cut one by one, as simple polytopes. (boolean/power)

>>> from foldnet.geometry.cells import count_regions
>>> from foldnet.nets import ReLUNet
>>> count_regions(ReLUNet.random((3, 4, 1), seed=0), reach=100.0)  # four planes in space
15
"""

from __future__ import annotations

import numpy as np

from ..nets import ReLUNet

ROUNDING = 1e-13  # of a preactivation at a corner, as a share of its summands: some hundred units of the last digit


def count_regions(net: ReLUNet, reach: float = 1.0, most: int = 100_000) -> int:
    """The activation patterns of one network inside the cube [-reach, reach]^d, for weights in general position; slow.

    `net`: one network of d inputs.
    `reach`: half the side of the cube around 0.
    `most`: more regions are refused as soon as they are there.
    A cell is its corners and which d of the hyperplanes each lies on; two corners that share d - 1 are the ends of an edge, and
    a new hyperplane cuts edges. In the plane `regions` does the same, with faces and neighbours, in less than a hundredth of the
    time.
    """
    if not isinstance(net, ReLUNet) or net.batch_shape or not net.vector().isfinite().all():
        raise ValueError(f"regions are counted for one ReLU network with finite weights; got a {net}")
    if not 0 < reach < np.inf:
        raise ValueError(f"the reach of a cube is positive and finite; got {reach}")
    d = net.sizes[0]
    weights, biases = ([a.detach().double().cpu().numpy() for a in part] for part in (net.weights, net.biases))
    signs = np.array(np.meshgrid(*[[-1, 1]] * d, indexing="ij")).reshape(d, -1).T
    on = np.concatenate([signs > 0, signs < 0], axis=1)  # the 2d walls of the cube
    identity = np.column_stack([np.eye(d), np.zeros(d)])
    cells = [(reach * signs.astype(float), on, identity)]
    for w, b in zip(weights[:-1], biases[:-1]):
        done = []
        for corners, walls, rows in cells:
            rows = w @ rows
            rows[:, -1] += b
            parts = [(corners, walls, np.zeros(0))]  # with the slope that each neuron has on the part
            for row in rows:
                parts = [half for part in parts for half in _halves(part, row, net.leak, d)]
                if len(done) + len(parts) > most:
                    raise ValueError(f"more than most={most:,} regions: take a smaller cube or network, or raise it")
            done += [(c, o, gates[:, None] * rows) for c, o, gates in parts]
        cells = done
    return len(cells)


def _halves(part, row: np.ndarray, leak: float, d: int) -> list:
    """A cell on both sides of the hyperplane `row`, or as it is where that misses it, or cuts off no more than rounding might."""
    corners, walls, gates = part
    z = corners @ row[:-1] + row[-1]
    error = ROUNDING * (np.abs(corners) @ np.abs(row[:-1]) + abs(row[-1]))
    on, off = np.append(gates, 1.0), np.append(gates, leak)
    if (z >= -error).all() or (z <= error).all():
        return [(corners, walls, on if z.sum() > 0 else off)]
    shared = walls.astype(int) @ walls.T.astype(int)
    ends = np.argwhere((shared == d - 1) & (z[:, None] > 0) & (z < 0))
    i, k = ends.T
    t = (z[i] / (z[i] - z[k]))[:, None]
    new = corners[i] + t * (corners[k] - corners[i])
    wall = np.zeros((len(walls) + len(new), 1), bool)
    wall[len(walls) :] = True
    both, on_walls = np.vstack([corners, new]), np.hstack([np.vstack([walls, walls[i] & walls[k]]), wall])
    sides = np.concatenate([z, np.zeros(len(new))])
    return [(both[side], on_walls[side], gate) for side, gate in ((sides >= 0, on), (sides <= 0, off))]
