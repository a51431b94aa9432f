"""The figures' lines in light and in dark: seen on every ground, and told apart by a deuteranope."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from foldnet import plots

LIVE = Path(__file__).parents[3] / "live"
LINES = ("blue", "orange", "green", "pink", "gold")
GROUNDS = ("paper", "fill", "tint-a", "tint-b")
# how a deuteranope sees linear RGB: Machado, Oliveira and Fernandes (2009)
DEUTERANOPE = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])


def linear(colour: str) -> np.ndarray:
    v = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    v = XYZ @ rgb.clip(0, 1) / [0.95047, 1, 1.08883]
    x, y, z = np.where(v > 0.008856, np.cbrt(v), 7.787 * v + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(a: str, b: str) -> float:
    low, high = sorted(float(XYZ[1] @ linear(c)) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def written(name: str) -> dict[str, str]:
    found = re.search(rf"{name} = `(.*?)`", (LIVE / "ui/palette.js").read_text(), re.DOTALL)
    assert found
    return dict(re.findall(r"--([\w-]+):(#\w{6})", found[1]))


@pytest.fixture(params=["LIGHT", "DARK", "drawings"])
def palette(request) -> dict[str, str]:
    return written("LIGHT") | plots.COLORS if request.param == "drawings" else written(request.param)


def lines(palette: dict[str, str]) -> list[str]:
    return [*LINES, *(["sky"] if "sky" in palette else [])]


def test_drawings_and_live_figures_have_one_palette():
    assert {line: plots.COLORS[line] for line in LINES} == {line: written("LIGHT")[line] for line in LINES}


def test_every_line_stands_out_from_every_ground(palette):
    for line, ground in itertools.product(lines(palette), GROUNDS):
        assert contrast(palette[line], palette[ground]) > 3, (line, ground)  # WCAG 1.4.11


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_of_the_pages_stand_out_too(theme):
    """Marks and words of verdicts, by the style sheet, on all papers that it has."""
    css = (LIVE.parent / "book/_assets/book.css").read_text(encoding="utf-8")
    found = dict(re.findall(r"--([\w-]+): (#\w{6})", re.search(rf'html\[data-theme="{theme}"\] {{(.*?)\n}}', css, re.DOTALL)[1]))
    names = ["pst-color-link", "pst-color-secondary", *(f"book-{name}" for name in ("green", "gold", "red", "blue", "grey"))]
    grounds = [found[f"pst-color-{name}"] for name in ("background", "surface", "target")]
    blue = re.search(rf"{theme.upper()} = `.*?--tint-a:(#\w{{6}})", (LIVE / "ui/palette.js").read_text(), re.DOTALL)[1]
    for name, ground in itertools.product(names, [*grounds, blue]):
        assert contrast(found[name], ground) > 3, (name, ground)


@pytest.mark.parametrize("eye", [np.eye(3), DEUTERANOPE], ids=["most eyes", "deuteranope"])
def test_no_two_lines_look_alike(palette, eye):
    """2.3 is said to be a difference that is just noticed; side by side one wants several times that."""
    seen = {line: lab(eye @ linear(palette[line])) for line in lines(palette)}
    for a, b in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[a] - seen[b]) > 15, (a, b)
