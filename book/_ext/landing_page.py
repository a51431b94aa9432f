"""What the title page shows: the map of the book, the counts of the ledger, and the sheet that folds."""

from __future__ import annotations

import re
from collections import Counter

import shown
import templates

from foldbook import ledger, plan

TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
MINUTES = re.compile(r"\*\*Reading time:?\*\*:? (?:about )?(\d+) minutes")
NEEDS = re.compile(r"\*\*You need:?\*\*(?: \(prerequisites\):)? (.+?)(?:; |\. |\.?$)", re.MULTILINE)  # the first clause
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def counts(site) -> str:
    """The verdicts of all claims in one line, and then by kind of evidence."""
    kinds = ledger.counts(site.ledger)
    count = sum(kinds.values(), Counter())
    return templates.fill("counts.html", count=count, kinds=kinds, total=count.total(), ledger=site.address("ledger"))


def book_map(site) -> str:
    """The parts with their chapters: those that stand are links, those that are planned say so."""
    return templates.fill("map.html", parts=[_part(site, part) for part in plan.parts().values()], alone=False)


def part(site, folder: str) -> str:
    """The chapters of one part."""
    return templates.fill("map.html", parts=[_part(site, plan.parts()[folder])], alone=True)


def _part(site, part: plan.Part) -> tuple[plan.Part, str | None, list]:
    """A part, its page where it has one, and its chapters."""
    return part, site.address(f"{part.folder}/index"), [_chapter(site, chapter) for chapter in part.chapters]


def fold(site) -> str:
    """The sheet to fold and to cut, live; where no script runs, a drawing of it by `fold_figure`."""
    import fold_figure

    from foldbook.live import live

    figure = live("sheet")
    return f"```{{raw}} html\n{figure.html.replace(figure.still, fold_figure.still())}\n```"


def _chapter(site, chapter: plan.Chapter) -> dict:
    """A chapter for the map: its page, its heading and what it asks of a reader, where it is written; its claims by verdict."""
    page, count = site.address(chapter.name), Counter(row["verdict"] for row in site.ledger if row["chapter"] == chapter.name)
    found = {"about": chapter.about, "title": chapter.title, "page": page, "count": count, "minutes": None, "needs": None}
    if not page:
        return found
    cells = shown.stored(site.root / "book" / f"{chapter.name}.ipynb")
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for key, pattern in (("title", TITLE), ("minutes", MINUTES), ("needs", NEEDS)):
        match = pattern.search(text)
        found[key] = LINK.sub(r"*\1*", match[1]).strip() if match else found[key]
    return found
