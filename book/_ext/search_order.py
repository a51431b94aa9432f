"""The search finds stories first: `search.js` puts its results in order, by the words of the stories that are written here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import shown
import terms
from sphinx.application import Sphinx

from foldbook import plan
from foldbook.claims import claims

FORMULAS = re.compile(r"(?s)```.*?```|\$\$.*?\$\$|\$[^$\n]*\$|<[^>]+>|\]\([^)]*\)|`[^`]*`")
HEADING = re.compile(r"(?m)^#+ (.+)$")
BOX = re.compile(r"(?m)^> \*\*\w+\*\* \(([^()]+)\)")


def words(book: Path) -> dict[str, list[str]]:
    """Of each story, in small letters: title and question; headings, names of boxes and terms that it tells; text; its claims."""
    found, told, claimed = {}, {name: [] for name in plan.chapters()}, {name: [] for name in plan.chapters()}
    for term in terms.terms(book):
        if term.home is not None:
            told[term.home] += [term.name, *term.also]
    for claim in claims().values():
        claimed[claim.chapter].append(claim.title)
    for chapter in plan.chapters().values():
        cells = shown.stored(book / f"{chapter.name}.ipynb")
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        if text:
            plain = FORMULAS.sub(" ", text)
            first, *headings = [*HEADING.findall(plain), ""]
            named = " / ".join([*headings, *BOX.findall(text), *told[chapter.name]])
            parts = (f"{chapter.title} / {first}", named, HEADING.sub(" ", plain), " / ".join(claimed[chapter.name]))
            found[f"book/{chapter.name}"] = [" ".join(re.sub(r"[*_>#|]+", " ", part).lower().split()) for part in parts]
    return found


def use_scorer(app: Sphinx, config) -> None:
    config.html_search_scorer = str(Path(app.srcdir) / "book/_assets/search.js")


def add_words(app: Sphinx, pagename: str, template: str, context: dict, doctree) -> None:
    if pagename == "search":
        app.add_js_file("search-words.js", priority=100)


def write_words(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        text = json.dumps(words(Path(app.srcdir) / "book"), ensure_ascii=False, separators=(",", ":"))
        (Path(app.outdir) / "_static/search-words.js").write_text(f"window.storyWords = {text};\n", encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.connect("config-inited", use_scorer)
    app.connect("html-page-context", add_words)
    app.connect("build-finished", write_words)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
