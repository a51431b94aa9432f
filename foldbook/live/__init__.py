"""Figures that hold the model itself: the reader drags, redraws, trains and folds in the page, with no kernel and no network.

The scripts are built from the sources in `live/`; what stands in a notebook is one element with a still picture, the state and
the script. Where scripts do not run (on paper, on GitHub) the picture is what one sees.

>>> from foldbook.live import figures, live
>>> sorted(figures())[:3]
['beyond', 'bottleneck', 'breakpoints']
>>> figure = live("breakpoints", ratio=0.5)
>>> figure, figure.title
(live(breakpoints, ratio), 'Where does a random network bend?')
>>> figure.embed().startswith("<iframe title=")
True
"""

from __future__ import annotations

import copy
import functools
import hashlib
import html
import json
from pathlib import Path
from typing import Any

import numpy as np

BUNDLES = Path(__file__).parent / "bundles"

# JupyterLab's command mode eats the arrow keys unless the focused element, here the figure's host, carries the attribute.
_HOST = (
    '<div data-live="{name}" data-live-hash="{hash}" data-lm-suppress-shortcuts="true"{words}>{still}'
    '<script type="application/json">{state}</script>\n<script data-live-script="{name}">{script}</script></div>'
)
_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>{title}</title></head><body>{figure}</body></html>"
)


@functools.cache
def figures() -> dict[str, dict]:
    """The figures there are: each with its `title`, the `defaults` of its state and the `hash` of its script."""
    return json.loads((BUNDLES / "index.json").read_text(encoding="utf-8"))


def script(name: str) -> str:
    """The built script of one figure, or of all of them for `"all"`; the guesses are "guess", "drawn", "marked" and "ask"."""
    return (BUNDLES / f"{name}.js").read_text(encoding="utf-8").strip()


def hash_of(name: str) -> str:
    """The hash of a script as it is now: an output stored in a notebook has that of the script it holds."""
    return hashlib.sha256((BUNDLES / f"{name}.js").read_bytes()).hexdigest()[:12]


class live:
    """A live figure by its name, beginning in a given state: `live("breakpoints", ratio=0.5)`.

    What `state` leaves out is as the figure begins by itself. In a notebook the object shows itself; `html` is what it shows,
    `page()` a whole page that stands alone, to be put into an iframe or on a disk. A `small` one has neither name nor foot and
    can stand on a page any number of times, beside the sentence that speaks of its state. `title` and `about` are a page's own
    name and small print for it. What a hand changes in one of several `linked` by the same name changes in all of them.
    """

    def __init__(self, name: str, small: bool = False, title: str = "", about: str = "", linked: str = "", **state):
        from .stills import STILLS

        if name not in figures():
            raise ValueError(f"live figures are {', '.join(figures())}; got {name!r}")
        self.name, self.small = name, small
        self.title, self.hash = title or figures()[name]["title"], figures()[name]["hash"]
        words = {"small": "1" * small, "title": title, "about": about, "linked": linked}
        self.given = {key: _plain(value) for key, value in state.items()}
        _fits(name, self.given, figures()[name]["defaults"])
        begin, draw = STILLS[name]
        self.state = copy.deepcopy({**figures()[name]["defaults"], **_rounded(begin(self.given)), **self.given})
        self.still = draw(self.state)
        self.html = _HOST.format(
            name=name,
            hash=self.hash,
            words="".join(f' data-{key}="{html.escape(value)}"' for key, value in words.items() if value),
            still=self.still,
            script=script(name),
            state=json.dumps(self.state).replace("</", "<\\/"),
        )

    def page(self) -> str:
        """The figure as a page of its own: one file without anything beside it."""
        return _PAGE.format(title=html.escape(self.title), figure=self.html)

    def embed(self, height: int = 720) -> str:
        """One line of HTML that puts the figure into any other page: an iframe that carries everything."""
        return (
            f'<iframe title="{html.escape(self.title)}" width="100%" height="{height}" style="border:0" '
            f'sandbox="allow-scripts" srcdoc="{html.escape(self.page())}"></iframe>'
        )

    def widget(self) -> Any:
        """The figure as an anywidget: what the reader does stands in its traits, `widget.points`, and what Python sets is shown.

        It needs a kernel and the package anywidget; the figure itself needs neither. In Colab, say
        `google.colab.output.enable_custom_widget_manager()` first.
        """
        from .widget import widget

        return widget(self.name, self.state, script(self.name))

    def __repr__(self) -> str:
        return f"live({', '.join([self.name, *['small'] * self.small, *sorted(self.given)])})"

    def _repr_mimebundle_(self, **_):
        return {"text/html": self.html, "text/plain": repr(self)}


def _plain(value):
    """Arrays and tensors as lists, what JSON can hold."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _rounded(value, digits: int = 5):
    """A state made here, in few digits: a page need not carry the sixteenth."""
    if isinstance(value, dict):
        return {key: _rounded(v, digits) for key, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_rounded(v, digits) for v in value]
    if hasattr(value, "tolist"):
        return _rounded(value.tolist(), digits)
    return round(value, digits) if isinstance(value, float) else value


def _fits(name: str, state: dict, defaults: dict) -> None:
    if unknown := sorted(set(state) - set(defaults)):
        raise ValueError(f"the live figure {name!r} has no {', '.join(unknown)}; its state is {', '.join(defaults)}")
    for key, value in state.items():
        kinds = {_kind(value), _kind(defaults[key])}
        if len(kinds - {"nothing"}) > 1:
            raise ValueError(f"{key} of the live figure {name!r} is a {_kind(defaults[key])}; got {value!r}")


def _kind(value) -> str:
    if value is None:
        return "nothing"
    kinds = {bool: "truth value", str: "text", list: "list", dict: "table"}
    return next((kind for type_, kind in kinds.items() if isinstance(value, type_)), "number")
