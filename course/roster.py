"""Who is in the class: a list from any spreadsheet, and which submission belongs to whom on it."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from pathlib import Path

from .errors import CourseError
from .restore import decoded

# what platforms write before the student's own name of a file: Moodle's names have no _, Canvas' no number between two _
MOODLE = re.compile(r"^(?P<name>[^_]*)_(?P<id>\d+)_assignsubmission_file(?:_|$)")
CANVAS = re.compile(r"^(?P<name>.*?)(?:_LATE)?_(?P<id>\d+)_(?P<upload>\d+)_")
AGAIN = re.compile(r"-(\d+)(?:\.\w+)*$")  # what Canvas and browsers add to a name that was there already
NAMES, KEYS = ("name", "full name", "student"), ("file", "id", "id number", "username", "sis login id", "sis user id", "email")


def read_table(path: Path | None) -> list[dict]:
    """A CSV of any spreadsheet, with the names of its columns as they are."""
    if path is None or not path.is_file():
        raise CourseError(f"there is no file {path}: say ROSTER=file.csv")
    text = decoded(path.read_bytes())
    return list(csv.DictReader(io.StringIO(text.lstrip("\r\n")), delimiter=delimiter(text)))


def delimiter(text: str) -> str:
    head = next((line for line in text.splitlines() if line.strip()), "")
    return max(",;\t", key=head.count)


def written_as(path: Path, lines: list[dict]) -> str:
    """The table of a file with other values, written as the file was: who exported it will read it back."""
    before, text = path.read_bytes(), io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), delimiter=delimiter(decoded(before)))
    writer.writeheader()
    writer.writerows(lines)
    return "\ufeff" * before.startswith(b"\xef\xbb\xbf") + text.getvalue()


def claimed(roster: list[dict], found: list[dict]) -> tuple[list[tuple[dict, list[dict]]], list[dict]]:
    """Each line of a roster with its rows of the table, the latest file last; and the rows that are nobody's.

    A row belongs to the line whose `file`, `id`, `username` or `email` is the id that a platform wrote before the file's own
    name, or a whole word of what it wrote; or else to the line with this name. Where no platform wrote anything, the whole name
    counts. A row that could be several people's is nobody's: who puts another's id into a name takes nothing away.
    """
    mine: dict[int, list[dict]] = {id(line): [] for line in roster}
    left = list(found)
    for keys, by_id in ((KEYS, True), (KEYS, False), (NAMES, False)):
        open_lines = [line for line in roster if not mine[id(line)] or keys is KEYS]
        for row in list(left):
            name, number = written(row["handed in as"])
            text = number if by_id and number else f"{name} {number}"
            lines = [line for line in open_lines if any(word_in(line[key], text) for key in columns(line, keys))]
            if len(lines) == 1:
                mine[id(lines[0])].append(row)
                left.remove(row)
    return [(line, sorted(mine[id(line)], key=order)) for line in roster], left


def written(name: str) -> tuple[str, str]:
    """The name and the id that a platform wrote before a file's own name; the whole name and nothing where none did."""
    found = MOODLE.match(name) or CANVAS.match(name)
    return (found["name"], found["id"]) if found else (name, "")


def order(row: dict) -> tuple[int, int]:
    """What tells the later of two files of one student: the platform's number of the upload, then a number at the end."""
    upload, again = CANVAS.match(row["handed in as"]), AGAIN.search(row["handed in as"])
    return int(upload["upload"]) if upload else 0, int(again[1]) if again else 0


def doubled(claims: list[tuple[dict, list[dict]]]) -> list[str]:
    """A sentence for each file that a later one of the same student replaces."""
    return [
        f"{r['handed in as']} is an earlier file than {rows[-1]['handed in as']}, which counts"
        for _, rows in claims
        for r in rows[:-1]
    ]


def columns(line: dict, wanted: tuple[str, ...]) -> list[str]:
    return [key for key in line if key and key.strip().lower() in wanted]


def word_in(value: str | None, text: str) -> bool:
    """Whether a value is a text, or stands in it between signs that are no letters or digits."""

    def plain(text):
        return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", str(text)).casefold()).strip()

    value = plain(value or "")
    return bool(value) and f" {value} " in f" {plain(text)} "


def names(roster: list[dict], found: list[dict]) -> dict[str, str]:
    """What each student is called on pages: the name on the class list, or else the one that Moodle gave the folder."""
    called = {row["student"]: folder["name"] for row in found if (folder := MOODLE.match(row["handed in as"]))}
    for line, rows in claimed(roster, found)[0]:
        name = next((line[key].strip() for key in columns(line, NAMES) if (line[key] or "").strip()), "")
        called |= {row["student"]: name for row in rows if name}
    return called
