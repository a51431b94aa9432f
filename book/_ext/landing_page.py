"""What the title page and the pages of the parts show: the sheet that folds, the chapters of a part, the counts of the ledger."""

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
    """The verdicts of all claims in one line, then by kind of evidence, and how strong the evidence is."""
    kinds = ledger.counts(site.ledger)
    count, strong = sum(kinds.values(), Counter()), Counter(row["strength"] for row in site.ledger)
    more = {"strong": strong, "total": count.total(), "ledger": site.address("ledger")}
    return templates.fill("counts.html", count=count, kinds=kinds, **more)


def strengths(site) -> str:
    """How many claims have a verdict and how strong its evidence is, in one line."""
    strong = Counter(row["strength"] for row in site.ledger if row["verdict"] != "open")
    total = len(site.ledger)
    return templates.fill("strengths.html", strong=strong, total=total, ledger=site.address("ledger"))


def checks(site) -> str:
    """The checks of all chapters, part by part, each with its verdicts."""
    parts = []
    for part in plan.parts().values():
        pages = [(chapter, site.address(chapter.name + plan.CHECKS)) for chapter in part.chapters]
        parts.append((part, [(chapter, page, _count(site, chapter)) for chapter, page in pages if page]))
    return templates.fill("checks.html", parts=parts)


def part(site, folder: str) -> str:
    """The chapters of one part: those that stand are links, those that are planned say so; and how the reader's guesses went."""
    from foldbook.guess import tally

    chapters = templates.fill("map.html", chapters=[_chapter(site, chapter) for chapter in plan.parts()[folder].chapters])
    return f"{chapters}\n\n```{{raw}} html\n{tally(folder).html}\n```\n"


def fold(site) -> str:
    """The sheet to fold and to cut, live; where no script runs, a drawing of it by `fold_figure`."""
    import fold_figure

    from foldbook.live import live

    figure = live("sheet")
    return f"```{{raw}} html\n{figure.html.replace(figure.still, fold_figure.still())}\n```"


def _chapter(site, chapter: plan.Chapter) -> dict:
    """A chapter for the map: its page, its heading and what it asks of a reader, where it is written; its claims by verdict."""
    page, count = site.address(chapter.name), _count(site, chapter)
    found = {"about": chapter.about, "title": chapter.title, "page": page, "count": count}
    found |= dict.fromkeys(("question", "minutes", "needs"))
    if not page:
        return found
    cells = shown.stored(site.root / "book" / f"{chapter.name}.ipynb")
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for key, pattern in (("question", TITLE), ("minutes", MINUTES), ("needs", NEEDS)):
        match = pattern.search(text)
        found[key] = LINK.sub(r"*\1*", match[1]).strip() if match else found[key]
    return found


def _count(site, chapter: plan.Chapter) -> Counter:
    """The claims of a chapter by verdict."""
    return Counter(row["verdict"] for row in site.ledger if row["chapter"] == chapter.name)
