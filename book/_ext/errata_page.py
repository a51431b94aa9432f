"""The errata: every claim that a measurement corrected, with what the source says, what is true, and the evidence.

First those that change a result, then slips: a sign, a factor, an index, a step of a proof whose theorem holds. An entry of
book/claims says which it is, `weight: result` or `weight: slip`; one that does not is not buried under the slips. Last come
claims that differ as a whole and have one point that is corrected.
"""

from __future__ import annotations

import templates

from foldbook import ledger, plan
from foldbook.ledger import weight

CLASSES = {
    "result": ("Corrections that change a result", "Whoever uses the printed statement is misled."),
    "slip": ("Slips", "A sign, a factor, an index, a step of a proof: what follows from it in the source holds all the same."),
}
PART = (
    "Corrected in part",
    "One point of each has a right statement. Another agrees with neither, so the claim differs as a whole.",
)


def write(site) -> str:
    rows = [row for row in site.ledger if row["verdict"] == "corrected"]
    part = [row for row in site.ledger if row["verdict"] == "differs" and any(p["verdict"] == "corrected" for p in row["points"])]
    for row in (*rows, *part):
        if not (row["truth"] or "").strip():
            site.warn("%s is corrected by its check, but its claim has no `truth` that says what is true", row["id"])

    def placed(some) -> list[dict]:
        return [{**r, "page": site.address(r["notebook"].removesuffix(".ipynb"), f"cell-{r['cell']}")} for r in some]

    classes = [(*CLASSES[name], placed(row for row in rows if weight(row) == name)) for name in CLASSES] + [(*PART, placed(part))]
    by_source = [
        (title, about, [(mark, mine) for mark in plan.sources() if (mine := [row for row in some if row["source"] == mark])])
        for title, about, some in classes
        if some
    ]
    kinds = [(kind, n) for kind, count in ledger.counts(rows).items() if (n := count.total())]
    many = {name: sum(weight(row) == name for row in rows) for name in CLASSES}
    return templates.fill("errata.md", total=len(rows), many=many, kinds=kinds, classes=by_source)
