"""The book of a problem set: one record for each student, the table of points, and files that are never half written.

_grades/ps2/students/anna/record.json   what was handed in, what the judge found
_grades/ps2/grades.csv                  the table
_grades/ps2/backups/                    every table as it was before it was written again
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import source
from .errors import CourseError
from .hand import Hand
from .judge import Verdict
from .roster import MADE_FOR


class Book:
    """The records in a folder, by student."""

    def __init__(self, folder: Path):
        self.folder, self.records = folder, {}
        for path in sorted((folder / "students").glob("*/record.json")):
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
                self.records[record["student"]] = record
            except (OSError, ValueError, KeyError, TypeError):
                continue  # not whole: it will be graded again

    @property
    def known(self) -> dict[str, str]:
        """The students by the names under which they handed in."""
        return {record["name"]: student for student, record in self.records.items()}

    def path(self, student: str) -> Path:
        return self.folder / "students" / student / "record.json"

    def save(self, record: dict) -> None:
        path = self.path(record["student"])
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, json.dumps(record))
        self.records[record["student"]] = record

    def load(self, student: str) -> dict | None:
        try:
            self.records[student] = json.loads(self.path(student).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return self.records[student]


@contextmanager
def locked(folder: Path):
    """One grader at a time; the lock goes with the process that holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of this process alone: those that it forks do not hold it
        except OSError:
            raise CourseError(f"somebody else is grading into {folder} at this moment") from None
        yield


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    with new.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def keep(path: Path) -> None:
    """A copy of a file before it is written again, unless the last copy is the same."""
    if not path.is_file():
        return
    backups = path.parent / "backups"
    backups.mkdir(exist_ok=True)
    before = sorted(backups.glob(f"{path.stem}-*{path.suffix}"))
    if not before or before[-1].read_bytes() != path.read_bytes():
        stamp = time.strftime("%Y-%m-%d-%H%M%S")
        shutil.copy2(path, backups / f"{path.stem}-{stamp}-{len(before) + 1:04d}{path.suffix}")


def sign(cell: dict) -> str:
    """A short sign of an answer's text and pictures: another text has another one, and no spreadsheet takes it for a number."""
    pictures = json.dumps(cell.get("attachments") or {}, sort_keys=True)
    return f"t-{hashlib.sha256((cell['source'].strip() + pictures).encode()).hexdigest()[:10]}"


def texts(problems: source.ProblemSet, record: dict) -> dict[str, dict]:
    """What a person has to read of a submission: the cells of these answers that are not as they were given."""
    given = {cell.name: cell.public.strip() for cell in problems.cells if cell.by_hand}
    found = {cell["id"]: cell for cell in record["cells"] if cell["id"] in given}
    return {
        name: found[name] | {"sign": sign(found[name])}
        for name in given
        if name in found and (found[name]["source"].strip() not in ("", given[name]) or found[name].get("attachments"))
    }


def nobodys(problems: source.ProblemSet, book: Book, hand: Hand) -> list[str]:
    """A sentence for each score in by_hand.csv that belongs to no text of the book."""
    return hand.strangers({(student, answer) for student, record in book.records.items() for answer in texts(problems, record)})


def scores(problems: source.ProblemSet, record: dict, hand: Hand) -> dict[str, float | None]:
    """The points of each graded cell; None where a person has still to read it."""
    found: dict[str, float | None] = {}
    answered = texts(problems, record)
    for cell in problems.cells:
        if cell.kind == "test":
            verdict = record["verdicts"].get(cell.name)
            found[cell.name] = Verdict(**verdict).score(cell.worth) if verdict else 0.0
        elif cell.by_hand:
            text = answered.get(cell.name)
            found[cell.name] = hand.score(record["student"], cell.name, text["sign"]) if text else 0.0
    return found


def rows(problems: source.ProblemSet, book: Book, hand: Hand) -> Iterator[dict]:
    """One row for each student: what each question earned, what a person must still read, and what there is to say."""
    graded = [cell for cell in problems.cells if cell.points is not None]
    signed = any(record.get("made_for") for record in book.records.values())
    for student, record in sorted(book.records.items()):
        found = scores(problems, record, hand)
        row: dict = {"student": student}
        for cell in graded:
            row[f"{cell.name} ({cell.points:g})"] = "" if found[cell.name] is None else f"{found[cell.name]:g}"
        by_tests = sum(found[cell.name] or 0.0 for cell in problems.tests)
        by_hand = sum(found[cell.name] or 0 for cell in graded if cell.by_hand)
        row["by tests"], row["by hand"] = f"{by_tests:g}", f"{by_hand:g}"
        row["to be read"] = f"{sum(cell.worth for cell in graded if found[cell.name] is None):g}"
        row["total"], row["of"] = f"{problems.total(by_tests + by_hand):g}", f"{problems.points:g}"
        row["handed in as"], row["notes"] = record["name"], "; ".join(record["notes"])
        if signed:
            row[MADE_FOR] = record.get("made_for", "")
        yield row


def table(found: list[dict]) -> str:
    """Rows as CSV that a spreadsheet opens without running anything, with the mark by which it knows the encoding."""
    text = io.StringIO()
    text.write("\ufeff")
    if found:
        writer = csv.DictWriter(text, list(found[0]))
        writer.writeheader()
        writer.writerows({key: harmless(value) for key, value in row.items()} for row in found)
    return text.getvalue()


def harmless(value) -> str:
    """A cell that is no formula: where one could begin, a sign of the text comes first; no sign that a screen obeys."""
    text = shown(value)
    number = text.replace(".", "", 1).lstrip("-").isdigit()
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") and not number else text


def shown(value) -> str:
    """A text for a screen: control signs, also those that turn the direction of writing, become �."""
    text = str(value).encode("utf-8", "replace").decode()
    return "".join(sign if sign.isprintable() else " " if sign in "\n\t" else "�" for sign in text)
