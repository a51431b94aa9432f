"""Feedback pages: nothing in them runs, nothing is loaded, and no points depend on them."""

import base64
import io
import json
import resource
import time
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from course import book, collect, grade, hand, pages, press, source
from foldnet import plots


def png(width=4, height=3) -> str:
    data = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(data, "png")
    return base64.b64encode(data.getvalue()).decode()


@pytest.fixture
def record(tiny, release) -> dict:
    handed = collect.Handed("anna.ipynb", None, "anna", [], "")
    made = json.loads(json.dumps(grade.nothing(handed, "", [], release)))
    made["verdicts"]["twice-values"] = {"passed": True, "line": "correct", "share": 1.0}
    next(cell for cell in made["cells"] if cell["id"] == "why")["source"] = "So it is, since $\\frac12 < x_1$."
    return made


def shown(tiny, record, entries=None) -> tuple[str, BeautifulSoup]:
    entered = hand.Hand(tiny)
    entered.entries |= entries or {}
    page = pages.page(tiny, record, entered)
    return page, BeautifulSoup(page, "html.parser")


def safe(soup: BeautifulSoup) -> None:
    assert not soup.find_all(["script", "iframe", "object", "embed", "form", "link", "svg", "style"], recursive=True)[1:]
    for tag in soup.find_all(True):
        assert not [name for name in tag.attrs if name.startswith("on") or name in ("srcdoc", "style", "formaction")], tag
        assert tag.get("src", "data:image/").startswith("data:image/"), tag
        assert not tag.get("href", "#").lower().strip().startswith(("javascript", "data", "vbscript")), tag
    policy = soup.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


ATTACKS = [
    "<script>alert(1)</script><img src=x onerror=alert(2)><style>*{}</style>",
    "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) <javascript:alert(1)> [c](data:text/html,<script>alert(1)</script>)",
    "![beacon](http://elsewhere.example/x.png) ![](https://elsewhere.example/y)",
    '![x](attachment:"onload=alert(1).png) ![](data:image/svg+xml,<svg onload=alert(1)>)',
    "$\\href{javascript:alert(1)}{x}$ $$\\text{<script>alert(1)</script>}$$ $<img src=x onerror=alert(1)>$",
    "</section></body><script>alert(1)</script>",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_a_text_runs_nothing_and_loads_nothing(tiny, record, text):
    for cell in record["cells"]:
        cell["source"] = text
    record["notes"], record["name"], record["student"] = [text], text, text
    record["verdicts"]["twice-values"]["line"] = text
    record["outputs"] = {"twice": [{"output_type": "stream", "text": text}, {"output_type": "error", "traceback": [text]}]}
    safe(shown(tiny, record, {(text, "why"): hand.Entry(1, text)})[1])


@pytest.mark.parametrize(
    "output",
    [
        {"data": {"text/html": f'<img width="1 onload=alert(1)" src="data:image/png;base64,{png()}" onload="alert(1)">'}},
        {"data": {"text/html": "<script>alert(1)</script>", "text/plain": "<script>"}},
        {"data": {"text/html": "<img src=\"data:image/svg+xml,<svg xmlns='x'><script>alert(1)</script></svg>\">"}},
        {"data": {"text/html": "<img src=\"data:image/svg+xml,%3Csvg%3E%3Cimage href='http://x'/%3E%3C/svg%3E\">"}},
        {"data": {"image/png": 'AAAA" onload="alert(1)'}, "metadata": {"image/png": {"width": "1 onload=alert(1)"}}},
        {"data": {"image/png": base64.b64encode(b"<svg onload=alert(1)>").decode()}},
        {"data": [], "text": 3, "traceback": {}},
    ],
)
def test_an_output_runs_nothing_and_loads_nothing(tiny, record, output):
    record["outputs"]["twice"] = [{"output_type": "display_data", **output}]
    safe(shown(tiny, record)[1])


def test_pictures_are_shown_if_they_are_pictures(tiny, record):
    why = next(cell for cell in record["cells"] if cell["id"] == "why")
    why["source"], why["attachments"] = (
        "See ![me](attachment:a%20b.png) and ![](attachment:no.png)",
        {
            **{"a b.png": {"image/png": png()}, "loose.png": {"image/png": png(5)}, "no.png": {"image/png": "AAAA"}},
            "bomb.png": {"image/png": png(9000, 9000)},
        },
    )
    fig, ax = plots.subplots()
    ax.plot([1, 2], [3, 4])
    record["outputs"]["twice"] = [
        {"output_type": "display_data", "data": {"image/png": png()}},
        {"output_type": "display_data", "data": {"text/html": plots.image(fig, alt="two & more")}},
    ]
    _, soup = shown(tiny, record)
    safe(soup)
    assert len(soup.find_all("img")) == 4
    assert "two & more" in [image["alt"] for image in soup.find_all("img")]
    assert "a picture that cannot be shown" in soup.get_text()


def test_formulas_are_shown_without_a_script(tiny, record):
    page, soup = shown(tiny, record)
    assert soup.find("math").find("mfrac")
    assert "mathjax" not in page.lower()
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/1998/Math/MathML", "")


def test_a_page_says_whose_it_is_what_is_what_and_what_is_still_to_be_read(tiny, record):
    _, soup = shown(tiny, record)
    text = " ".join(soup.get_text(" ").split())
    assert "Tiny: anna" in soup.title.string
    assert "2 of 6 points; texts for 3 points are still to be read" in text
    assert "– / 3 not yet read" in text
    assert "0 / 3" not in text
    assert {a.get_text() for a in soup.find_all("a")} == {"tiny: twice values", "tiny: answer value", "tiny: why"}
    _, soup = shown(tiny, record, {("anna", "why"): hand.Entry(0, "not so, $x^2$")})
    assert "0 / 3" in soup.get_text(" ")
    assert soup.find(class_="comment").find("msup")


@pytest.mark.skipif("ps2" not in source.names(), reason="the sources of the problem sets are kept elsewhere")
def test_titles_name_question_and_part():
    titles = pages.titles(source.read("ps2"))
    assert titles["chain-few"] == "Question 1: chain few"
    assert titles["derivation"] == "Question 2a: derivation"
    assert titles["aim-quartiles"] == "Question 3: aim quartiles"


def test_only_pages_that_changed_are_written_and_no_point_depends_on_them(tiny, record, tmp_path, monkeypatch):
    first = book.Book(tmp_path)
    for student in ("anna", "ben", "cleo"):
        first.save(record | {"student": student, "name": student})
    entered = hand.Hand(tiny)
    assert pages.write_pages(tiny, first, entered) == []
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "feedback").iterdir()}
    entered.entries["ben", "why"] = hand.Entry(2, "well")
    pages.write_pages(tiny, first, entered)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "feedback").iterdir()}
    assert [name for name in after if after[name] != before[name]] == ["ben.html"]
    monkeypatch.setattr(pages, "page", lambda *_: 1 / 0)
    entered.entries["cleo", "why"] = hand.Entry(1, "")
    assert pages.write_pages(tiny, first, entered) == ["cleo: the page could not be made (ZeroDivisionError)"]
    assert pages.head(tmp_path / "feedback/cleo.html")  # the last one that could be made
    rows = {row["student"]: row["total"] for row in book.rows(tiny, SimpleNamespace(records=first.records), entered)}
    assert rows == {"anna": "2", "ben": "4", "cleo": "3"}


HEAVY = {
    "a table of 1,500 columns and rows": "|" * 1500 + "\n" + "|-" * 1500 + "|\n" + "|\n" * 1500,
    "emphasis without end": "**a *b " * 16_000,
    "brackets without end": "[" * 40_000,
    "a formula without end": "$" + "{" * 20_000 + "}" * 20_000 + "$",
    "quotes in quotes": ">" * 20_000,
}


@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_no_text_takes_the_time_or_the_memory_of_the_class(tiny, record, text, tmp_path):
    next(cell for cell in record["cells"] if cell["id"] == "why")["source"] = text
    made = book.Book(tmp_path)
    for student in ("anna", "ben"):
        made.save(record | {"student": student, "name": student})
    next(cell for cell in record["cells"] if cell["id"] == "why")["source"] = "So."
    made.save(record | {"student": "cleo", "name": "cleo"})
    before, children = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    pages.write_pages(tiny, made, hand.Hand(tiny))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - children.ru_utime < 15
    assert time.monotonic() - before < 15 * 20  # on a busy machine
    for student in ("anna", "ben", "cleo"):
        path = tmp_path / f"feedback/{student}.html"
        assert path.stat().st_size < 1_000_000
        assert "2 of 6 points" in path.read_text(encoding="utf-8")


def test_pictures_of_a_page_have_so_many_pixels_together(tiny, record):
    why = next(cell for cell in record["cells"] if cell["id"] == "why")
    large, calls = png(5000, 5000), []
    why["attachments"] = {f"{number}.png": {"image/png": large} for number in range(100)}
    load = Image.Image.load

    def counted(self):
        calls.append(1)
        return load(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("PIL.PngImagePlugin.PngImageFile.load", counted)
        _, soup = shown(tiny, record)
    assert len(soup.find_all("img")) == len(calls) == 1


def test_what_fails_within_the_limits_is_shown_as_it_was_written(tiny, record, tmp_path, monkeypatch):
    made = book.Book(tmp_path)
    made.save(record)
    monkeypatch.setattr(pages, "prose", lambda *_: "x" * 10**10)
    assert pages.write_pages(tiny, made, hand.Hand(tiny)) == ["anna: the page has no pictures and formulas (MemoryError)"]
    page = (tmp_path / "feedback/anna.html").read_text(encoding="utf-8")
    assert "So it is, since $\\frac12 &lt; x_1$." in page
    assert "Texts are shown as they were written, and without pictures: made otherwise, MemoryError." in page
    with pytest.raises(press.Unprintable, match="longer than 1 s"):
        press.printed(lambda: time.sleep(600), 1)
