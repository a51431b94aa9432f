"""Slides are made from the stories, and are shown one at a time by keys."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from foldbook import plan

ROOT = Path(__file__).resolve().parents[2]
DRAWING = '<img alt="a line" src="data:image/svg+xml,<svg viewBox=\'0 0 1 1\'></svg>" style="width:1px">'
STORY = [
    ("markdown", "# A promise\n\nFirst, a [link](other.ipynb) to look at. Then more."),
    ("code", f'<figure class="foldnet-figure">{DRAWING}<figcaption>one</figcaption></figure>'),
    ("markdown", "It goes on.\n\n## 1. What is $x$?\n\nWords."),
    ("markdown", "> **Lemma** (small; of the sum). It is $x$, by Theorem (large).\n\n## 2. And then?"),
    ("code", DRAWING),
    ("code", "<img alt='a second one' src='data:,'>"),
    ("markdown", "Then 3.5 is more. Not this.\n\n## Exercises\n\n> **Exercise** (try). Try."),
    ("markdown", "## Summary\n\n- One [thing](there.ipynb).\n- Another.\n\n## References\n\nNone."),
]


def cells(story=STORY) -> list[dict]:
    outputs = {"markdown": lambda _: {}, "code": lambda text: {"outputs": [{"data": {"text/html": text}}]}}
    return [{"cell_type": kind, "source": text if kind == "markdown" else "x", **outputs[kind](text)} for kind, text in story]


@pytest.fixture
def small(tmp_path):
    (tmp_path / "book/splines").mkdir(parents=True)
    (tmp_path / "book/splines/story.ipynb").write_text(json.dumps({"cells": cells()}))
    said = []
    places = {"root": tmp_path, "address": lambda page: f"../{page}.html"}
    return SimpleNamespace(**places, warnings=said, warn=lambda *words: said.append(words))


def test_a_section_is_a_slide_with_its_first_figure_and_its_first_statement(small):
    import slides

    text = slides.deck(small, "splines/story")
    soup = BeautifulSoup(text, "html.parser")
    assert small.warnings == []
    titles = ["A promise", "What is $x$?", "And then?", "Summary"]
    assert [title.get_text().strip() for title in soup.select(".slide-title")] == titles
    found = soup.select(".deck > .slide")
    assert len(found) == 4, "a picture's text closes nothing"
    assert [[image["alt"] for image in slide.find_all("img")] for slide in found] == [["a line"], [], ["a line"], []]
    assert "First, a link to look at." in found[0].get_text()
    assert "Then more" not in found[0].get_text()
    assert "*Lemma* (small). It is $x$, by *Theorem* (large)." in text
    assert "Then 3.5 is more." in found[2].get_text()
    assert "- One thing.\n" in text
    assert ".ipynb" not in text
    (small.root / "book/splines/empty.ipynb").write_text('{"cells": []}')
    assert slides.deck(small, "splines/empty") == ""
    assert len(small.warnings) == 1


@pytest.mark.parametrize("name", [name for name, chapter in plan.chapters().items() if chapter.pages(ROOT / "book")])
def test_every_story_has_slides_with_pictures(name):
    import slides

    notebook = json.loads((ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    made = list(slides.sections(notebook))
    assert len(made) >= 4
    assert made[-1]["title"] == "Summary"
    assert len(made[-1]["lines"]) >= 3
    assert sum(bool(slide["picture"]) for slide in made) >= 1
    assert [slide["title"] for slide in made if not slide["lines"]] == []


@pytest.mark.browser
def test_slides_turn_by_keys_and_end_where_they_began(visit, address):
    page = visit().open(f"{address}book/assignments/week-1.html")
    decks = page.locator(".deck")
    assert decks.count() == page.locator("button.deck-show").count() == 2
    titles = decks.first.locator(".slide-title").all_inner_texts()
    page.locator("button.deck-show").first.focus()
    page.keyboard.press("Enter")
    current = page.locator(".slide.current")
    last = len(titles) - 1
    for key, index in (("ArrowRight", 1), ("PageDown", 2), ("ArrowLeft", 1), ("End", last), ("ArrowRight", last), ("Home", 0)):
        page.keyboard.press(key)
        assert current.count() == 1
        assert current.locator(".slide-title").inner_text() == titles[index]
        assert decks.first.locator(".slide:visible").count() == 1
    page.keyboard.press("Escape")
    page.wait_for_function("document.activeElement.className === 'deck-show'")
    assert decks.first.locator(".slide:visible").count() == len(titles)
