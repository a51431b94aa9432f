"""Figures carry their alt text, give the same bytes each time, and leave matplotlib as it was."""

import re
import subprocess
import sys

import matplotlib
import matplotlib.pyplot as plt
import pytest

from foldnet import plots

matplotlib.use("agg")


def figure():
    fig, axes = plots.subplots()
    axes.plot([0, 1, 2], [0, 1, 0], label=r"$x^2$")
    axes.scatter([0, 1], [1, 0])
    axes.legend()
    axes.set_xlabel("$x$")
    return fig


@pytest.mark.parametrize("fmt", ["svg", "png"])
def test_the_same_figure_gives_the_same_bytes(fmt):
    first = plots.image(figure(), "a line that rises and falls", fmt)
    assert first == plots.image(figure(), "a line that rises and falls", fmt)
    assert first.startswith('<img alt="a line that rises and falls"')
    assert f'src="data:image/{"svg+xml" if fmt == "svg" else "png"}' in first


DRAW = """
import hashlib, matplotlib
matplotlib.use("agg")
from foldnet import plots
fig, axes = plots.subplots()
axes.plot([0, 1, 2], [0, 1, 0])
axes.fill_between([0, 1], [0, 1])
print(hashlib.sha1(plots.image(fig, "a line").encode()).hexdigest())
"""


def test_the_bytes_are_the_same_in_another_process():
    runs = {subprocess.run([sys.executable, "-c", DRAW], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 1


@pytest.mark.parametrize("alt", ["", None])
def test_a_figure_without_alt_text_is_refused(alt):
    with pytest.raises(ValueError, match="needs an alt text"):
        plots.image(figure(), alt)


def test_pages_show_no_other_format():
    with pytest.raises(ValueError, match="'svg' or 'png'; got 'pdf'"):
        plots.image(figure(), "a line", "pdf")


def test_alt_and_caption_are_escaped(monkeypatch):
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    plots.show(figure(), 'a "line" & <more>', "where x < y")
    page = shown[0]["text/html"]
    assert 'alt="a &quot;line&quot; &amp; &lt;more&gt;"' in page
    assert "<figcaption>where x &lt; y</figcaption>" in page
    assert shown[0]["text/plain"] == 'Figure: a "line" & <more>'
    plots.show(figure(), "no caption at all")
    assert "figcaption" not in shown[1]["text/html"]


def test_nothing_global_changes_and_no_figure_stays_open():
    before = dict(plt.rcParams)
    plots.image(figure(), "a line")
    plots.image(figure(), "a line", "png")
    assert dict(plt.rcParams) == before
    assert plt.get_fignums() == []


def test_the_book_has_one_look():
    fig, axes = plots.subplots()
    axes.plot([0, 1])
    assert axes.lines[0].get_color() == plots.COLORS["blue"]
    assert not axes.spines["top"].get_visible()
    assert tuple(fig.get_size_inches()) == plots.STYLE["figure.figsize"]


def test_neighbouring_colours_differ_in_lightness_or_hue():
    """For the common kinds of colour blindness (Viénot, Brettel and Mollon 1999) neighbours of the palette stay apart."""
    import numpy as np

    deuteranopia = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
    protanopia = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in plots.COLORS.values()])
    for matrix in (np.eye(3), deuteranopia, protanopia):
        seen = rgb**2.2 @ matrix.T
        assert np.linalg.norm(np.diff(np.clip(seen, 0, 1) ** (1 / 2.2), axis=0), axis=1).min() > 0.2


def test_svg_is_small_and_whole():
    page = plots.image(figure(), "a line")
    assert len(page) < 60_000
    assert not re.search(r"Date|<\?xml", page)
