"""Lines through ordinary networks, beside the least that exact work costs: `python benchmarks/own_network.py [--device cuda]`.

The limit: each bend needs one pass through the steps after the one that bends, and nothing else. Passes are timed in batches of
the same size, so that the ratio says how much is spent on finding bends and on interpolation. `--trained` adds networks that
were trained on the 200 images of CIFAR-10 that the book stores, and segments between two of them. `--prototype FILE` adds another
walk, a class `Line(module, a, b)` whose `run()` gives the places of all bends, on a part of each segment, in turns with ours.
"""

from __future__ import annotations

import argparse
import json
import runpy
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from foldnet.piecewise import _walk
from foldnet.piecewise.net import PiecewiseLinear, of


class Block(nn.Module):
    """Two convolutions with batch normalisation and a residual sum."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first, self.norm = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.second, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        same = stride == 1 and inputs == outputs
        self.short = (
            nn.Identity() if same else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        )

    def forward(self, x):
        return F.relu(self.norm2(self.second(F.relu(self.norm(self.first(x))))) + self.short(x))


def resnet18() -> nn.Module:
    """ResNet-18 for images of 3 x 32 x 32."""
    widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
    stem = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*stem, *(Block(*w) for w in widths), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def plain_cnn() -> nn.Module:
    """Three convolutions and two dense layers for images of 3 x 32 x 32."""
    convs = [nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1), nn.ReLU()]
    return nn.Sequential(*convs, nn.Flatten(), nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 10))


def trained(model: nn.Module, device: str, epochs: int = 40) -> tuple[nn.Module, torch.Tensor]:
    """The network after training on the stored images, in double precision, and the images."""
    from experiments import image_nets

    images, labels = (part.to(device) for part in image_nets.samples("cifar10"))
    images = images.view(-1, 3, 32, 32).float()
    optimizer = torch.optim.Adam(model.float().train().parameters(), 1e-3)
    for _ in range(epochs):
        for part in torch.randperm(len(images), device=device).split(50):
            optimizer.zero_grad()
            F.cross_entropy(model(images[part]), labels[part].long()).backward()
            optimizer.step()
    return model.double().eval(), images.double()


def seconds(work, device: str) -> float:
    """By the clock on a GPU, processor time of one thread elsewhere."""
    if device != "cuda":
        start = time.process_time()
        work()
        return time.process_time() - start
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


@torch.no_grad()
def limit(net: PiecewiseLinear, found, a, chunk: int, device: str) -> float:
    """Seconds for one pass through the rest of the network for every bend."""
    graph, batch = net.graph, a[None].expand(chunk, *a.shape).contiguous()
    whole = min(seconds(lambda: graph.run(batch), device) for _ in range(3))
    total = 0.0
    for number, name in enumerate(graph.kinked):
        before = min(seconds(lambda name=name: graph.run(batch, until=name), device) for _ in range(2))
        total += int((found.step == number).sum()) * (whole - before) / chunk
    return total


def beside(path: Path, net: PiecewiseLinear, model: nn.Module, a, b, device: str, turns: int) -> dict:
    """Ours and the prototype on one segment, in turns; the least of each."""
    prototype = runpy.run_path(str(path))
    times, places = {"ours": [], "prototype": []}, {}
    with torch.device(device):
        walks = {
            "ours": lambda: places.update(ours=net.line(a, b).t),
            "prototype": lambda: places.update(prototype=prototype["Line"](model, a, b).run()[0]),
        }
        for _ in range(turns):
            for name, walk in walks.items():
                times[name].append(seconds(walk, device))
    mine, other = (places[name][1:-1] for name in walks)
    apart = float((mine - other).abs().max()) if len(mine) == len(other) else None
    return {"bends": len(mine), "theirs": len(other), **{name: min(t) for name, t in times.items()}, "apart": apart}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--networks", nargs="+", default=("resnet18", "plain_cnn"))
    parser.add_argument(
        "--share", type=float, nargs=2, default=(0.002, 0.2), help="of the way between two images: ResNet-18, CNN"
    )
    parser.add_argument("--trained", action="store_true", help="trained networks too")
    parser.add_argument("--prototype", type=Path, help="another walk, to be timed beside ours")
    parser.add_argument("--part", type=float, default=0.1, help="of each segment, for the prototype")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--json", type=Path, help="a file for the rows")
    arguments = parser.parse_args()
    device, rows = arguments.device, []
    torch.set_num_threads(1)
    cases = [
        (make, share, weights)
        for weights in ("random", *["trained"] * arguments.trained)
        for make, share in zip((resnet18, plain_cnn), arguments.share)
        if make.__name__ in arguments.networks
    ]
    for make, share, weights in cases:
        torch.manual_seed(0)
        model = make().to(device)
        if weights == "trained":
            model, images = trained(model, device)
            a, b = images[0], images[1]
        else:
            model = model.double()
            with torch.no_grad():
                for _ in range(3):
                    model(torch.randn(16, 3, 32, 32, dtype=torch.float64, device=device))
            a, b = torch.randn(2, 3, 32, 32, dtype=torch.float64, device=device)
        net = of(model, input_shape=(3, 32, 32))
        b = a + share * (b - a)
        net.line(a, a + 1e-3 * (b - a))  # the first call warms up
        result = []
        took = seconds(lambda net=net, a=a, b=b, result=result: result.append(net.line(a, b)), device)
        found, chunk = result[0], _walk._chunk(net.graph, a)
        least = limit(net, found, a, min(chunk, 4096), device)
        middle = ((found.t[:-1] + found.t[1:]) / 2)[torch.linspace(0, len(found), 20).long()]
        gap = float((found.at(middle) - net(torch.lerp(a[None], b[None], middle.view(-1, 1, 1, 1)))).abs().max())
        row = {"network": make.__name__, "weights": weights, "device": device, "share": share, "bends": len(found)}
        row |= {"seconds": took, "limit": least, "chunk": chunk, "gap": gap}
        print(
            f"{make.__name__}, {weights}: {len(found):,} bends in {took:.2f} s on {device}, {len(found) / took:,.0f}/s, chunks "
            f"of {chunk}; limit {least:.2f} s, ratio {took / least:.2f}; largest gap to the module {gap:.1e}",
            flush=True,
        )
        if arguments.prototype:
            end = a + arguments.part * (b - a)
            row["beside"] = both = beside(arguments.prototype, net, model, a, end, device, arguments.turns)
            print(
                f"  {both['bends']:,} bends of it: ours {both['ours']:.2f} s, the prototype {both['prototype']:.2f} s, "
                f"ratio {both['prototype'] / both['ours']:.2f}",
                flush=True,
            )
        rows.append(row)
        if arguments.json:
            arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
