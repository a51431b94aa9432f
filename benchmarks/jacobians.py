"""Jacobians of all ten outputs at many images: closed form against vmap(jacrev) and a loop of backward, in one run.

    python benchmarks/jacobians.py            # 200 images on a processor
    python benchmarks/jacobians.py --cuda     # 10,000 images on a GPU

Seconds of wall clock for so many images, the least of three, and the largest gap to vmap, relative to the largest entry.
"""

from __future__ import annotations

import sys
import time

import torch
from torch.func import jacrev, vmap

from foldnet.geometry.vision import ConvNet, jacobian
from foldnet.nets import ReLUNet

CUDA = "--cuda" in sys.argv
IMAGES, CHUNK, LOOPED = (10_000, 1000, 200) if CUDA else (200, 100, 20)


def timed(work, x: torch.Tensor) -> float:
    """Seconds for all images, a chunk at a time, results thrown away."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for part in x.split(CHUNK):
            work(part)
        if CUDA:
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def by_loop(net, x: torch.Tensor) -> torch.Tensor:
    """One backward for each image and output."""
    rows = []
    for image in x:
        image = image.clone().requires_grad_()
        out = net(image[None])[0]
        rows.append(torch.stack([torch.autograd.grad(v, image, retain_graph=True)[0] for v in out]))
    return torch.stack(rows)


def main() -> None:
    where = "cuda" if CUDA else "cpu"
    nets = {
        "dense": ReLUNet.random((3072, 128, 10), seed=0, dtype=torch.float32),
        "simple": ConvNet.random((32, 32), seed=0, dtype=torch.float32),
        "complex": ConvNet.random((32, 32, 32), relu_first=True, seed=0, dtype=torch.float32),
    }
    x = torch.randn(IMAGES, 3072, generator=torch.Generator().manual_seed(0)).to(where)
    print(f"{'network':9}{'closed form':>14}{'vmap':>10}{'loop':>10}{'vmap / it':>11}{'loop / it':>11}{'gap':>10}")
    for name, net in nets.items():
        net = net.to(where)
        of_all = vmap(jacrev(lambda v, net=net: net(v[None])[0]))
        mine, theirs = timed(lambda part, net=net: jacobian(net, part), x), timed(of_all, x)
        loop = timed(lambda part, net=net: by_loop(net, part), x[:LOOPED]) * IMAGES / LOOPED
        a, b = jacobian(net, x[:20]), of_all(x[:20])
        gap = float((a - b).abs().max() / b.abs().max())
        print(f"{name:9}{mine:12.2f} s{theirs:8.2f} s{loop:8.1f} s{theirs / mine:11.1f}{loop / mine:11.1f}{gap:10.0e}")


if __name__ == "__main__":
    main()
