"""Try a notebook as the judge will, without the hidden tests: `python -m course.look FILE [--set ps2]`.

For students before they hand in, and for whoever helps them. It needs no source with solutions: checks come from the student
version in the book. The notebook runs as on this machine, from the top, in an empty folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import nbformat

from . import restore, source
from .errors import CourseError
from .judge import judge
from .kernel import Limits
from .submission import Step, Submission

BOOK = source.ROOT / "book" / "assignments"


def public(name: str, folder: Path = BOOK, given: Path | None = None) -> tuple[source.ProblemSet, nbformat.NotebookNode]:
    """A set as its student version tells it, the book's or the one that was `given`: answers by their stubs, public checks."""
    path = given or folder / f"{name}.ipynb"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("ps*.ipynb")))
        raise CourseError(f"there is no problem set {name!r}; there are {known}")
    release, cells = nbformat.read(path, as_version=4), []
    for cell in release.cells:
        marks, code = cell.metadata.get("nbgrader", {}), cell.cell_type == "code"
        if cell.id == "setup":
            continue
        kind = "answer" if marks.get("solution") else "test" if marks.get("grade") else "given" if code else "text"
        text = f"{cell.source}\n### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS" if kind == "test" else cell.source
        cells.append(source.Cell(kind, cell.id, text, code, marks.get("points")))
        if code:
            cell.outputs = []
    return source.ProblemSet(name, tuple(cells)), release


def worth(cell) -> str:
    """A cell's name and its points."""
    return f"{cell.name} ({cell.points:g} point{'' if cell.points == 1 else 's'})"


def look(name: str, path: Path, limits: Limits, given: Path | None = None) -> list[str]:
    """A line for each question: what its check says when the notebook runs as the judge runs it."""
    problems, release = public(name, given=given)
    notebook, notes = restore.restore(problems, restore.decoded(path.read_bytes()), release)
    tests = {test.name for test in problems.tests}
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.id != "setup"]
    submission = Submission([Step(cell.id, cell.source, cell.id in tests) for cell in code], limits)
    try:
        submission.start()
        verdicts = judge(problems, submission, hidden=False)
    finally:
        submission.close()
    lines = [f"{worth(test)}: {verdicts[test.name].line}" for test in problems.tests]
    empty = {cell.name: cell.public.strip() for cell in problems.cells if cell.by_hand}
    written = {cell.id: cell.source.strip() for cell in notebook.cells}
    for cell in (c for c in problems.cells if c.by_hand):
        said = "no text yet" if written.get(cell.name, "") in ("", empty[cell.name]) else "a text, which a person will read"
        lines.append(f"{worth(cell)}: {said}")
    return lines + [f"note: {note}" for note in (*notes, *submission.notes)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Try a notebook as the judge will, without the hidden tests.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--set", help="as ps2; without it, by the name of the file")
    parser.add_argument("--shield", choices=("full", "basic", "off"), default="off", help="off, as it is your own notebook")
    parser.add_argument("--given", type=Path, help="the notebook as you got it, where your course has numbers for each student")
    arguments = parser.parse_args(argv)
    words = arguments.file.stem.lower().replace("_", "-").split("-")
    name = arguments.set or next((word for word in words if word.startswith("ps")), "")
    try:
        if not arguments.file.is_file():
            raise CourseError(f"there is no file {arguments.file}")
        if not name:
            raise CourseError("which set is it? Say SET=ps2")
        if arguments.given and not arguments.given.is_file():
            raise CourseError(f"there is no file {arguments.given}")
        print("\n".join(look(name, arguments.file, Limits(shield=arguments.shield), arguments.given)))
    except (CourseError, restore.Unreadable) as error:
        print(f"look: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
