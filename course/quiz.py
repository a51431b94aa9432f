"""Tests on paper with numbers of their own: `python -m course.quiz --seed 1 [--count 6] [CHAPTER ...]`.

Writes quiz-1.md and key-1.md to _quiz. The same seed gives the same test; two students with two seeds have two.

`python -m course.quiz --exam midterm --papers 4` writes midterm-A.md to midterm-D.md and one key: the same kinds of questions in
the same order, so that they are equally hard, and other numbers in each. The midterm asks one question on each story of the first
four weeks, the final one on each story of all weeks.
"""

from __future__ import annotations

import argparse
import re
import string
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

from foldbook import plan

from .bank import BANK, Question
from .errors import CourseError
from .source import HOME, ROOT

EXAMS = {"midterm": (1, 2, 3, 4), "final": (1, 2, 3, 4, 5, 6, 7, 8)}  # the weeks whose stories are asked
MINUTES, POINTS = 8, 4  # for each question of an exam
WEEKS = ROOT / "book" / "assignments"


def draw(seed: int, count: int, chapters: list[str] | None = None) -> list[tuple[str, Question]]:
    """So many questions on these chapters, no kind twice, in the order of the book."""
    unknown = [chapter for chapter in chapters or () if chapter not in BANK]
    if unknown:
        raise CourseError(f"the bank has nothing on {', '.join(unknown)}; there are {', '.join(BANK)}")
    kinds = [(chapter, kind) for chapter in BANK if not chapters or chapter in chapters for kind in BANK[chapter]]
    if not 0 < count <= len(kinds):
        raise CourseError(f"there are {len(kinds)} kinds of questions on this; COUNT is {count}")
    rng = np.random.default_rng(seed)
    chosen = sorted(rng.choice(len(kinds), count, replace=False))
    return [(kinds[i][0], kinds[i][1](rng)) for i in chosen]


def number(value) -> str:
    if isinstance(value, Fraction) and value.denominator > 1:
        return f"{value} (about {float(value):.4g})"
    return f"{value}"


def pages(seed: int, drawn: list[tuple[str, Question]]) -> tuple[str, str]:
    """The test and its key, as Markdown."""
    quiz = [f"# Short test {seed}", "Name:", "Paper and pencil; fractions are fine."]
    key = [f"# Key to short test {seed}"]
    for index, (chapter, question) in enumerate(drawn, 1):
        quiz.append(f"**{index}.** {question.text}")
        key.append(f"**{index}** ({plan.chapters()[chapter].title}): {', '.join(map(number, question.answer))}")
    return "\n\n".join(quiz) + "\n", "\n\n".join(key) + "\n"


def stories(weeks) -> list[str]:
    """What is read in these weeks, in the order in which it is read."""
    heads = [(WEEKS / f"week-{week}.md").read_text(encoding="utf-8").split("**This week:**")[0] for week in weeks]
    return [story for head in heads for story in re.findall(r"\(\.\./(\w+/\w+)\.ipynb\)", head)]


def exam(seed: int, papers: int, weeks) -> list[list[tuple[str, Question]]]:
    """So many papers with one question on each story: the same kinds for everybody, and neighbours have other answers."""
    if not 0 < papers <= len(string.ascii_uppercase):
        raise CourseError(f"there can be 1 to 26 papers; got {papers}")
    rng, rows = np.random.default_rng(seed), []
    for story in stories(weeks):
        kind = BANK[story][rng.integers(len(BANK[story]))]
        rows.append([(story, question) for question in different(kind, papers, rng)])
    return [list(paper) for paper in zip(*rows)]


def different(kind, count: int, rng: np.random.Generator) -> list[Question]:
    """So many questions of a kind, no two of them alike, and none with the answer of the one before it."""
    found = [kind(rng)]
    for _ in range(200 * count):
        new = kind(rng)
        if len(found) < count and new.answer != found[-1].answer and new.text not in [one.text for one in found]:
            found.append(new)
    if len(found) < count:
        raise CourseError(f"the bank has no {count} papers of this: {found[0].text[:60]}...; ask for fewer")
    return found


def sheets(name: str, papers: list[list[tuple[str, Question]]]) -> dict[str, str]:
    """Each paper and the key to all of them, by the names of their files, as Markdown."""
    letters, count = string.ascii_uppercase, len(papers[0])
    told = f"{count} questions, {POINTS} points each, {count * MINUTES} minutes. Paper and pencil; fractions are fine."
    rule = "Half of the points are for the way, half for the answer."
    files = {}
    for letter, paper in zip(letters, papers):
        lines = [f"# {name.capitalize()}, paper {letter}", "Name:", f"{told} Say how you found each answer. {rule}"]
        lines += [f"**{index}** ({POINTS} points)**.** {question.text}" for index, (_, question) in enumerate(paper, 1)]
        files[f"{name}-{letter}.md"] = "\n\n".join(lines) + "\n"
    key = [f"# Key to the {name}", rule]
    for index, row in enumerate(zip(*papers), 1):
        answers = [f"- {letter}: {', '.join(map(number, question.answer))}" for letter, (_, question) in zip(letters, row)]
        key.append(f"**{index}** ({plan.chapters()[row[0][0]].title})\n\n" + "\n".join(answers))
    return files | {f"{name}-key.md": "\n\n".join(key) + "\n"}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make a short test on paper with numbers of its own.")
    parser.add_argument("chapter", nargs="*", help="as splines/breakpoints; without one, all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--exam", choices=EXAMS, help="an exam instead of a short test")
    parser.add_argument("--papers", type=int, default=4, help="how many papers an exam has, with other numbers in each")
    parser.add_argument("--out", type=Path, default=HOME / "_quiz")
    arguments = parser.parse_args(argv)
    try:
        if arguments.exam:
            files = sheets(arguments.exam, exam(arguments.seed, arguments.papers, EXAMS[arguments.exam]))
        else:
            found = pages(arguments.seed, draw(arguments.seed, arguments.count, arguments.chapter))
            files = {f"{name}-{arguments.seed}.md": text for name, text in zip(("quiz", "key"), found)}
    except CourseError as error:
        print(f"quiz: {error}", file=sys.stderr)
        return 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = arguments.out / name
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
