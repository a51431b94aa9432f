"""One look for every figure of the book, and figures that carry their alt text wherever the notebook is opened.

>>> from foldnet import plots
>>> fig, ax = plots.subplots(figsize=(4, 2))
>>> _ = ax.plot([0, 1], [0, 1], color=plots.COLORS["orange"])
>>> plots.image(fig, alt="a line through the origin")[:36]
'<img alt="a line through the origin"'
"""

from __future__ import annotations

import base64
import html
import io
import re
import urllib.parse
from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The hues of Okabe and Ito, dark enough for thin lines on tinted paper, in an order that keeps neighbours apart for every kind of
# colour blindness. The live figures have the same.
COLORS = {
    "blue": "#00608f",
    "orange": "#b84f06",
    "green": "#00863f",
    "pink": "#af568e",
    "sky": "#3d86d6",
    "gold": "#6e4700",
    "black": "#333333",
}
SEQUENTIAL = "cividis"

STYLE = {
    "figure.figsize": (6.4, 3.4),
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "svg.hashsalt": "foldnet",
}
MOST_TWICE = 100_000  # characters: what is larger is not drawn twice
NARROW = 4.4  # inches: as wide as a phone can show with words of eleven pixels


def signed() -> Any:
    """The colour map of numbers with a sign, the same in every figure: blue below zero, white, orange above."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signed", [COLORS["blue"], "white", COLORS["orange"]])


def use() -> None:
    """Give every figure from here on the book's look; a chapter says so once."""
    import matplotlib.pyplot as plt

    plt.rcParams.update(_settings())


@contextmanager
def _style() -> Generator[None]:
    """The book's look for the figures drawn inside the block; nothing outside it changes."""
    import matplotlib.pyplot as plt

    with plt.rc_context(_settings()):
        yield


def _settings() -> dict:
    from cycler import cycler

    return {**STYLE, "axes.prop_cycle": cycler(color=list(COLORS.values()))}


def subplots(*args, **kwargs) -> tuple[Figure, Any]:
    """`matplotlib.pyplot.subplots` in the book's look, without leaving the figure open for the notebook to show again."""
    import matplotlib.pyplot as plt

    with _style():
        fig, axes = plt.subplots(*args, **kwargs)
    plt.close(fig)
    return fig, axes


def image(fig, alt: str, fmt: str = "svg") -> str:
    """A figure as an `<img>` (fmt is "svg" or "png") with its alt text, self-contained; the same figure gives the same bytes."""
    if not alt:
        raise ValueError("a figure needs an alt text that says what it shows")
    if fmt not in ("svg", "png"):
        raise ValueError(f"fmt is 'svg' or 'png'; got {fmt!r}")
    buffer = io.BytesIO()
    width = round(fig.get_figwidth() * 96)
    with _style():
        fig.savefig(buffer, format=fmt, dpi=144, metadata={"Date" if fmt == "svg" else "Software": None})
    if fmt == "svg":
        source = _address(buffer)
    else:  # 64 colours: a third of the bytes; chosen by k-means, or greys beside colours are tinted
        from PIL import Image

        small = io.BytesIO()
        Image.open(buffer).convert("RGB").quantize(64, kmeans=1).save(small, "png", optimize=True)
        source = "data:image/png;base64," + base64.b64encode(small.getvalue()).decode()
    cuts, gutter = _cuts(fig)
    data = f' data-cuts="{" ".join(f"{x:.3f}" for x in cuts)}"' * bool(cuts) + f' data-gutter="{gutter:.3f}"' * bool(gutter)
    return (
        f'<img alt="{html.escape(alt)}"{data} style="width:{width}px;max-width:100%;height:auto;background:#fff" src="{source}">'
    )


def _address(svg: io.BytesIO, safe: str = " ") -> str:
    return "data:image/svg+xml," + urllib.parse.quote(_slim(svg.getvalue().decode()), safe=f"{safe};,/:=()'<>@!*+-._~?$")


def _two_widths(fig, alt: str, fmt: str) -> str:
    """The figure as an image; where it is one column of panels and fits, also drawn again, narrow, for a phone."""
    wide, (width, height) = image(fig, alt, fmt), fig.get_size_inches()
    if fmt != "svg" or width <= NARROW or len(wide) > MOST_TWICE or fig.legends or len(_columns(fig)) != 1:
        return wide
    fig.set_size_inches(NARROW, height)
    buffer = io.BytesIO()
    with _style():
        fig.savefig(buffer, format="svg", metadata={"Date": None})
    seen = fig.get_tightbbox()
    fig.set_size_inches(width, height)
    if seen.x0 < -0.05 or seen.x1 > NARROW + 0.05:
        return wide
    return f'<picture><source media="(max-width: 37.5rem)" srcset="{_address(buffer, safe="")}">{wide}</picture>'


def _cuts(fig) -> tuple[list[float], float]:
    """Where a row of panels may be cut, as shares of the width, so that a phone shows them one below the other; and how wide the
    labels on the left are that all of them share, one axis for all, else 0.

    No cuts where something belongs to the whole figure, or where panels are stacked.
    """
    if fig.legends or fig.texts:
        return [], 0.0
    edges, panels = fig.bbox.width, _columns(fig)
    cuts = [(a[1] + b[0]) / 2 / edges for a, b in pairwise(panels)]
    first, others = panels[0][2] if panels else [], [ax for panel in panels[1:] for ax in panel[2]]
    same = all(ax.get_ylim() == first[0].get_ylim() for ax in others)
    if not cuts or not same or any(map(_labelled, others)) or not any(map(_labelled, first)):
        return cuts, 0.0
    return cuts, min(ax.get_position().x0 for ax in first)


def _columns(fig) -> list[tuple[float, float, list]]:
    """The columns of panels from left to right: where each begins and ends, and its axes; a colour bar belongs to its panel."""
    panels = []
    seen = [(ax, box) for ax in fig.axes if ax.get_visible() and (box := ax.get_tightbbox())]
    for ax, box in sorted(seen, key=lambda one: one[1].x0):
        if panels and (box.x0 < panels[-1][1] or hasattr(ax, "_colorbar")):
            panels[-1] = (panels[-1][0], max(box.x1, panels[-1][1]), [*panels[-1][2], ax])
        else:
            panels.append((box.x0, box.x1, [ax]))
    return panels


def _labelled(ax) -> bool:
    """Whether an axis has words or numbers on its left."""
    ticks = ax.yaxis.get_tick_params()["labelleft"] and any(label.get_text() for label in ax.get_yticklabels())
    return bool(ax.axison and (ticks or ax.get_ylabel()))


def _slim(svg: str) -> str:
    """The same picture in fewer bytes: no metadata, one line, single quotes, paths to a hundredth of a point."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    svg = " ".join(svg.split()).replace('"', "'").replace("> <", "><")
    return re.sub(r" d='[^']*'", lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)


def show(fig, alt: str, caption: str = "", fmt: str = "svg") -> None:
    """Display a figure, the same on the site, in Colab and in JupyterLab.

    alt: what is to be seen, for those who do not see it.
    caption: what stands below it.
    fmt: "svg", or "png" for what has many points.
    """
    from IPython.display import display

    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    page = f'<figure class="foldnet-figure" style="margin:0">{_two_widths(fig, alt, fmt)}{below}</figure>'
    display({"text/html": page, "text/plain": f"Figure: {alt}"}, raw=True)
