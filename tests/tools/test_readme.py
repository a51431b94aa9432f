"""What the README promises: its lines on one's own network run as they stand."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import nn

import foldnet
from foldnet.geometry.draw import draw

ROOT = Path(__file__).resolve().parents[2]


def test_the_five_lines_of_the_readme_run():
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert len(names["pieces"]) > 30
    assert abs(names["pieces"].areas.sum() - 36) < 1e-9


def test_its_pictures_are_there():
    pictures = re.findall(r'<img src="([^"]+)"', (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(pictures) == 2
    assert all((ROOT / picture).is_file() for picture in pictures)


def test_its_window_on_a_network_of_images_makes_a_picture_in_seconds():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = "".join(re.findall(r"^    ((?:net = foldnet|draw).*\n)", readme, re.MULTILINE))
    torch.manual_seed(0)
    convs = [nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
    more = [nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)]
    convolutional = nn.Sequential(*convs, *more, nn.Flatten(), nn.Linear(2048, 64), nn.ReLU(), nn.Linear(64, 10))
    found: list = []
    a, b, c = torch.rand(3, 3, 32, 32)
    given = {"a": a, "b": b, "c": c, "foldnet": foldnet, "plt": plt, "convolutional": convolutional}
    exec(lines, {**given, "draw": lambda pieces, ax, **how: (found.append(pieces), draw(pieces, ax, **how))})
    assert len(found) == 1
    assert 100 < len(found[0]) < 3000
