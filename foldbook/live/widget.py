"""A live figure that a kernel can read: the same script on anywidget's model.

>>> from importlib.util import find_spec
>>> from foldbook.live import live
>>> if find_spec("anywidget"):  # pip install "foldnet[widget]"
...     figure = live("breakpoints", ratio=0.5).widget()
...     assert figure.values["ratio"] == 0.5
"""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any


def widget(name: str, state: dict, script: str) -> Any:
    """An `anywidget.AnyWidget` with one trait for each value of the figure's state, and all of them as `values`.

    `script` is the built script of the figure.
    """
    try:
        anywidget, traitlets = import_module("anywidget"), import_module("traitlets")
    except ModuleNotFoundError:
        sentence = "a live figure whose values Python can read needs the package anywidget: pip install anywidget"
        raise ModuleNotFoundError(f"{sentence}; without it, live({name!r}) shows the figure") from None

    if taken := sorted(set(state) & set(dir(anywidget.AnyWidget))):
        raise ValueError(f"a widget has a {taken[0]} of its own: another name is needed in the state of {name!r}")
    parts: dict[str, Any] = {key: traitlets.Any().tag(sync=True) for key in state}
    parts["_esm"] = f"{script}\nexport default {{ render: (view) => globalThis.foldnetLive.{name}(view) }};\n"
    parts["values"] = property(lambda self: {key: getattr(self, key) for key in state})
    return type(f"Live{name.capitalize()}", (anywidget.AnyWidget,), parts)(**copy.deepcopy(state))
