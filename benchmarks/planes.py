"""Planes through ordinary networks, beside a splitter in plain torch that does the same: `python benchmarks/planes.py`.

The plain splitter keeps a list of polygons. At each step it computes the values of all units at the corners of all polygons, in
one pass from the input, and cuts one polygon after the other by one line after the other. One thread, in one run, in turns:
processor times, on a GPU (`--device cuda`) the clock. The networks are a small one for 1 x 8 x 8 and those of `own_network.py`
for 3 x 32 x 32, with random weights, in windows that have about as many pieces as `--pieces` says.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks import own_network
from foldnet.piecewise.net import PiecewiseLinear, of
from foldnet.piecewise.plane import Section

NOISE, AT_ONCE = 1e-12, 1000  # corners that a pass takes
STARTS = {"images": 0.3, "plain_cnn": 0.004, "resnet18": 2e-5}  # half the side of a window that has some hundred pieces


def images() -> nn.Module:
    """Two convolutions with stride and two dense layers, for images of 1 x 8 x 8."""
    convs = [nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU(), nn.Flatten()]
    return nn.Sequential(*convs, nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))


@torch.no_grad()
def plain(net: PiecewiseLinear, section: Section, window: float) -> list[Tensor]:
    """The pieces as polygons `(m, 2)`, for networks whose only kinks are those of ReLU."""
    square = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]], dtype=torch.float64)
    polygons = [window * square]
    for name in net.graph.kinked:
        values, floor = values_at(net, section, name, torch.cat(polygons))
        done: list[Tensor] = []
        for corners, z in zip(polygons, values.split([len(p) for p in polygons])):
            units = ((z > floor).any(0) & (z < -floor).any(0)).nonzero().flatten()
            parts = [(corners, z[:, units])]
            for column in range(len(units)):
                parts = [half for part in parts for half in cut(*part, column, floor)]
            done += [corners for corners, _ in parts]
        polygons = done
    return polygons


def values_at(net: PiecewiseLinear, section: Section, name: str, corners: Tensor) -> tuple[Tensor, float]:
    """The values at the corners of those units that change sides, by one pass from the input, and what counts as zero."""
    seen: list[Tensor] = []

    def see(node, values) -> None:
        if node.name == name:
            seen.append(net.graph.decisions(node, values))

    for x in section.inputs(corners.numpy()).split(AT_ONCE):
        net.graph.run(x, see, until=name)
    low, high = (torch.stack([end(z, 0) for z in seen]) for end in (torch.amin, torch.amax))
    low, high = low.amin(0), high.amax(0)
    floor = NOISE * max(float(low.abs().max()), float(high.abs().max()))
    changing = ((low < -floor) & (high > floor)).nonzero().flatten()
    return torch.cat([z[:, changing].cpu() for z in seen]), floor


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


def wide_enough(net: PiecewiseLinear, plane: list[Tensor], window: float, pieces: int) -> float:
    """Half the side of a window that has about so many pieces."""
    for _ in range(3):
        found = len(net.plane(*plane, window=window))
        if found > 0.7 * pieces:
            break
        window *= min(8.0, (pieces / found) ** 0.5)
    return window


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="+", default=("images", "plain_cnn"), choices=list(STARTS))
    parser.add_argument("--pieces", type=int, nargs="+", default=(500, 2000), help="about how many there are in a window")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--json", type=Path, help="a file for the rows")
    arguments = parser.parse_args()
    clock, rows = (time.perf_counter if arguments.device == "cuda" else time.process_time), []
    torch.set_num_threads(1)
    for name in arguments.networks:
        torch.manual_seed(0)
        make, shape = (images, (1, 8, 8)) if name == "images" else (getattr(own_network, name), (3, 32, 32))
        model = make().double().to(arguments.device)
        with torch.no_grad():
            model(torch.randn(16, *shape, dtype=torch.float64, device=arguments.device))
        net = of(model, input_shape=shape)
        plane = list(torch.randn(3, *shape, dtype=torch.float64).to(arguments.device))
        window = STARTS[name]
        for pieces in arguments.pieces:
            window = wide_enough(net, plane, window, pieces)
            times: dict[str, list[float]] = {"ours": [], "plain": []}
            for _ in range(arguments.turns):
                start = clock()
                found = net.plane(*plane, window=window)
                middle = clock()
                polygons = plain(net, found.net, window)
                times["ours"].append(middle - start)
                times["plain"].append(clock() - middle)
            ours, theirs = min(times["ours"]), min(times["plain"])
            row = {"network": name, "device": arguments.device, "window": window, "pieces": len(found), "plain": len(polygons)}
            rows.append(row | {"seconds": ours, "plain_seconds": theirs, "ratio": theirs / ours})
            print(
                f"{name}, window {window:.2g}: {len(found):,} pieces in {ours:.3f} s, plain torch {len(polygons):,} in "
                f"{theirs:.2f} s, ratio {theirs / ours:.1f}",
                flush=True,
            )
            if arguments.json:
                arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
