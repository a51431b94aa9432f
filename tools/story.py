"""The rules for the two pages of a chapter: a story that is read, and its checks; each yields what is wrong.

tools/lint.py applies them; CONTRIBUTING.md says what they are for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldbook import notebooks, plan
from foldbook.claims import MIME

from . import markdown

FEWEST_WORDS, MOST_WORDS = 2000, 4000  # to aim at: 2,000 to 3,500
FIRST_FIGURE, MOST_OPEN_LINES = 6, 15
FEWEST_VERDICTS, MOST_VERDICTS = 3, 8  # to aim at: three to six
FEWEST_CHAPTERS = 2
GRADES = ("Warm-up", "Standard", "Research")
EXERCISE = re.compile(r"(?ms)^> \*\*Exercise\*\* \(([^()]+)\)\.(.*?)(?=^> \*\*Exercise\*\*|^## |\Z)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#]+\.(?:ipynb|md))(?:#[^)\s]*)?\)")
UNLINKED_CHAPTER = re.compile(r"(?i)(?<!\[)\bthe chapters? (?:on|about) \w+")


def words(nb) -> int:
    """The words of a story: its markdown without formulas, code, links' addresses and folded solutions."""
    text = re.sub(r"(?s)<details>.*?</details>|```.*?```|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)]*\)|<!--.*?-->", " ", nb.prose)
    return len(re.findall(r"[A-Za-zÀ-ÿ0-9][\w'’.-]*", text))


def figures(nb) -> list[int]:
    """The cells that show a picture, or a figure that moves."""
    return sorted({i for i, html in nb.html() if "<img" in html or 'class="explore"' in html or "data-live=" in html})


def verdicts(nb) -> list[tuple[int, str]]:
    """The cells that hold a verdict, and its claim."""
    return [(i, output["data"][MIME]["id"]) for i, output in nb.outputs() if MIME in output.get("data", {})]


def linked(nb) -> set[str]:
    """The pages that a notebook links to, by their names below book/."""
    folder = nb.name.rpartition("/")[0]
    return {_page(folder, match[1]) for match in LINK.finditer(nb.prose)}


def _page(folder: str, target: str) -> str:
    parts = folder.split("/") if folder else []
    for part in target.rsplit(".", 1)[0].split("/"):
        parts = parts[:-1] if part == ".." else parts if part == "." else [*parts, part]
    return "/".join(parts)


# ---- every page --------------------------------------------------------------------------------------------------------


def links_lead_somewhere(nb) -> Iterator[str]:
    """A link to a page of the book leads to one that is there; its anchors are tried when the site is built."""
    if nb.pages is not None:
        for page in sorted(linked(nb) - nb.pages):
            yield f"links to {page}, which is no page of the book"


# ---- the story ---------------------------------------------------------------------------------------------------------


def opens_with_a_figure(nb) -> Iterator[str]:
    """A title, a figure at once and before any open code; then what one needs and how long it takes."""
    if not nb.cells or nb.cells[0]["cell_type"] != "markdown" or not re.match(r"# \S", nb.cells[0]["source"]):
        yield "the first cell does not open with the title, as # ..."
    if len(markdown.titles(nb.prose)) > 1:
        yield "more than one title (# ...)"
    first = next(iter(figures(nb)), None)
    if first is None or first >= FIRST_FIGURE:
        yield f"no figure among the first {FIRST_FIGURE} cells: a reader begins with something to look at"
    elif opened := [i for i, cell in nb.code if i < first and not notebooks.is_folded(cell)]:
        yield f"cell {opened[0]}: open code before the first figure"
    opening = re.split(r"(?m)^## ", nb.prose)[0].lower()
    for said, names in {"what one needs": ("you need", "prerequisites"), "the reading time": ("reading time",)}.items():
        if not any(name in opening for name in names):
            yield f"the text before the first section does not say {said}"


def is_a_story(nb) -> Iterator[str]:
    """Of a length that one reads in a sitting, with a summary and references, and a figure that moves."""
    if not FEWEST_WORDS <= (count := words(nb)) <= MOST_WORDS:
        yield f"{count:,} words; a story has 2,000 to 3,500, and never more than {MOST_WORDS:,}: the rest belongs to its checks"
    for heading in ("Exercises", "Summary", "References"):
        if not re.search(rf"(?mi)^##+ .*\b{heading}\b", nb.prose):
            yield f"no section ## {heading}"
    if not any('class="explore"' in html or "data-live=" in html for _, html in nb.html()):
        yield "no live figure and no explore among the outputs"


def open_code_teaches(nb) -> Iterator[str]:
    """Code that is not folded is short enough to be read: a longer cell is folded or moves into the package."""
    for i, cell in nb.code:
        lines = sum(bool(line.strip()) for line in cell["source"].splitlines())
        if lines > MOST_OPEN_LINES and not notebooks.is_folded(cell) and "selfcheck" not in cell["source"]:
            yield f"cell {i}: {lines} lines of open code, more than {MOST_OPEN_LINES}: fold it, or let the package do the work"


def has_a_few_verdicts(nb) -> Iterator[str]:
    """The verdicts that matter; the others stand on the checks page. A chapter without a claim of a source has none."""
    count = len(verdicts(nb))
    claimed = any(claim.chapter == nb.name for claim in nb.claims().values())
    if not FEWEST_VERDICTS * claimed <= count <= MOST_VERDICTS:
        yield f"{count} verdicts; a story has three to six, and never more than {MOST_VERDICTS}: its checks have the others"


def is_linked(nb) -> Iterator[str]:
    """A story leads to its checks and to other chapters; a chapter that is named is a link."""
    to = linked(nb)
    if nb.name + plan.CHECKS not in to:
        yield f"no link to its checks, as [the checks]({nb.name.split('/')[-1]}{plan.CHECKS}.ipynb)"
    others = {plan.chapter_of(page) for page in to} & set(plan.chapters()) - {nb.name}
    if len(others) < FEWEST_CHAPTERS:
        yield f"links to {len(others)} other chapters, fewer than {FEWEST_CHAPTERS}"
    yield from _names_are_links(nb)


def exercises_are_graded(nb) -> Iterator[str]:
    """Each exercise says how hard it is, all three grades are there, and one asks for a prediction."""
    found = {name: text for name, text in EXERCISE.findall(nb.prose)}
    if len(found) < 3:
        yield f"{len(found)} exercises, fewer than 3 (> **Exercise** (its name). *Warm-up.* ...)"
    grades = {name: [grade for grade in GRADES if text.lstrip().startswith(f"*{grade}.*")] for name, text in found.items()}
    for name in (name for name, grade in grades.items() if not grade):
        yield f"the exercise {name!r} does not open with its grade: *Warm-up.*, *Standard.* or *Research.*"
    if missing := set(GRADES) - {grade for of in grades.values() for grade in of}:
        yield f"no exercise of the grade {' or '.join(sorted(missing))}"
    if not any(re.search(r"(?i)\b(predict|guess)", text) for text in found.values()):
        yield "no exercise asks for a prediction before the answer"


def has_solutions(nb) -> Iterator[str]:
    """Each exercise has a folded solution."""
    exercises = len(EXERCISE.findall(nb.prose))
    solutions = len(re.findall(r"(?s)<details>\s*<summary>[^<]*Solution.*?</details>", nb.prose))
    if solutions < exercises:
        yield f"{exercises} exercises and {solutions} solutions in <details><summary>Solution</summary>"
    if nb.prose.count("<details") != nb.prose.count("</details>"):
        yield "a <details> is not closed"


# ---- the checks --------------------------------------------------------------------------------------------------------


def opens_with_its_story(nb) -> Iterator[str]:
    """A checks page says whose checks they are, with a link, and what one needs to run it."""
    story = plan.chapter_of(nb.name)
    first = nb.cells[0]["source"] if nb.cells else ""
    if not re.match(r"# \S", first):
        yield "the first cell does not open with the title, as # ..."
    if story not in {_page(nb.name.rpartition("/")[0], match[1]) for match in LINK.finditer(first)}:
        yield f"the first cell does not link to its story, {story}"
    if "run time" not in first.lower():
        yield "the first cell does not say its run time"
    if not re.search(r"(?mi)^##+ .*\bReferences\b", nb.prose):
        yield "no section ## References"
    yield from _names_are_links(nb)


def has_every_verdict(nb) -> Iterator[str]:
    """Story and checks together have a verdict for each claim of the chapter that is not open."""
    of_chapter = {id for id, claim in nb.claims().items() if claim.chapter == plan.chapter_of(nb.name) and not claim.open}
    here, there = {id for _, id in verdicts(nb)}, {id for _, id in verdicts(nb.twin)} if nb.twin else set()
    for id in sorted(of_chapter - here - there):
        yield f"{id} has a verdict neither here nor in the story"
    for id in sorted(here & there):
        yield f"{id} is checked here and in the story: one of them is enough"


def is_two_pages(nb) -> Iterator[str]:
    """A chapter is two pages, a story and its checks."""
    if nb.twin is None:
        other = plan.chapter_of(nb.name) if nb.name.endswith(plan.CHECKS) else nb.name + plan.CHECKS
        yield f"a chapter is two pages, a story and its checks, and {other} is not there"


def _names_are_links(nb) -> Iterator[str]:
    for i, text in nb.markdown:
        if hit := UNLINKED_CHAPTER.search(text):
            yield f"cell {i}: {hit[0]!r} is not a link: write [Depth](depth.ipynb), or so"


STORY_RULES = [
    *(is_two_pages, opens_with_a_figure, is_a_story, open_code_teaches, has_a_few_verdicts, is_linked),
    *(exercises_are_graded, has_solutions),
]
CHECKS_RULES = [is_two_pages, opens_with_its_story, has_every_verdict]
