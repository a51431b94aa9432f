"""Who is in the class: a list from any spreadsheet, and which submission belongs to whom on it."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from pathlib import Path

from .errors import CourseError
from .restore import decoded

MOODLE = re.compile(r"^(?P<name>.*)_(?P<id>\d+)_assignsubmission_file_?$")
NAMES, KEYS = ("name", "full name", "student"), ("file", "id", "id number", "username", "sis login id", "sis user id", "email")


def read_table(path: Path | None) -> list[dict]:
    """A CSV of any spreadsheet, with the names of its columns as they are."""
    if path is None or not path.is_file():
        raise CourseError(f"there is no file {path}: say ROSTER=file.csv")
    text = decoded(path.read_bytes())
    head = next((line for line in text.splitlines() if line.strip()), "")
    return list(csv.DictReader(io.StringIO(text.lstrip("\r\n")), delimiter=max(",;\t", key=head.count)))


def matched(roster: list[dict], found: list[dict]) -> tuple[list[tuple[dict, dict | None]], list[dict]]:
    """Each line of a roster with its row of the table, and the rows that nobody on the roster claims.

    A row belongs to the line of which `file`, `id`, `username` or `email` is the name handed in, or a whole word of it; or else,
    where it is one line's alone, to the line with this name.
    """
    left, pairs = list(found), []
    for keys in (KEYS, NAMES):
        for line in roster:
            if any(line is taken for taken, _ in pairs):
                continue
            mine = [row for row in left if any(word_in(line[key], row) for key in columns(line, keys))]
            if len(mine) == 1:
                pairs.append((line, mine[0]))
                left.remove(mine[0])
    known = {id(line): row for line, row in pairs}
    return [(line, known.get(id(line))) for line in roster], left


def columns(line: dict, wanted: tuple[str, ...]) -> list[str]:
    return [key for key in line if key and key.strip().lower() in wanted]


def word_in(value: str | None, row: dict) -> bool:
    """Whether a value is the name handed in, or stands in it between signs that are no letters or digits."""

    def plain(text):
        return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", str(text)).casefold()).strip()

    value = plain(value or "")
    return bool(value) and f" {value} " in f" {plain(row['handed in as'])} "


def names(roster: list[dict], found: list[dict]) -> dict[str, str]:
    """What each student is called on pages: the name on the class list, or else the one that Moodle gave the folder."""
    called = {row["student"]: folder["name"] for row in found if (folder := MOODLE.match(row["handed in as"]))}
    for line, row in matched(roster, found)[0]:
        name = next((line[key].strip() for key in columns(line, NAMES) if (line[key] or "").strip()), "")
        if row and name:
            called[row["student"]] = name
    return called
