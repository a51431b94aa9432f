"""One pure function, three fronts: a figure that moves on the site, in JupyterLab and in Colab, with or without a kernel.

>>> from foldnet import plots
>>> from foldbook.explore import explore
>>> def draw(slope):
...     fig, ax = plots.subplots()
...     ax.plot([0, 1], [0, slope])
...     return fig
>>> figure = explore(draw, alt="a line of slope {slope}", slope=[1, 2, 3])
>>> figure.html.count("<option"), figure.html.count('type="range"')
(0, 1)
"""

from __future__ import annotations

import hashlib
import html
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from string import Template

from foldnet import plots

MOST_FRAMES = 60

# JupyterLab's command mode eats the arrow keys unless the focused element itself carries this attribute.
_KEYS = 'class="explore-in" data-lm-suppress-shortcuts="true"'


class explore:
    """An interactive figure: `draw(**choices)` makes a matplotlib figure, once for every combination; the output keeps them all.

    `choices` maps each argument of `draw` to the values it takes: numbers become a slider, texts and a mere two numbers a menu.
    `alt` describes a frame and may name the choices, as in `"a network with {width} neurons"`; where frames have little in common
    it is a function of them. `labels` renames controls, `start` sets where they begin; `title` and `about` are its name and small
    print, as a live figure has them.
    """

    def __init__(
        self,
        draw: Callable,
        *,
        alt: str | Callable[..., str],
        fmt: str = "svg",
        labels: dict | None = None,
        start: dict | None = None,
        title: str = "",
        about: str = "",
        **choices,
    ):
        self.draw, self.alt, self.fmt = draw, alt, fmt
        self.choices = {name: list(values) for name, values in choices.items()}
        self._known({**(labels or {}), **(start or {})})
        self.labels = {name: (labels or {}).get(name, name.replace("_", " ")) for name in self.choices}
        self.start = {name: (start or {}).get(name, values[0] if values else None) for name, values in self.choices.items()}
        count = 1
        for name, values in self.choices.items():
            count *= len(values)
            if self.start[name] not in values:
                raise ValueError(f"{name} starts at {self.start[name]!r}, which is not among its values {values}")
        if not self.choices or not 2 <= count <= MOST_FRAMES:
            raise ValueError(f"explore draws 2 to {MOST_FRAMES} frames; these choices make {count if self.choices else 0}")
        frames: dict[str, int] = {}
        index = []
        combinations = list(itertools.product(*self.choices.values()))
        for combination in combinations:
            frame = self.frame(**dict(zip(self.choices, combination)))
            index.append(frames.setdefault(frame, len(frames)))
        texts = [[_text(v) for v in values] for values in self.choices.values()]
        data = json.dumps({"labels": texts, "index": index, "frames": list(frames)}).replace("</", "<\\/")
        self.html = _page(
            words="".join(f'<p class="explore-{k}">{html.escape(v)}</p>' for k, v in (("title", title), ("about", about)) if v),
            uid=hashlib.sha1(data.encode()).hexdigest()[:12],
            data=data,
            first=list(frames)[index[combinations.index(tuple(self.start.values()))]],
            controls="".join(self._control(name) for name in self.choices),
        )

    def frame(self, **choice) -> str:
        """The HTML of one frame, drawn anew."""
        texts = {k: _text(v) for k, v in choice.items()}
        words = self.alt.format(**texts) if isinstance(self.alt, str) else self.alt(**choice)
        return plots.image(self.draw(**choice), words, self.fmt)

    def sliders(self, **finer) -> _Sliders:
        """The same figure on ipywidgets (7 or 8), drawn by the running kernel, with other or finer values for some choices."""
        self._known(finer)
        values = {name: list(finer.get(name, values)) for name, values in self.choices.items()}
        if empty := [name for name in values if not values[name]]:
            raise ValueError(f"{empty[0]} has no values to choose from")
        return _Sliders(self, values)

    def _known(self, names) -> None:
        if unknown := sorted(set(names) - set(self.choices)):
            raise ValueError(f"the figure has no choice named {', '.join(unknown)}; it has {', '.join(self.choices)}")

    def _control(self, name: str) -> str:
        values, now = self.choices[name], self.choices[name].index(self.start[name])
        label = html.escape(self.labels[name])
        if _is_menu(values):
            texts = enumerate(html.escape(_text(v)) for v in values)
            options = "".join(f'<option value="{i}"{" selected" * (i == now)}>{text}</option>' for i, text in texts)
            return f"<label>{label} <select {_KEYS}>{options}</select></label> "
        return (
            f'<label>{label} <input {_KEYS} type="range" min="0" max="{len(values) - 1}" value="{now}" '
            f'aria-valuetext="{_text(values[now])}"> <output>{_text(values[now])}</output></label> '
        )

    def _repr_mimebundle_(self, **_):
        return {"text/html": self.html, "text/plain": f"explore({named(self.draw)}: {', '.join(self.choices)})"}


class _Sliders:
    """ipywidgets where a kernel runs; one plain frame where none does, so that no page shows a dead control."""

    def __init__(self, figure: explore, values: dict[str, list]):
        import ipywidgets as widgets

        self.figure = figure
        start = {name: _nearest(figure.start[name], options) for name, options in values.items()}
        self.still = figure.frame(**start)
        picture = widgets.HTML(self.still)
        controls = {}
        for name, options in values.items():
            kind = widgets.Dropdown if _is_menu(options) else widgets.SelectionSlider
            pairs = [(_text(v), v) for v in options]
            controls[name] = kind(
                options=pairs, value=start[name], description=figure.labels[name], style={"description_width": "initial"}
            )

        def redraw(_):
            picture.value = figure.frame(**{name: control.value for name, control in controls.items()})

        for control in controls.values():
            control.observe(redraw, names="value")
        self.controls, self.picture = controls, picture
        self.box = widgets.VBox([*controls.values(), picture])

    def _repr_mimebundle_(self, **_):
        words = "With a running kernel, sliders stand here: open this page as a notebook and run it."
        note = f'<p class="explore-still"><small>{words}</small></p>'
        return {
            "application/vnd.jupyter.widget-view+json": {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id},
            "text/html": self.still + note,
            "text/plain": f"sliders({named(self.figure.draw)}: {', '.join(self.controls)})",
        }


def _page(uid: str, **parts: str) -> str:
    """The figure as HTML that needs nothing else: the template with its script, both from files."""
    folder = Path(__file__).with_name("_assets")
    page, script = (Template((folder / name).read_text(encoding="utf-8").strip()) for name in ("explore.html", "explore.js"))
    return page.substitute(uid=uid, script=script.substitute(uid=uid), **parts)


def _is_menu(values: list) -> bool:
    """Whether values are picked from a list; a slider needs numbers, and more than two places to stand."""
    return len(values) < 3 or any(isinstance(v, str) for v in values)


def _nearest(value, options: list):
    """The option that is, or lies next to, a value; the first where there is no distance."""
    if value in options or isinstance(value, str) or any(isinstance(option, str) for option in options):
        return value if value in options else options[0]
    return min(options, key=lambda option: abs(option - value))


def _text(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def named(function: Callable) -> str:
    """What a function is called, also where it is an object that can be called."""
    return getattr(function, "__name__", type(function).__name__)
