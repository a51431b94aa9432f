"""A short test on paper with numbers of its own: `python -m course.quiz --seed 1 [--count 6] [CHAPTER ...]`.

Writes quiz-1.md and key-1.md to _quiz. The same seed gives the same test; two students with two seeds have two.
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

from foldbook import plan

from .bank import BANK, Question
from .errors import CourseError
from .source import ROOT


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


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make a short test on paper with numbers of its own.")
    parser.add_argument("chapter", nargs="*", help="as splines/breakpoints; without one, all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--out", type=Path, default=ROOT / "_quiz")
    arguments = parser.parse_args(argv)
    try:
        quiz, key = pages(arguments.seed, draw(arguments.seed, arguments.count, arguments.chapter))
    except CourseError as error:
        print(f"quiz: {error}", file=sys.stderr)
        return 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, text in (("quiz", quiz), ("key", key)):
        path = arguments.out / f"{name}-{arguments.seed}.md"
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
