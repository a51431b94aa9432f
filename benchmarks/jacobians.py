"""Jacobians of all ten outputs at many images: ours against vmap(jacrev) and a loop of backward, in one run, in turns.

    python benchmarks/jacobians.py                              # all 10,000 test images, one thread: some half an hour
    python benchmarks/jacobians.py --images 1000 --threads 2
    python benchmarks/jacobians.py --cuda

The networks are the book's (trained by AdamW and by SGD, run 1), the images the test images of their data set; where that is not
on this machine, the 200 of them that are stored in the book, again and again; `--random` takes noise and untrained networks.
Seconds for all images, the least of `--repeats`: of processor time in one thread, of the clock otherwise. vmap has the number of
images at a time, out of several, that suits it best; we take 1,000. The gap is the largest one to vmap, relative to
the largest entry, over the first 1000 images (100 of convolutional networks on a processor).
"""

from __future__ import annotations

import argparse
import time

import torch
from torch.func import jacrev, vmap

from experiments import image_nets
from foldnet.data import DataMissing
from foldnet.geometry.vision import jacobian
from foldnet.nets import ReLUNet

CHUNKS = {
    "cpu": {"dense": (250, 500, 1000), "other": (1, 5, 10, 20)},
    "cuda": {"dense": (500, 1000, 2000, 5000), "other": (250, 500, 1000, 2000, 5000)},
}
OURS, LOOPED = 1000, 20  # images at a time, and in the loop


def seconds(work, x: torch.Tensor, chunk: int, clock) -> float:
    """Time for all images, so many at a time, results thrown away."""
    start = clock()
    for part in x.split(chunk):
        work(part)
    if x.is_cuda:
        torch.cuda.synchronize()
    return clock() - start


def by_loop(net, x: torch.Tensor) -> torch.Tensor:
    """One backward for each image and output."""
    rows = []
    for image in x:
        image = image.clone().requires_grad_()
        out = net(image[None])[0]
        rows.append(torch.stack([torch.autograd.grad(v, image, retain_graph=True)[0] for v in out]))
    return torch.stack(rows)


def images(data: str, count: int) -> tuple[torch.Tensor, str]:
    try:
        return image_nets.pixels(data, "test", count)[0], "test images"
    except DataMissing:
        stored = image_nets.samples(data)[0]
        return stored.repeat(-(-count // len(stored)), 1)[:count], f"{len(stored)} test images, again and again"


def cases(wanted: argparse.Namespace):
    if wanted.random:
        nets = {
            "dense": ReLUNet.random((3072, 128, 10), seed=0, dtype=torch.float32),
            **{kind: image_nets.network_of(kind, image_nets.begin(kind, 1))[0] for kind in image_nets.CHANNELS},
        }
        x = torch.randn(wanted.images, 3072, generator=torch.Generator().manual_seed(0))
        yield from ((kind, "random", net, x) for kind, net in nets.items() if kind in wanted.kinds)
        return
    for data in image_nets.DATA:
        x, what = images(data, wanted.images)
        print(f"# {data}: {len(x)} {what}")
        for kind in wanted.kinds:
            for optimizer in image_nets.OPTIMIZERS:
                yield kind, f"{data}, {optimizer}", image_nets.network(kind, data, optimizer), x


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=("dense", "simple", "complex"))
    wanted = parser.parse_args()
    where = "cuda" if wanted.cuda else "cpu"
    clock = time.process_time if where == "cpu" and wanted.threads == 1 else time.perf_counter
    torch.set_num_threads(wanted.threads)
    print(f"# {where}, {wanted.threads} threads, torch {torch.__version__}")
    names = f"{'ours':>10}{'vmap':>10}{'at a time':>11}{'loop':>10}{'vmap / it':>11}{'loop / it':>11}{'gap':>9}"
    print(f"{'network':9}{'trained on':16}{names}")
    for kind, told, net, x in cases(wanted):
        net, x = net.to(where), x.to(where)
        of_all = vmap(jacrev(lambda v, net=net: net(v[None])[0]))
        ours = lambda part, net=net: jacobian(net, part)  # noqa: E731
        few = x[: 1000 if wanted.cuda or kind == "dense" else 100]
        a, b = ours(few), of_all(few)  # also compiles
        gap = float((a - b).abs().max() / b.abs().max())
        few = x if wanted.cuda else x[:1000] if kind == "dense" else x[:60]
        tried = {
            c: min(seconds(of_all, few, c, clock) for _ in range(2)) for c in CHUNKS[where].get(kind, CHUNKS[where]["other"])
        }
        best = min(tried, key=lambda c: tried[c])
        pairs = [(seconds(ours, x, OURS, clock), seconds(of_all, x, best, clock)) for _ in range(wanted.repeats)]
        mine, theirs = map(min, zip(*pairs))
        loop = seconds(lambda part, net=net: by_loop(net, part), x[:LOOPED], LOOPED, clock) * len(x) / LOOPED
        numbers = f"{mine:8.3f} s{theirs:8.3f} s{best:11}{loop:8.1f} s{theirs / mine:11.1f}{loop / mine:11.1f}{gap:9.0e}"
        print(f"{kind:9}{told:16}{numbers}", flush=True)


if __name__ == "__main__":
    main()
