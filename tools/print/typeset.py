"""Markdown to a tagged PDF, by pandoc and Typst: links that hold on paper, a label for each box, words for each formula."""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any

from foldbook import boxes, notebooks

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "_build" / "print"
HERE = Path(__file__).parent / "templates"
STANDARD = "ua-1"  # PDF/UA: Typst refuses a picture or a formula without words, a heading out of order, a document without title
STORY = "commonmark+tex_math_dollars+pipe_tables+implicit_figures+smart"
KIND = re.compile(rf"({'|'.join(boxes.NAMED)}) \(([^();]+)")
EQUATION = re.compile(r"§eq(\d+)§(\$.*?(?<!\\)\$)", re.DOTALL)


class Document:
    """What is printed in one file: its blocks, its labels and the words for its formulas."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.blocks: list[dict] = []
        self.labels: dict[str, str] = {}  # a label, and the name of the box that has it
        self.formulas: list[str] = []
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(HERE, folder)

    def add(self, markdown: str, page: str = "", reads: str = STORY, shift: int = 0) -> None:
        """Append a text; `page` is its name below book/, from which its links lead on."""
        pypandoc = import_module("pypandoc")  # by name: an environment without it is checked as well

        more = json.loads(pypandoc.convert_text(markdown, "json", reads, [f"--shift-heading-level-by={shift}"]))["blocks"]
        self.blocks += _mapped(more, lambda node: self._labelled(node, page))

    def write(self, name: str, alts: dict[str, str], **meta) -> Path:
        """The PDF beside the folder, from the template of this name."""
        pypandoc, typst = import_module("pypandoc"), import_module("typst")

        ast = {"pandoc-api-version": [1, 23], "meta": {}, "blocks": _mapped(self.blocks, self._resolved)}
        body = pypandoc.convert_text(json.dumps(ast), "typst", "json", ["--wrap=none"])
        body = re.sub(r'image\("([^"]+)"', lambda m: f"{m[0]}, alt: {json.dumps(alts[m[1]], ensure_ascii=False)}", body)
        (self.folder / "body.typ").write_text(EQUATION.sub(self._formula, body), encoding="utf-8")
        (self.folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
        target = self.folder.with_suffix(".pdf")
        how: dict[str, Any] = {"pdf_standards": [STANDARD], "ignore_system_fonts": True}  # Typst's own are the same everywhere
        typst.compile(self.folder / f"{name}.typ", output=target, root=self.folder, **how)
        return target

    def _labelled(self, node: dict, page: str) -> Any:
        """A heading, a box, a link and a formula with a name that holds in the whole document."""
        kind, content = node["t"], node.get("c", [])
        if kind == "Header":
            content[1][0] = self._label(page, content[1][0] if content[0] > 1 else "")
        elif kind == "BlockQuote" and (found := KIND.match(text(content[0]))):
            label = self._label(page, slug(f"{found[1]} {found[2]}"), f"{found[1]}: {found[2].strip()}")
            return {"t": "Div", "c": [[label, [], []], [node]]} if label else node
        elif kind == "Link":
            content[2][0] = address(content[2][0], page)
        elif kind == "Math":
            self.formulas.append(content[1])
            return [{"t": "RawInline", "c": ["typst", f"§eq{len(self.formulas) - 1}§"]}, node]
        elif kind == "Table":
            content[2] = [[align, {"t": "ColWidthDefault"}] for align, _ in content[2]]
        return [] if kind in ("HorizontalRule", "RawBlock") else node

    def _label(self, page: str, anchor: str, name: str = "") -> str:
        """A label, or none where it would stand a second time."""
        label = f"{slug(page)}--{anchor}".strip("-")
        if label in self.labels or not label:
            return ""
        self.labels[label] = name
        return label

    def _resolved(self, node: dict) -> Any:
        """A link to what is printed leads there, one to another page of the book to its source; a web address is left alone."""
        if node["t"] != "Link" or "://" in (target := node["c"][2][0]):
            return node
        page, _, anchor = target.partition("#")
        known = [label for label in (f"{slug(page)}--{anchor}", slug(page)) if label in self.labels]
        files = [path for path in (f"book/{page}.ipynb", f"book/{page}.md") if (ROOT / path).is_file()]
        if not known and not files:
            return node["c"][1]
        node["c"][2][0] = f"#{known[0]}" if known else f"{notebooks.current_address(ROOT)}/blob/main/{files[0]}"
        return node

    def _formula(self, found: re.Match) -> str:
        words = json.dumps(self.formulas[int(found[1])].strip(), ensure_ascii=False)
        block = "true" if found[2][1].isspace() else "false"
        return f"#math.equation(block: {block}, alt: {words}, {found[2]}.body)"


def address(target: str, page: str) -> str:
    """Where a link of a page leads, as the name of a page below book/ and an anchor."""
    if "://" in target or target.startswith("mailto:"):
        return target
    path, _, anchor = target.partition("#")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return re.sub(r"\.(ipynb|md)$", "", there) + (f"#{anchor}" if anchor else "")


def slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def text(node: Any) -> str:
    """The words of a part of a document."""
    if isinstance(node, list):
        return "".join(map(text, node))
    if not isinstance(node, dict):
        return ""
    plain = {"Space": " ", "SoftBreak": " ", "Str": node.get("c")}
    return plain[node["t"]] if node.get("t") in plain else text(node.get("c", []))


def _mapped(node: Any, change: Callable[[dict], Any]) -> Any:
    """A tree with every element changed, the inner ones first; a list in the place of an element is spliced in."""
    if isinstance(node, list):
        out: list = []
        for part in node:
            new = _mapped(part, change)
            out += new if isinstance(part, dict) and isinstance(new, list) else [new]
        return out
    if not isinstance(node, dict) or "t" not in node:
        return node
    return change({**node, "c": _mapped(node["c"], change)} if "c" in node else node)


def index(labels: Collection[tuple[str, str]], kind: str) -> list[dict]:
    """The boxes of one kind, in the order of their names."""
    prefix = f"{kind}: "
    found = [{"name": name.removeprefix(prefix), "label": label} for label, name in labels if name.startswith(prefix)]
    return sorted(found, key=lambda entry: entry["name"].lower())
