"""Terms lead to where they are defined: a word that stands bold in a definition is a term, its first mention on a page a link.

`**breakpoint**` in `> **Definition** (hinge). ...` makes *breakpoint* a term. On every other chapter's pages the first mention in
running text becomes a quiet link to the definition; a plural counts. The glossary lists the definitions of all chapters, with
their terms; it is made from the notebooks, like the ledger.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from boxes import UNLINKED, ancestors, chapter_numbers, slug
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform

DEFINITION = re.compile(r"(?m)^> ?\*\*Definition\*\* \(([^();]+)[^()]*\)\.?\s*(.*)$")
BOLD = re.compile(r"\*\*([^*]+)\*\*")


@dataclass(frozen=True)
class Term:
    """A term, the page that defines it and the anchor of the definition."""

    name: str
    page: str
    anchor: str


def terms_by_page(env: BuildEnvironment) -> dict[str, list[Term]]:
    if not hasattr(env, "foldnet_terms"):
        env.foldnet_terms = {}
    return env.foldnet_terms


class Terms(SphinxTransform):
    """Notes the bold words of definitions."""

    default_priority = 510  # after the boxes

    def apply(self):
        page = self.env.docname
        for box in self.document.findall(nodes.container):
            if "thm-definition" in box["classes"] and box["ids"]:
                bold = [strong for strong in box.findall(nodes.strong) if not strong.get("box")]
                for strong in bold:
                    terms_by_page(self.env).setdefault(page, []).append(Term(strong.astext().lower(), page, box["ids"][0]))


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The first mention of each term of another chapter becomes a link."""
    chapters = chapter_numbers(app.env)
    if docname not in chapters:
        return
    known = {t.name: t for terms in terms_by_page(app.env).values() for t in terms if chapters.get(t.page) != chapters[docname]}
    for name in sorted(known, key=len, reverse=True):
        pattern = re.compile(rf"\b{re.escape(name)}s?\b", re.IGNORECASE)
        for text in list(doctree.findall(nodes.Text)):
            hit = pattern.search(text)
            if hit and _is_running_text(text):
                target = f"{app.builder.get_relative_uri(docname, known[name].page)}#{known[name].anchor}"
                link = nodes.reference("", hit[0], internal=True, refuri=target, classes=["term-link"])
                text.parent.replace(text, [nodes.Text(text[: hit.start()]), link, nodes.Text(text[hit.end() :])])
                break


def _is_running_text(text: nodes.Text) -> bool:
    above = list(ancestors(text))
    kept = any(isinstance(node, UNLINKED) or "thm" in node.get("classes", ()) for node in above)
    return not kept and any(isinstance(node, nodes.paragraph) for node in above)


def definitions(path: Path) -> list[tuple[str, str, list[str]]]:
    """The definitions of a notebook: name, text and terms."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    prose = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return [(name.strip(), text, [t.lower() for t in BOLD.findall(text)]) for name, text in DEFINITION.findall(prose)]


def write(site) -> str:
    """The glossary: every definition of the book by name, with its text and a link to it, and its terms under their own names."""
    from foldbook import plan

    entries = []
    for chapter in plan.chapters().values():
        for page in chapter.pages(site.root / "book"):
            for name, text, bold in definitions(site.root / "book" / f"{page}.ipynb"):
                where = f"[Definition]({page}.ipynb#{slug(f'Definition {name}')}) in [{chapter.title}]({page}.ipynb)"
                entries.append((name.lower(), f"**{_capital(name)}.** {text} {where}."))
                entries += [(term, f"**{_capital(term)}:** see *{name}*, {where}.") for term in bold if term != name.lower()]
    return "\n\n".join(line for _, line in sorted(entries)) or "No chapter defines a term yet."


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    terms_by_page(env).pop(docname, None)


def pages_to_rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    now = {page: list(terms) for page, terms in terms_by_page(env).items()}
    before, env.foldnet_terms_written = getattr(env, "foldnet_terms_written", None), now
    return [] if before == now else sorted(env.found_docs)


def setup(app: Sphinx) -> dict:
    app.add_transform(Terms)
    app.connect("env-purge-doc", forget_page)
    app.connect("env-updated", pages_to_rewrite)
    app.connect("doctree-resolved", link_terms)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
