"""The ledger: every claim of the sources beside what the stored notebooks measured."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from . import _paths
from .claims import MIME, VERDICTS, claims, shown


def notebooks(book: Path | None = None) -> list[Path]:
    """The book's notebooks, in the order of their paths; folders that start with `_` or `.` are not part of the book."""
    book = book or _paths.repository() / "book"
    found = (p for p in sorted(book.rglob("*.ipynb")) if not any(part[0] in "._" for part in p.relative_to(book).parts[:-1]))
    return list(found)


def records(book: Path | None = None) -> Iterator[dict]:
    """Each check stored in a notebook: the fields of a `Record`, `notebook` (its path below the book) and `cell` (its index)."""
    book = book or _paths.repository() / "book"
    for path in notebooks(book):
        for index, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            for output in cell.get("outputs", ()):
                if MIME in output.get("data", {}):
                    yield {**output["data"][MIME], "notebook": path.relative_to(book).as_posix(), "cell": index}


def ledger(book: Path | None = None) -> list[dict]:
    """One row for each claim: what it says, what the source published, and the verdict (`open` where nothing checks it yet)."""
    found: dict[str, dict] = {}
    for record in records(book):
        if record["id"] in found:
            places = f"{found[record['id']]['notebook']} and {record['notebook']}"
            raise ValueError(f"{record['id']} is checked twice, in {places}: a claim has one verdict")
        found[record["id"]] = record
    unknown = sorted(set(found) - set(claims()))
    if unknown:
        raise ValueError(f"checks of claims that book/claims lacks: {', '.join(unknown)}")
    return [_row(asdict(claim), found.get(claim.id, {})) for claim in claims().values()]


def _row(claim: dict, record: dict) -> dict:
    """A claim and what its check found; `note` is the claim's own, `tried` what the check has to say."""
    empty = dict.fromkeys(("what", "measured", "corrected", "tolerance", "notebook", "cell", "tried")) | {"verdict": "open"}
    checked = {"tried" if k == "note" else k: v for k, v in record.items() if k != "parts"}
    return {**claim, "published": shown(claim["published"]), **empty, **checked}


def table(rows: list[dict], width: int = 100) -> str:
    """The ledger for people: one line a claim, then the counts."""

    def short(value, size):
        text = " ".join(str("" if value is None else value).split())
        return text if len(text) <= size else text[: size - 1] + "…"

    ids = max([len(r["id"]) for r in rows], default=2)
    room = max(16, (width - ids - 16) // 2)
    lines = [f"{'verdict':<11} {'claim':<{ids}} {'measured':<{room}} published"]
    lines += [
        f"{r['verdict']:<11} {r['id']:<{ids}} {short(r['measured'], room):<{room}} {short(r['published'], room)}" for r in rows
    ]
    count = Counter(r["verdict"] for r in rows)
    return "\n".join([*lines, "", f"{len(rows)} claims: " + ", ".join(f"{count[v]} {v}" for v in VERDICTS)])
