"""What a page of the front shows of a chapter: a figure as its notebook stored it, and the verdicts that a finding rests on."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import templates

from foldbook import plan

FIGURE = re.compile(r'<figure class="foldnet-figure".*?</figure>', re.DOTALL)
IMAGE = re.compile(r"""<img\b(?:"[^"]*"|'[^']*'|[^>"'])*>""")  # a drawing in its address may hold a >


def figure(site, words: str) -> str:
    """`splines/breakpoints: Draw one hinge`: the picture of the cell with that `# @title`, linked to where it stands."""
    page, _, title = words.partition(": ")
    cells = stored(site.root / "book" / f"{page}.ipynb")
    found = [(i, cell) for i, cell in enumerate(cells) if _title(cell) == title]
    pictures = [(i, picture) for i, cell in found if (picture := first_picture(cell))]
    if len(pictures) != 1:
        titles = ", ".join(repr(_title(cell)) for cell in cells if _title(cell) and first_picture(cell))
        site.warn("%s has %d pictures under the title %r; there are %s", page, len(pictures), title, titles or "none")
        return ""
    index, picture = pictures[0]
    address = site.address(page, f"cell-{index}")
    return templates.fill("shown.html", picture=picture, page=address, title=plan.titles().get(page, page))


def live(site, words: str) -> str:
    """`swaps {"table": [...]}`: the live figure of that name, in that state, to be unfolded below a finding."""
    from foldbook.live import live

    name, _, state = words.partition(" ")
    return templates.fill("live.html", figure=live(name, **json.loads(state or "{}")))


def thumb(site, words: str) -> str:
    """`splines/breakpoints: Draw one hinge`: the same picture, small and without its caption; or else the first of the page."""
    page, _, title = words.partition(": ")
    cells = stored(site.root / "book" / f"{page}.ipynb")
    pictures = [(_title(cell), i, picture) for i, cell in enumerate(cells) if (picture := first_picture(cell))]
    if not pictures:
        site.warn("%s has no picture", page)
        return ""
    _, index, picture = next((one for one in pictures if one[0] == title), pictures[0])
    return templates.fill("thumb.html", picture=(IMAGE.search(picture) or [picture])[0], page=site.address(page, f"cell-{index}"))


def evidence(site, words: str) -> str:
    """`S2-thm-1 S3-fig-2`: each verdict, linked to the cell that computed it."""
    rows = {row["id"]: row for row in site.ledger}
    wanted = words.split()
    for claim in wanted:
        if claim not in rows or rows[claim]["verdict"] == "open":
            site.warn("%s is no claim with a verdict, so nothing rests on it", claim)
    shown = [rows[claim] for claim in wanted if claim in rows and rows[claim]["notebook"]]
    placed = [(row, site.address(row["notebook"].removesuffix(".ipynb"), f"cell-{row['cell']}")) for row in shown]
    return templates.fill("evidence.html", rows=placed)


def proposals(site, words: str) -> str:
    """`S3-tab-spiky ...`: what these claims say and how they stand, for whoever looks for a question; linked to the ledger."""
    rows = {row["id"]: row for row in site.ledger}
    for claim in set(words.split()) - set(rows):
        site.warn("%s is no claim of the ledger", claim)
    chosen = [rows[claim] for claim in words.split() if claim in rows]
    return templates.fill("proposals.html", rows=chosen, ledger=site.address("ledger"))


@functools.lru_cache(maxsize=32)
def _read(path: Path, changed: float) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def stored(path: Path) -> list[dict]:
    """The cells of a notebook, none where it is not there; read once as long as it does not change."""
    return _read(path, path.stat().st_mtime) if path.is_file() else []


def _title(cell: dict) -> str | None:
    first = "".join(cell["source"]).split("\n", 1)[0]
    return first.removeprefix("# @title ").strip() if first.startswith("# @title ") else None


def first_picture(cell: dict) -> str | None:
    """The first figure in the outputs of a cell; of one that moves its first frame, and of a live one its still."""
    from foldbook.live.stills import NOTE

    for output in cell.get("outputs", ()):
        html = "".join(output.get("data", {}).get("text/html", "")).replace(NOTE, "")  # a copy cannot be taken hold of
        if match := FIGURE.search(html):
            return match[0]
        if match := IMAGE.search(html):
            return f'<figure class="foldnet-figure" style="margin:0">{match[0]}</figure>'
    return None
