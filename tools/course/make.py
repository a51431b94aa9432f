"""Make the student versions of the problem sets, or see that they are right: `python -m tools.course.make [--check] [SET ...]`.

The source goes through nbgrader, which takes the solutions and hidden tests out; what is left is compared with our own reading of
the source, searched for secrets, run once, and stored in book/assignments/. The same source gives the same bytes.
"""

from __future__ import annotations

import argparse
import copy
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from .. import notebooks
from . import source

ROOT = source.ROOT
PYTHON = ROOT / ".venv-course" / "bin" / "python"
KEPT = ("nbgrader", "tags", "deletable", "editable")


class CourseError(Exception):
    """Something that the person at the keyboard can put right; the message says what."""


def course(*arguments) -> subprocess.CompletedProcess:
    """Run gradebook.py in nbgrader's own environment."""
    if not PYTHON.is_file():
        raise CourseError("nbgrader's environment, .venv-course, is missing: python -m tools.install course makes it")
    script = Path(__file__).with_name("gradebook.py")
    environment = {**os.environ, "PATH": f"{PYTHON.parent}:{os.environ.get('PATH', '')}"}  # nbgrader calls alembic by name
    return subprocess.run([PYTHON, "-W", "ignore", script, *map(str, arguments)], env=environment, capture_output=True, text=True)


def release(problems: source.ProblemSet, folder: Path) -> nbformat.NotebookNode:
    """The student version by nbgrader, in an nbgrader course at `folder`; no outputs yet."""
    teacher = folder / "source" / problems.name / f"{problems.name}.ipynb"
    teacher.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(problems.notebook(), teacher)
    done = course("release", folder, problems.name)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        raise CourseError(f"nbgrader could not make {problems.name}: {said[-1]}")
    made = nbformat.read(folder / "release" / problems.name / teacher.name, as_version=4)
    for cell in made.cells:
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in KEPT if key in cell.metadata})
    made = notebooks.normalised(made)
    verify(problems, made)
    return made


def verify(problems: source.ProblemSet, made: nbformat.NotebookNode) -> None:
    """nbgrader's reading of the source and ours must agree, and no secret may be left."""
    cells = {cell.id: cell.source for cell in made.cells}
    for cell in problems.cells:
        if cell.kind != "distractor" and cells.pop(cell.name, None) != cell.public.rstrip("\n"):
            raise CourseError(f"{problems.name}: the student version of the cell {cell.name} is not what the source says")
    if set(cells) != {"setup"}:
        raise CourseError(f"{problems.name}: the student version has the cells {', '.join(sorted(cells))} from nowhere")
    if found := source.leaks(problems, "\n".join(cell.source for cell in made.cells)):
        raise CourseError(f"{problems.name}: the student version holds a secret: {found[0]!r}")


def without_outputs(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def make(name: str, root: Path, check: bool) -> str:
    """Make one student version, or compare it with the stored one; a line that says what came of it."""
    problems = source.read(name, root / "assignments")
    target = root / "book" / "assignments" / f"{name}.ipynb"
    with tempfile.TemporaryDirectory(prefix="fold-") as folder:
        made = release(problems, Path(folder))
        if check:
            compare(problems, made, target)
            return f"{name}: the stored student version is what the source makes, {problems.points:g} points"
        fresh = Path(folder) / f"{name}.ipynb"
        nbformat.write(made, fresh)
        start = time.monotonic()
        run = notebooks.execute(fresh, folder=target.parent if target.parent.is_dir() else None)
        seconds = time.monotonic() - start
    target.parent.mkdir(exist_ok=True)
    changed = notebooks.write(target, run)
    notebooks.remember(root, f"assignments/{name}", seconds, notebooks.source_hash(run), changed)
    return f"{name}: {problems.points:g} points, " + (f"{target.relative_to(root)} written" if changed else "unchanged")


def compare(problems: source.ProblemSet, made: nbformat.NotebookNode, target: Path) -> None:
    if not target.is_file():
        raise CourseError(f"{target.name} is missing in book/assignments: make assignments")
    stored = nbformat.read(target, as_version=4)
    if without_outputs(stored) != without_outputs(made):
        raise CourseError(f"book/assignments/{target.name} is not what the source makes: make assignments")
    if found := source.leaks(problems, target.read_text(encoding="utf-8")):
        raise CourseError(f"book/assignments/{target.name} holds a secret: {found[0]!r}")


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Make the student versions of the problem sets.")
    parser.add_argument("set", nargs="*", help="as ps2; without one, all")
    parser.add_argument("--check", action="store_true", help="write nothing; see that the stored ones are right")
    arguments = parser.parse_args(argv)
    failed = False
    for name in arguments.set or source.names(root / "assignments"):
        try:
            print(make(name, root, arguments.check), flush=True)
        except (CourseError, source.SourceError, notebooks.CellFailed) as error:
            print(f"assignments: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
