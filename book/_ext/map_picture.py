"""The map of the book as a picture: each chapter by a small drawing, an arc to each chapter that needs it.

It is drawn twice, wide with a part in each row and narrow with a part in each column; the page shows the one that fits.
"""

from __future__ import annotations

import textwrap

import templates

from foldbook import plan

STEP, HIGH = 86, 128  # wide: between neighbours in a part, and between parts
LOW, HEAD = 96, 26  # narrow: between neighbours, and above the first
GLYPH = (64, 44)
LABEL = 13  # letters in a line


def write(site) -> str:
    """Both pictures, and the drawings that they use."""
    pictures = [_picture(site, wide) for wide in (True, False)]
    return templates.fill("picture.html", pictures=pictures, glyphs=templates.render("glyphs.svg"))


def _picture(site, wide: bool) -> dict:
    parts = list(plan.parts().values())
    longest = max(len(part.chapters) for part in parts)
    places = {c.name: _place(i, j, wide) for i, part in enumerate(parts) for j, c in enumerate(part.chapters)}
    nodes = [_node(site, chapter, *places[chapter.name]) for part in parts for chapter in part.chapters]
    arcs = [
        {"d": _arc(*places[need], *places[c.name], wide), "of": c.name, "needs": need}
        for part in parts
        for c in part.chapters
        for need in c.needs
    ]
    heads = [_head(site, part, i, wide) for i, part in enumerate(parts)]
    size = (longest * STEP, len(parts) * HIGH) if wide else (len(parts) * STEP, longest * LOW + HEAD)
    return {"wide": wide, "size": size, "nodes": nodes, "arcs": arcs, "heads": heads}


def _place(part: int, chapter: int, wide: bool) -> tuple[float, float]:
    """The middle of a drawing."""
    if wide:
        return STEP * (chapter + 0.5), HIGH * part + 60
    return STEP * (part + 0.5), LOW * chapter + HEAD + 30


def _head(site, part: plan.Part, index: int, wide: bool) -> dict:
    """The name of a part, above its row or its column."""
    x, y = (3, HIGH * index + 15) if wide else (STEP * (index + 0.5), 14)
    title = part.title if wide else part.title.split()[0]
    return {"x": x, "y": y, "title": title, "page": site.address(f"{part.folder}/index")}


def _node(site, chapter: plan.Chapter, x: float, y: float) -> dict:
    lines = textwrap.wrap(chapter.title, LABEL)
    return {"x": x, "y": y, "lines": lines, "page": site.address(chapter.name), "glyph": chapter.name.split("/")[1]}


def _arc(x0: float, y0: float, x1: float, y1: float, wide: bool) -> str:
    """From the edge of one drawing to that of another: above a row, left of a column, straight across from part to part."""
    across, down = GLYPH[0] / 2, GLYPH[1] / 2
    if wide and y0 == y1:
        top, bow = y0 - down, min(12 + 3.2 * (x1 - x0) / STEP, 26)
        points = (x0 + 8, top), (x0 + 14, top - bow), (x1 - 14, top - bow), (x1 - 6, top - 2)
    elif wide:
        points = (x0 - 14, y0 + down), (x0 - 30, y0 + 90), (x0 - 30, y1 - 90), (x1 - across + 4, y1 - down - 2)
    elif x0 == x1:
        left, bow = x0 - across, min(6 + 1.6 * (y1 - y0) / LOW, 14)
        points = (left, y0 + 6), (left - bow, y0 + 20), (left - bow, y1 - 16), (left - 1, y1 - 4)
    else:
        points = (x0 + across, y0), (x0 + 70, y0 - 40), (x1 - 70, y1 - 60), (x1 - across, y1 - 8)
    first, *rest = (f"{x:g} {y:g}" for x, y in points)
    return f"M{first}C{' '.join(rest)}"
