"""Theorem boxes from plain Markdown: `> **Theorem 2.1.3** (name). ...` becomes a box with an anchor, and mentions become links.

A block quote is a box when it opens with a bold label: a kind, then a number with dots (part.chapter.item), or a kind alone
(`**Proof**`). A paragraph or a heading that opens with a numbered label gets the anchor without the box. Everywhere else
`Theorem 2.1.3` is linked to its box, on whichever page that is; a mention without a box, and a box stated twice, are warnings.

A source's own numbering is left alone: a number without a dot (`Theorem 1`), a number after a possessive (`the dissertation's
Theorem 3.3.1`), and whatever stands in code or in a container of the class `as-in-source`. A docstring may name a box of a
chapter that is still to be written: it is linked once the box is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

KINDS = "Theorem|Lemma|Proposition|Corollary|Conjecture|Definition|Example|Exercise|Remark|Algorithm|Correction|Proof"
NUMBER = r"\d+(?:\.\d+)+"
LABEL = re.compile(rf"^({KINDS})(?:[ \u00a0]({NUMBER}))?$")
HEADING = re.compile(rf"^({KINDS})[ \u00a0]({NUMBER})(?=$|[.:,]| \()")
MENTION = re.compile(rf"(?<!['’]s )\b({KINDS})s?[ \u00a0]({NUMBER}(?:(?:, and |, | and | or |–|-){NUMBER})*)")
UNLINKED = (
    *(nodes.reference, nodes.literal, nodes.literal_block, nodes.strong, nodes.title),
    *(nodes.math, nodes.math_block, nodes.raw),
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Box:
    """A numbered box: its label, as `Theorem 2.1.3`, where it stands and its anchor."""

    label: str
    page: str
    anchor: str
    line: int | None


def boxes_by_page(env: BuildEnvironment) -> dict[str, list[Box]]:
    if not hasattr(env, "foldnet_boxes"):
        env.foldnet_boxes = {}
    return env.foldnet_boxes


def known_boxes(env: BuildEnvironment) -> dict[str, Box]:
    """Every numbered box of the book by its label."""
    return {box.label: box for page in sorted(boxes_by_page(env)) for box in boxes_by_page(env)[page]}


class Boxes(SphinxTransform):
    """Turns labelled block quotes into containers with classes and anchors."""

    default_priority = 500

    def apply(self):
        for quote in list(self.document.findall(nodes.block_quote)):
            label = quote.next_node(nodes.strong)
            # markdown-it leaves an empty text before the label, so compare texts and not first children
            if label is None or not len(quote) or not quote[0].astext().startswith(label.astext()):
                continue
            match = LABEL.match(label.astext().rstrip(". "))
            if match:
                box = nodes.container("", *quote.children, classes=["thm", f"thm-{match[1].lower()}"])
                box.source, box.line = quote.source, quote.line
                quote.replace_self(box)
                self.register(box, match)
        for paragraph in self.document.findall(nodes.paragraph):
            label = paragraph.next_node(nodes.strong)
            boxed = isinstance(paragraph.parent, nodes.container) and "thm" in paragraph.parent["classes"]
            if label is not None and not boxed and paragraph.astext().startswith(label.astext()):
                self.register(paragraph, LABEL.match(label.astext().rstrip(". ")))
        for title in self.document.findall(nodes.title):
            self.register(title.parent, HEADING.match(title.astext()))

    def register(self, node: nodes.Element, label: re.Match | None) -> None:
        """Give a labelled element its anchor."""
        if label is None or label[2] is None:
            return
        anchor = f"{label[1]}-{label[2]}".lower().replace(".", "-")
        page = self.env.docname
        boxes_by_page(self.env).setdefault(page, []).append(Box(f"{label[1]} {label[2]}", page, anchor, node.line))
        if anchor not in node["ids"]:
            node["ids"].append(anchor)


def link_mentions(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Every mention of a numbered box becomes a link to it."""
    known = known_boxes(app.env)
    for text in list(doctree.findall(nodes.Text)):
        if not MENTION.search(text) or any(map(_left_alone, _ancestors(text))):
            continue
        parts, last = [], 0
        for mention in MENTION.finditer(text):
            for number in re.finditer(NUMBER, mention[2]):
                start = mention.start() if not number.start() else mention.start(2) + number.start()
                end = mention.start(2) + number.end()
                box = known.get(f"{mention[1]} {number[0]}")
                if box is None and _in_docstring(text):
                    continue
                if box is None:
                    log.warning("no box is labelled %s %s", mention[1], number[0], location=text.parent)
                    continue
                page = app.builder.get_relative_uri(docname, box.page) if box.page != docname else ""
                target = nodes.reference("", text[start:end], internal=True, refuri=f"{page}#{box.anchor}", classes=["thm-link"])
                parts += [nodes.Text(text[last:start]), target]
                last = end
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[last:])])


def _left_alone(node: nodes.Element) -> bool:
    return isinstance(node, UNLINKED) or "as-in-source" in node.get("classes", ())


def _in_docstring(node: nodes.Node) -> bool:
    return any("docstring of " in (up.source or "") for up in _ancestors(node))


def _ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    while node.parent is not None:
        node = node.parent
        yield node


def forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    boxes_by_page(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames, other: BuildEnvironment) -> None:
    boxes_by_page(env).update({page: boxes for page, boxes in boxes_by_page(other).items() if page in docnames})


def find_doubles(app: Sphinx, env: BuildEnvironment) -> None:
    """A label that stands twice is a warning; asked once all pages are read, so that a box may move from one to another."""
    first: dict[str, Box] = {}
    for page in sorted(boxes_by_page(env)):
        for box in boxes_by_page(env)[page]:
            if box.label in first:
                places = (box.label, first[box.label].page, page)
                log.warning("%s is stated twice: in %s and in %s", *places, location=(page, box.line))
            first.setdefault(box.label, box)


def pages_to_rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """When a box appeared, moved or went, the links on every page are made again."""
    now = {label: (box.page, box.anchor) for label, box in known_boxes(env).items()}
    before, env.foldnet_boxes_written = getattr(env, "foldnet_boxes_written", None), now
    return [] if before == now else sorted(env.found_docs)


def setup(app: Sphinx) -> dict:
    app.add_transform(Boxes)
    app.connect("env-purge-doc", forget_page)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", pages_to_rewrite)
    app.connect("env-check-consistency", find_doubles)
    app.connect("doctree-resolved", link_mentions)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
