"""Hand the points on: `python -m course.export SET FOR [--roster FILE] [--column NAME]`.

FOR is one of
  roster    grades-by-roster.csv: the class list with points, also for those who handed in nothing
  moodle    moodle.csv: Moodle's own grading worksheet (--roster), filled in; and moodle-feedback.zip, pages in its folders
  canvas    canvas.csv: the students of the grade book that Canvas exported (--roster), and their points for this assignment
  zip       feedback.zip: all pages
  nbgrader  course/: a course that nbgrader's own tools open, with what was found here; it runs no submission again
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import json
import re
import sys
import zipfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from foldbook.notebooks import METADATA

from . import make, source
from .book import Book, harmless, nobodys, rows, scores, shown, write
from .errors import CourseError
from .hand import Hand
from .roster import KEYS, MOODLE, claimed, columns, doubled, latest, order, people, read_table, there, unsure, word_in, written_as

CONFIG = '''"""Submissions were run and judged elsewhere: nbgrader only enters what their notebooks say."""
c = get_config()
c.CourseDirectory.db_assignments = []
c.ClearSolutions.code_stub = {"python": "# your code here"}
c.ClearSolutions.text_stub = "*Your answer.*"
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
]
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.LimitOutput", "nbgrader.preprocessors.SaveAutoGrades", "nbgrader.preprocessors.CheckCellMetadata",
]
'''


FILES = {"roster": "grades-by-roster.csv", "moodle": "moodle.csv", "canvas": "canvas.csv"}
FILES |= {"zip": "feedback.zip", "nbgrader": "course"}
GIVEN = ("student", "by tests", "by hand", "to be read", "total", "of", "notes")


def as_csv(lines: list[dict]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]))
    writer.writeheader()
    writer.writerows({key: harmless(value) for key, value in line.items()} for line in lines)
    return text.getvalue()


def for_roster(out: Path, found: list[dict], roster: list[dict]) -> list[str]:
    claims, left = claimed(roster, found)
    lines, said, unclear = [], doubled(rows for _, rows in claims), unsure(roster, left)
    for line, theirs in claims:
        counts = latest(theirs)
        given = {key: counts[key] if counts else "" for key in GIVEN}
        if theirs and not counts:
            given["notes"] = f"not clear which counts: {', '.join(r['handed in as'] for r in theirs)}"
        elif not theirs:
            perhaps = [r["handed in as"] for r in left if any(word_in(line[k], r["handed in as"]) for k in columns(line, KEYS))]
            perhaps += [name for name in unsure([line], left) if name not in perhaps]
            none = {"total": "0", "notes": "nothing was handed in"}
            given |= {"notes": f"not clear whose: {', '.join(perhaps)}"} if perhaps else none
        lines.append(line | given)
    write(out / "grades-by-roster.csv", "\ufeff" + as_csv(lines))
    names = [row["handed in as"] for row in left]
    return said + [unclear.get(name, f"nobody on the roster has handed in {name}") for name in names]


WORKSHEET = (
    "Moodle takes its own grading worksheet back and no other table: download it (View all submissions, Grading action,"
    " Download grading worksheet) and say ROSTER=worksheet.csv"
)


def for_moodle(out: Path, found: list[dict], of: float, sheet: Path | None, column: str | None) -> list[str]:
    """Moodle's grading worksheet with the grades filled in, by the number that Moodle put into names, and nothing else changed.

    Its importer looks for headings in the language of the site, and for the time of the last grade: no other table will do.
    """
    if not any(MOODLE.match(row["handed in as"]) for row in found):
        raise CourseError(
            "no submission is a folder of Moodle's, so nothing is written: download all submissions with folders,"
            " or say FOR=canvas or FOR=roster for what came from elsewhere"
        )
    if sheet is None:
        raise CourseError(WORKSHEET)
    lines = read_table(sheet)
    identifier, grade, most = moodle_columns(lines, column)
    theirs: dict[str, list[dict]] = {}
    for row in sorted(found, key=order):
        if folder := MOODLE.match(row["handed in as"]):
            theirs.setdefault(folder["id"], []).append(row)
    odd = [row["handed in as"] for row in found if not MOODLE.match(row["handed in as"])]
    said = [f"{name} is no folder of Moodle's: download all submissions with folders" for name in odd]
    said += doubled(theirs.values())
    counting = {number: row for number, rows in theirs.items() if (row := latest(rows))}
    for line in lines:
        number = str(re.findall(r"\d+$", line[identifier])[0])
        if theirs.pop(number, None) and number in counting:
            line[grade] = counting[number]["total"]
        if most and float(line[most].replace(",", ".")) != of:
            said.append(f"Moodle's highest grade is {line[most]}, and this set has {of:g} points: change it there")
            most = None
    said += [f"the worksheet has no line for {row['handed in as']}" for rows in theirs.values() for row in rows]
    write(out / "moodle.csv", written_as(sheet, lines))
    with zipfile.ZipFile(out / "moodle-feedback.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for number, row in counting.items():
            page, folder = out / "feedback" / f"{row['student']}.html", MOODLE.match(row["handed in as"])
            if page.is_file() and folder:
                packed.write(page, f"{folder['name']}_{number}_assignsubmission_file_/{page.name}")
    return said


def moodle_columns(lines: list[dict], column: str | None) -> tuple[str, str, str | None]:
    """The columns of a worksheet, in whatever language, for the participant, the grade and, if it is seen, the highest grade."""
    names = [key for key in (lines[0] if lines else ()) if key]
    numbered = [key for key in names if all(re.fullmatch(r"\D*\d+", line[key] or "") for line in lines)]
    if not numbered:
        raise CourseError(WORKSHEET)
    number = re.compile(r"\d+(?:[.,]\d+)?")
    for grade, most in itertools.pairwise(names[1:]):  # the highest grade, the same for all, stands behind the grade
        same, given = {line[most] for line in lines}, {line[grade] for line in lines} - {""}
        if len(same) == 1 and all(map(number.fullmatch, same | given)) and column in (None, grade):
            return numbered[0], grade, most
    if column is None or column not in names:
        raise CourseError(f"which column of the worksheet holds the grade? Say COLUMN='...'; it has {', '.join(names)}")
    return numbered[0], column, None


def for_canvas(out: Path, found: list[dict], of: float, book: Path, column: str | None) -> list[str]:
    """The students of a grade book that Canvas exported, with the points of this set; scores of other columns may be old."""
    roster = read_table(book)
    names = [key for key in (roster[0] if roster else ()) if re.search(r"\(\d+\)$", key)]
    if column not in names:
        raise CourseError(f"which column is this set's? Say COLUMN='...'; the file has {', '.join(names) or 'no assignment'}")
    claims, left = claimed([line for line in roster if line.get("ID", "").strip()], found)
    if len(left) == len(found):
        raise CourseError(
            "nobody in this grade book has handed in one of these files, so nothing is written: is it this course's?"
        )
    said = doubled(rows for _, rows in claims)
    for line in roster:
        if "Points Possible" in next(iter(line.values())) and line[column] not in ("", f"{of:g}", f"{of:.1f}", f"{of:.2f}"):
            said.append(f"Canvas' points are {line[column]}, and this set has {of:g}: change it there")
    for line, theirs in claims:
        line[column] = counts["total"] if (counts := latest(theirs)) else line[column]
    head = list(roster[0])
    kept = [*head[: head.index(names[0])], column]
    write(out / "canvas.csv", written_as(book, [{key: line[key] for key in kept} for line in roster]))
    return said + [f"nobody in the grade book has handed in {row['handed in as']}" for row in left]


def for_zip(out: Path) -> list[str]:
    with zipfile.ZipFile(out / "feedback.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for page in sorted((out / "feedback").glob("*.html")):
            packed.write(page, f"feedback/{page.name}")
    return []


def for_nbgrader(out: Path, problems: source.ProblemSet, book: Book, hand: Hand) -> list[str]:
    """source/, submitted/ and a configuration: what a test gave stands in its cell's output, where nbgrader looks for it."""
    course = out / "course"
    teacher = course / "source" / problems.name / f"{problems.name}.ipynb"
    teacher.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(problems.notebook(), teacher)
    marks = {cell.id: cell.metadata for cell in make.release(problems).cells}
    for student, record in book.records.items():
        found, cells = scores(problems, record, hand), []
        for cell in record["cells"]:
            node = (new_code_cell if cell["type"] == "code" else new_markdown_cell)(cell["source"], id=cell["id"])
            node.metadata = nbformat.from_dict(json.loads(json.dumps(marks.get(cell["id"], {}))))
            if cell["type"] == "code" and cell["id"] in found:
                plain = {"text/plain": f"{found[cell['id']]:g}"}
                node.outputs = [nbformat.v4.new_output("execute_result", plain, execution_count=1)]
            cells.append(node)
        path = course / "submitted" / student / problems.name / f"{problems.name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(new_notebook(cells=cells, metadata=METADATA), path)
    write(course / "nbgrader_config.py", CONFIG)
    return []


def export(problems: source.ProblemSet, out: Path, what: str, roster: Path | None = None, column: str | None = None) -> list[str]:
    """Write one of the forms; sentences about what did not fit."""
    book, hand = Book(out), Hand(problems, out / "by_hand.csv")
    if not book.records:
        raise CourseError(f"nothing of {problems.name} was graded yet")
    found, said = list(rows(problems, book, hand)), nobodys(problems, book, hand)
    unread = sum(row["to be read"] != "0" for row in found)
    if unread:
        said.insert(0, f"{unread} of {len(found)} students have texts that nobody has read yet: make read SET={problems.name}")
    if what == "roster":
        return said + for_roster(out, found, people(read_table(roster)))
    if what == "moodle":
        return said + for_moodle(out, found, problems.points, roster, column)
    if what == "canvas":
        return said + for_canvas(out, found, problems.points, there(roster), column)
    return said + (for_zip(out) if what == "zip" else for_nbgrader(out, problems, book, hand))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Hand the points of a problem set on.")
    parser.add_argument("set", help="as ps2")
    parser.add_argument("what", choices=("roster", "moodle", "canvas", "zip", "nbgrader"))
    parser.add_argument("--roster", type=Path, help="the class list, Moodle's grading worksheet, or the grade book of Canvas")
    parser.add_argument("--column", help="the column of the assignment's grade in the file of Canvas or Moodle")
    parser.add_argument("--out", type=Path, help="where the grades are (default _grades/SET)")
    arguments = parser.parse_args(argv)
    out = (arguments.out or source.HOME / "_grades" / arguments.set).resolve()
    listed = arguments.roster and arguments.roster.expanduser()  # not every shell does it behind a =
    try:
        for sentence in export(source.read(arguments.set), out, arguments.what, listed, arguments.column):
            print(f"note: {shown(sentence)}", file=sys.stderr)
    except (CourseError, source.SourceError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 1
    print(f"written to {out / FILES[arguments.what]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
