"""Hand the points on: `python -m course.export SET FOR [--roster FILE] [--column NAME]`.

FOR is one of
  roster    grades-by-roster.csv: the class list with points, also for those who handed in nothing
  moodle    moodle.csv (the grading worksheet) and moodle-feedback.zip (pages in the folders that Moodle gave)
  canvas    canvas.csv: the grade book that Canvas exported (--roster), with the column of the assignment filled in
  zip       feedback.zip: all pages
  nbgrader  course/: a course that nbgrader's own tools open, with what was found here; it runs no submission again
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
import zipfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from foldbook.notebooks import METADATA

from . import make, source
from .book import Book, harmless, rows, scores, shown, write
from .errors import CourseError
from .hand import Hand
from .roster import MOODLE, matched, read_table

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


def as_csv(lines: list[dict]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]))
    writer.writeheader()
    writer.writerows({key: harmless(value) for key, value in line.items()} for line in lines)
    return text.getvalue()


def for_roster(out: Path, found: list[dict], roster: list[dict]) -> list[str]:
    pairs, left = matched(roster, found)
    lines = []
    for line, row in pairs:
        given = {key: row[key] if row else "" for key in ("student", "by tests", "by hand", "to be read", "total", "of", "notes")}
        lines.append(line | given | ({} if row else {"total": "0", "notes": "nothing was handed in"}))
    write(out / "grades-by-roster.csv", as_csv(lines))
    return [f"nobody on the roster has handed in {shown(row['handed in as'])}" for row in left]


def for_moodle(out: Path, found: list[dict]) -> list[str]:
    """Moodle's grading worksheet: rows by the number that it put into the names of the folders."""
    lines, odd = [], []
    with zipfile.ZipFile(out / "moodle-feedback.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for row in found:
            folder = MOODLE.match(row["handed in as"])
            if not folder:
                odd.append(f"{shown(row['handed in as'])} is no folder of Moodle's: download all submissions with folders")
                continue
            comment = f"{row['to be read']} points are still to be read" if row["to be read"] != "0" else ""
            given = {"Identifier": f"Participant {folder['id']}", "Full name": folder["name"], "Grade": row["total"]}
            lines.append(given | {"Maximum grade": row["of"], "Feedback comments": comment})
            page = out / "feedback" / f"{row['student']}.html"
            if page.is_file():
                packed.write(page, f"{row['handed in as']}/{page.name}")
    if not lines:
        raise CourseError("no submission lies in a folder as Moodle packs them (Name_1234_assignsubmission_file)")
    write(out / "moodle.csv", as_csv(lines))
    return odd


def for_canvas(out: Path, found: list[dict], roster: list[dict], column: str | None) -> list[str]:
    """The grade book as Canvas exported it, with the points of this set in the column of its assignment."""
    if not column or not roster or column not in roster[0]:
        names = ", ".join(key for key in roster[0] if re.search(r"\(\d+\)$", key or "")) if roster else ""
        raise CourseError(f"which column is this set's? Say COLUMN='...'; the file has {names or 'no assignment'}")
    people = [line for line in roster if (line.get("ID") or "").strip()]
    pairs, left = matched(people, found)
    points = {id(line): row["total"] for line, row in pairs if row}
    write(out / "canvas.csv", as_csv([line | ({column: points[id(line)]} if id(line) in points else {}) for line in roster]))
    return [f"nobody in the grade book has handed in {shown(row['handed in as'])}" for row in left]


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
    found = list(rows(problems, book, hand))
    if what == "roster":
        return for_roster(out, found, read_table(roster))
    if what == "moodle":
        return for_moodle(out, found)
    if what == "canvas":
        return for_canvas(out, found, read_table(roster), column)
    return for_zip(out) if what == "zip" else for_nbgrader(out, problems, book, hand)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Hand the points of a problem set on.")
    parser.add_argument("set", help="as ps2")
    parser.add_argument("what", choices=("roster", "moodle", "canvas", "zip", "nbgrader"))
    parser.add_argument("--roster", type=Path, help="the class list, or the grade book that Canvas exported")
    parser.add_argument("--column", help="the assignment's column in the grade book of Canvas")
    parser.add_argument("--out", type=Path, help="where the grades are (default _grades/SET)")
    arguments = parser.parse_args(argv)
    out = (arguments.out or source.ROOT / "_grades" / arguments.set).resolve()
    try:
        for sentence in export(source.read(arguments.set), out, arguments.what, arguments.roster, arguments.column):
            print(f"note: {sentence}", file=sys.stderr)
    except (CourseError, source.SourceError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 1
    print(f"written to {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
