"""The ledger: every claim of the sources beside what the stored notebooks measured.

>>> from foldbook.ledger import ledger
>>> rows = ledger()
>>> sorted({row["source"] for row in rows})
['S0', 'S1', 'S2', 'S3']
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from . import _comparison, _wording, paths
from .claims import EVIDENCE, MIME, VERDICTS, claims, from_json, strength

COLUMNS = ("measured", "target", "corrected", "tolerance")


def notebooks(book: Path | None = None) -> list[Path]:
    """The book's notebooks, in the order of their paths; folders that start with `_` or `.` are not part of the book."""
    book = book or paths.repository() / "book"
    found = (p for p in sorted(book.rglob("*.ipynb")) if not any(part[0] in "._" for part in p.relative_to(book).parts[:-1]))
    return list(found)


def records(book: Path | None = None) -> Iterator[dict]:
    """Each check stored in a notebook: the fields of a `Record`, `notebook` (its path below the book) and `cell` (its index)."""
    book = book or paths.repository() / "book"
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
    """A claim and what its check found, in words; `note` is the claim's own, `tried` what the check has to say."""
    printed = None if claim["published"] is None else _wording.show(_comparison.read(claim["published"]))
    row = {**claim, "published": printed, "verdict": "open", "points": []}
    row |= dict.fromkeys(("what", *COLUMNS, "tried", "strength", "stored", "live", "selected", "notebook", "cell"))
    if not record:
        return row
    found = from_json({k: v for k, v in record.items() if k not in ("notebook", "cell")})
    row |= {key: record[key] for key in ("what", "verdict", "stored", "live", "selected", "notebook", "cell")}
    row |= {column: _wording.column(found, column) for column in COLUMNS}
    return row | {"tried": found.note, "strength": strength(found), "points": [_point(point) for point in found.points]}


def _point(point) -> dict:
    """One point of a claim in words: its verdict, what was measured, what it was held against and what its rivals gave."""
    words = {"measured": _wording.measured(point), "against": _wording.against(point), "held_against": point.against}
    rivals = [{"name": name, "measured": value, "passes": passes} for name, value, passes in _wording.rivals(point)]
    twins = [{"name": name, "wanted": value, "passes": passes} for name, value, passes in _wording.twins(point)]
    return {"name": point.name, "verdict": point.verdict, **words, "rivals": rivals, "twins": twins}


def weight(row: dict) -> str:
    """`result` or `slip`, as a correction's entry says."""
    return row["weight"] or "result"


def counts(rows: list[dict]) -> dict[str, Counter]:
    """How many claims of each kind of evidence have each verdict."""
    return {kind: Counter(row["verdict"] for row in rows if row["evidence"] == kind) for kind in EVIDENCE}


def table(rows: list[dict], width: int = 100) -> str:
    """The ledger for people: one line a claim, then the counts."""

    def short(value, size):
        text = " ".join(str("" if value is None else value).split())
        return text if len(text) <= size else text[: size - 1] + "…"

    ids = max([len(r["id"]) for r in rows], default=2)
    room = max(16, (width - ids - 26) // 2)
    lines = [f"{'verdict':<11} {'evidence':<11}{'claim':<{ids}} {'measured':<{room}} held against"]
    for r in rows:
        held = short(r["published"] or r["target"], room)
        lines.append(f"{r['verdict']:<11} {r['evidence']:<11}{r['id']:<{ids}} {short(r['measured'], room):<{room}} {held}")
    lines += ["", f"{len(rows)} claims".ljust(16) + "".join(v.rjust(12) for v in VERDICTS)]
    for kind, count in counts(rows).items():
        lines.append(f"{sum(count.values()):4} {kind:<11}" + "".join(str(count[v] or "").rjust(12) for v in VERDICTS))
    return "\n".join(lines)
