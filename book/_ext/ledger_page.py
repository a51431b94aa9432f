"""The ledger as a table that can be filtered: every claim of the sources beside what the notebooks measured."""

from __future__ import annotations

from collections import Counter

import templates

from foldbook import plan
from foldbook.claims import EVIDENCE, MARKS, VERDICTS


def write(site) -> str:
    return templates.fill("ledger.html", menus=_menus(site.ledger), rows=[{**row, **_place(site, row)} for row in site.ledger])


def _menus(rows: list[dict]) -> dict[str, list[tuple[str, str, int]]]:
    """What each menu offers: value, label and how many claims have it; a verdict that no claim has is offered too."""
    offered = {
        "source": {mark: templates.source(mark) for mark in plan.sources()},
        "chapter": {name: name for name in plan.chapters()},
        "kind": {kind: kind for kind in sorted({row["kind"] for row in rows})},
        "evidence": {kind: kind for kind in EVIDENCE},
        "verdict": {verdict: f"{MARKS[verdict]} {verdict}" for verdict in VERDICTS},
    }
    count = {name: Counter(row[name] for row in rows) for name in offered}
    return {
        name: [(value, label, count[name][value]) for value, label in labels.items() if count[name][value] or name == "verdict"]
        for name, labels in offered.items()
    }


def _place(site, row: dict) -> dict:
    """Where a claim is checked: the cell, or else its chapter."""
    if row["notebook"] is None:
        return {"page": site.address(row["chapter"]), "place": row["chapter"]}
    name = row["notebook"].removesuffix(".ipynb")
    return {"page": site.address(name, f"cell-{row['cell']}"), "place": f"{name}, cell {row['cell']}"}
