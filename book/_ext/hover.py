"""Text on hover and on focus: what a link to a box, a verdict, a term or a source leads to, gathered for `hover.js`.

Once the site is built, the boxes are taken from its pages, with their numbers; verdicts come from the ledger, terms from the
glossary, sources from the references. All of it is one script that a page loads when it is first needed, also from a disk.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import templates
import terms
from docutils import nodes
from sphinx.application import Sphinx

from foldbook import ledger, plan
from foldbook.boxes import NAMED
from foldbook.claims import MARKS

BOX = re.compile(rf'<div class="thm thm-(?:{"|".join(kind.lower() for kind in NAMED)}) docutils container" id="([\w-]+)">')
DIV = re.compile(r"<(/?)div\b")
NO_LINKS = re.compile(r'</?a\b[^>]*>|\s(?:id|aria-label|title)="[^"]*"|<span class="[\w ]*headerlink[^>]*>.*?</span>')
PICTURE = re.compile(r"<img\b[^>]*>")
SOURCE = re.compile(r"\((s\d)\)=\s*\n+(\*\*S\d\.\*\*.*)")
MARK = re.compile(r"(?<![\w-])S\d(?![\w.-])")
LONGEST = 1800  # letters; what is longer is read where it stands


def boxes(page: str) -> dict[str, str]:
    """The text of each named box of a built page, by its anchor."""
    found = {}
    for start in BOX.finditer(page):
        depth = 1
        for tag in DIV.finditer(page, start.end()):
            depth += -1 if tag[1] else 1
            if not depth:
                text = PICTURE.sub("", NO_LINKS.sub("", page[start.end() : tag.start()])).strip()
                found |= {start[1]: text} if len(text) <= LONGEST else {}
                break
    return found


def gathered(root: Path, out: Path) -> dict[str, dict[str, str]]:
    """`texts` by page and anchor, `claims` by their id, and `cells`: the claim that a cell judges."""
    texts = {}
    for name in plan.titles():
        path = out / "book" / f"{name}.html"
        if path.is_file():
            texts |= {f"book/{name}#{anchor}": text for anchor, text in boxes(path.read_text(encoding="utf-8")).items()}
    for term in terms.terms(root / "book"):
        said = templates.markdown(term.says, inline=True)
        texts[f"{terms.PAGE}#{term.anchor}"] = f"<p><b>{term.name[:1].upper()}{term.name[1:]}.</b> {said}</p>"
    for anchor, said in SOURCE.findall((root / "book/references.md").read_text(encoding="utf-8")):
        texts[f"book/references#{anchor}"] = NO_LINKS.sub("", f"<p>{templates.markdown(said, inline=True)}</p>")
    claims, cells = {}, {}
    for row in ledger.ledger(root / "book"):
        claims[row["id"]] = templates.render("hovered.html", row=row, mark=MARKS[row["verdict"]])
        if row["notebook"]:
            cells[f"book/{row['notebook'].removesuffix('.ipynb')}#cell-{row['cell']}"] = row["id"]
    return {"texts": texts, "claims": claims, "cells": cells}


def write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        data = json.dumps(gathered(Path(app.srcdir), Path(app.outdir)), ensure_ascii=False, separators=(",", ":"))
        (Path(app.outdir) / "_static/hover-data.js").write_text(f"window.hoverData = {data};\n", encoding="utf-8")


def link_sources(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The first mention of a source by its mark, S2, leads to its entry in the references."""
    if docname.removeprefix("book/") not in plan.titles():
        return
    seen = set()
    for text in list(doctree.findall(nodes.Text)):
        hit = next((m for m in MARK.finditer(text) if m[0] in plan.sources() and m[0] not in seen), None)
        if hit and terms.is_running_text(text):
            seen.add(hit[0])
            target = f"{app.builder.get_relative_uri(docname, 'book/references')}#{hit[0].lower()}"
            link = nodes.reference("", hit[0], internal=True, refuri=target, classes=["term-link"])
            text.parent.replace(text, [nodes.Text(text[: hit.start()]), link, nodes.Text(text[hit.end() :])])


def setup(app: Sphinx) -> dict:
    app.add_js_file("hover.js", loading_method="defer")
    app.connect("doctree-resolved", link_sources)
    app.connect("build-finished", write, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
