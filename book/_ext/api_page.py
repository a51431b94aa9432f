"""The API reference: one section a module, filled by autodoc from the docstrings."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

CORE = tuple(f"foldnet.{name}" for name in ("nets", "train", "data", "claims", "ledger", "explore", "live", "plots"))
OPTIONS = "   :members:\n   :special-members: __call__, __getitem__"


def write(site) -> str:
    shown, sections = examples(), []
    for name in module_names():
        example = f"```pycon\n{shown[name]}\n```\n\n" if name in shown else ""
        sections.append(f"## {name}\n\n{example}```{{eval-rst}}\n.. automodule:: {name}\n{OPTIONS}\n```\n")
    return "\n".join(sections)


def examples() -> dict[str, str]:
    """A runnable example for each module, from api_examples.txt; tests/site runs them as doctests."""
    text = Path(__file__).with_name("api_examples.txt").read_text(encoding="utf-8")
    return {name: body.strip() for name, body in re.findall(r"(?ms)^## (\S+)\n(.*?)(?=^## |\Z)", text)}


def module_names() -> list[str]:
    """The public modules of foldnet: the core in reading order, then one wing after another. Of packages, those in CORE."""
    import foldnet

    found = [m.name for m in pkgutil.walk_packages(foldnet.__path__, "foldnet.") if not m.ispkg or m.name in CORE]
    public = [name for name in found if not any(part.startswith("_") for part in name.split("."))]
    wings = sorted(set(public) - set(CORE), key=lambda name: (name.count("."), name))
    return [name for name in CORE if name in public] + wings
