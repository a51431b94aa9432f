"""The API reference: one section a module, filled by autodoc from the docstrings."""

from __future__ import annotations

import pkgutil

CORE = ("foldnet.nets", "foldnet.train", "foldnet.data", "foldnet.claims", "foldnet.ledger", "foldnet.explore", "foldnet.plots")
OPTIONS = "   :members:\n   :special-members: __call__, __getitem__"


def write(site) -> str:
    return "\n".join(f"## {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n{OPTIONS}\n```\n" for name in module_names())


def module_names() -> list[str]:
    """The public modules of foldnet: the core in reading order, then one wing after another."""
    import foldnet

    found = [m.name for m in pkgutil.walk_packages(foldnet.__path__, "foldnet.") if not m.ispkg]
    public = [name for name in found if not any(part.startswith("_") for part in name.split("."))]
    wings = sorted(set(public) - set(CORE), key=lambda name: (name.count("."), name))
    return [name for name in CORE if name in public] + wings
