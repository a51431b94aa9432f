"""The rules for the two pages of a chapter: a story that is read, and its checks; each yields what is wrong.

tools/lint.py applies them; CONTRIBUTING.md says what they are for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldbook import notebooks, plan
from foldbook.claims import MARKS, MIME

from . import markdown

FEWEST_WORDS, MOST_WORDS = 1000, 2500  # to aim at: 1,000 to 2,000
FIRST_FIGURE, MOST_OPEN_LINES, MOST_OPEN_CELLS = 6, 15, 4
MOST_VERDICTS, MOST_GUESSES, MOST_PRINTED, MOST_STATEMENTS = 6, 3, 6, 4  # statements: one or two are best
LONG_SENTENCE = 35  # words
FEWEST_CHAPTERS = 2
VERDICT_LINE = re.compile(
    r"(?m)^([✓≈✎≠◇○]) .*\[([^\]]*)\]\([^)#\s]*#claim-([\w.-]+)\)"
)  # ✓ *A sentence.* [reproduced](x-checks.ipynb#claim-ID)
NOT_READ = re.compile(r"(?ms)<details>.*?</details>|```.*?```|\$\$.*?\$\$|<!--.*?-->|^#[^\n]*$|^\|[^\n]*$")
SYMBOL = re.compile(
    r"\\(?:alpha|beta|gamma|delta|mu|lambda|sigma|theta|varepsilon|rho|phi)\b|(?<![\\a-zA-Z])[a-zA-Z](?![a-zA-Z])"
)
STATEMENT = re.compile(r"(?m)^> \*\*(?:Theorem|Lemma|Proposition|Corollary)\*\* \(")
RAW = {  # what a program prints and a person does not say
    "a dictionary": re.compile(r"\{['\"\w][^{}]*:"),
    "a tuple": re.compile(r"(?<![\w)])\((?:-?\d[\d.e+-]*|'[^']*'), "),
    "a truth value": re.compile(r"\b(?:True|False|None)\b"),
    "a name with an underscore": re.compile(r"\b[a-z]+_[a-z_]+\b"),
}
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
        yield f"{count:,} words; a story has 1,000 to 2,000, and never more than {MOST_WORDS:,}: the rest belongs to its checks"
    for heading in ("Exercises", "Summary", "References"):
        if not re.search(rf"(?mi)^##+ .*\b{heading}\b", nb.prose):
            yield f"no section ## {heading}"
    if not any('class="explore"' in html or "data-live=" in html for _, html in nb.html()):
        yield "no live figure and no explore among the outputs"


def states_little(nb) -> Iterator[str]:
    """A story proves one thing or two; what else it needs it says in a sentence, and the box stands on its checks."""
    if (count := len(STATEMENT.findall(nb.prose))) > MOST_STATEMENTS:
        yield f"{count} statements in boxes, more than {MOST_STATEMENTS}: say some in a sentence that links to its checks"


def ends_with_what_is_open(nb) -> Iterator[str]:
    """The summary ends with what the story leaves open, and then leads on."""
    summary = re.split(r"(?m)^## ", nb.prose.partition("## Summary")[2])[0]
    if "Left open: " not in summary:
        yield "the summary does not say what the story leaves open, as Left open: why do bends not come by themselves?"
    if not LINK.search(summary.partition("**Next:** ")[2]):
        yield "the summary does not lead on, as **Next:** and a link"


def open_code_teaches(nb) -> Iterator[str]:
    """Code that is not folded is short enough to be read: a longer cell is folded or moves into the package."""
    for i, cell in nb.code:
        lines = sum(bool(line.strip()) for line in cell["source"].splitlines())
        if lines > MOST_OPEN_LINES and not notebooks.is_folded(cell) and "selfcheck" not in cell["source"]:
            yield f"cell {i}: {lines} lines of open code, more than {MOST_OPEN_LINES}: fold it, or let the package do the work"
    stubs = {i for (i, _), (_, after) in zip(nb.code, nb.code[1:]) if "selfcheck" in after["source"]}
    opened = [i for i, cell in nb.code if not notebooks.is_folded(cell) and i not in stubs]
    if len(opened) > MOST_OPEN_CELLS:
        yield f"{len(opened)} open code cells, more than {MOST_OPEN_CELLS}: open is what teaches, fold the others"


def prints_no_raw_output(nb) -> Iterator[str]:
    """A story says sentences and shows figures; what a program prints for itself stands on the checks page."""
    for i, cell in nb.code:
        text = "\n".join(map(_printed, cell["outputs"]))
        if "selfcheck" in cell["source"]:
            continue
        if len(lines := [line for line in text.splitlines() if line.strip()]) > MOST_PRINTED:
            yield f"cell {i}: prints {len(lines)} lines, more than {MOST_PRINTED}: draw them, or say what they mean"
        for what, pattern in RAW.items():
            if hit := pattern.search(text):
                yield f"cell {i}: prints {what}, {hit[0]!r}: a story speaks in sentences"


def _printed(output) -> str:
    """What a reader sees of an output as plain text: a printed line, or the value of a last line that has no picture."""
    data = output.get("data", {})
    return "".join(output.get("text", "" if "text/html" in data else data.get("text/plain", "")))


def verdicts_are_lines(nb) -> Iterator[str]:
    """One to six verdicts, each one line: a `check` with `says=`, or a marked sentence that links to its check."""
    for i, output in nb.outputs():
        record = output.get("data", {}).get(MIME)
        if record and not record.get("says"):
            yield f"cell {i}: {record['id']} shows a box: give the check its sentence, says=, or move it to the checks"
    lines = [found for _, text in nb.markdown for found in VERDICT_LINE.finditer(text)]
    known = {id: verdict for page in (nb, nb.twin) if page for id, verdict in _verdicts(page)}
    known |= {id: "open" for id, claim in nb.claims().items() if claim.open}
    for mark, word, id in (line.groups() for line in lines):
        if (verdict := known.get(id)) is None:
            yield f"the line with {id} links to a claim that neither page of the chapter checks"
        elif MARKS[verdict] != mark:
            yield f"the line with {id} has the mark {mark}; its verdict is {verdict}, {MARKS[verdict]}"
        elif word != verdict:
            yield f"the line with {id} links by the word {word!r}; its verdict is {verdict}"
    count = len(verdicts(nb)) + len(lines)
    claimed = any(claim.chapter == nb.name for claim in nb.claims().values())
    if not claimed <= count <= MOST_VERDICTS:
        yield f"{count} verdicts; a story has one to {MOST_VERDICTS}: its checks have the others"


def _verdicts(nb) -> list[tuple[str, str]]:
    records = (output["data"][MIME] for _, output in nb.outputs() if MIME in output.get("data", {}))
    return [(record["id"], record.get("verdict", "open")) for record in records]


def asks_for_a_guess(nb) -> Iterator[str]:
    """The reader guesses before the answer is told, one to three times."""
    count = sum(bool(re.search(r"(?m)^guess\(", cell["source"])) for _, cell in nb.code)
    if not 1 <= count <= MOST_GUESSES:
        yield f"{count} guesses, guess(...); a story asks for one to {MOST_GUESSES}"


def measures(nb) -> str:
    """How a story reads, in one line: words, statements, long sentences, parentheses, symbols."""
    text = re.split(r"(?m)^## References", re.sub(NOT_READ, " ", nb.prose))[0]
    plain = re.sub(r"\]\([^)]*\)|[*_>`\[]", "", re.sub(r"\$[^$\n]*\$", "x", text))
    long = [s for s in re.split(r"(?<=[.!?:])\s+|\n\n", plain) if len(s.split()) > LONG_SENTENCE]
    symbols = set(SYMBOL.findall(" ".join(re.findall(r"\$([^$\n]+)\$", text))))
    counts = {"statements": len(STATEMENT.findall(nb.prose))}
    counts |= {"parentheses": plain.count("("), "symbols": len(symbols), f"sentences over {LONG_SENTENCE} words": len(long)}
    return ", ".join([f"{words(nb):,} words", *(f"{count} {what}" for what, count in counts.items())])


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
    solutions += sum(len(re.findall(r"\bask\(", cell["source"])) for _, cell in nb.code if "solution=" in cell["source"])
    if solutions < exercises:
        yield f"{exercises} exercises and {solutions} solutions in <details><summary>Solution</summary> or ask(..., solution=...)"
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
    *(is_two_pages, opens_with_a_figure, is_a_story, open_code_teaches, prints_no_raw_output, verdicts_are_lines),
    *(states_little, ends_with_what_is_open, asks_for_a_guess, is_linked, exercises_are_graded, has_solutions),
]
CHECKS_RULES = [is_two_pages, opens_with_its_story, has_every_verdict]
