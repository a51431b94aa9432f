"""All pieces of a network in any number of inputs, beside relucent, which uses linear programs: `python benchmarks/cells.py`.

Both search from piece to piece through walls, one process each, by the clock, in turns. The first network is the
example of relucent, which is not a package of the book: `pip install relucent` first.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import time

import relucent  # ty: ignore[unresolved-import]
import torch
from torch import nn

import foldnet

NETWORKS = ((2, 10, 5, 1), (3, 8, 4, 1), (4, 6, 4, 1))
TURNS = 2


def network(sizes: tuple[int, ...]) -> nn.Sequential:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1]).double()


def ours(model: nn.Sequential, inputs: int) -> int:
    return len(foldnet.of(model).cells(torch.full((inputs,), 0.1)))


def theirs(model: nn.Sequential, inputs: int) -> int:
    found = relucent.Complex(model)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found.bfs(nworkers=1)
    return len(found)


def main() -> None:
    print(f"{'network':12}{'pieces':>8}{'relucent':>10}{'net.cells':>11}{'relucent':>11}{'ratio':>8}")
    for sizes in NETWORKS:
        model, counts, spent = network(sizes), {}, {ours: [], theirs: []}
        for _ in range(TURNS):
            for way, seconds in spent.items():
                start = time.perf_counter()
                counts[way] = way(model, sizes[0])
                seconds.append(time.perf_counter() - start)
        mine, other = min(spent[ours]), min(spent[theirs])
        name = "-".join(map(str, sizes))
        print(f"{name:12}{counts[ours]:8}{counts[theirs]:10}{mine:9.3f} s{other:9.2f} s{other / mine:8.0f}", flush=True)


if __name__ == "__main__":
    main()
