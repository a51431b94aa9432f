"""The report and the print edition: no typed number in the report, a story on paper, and the pages themselves, measured."""

import re
import subprocess
from pathlib import Path

import jinja2
import nbformat
import pytest

from foldbook import ledger, plan
from foldbook.live import live
from tools import check
from tools.print import edition, report, stored, typeset

ROOT = Path(__file__).resolve().parents[2]
WORDS = "two three four five six seven eight nine ten eleven twelve dozen hundred thousand million billion half twice quarter"
TYPED = re.compile(rf"\b(?:{'|'.join(WORDS.split())})s?\b", re.IGNORECASE)
SPARED = re.compile(r"@[a-z]+\d+[a-z]*|\bS[0-3]\b")  # what is cited: its year is part of its name; and the marks of the sources
MATH = re.compile(r"\$[^$]+\$")
POINT = 72 / 25.4  # of one millimetre
HANGS = 4  # points by which a comma may stand out of a justified line


# ---- the numbers of the report ---------------------------------------------------------------------------------------------


def typed(template: str) -> list[str]:
    """Numbers of a template that nothing computes: in its text, in a formula but for 0 and 1, and in what it puts out."""
    tree, found = jinja2.Environment().parse(template), []
    for part in tree.find_all(jinja2.nodes.TemplateData):
        text = SPARED.sub("", part.data)
        found += [number for formula in MATH.findall(text) for number in re.findall(r"\d[\d.]*", formula) if number not in "01"]
        prose = MATH.sub("", text)
        found += re.findall(r"\d[\d.,]*", prose) + TYPED.findall(prose)
    for shown in tree.find_all(jinja2.nodes.Output):
        inside = [node for part in shown.nodes for node in [part, *part.find_all(jinja2.nodes.Const)] if _is_constant(node)]
        found += [str(node.value) for node in inside if isinstance(node.value, int | float) and not isinstance(node.value, bool)]
        found += [part.value for part in shown.nodes if _is_constant(part) and isinstance(part.value, str)]
    return found


def _is_constant(node) -> bool:
    return isinstance(node, jinja2.nodes.Const)


def test_no_number_of_the_report_is_typed():
    template = (typeset.HERE / "report.md").read_text(encoding="utf-8")
    assert len(template) > 10_000
    assert typed(template) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("we took 389 claims", "389"),
        ("Twelve of them hold", "Twelve"),
        ("more than half of all", "half"),
        ("from $n = 14$ on", "14"),
        ("the loss $\\frac83$", "83"),
        ("{{ 389 }} claims", "389"),
        ("{{ '389' }} claims", "389"),
        ("{{ bounds[4] + 0.5 }}", "0.5"),
    ],
)
def test_a_typed_number_is_found(text, number):
    assert number in typed(text)


def test_the_report_says_what_the_ledger_says(tmp_path, monkeypatch):
    """The counts follow the ledger, also where a verdict turns and where nothing of a kind is left."""
    rows = ledger.ledger()
    told = report.text(stored.Pictures(tmp_path))
    many = sum(row["verdict"] == "reproduced" for row in rows)
    assert f"{many} claims are reproduced" in told
    turned = [{**row, "verdict": "differs"} if row["verdict"] in ("reproduced", "corrected") else row for row in rows]
    monkeypatch.setattr(ledger, "ledger", lambda: turned)
    told = report.text(stored.Pictures(tmp_path))
    assert "0 claims are reproduced" in told
    assert f"{sum(row['verdict'] == 'differs' for row in turned)} differ from our measurement" in told


def test_each_work_that_is_cited_has_an_entry_and_the_other_way_round():
    """Typst would find the first kind alone, and only where it is installed."""
    template, entries = ((typeset.HERE / name).read_text(encoding="utf-8") for name in ("report.md", "references.bib"))
    cited = re.findall(r"@([a-z]+\d*[a-z]*)", template + " ".join(report.CITED.values()))
    assert set(re.findall(r"^@\w+\{(\w+),", entries, re.MULTILINE)) == set(cited)


def test_the_report_has_the_spreads_that_the_page_prints():
    """Both draw their networks: other seeds, numbers of networks or laws in one of them would show."""
    numbers = report.computed()
    page = (ROOT / "book/splines/depth-checks.ipynb").read_text(encoding="utf-8")
    for layers, width, _, (spread, low, high), _ in numbers["bends"]:
        assert f"{layers:2} × {width:2}   ReLU {spread:4.1f} ({low:4.1f} to {high:4.1f})" in page
    for name in ("deep", "deepest"):
        found = numbers[name]
        assert re.search(rf"{found['layers']:2} × {found['neurons']:2} .* leak {found['spread']:4.1f} \(", page)


def test_the_report_has_the_bounds_of_the_depth_theorem_that_the_page_prints():
    numbers = report.computed()
    fixed, free, tables = (int(re.search(r"\^\{(\d+)\}", numbers[name])[1]) for name in ("reach", "reach_free", "tables"))
    line = stored.printed(ROOT / "book/boolean/capacity-checks.ipynb", rf"\n{numbers['enough']} +([\d,]+) +([\d,]+) +([\d,]+)\n")
    printed = [int(number.replace(",", "")) for number in line]
    assert all(0 <= bound - number <= 1 for bound, number in zip((fixed, free, tables), printed, strict=True))
    assert fixed < free < tables


def test_a_finding_is_told_with_what_was_measured():
    """The line below its figure says on how much, and what others know."""
    told = list(report.findings([]))
    assert len(told) >= 12
    assert all(re.search(r"\*(?:Measured|Counted)|heorems?[^*]*\*", finding["text"]) for finding in told)
    assert all("*Known:*" in finding["text"] for finding in told)


def test_a_quotation_that_is_gone_is_named(tmp_path):
    page = ROOT / "book/splines/depth.ipynb"
    with pytest.raises(LookupError, match=r"depth\.ipynb has no box named 'no such theorem'"):
        stored.box(page, "no such theorem")
    with pytest.raises(LookupError, match="no figure below a box named 'no such theorem'"):
        stored.figure_beside(page, "no such theorem", stored.Pictures(tmp_path))
    with pytest.raises(LookupError, match=r"depth\.ipynb prints nothing like 'no such line'"):
        stored.printed(page, "no such line")


# ---- a story on paper ------------------------------------------------------------------------------------------------------


def test_a_story_stands_still_on_paper(tmp_path):
    """A live figure is its still; a guess is a line, what it asks for goes to the back; folded code is not shown."""
    text = "> **Exercise** (one). How many?\n\n<details><summary>Solution</summary>\n\nSeven of them.\n\n</details>\n\n"
    after = "> **Exercise** (two). Why?\n\n<details><summary>Proof</summary>\n\nIt is so.\n\n</details>\n\n"
    code = "> **Exercise** (three). Say it.\n\n<details><summary>Solution</summary>\n\n```python\nsaid = 3\n```\n\n</details>"
    shown = nbformat.v4.new_output("display_data", {"text/html": live("breakpoints").html})
    asked = nbformat.v4.new_output("display_data", {"text/html": _guess("How many bends?", 5)})
    stub = nbformat.v4.new_output("stream", name="stdout", text="missing: f returns nothing yet")
    folded = nbformat.v4.new_code_cell("hidden = 1", metadata={"tags": ["folded"]}, outputs=[shown, asked, stub])
    cells = [nbformat.v4.new_markdown_cell(text + after + code), folded, nbformat.v4.new_code_cell("visible = 2")]
    path = tmp_path / "story.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    pictures = stored.Pictures(tmp_path)
    story = stored.story(path, pictures)
    assert "visible = 2" in story.text
    assert not [gone for gone in ("hidden", "Seven", "missing:", "<details>", "With scripts running", "5.") if gone in story.text]
    assert "*Proof.* It is so." in story.text
    assert "**A guess.** How many bends?" in story.text
    first, second, third = story.back
    assert first == "**Exercise** (one). Seven of them."
    assert second == "**Exercise** (three).\n\n```python\nsaid = 3\n```"
    assert third == "**Guess** (How many bends?): 5. Count them."
    ((name, alt),) = pictures.alts.items()
    assert name.endswith(".svg")
    assert (tmp_path / name).read_text(encoding="utf-8").startswith("<svg")
    assert alt.startswith("The curve of a network of 5 random neurons")
    assert "scripts" not in alt


def _guess(question: str, truth: int) -> str:
    from foldbook.guess import guessed

    return guessed(question, truth, between=(0, 9), because="Count them.")._repr_mimebundle_()["text/html"]


def test_links_lead_on_from_the_page_they_stand_on():
    assert typeset.address("swaps-checks.ipynb#claim-1", "boolean/swaps") == "boolean/swaps-checks#claim-1"
    assert typeset.address("../splines/depth.ipynb", "boolean/swaps") == "splines/depth"
    assert typeset.address("#here", "boolean/swaps") == "boolean/swaps#here"
    assert typeset.address("https://a.org/b.md", "boolean/swaps") == "https://a.org/b.md"


# ---- the pages -------------------------------------------------------------------------------------------------------------

measured = [
    pytest.mark.print,
    pytest.mark.skipif(not check.printers(), reason="make report installs typst and pypandoc, the system has poppler-utils"),
]


@pytest.fixture(scope="session", params=["report", "book"])
def paper(request) -> Path:
    """The report, and the print edition."""
    return {"report": report.write, "book": edition.write}[request.param](typeset.OUT)


SENTENCE = {
    "how-networks-fold": "Every walk from the lowest corner to the highest goes forward on the line",
    "four-works-on-folding-networks": "What the source prints is kept apart from what we demand beyond it.",
}


def poppler(tool: str, *words) -> str:
    return subprocess.run([tool, *map(str, words)], capture_output=True, text=True, check=True).stdout


def fact(paper: Path, name: str) -> str:
    return re.search(rf"^{name}: +(.*)$", poppler("pdfinfo", paper), re.MULTILINE)[1]


class TestPages:
    pytestmark = measured

    def test_no_page_is_empty_and_nothing_is_drawn_in_its_margin(self, paper, tmp_path):
        from PIL import Image, ImageOps

        poppler("pdftoppm", "-r", 36, "-gray", paper, tmp_path / "page")
        pages = sorted(tmp_path.glob("page-*"))
        assert len(pages) == int(fact(paper, "Pages"))
        for path in pages:
            page = ImageOps.invert(Image.open(path))
            inked = page.point(lambda ink: 255 * (ink > 40)).getbbox()
            assert inked, f"{path.name} is empty"
            assert inked[1] > 0.05 * page.height, f"{path.name} has ink at its upper edge"
            assert inked[0] > 0.08 * page.width, f"{path.name} has ink in its left margin"
            assert inked[2] < 0.92 * page.width, f"{path.name} has ink in its right margin"

    def test_every_word_stands_within_the_lines(self, paper):
        wide, left = 210 * POINT, 24 * POINT
        box = re.compile(r'<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)</word>')
        words = [(*map(float, found[:4]), found[4]) for found in box.findall(poppler("pdftotext", "-bbox", paper, "-"))]
        assert len(words) > 5_000
        assert [word for x0, _, x1, _, word in words if x0 < left - HANGS or x1 > wide - left + HANGS] == []
        assert [word for _, y0, _, y1, word in words if y0 < 20 * POINT or y1 > 287 * POINT] == []

    def test_fonts_are_embedded_and_text_can_be_searched(self, paper):
        fonts = poppler("pdffonts", paper).splitlines()[2:]
        assert len(fonts) >= 4
        assert all(re.search(r" yes (yes|no) +yes +\d+ +\d+$", line) for line in fonts), fonts
        text = " ".join(poppler("pdftotext", paper, "-").split())
        assert SENTENCE[paper.stem] in text

    def test_the_file_is_tagged_and_each_figure_and_formula_has_words(self, paper):
        assert fact(paper, "Tagged") == "yes"
        tree = [line.strip() for line in poppler("pdfinfo", "-struct", paper).splitlines()]
        body = (paper.with_suffix("") / "body.typ").read_text(encoding="utf-8")
        figures = len(re.findall(r'image\("[^"]+", alt: "[^"]', body))
        assert figures == body.count('image("') > 2
        assert sum(line.startswith("Figure") for line in tree) >= figures
        assert sum(line.startswith("Formula") for line in tree) >= body.count("#math.equation(") > 300


@pytest.mark.parametrize("paper", ["report"], indirect=True)
class TestReport:
    pytestmark = measured

    def test_it_has_the_length_of_a_paper(self, paper):
        assert 12 <= int(fact(paper, "Pages")) <= 20
        assert fact(paper, "Title") == report.about()["title"]


@pytest.mark.parametrize("paper", ["book"], indirect=True)
class TestEdition:
    pytestmark = measured

    def test_it_has_every_story_with_its_figures_solutions_and_definitions(self, paper, tmp_path):
        text = " ".join(poppler("pdftotext", paper, "-").split())
        contents, body = text[:8_000], (paper.with_suffix("") / "body.typ").read_text(encoding="utf-8")
        pictures, figures = stored.Pictures(tmp_path), 0
        for chapter in plan.chapters():
            path = ROOT / "book" / f"{chapter}.ipynb"
            told = stored.story(path, pictures)
            figures += told.text.count("![")
            heading = re.sub(r"\s+", " ", re.search(r"^# (.+)$", told.text, re.MULTILINE)[1])
            assert re.sub(r"[*$]", "", heading) in contents, f"{heading} is not in the contents"
        assert body.count('image("') == figures
        assert not re.findall(r"```|\*\*(?:Exercise|Guess)|</?\w+>", text), "Markdown was printed as it is written"
        assert "Solutions and answers" in contents
        assert text.rindex("Index of definitions") < text.rindex("swaps value")
