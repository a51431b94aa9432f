"""Terms lead to what they mean: the first mention of each word of book/glossary.yml in a story is a quiet link to its entry.

A word with two senses has two entries, each with the parts or chapters that it is meant in. The glossary shows the entries, and
below them the definitions of all chapters, made from the notebooks like the ledger.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import templates
from boxes import UNLINKED, ancestors, slug
from docutils import nodes
from sphinx.application import Sphinx

from foldbook import plan

DEFINITION = re.compile(r"(?m)^> ?\*\*Definition\*\* \(([^();]+)[^()]*\)\.?\s*(.*)$")
PAGE = "book/glossary"


@dataclass(frozen=True)
class Term:
    """A term and what it says; the chapter that tells it, its other forms, and where the word is meant so (None: everywhere)."""

    name: str
    says: str
    home: str | None
    also: tuple[str, ...] = ()
    within: tuple[str, ...] | None = None

    @property
    def anchor(self) -> str:
        return slug(f"term {self.name}")

    @property
    def pattern(self) -> re.Pattern:
        """Any of its forms, a plural in s too; capital letters matter where the term has one inside or is all capitals."""
        forms = sorted({self.name, *self.also} if " of a " not in self.name else set(self.also), key=len, reverse=True)
        exact = any(letter.isupper() for letter in self.name)
        return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, forms))})s?(?![\w-])", 0 if exact else re.IGNORECASE)

    def is_meant_in(self, chapter: str) -> bool:
        """Whether a story links the word: not the one that tells it, and only where it is meant in this sense."""
        here = self.within is None or any(chapter == one or chapter.startswith(f"{one}/") for one in self.within)
        return here and chapter != self.home


@functools.cache
def _read(path: Path, changed: float) -> tuple[Term, ...]:
    entries = plan.read(path)
    within = lambda entry: tuple(entry["in"]) if "in" in entry else None  # noqa: E731
    return tuple(Term(e["term"], e["says"], e["home"], tuple(e.get("also", ())), within(e)) for e in entries)


def terms(book: Path) -> tuple[Term, ...]:
    """The terms of the glossary."""
    path = book / "glossary.yml"
    return _read(path, path.stat().st_mtime) if path.is_file() else ()


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The first mention of each term in a story becomes a link to its entry."""
    chapter = docname.removeprefix("book/")
    if chapter not in plan.chapters():
        return
    meant = [term for term in terms(Path(app.srcdir) / "book") if term.is_meant_in(chapter)]
    for term in sorted(meant, key=lambda term: len(term.name), reverse=True):
        for text in list(doctree.findall(nodes.Text)):
            hit = term.pattern.search(text)
            if hit and is_running_text(text):
                target = f"{app.builder.get_relative_uri(docname, PAGE)}#{term.anchor}"
                link = nodes.reference("", hit[0], internal=True, refuri=target, classes=["term-link"])
                text.parent.replace(text, [nodes.Text(text[: hit.start()]), link, nodes.Text(text[hit.end() :])])
                break


def is_running_text(text: nodes.Text) -> bool:
    """Whether a text is part of a paragraph that is no box, and neither link nor code nor formula."""
    above = list(ancestors(text))
    kept = any(isinstance(node, UNLINKED) or "thm" in node.get("classes", ()) for node in above)
    return not kept and any(isinstance(node, nodes.paragraph) for node in above)


def definitions(path: Path) -> list[tuple[str, str]]:
    """The definitions of a notebook: name and text."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    prose = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return [(name.strip(), text) for name, text in DEFINITION.findall(prose)]


def write(site) -> str:
    """The glossary: every term with its sense and the chapter that tells it, then the definitions of the chapters by name."""
    book = site.root / "book"
    entries = [(t, t.home and plan.titles()[t.home], t.home) for t in sorted(terms(book), key=lambda t: t.name.lower())]
    found = []
    for chapter in plan.chapters().values():
        for page in chapter.pages(book):
            for name, text in definitions(book / f"{page}.ipynb"):
                where = f"[Definition]({page}.ipynb#{slug(f'Definition {name}')}) in [{plan.titles()[page]}]({page}.ipynb)"
                found.append((name.lower(), f"**{_capital(name)}.** {text} {where}."))
    return templates.fill("glossary.md", entries=entries, definitions=[line for _, line in sorted(found)])


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def pages_to_rewrite(app: Sphinx, env) -> list[str]:
    """Other terms make other links, on every story."""
    now = terms(Path(app.srcdir) / "book")
    before, env.foldnet_terms_written = getattr(env, "foldnet_terms_written", None), now
    return [] if before == now else sorted(env.found_docs)


def setup(app: Sphinx) -> dict:
    app.connect("env-updated", pages_to_rewrite)
    app.connect("doctree-resolved", link_terms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
