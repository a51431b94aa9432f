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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, in an order that keeps neighbours apart for every kind of colour blindness.
COLORS = {
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "pink": "#cc79a7",
    "sky": "#56b4e9",
    "gold": "#e69f00",
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
    """A figure as an `<img>` ("svg" or "png") with its alt text, self-contained; the same figure gives the same bytes."""
    if not alt:
        raise ValueError("a figure needs an alt text that says what it shows")
    if fmt not in ("svg", "png"):
        raise ValueError(f"fmt is 'svg' or 'png'; got {fmt!r}")
    buffer = io.BytesIO()
    width = round(fig.get_figwidth() * 96)
    with _style():
        fig.savefig(buffer, format=fmt, dpi=144, metadata={"Date" if fmt == "svg" else "Software": None})
    if fmt == "svg":
        source = "data:image/svg+xml," + urllib.parse.quote(_slim(buffer.getvalue().decode()), safe=" ;,/:=()'<>@!*+-._~?$")
    else:  # 64 colours: a third of the bytes, and it looks the same
        from PIL import Image

        small = io.BytesIO()
        Image.open(buffer).convert("RGB").quantize(64).save(small, "png", optimize=True)
        source = "data:image/png;base64," + base64.b64encode(small.getvalue()).decode()
    return f'<img alt="{html.escape(alt)}" style="width:{width}px;max-width:100%;height:auto;background:#fff" src="{source}">'


def _slim(svg: str) -> str:
    """The same picture in fewer bytes: no metadata, one line, single quotes, paths to a hundredth of a point."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    svg = " ".join(svg.split()).replace('"', "'").replace("> <", "><")
    return re.sub(r" d='[^']*'", lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)


def show(fig, alt: str, caption: str = "", fmt: str = "svg") -> None:
    """Display a figure with alt text and caption, the same on the site, in Colab and in JupyterLab."""
    from IPython.display import display

    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    page = f'<figure class="foldnet-figure" style="margin:0">{image(fig, alt, fmt)}{below}</figure>'
    display({"text/html": page, "text/plain": f"Figure: {alt}"}, raw=True)
