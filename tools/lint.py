"""The rules of the house for notebooks, each a function that yields what is wrong: `python -m tools.lint [CHAPTER ...]`.

`RULES` hold for every notebook of the book, `story.STORY_RULES` and `story.CHECKS_RULES` for the two pages of a chapter.
tests/book runs them all.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from foldbook import claims as verdicts
from foldbook import notebooks as stored_form
from foldbook import plan
from foldbook.claims import MIME, claims

from . import address, alt, evidence, markdown, notebooks, story

ROOT = Path(__file__).resolve().parent.parent
# an empty line, what closes a bracket, a text or one that is passed by name
NO_CODE = re.compile(r"""[\])},:]*|(from [\w.]+ )?import [\w., ]+|([a-z_]+=)?[rf]?("[^"]*"|\'[^\']*\')[,)]*""")
MOST_LINES, MOST_BYTES, MOST_EXPLORE_BYTES, MOST_FRAMES = 25, 3_000_000, 1_000_000, 60
MOST_CHARACTERS = 86  # a column of the site
MACHINE = re.compile(r"(?<![\w<.])(/home/|/root\b|/tmp\b|/work/|/Users/|/content/|[A-Z]:\\+Users\b)|site-packages|dist-packages")
TITLE = re.compile(r"# @title (\S.*)")
FIGCAPTION = re.compile(r"<figcaption[^>]*>(.*?)</figcaption>", re.DOTALL)
ITALIC = re.compile(r"\A\*[^*].*")  # a caption below an explore: the first paragraph of the next cell, slanted
DARK = re.compile(r"\b(black|white)\b", re.IGNORECASE)
BASE64 = re.compile(r"base64,[A-Za-z0-9+/=\s]+")


@dataclass(frozen=True)
class Notebook:
    """A stored notebook: its name below book/, as splines/breakpoints, its text, all pages there are, its chapter's other one."""

    name: str
    text: str
    setup: str
    pages: frozenset[str] | None = None
    twin: Notebook | None = None

    @classmethod
    def read(cls, path: Path, root: Path) -> Notebook:
        book, setup = root / "book", stored_form.setup_cell(address.current(root))
        name = path.relative_to(book).with_suffix("").as_posix()
        other = plan.chapter_of(name) if name.endswith(plan.CHECKS) else name + plan.CHECKS
        beside = book / f"{other}.ipynb"
        twin = cls(other, beside.read_text(encoding="utf-8"), setup) if beside.is_file() else None
        return cls(name, path.read_text(encoding="utf-8"), setup, pages(root), twin)

    @property
    def role(self) -> str:
        """`story`, `checks` or `page`."""
        if self.name.split("/")[0] not in plan.parts():
            return "page"
        return "checks" if self.name.endswith(plan.CHECKS) else "story"

    def claims(self) -> dict:
        return claims()

    @cached_property
    def json(self) -> dict:
        return json.loads(self.text)

    @cached_property
    def cells(self) -> list[dict]:
        return [{**cell, "source": "".join(cell["source"])} for cell in self.json["cells"]]

    @property
    def code(self) -> list[tuple[int, dict]]:
        return [(i, cell) for i, cell in enumerate(self.cells) if cell["cell_type"] == "code"]

    @property
    def markdown(self) -> list[tuple[int, str]]:
        return [(i, cell["source"]) for i, cell in enumerate(self.cells) if cell["cell_type"] == "markdown"]

    @property
    def prose(self) -> str:
        return "\n\n".join(text for _, text in self.markdown)

    def outputs(self) -> Iterator[tuple[int, dict]]:
        for i, cell in self.code:
            for output in cell["outputs"]:
                yield i, output

    def html(self) -> Iterator[tuple[int, str]]:
        for i, output in self.outputs():
            yield i, "".join(output.get("data", {}).get("text/html", ""))


Rule = Callable[[Notebook], Iterator[str]]
RULES: list[Rule] = []


def rule(function: Rule) -> Rule:
    """Holds for every notebook."""
    RULES.append(function)
    return function


def problems(notebook: Notebook) -> list[str]:
    """Everything the rules have to say about a notebook."""
    return [problem for check in rules_for(notebook.role) for problem in check(notebook)]


def rules_for(role: str) -> list[Rule]:
    """The rules for a page of this role."""
    return [*RULES, *{"story": story.STORY_RULES, "checks": story.CHECKS_RULES}.get(role, ())]


def pages(root: Path) -> frozenset[str]:
    """Every page of the book, by its name below book/."""
    found = (path for end in ("ipynb", "md") for path in (root / "book").rglob(f"*.{end}") if not path.name.endswith(".text.md"))
    return frozenset(path.relative_to(root / "book").with_suffix("").as_posix() for path in found)


# ---- every notebook ----------------------------------------------------------------------------------------------------


@rule
def setup_comes_first(nb: Notebook) -> Iterator[str]:
    """The first code cell is the setup cell, the same everywhere and tagged so."""
    if not nb.code:
        yield "no code cell at all"
        return
    index, first = nb.code[0]
    if first["source"] != nb.setup:
        yield f"cell {index}: the first code cell is not the setup cell (tools/address.py has its text)"
    elif "setup" not in first["metadata"].get("tags", ()):
        yield f"cell {index}: the setup cell lacks the tag setup"
    for i, cell in nb.code[1:]:
        if "setup" in cell["metadata"].get("tags", ()) or "google.colab" in cell["source"]:
            yield f"cell {i}: a second setup cell"


@rule
def ran_once_from_the_top(nb: Notebook) -> Iterator[str]:
    """Execution counts are 1, 2, 3, ... and no cell is empty."""
    for count, (i, cell) in enumerate(nb.code, 1):
        if not cell["source"].strip():
            yield f"cell {i}: an empty code cell"
        if cell["execution_count"] != count:
            yield f"cell {i}: execution count {cell['execution_count']} in code cell {count}: run the notebook from the top"
            return


@rule
def no_errors(nb: Notebook) -> Iterator[str]:
    """No traceback and no warning is stored."""
    for i, output in nb.outputs():
        if output["output_type"] == "error":
            yield f"cell {i}: an error is stored as output: {output['ename']}"
        if output.get("name") == "stderr":
            yield f"cell {i}: writes to stderr: {''.join(output['text'])[:80]!r}"


@rule
def no_machine(nb: Notebook) -> Iterator[str]:
    """No path of somebody's machine, in code or output."""
    for i, cell in enumerate(nb.cells):
        shown = [cell["source"]] + [json.dumps(output, ensure_ascii=False) for output in cell.get("outputs", ())]
        if hit := MACHINE.search(BASE64.sub("", "\n".join(shown))):
            yield f"cell {i}: names a machine's path: {hit[0]}"


@rule
def metadata_is_minimal(nb: Notebook) -> Iterator[str]:
    """Kernel and language by name; no widget state, no times; every cell has an id; folded cells say so to Colab and JupyterLab.

    A problem set carries nbgrader's marks.
    """
    made_from = nb.json["metadata"].get(stored_form.MADE_FROM)
    if nb.json["metadata"] != {**stored_form.METADATA, stored_form.MADE_FROM: made_from}:
        yield f"the notebook's metadata is not the minimum: has {', '.join(sorted(nb.json['metadata']))}"
    if made_from != stored_form.source_hash(nb.json):
        yield "its code changed after its outputs were stored: run it with make notebooks"
    allowed = {"tags", "mystnb"} | ({"nbgrader", "deletable", "editable"} if nb.name.startswith("assignments/") else set())
    for i, cell in enumerate(nb.cells):
        marks = stored_form.FOLDED if cell["cell_type"] == "code" and stored_form.is_folded(cell) else {}
        if extra := set(cell["metadata"]) - allowed - set(marks):
            yield f"cell {i}: has the metadata {', '.join(sorted(extra))}"
        if any(cell["metadata"].get(key) != value for key, value in marks.items()):
            yield f"cell {i}: is folded by its tag, and not in Colab and JupyterLab: store with make notebooks"
        if "id" not in cell:
            yield f"cell {i}: has no id"
    for i, output in nb.outputs():
        if stored_form.WIDGET in output.get("data", {}):
            yield f"cell {i}: a widget is stored, which is dead on the site: store with make notebooks"


@rule
def folds_have_a_title(nb: Notebook) -> Iterator[str]:
    """A folded cell opens with `# @title ...`, which stands for its code on the site and in Colab; no other cell has one."""
    for i, cell in nb.code:
        title = TITLE.match(cell["source"])
        if stored_form.is_folded(cell) and not title:
            yield f"cell {i}: is folded and has no title: open it with # @title What the code does"
        elif title and not stored_form.is_folded(cell):
            yield f"cell {i}: has a title, as Colab's forms do, and lacks the tag folded"
        if title and len(title[1]) > 80:
            yield f"cell {i}: a title of {len(title[1])} characters, more than 80"


@rule
def is_compared(nb: Notebook) -> Iterator[str]:
    """No cell escapes nbval; outputs that cannot be compared hold no check."""
    for i, cell in nb.code:
        marks = {tag.lower().replace("_", "-") for tag in cell["metadata"].get("tags", ())}
        marks |= {word.lower().replace("_", "-") for word in re.findall(r"#\s*((?:NBVAL|PYTEST)_\w+)", cell["source"])}
        if gone := marks & {"nbval-skip", "raises-exception", "nbval-raises-exception"}:
            yield f"cell {i}: escapes nbval by {', '.join(sorted(gone))}"
        ignored = {"nbval-ignore-output", "pytest-validate-ignore-output"} & marks
        if ignored and any(MIME in output.get("data", {}) for output in cell["outputs"]):
            yield f"cell {i}: a check whose output is not compared"


@rule
def pictures_have_alt_text(nb: Notebook) -> Iterator[str]:
    """Every picture says what it shows, in each frame of an explore too."""
    for i, output in nb.outputs():
        if bare := [mime for mime in output.get("data", {}) if mime.startswith("image/")]:
            yield f"cell {i}: a bare {bare[0]} without alt text: show figures with plots.show"
    for i, html in [*nb.html(), *nb.markdown]:
        yield from (f"cell {i}: {problem}" for problem in alt.problems(html))


@rule
def captions_hold_in_the_dark(nb: Notebook) -> Iterator[str]:
    """A drawing turns over in the dark: a caption that calls a mark of it black or white is wrong there."""
    tagged = {i for i, cell in nb.code if "drawing" in cell["metadata"].get("tags", ())}
    for i in sorted(tagged - {i for i, html in nb.html() if "data:image/png" in html}):
        yield f"cell {i}: has the tag drawing, which turns a PNG over in the dark, and shows none"
    following = {i - 1: text for i, text in nb.markdown}
    for i, html in nb.html():
        captions = [*FIGCAPTION.findall(html), *ITALIC.findall(following.get(i, ""))]
        if (i in tagged or "data:image/svg" in html) and (word := DARK.search(" ".join(captions))):
            yield f"cell {i}: the caption says {word[0]!r}, and a drawing turns over in the dark: name a shape or a colour"


@rule
def is_light(nb: Notebook) -> Iterator[str]:
    """The notebook, and the explores in it, stay small."""
    if (size := len(nb.text.encode())) > MOST_BYTES:
        yield f"the notebook has {size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f}"
    explores = [html for _, html in nb.html() if 'class="explore"' in html]
    if (size := sum(len(html.encode()) for html in explores)) > MOST_EXPLORE_BYTES:
        yield f"its explores have {size / 1e6:.1f} MB, more than {MOST_EXPLORE_BYTES / 1e6:.0f}: fewer frames, or fmt='png'"
    for html in explores:
        if (count := len(alt.frames(html))) > MOST_FRAMES:
            yield f"an explore has {count} frames, more than {MOST_FRAMES}"


@rule
def markdown_is_plain(nb: Notebook) -> Iterator[str]:
    """CommonMark and $math$ that read the same on the site, in Colab, on GitHub and in JupyterLab."""
    for i, text in nb.markdown:
        yield from (f"cell {i}: {problem}" for problem in markdown.problems(text))


@rule
def cells_are_short(nb: Notebook) -> Iterator[str]:
    """A cell is a sentence; longer work lives in the package. Imports are not counted, nor lines that hold a text alone."""
    for i, cell in nb.code:
        if (lines := sum(not NO_CODE.fullmatch(line.strip()) for line in cell["source"].splitlines())) > MOST_LINES:
            yield f"cell {i}: {lines} lines of code, more than {MOST_LINES}: move the work into foldnet"


@rule
def printed_lines_fit(nb: Notebook) -> Iterator[str]:
    """What a cell prints is read without scrolling sideways."""
    for i, output in nb.outputs():
        for number, line in enumerate("".join(output.get("text", "")).splitlines(), 1):
            if len(line) > MOST_CHARACTERS:
                yield f"cell {i}: line {number} of what it prints has {len(line)} characters, more than {MOST_CHARACTERS}"


@rule
def checks_are_known(nb: Notebook) -> Iterator[str]:
    """Each check is of a claim of this very chapter, and its record gives its verdict and line; `differs` says what was tried."""
    for i, output in nb.outputs():
        record = output.get("data", {}).get(MIME)
        if not record:
            continue
        claim = claims().get(record["id"])
        if claim is None:
            yield f"cell {i}: checks {record['id']}, which book/claims lacks"
            continue
        if "points" not in record:
            yield f"cell {i}: {claim.id} is stored in an older form: run the notebook again"
            continue
        yield from (f"cell {i}: {claim.id} {problem}" for problem in verdicts.problems(claim, output["data"]))
        if claim.chapter != plan.chapter_of(nb.name):
            yield f"cell {i}: checks {claim.id}, which is assigned to {claim.chapter}"
        if record["verdict"] == "corrected" and not claim.truth:
            yield f"cell {i}: {claim.id} is corrected, and its claim does not say what is true"
        if claim.weight and not any(point["verdict"] == "corrected" for point in record["points"]):
            yield f"cell {i}: {claim.id} has a weight, and no point of it is corrected"
        if record["verdict"] == "differs" and not record["note"]:
            yield f"cell {i}: {claim.id} differs, and the check has no note that says what was tried"


rule(story.links_lead_somewhere)
rule(evidence.verdicts_are_refereed)


def main(names: list[str], root: Path = ROOT) -> int:
    found = 0
    try:
        paths = [notebooks.find(name, root) for name in names] or notebooks.all_notebooks(root)
    except FileNotFoundError as error:
        print(f"lint: {error}", file=sys.stderr)
        return 1
    for path in paths:
        notebook = Notebook.read(path, root)
        wrong = problems(notebook)
        found += len(wrong)
        print(f"{notebook.name}: " + (f"{len(wrong)} problems" if wrong else "fine"), *wrong, sep="\n  ")
        if notebook.role == "story":
            print(f"  ({story.measures(notebook)})")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
