"""Planes through ordinary networks, beside a splitter in plain torch that does the same: `python benchmarks/planes.py`.

The plain splitter keeps a list of polygons. At each step it computes the values of all units at the corners of all polygons, and
cuts one polygon after the other by one line after the other. Processor times in one thread, in one run, in turns.
"""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn

from foldnet.piecewise.net import PiecewiseLinear, of
from foldnet.piecewise.plane import Section

NOISE = 1e-12


def images() -> nn.Module:
    """Two convolutions with stride and two dense layers, for images of 1 x 8 x 8."""
    convs = [nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU(), nn.Flatten()]
    return nn.Sequential(*convs, nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))


@torch.no_grad()
def plain(net: PiecewiseLinear, section: Section, window: float) -> list[Tensor]:
    """The pieces as polygons `(m, 2)`, for networks whose only kinks are those of ReLU."""
    square = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]], dtype=torch.float64)
    polygons = [window * square]
    seen: list[Tensor] = []

    def see(node, values) -> None:
        seen.append(net.graph.decisions(node, values))

    for name in net.graph.kinked:
        seen.clear()
        net.graph.run(section.inputs(torch.cat(polygons).numpy()), see, until=name)
        values = seen[-1]
        floor, done = NOISE * float(values.abs().max()), []
        for corners, z in zip(polygons, values.split([len(p) for p in polygons])):
            units = ((z > floor).any(0) & (z < -floor).any(0)).nonzero().flatten()
            parts = [(corners, z[:, units])]
            for column in range(len(units)):
                parts = [half for part in parts for half in cut(*part, column, floor)]
            done += [corners for corners, _ in parts]
        polygons = done
    return polygons


def cut(corners: Tensor, z: Tensor, column: int, floor: float) -> list[tuple[Tensor, Tensor]]:
    """A polygon and the values at its corners, cut where one of them is 0."""
    here = z[:, column]
    if not ((here > floor).any() and (here < -floor).any()):
        return [(corners, z)]
    rows, after = torch.cat([corners, z], 1), torch.roll(here, -1)
    ahead = torch.roll(rows, -1, 0)
    crosses = (here > floor) & (after < -floor) | (here < -floor) & (after > floor)
    share = torch.where(crosses, here / (here - after), 0.0)[:, None]
    between = torch.lerp(rows, ahead, share)
    halves = []
    for sign in (1, -1):
        both = torch.stack([rows, between], 1).flatten(0, 1)
        keep = torch.stack([sign * here >= -floor, crosses], 1).flatten()
        half = both[keep]
        halves.append((half[:, :2], half[:, 2:]))
    return halves


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = of(images().double(), input_shape=(1, 8, 8))
    origin, *axes = torch.randn(3, 1, 8, 8, dtype=torch.float64)
    net.plane(origin, *axes, window=0.1)  # what is compiled is loaded
    for window in (0.3, 0.5, 0.7):
        ours, theirs = [], []
        for _ in range(2):
            times = [time.process_time()]
            found = net.plane(origin, *axes, window=window)
            times.append(time.process_time())
            polygons = plain(net, found.net, window)
            times.append(time.process_time())
            ours.append(times[1] - times[0])
            theirs.append(times[2] - times[1])
        print(
            f"window {window}: {len(found):,} pieces in {min(ours):.3f} s, plain torch {len(polygons):,} in {min(theirs):.2f} s, "
            f"ratio {min(theirs) / min(ours):.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
