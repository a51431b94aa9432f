"""The errata: every claim that a measurement corrected, with what the source says, what is true, and the evidence."""

from __future__ import annotations

import re

from ledger_page import source

from foldnet import plan

NONE_YET = "No claim has been corrected so far. That may change as chapters are added: a correction appears here by itself."


def write(site) -> str:
    rows = [row for row in site.ledger if row["verdict"] == "corrected"]
    for row in rows:
        if not (row["truth"] or "").strip():
            site.warn("%s is corrected by its check, but its claim has no `truth` that says what is true", row["id"])
    sections = []
    for mark in plan.sources():
        mine = [row for row in rows if row["source"] == mark]
        if mine:
            sections.append("\n".join([f"## {source(mark)}\n", *(_entry(site, row) for row in mine)]))
    return "\n".join(sections) if sections else NONE_YET


def _entry(site, row: dict) -> str:
    page = site.address(row["notebook"].removesuffix(".ipynb"), f"cell-{row['cell']}")
    cell = f'<a href="{page}">See the cell</a>' if page else f"See `{row['notebook']}`, cell {row['cell']}"
    what, measured, published, truth = (_plain(row[key]) for key in ("what", "measured", "published", "corrected"))
    values = f"measured **{measured}**; the source has {published}, the truth is {truth}"
    tolerance = f" ({row['tolerance']})" if row["tolerance"] not in ("exact", "bound") else ""
    parts = {
        "The source says": row["says"].strip(),
        "What is true": (row["truth"] or "").strip(),
        "Evidence": f"{what}: {values}{tolerance}. {cell}.",
        "Note": (row["note"] or "").strip(),
    }
    text = "\n\n".join(f"**{name}.** {part}" for name, part in parts.items() if part)
    small = f"<small>`{row['id']}` · {row['where']}</small>"
    return f"### {row['title']}\n\n````{{container}} erratum as-in-source\n{small}\n\n{text}\n````\n"


def _plain(text) -> str:
    """What a check printed, safe from being read as Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>$|~])", r"\\\1", str(text))
