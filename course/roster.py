"""Who is in the class: a list from any spreadsheet, and which submission belongs to whom on it."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from .errors import CourseError
from .restore import decoded

# what platforms write before the student's own name of a file: Moodle's names have no _, Canvas' no number between two _
MOODLE = re.compile(r"^(?P<name>[^_]*)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)(?:_|$)")
CANVAS = re.compile(r"^(?P<name>.*?)(?:_LATE)?_(?P<id>\d+)_(?P<upload>\d+)_")
MADE_FOR = "made for"  # in a row of the table: the student whose sign stands in the file
AGAIN = re.compile(r"-(\d+)(?:\.\w+)*$")  # what Canvas and browsers add to a name that was there already
NAMES, KEYS = ("name", "full name", "student"), ("file", "id", "id number", "username", "sis login id", "sis user id", "email")


def there(path: Path | None) -> Path:
    if path is None or not path.is_file():
        raise CourseError(f"there is no file {path}: say ROSTER=file.csv")
    return path


def read_table(path: Path | None) -> list[dict]:
    """A CSV of any spreadsheet, with the names of its columns as they are."""
    path = there(path)
    text = decoded(path.read_bytes())
    lines = list(csv.DictReader(io.StringIO(text.lstrip("\r\n")), delimiter=delimiter(text), restval=""))
    for line in lines:
        if any(value.strip() for value in line.pop(None, ())):  # signs at the end of a line are nothing
            raise CourseError(f"{path.name}: the line of {next(iter(line.values()))} has more columns than the first line")
    return lines


def people(lines: list[dict]) -> list[dict]:
    """The lines of a table that are students': in the grade book of Canvas others have no number, or are its own test student."""
    return [line for line in lines if not of_canvas(line) or (line["ID"].strip() and line["Student"].strip() != "Student, Test")]


def of_canvas(line: dict) -> bool:
    """Whether a line is one of the grade book of Canvas, whose column `ID` has the number in the names of files."""
    return {"Student", "ID", "Section"} <= line.keys()


def delimiter(text: str) -> str:
    head = next((line for line in text.splitlines() if line.strip()), "")
    return max(",;\t", key=re.sub(r'"[^"]*"', "", head).count)


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
    name. (Canvas writes the number of its column `ID`, which may be somebody else's number at the university.) Or else to the
    line whose id, or name, is a whole word of what the platform wrote, or whose name is all of it, as `alike` compares them; then
    to the one whose sign stands in the file. Of a file without all this the whole name counts. A row that could be several
    people's is nobody's: who puts another's id into a name takes nothing away.
    """
    mine: dict[int, list[dict]] = {id(line): [] for line in roster}
    left = list(found)
    namesakes = unique(alike(roster, found))
    passes = [(("id",), "id"), (KEYS, "id"), (KEYS, "platform"), (NAMES, "platform"), (NAMES, "squeezed")]
    for keys, by in [*passes, (KEYS + NAMES, "sign"), (KEYS, "name"), (NAMES, "name")]:
        open_lines = [line for line in roster if not mine[id(line)] or keys is not NAMES]
        for row in list(left):
            name, number = written(row["handed in as"])
            whole = f"{name} {number}"
            text = {"id": number, "platform": whole if number else "", "sign": row.get(MADE_FOR, ""), "name": whole}.get(by, "")
            same = word_in if by != "sign" else lambda value, text: word_in(value, text) and word_in(text, value)
            if by == "squeezed":
                lines = [line for line in open_lines if line is namesakes.get(row["handed in as"])]
            else:
                lines = [line for line in open_lines if any(same(line[key], text) for key in columns(line, keys))]
            if len(lines) == 1:
                mine[id(lines[0])].append(row)
                left.remove(row)
    return [(line, sorted(mine[id(line)], key=order)) for line in roster], left


def alike(roster: list[dict], found: list[dict]) -> list[tuple[dict, dict]]:
    """Each line of a roster with each row of its name: `Anna Ünal` and `Ünal, Anna` are Moodle's Anna Ünal and Canvas' ünalanna.

    In the grade book of Canvas the number alone decides.
    """
    rows: dict[str, list[dict]] = {}
    for row in found:
        name, number = written(row["handed in as"])
        if number:
            rows.setdefault(plain(name).replace(" ", ""), []).append(row)
    pairs = []
    for line in roster:
        listed = [plain(line[key] or "").split() for key in columns(line, NAMES) if not of_canvas(line)]
        turned = {"".join(words[k:] + words[:k]) for words in listed for k in range(len(words))}
        pairs += [(line, row) for name in sorted(turned) for row in rows.get(name, ())]
    return pairs


def unique(pairs: list[tuple[dict, dict]]) -> dict[str, dict]:
    """The line of each file where no other line has its name, and no other number of the platform."""
    lines: dict[str, set[int]] = {}
    numbers: dict[int, set[str]] = {}
    for line, row in pairs:
        lines.setdefault(row["handed in as"], set()).add(id(line))
        numbers.setdefault(id(line), set()).add(written(row["handed in as"])[1])
    sure = [pair for pair in pairs if len(lines[pair[1]["handed in as"]]) == len(numbers[id(pair[0])]) == 1]
    return {row["handed in as"]: line for line, row in sure}


def unsure(roster: list[dict], left: list[dict]) -> dict[str, str]:
    """For each file that is nobody's because its name is not one student's alone: what tells whose it is."""
    said = {}
    for _, row in alike(roster, left):
        name = row["handed in as"]
        number = f"{written(name)[1]}, the number in {'Moodle' if MOODLE.match(name) else 'Canvas'}"
        said[name] = f"whose is {name}? Several have this name: write {number}, into the right line as id"
    return said


def missed(roster: list[dict], found: list[dict]) -> list[str]:
    """What there is to say of submissions that are nobody's on a class list."""
    left = claimed(roster, found)[1] if roster else []
    if not left:
        return []
    names = [row["handed in as"] for row in left]
    which = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "")
    here = f"{len(found) - len(left)} of {len(found)} submissions are on the class list"
    return [f"{here}; it needs the name, or as id the platform's number, of {which}", *unsure(roster, left).values()]


def written(name: str) -> tuple[str, str]:
    """The name and the id that a platform wrote before a file's own name; the whole name and nothing where none did."""
    found = MOODLE.match(name) or CANVAS.match(name)
    return (found["name"], found["id"]) if found else (name, "")


def order(row: dict) -> tuple[int, int]:
    """What tells the later of two files of one student: the platform's number of the upload, then a number at the end.

    A text typed into Moodle's page is no notebook: any file counts before it.
    """
    name = row["handed in as"]
    again, folder = AGAIN.search(name), MOODLE.match(name)
    if folder:
        upload = 0 if folder["kind"] == "file" else -1
    else:
        upload = int(found["upload"]) if (found := CANVAS.match(name)) else 0
    return upload, int(again[1]) if again else 0


def latest(rows: list[dict]) -> dict | None:
    """The file that counts of those of one student; none where there is none, and none where nothing tells which is the later."""
    return rows[-1] if rows and (len(rows) == 1 or order(rows[-2]) < order(rows[-1])) else None


def doubled(claims: Iterable[list[dict]]) -> list[str]:
    """A sentence for each file that a later one of the same student replaces, or that nothing tells from it."""
    said = []
    for rows in claims:
        for row in rows[:-1]:
            one, other = row["handed in as"], rows[-1]["handed in as"]
            unclear = order(row) == order(rows[-1])
            which = "; nothing says which of the two counts: enter that grade yourself" if unclear else ", which counts"
            said.append(f"{one} is {'beside' if unclear else 'an earlier file than'} {other}{which}")
    return said


def columns(line: dict, wanted: tuple[str, ...]) -> list[str]:
    return [key for key in line if key and key.strip().lower() in wanted]


def word_in(value: str | None, text: str) -> bool:
    """Whether a value is a text, or stands in it between signs that are no letters or digits."""
    value = plain(value or "")
    return bool(value) and f" {value} " in f" {plain(text)} "


def plain(text: str) -> str:
    """The words of a text: small letters and digits, with single spaces between them."""
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", str(text)).casefold()).strip()


def names(roster: list[dict], found: list[dict]) -> dict[str, str]:
    """What each student is called on pages: the name on the class list, or else the one that Moodle gave the folder."""
    called = {row["student"]: folder["name"] for row in found if (folder := MOODLE.match(row["handed in as"]))}
    for line, rows in claimed(roster, found)[0]:
        name = next((line[key].strip() for key in columns(line, NAMES) if (line[key] or "").strip()), "")
        called |= {row["student"]: name for row in rows if name}
    return called
