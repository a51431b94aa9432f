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


def test_a_row_of_panels_says_where_it_may_be_cut():
    """One cut between two panels, clear of both; a colour bar stays with its panel; what is stacked or shared is not cut."""

    def cuts(*shape, **kwargs):
        fig, axes = plots.subplots(*shape, **kwargs)
        return fig, axes, lambda: [float(x) for x in re.findall(r'data-cuts="([^"]*)"', plots.image(fig, "panels"))[0].split()]

    fig, axes, read = cuts(1, 3, figsize=(9, 3))
    drawn = axes[2].imshow([[0, 1], [2, 3]])
    fig.colorbar(drawn)
    found = read()
    spans = [box.x0 / fig.bbox.width for ax in axes for box in [ax.get_tightbbox()]]
    ends = [box.x1 / fig.bbox.width for ax in axes for box in [ax.get_tightbbox()]]
    assert len(found) == 2
    assert all(end < cut < begin for end, cut, begin in zip(ends, found, spans[1:]))
    for shape in ((1, 1), (2, 1)):
        assert "data-cuts" not in plots.image(cuts(*shape)[0], "one column")
    assert "data-gutter" not in plots.image(fig, "each panel has its own axis")
    shared, (one, _), _ = cuts(1, 2, sharey=True)
    gutter = float(re.findall(r'data-gutter="([^"]*)"', plots.image(shared, "one axis for both"))[0])
    assert gutter == pytest.approx(one.get_position().x0, abs=1e-3)
    assert 0.02 < gutter < 0.2
    other, (_, right), _ = cuts(1, 2)
    right.set(ylim=(5, 9), yticks=[])
    assert "data-gutter" not in plots.image(other, "a panel without ticks has another axis")
    for ax in (bare := cuts(1, 2))[1]:
        ax.set_axis_off()
    assert "data-gutter" not in plots.image(bare[0], "no axis")
    whole, (left, _), _ = cuts(1, 2)
    whole.legend(left.plot([0, 1], label="a line"), ["a line"])
    assert "data-cuts" not in plots.image(whole, "a legend of both")


def shown(monkeypatch, fig, **how) -> str:
    said = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, **_: said.append(bundle["text/html"]))
    plots.show(fig, "a line that rises", **how)
    return said[0]


def test_a_wide_figure_of_one_column_is_drawn_again_for_a_phone(monkeypatch):
    """As wide as a phone, with words of the same size, from the same bytes each time; the figure itself stays as it was."""
    fig, ax = plots.subplots(figsize=(6.4, 3))
    ax.plot([0, 1], label="it rises")
    first = shown(monkeypatch, fig)
    (narrow,) = re.findall(r'<source media="\(max-width: 37.5rem\)" srcset="([^"]*)"><img ', first)
    size = re.search(r"width%3D'([\d.]+)pt'|width='([\d.]+)pt'", narrow)
    assert " " not in narrow, "a space would end the address"
    assert float(size[1] or size[2]) == pytest.approx(72 * plots.NARROW)
    assert tuple(fig.get_size_inches()) == (6.4, 3)
    assert shown(monkeypatch, fig) == first
    assert "<source" not in shown(monkeypatch, fig, fmt="png")
    ax.text(0, 0.5, "words that need much more room than a phone will have, in one line", fontsize=12)
    assert "<source" not in shown(monkeypatch, fig), "it would be cut off"
    for columns, width in ((2, 6.4), (1, plots.NARROW)):
        assert "<source" not in shown(monkeypatch, plots.subplots(1, columns, figsize=(width, 3))[0])


@pytest.mark.parametrize("at", [-0.2, 1.0])
def test_what_reaches_over_one_edge_of_a_narrow_figure_is_shown_wide_alone(at):
    fig, _ = plots.subplots(figsize=(5, 2))
    assert plots._two_widths(fig, "x", "svg").startswith("<picture>")
    fig.text(at, 0.5, "far out")
    assert plots._two_widths(fig, "x", "svg").startswith("<img")
