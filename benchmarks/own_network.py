"""Lines through ordinary networks, beside the least that exact work costs: `python benchmarks/own_network.py [--device cuda]`.

The limit: each bend needs one pass through the steps after the one that bends, and nothing else. Passes are timed in batches of
the same size, so that the ratio says how much is spent on finding bends and on interpolation.
"""

from __future__ import annotations

import argparse
import time

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


def seconds(work, device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


@torch.no_grad()
def limit(net: PiecewiseLinear, found, a, chunk: int, device: str) -> float:
    """Seconds for one pass through the rest of the network for every bend."""
    graph, batch = net.graph, a[None].expand(chunk, *a.shape).contiguous()
    whole = seconds(lambda: graph.run(batch), device)
    whole = min(whole, seconds(lambda: graph.run(batch), device))
    total = 0.0
    for number, name in enumerate(graph.kinked):
        before = min(seconds(lambda name=name: graph.run(batch, until=name), device) for _ in range(2))
        total += int((found.step == number).sum()) * (whole - before) / chunk
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--share", type=float, nargs=2, default=(0.002, 0.2), help="of the way between two images: ResNet-18, CNN"
    )
    arguments = parser.parse_args()
    device = arguments.device
    for make, share in ((resnet18, arguments.share[0]), (plain_cnn, arguments.share[1])):
        torch.manual_seed(0)
        model = make().double().to(device)
        with torch.no_grad():
            for _ in range(3):
                model(torch.randn(16, 3, 32, 32, dtype=torch.float64, device=device))
        net = of(model, input_shape=(3, 32, 32))
        a, b = torch.randn(2, 3, 32, 32, dtype=torch.float64, device=device)
        b = a + share * (b - a)
        net.line(a, a + 1e-3 * (b - a))  # the first call warms up
        result = []
        took = seconds(lambda net=net, a=a, b=b, result=result: result.append(net.line(a, b)), device)
        found, chunk = result[0], _walk._chunk(net.graph, a)
        least = limit(net, found, a, chunk, device)
        middle = ((found.t[:-1] + found.t[1:]) / 2)[torch.linspace(0, len(found), 20).long()]
        gap = float((found.at(middle) - net(torch.lerp(a[None], b[None], middle.view(-1, 1, 1, 1)))).abs().max())
        print(
            f"{make.__name__}: {len(found):,} bends in {took:.2f} s on {device}, {len(found) / took:,.0f}/s, chunks of {chunk}; "
            f"limit {least:.2f} s, ratio {took / least:.2f}; largest gap to the module {gap:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
