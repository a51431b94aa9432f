"""Numbers of one's own: `python -m tools.course.variants SET --roster class.csv` makes a notebook for each student on the list.

A source that has variants says so in a comment: `<!-- variants`, a line `wave = 3 | 2 | 4` for each number, `-->`. In its text,
code and tests `<<wave>>` and `<<2 * wave + 1>>` stand for numbers; `<<0.1497 = error(5)>>` is 0.1497 in the book, and elsewhere
what the solution of that variant makes of the call, to as many digits. The book has the first choice of each; a seed draws.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import csv
import hashlib
import io
import random
import re
import secrets
import sys
from pathlib import Path

HEAD = re.compile(r"^<!-- variants\n(.*?)\n-->\n+", re.DOTALL | re.MULTILINE)
PLACE = re.compile(r"<<(?:(-?[\d.]+) = )?([^<>\n]+)>>")
LIST = "variants.csv"
SEED = "variant"


class VariantError(ValueError):
    """A source whose variants cannot be made; the message says why."""


def choices(text: str) -> dict[str, list]:
    """The numbers of a source that may differ, each with its choices; the book has the first ones."""
    head = HEAD.search(text)
    found = {}
    for line in head[1].splitlines() if head else ():
        name, _, values = line.partition("=")
        try:
            found[name.strip()] = [ast.literal_eval(value.strip()) for value in values.split("|")]
        except (ValueError, SyntaxError):
            raise VariantError(f"a number with its choices is written `wave = 3 | 2 | 4`; got {line!r}") from None
    return found


def drawn(text: str, seed: int | None) -> dict:
    """The numbers of one variant. A seed never draws the book's own, whose solutions everybody can read."""
    found = choices(text)
    if seed is None or not found:
        return {name: values[0] for name, values in found.items()}
    chance = random.Random(seed)
    return {name: chance.choice(values[1:] or values) for name, values in found.items()}


def filled(text: str, seed: int | None, parse) -> str:
    """The text of a source with the numbers of a variant; `parse` makes a set of it, whose solution is run where it must be."""
    numbers = drawn(text, seed)
    if not numbers:
        return text
    text = HEAD.sub("", text)

    def put(computed=None):
        def number(found: re.Match) -> str:
            literal, expression = found.groups()
            if literal is None:
                return str(evaluated(expression, numbers))
            if computed is None or seed is None:
                return literal
            return f"{evaluated(expression, computed):.{len(literal.partition('.')[2])}f}"

        return PLACE.sub(number, text)

    made = put()
    if seed is None or not any(literal for literal, _ in PLACE.findall(text)):
        return made
    return put(solved(parse(made)) | numbers)


def evaluated(expression: str, names: dict):
    try:
        return eval(expression, dict(names))
    except Exception as error:
        raise VariantError(f"<<{expression}>> cannot be computed: {type(error).__name__}: {error}") from None


def solved(problems) -> dict:
    """What the solution defines: given cells and answers, without what only shows results."""
    names: dict = {"__name__": "variants"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in problems.cells:
            if cell.code and cell.kind in ("given", "answer"):
                tree = ast.parse(cell.source)
                if not any(isinstance(node, (ast.If, ast.For)) for node in tree.body):
                    exec(compile(tree, f"<{cell.name}>", "exec"), names)
    return names


# ---- a class -----------------------------------------------------------------------------------------------------------


def seed_of(key: str, name: str, student: str) -> int:
    """A student's seed in a set. The key is the instructor's, so that nobody can compute whose numbers are like theirs."""
    return int.from_bytes(hashlib.sha256(f"{key}\n{name}\n{student.strip().casefold()}".encode()).digest()[:4], "big")


def entered(out: Path) -> list[dict]:
    """The class list with a seed for each line, as `make variants` left it; empty without it."""
    from . import roster

    return roster.read_table(out / LIST) if (out / LIST).is_file() else []


def seeds(out: Path, handed: list) -> dict[str, int | None]:
    """The seed of each submission by the class list; None where nobody on it has that name."""
    from . import roster

    found = [{"handed in as": one.name, "student": one.student} for one in handed]
    pairs, _ = roster.matched(entered(out), found)
    return {row["student"]: int(line[SEED]) for line, row in pairs if row}


def write_class(problems, listed: list[dict], out: Path, grades: Path, key: str) -> list[str]:
    """A notebook for each line of a class list, and the list with the seeds beside the grades; what there is to say."""
    import nbformat

    from . import book, make, roster
    from .collect import alike, called

    if not choices(problems.text):
        raise make.CourseError(f"{problems.name} has no variants: its source has no comment <!-- variants")
    taken, lines = {}, []
    out.mkdir(parents=True, exist_ok=True)
    for line in listed:
        columns = [*roster.columns(line, roster.KEYS), *roster.columns(line, roster.NAMES)]
        names = [line[column].strip() for column in columns if (line[column] or "").strip()]
        if not names:
            raise make.CourseError(f"a line of the class list has neither a name nor an id: {line}")
        if names[0] in taken.values():
            raise make.CourseError(f"two lines of the class list are {names[0]!r}: give each an id")
        seed = seed_of(key, problems.name, names[0])
        student = called(names[0], taken)
        taken[alike(student)] = names[0]
        folder = out / student
        folder.mkdir(exist_ok=True)
        nbformat.write(make.release(problems.variant(seed)), folder / f"{problems.name}.ipynb")
        lines.append({**line, SEED: seed})
    grades.mkdir(parents=True, exist_ok=True)
    book.keep(grades / LIST)
    book.write(grades / LIST, book.table(lines))
    different = len({tuple(drawn(problems.text, line[SEED]).items()) for line in lines})
    return [f"{len(lines)} notebooks with {different} different sets of numbers: {out}", f"whose are whose: {grades / LIST}"]


def main(argv: list[str] | None = None) -> int:
    from . import make, roster, source

    parser = argparse.ArgumentParser(description="Make a problem set with numbers of their own for each student.")
    parser.add_argument("set", help="as ps2")
    parser.add_argument("--roster", type=Path, required=True, help="the class list")
    parser.add_argument("--out", type=Path, help="where the notebooks go (default _variants/SET)")
    parser.add_argument("--grades", type=Path, help="where the grades are (default _grades/SET)")
    arguments = parser.parse_args(argv)
    out = arguments.out or source.ROOT / "_variants" / arguments.set
    grades = arguments.grades or source.ROOT / "_grades" / arguments.set
    try:
        secret = grades.parent / "variants.key"  # the same for all sets of a course
        if not secret.is_file():
            secret.parent.mkdir(parents=True, exist_ok=True)
            secret.write_text(secrets.token_hex(16))
        problems = source.read(arguments.set)
        print(*write_class(problems, roster.read_table(arguments.roster), out, grades, secret.read_text()), sep="\n")
    except (make.CourseError, source.SourceError, csv.Error) as error:
        print(f"variants: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
