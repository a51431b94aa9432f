"""ResNet-18, ResNet-152 and Inception-v3 as torchvision has them, with random weights: every name and shape, and no connection.

The second head of Inception-v3, which counts in training alone, is left out.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, max_pool2d

SEVEN = "branch7x7_1:{0}:1 branch7x7_2:{0}:1x7 branch7x7_3:192:7x1"
TWICE = "branch7x7dbl_1:{0}:1 branch7x7dbl_2:{0}:7x1 branch7x7dbl_3:{0}:1x7 branch7x7dbl_4:{0}:7x1 branch7x7dbl_5:192:1x7"
DOUBLE = "branch3x3dbl_1:64:1 branch3x3dbl_2:96:3 branch3x3dbl_3:96:3"
MIXED = {  # ways of a block: name, channels, kernel of each convolution; two with a + between them read the same
    "A": ("branch1x1:64:1", "branch5x5_1:48:1 branch5x5_2:64:5", DOUBLE, "mean branch_pool:{0}:1"),
    "B": ("branch3x3:384:3s2", DOUBLE + "s2", "max"),
    "C": ("branch1x1:192:1", SEVEN, TWICE, "mean branch_pool:192:1"),
    "D": (
        "branch3x3_1:192:1 branch3x3_2:320:3s2",
        "branch7x7x3_1:192:1 branch7x7x3_2:192:1x7 branch7x7x3_3:192:7x1 branch7x7x3_4:192:3s2",
        "max",
    ),
    "E": (
        "branch1x1:320:1",
        "branch3x3_1:384:1 branch3x3_2a:384:1x3+branch3x3_2b:384:3x1",
        "branch3x3dbl_1:448:1 branch3x3dbl_2:384:3 branch3x3dbl_3a:384:1x3+branch3x3dbl_3b:384:3x1",
        "mean branch_pool:192:1",
    ),
}
INCEPTION = "5b:A:32 5c:A:64 5d:A:64 6a:B: 6b:C:128 6c:C:160 6d:C:160 6e:C:192 7a:D: 7b:E: 7c:E:"


def resnet18(weights=None):
    assert weights is None, "no connection is needed"
    return ResNet((2, 2, 2, 2), deep=False)


def resnet152(weights=None):
    assert weights is None, "no connection is needed"
    return ResNet((3, 8, 36, 3), deep=True)


def inception_v3(weights=None):
    assert weights is None, "no connection is needed"
    return Inception()


class Block(nn.Module):
    """Two convolutions of 3 x 3, or a narrow one between two of 1 x 1, and what comes in added to what they give."""

    def __init__(self, before: int, width: int, stride: int, deep: bool):
        super().__init__()
        after = 4 * width if deep else width
        sizes = [(before, width, 1), (width, width, 3), (width, after, 1)] if deep else [(before, width, 3), (width, after, 3)]
        self.steps = len(sizes)
        for k, (into, out, side) in enumerate(sizes, 1):
            step = stride if k == (2 if deep else 1) else 1
            self.add_module(f"conv{k}", nn.Conv2d(into, out, side, step, side // 2, bias=False))
            self.add_module(f"bn{k}", nn.BatchNorm2d(out))
        short = [nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)]
        self.downsample = nn.Sequential(*short) if stride > 1 or before != after else None

    def forward(self, x: Tensor) -> Tensor:
        h = x
        for k in range(1, self.steps + 1):
            h = self.get_submodule(f"bn{k}")(self.get_submodule(f"conv{k}")(h))
            h = h.relu() if k < self.steps else h
        return (h + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet(nn.Module):
    def __init__(self, blocks: tuple[int, ...], deep: bool):
        super().__init__()
        self.conv1, self.bn1, before = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), 64
        for k, count in enumerate(blocks):
            width, parts = 64 * 2**k, []
            for first in [True] + [False] * (count - 1):
                parts.append(Block(before, width, 2 if first and k else 1, deep))
                before = 4 * width if deep else width
            self.add_module(f"layer{k + 1}", nn.Sequential(*parts))
        self.fc = nn.Linear(before, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = max_pool2d(self.bn1(self.conv1(x)).relu(), 3, 2, 1)
        for k in range(1, 5):
            x = self.get_submodule(f"layer{k}")(x)
        return self.fc(x.mean((-2, -1)))


class Conv(nn.Module):
    """A convolution, batch normalization and ReLU."""

    def __init__(self, into: int, out: int, kernel: str, padded: bool = True):
        super().__init__()
        sides, _, stride = kernel.partition("s")
        size = tuple(int(k) for k in (sides.split("x") if "x" in sides else [sides] * 2))
        around = tuple(k // 2 if padded and not stride else 0 for k in size)
        self.conv = nn.Conv2d(into, out, size, int(stride or 1), around, bias=False)  # ty: ignore[invalid-argument-type]
        self.bn = nn.BatchNorm2d(out, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn(self.conv(x)).relu()


class Mixed(nn.Module):
    """Several ways side by side, and the channels of all of them."""

    def __init__(self, before: int, kind: str, width: str):
        super().__init__()
        self.ways, self.out = [], 0
        for way in MIXED[kind]:
            steps, into = [], before
            for step in way.format(width).split():
                parts = [part.split(":") for part in step.split("+")]
                steps.append([name for name, *_ in parts])
                for name, *size in parts if parts[0][1:] else ():
                    self.add_module(name, Conv(into, int(size[0]), size[1]))
                into = sum(int(size[0]) for _, *size in parts) if parts[0][1:] else into
            self.ways.append(steps)
            self.out += into

    def forward(self, x: Tensor) -> Tensor:
        found = []
        for steps in self.ways:
            h = x
            for names in steps:
                if names == ["mean"]:
                    h = avg_pool2d(h, 3, 1, 1)
                elif names == ["max"]:
                    h = max_pool2d(h, 3, 2)
                else:
                    h = torch.cat([self.get_submodule(name)(h) for name in names], 1)
            found.append(h)
        return torch.cat(found, 1)


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3, self.Conv2d_2a_3x3 = Conv(3, 32, "3s2"), Conv(32, 32, "3", padded=False)
        self.Conv2d_2b_3x3, self.Conv2d_3b_1x1 = Conv(32, 64, "3"), Conv(64, 80, "1")
        self.Conv2d_4a_3x3, before = Conv(80, 192, "3", padded=False), 192
        for block in INCEPTION.split():
            name, kind, width = block.split(":")
            part = Mixed(before, kind, width)
            self.add_module(f"Mixed_{name}", part)
            before = part.out
        self.fc = nn.Linear(before, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = max_pool2d(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))), 3, 2)
        x = max_pool2d(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)), 3, 2)
        for block in INCEPTION.split():
            x = self.get_submodule(f"Mixed_{block.split(':')[0]}")(x)
        return self.fc(x.mean((-2, -1)))
