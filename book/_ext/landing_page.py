"""What the title page shows: the map of the book, the counts of the ledger, and the sheet that folds."""

from __future__ import annotations

import json
from collections import Counter

from ledger_page import bar, verdict

from foldnet import plan
from foldnet.claims import VERDICTS


def counts(site) -> str:
    """The verdicts of all claims in one line."""
    count = Counter(row["verdict"] for row in site.ledger)
    page = site.address("ledger")
    items = "".join(f'<li><a href="{page}#verdict={v}"><b>{count[v]}</b> {verdict(v)}</a></li>' for v in VERDICTS)
    label = f"{sum(count.values())} claims by verdict"
    return f'```{{raw}} html\n<ul class="tiles" aria-label="{label}">{items}</ul>\n{bar(count)}\n```'


def book_map(site) -> str:
    """Four parts with their chapters: those that stand are links, those that are planned say so."""
    parts = []
    for part in plan.parts().values():
        items = "".join(_chapter(site, chapter) for chapter in part.chapters)
        parts.append(f'<section class="map-part"><h3>{part.title}</h3><p>{part.about}</p><ul>{items}</ul></section>')
    return f'```{{raw}} html\n<div class="book-map">{"".join(parts)}</div>\n```'


def fold(site) -> str:
    """The interactive figure; drawn by `fold_figure`, kept as plain HTML."""
    import fold_figure

    return f"```{{raw}} html\n{fold_figure.figure().html}\n```"


def _chapter(site, chapter: plan.Chapter) -> str:
    page = site.address(chapter.name)
    count = Counter(row["verdict"] for row in site.ledger if row["chapter"] == chapter.name)
    claims = f'<span class="map-claims">{sum(count.values())} claims</span>' if count else ""
    if page is None:
        return f'<li class="planned"><b>{chapter.title}</b> <small>planned</small> {claims}<br>{chapter.about}</li>'
    title = _title(site, chapter.name)
    return f'<li><b><a href="{page}">{title}</a></b> {claims} {bar(count) if count else ""}<br>{chapter.about}</li>'


def _title(site, chapter: str) -> str:
    """The first heading of a notebook."""
    cells = json.loads((site.root / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    lines = (line for cell in cells if cell["cell_type"] == "markdown" for line in "".join(cell["source"]).splitlines())
    return next((line[2:].strip() for line in lines if line.startswith("# ")), chapter)
