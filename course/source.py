"""An instructor's source: one Markdown file for each problem set, with its solutions, hidden tests and distractors.

The words after a fence's ```python say what a cell is: `answer="name"` (with `points=` where a person grades it), `test="name"
points=2`, `distractor="answer" loses="test"`, `alternative="answer"` for what is right in another way; a text answer stands
between `<!-- #region answer="name" points=4 -->` and `<!-- #endregion -->`. A cell without such words is given to the students.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from foldbook import paths
from foldbook.notebooks import METADATA, current_address, setup_cell

from . import numbers

ROOT = paths.repository()  # of the book
HOME = Path(__file__).resolve().parents[1]  # of the course: the same, or a private repository
SOURCES = HOME / "course" / "sets"
MARKS = {
    "solution": (re.compile(r"^\s*### BEGIN SOLUTION$"), re.compile(r"^\s*### END SOLUTION$")),
    "hidden": (re.compile(r"^\s*### BEGIN HIDDEN TESTS$"), re.compile(r"^\s*### END HIDDEN TESTS$")),
}
WORDS = {
    "answer": {"answer", "points"},
    "test": {"test", "points"},
    "distractor": {"distractor", "loses"},
    "alternative": {"alternative"},
    "given": {"tags"},
    "text": set(),
}
QUESTION = re.compile(r"^## Question (\d+) \((\d+) points?\): .*\n+(?:\*(Warm-up|Standard|Optional)\.\*)?", re.MULTILINE)
HOURS = re.compile(r"\*\*Time:\*\* about (\w+)( and a half)? hours")
NUMBERS = [*map(str, "no one two three four five six seven eight".split())]
CODE_STUB, TEXT_STUB = "# your code here", "*Your answer.*"


class SourceError(ValueError):
    """A source that cannot be made into a problem set; the message says where and why."""


@dataclass(frozen=True)
class Cell:
    """A cell of the source: `kind` is one of WORDS, `name` its id, `loses` the tests that a distractor must fail.

    The first of `loses` is the answer in whose place it stands; an alternative is a distractor that loses nothing.

    `optional` is what belongs to a question that begins with *Optional.*: its points make up for points lost elsewhere.
    """

    kind: str
    name: str
    source: str
    code: bool
    points: float | None = None
    loses: tuple[str, ...] = ()
    optional: bool = False

    @property
    def worth(self) -> float:
        return self.points or 0.0

    @property
    def by_hand(self) -> bool:
        return self.kind == "answer" and self.points is not None

    @cached_property
    def public(self) -> str:
        """What students see of the cell; of an answer's code, the stub."""
        if self.kind == "answer" and not self.code:
            return TEXT_STUB
        return "\n".join(line for part, line in _parts(self) if part == "public")

    @cached_property
    def secret(self) -> list[str]:
        """The lines that no student may see."""
        if self.kind == "distractor" or (self.kind == "answer" and not self.code):
            return self.source.splitlines()
        return [line for part, line in _parts(self) if part != "public"]

    @cached_property
    def defines(self) -> dict[str, str]:
        """What an answer's stub defines at the top level: each name is a `function` or a `value`."""
        found = {}
        for node in ast.parse(self.public).body if self.code and self.kind == "answer" else ():
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found[node.name] = "function"
            elif isinstance(node, ast.Assign):
                found |= {t.id: "value" for target in node.targets for t in ast.walk(target) if isinstance(t, ast.Name)}
        return found


@dataclass(frozen=True)
class ProblemSet:
    """A problem set as its source tells it, with the numbers of the book or those that a seed drew."""

    name: str
    cells: tuple[Cell, ...]
    text: str = field(default="", repr=False, compare=False)
    seed: int | None = None

    def variant(self, seed: int | None) -> ProblemSet:
        """The same set with other numbers, where its source has variants."""
        return parse(self.name, self.text, seed) if seed is not None and numbers.choices(self.text) else self

    def of(self, kind: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.kind == kind]

    @property
    def tests(self) -> list[Cell]:
        return self.of("test")

    @property
    def title(self) -> str:
        """The first heading."""
        lines = (line for cell in self.of("text") for line in cell.source.splitlines() if line.startswith("# "))
        return next(lines, self.name).lstrip("# ")

    @property
    def points(self) -> float:
        """What a whole answer is worth; optional questions do not count."""
        return sum(cell.worth for cell in self.cells if not cell.optional)

    @property
    def extra(self) -> float:
        """What optional questions are worth."""
        return sum(cell.worth for cell in self.cells if cell.optional)

    @property
    def hours(self) -> float:
        """What its head says that it takes, without what is optional; nan where it says nothing."""
        said = HOURS.search("\n".join(cell.source for cell in self.of("text")))
        return NUMBERS.index(said[1]) + 0.5 * bool(said[2]) if said and said[1] in NUMBERS else math.nan

    def total(self, earned: float) -> float:
        """What counts of the points that were earned: never more than a whole answer is worth."""
        return min(earned, self.points)

    def notebook(self, root: Path = ROOT) -> nbformat.NotebookNode:
        """The instructor's notebook with nbgrader's metadata: solutions and hidden tests, no distractors."""
        cells = [self._node(cell) for cell in self.cells if cell.kind != "distractor"]
        first = next((i for i, cell in enumerate(cells) if cell.cell_type == "code"), len(cells))
        setup = new_code_cell(setup_cell(current_address(root)), id="setup", metadata={"tags": ["setup"]})
        return new_notebook(cells=[*cells[:first], setup, *cells[first:]], metadata=METADATA)

    def _node(self, cell: Cell) -> nbformat.NotebookNode:
        node = (new_code_cell if cell.code else new_markdown_cell)(cell.source, id=cell.name)
        if cell.kind == "text":
            return node
        graded = cell.points is not None
        locked = cell.kind in ("test", "given")
        kind = {"grade": graded, "solution": cell.kind == "answer", "locked": locked, "task": False}
        node.metadata["nbgrader"] = {**kind, "grade_id": cell.name, "schema_version": 3}
        if graded:
            node.metadata["nbgrader"]["points"] = cell.points
        return node


def read(name: str, folder: Path = SOURCES) -> ProblemSet:
    """The problem set with this name, as ps2."""
    path = folder / name / f"{name}.md"
    if not path.is_file():
        raise SourceError(f"there is no problem set {name!r}; there are {', '.join(names(folder)) or 'none here'}")
    return parse(name, path.read_text(encoding="utf-8"))


def names(folder: Path = SOURCES) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/*.md") if path.stem == path.parent.name)


def parse(name: str, text: str, seed: int | None = None) -> ProblemSet:
    """The set that a source makes; with a seed, with the numbers that it draws."""
    try:
        made = numbers.filled(text, seed, lambda filled: parsed(name, filled))
    except numbers.VariantError as error:
        raise SourceError(f"{name}: {error}") from None
    return replace(parsed(name, made), text=text, seed=seed)


def parsed(name: str, text: str) -> ProblemSet:
    import jupytext

    cells, count, level = [], dict.fromkeys(("text", "given", "distractor", "alternative"), 0), ""
    for node in jupytext.reads(text, fmt="md").cells:
        words = dict(node.metadata)
        graded = next((k for k in ("answer", "test", "distractor", "alternative") if k in words), None)
        kind = graded or ("given" if node.cell_type == "code" else "text")
        if unknown := set(words) - WORDS[kind] - {"region_name"}:
            raise SourceError(f"{name}: a {kind} cell has the unknown words {', '.join(sorted(unknown))}: {node.source[:60]!r}")
        if kind in count:
            count[kind] += 1
        label = words[kind] if kind in ("answer", "test") else f"{kind}-{count[kind]}"
        for found in QUESTION.finditer(node.source) if kind == "text" else ():
            level = found[3] or ""
        loses = (words[kind], *words.get("loses", "").split()) if kind in ("distractor", "alternative") else ()
        kind = "distractor" if kind == "alternative" else kind
        code, optional = node.cell_type == "code", level == "Optional"
        cells.append(Cell(kind, label, node.source, code, words.get("points"), loses, optional))
    found = ProblemSet(name, tuple(cells))
    if problems := list(wrong(found)):
        raise SourceError(f"{name}: " + "; ".join(problems))
    return found


def wrong(problems: ProblemSet) -> Iterator[str]:
    """What an author may have forgotten."""
    labels = [cell.name for cell in problems.cells]
    yield from (f"two cells are named {label}" for label in sorted({x for x in labels if labels.count(x) > 1}))
    answers, tests = ({cell.name for cell in problems.of(kind)} for kind in ("answer", "test"))
    for cell in problems.cells:
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,60}", cell.name):
            yield f"{cell.name!r} is no name: small letters, digits and - alone"
        if cell.kind == "test" and not (isinstance(cell.points, (int, float)) and cell.points > 0):
            yield f"the test {cell.name} has no points"
        if cell.kind == "test" and "### BEGIN HIDDEN TESTS" not in cell.source:
            yield f"the test {cell.name} has no hidden tests"
        if cell.kind == "answer" and cell.code and "### BEGIN SOLUTION" not in cell.source:
            yield f"the answer {cell.name} has no ### BEGIN SOLUTION"
        if cell.kind == "answer" and cell.code and not cell.by_hand and not cell.defines:
            yield f"the stub of the answer {cell.name} defines nothing that a test could ask for"
        if cell.kind == "distractor":
            answer, *lost = cell.loses
            if answer not in answers:
                yield f"a distractor stands for the unknown answer {answer}"
            if set(lost) - tests or (not lost and not cell.name.startswith("alternative")):
                yield f"a distractor for {answer} must lose tests that exist; it says {' '.join(lost) or 'none'}"
    caught = {test for cell in problems.of("distractor") for test in cell.loses[1:]}
    yield from (f"no distractor fails the test {cell.name}" for cell in problems.tests if cell.name not in caught)


def _parts(cell: Cell) -> Iterator[tuple[str, str]]:
    """Each line with its part: public, solution or hidden. A solution leaves its stub behind."""
    inside = None
    for line in cell.source.splitlines():
        opened = next((part for part, (begin, _) in MARKS.items() if begin.match(line)), None)
        if opened:
            if inside:
                raise SourceError(f"{cell.name}: ### BEGIN inside another one")
            inside = opened
            if opened == "solution":
                yield "public", line[: len(line) - len(line.lstrip())] + CODE_STUB
        elif inside and MARKS[inside][1].match(line):
            inside = None
        else:
            yield inside or "public", line
    if inside:
        raise SourceError(f"{cell.name}: ### BEGIN {inside.upper()} is not closed")


def leaks(problems: ProblemSet, student: str) -> list[str]:
    """The secret lines of a set that a student version, or any other text, holds; lines that are public anyway do not count."""
    public = {line.strip() for cell in problems.cells for line in cell.public.splitlines() if cell.kind != "distractor"}
    lines = {line.strip() for cell in problems.cells for line in cell.secret} - public
    telling = {line for line in lines if len(line) > 11}
    found = sorted(line for line in telling if line in student)
    return found + [mark for mark in ("BEGIN SOLUTION", "HIDDEN TESTS", "distractor=", "alternative=") if mark in student]
