"""Slides of a chapter, made from its story: a slide for each section with its first figure and its first statement.

They change when the story does. On the page they stand below each other; `slides.js` shows them one at a time.
"""

from __future__ import annotations

import re

import shown
import templates

from foldbook import plan
from foldbook.boxes import NAMED, STATEMENTS

HEADING = re.compile(r"^(#{1,2}) (?:\d+\. )?(.+)$", re.MULTILINE)
BOX = re.compile(rf"^> \*\*({'|'.join(STATEMENTS)})\*\* \(([^)]+)\)\.?\s*(.+)$", re.MULTILINE)
MENTION = re.compile(rf"\b((?:{'|'.join(NAMED)})s?) \(")  # set apart, a name is no link: two chapters may use it
SENTENCE = re.compile(r"(?:\$[^$]*\$|[^.$?!]|\.(?=\S))+[.?!]")
LEFT_OUT = {"Exercises", "References"}
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")  # of the story, from where it stands
ITEM = re.compile(r"^(?:[-*]|\d+\.) (.+)$", re.MULTILINE)


def deck(site, page: str) -> str:
    """`splines/breakpoints`: its title, one slide for each section, and its summary."""
    cells = shown.stored(site.root / "book" / f"{page}.ipynb")
    slides = list(sections(cells))
    if not slides:
        site.warn("%s has no sections, so there are no slides", page)
        return ""
    return templates.fill("slides.md", slides=slides, title=plan.titles().get(page, slides[0]["title"]), page=site.address(page))


def sections(cells: list[dict]):
    """Each section that is shown: title, text and picture."""
    current = None
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts = HEADING.split(text)  # what stands before, then mark, title and text of each section
            current = _more(current, parts[0])
            for _mark, title, body in zip(parts[1::3], parts[2::3], parts[3::3]):
                if current:
                    yield from _finished(current)
                current = {"title": title.strip(), "body": body, "picture": None}
        elif current and not current["picture"]:
            current["picture"] = shown.first_picture(cell)
    if current:
        yield from _finished(current)


def _more(section: dict | None, text: str) -> dict | None:
    return section and section | {"body": f"{section['body']}\n\n{text}"}


def _finished(section: dict):
    if section["title"] in LEFT_OUT:
        return
    items = [item.strip() for item in ITEM.findall(section["body"])] if section["title"] == "Summary" else []
    lines = items or [line for line in (_said(section["body"]),) if line]
    yield section | {"lines": [LINK.sub(r"\1", line) for line in lines]}


def _said(text: str) -> str:
    """The first statement of a section, by its name; or else its first sentence."""
    if box := BOX.search(text):
        kind, name, says = box.groups()
        return MENTION.sub(r"*\1* (", f"{kind} ({name.split(';')[0]}). {says}")
    plain = re.sub(r"<[^>]+>.*?(?:</[^>]+>)?$", "", re.sub(r"^>.*$", "", text, flags=re.MULTILINE), flags=re.MULTILINE)
    first = SENTENCE.search(plain.strip())
    return " ".join(first[0].split()) if first else ""
