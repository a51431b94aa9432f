"""A live figure that a kernel can read: the same script on anywidget's model."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any

from . import script


def widget(name: str, state: dict) -> Any:
    """An `anywidget.AnyWidget` with one trait for each value of the figure's state, and all of them as `values`."""
    try:
        anywidget, traitlets = import_module("anywidget"), import_module("traitlets")
    except ModuleNotFoundError:
        sentence = "a live figure whose values Python can read needs the package anywidget: pip install anywidget"
        raise ModuleNotFoundError(f"{sentence}; without it, live({name!r}) shows the figure") from None

    if taken := sorted(set(state) & set(dir(anywidget.AnyWidget))):
        raise ValueError(f"a widget has a {taken[0]} of its own: another name is needed in the state of {name!r}")
    parts: dict[str, Any] = {key: traitlets.Any().tag(sync=True) for key in state}
    parts["_esm"] = f"{script(name)}\nexport default {{ render: (view) => globalThis.foldnetLive.{name}(view) }};\n"
    parts["values"] = property(lambda self: {key: getattr(self, key) for key in state})
    return type(f"Live{name.capitalize()}", (anywidget.AnyWidget,), parts)(**copy.deepcopy(state))
