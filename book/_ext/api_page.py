"""The API reference: one section a module, filled by autodoc from the docstrings, examples included."""

from __future__ import annotations

import pkgutil

CORE = tuple(f"foldnet.{name}" for name in ("nets", "train", "plots", "data"))
BOOK = tuple(f"foldbook.{name}" for name in ("claims", "stored", "exercises", "explore", "live", "ledger"))
OPTIONS = "   :members:\n   :special-members: __call__, __getitem__"


def write(site) -> str:
    return "\n".join(f"## {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n{OPTIONS}\n```\n" for name in module_names())


def module_names() -> list[str]:
    """The public modules of foldnet, the core in reading order and then part after part; last, what pages call of foldbook."""
    import foldnet

    found = [m.name for m in pkgutil.walk_packages(foldnet.__path__, "foldnet.") if not m.ispkg]
    public = [name for name in found if not any(part.startswith("_") for part in name.split("."))]
    return [*CORE, *sorted(set(public) - set(CORE), key=lambda name: (name.count("."), name)), *BOOK]
