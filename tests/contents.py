"""The pages that the table of contents names."""

from pathlib import Path

import yaml

TOC = Path(__file__).resolve().parents[1] / "_toc.yml"


def contents(node) -> list[str]:
    """Every file that a table of contents, or a part of one, names; as book/splines/breakpoints."""
    if isinstance(node, list):
        return [file for item in node for file in contents(item)]
    if not isinstance(node, dict):
        return []
    here = [node[key] for key in ("root", "file") if key in node]
    return here + [file for value in node.values() for file in contents(value)]


def toc_pages() -> list[str]:
    """Every page of the book, as book/splines/breakpoints."""
    return contents(yaml.safe_load(TOC.read_text(encoding="utf-8")))
