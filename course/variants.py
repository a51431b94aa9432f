"""Numbers of one's own: `python -m course.variants SET --roster class.csv` makes a notebook for each student on the list."""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import hmac
import re
import secrets
import sys
from collections import Counter
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell

from . import book, make, roster, source
from .collect import LARGEST, alike, called
from .errors import CourseError
from .numbers import choices, drawn

LIST = "variants.csv"
SEED, SIGN = "variant", "sign"
SIGNED = re.compile(rb"foldnet-[0-9a-f]{20}")


def seed_of(key: str, name: str, student: str) -> int:
    """A student's seed in a set. The key is the instructor's, so that nobody can compute whose numbers are like theirs."""
    return int.from_bytes(hashlib.sha256(f"{key}\n{name}\n{student.strip().casefold()}".encode()).digest()[:4], "big")


def sign_of(key: str, name: str, student: str) -> str:
    """What stands in the notebook that was made for a student, and in no other; nobody else can compute it."""
    said = f"{name}\n{student.strip().casefold()}".encode()
    return f"foldnet-{hmac.new(key.encode(), said, hashlib.sha256).hexdigest()[:20]}"


def entered(out: Path) -> list[dict]:
    """The class list with a seed for each line, as `make variants` left it; empty without it."""
    return roster.read_table(out / LIST) if (out / LIST).is_file() else []


def first_name(line: dict) -> str:
    """What a line of a class list is called: its first id, or else its name."""
    columns = [*roster.columns(line, roster.KEYS), *roster.columns(line, roster.NAMES)]
    return next((line[column].strip() for column in columns if (line[column] or "").strip()), "")


def recognise(out: Path, handed: list) -> None:
    """Give each submission its seed, and the student whom its notebook was made for; note what does not fit.

    The platform says who handed a file in, and then the sign within the file, before any name that a student chose.
    """
    listed = entered(out)
    signs = {line[SIGN].encode(): first_name(line) for line in listed if line.get(SIGN)}
    for one in handed if signs else ():
        with contextlib.suppress(OSError):
            data = one.path.read_bytes() if one.path and one.path.stat().st_size <= LARGEST else b""
            found = {signs[sign] for sign in SIGNED.findall(data) if sign in signs}
            one.made_for = found.pop() if len(found) == 1 else ""
    rows = [{"handed in as": one.name, "student": one.student, roster.MADE_FOR: one.made_for} for one in handed]
    whose = {row["student"]: line for line, theirs in roster.claimed(listed, rows)[0] for row in theirs}
    often = Counter(one.made_for for one in handed)
    for one in handed if listed else ():
        line = whose.get(one.student)
        one.seed = int(line[SEED]) if line else None
        if not line:
            one.notes.append(f"nobody in {LIST} has this name: judged by the numbers of the book")
        if one.made_for and (not line or first_name(line) != one.made_for):
            one.notes.append(f"this notebook was made for {one.made_for}")
        elif one.made_for and often[one.made_for] > 1:
            one.notes.append(f"{often[one.made_for]} files are the notebook that was made for {one.made_for}")


def write_class(problems, listed: list[dict], out: Path, grades: Path, key: str) -> list[str]:
    """A notebook for each line of a class list, and the list with the seeds beside the grades; what there is to say."""
    if not choices(problems.text):
        raise CourseError(f"{problems.name} has no variants: its source has no comment <!-- variants")
    taken, lines = {}, []
    out.mkdir(parents=True, exist_ok=True)
    for line in listed:
        name = first_name(line)
        if not name:
            raise CourseError(f"a line of the class list has neither a name nor an id: {line}")
        if name in taken.values():
            raise CourseError(f"two lines of the class list are {name!r}: give each an id")
        seed, sign = seed_of(key, problems.name, name), sign_of(key, problems.name, name)
        student = called(name, taken)
        taken[alike(student)] = name
        folder = out / student
        folder.mkdir(exist_ok=True)
        made = make.release(problems.variant(seed))
        made.cells.insert(1, new_markdown_cell(f"This notebook is yours alone. Please leave this line: `{sign}`", id="yours"))
        nbformat.write(made, folder / f"{problems.name}.ipynb")
        lines.append({**line, SEED: seed, SIGN: sign})
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
    out = arguments.out or source.HOME / "_variants" / arguments.set
    grades = arguments.grades or source.HOME / "_grades" / arguments.set
    try:
        secret = grades.parent / "variants.key"  # the same for all sets of a course
        if not secret.is_file():
            secret.parent.mkdir(parents=True, exist_ok=True)
            secret.write_text(secrets.token_hex(16))
        problems = source.read(arguments.set)
        listed = roster.people(roster.read_table(arguments.roster.expanduser()))
        print(*write_class(problems, listed, out, grades, secret.read_text()), sep="\n")
    except (CourseError, source.SourceError, csv.Error) as error:
        print(f"variants: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
