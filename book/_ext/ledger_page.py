"""The ledger, a list that can be filtered: every claim beside what the notebooks measured, first what is interesting."""

from __future__ import annotations

from collections import Counter

import cite_page
import reports
import templates

from foldbook import plan
from foldbook.claims import EVIDENCE, MARKS, STRENGTHS, VERDICTS
from foldbook.ledger import weight


def write(site) -> str:
    rows = [{**row, **_place(site, row), "wrong": reports.address(site.repository, row["id"])} for row in site.ledger]
    entry = cite_page.verdict(site.root, *(f"__{word}__" for word in ("id", "title", "verdict", "url")))
    shown = {"menus": _menus(rows), "groups": list(_groups(rows)), "total": len(rows)}
    return templates.fill("ledger.html", **shown, entry=entry, repository=site.repository)


def _groups(rows: list[dict]):
    """Title, a sentence, whether the page opens with it, and the claims of each group."""
    changed = [row for row in rows if row["verdict"] == "corrected" and weight(row) == "result"]
    differs = [row for row in rows if row["verdict"] == "differs"]
    told = {row["id"] for row in (*changed, *differs)}
    rest = [row for row in rows if row["id"] not in told]
    groups = (
        ("Corrections that change a result", "What the source states does not hold; what does is shown.", True, changed),
        ("What differs", "Our measurement agrees neither with the source nor with a correction that we know of.", True, differs),
        ("All other claims", "In the order of the book.", False, rest),
    )
    return (group for group in groups if group[-1])


def _menus(rows: list[dict]) -> dict[str, list[tuple[str, str, int]]]:
    """What each menu offers: value, label and how many claims have it; a verdict that no claim has is offered too."""
    offered = {
        "source": {mark: templates.source(mark) for mark in plan.sources()},
        "chapter": {name: chapter.title for name, chapter in plan.chapters().items()},
        "kind": {kind: kind for kind in sorted({row["kind"] for row in rows})},
        "evidence": {kind: kind for kind in EVIDENCE},
        "verdict": {verdict: f"{MARKS[verdict]} {verdict}" for verdict in VERDICTS},
        "strength": {strength: strength for strength in STRENGTHS},
    }
    count = {name: Counter(row[name] for row in rows) for name in offered}
    return {
        name: [(value, label, count[name][value]) for value, label in labels.items() if count[name][value] or name == "verdict"]
        for name, labels in offered.items()
    }


def _place(site, row: dict) -> dict:
    """Where a claim is checked: the cell, or else its chapter."""
    if row["notebook"] is None:
        there = site.address(row["chapter"])
        return {"page": there, "place": plan.titles()[row["chapter"]] + ("" if there else ", planned")}
    name = row["notebook"].removesuffix(".ipynb")
    return {"page": site.address(name, f"cell-{row['cell']}"), "place": f"{plan.titles().get(name, name)}, cell {row['cell']}"}
