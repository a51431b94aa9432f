"""Numbers of one's own: `python -m course.variants SET --roster class.csv` makes a notebook for each student on the list."""

from __future__ import annotations

import argparse
import csv
import hashlib
import secrets
import sys
from pathlib import Path

import nbformat

from . import book, make, roster, source
from .collect import alike, called
from .errors import CourseError
from .numbers import choices, drawn

LIST = "variants.csv"
SEED = "variant"


def seed_of(key: str, name: str, student: str) -> int:
    """A student's seed in a set. The key is the instructor's, so that nobody can compute whose numbers are like theirs."""
    return int.from_bytes(hashlib.sha256(f"{key}\n{name}\n{student.strip().casefold()}".encode()).digest()[:4], "big")


def entered(out: Path) -> list[dict]:
    """The class list with a seed for each line, as `make variants` left it; empty without it."""
    return roster.read_table(out / LIST) if (out / LIST).is_file() else []


def seeds(out: Path, handed: list) -> dict[str, int | None]:
    """The seed of each submission by the class list; None where nobody on it has that name."""
    found = [{"handed in as": one.name, "student": one.student} for one in handed]
    claims, _ = roster.claimed(entered(out), found)
    return {row["student"]: int(line[SEED]) for line, rows in claims for row in rows}


def write_class(problems, listed: list[dict], out: Path, grades: Path, key: str) -> list[str]:
    """A notebook for each line of a class list, and the list with the seeds beside the grades; what there is to say."""
    if not choices(problems.text):
        raise CourseError(f"{problems.name} has no variants: its source has no comment <!-- variants")
    taken, lines = {}, []
    out.mkdir(parents=True, exist_ok=True)
    for line in listed:
        columns = [*roster.columns(line, roster.KEYS), *roster.columns(line, roster.NAMES)]
        names = [line[column].strip() for column in columns if (line[column] or "").strip()]
        if not names:
            raise CourseError(f"a line of the class list has neither a name nor an id: {line}")
        if names[0] in taken.values():
            raise CourseError(f"two lines of the class list are {names[0]!r}: give each an id")
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
    except (CourseError, source.SourceError, csv.Error) as error:
        print(f"variants: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
