"""What people grade: by_hand.csv, as any spreadsheet saves it. Nothing in it is ever thrown away."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from . import source
from .errors import CourseError
from .restore import decoded
from .roster import delimiter

COLUMNS = ("student", "answer", "of", "score", "comment", "text", "earlier")
NEEDED = ("student", "answer", "score")
# what a spreadsheet takes for a number, a date, a truth or a formula, and saves as another text: 007, 5%, mar1, 3mar, TRUE, =x
CHANGED = re.compile(
    r"[^\W\d_]*[-. /]?\d[\d\s.,:/e%+-]*$|\d{1,4}[-. /]?[^\W\d_]{1,9}\.?([-. /]?\d{1,4})?$"
    r"|(true|false|wahr|falsch|vrai|faux)$|[=+@-]",
    re.IGNORECASE,
)


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
        self.most = {cell.name: cell.worth for cell in problems.cells if cell.by_hand}
        self.entries: dict[tuple[str, str], Entry] = {}
        if path and path.is_file():
            self._read(path)

    def _read(self, path: Path) -> None:
        text = decoded(path.read_bytes())
        reader = csv.DictReader(io.StringIO(text.lstrip("\r\n")), delimiter=delimiter(text))
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
        key = (row["student"].removeprefix("'"), row["answer"])
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

    def take(self, other: Hand) -> list[str]:
        """Enter what another copy has and this one has not; a sentence for each score on which they differ: ours stays."""
        said = []
        for (student, answer), theirs in sorted(other.entries.items()):
            ours = self.entries.setdefault((student, answer), theirs)
            if theirs.score is None or ours is theirs:
                continue
            if ours.score is None:
                self.entries[student, answer] = theirs
            elif (ours.score, ours.text) != (theirs.score, theirs.text):
                said.append(f"{answer} by {student} has {theirs.score:g} there and {ours.score:g} here, which stays")
        return said

    def strangers(self, wanted: set[tuple[str, str]]) -> list[str]:
        """A sentence for each score that belongs to no text that was handed in, with whose it may be."""
        said = []
        for (student, answer), entry in sorted(self.entries.items()):
            if (student, answer) not in wanted and entry.score is not None:
                near = [other for other, asked in sorted(wanted) if asked == answer and like(student, other)]
                perhaps = f"; perhaps it is for {' or '.join(near)}" if near else ""
                said.append(f"by_hand.csv has {entry.score:g} for {answer} by {student}, who handed in no such text{perhaps}")
        return said

    def file(self) -> str:
        """All entries as by_hand.csv has them, also those that nobody asks for any more."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        for (student, answer), entry in sorted(self.entries.items()):
            score = "" if entry.score is None else f"{entry.score:g}"
            most = f"{self.most[answer]:g}" if answer in self.most else ""
            writer.writerow(
                [
                    f"'{student}" if CHANGED.match(student) else student,
                    answer,
                    most,
                    score,
                    entry.comment,
                    entry.text,
                    entry.earlier,
                ]
            )
        return text.getvalue()


def like(written: str, student: str) -> bool:
    """Whether a spreadsheet may have made the one of the other: zeros lost, letters that became ?, a number in another form."""
    with contextlib.suppress(ValueError):
        if float(written.replace(",", ".")) == float(student):
            return True
    signs = "".join("." if sign in "?\ufffd" else re.escape(sign) for sign in written.lstrip("0"))
    return re.fullmatch(signs, student.lstrip("0"), re.IGNORECASE) is not None
