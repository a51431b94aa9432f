"""Theorem boxes from plain Markdown: `> **Theorem** (name). ...` becomes a numbered box, and mentions become links.

A block quote is a box when it opens with a bold label: a kind and, in brackets, a name. The numbers are made, part.chapter.item
in the order of the pages, so that a new box renumbers those after it, also where they are cited. Everywhere else `Theorem (name)`
shows as `Theorem 2.1.4` and leads to its box, on whichever page that is; so does a link whose text is the kind alone,
`[Theorem](breakpoints.ipynb#theorem-name)`. Where no number can be made, in Colab or on GitHub, the name stands. A paragraph that
opens with a label is numbered without a box; a label without a name (`**Proof**`) has no number. A mention without a box, and a
box stated twice, are warnings.

A number that an author typed, `**Theorem 2.1.3**`, is kept. A source's own numbering is left alone: a number without a dot
(`Theorem 1`), a number after a possessive (`the dissertation's Theorem 3.3.1`), and whatever stands in code or in a container of
the class `as-in-source`. A docstring may name a box of a chapter that is still to be written: it is linked once the box is there.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from docutils import nodes
from site_tools import known_anchor
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from foldbook.boxes import KINDS, NAMED

ANY = "|".join(KINDS)
NUMBER = r"\d+(?:\.\d+)+"
NAME = r"\([^()]+\)"
AND = r"(?:, and |, | and | or |–|-)"
LABEL = re.compile(rf"^({ANY})(?:[ \u00a0]({NUMBER}))?$")
HEADING = re.compile(rf"^({ANY})[ \u00a0]({NUMBER})(?=$|[.:,]| \()")
NAME_AFTER = re.compile(r"\s*\(([^();]+)")
MENTION = re.compile(rf"(?<!['’]s )\b({ANY})s?\s({NUMBER}(?:{AND}{NUMBER})*|{NAME}(?:{AND}{NAME})*)")
UNLINKED = (
    *(nodes.reference, nodes.literal, nodes.literal_block, nodes.strong, nodes.title),
    *(nodes.math, nodes.math_block, nodes.raw),
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Box:
    """A box with a name or a typed number: where it stands, and its anchor."""

    kind: str
    name: str
    typed: str | None
    page: str
    anchor: str
    line: int | None


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def boxes_by_page(env: BuildEnvironment) -> dict[str, list[Box]]:
    return vars(env).setdefault("foldnet_boxes", {})


def chapter_numbers(env: BuildEnvironment) -> dict[str, str]:
    """The number of the chapter, as 1.3, that each page belongs to: its place in the plan of the book."""
    if env.config.box_chapters is not None:
        return env.config.box_chapters
    from foldbook import plan

    return {
        f"book/{chapter.name}{end}": f"{i}.{j}"
        for i, part in enumerate(plan.parts().values(), 1)
        for j, chapter in enumerate(part.chapters, 1)
        for end in ("", plan.CHECKS)
    }


def numbers(env: BuildEnvironment) -> dict[tuple[str, str], str]:
    """The number of each box, by its page and anchor: counted through a chapter, its story first, then its checks."""
    found, counts = {}, {}
    pages, chapters = boxes_by_page(env), chapter_numbers(env)
    for page in sorted(pages, key=lambda page: (chapters.get(page, ""), page)):
        for box in pages[page]:
            chapter = chapters.get(page)
            counts[chapter] = counts.get(chapter, 0) + 1
            if number := box.typed or (chapter and f"{chapter}.{counts[chapter]}"):
                found[page, box.anchor] = number
    return found


class Boxes(SphinxTransform):
    """Turns labelled block quotes into containers with classes and anchors."""

    default_priority = 500

    def apply(self, **_):
        for node in [n for n in self.document.findall() if isinstance(n, (nodes.block_quote, nodes.paragraph, nodes.title))]:
            if isinstance(node, nodes.title):
                self.register(node.parent, HEADING.match(node.astext()), node.astext())
                continue
            strong = node.next_node(nodes.strong)
            # markdown-it leaves an empty text before the label, so compare texts and not first children
            if strong is None or not len(node) or not (text := _opening(node)).startswith(strong.astext()):
                continue
            label = LABEL.match(strong.astext().rstrip(". "))
            if label and isinstance(node, nodes.block_quote):
                box = nodes.container("", *node.children, classes=["thm", f"thm-{label[1].lower()}"])
                box.source, box.line = node.source, node.line
                node.replace_self(box)
                self.register(box, label, text, strong)
            elif label and not (isinstance(node.parent, nodes.container) and "thm" in node.parent["classes"]):
                self.register(node, label, text, strong)

    def register(self, node: nodes.Element, label: re.Match | None, text: str, strong: nodes.strong | None = None) -> None:
        """Give a labelled element its anchor, where it has a name or a number."""
        if label is None:
            return
        name = NAME_AFTER.match(text[len(strong.astext()) :]) if strong else None
        name = " ".join(name[1].split()) if name else ""
        if label[1] not in NAMED or not (label[2] or name):
            return
        anchor = slug(f"{label[1]} {label[2] or name}")
        page = self.env.docname
        boxes_by_page(self.env).setdefault(page, []).append(Box(label[1], name, label[2], page, anchor, node.line))
        if anchor not in node["ids"]:
            node["ids"].append(anchor)
        if strong:
            strong["box"] = anchor
        # so that a link to the page with this anchor is known to resolve
        known_anchor(self, anchor, node.line, f"{label[1]} ({name})" if name else label[0])


def link_mentions(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Every box shows its number, and every mention of one becomes a link to it."""
    env, found = app.env, numbers(app.env)
    for strong in doctree.findall(nodes.strong):
        if (number := found.get((docname, strong.get("box")))) and number not in strong.astext():
            label = re.sub(rf"^({ANY})", rf"\1 {number}", strong.astext())
            strong.clear()
            strong += nodes.Text(label)
    for link in doctree.findall(nodes.reference):
        _number_link(app, link, docname, found)
    for paragraph in doctree.findall(nodes.TextElement):
        _join_lines(paragraph)
    for text in list(doctree.findall(nodes.Text)):
        if not MENTION.search(text) or any(map(_left_alone, ancestors(text))):
            continue
        parts, last = [], 0
        for mention in MENTION.finditer(text):
            for item in re.finditer(rf"{NUMBER}|{NAME}", mention[2]):
                start = mention.start() if not item.start() else mention.start(2) + item.start()
                end = mention.start(2) + item.end()
                box = _looked_up(env, mention[1], item[0].strip("()"), docname, text)
                if box is None:
                    continue
                shown = text[start:end]
                if number := found.get((box.page, box.anchor)):
                    shown = " ".join(text[start : mention.start(2) + item.start()].split()) + f" {number}"
                    shown = shown.strip()
                page = app.builder.get_relative_uri(docname, box.page) if box.page != docname else ""
                target = nodes.reference("", shown, internal=True, refuri=f"{page}#{box.anchor}", classes=["thm-link"])
                target["reftitle"] = box.name
                parts += [nodes.Text(text[last:start]), target]
                last = end
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[last:])])


def _looked_up(env: BuildEnvironment, kind: str, name: str, docname: str, text: nodes.Text) -> Box | None:
    """The box that a mention means: on this page, in this chapter, or the only one in the book."""
    every = [box for page in sorted(boxes_by_page(env)) for box in boxes_by_page(env)[page]]
    called = [box for box in every if box.anchor == slug(f"{kind} {name}")]
    chapters = chapter_numbers(env)
    near = [box for box in called if box.page == docname]
    near = near or [box for box in called if docname in chapters and chapters.get(box.page) == chapters[docname]] or called
    if len(near) == 1:
        return near[0]
    if near:
        log.warning("%s (%s) is stated in %s: say which by a link", kind, name, [b.page for b in near], location=text.parent)
    elif not _in_docstring(text):
        like = difflib.get_close_matches(slug(f"{kind} {name}"), sorted({box.anchor for box in every}), n=2)
        hint = f"; did you mean {' or '.join(like)}?" if like else ""
        log.warning("no box is labelled %s %s%s", kind, name, hint, location=text.parent)
    return None


def _number_link(app: Sphinx, link: nodes.reference, docname: str, found: dict) -> None:
    """A link to a box whose text is the kind alone shows the number."""
    address, _, anchor = link.get("refuri", "").partition("#")
    anchor = anchor or link.get("refid", "")
    text = link.next_node(nodes.Text)
    if not anchor or text is None or not re.fullmatch(ANY, link.astext()):
        return
    here = {docname: ""} if not address else {p: app.builder.get_relative_uri(docname, p) for p in boxes_by_page(app.env)}
    for page, uri in here.items():
        if uri == address and (number := found.get((page, anchor))):
            text.parent.replace(text, nodes.Text(f"{text} {number}"))


def _join_lines(element: nodes.Element) -> None:
    """Make one text of the lines of a paragraph, so that a mention may run over the end of a line."""
    groups = [list(group) for _, group in itertools.groupby(element.children, key=lambda child: isinstance(child, nodes.Text))]
    if any(len(group) > 1 and isinstance(group[0], nodes.Text) for group in groups):
        joined = [[nodes.Text("".join(group))] if isinstance(group[0], nodes.Text) else group for group in groups]
        element.children = []
        element.extend(child for group in joined for child in group)


def _opening(node: nodes.Element) -> str:
    return (node[0] if isinstance(node, nodes.block_quote) else node).astext()


def _left_alone(node: nodes.Element) -> bool:
    return isinstance(node, UNLINKED) or "as-in-source" in node.get("classes", ())


def _in_docstring(node: nodes.Node) -> bool:
    return any("docstring of " in (up.source or "") for up in ancestors(node))


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    while node.parent is not None:
        node = node.parent
        yield node


def forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    boxes_by_page(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames, other: BuildEnvironment) -> None:
    boxes_by_page(env).update({page: boxes for page, boxes in boxes_by_page(other).items() if page in docnames})


def find_doubles(app: Sphinx, env: BuildEnvironment) -> None:
    """A number that stands twice, and a name twice on a page, are warnings; asked once all pages are read: boxes may move."""
    first: dict[str, Box] = {}
    for page in sorted(boxes_by_page(env)):
        for box in boxes_by_page(env)[page]:
            label = f"{box.kind} {box.typed}" if box.typed else f"{box.kind} ({box.name})"
            key = label if box.typed else f"{page} {box.anchor}"
            if key in first:
                log.warning("%s is stated twice: in %s and in %s", label, first[key].page, page, location=(page, box.line))
            first.setdefault(key, box)


def pages_to_rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """When a box appeared, moved, went or got another number, the links on every page are made again."""
    now = numbers(env), {page: [box.anchor for box in boxes] for page, boxes in boxes_by_page(env).items()}
    before = vars(env).get("foldnet_boxes_written")
    vars(env)["foldnet_boxes_written"] = now
    return [] if before == now else sorted(env.found_docs)


def setup(app: Sphinx) -> dict:
    app.add_config_value("box_chapters", None, "env", [dict])
    app.add_transform(Boxes)
    app.connect("env-purge-doc", forget_page)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", pages_to_rewrite)
    app.connect("env-check-consistency", find_doubles)
    app.connect("doctree-resolved", link_mentions)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
