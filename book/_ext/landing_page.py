"""What the title page shows: the map of the book, the counts of the ledger, and the sheet that folds."""

from __future__ import annotations

import json
from collections import Counter

import templates

from foldnet import ledger, plan


def counts(site) -> str:
    """The verdicts of all claims in one line, and then by kind of evidence."""
    kinds = ledger.counts(site.ledger)
    count = sum(kinds.values(), Counter())
    return templates.fill("counts.html", count=count, kinds=kinds, total=count.total(), ledger=site.address("ledger"))


def book_map(site) -> str:
    """The parts with their chapters: those that stand are links, those that are planned say so."""
    parts = [(part, [_chapter(site, chapter) for chapter in part.chapters]) for part in plan.parts().values()]
    return templates.fill("map.html", parts=parts)


def fold(site) -> str:
    """The sheet to fold and to cut, live; where no script runs, a drawing of it by `fold_figure`."""
    import fold_figure

    from foldnet.live import live

    figure = live("sheet")
    return f"```{{raw}} html\n{figure.html.replace(figure.still, fold_figure.still())}\n```"


def _chapter(site, chapter: plan.Chapter) -> tuple[plan.Chapter, str | None, str | None, Counter]:
    """A chapter, its page and its heading where it is written, and its claims by verdict."""
    page = site.address(chapter.name)
    title = _title(site, chapter.name) if page else None
    return chapter, page, title, Counter(row["verdict"] for row in site.ledger if row["chapter"] == chapter.name)


def _title(site, chapter: str) -> str:
    """The first heading of a notebook."""
    cells = json.loads((site.root / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    lines = (line for cell in cells if cell["cell_type"] == "markdown" for line in "".join(cell["source"]).splitlines())
    return next((line[2:].strip() for line in lines if line.startswith("# ")), chapter)
