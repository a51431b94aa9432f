"""The errata: every claim that a measurement corrected, with what the source says, what is true, and the evidence."""

from __future__ import annotations

import templates

from foldbook import ledger, plan


def write(site) -> str:
    rows = [row for row in site.ledger if row["verdict"] == "corrected"]
    for row in rows:
        if not (row["truth"] or "").strip():
            site.warn("%s is corrected by its check, but its claim has no `truth` that says what is true", row["id"])
    placed = [{**row, "page": site.address(row["notebook"].removesuffix(".ipynb"), f"cell-{row['cell']}")} for row in rows]
    by_source = [(mark, [row for row in placed if row["source"] == mark]) for mark in plan.sources()]
    kinds = [(kind, n) for kind, count in ledger.counts(rows).items() if (n := count.total())]
    return templates.fill("errata.md", total=len(rows), kinds=kinds, sources=[(mark, mine) for mark, mine in by_source if mine])
