"""The API reference: an index, then one section a module, filled by autodoc from the docstrings, examples included."""

from __future__ import annotations

import ast
import pkgutil
from importlib.util import find_spec
from pathlib import Path

import templates

CORE = tuple(f"foldnet.{name}" for name in ("nets", "train", "plots", "data"))
BOOK = tuple(f"foldbook.{name}" for name in ("claims", "stored", "exercises", "explore", "live", "ledger"))


def write(site) -> str:
    index: dict[str, list[dict]] = {}
    for name in module_names():
        index.setdefault(name.rpartition(".")[0], []).append({"name": name, **described(name)})
    return templates.fill("api.md", index=index)


def module_names() -> list[str]:
    """The public modules of foldnet, the core in reading order and then part after part; last, what pages call of foldbook."""
    import foldnet

    found = [m.name for m in pkgutil.walk_packages(foldnet.__path__, "foldnet.") if not m.ispkg]
    public = [name for name in found if not any(part.startswith("_") for part in name.split("."))]
    return [*CORE, *sorted(set(public) - set(CORE), key=lambda name: (name.count("."), name)), *BOOK]


def described(module: str) -> dict:
    """The first line that a module says of itself, and its functions and classes as far as autodoc shows them."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ImportError(f"there is no module {module}")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    names = [n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and not n.name.startswith("_")]
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = [name for name in names if name in ast.literal_eval(node.value)]
    return {"says": (ast.get_docstring(tree) or "").partition("\n")[0], "names": names}
