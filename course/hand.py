"""What people grade: by_hand.csv, as any spreadsheet saves it. Nothing in it is ever thrown away."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from . import source
from .errors import CourseError
from .restore import decoded

COLUMNS = ("student", "answer", "of", "score", "comment", "text", "earlier")
NEEDED = ("student", "answer", "score")


@dataclass
class Entry:
    """One line: score (None: not yet), comment, the sign of the text that was read, and what an earlier text had earned."""

    score: float | None = None
    comment: str = ""
    text: str = ""
    earlier: str = ""


class Hand:
    """The entries of by_hand.csv, by student and answer."""

    def __init__(self, problems: source.ProblemSet, path: Path | None = None):
        self.most = {cell.name: cell.points for cell in problems.cells if cell.by_hand}
        self.entries: dict[tuple[str, str], Entry] = {}
        if path and path.is_file():
            self._read(path)

    def _read(self, path: Path) -> None:
        text = decoded(path.read_bytes())
        head = next((line for line in text.splitlines() if line.strip()), "")
        delimiter = max(",;\t", key=head.count)
        reader = csv.DictReader(io.StringIO(text.lstrip("\r\n")), delimiter=delimiter)
        reader.fieldnames = [str(name).strip().lower() for name in reader.fieldnames or ()]
        if missing := [name for name in NEEDED if name not in reader.fieldnames]:
            raise CourseError(
                f"{path.name} has no column {' and no column '.join(missing)}; it has {', '.join(reader.fieldnames) or 'none'}."
                " Nothing was changed: put the first line back, or take the file from backups/"
            )
        for row in reader:
            row = {key: (value or "").strip() for key, value in row.items() if key and not isinstance(value, list)}
            if row["student"] or row["answer"]:
                self._enter(row, f"{path.name}, line {reader.line_num}")

    def _enter(self, row: dict, where: str) -> None:
        score = None
        if row["score"]:
            try:
                score = float(row["score"].replace(",", "."))
            except ValueError:
                raise CourseError(f"{where}: {row['score']!r} is no score") from None
            if row["answer"] not in self.most or not 0 <= score <= self.most[row["answer"]]:
                raise CourseError(f"{where}: {row['answer']} has no score {score:g}")
        key = (row["student"], row["answer"])
        entry = Entry(score, row.get("comment", ""), row.get("text", ""), row.get("earlier", ""))
        if self.entries.get(key, entry) != entry:
            raise CourseError(f"{where}: {row['student']} and {row['answer']} have two lines that differ")
        self.entries[key] = entry

    def score(self, student: str, answer: str, text: str) -> float | None:
        """The score of an answer, if it was given for this very text."""
        entry = self.entries.get((student, answer))
        return entry.score if entry and entry.text in ("", text) else None

    def comment(self, student: str, answer: str) -> str:
        entry = self.entries.get((student, answer))
        return entry.comment if entry else ""

    def expect(self, student: str, found: dict[str, dict]) -> None:
        """These texts of a student want reading; one that is not the text that was read wants it again."""
        for answer, cell in found.items():
            entry = self.entries.setdefault((student, answer), Entry())
            if entry.score is not None and entry.text not in ("", cell["sign"]):
                entry.earlier = f"{entry.score:g} for an earlier text" + (f": {entry.comment}" if entry.comment else "")
                entry.score = None
            entry.text = cell["sign"]

    def file(self) -> str:
        """All entries as by_hand.csv has them, also those that nobody asks for any more."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        for (student, answer), entry in sorted(self.entries.items()):
            score = "" if entry.score is None else f"{entry.score:g}"
            most = f"{self.most[answer]:g}" if answer in self.most else ""
            writer.writerow([student, answer, most, score, entry.comment, entry.text, entry.earlier])
        return text.getvalue()
