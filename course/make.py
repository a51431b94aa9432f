"""Make the student versions of the problem sets, or see that they are right: `python -m course.make [--check] [SET ...]`.

Solutions and hidden tests are taken out of the source; what is left is searched for secrets, run once, and stored in
book/assignments/ with nbgrader's metadata, so that nbgrader can read it. The same source gives the same bytes.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import sys
import tempfile
from pathlib import Path

import nbformat

from foldbook import notebooks

from . import source
from .errors import CourseError

ROOT = source.ROOT


def release(problems: source.ProblemSet) -> nbformat.NotebookNode:
    """The student version, without outputs; its cells are locked and signed as nbgrader does it."""
    made = problems.notebook()
    public = {cell.name: cell.public.rstrip("\n") for cell in problems.cells}
    for cell in made.cells:
        cell.source = public.get(cell.id, cell.source)
        if marks := cell.metadata.get("nbgrader"):
            marks |= {"cell_type": cell.cell_type, "checksum": checksum(cell)}
            cell.metadata["deletable"] = False
            if marks["locked"]:
                cell.metadata["editable"] = False
    if found := source.leaks(problems, "\n".join(cell.source for cell in made.cells)):
        raise CourseError(f"{problems.name}: the student version holds a secret: {found[0]!r}")
    return notebooks.normalised(made)


def checksum(cell: nbformat.NotebookNode) -> str:
    """nbgrader's signature of a cell, by which its own tools see that a test was edited."""
    marks = cell.metadata["nbgrader"]
    parts = [cell.source, cell.cell_type, *(str(marks[key]) for key in ("grade", "solution", "locked")), marks["grade_id"]]
    parts += [str(float(marks["points"]))] if marks["grade"] else []
    return hashlib.md5("".join(parts).encode()).hexdigest()


def without_outputs(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    notebook = copy.deepcopy(notebook)
    notebook.metadata.pop(notebooks.MADE_FROM, None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def make(name: str, check: bool) -> str:
    """Make one student version, or compare it with the stored one; a line that says what came of it."""
    problems = source.read(name)
    target = ROOT / "book" / "assignments" / f"{name}.ipynb"
    made = release(problems)
    if check:
        compare(problems, made, target)
        return f"{name}: the stored student version is what the source makes, {problems.points:g} points"
    with tempfile.TemporaryDirectory(prefix="fold-") as folder:
        fresh = Path(folder) / f"{name}.ipynb"
        nbformat.write(made, fresh)
        run = notebooks.execute(fresh, folder=target.parent if target.parent.is_dir() else None)
    target.parent.mkdir(exist_ok=True)
    changed = notebooks.write(target, run)
    return f"{name}: {problems.points:g} points, " + (f"{target.relative_to(ROOT)} written" if changed else "unchanged")


def compare(problems: source.ProblemSet, made: nbformat.NotebookNode, target: Path) -> None:
    if not target.is_file():
        raise CourseError(f"{target.name} is missing in book/assignments: make assignments")
    stored = nbformat.read(target, as_version=4)
    if without_outputs(stored) != without_outputs(made):
        raise CourseError(f"book/assignments/{target.name} is not what the source makes: make assignments")
    if found := source.leaks(problems, target.read_text(encoding="utf-8")):
        raise CourseError(f"book/assignments/{target.name} holds a secret: {found[0]!r}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the student versions of the problem sets.")
    parser.add_argument("set", nargs="*", help="as ps2; without one, all")
    parser.add_argument("--check", action="store_true", help="write nothing; see that the stored ones are right")
    arguments = parser.parse_args(argv)
    failed = False
    for name in arguments.set or source.names():
        try:
            print(make(name, arguments.check), flush=True)
        except (CourseError, source.SourceError, notebooks.CellFailed) as error:
            print(f"assignments: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
