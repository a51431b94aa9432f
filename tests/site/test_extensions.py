"""The book's Sphinx extensions on small books of their own, and the figure of the title page against brute force."""

from __future__ import annotations

import importlib
import io
import json
import math
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import api_page
import numpy as np
import pytest
from bs4 import BeautifulSoup

from foldbook import boxes as kinds
from foldbook import plan
from foldbook.claims import STRENGTHS
from foldbook.live import live
from foldbook.notebooks import METADATA
from foldnet import ReLUNet

ROOT = Path(__file__).resolve().parents[2]


def build(folder, pages: dict[str, str], extensions=("boxes",), chapters=None):
    """The pages as HTML, and the warnings; a second call in the same folder builds on the first."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    source, out = folder / "source", folder / "out"
    source.mkdir(exist_ok=True)
    for name, text in pages.items():
        text = text if name == "index" else f"---\norphan: true\n---\n{text}"
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    notebooks = "myst_nb" in extensions
    settings = {
        "extensions": [*(() if notebooks else ["myst_parser"]), *extensions],
        # said here, since Sphinx keeps what an extension of an earlier build has said
        "source_suffix": {".md": "myst-nb", ".ipynb": "myst-nb"} if notebooks else {".md": "markdown"},
        "myst_enable_extensions": ["dollarmath"],
        "html_theme": "basic",
        "root_doc": "index",
        **({"box_chapters": chapters or {}} if "boxes" in extensions else {"nb_execution_mode": "off"}),
    }
    warnings = io.StringIO()
    with patch_docutils(), docutils_namespace():
        Sphinx(source, None, out, folder / "trees", "html", settings, status=None, warning=warnings).build()
    pages = {p.stem: BeautifulSoup(p.read_text(encoding="utf-8"), "html.parser") for p in out.glob("*.html")}
    return pages, warnings.getvalue()


# ---- boxes -------------------------------------------------------------------------------------------------------------


def test_contributing_names_every_kind_of_box():
    rules = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    listed = re.search(r"Kinds: ([\w, ]+); a \*Proof\* has no name", rules)
    assert set(listed[1].split(", ")) == set(kinds.NAMED)


BOX = "> **Theorem 2.1.3** (Name). It is $x$.\n\n> **Proof.** Clear.\n"


def test_a_quote_with_a_label_is_a_box_and_mentions_on_other_pages_link_to_it(tmp_path):
    text = "# One\n\nBy Theorem 2.1.3 and by Theorems 2.1.3 and 2.1.4 it holds.\n\n> Just a quote, of no **Theorem 2.1.9**.\n"
    pages, warnings = build(tmp_path, {"index": text, "two": f"# Two\n\n{BOX}\n> **Theorem 2.1.4**. Also.\n"})
    assert warnings == ""
    box = pages["two"].find(id="theorem-2-1-3")
    assert {"thm", "thm-theorem"} <= set(box["class"])
    assert pages["two"].find(class_="thm-proof").get_text().strip().startswith("Proof.")
    links = [(a.get_text(), a["href"]) for a in pages["index"].find_all("a", class_="thm-link")]
    assert links == [
        ("Theorem 2.1.3", "two.html#theorem-2-1-3"),
        ("Theorems 2.1.3", "two.html#theorem-2-1-3"),
        ("2.1.4", "two.html#theorem-2-1-4"),
    ]
    assert pages["index"].find("blockquote")


def test_exercises_may_open_a_paragraph_or_be_a_heading(tmp_path):
    exercises = "**Exercise 2.1.1.** Show it.\n\n## Exercise 2.1.2 (harder)\n\nShow more.\n"
    text = f"# One\n\nSee Exercise 2.1.1 and Exercise 2.1.2.\n\n{exercises}"
    pages, warnings = build(tmp_path, {"index": text})
    assert warnings == ""
    assert pages["index"].find("p", id="exercise-2-1-1")
    assert [a["href"] for a in pages["index"].find_all("a", class_="thm-link")] == ["#exercise-2-1-1", "#exercise-2-1-2"]
    assert pages["index"].find(id="exercise-2-1-2")


def test_a_mention_without_a_box_is_a_warning(tmp_path):
    _, warnings = build(tmp_path, {"index": "# One\n\nBy Lemma 2.1.7 it holds.\n"})
    assert "no box is labelled Lemma 2.1.7" in warnings


def test_a_box_stated_twice_is_a_warning(tmp_path):
    _, warnings = build(tmp_path, {"index": f"# One\n\n{BOX}", "two": f"# Two\n\n{BOX}"})
    assert "Theorem 2.1.3 is stated twice: in index and in two" in warnings


@pytest.mark.parametrize(
    "text",
    [
        "The lecture's Theorem 1 and Theorem 4.",
        "The dissertation's Theorem 3.3.1, and Sattelberg’s Lemma 2.2.1.",
        "In code, `Theorem 3.3.1`; in a link, [Theorem 3.3.1](https://example.org).",
        "```{container} as-in-source\nBy Theorem 3.3.1.\n```",
    ],
)
def test_a_sources_own_numbering_is_left_alone(text, tmp_path):
    pages, warnings = build(tmp_path, {"index": f"# One\n\n{text}\n"})
    assert warnings == ""
    assert not pages["index"].find("a", class_="thm-link")


def test_a_docstring_may_name_a_box_to_come(tmp_path, monkeypatch):
    (tmp_path / "future_module.py").write_text('"""As Theorem 2.9.1 and Theorem 2.1.3 say."""\n')
    monkeypatch.syspath_prepend(tmp_path)
    text = f"# One\n\n{BOX}\n```{{eval-rst}}\n.. automodule:: future_module\n```\n"
    pages, warnings = build(tmp_path, {"index": text}, ("boxes", "sphinx.ext.autodoc"))
    assert warnings == ""
    assert [a.get_text() for a in pages["index"].find_all("a", class_="thm-link")] == ["Theorem 2.1.3"]


def test_links_are_made_again_when_a_box_moves(tmp_path):
    before, _ = build(tmp_path, {"index": "# One\n\nBy Theorem 2.1.3.\n", "two": f"# Two\n\n{BOX}", "three": "# Three\n"})
    after, warnings = build(tmp_path, {"two": "# Two\n", "three": f"# Three\n\n{BOX}"})
    assert warnings == ""
    hrefs = [pages["index"].find("a", class_="thm-link")["href"] for pages in (before, after)]
    assert hrefs == ["two.html#theorem-2-1-3", "three.html#theorem-2-1-3"]


CHAPTERS = {"story": "2.1", "story-checks": "2.1", "later": "2.2"}
NAMED = {
    "index": "# One\n",
    "story": "# S\n\n> **Definition** (hinge). A *hinge*.\n\n> **Theorem** (A network is its hinges). So.\n\n> **Proof.** Yes.\n",
    "story-checks": "# Checks\n\nAs Theorem (a network is\nits hinges) says.\n\n> **Lemma** (pairs; a slide's). Two.\n",
    "later": "# Later\n\n[Theorem](story.md#theorem-a-network-is-its-hinges), [that one](story.md#definition-hinge).\n\n"
    "By Lemmas (pairs) and (odd), and by Definition (hinge).\n\n> **Lemma** (odd). One.\n\n**Exercise** (prove). Do.\n",
}


def labels(page) -> list[str]:
    return [strong.get_text() for strong in page.find_all("strong") if strong.get_text() != "Proof."]


def test_numbers_are_made_and_shown_where_a_name_is_mentioned(tmp_path):
    pages, warnings = build(tmp_path, NAMED, chapters=CHAPTERS)
    assert warnings == ""
    assert labels(pages["story"]) == ["Definition 2.1.1", "Theorem 2.1.2"]
    assert labels(pages["story-checks"]) == ["Lemma 2.1.3"]
    assert labels(pages["later"]) == ["Lemma 2.2.1", "Exercise 2.2.2"]
    assert (
        pages["story"].find(id="theorem-a-network-is-its-hinges").p.get_text() == "Theorem 2.1.2 (A network is its hinges). So."
    )
    link = pages["story-checks"].find("a", class_="thm-link")
    assert (link.get_text(), link["href"]) == ("Theorem 2.1.2", "story.html#theorem-a-network-is-its-hinges")
    assert link["title"] == "A network is its hinges"
    shown = [
        (a.get_text(), a["href"]) for a in pages["later"].find_all("a", href=re.compile("#(?!later)")) if a.get_text() != "¶"
    ]
    assert shown == [
        ("Theorem 2.1.2", "story.html#theorem-a-network-is-its-hinges"),
        ("that one", "story.html#definition-hinge"),
        ("Lemmas 2.1.3", "story-checks.html#lemma-pairs"),
        ("2.2.1", "#lemma-odd"),
        ("Definition 2.1.1", "story.html#definition-hinge"),
    ]


def test_a_new_box_renumbers_the_rest_also_where_they_are_cited(tmp_path):
    build(tmp_path, NAMED, chapters=CHAPTERS)
    story = NAMED["story"].replace("# S\n", "# S\n\n> **Example** (first). One.\n")
    pages, warnings = build(tmp_path, {"story": story}, chapters=CHAPTERS)
    assert warnings == ""
    assert labels(pages["story"]) == ["Example 2.1.1", "Definition 2.1.2", "Theorem 2.1.3"]
    assert labels(pages["story-checks"]) == ["Lemma 2.1.4"]
    cited = [a.get_text() for a in pages["later"].find_all("a", class_="thm-link")]
    assert cited == ["Lemmas 2.1.4", "2.2.1", "Definition 2.1.2"]
    assert "Theorem 2.1.3" in pages["later"].get_text()


def test_a_name_that_nothing_bears_or_that_two_bear_is_a_warning(tmp_path):
    twice = "> **Lemma** (pairs). Two.\n"
    pages = {
        "index": "# One\n\nBy Lemma (pears) and Lemma (pairs).\n",
        "story": f"# S\n\n{twice}",
        "later": f"# L\n\n{twice}\n{twice}",
    }
    _, warnings = build(tmp_path, pages, chapters=CHAPTERS)
    assert "no box is labelled Lemma pears; did you mean lemma-pairs?" in warnings
    assert "Lemma (pairs) is stated in ['later', 'later', 'story']: say which by a link" in warnings
    assert "Lemma (pairs) is stated twice: in later and in later" in warnings


# ---- terms -------------------------------------------------------------------------------------------------------------


GLOSSARY = """
- {term: hinge, says: "It has $x$.", home: splines/breakpoints}
- {term: roughness, says: Of a curve., home: splines/breakpoints, in: [splines]}
- {term: roughness of a picture, also: [roughness], says: Of pixels., home: geometry/images, in: [geometry]}
- {term: TINY, says: A way to grow., home: growth/bottleneck}
"""
MENTIONS = (
    "# Hinges\n\n`hinge`, [a hinge](index.md).\n\n> **Lemma** (x). A hinge.\n\nHinges and a hinge, roughness, tiny, TINY.\n"
)


def test_the_first_mention_of_a_term_in_a_story_leads_to_the_sense_that_is_meant(tmp_path):
    stories = {"splines": "splines/breakpoints", "depth": "splines/depth", "pixels": "geometry/sensitivity"}
    (tmp_path / "source/book/splines").mkdir(parents=True)
    (tmp_path / "source/book/geometry").mkdir(parents=True)
    (tmp_path / "source/book/glossary.yml").write_text(GLOSSARY)
    for name in stories.values():
        (tmp_path / f"source/book/{name}.md").write_text(f"---\norphan: true\n---\n{MENTIONS.replace('index', '../../index')}")
    _, warnings = build(tmp_path, {"index": MENTIONS}, ("boxes", "terms"), CHAPTERS)
    assert warnings == ""
    found = {}
    for short, name in stories.items():
        page = BeautifulSoup((tmp_path / f"out/book/{name}.html").read_text(), "html.parser")
        found[short] = [(a.get_text(), a["href"].split("#")[-1]) for a in page.find_all("a", class_="term-link")]
    hinge, tiny = ("Hinges", "term-hinge"), ("TINY", "term-tiny")
    assert found["splines"] == [tiny], "not where it is told, and not where it is no name"
    assert found["depth"] == [hinge, ("roughness", "term-roughness"), tiny]
    assert found["pixels"] == [hinge, ("roughness", "term-roughness-of-a-picture"), tiny]
    index = BeautifulSoup((tmp_path / "out/index.html").read_text(), "html.parser")
    assert not index.find("a", class_="term-link"), "only in stories"


def test_the_glossary_has_every_term_and_every_definition(tmp_path):
    import terms

    (tmp_path / "book/splines").mkdir(parents=True)
    source = "> **Definition** (Hinge; a slide's). At its **breakpoint** $\\beta$.\n\n> **Theorem** (no term). **Not** this.\n"
    cells = [{"cell_type": "markdown", "source": source}]
    (tmp_path / "book/splines/breakpoints.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "book/glossary.yml").write_text(GLOSSARY)
    text = terms.write(SimpleNamespace(root=tmp_path))
    assert "(term-hinge)=\n\n**Hinge.** It has $x$. Told in [Breakpoints](splines/breakpoints.ipynb)." in text
    where = "[Definition](splines/breakpoints.ipynb#definition-hinge) in [Breakpoints](splines/breakpoints.ipynb)."
    assert f"**Hinge.** At its **breakpoint** $\\beta$. {where}" in text
    assert "no term" not in text


def test_every_term_is_told_in_a_chapter_and_has_one_sense_in_each():
    import terms

    known = terms.terms(ROOT / "book")
    assert all(term.home in plan.chapters() for term in known)
    assert all(one in {*plan.parts(), *plan.chapters()} for term in known for one in term.within or ())
    for chapter in plan.chapters():
        forms = [form for term in known if term.is_meant_in(chapter) for form in {term.name, *term.also}]
        assert len(forms) == len(set(forms)), chapter


# ---- margin, doubts, what is shown on hover -----------------------------------------------------------------------------


def test_a_quote_that_opens_with_margin_is_a_note_beside_the_text(tmp_path):
    text = "# One\n\nWords.\n\n> *Margin.* See [there](https://example.org), $x$.\n\n> *Margins* are no notes.\n"
    pages, warnings = build(tmp_path, {"index": text}, ("boxes", "margin"))
    assert warnings == ""
    (note,) = pages["index"].find_all("aside", class_="margin-note")
    assert note.get_text().strip().startswith("See there, ")
    assert note.a
    assert "Margins are" in pages["index"].find("blockquote").get_text()


def test_each_verdict_of_a_page_can_be_doubted(tmp_path):
    (tmp_path / "source").mkdir()
    verdict = {"text/html": '<div class="foldnet-check" id="claim-S3-one"><b>reproduced</b></div>', "text/plain": "reproduced"}
    page = json.loads(notebook_page(([], "check()")))
    page["cells"][1]["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": verdict}]
    (tmp_path / "source/index.ipynb").write_text(json.dumps(page))
    pages, warnings = build(tmp_path, {}, ("myst_nb", "sphinx.ext.autodoc", "folds", "site_tools", "reports"))
    assert warnings == ""
    link = pages["index"].find(id="claim-S3-one").find("a", class_="wrong")
    address = urlsplit(link["href"])
    assert address.path.endswith("/issues/new")
    asked = parse_qs(address.query)
    assert "S3-one" in asked["title"][0]
    assert "on the page index" in asked["body"][0]


def test_a_verdict_in_a_line_can_be_doubted(tmp_path):
    line = "✓ *It is so.* [checked](evidence.md#claim-S3-one)\n\nAs [claim](evidence.md#claim-S3-one) says.\n"
    pages, _ = build(tmp_path, {"index": f"# A\n\n{line}", "evidence": '# B\n\n<a id="claim-S3-one"></a>\n'}, ("reports",))
    (link,) = pages["index"].find_all("a", class_="wrong")
    assert link.parent.get_text().startswith("✓ It is so. checked is this wrong?")
    assert parse_qs(urlsplit(link["href"]).query)["title"] == ["Is S3-one wrong?"]


def test_what_is_shown_on_hover_is_the_text_of_a_box_without_links():
    import hover

    box = (
        '<div class="thm thm-lemma docutils container" id="lemma-x"><p><a href="#y">Lemma</a>.</p><div class="math">z</div></div>'
    )
    other = box.replace("lemma", "proof").replace("x", "w")
    assert hover.boxes(f"<p>{box}</p><div>{other}</div>") == {"lemma-x": '<p>Lemma.</p><div class="math">z</div>'}
    assert hover.boxes(box.replace("z", "z" * hover.LONGEST)) == {}, "too long to be shown beside a link"


def test_the_neighbours_of_a_page_are_stories_for_a_story_and_for_its_checks():
    import way

    a, b = "book/splines/breakpoints", "book/splines/landscape"
    pages = ["book/index", "book/found", "book/splines/index", a, b, "book/evidence", f"{b}-checks", "book/ledger"]
    assert way.neighbours("book/index", pages) == (None, a)
    assert way.neighbours(a, pages) == ("book/index", b)
    assert way.neighbours(b, pages) == (a, "book/found")
    assert way.neighbours(f"{b}-checks", pages) == (b, "book/found")
    assert way.neighbours("book/splines/index", pages) == ("book/index", a)
    assert way.neighbours("book/found", pages) == ("book/index", "book/evidence")
    assert way.neighbours("book/ledger", pages) == ("book/evidence", None)


def test_what_a_chapter_needs_stands_before_it():
    order = list(plan.chapters())
    for name, chapter in plan.chapters().items():
        assert all(order.index(need) < order.index(name) for need in chapter.needs)


# ---- folds -------------------------------------------------------------------------------------------------------------


def notebook_page(*cells) -> str:
    made = [{"cell_type": "markdown", "id": "t", "metadata": {}, "source": "# One"}]
    for i, (tags, source) in enumerate(cells):
        output = {"output_type": "stream", "name": "stdout", "text": f"printed {i}\n"}
        kept = {"metadata": {"tags": tags}, "source": source, "outputs": [output], "execution_count": i + 1}
        made.append({"cell_type": "code", "id": f"c{i}", **kept})
    return json.dumps({"cells": made, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5})


def test_a_cell_and_a_verdict_can_be_linked_from_another_page(tmp_path):
    (tmp_path / "source").mkdir()
    verdict = {"text/html": '<div id="claim-S3-one">reproduced</div>', "text/plain": "reproduced"}
    page = json.loads(notebook_page(([], "check()")))
    page["cells"][1]["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": verdict}]
    (tmp_path / "source/index.ipynb").write_text(json.dumps(page))
    text = "# Two\n\n[one](index.ipynb#claim-S3-one), [cell](index.ipynb#cell-1), [none](index.ipynb#claim-S3-none).\n"
    pages, warnings = build(tmp_path, {"two": text}, ("myst_nb", "sphinx.ext.autodoc", "folds", "site_tools"))
    assert "claim-S3-none" in warnings
    assert warnings.count("WARNING") == 1
    hrefs = {a["href"] for a in pages["two"].find_all("a")}
    assert {"index.html#claim-S3-one", "index.html#cell-1"} <= hrefs


def test_a_number_keeps_its_per_cent_sign_on_its_line_and_code_is_left_alone(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source/index.ipynb").write_text(notebook_page(([], "x = 7 % 2")))
    pages, _ = build(tmp_path, {"two": "# Two\n\nOf 95 %, `7 % 2`.\n"}, ("myst_nb", "sphinx.ext.autodoc", "folds", "site_tools"))
    assert "Of 95\N{NO-BREAK SPACE}%" in pages["two"].p.get_text()
    assert pages["two"].code.get_text() == "7 % 2"
    assert "x = 7 % 2" in pages["index"].get_text()


def test_a_folded_cell_shows_its_title_and_its_output_and_the_setup_cell_nothing(tmp_path):
    (tmp_path / "source").mkdir()
    cells = (["setup"], "# @title Setup\nimport sys"), (["folded"], "# @title Draw <it>\n\nplot(1)"), ([], "taught = 1")
    (tmp_path / "source/index.ipynb").write_text(notebook_page(*cells))
    pages, warnings = build(tmp_path, {}, ("myst_nb", "sphinx.ext.autodoc", "folds", "site_tools"))
    assert warnings == ""
    page = pages["index"]
    folded = page.find("details", class_="fold")
    assert folded.summary.get_text() == "Draw <it>"
    assert folded.pre.get_text().strip() == "plot(1)"
    assert not folded.has_attr("open")
    assert "printed 1" not in folded.get_text()
    assert "printed 1" in page.find(id="cell-2").get_text()
    assert "import sys" not in page.get_text()
    assert not page.find(id="cell-3").details
    assert "taught = 1" in page.find(id="cell-3").get_text()


def test_a_story_hides_its_folded_code_and_leaves_exercises_to_a_kernel(tmp_path):
    (tmp_path / "source/book/splines").mkdir(parents=True)
    cells = (["folded"], "# @title Draw\nplot(1)"), ([], "def f(): ..."), (["folded"], "# @title Check\nselfcheck(f, [])")
    for name in ("rich", "rich-checks"):
        (tmp_path / f"source/book/splines/{name}.ipynb").write_text(notebook_page(*cells))
    contents = "# One\n\n```{toctree}\nbook/splines/rich\nbook/splines/rich-checks\n```\n"
    _, warnings = build(tmp_path, {"index": contents}, ("myst_nb", "sphinx.ext.autodoc", "folds", "site_tools"))
    assert warnings == ""
    made = tmp_path / "out/book/splines"
    story, checks = (BeautifulSoup((made / f"{n}.html").read_text(), "html.parser") for n in ("rich", "rich-checks"))
    assert len(story.select("details.story-fold")) == 2
    assert not checks.select("details.story-fold")
    assert "printed 0" in story.get_text()
    assert "printed 2" not in story.get_text()
    assert "Colab or JupyterLab" in story.find(class_="runs-elsewhere").get_text()
    assert "printed 2" in checks.get_text()


# ---- made pages --------------------------------------------------------------------------------------------------------


def claim(**changes) -> dict:
    keys = ("published", "criterion", "truth", "note", "open", "what", "stored", "live", "selected", "notebook", "cell", "weight")
    base = dict.fromkeys((*keys, "strength")) | {"evidence": "statement", "points": []}
    base |= {"id": "S3-one", "source": "S3", "chapter": "splines/breakpoints", "kind": "theorem", "verdict": "open"}
    return base | {"title": "A title", "where": "slide 1", "says": r"That $\beta < 1$."} | changes


POINT = {"name": "sum", "verdict": "corrected", "measured": "4", "against": "printed 5; true 4", "rivals": [], "twins": []}
RIVAL = {"name": "the null model", "measured": "7", "passes": False}
TWIN = {"name": "exponent 3", "wanted": "8", "passes": False}
CORRECTED = {"verdict": "corrected", "strength": "exact", "what": "the sum", "published": "5", "points": [POINT]}
PLACE = {"notebook": "splines/breakpoints.ipynb", "cell": 12}


class Site(SimpleNamespace):
    """What the makers ask, without a build."""

    def __init__(self, *rows, pages=("ledger", "splines/breakpoints")):
        super().__init__(ledger=list(rows), pages=pages, warnings=[], repository="https://example.org/x", root=ROOT)

    def address(self, page, anchor=""):
        return f"{page}.html#{anchor}" if page in self.pages else None

    def warn(self, message, *values):
        self.warnings.append(message % values)


def test_a_row_of_the_ledger_says_all_there_is():
    import ledger_page

    row = claim(**CORRECTED, **PLACE, note="A <slip> of print.")
    soup = BeautifulSoup(ledger_page.write(Site(row, claim(id="S3-two"))), "html.parser")
    one = soup.find(id="S3-one")
    assert one.find(class_="claim-head").get_text(" ", strip=True) == "✎ corrected A title"
    assert one.find(class_="claim-says").find(class_="tex").get_text() == r"\(\beta < 1\)", "the claim in words is seen at once"
    told = {"Published": "5", "Measured": "the sum: sum: 4 (printed 5; true 4)", "Note": "A <slip> of print."}
    assert said(one) == told | {"Strength": f"exact: {STRENGTHS['exact']}."}
    assert one.find("a", class_="claim-cell")["href"] == "splines/breakpoints.html#cell-12"
    assert one.find("a", class_="wrong")["href"].startswith("https://example.org/x/issues/new?")
    two = soup.find(id="S3-two")
    assert two.find(class_="claim-head").get_text(" ", strip=True) == "○ open A title"
    assert not two.details, "nothing was checked, and nothing is said about it"
    groups = [(group.h2.get_text(), group.has_attr("data-interesting")) for group in soup.find_all("section")]
    assert groups == [("Corrections that change a result", True), ("All other claims", False)]
    assert [o["value"] for o in soup.find("select", attrs={"name": "source"}).find_all("option")] == ["", "S3"]


def said(claim) -> dict[str, str]:
    """What a claim of the ledger says about its check, by name."""
    names, values = (claim.details.find_all(tag) for tag in ("dt", "dd"))
    return {name.get_text(): " ".join(value.get_text(" ", strip=True).split()) for name, value in zip(names, values)}


def test_each_point_of_a_claim_has_its_verdict_its_criterion_and_its_rivals():
    import ledger_page

    criterion = {"demands": {"a": "at least 1"}, "reason": "It is $1$ by chance.", "fixed": "before"}
    points = [POINT | {"name": "a", "verdict": "reproduced", "rivals": [RIVAL]}]
    points.append(POINT | {"name": "b", "verdict": "consistent", "twins": [TWIN]})
    row = claim(
        evidence="shape",
        verdict="consistent",
        what="w",
        criterion=criterion,
        points=points,
        stored="race",
        live="2 of 9",
        **PLACE,
    )
    soup = BeautifulSoup(ledger_page.write(Site(row)), "html.parser")
    found = said(soup.find(id="S3-one"))
    assert found["Criterion"] == r"It is \(1\) by chance. Fixed before looking."
    assert "✓ a: 4 (printed 5; true 4); the null model 7, excluded" in found["Measured"]
    assert "≈ b: 4 (printed 5; true 4); exponent 3 would be 8, refuted" in found["Measured"]
    assert found["Stored run"] == "race; run again there: 2 of 9."


def test_an_erratum_has_what_is_said_what_is_true_and_the_evidence():
    import errata_page

    site = Site(claim(**CORRECTED, **PLACE, truth="It is $4$."), claim(id="S3-two", verdict="reproduced"))
    text = errata_page.write(site)
    assert site.warnings == []
    assert "That $\\beta < 1$." in text
    assert "It is $4$." in text
    assert text.startswith("1 correction: 1 that changes a result and 0 slips. By what they rest on: 1 of a statement.")
    assert "the sum: sum: **4** (printed 5; true 4)" in text
    assert "splines/breakpoints.html#cell-12" in text
    assert "S3-two" not in text


def test_corrections_that_change_a_result_stand_before_slips():
    import errata_page

    shared = {**CORRECTED, **PLACE, "truth": "It is $4$."}
    rows = [claim(id="S3-eq-1", title="An equation", **shared), claim(id="S3-thm-2", title="A theorem", **shared)]
    rows += [
        claim(id="S3-thm-3", title="A sign", weight="slip", **shared),
        claim(id="S3-eq-4", title="A law", weight="result", **shared),
    ]
    text = errata_page.write(Site(*rows))
    order = ["## Corrections", "#### An equation", "#### A theorem", "#### A law", "## Slips", "#### A sign"]
    places = [text.index(line) for line in order]
    assert places == sorted(places), "one that does not say which it is stands with the results"
    assert text.startswith("4 corrections: 3 that change a result and 1 slip.")


def test_a_claim_that_differs_and_has_a_corrected_point_is_an_erratum_in_part():
    import errata_page

    part = {**CORRECTED, **PLACE, "verdict": "differs", "truth": "It is $4$."}
    text = errata_page.write(Site(claim(id="S3-eq-1", title="A table", **part)))
    assert text.index("## Corrected in part") < text.index("#### A table") < text.index("It is $4$.")


def test_a_correction_without_its_truth_is_a_warning():
    import errata_page

    site = Site(claim(**CORRECTED, **PLACE))
    errata_page.write(site)
    assert "S3-one is corrected by its check" in site.warnings[0]


def test_the_errata_page_says_so_when_there_is_nothing_to_correct():
    import errata_page

    assert errata_page.write(Site(claim())).startswith("No claim has been corrected so far.")


def test_the_health_page_shows_times_beside_budgets_and_versions(tmp_path):
    import importlib.metadata

    import health_page

    (tmp_path / "book").mkdir(parents=True)
    (tmp_path / "_build").mkdir(parents=True)
    entry = {"seconds": 31.2, "machine": "2 cores", "processor": 30.0}
    (tmp_path / "_build/runtimes.json").write_text(json.dumps({"splines/breakpoints": entry}))
    (tmp_path / "requirements.txt").write_text(f"numpy=={importlib.metadata.version('numpy')}\nscipy==0.1\n")
    site = Site(claim(), claim(id="S3-two", verdict="differs", chapter="splines/depth"))
    site.root = tmp_path
    text = health_page.write(site)
    budget = plan.budget("splines/breakpoints")
    rows = [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in BeautifulSoup(text, "html.parser").find_all("tr")]
    assert ["splines/breakpoints", "2 cores", f"{100 * 31.2 / budget:.0f} %", "31 s", f"{budget:.0f} s"] in rows
    assert ["splines/depth", "S3", "", "", "", "", "1", "", ""] in rows
    assert ["all", "", "", "", "", "", "1", "", "1"] in rows
    assert ["numpy", importlib.metadata.version("numpy")] in rows
    assert ["scipy", f"{importlib.metadata.version('scipy')} (pinned: 0.1)"] in rows


def test_a_part_tells_written_from_planned_chapters(tmp_path):
    import landing_page

    (tmp_path / "book/splines").mkdir(parents=True)
    cells = [{"cell_type": "markdown", "source": ["# The title\n"]}]
    (tmp_path / "book/splines/breakpoints.ipynb").write_text(json.dumps({"cells": cells}))
    site = Site(claim(), claim(id="S3-two"))
    site.root = tmp_path
    soup = BeautifulSoup(landing_page.part(site, "splines"), "html.parser")
    items = soup.find_all("li")
    assert len(items) == len(plan.parts()["splines"].chapters)
    assert [li.a.get_text() for li in items if li.a] == ["Breakpoints"]
    assert "The title" in next(li for li in items if li.a).get_text(), "the heading stands beside the name"
    assert sum("planned" in li.get("class", ()) for li in items) == len(items) - 1
    assert "2 claims" in next(li for li in items if li.a).get_text()


def test_a_part_says_how_long_a_chapter_takes_and_what_it_needs(tmp_path):
    import landing_page

    (tmp_path / "book/splines").mkdir(parents=True)
    words = "# T\n\n**You need:** [vectors](v.ipynb) and more, `numpy`; see [more](x.ipynb). **Reading time:** 25 minutes; more."
    cells = [{"cell_type": "markdown", "source": [words]}]
    (tmp_path / "book/splines/breakpoints.ipynb").write_text(json.dumps({"cells": cells}))
    site = Site()
    site.root = tmp_path
    soup = BeautifulSoup(landing_page.part(site, "splines"), "html.parser")
    assert [small.get_text() for small in soup.find_all(class_="map-needs")] == ["25 minutes; you need vectors and more, numpy"]
    assert len(soup.find_all("li")) == len(plan.parts()["splines"].chapters)


def test_a_front_page_shows_a_stored_figure_and_its_evidence(tmp_path):
    import shown

    picture = '<figure class="foldnet-figure"><img alt="a" src="data:x"><figcaption>c</figcaption></figure>'
    drawn = {"outputs": [{"data": {"text/html": ["<p>", picture, "</p>"]}}], "cell_type": "code"}
    cells = [{"cell_type": "markdown", "source": ["# Chapter\n"]}, {**drawn, "source": ["# @title Draw\n", "x"]}]
    (tmp_path / "book/splines").mkdir(parents=True)
    (tmp_path / "book/splines/breakpoints.ipynb").write_text(json.dumps({"cells": cells}))
    site = Site(claim(verdict="reproduced", **PLACE), claim(id="S3-two"))
    site.root = tmp_path
    text = shown.figure(site, "splines/breakpoints: Draw")
    assert picture in text
    assert BeautifulSoup(text, "html.parser").a["href"].endswith("breakpoints.html#cell-1")
    assert BeautifulSoup(text, "html.parser").a.get_text() == "Breakpoints"
    small = shown.thumb(site, "splines/breakpoints: Draw")
    assert "data:x" in small
    assert "figcaption" not in small
    assert shown.thumb(site, "splines/breakpoints: Another name") == small, "or else the first"
    assert "reproduced" in shown.evidence(site, claim()["id"])
    tried = shown.live(site, 'breakpoints {"ratio": 0.5}')
    assert re.search(r'<summary>Try it: .{9,}</summary>\n<div data-live="breakpoints"', tried)
    assert '"ratio": 0.5' in tried
    assert site.warnings == []
    assert shown.figure(site, "splines/breakpoints: Paint") == ""
    still = shown.first_picture({"outputs": [{"data": {"text/html": live("breakpoints").html}}]})
    words = BeautifulSoup(still, "html.parser").img["alt"]
    assert re.fullmatch(r"The curve of a network of \d+ random neurons, which bends at [-\d., ]+", words), "a copy stands still"
    shown.evidence(site, "S3-two")
    shown.evidence(site, "S3-nowhere")
    assert len(site.warnings) == 3


def test_the_counts_add_up():
    import landing_page

    text = landing_page.counts(Site(claim(), claim(id="S3-two"), claim(id="S3-three", verdict="differs")))
    found = Counter({word: int(n) for n, word in re.findall(r"<b>(\d+)</b> <span class=\"verdict verdict-(\w+)", text)})
    assert found == Counter(open=2, differs=1)
    assert "1 of 3 claims have a verdict, 2 are open" in text
    table = [
        [cell.get_text() for cell in row.find_all(["th", "td"])] for row in BeautifulSoup(text, "html.parser").find_all("tr")
    ]
    assert table[2] == ["statement", "3", "", "", "", "1", "", "2"]


def test_the_title_page_counts_by_strength_in_one_line():
    import landing_page

    rows = [("reproduced", "exact"), ("corrected", "exact"), ("differs", "one setting"), ("open", None)]
    site = Site(*(claim(id=f"S3-{i}", verdict=verdict, strength=strong) for i, (verdict, strong) in enumerate(rows)))
    text = BeautifulSoup(landing_page.strengths(site), "html.parser")
    assert (
        text.p.get_text() == "3 of 4 claims have a verdict. By the strength of the evidence: 2 exact, 0 sampled, 1 one setting."
    )
    assert [a["href"].split("#")[-1] for a in text.find_all("a")] == [
        "strength=exact",
        "strength=sampled",
        "strength=one%20setting",
    ]


# ---- docstrings --------------------------------------------------------------------------------------------------------


def test_docstrings_are_markdown():
    import site_tools

    lines = ["`x` of shape `(*batch, n)`, |mu| * 2, a_ and b."]
    site_tools.markdown_docstring(None, None, None, None, None, lines)
    assert lines == [r"``x`` of shape ``(*batch, n)``, \|mu\| \* 2, a\_ and b."]


def test_arguments_in_a_docstring_are_a_list():
    import site_tools

    lines = [
        "What it is.",
        "",
        "x: points `(n,)`, and",
        "    no others.",
        "u, v: directions.",
        "",
        ">>> f(x_)",
        "1",
        "",
        "Note: this.",
    ]
    site_tools.markdown_docstring(None, None, None, None, None, lines)
    listed = ["- ``x``: points ``(n,)``, and no others.", "- ``u``, ``v``: directions."]
    assert lines == ["What it is.", "", *listed, "", ">>> f(x_)", "1", "", "Note: this."]


def test_the_api_lists_public_modules():
    names = api_page.module_names()
    assert names[0] == "foldnet.nets"
    assert "foldnet.splines.breakpoints" in names
    assert "foldbook.live" in names  # a package, and what chapters call
    assert "foldnet.splines" not in names
    assert not [n for n in names if "._" in n]


def test_the_api_page_begins_with_an_index_of_its_names():
    index, *sections = re.split(r"^## ", api_page.write(None), flags=re.MULTILINE)
    modules = api_page.module_names()
    assert [section.split()[0] for section in sections] == modules
    assert re.findall(r"^- \{py:mod\}`~([\w.]+)`: [A-Z]", index, re.MULTILINE) == modules
    linked = re.findall(r"\{py:obj\}`~([\w.]+)`", index)
    assert {"foldnet.nets.ReLUNet", "foldnet.geometry.regions.regions", "foldbook.claims.check"} <= set(linked)
    assert len(linked) == len(set(linked))
    for name in linked:
        module, _, short = name.rpartition(".")
        found = getattr(importlib.import_module(module), short)
        assert found.__module__ == module
        assert found.__doc__, "autodoc leaves out what says nothing, and the link would lead nowhere"


def test_an_entry_says_what_is_cited_its_version_and_its_date():
    import cite_page

    release = cite_page.release(ROOT)
    book = plan.read(ROOT / "CITATION.cff")["title"]
    entries = {
        "splines/breakpoints-checks": cite_page.page(ROOT, "splines/breakpoints-checks"),
        "S3-thm-1": cite_page.verdict(ROOT, "S3-thm-1", "Of bends", "reproduced", "http://here/#S3-thm-1"),
    }
    for name, entry in entries.items():
        key, fields = re.fullmatch(r"@\w+\{([\w-]+),\n(.+)\n\}", entry, re.DOTALL).groups()
        assert key == f"foldnet{release['year']}-{name.split('/')[-1]}"
        fields = dict(re.findall(r"^  (\w+) = \{(.+)\},$", fields, re.MULTILINE))
        assert {k: fields[k] for k in ("year", "date", "version")} == {k: release[k] for k in ("year", "date", "version")}
        assert fields["author"] == "{The foldnet authors}"
        assert book in (fields.get("booktitle"), fields.get("howpublished"))
        assert fields["url"].startswith("http")
        assert fields["url"].endswith((f"/{name}.ipynb", f"#{name}"))
        assert fields["title"] in (plan.titles().get(name), "S3-thm-1, Of bends: reproduced")


# ---- the fold ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sheet", ["in strips", "like a paper star"])
def test_the_network_folds_as_reflections_do(sheet):
    import fold_figure

    points = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    creases, (normal, offset) = fold_figure.SHEETS[sheet]
    for folds in range(len(creases) + 1):
        folded = points.copy()
        for n, d in creases[:folds]:
            u = folded @ np.array(n) - d
            folded = folded + np.outer(np.abs(u) - u, n)  # a point on the far side goes to its mirror image
        net = fold_figure.network(sheet, float(folds))
        assert net.sizes == (2, *[4] * folds, 1)
        assert np.allclose(net(points).numpy()[:, 0], folded @ np.array(normal) - offset, atol=1e-12)


@pytest.mark.parametrize("folds", [0.0, 0.5, 1.0, 1.75, 2.0, 3.0])
def test_the_pieces_are_the_linear_pieces_of_the_network(folds):
    import fold_figure

    for sheet in fold_figure.SHEETS:
        net, pieces = fold_figure.network(sheet, folds), fold_figure.pieces(sheet, folds)
        assert len(pieces) == 2 ** math.ceil(folds)
        assert sum(area(p.corners) for p in pieces) == pytest.approx(4.0)
        assert sorted(p.layer for p in pieces) == list(range(len(pieces)))
        for piece in pieces:
            weights = np.random.default_rng(1).dirichlet(np.ones(len(piece.corners)), 20)
            inside, corners = net(weights @ piece.corners).numpy(), net(piece.corners).numpy()
            assert np.allclose(inside, weights @ corners, atol=1e-12)


def area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


def test_the_figure_is_light_and_says_what_it_shows():
    import fold_figure

    picture = fold_figure.still("in strips", 3.0)
    assert len(picture.encode()) < 100_000
    assert isinstance(fold_figure.network("in strips", 3.0), ReLUNet)
    assert "after 3.0 folds, folded in strips" in picture


def test_the_sheet_of_the_title_page_is_that_of_the_live_figure():
    """The two sheets that the live figure begins with are those of the drawing: the same function of the plane."""
    import fold_figure

    from foldbook.sheet import line, sheet_network

    state, points = live("sheet").state, np.random.default_rng(0).uniform(-1, 1, (200, 2))
    creases, knife = [line(*crease) for crease in state["creases"]], line(*state["knife"])
    cut, drawn = sheet_network(creases, knife, 3), fold_figure.network("like a paper star", 3.0)
    normal = np.linalg.norm(fold_figure.SHEETS["like a paper star"][1][0])
    assert np.abs(cut(points).numpy() - drawn(points).numpy() / normal).max() < 2e-3  # angles to a hundredth of a degree


# ---- live figures ------------------------------------------------------------------------------------------------------


def test_live_figures_of_a_page_load_each_script_once(tmp_path):
    from lighten import share_live_scripts

    from foldbook.live import live, script

    page = tmp_path / "book" / "splines" / "x.html"
    text = f"<body>{live('breakpoints').html}<p>and</p>{live('breakpoints', ratio=2).html}</body>"
    lighter = share_live_scripts(text, page, tmp_path)
    assert lighter.count("<script") == 3, "two states and one script"
    assert lighter.count('<script defer src="../../_static/live/breakpoints.js"></script>') == 1
    assert script("breakpoints") not in lighter
    assert (tmp_path / "_static/live/breakpoints.js").read_text(encoding="utf-8") == script("breakpoints")
    assert share_live_scripts("<body>none</body>", page, tmp_path) == "<body>none</body>"


def test_a_page_of_many_live_figures_loads_them_together(tmp_path):
    from lighten import share_live_scripts

    from foldbook.live import figures, live

    text = "<body>" + "".join(live(name).html for name in figures()) + "</body>"
    lighter = share_live_scripts(text, tmp_path / "index.html", tmp_path)
    assert lighter.count("<script defer") == 1
    assert 'src="_static/live/all.js"' in lighter
