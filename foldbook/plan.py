"""The plan of the book: its parts, chapters, sources and budgets, read from `book/plan.yml`, where they stand once.

>>> from foldbook import plan
>>> list(plan.parts())
['splines', 'boolean', 'geometry', 'growth']
>>> plan.chapter_of("splines/breakpoints-checks")
'splines/breakpoints'
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import paths

CHECKS = "-checks"  # the notebook NAME-checks holds the evidence of the chapter NAME


@dataclass(frozen=True)
class Chapter:
    """A chapter, written or planned: its name as splines/breakpoints, and the seconds that one of its pages may take.

    `title` is its name wherever the book speaks of it; `needs` are the chapters to read before it. `refereed`: each verdict was
    read against the source by someone who did not write it, and lint holds it to all rules.
    """

    name: str
    title: str
    about: str
    seconds: float
    refereed: bool = False
    needs: tuple[str, ...] = ()

    def pages(self, book: Path) -> list[str]:
        """The pages that are there, the story first: none, where the chapter is only planned."""
        return [page for page in (self.name, self.name + CHECKS) if (book / f"{page}.ipynb").is_file()]


@dataclass(frozen=True)
class Part:
    """A part of the book: its folder, and its chapters in order."""

    folder: str
    title: str
    about: str
    chapters: tuple[Chapter, ...]


def read(path: Path) -> Any:
    """The content of a YAML file; the fast parser where it is there."""
    import yaml

    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@functools.cache
def entries() -> dict:
    """`book/plan.yml` as it is written."""
    return read(paths.book() / "plan.yml")


@functools.cache
def parts() -> dict[str, Part]:
    """The parts by folder, in the order in which a beginner reads them."""
    page = budgets()["page"]
    return {
        folder: Part(
            folder,
            part["title"],
            part["about"],
            tuple(_chapter(f"{folder}/{name}", {"seconds": page, **entry}) for name, entry in part["chapters"].items()),
        )
        for folder, part in entries()["parts"].items()
    }


def _chapter(name: str, entry: dict) -> Chapter:
    needs = tuple(entry.get("needs", ()))
    return Chapter(name, needs=needs, **{key: value for key, value in entry.items() if key != "needs"})


def chapters() -> dict[str, Chapter]:
    """The chapters by name, written and planned, in order."""
    return {chapter.name: chapter for part in parts().values() for chapter in part.chapters}


def sources() -> dict[str, str]:
    """The four sources by their mark, as S3."""
    return dict(entries()["sources"])


def budgets() -> dict[str, float]:
    """Seconds on two cores: `page` for one notebook, `book` for all of them."""
    return dict(entries()["budgets"])


def titles() -> dict[str, str]:
    """The title of each story and of each checks page, by its name below the book."""
    ends = {"": "", CHECKS: ": the checks"}
    return {name + end: chapter.title + said for name, chapter in chapters().items() for end, said in ends.items()}


def chapter_of(page: str) -> str:
    """The chapter that a page belongs to: splines/breakpoints, for the story and for its checks."""
    return page.removesuffix(CHECKS)


def budget(page: str) -> float:
    """The seconds that a page may take: its chapter's, or those of any page."""
    chapter = chapters().get(chapter_of(page))
    return chapter.seconds if chapter else budgets()["page"]


def in_order(page: str) -> tuple:
    """A key that sorts pages as the book has them: by chapter, a story before its checks, what is no chapter last."""
    order = list(chapters())
    chapter = chapter_of(page)
    return (order.index(chapter) if chapter in order else len(order), page)
