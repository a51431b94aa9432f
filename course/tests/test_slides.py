"""Slides of a week: up to ten figures of the stored stories in one file, the live ones alive and as large as the screen."""

import re

import pytest

from course import slides
from course.errors import CourseError
from course.quiz import stories


@pytest.mark.parametrize("week", range(1, 9))
def test_a_week_has_up_to_ten_figures_of_its_stories_in_their_order(week):
    names = stories([week])
    shown = slides.chosen(names)
    assert len(shown) == slides.MOST or len(shown) == sum(len(slides.figures(name)) for name in names)
    assert sorted({figure.story for figure in shown}, key=names.index) == names
    for name in names:
        whole, own = slides.figures(name), [figure for figure in shown if figure.story == name]
        assert own == [figure for figure in whole if figure in own]
        assert [figure for figure in whole if figure.live] == [figure for figure in own if figure.live] != []


def test_what_cannot_be_shown_is_said(capsys):
    with pytest.raises(CourseError, match="there is no story 'splines/none'"):
        slides.figures("splines/none")
    assert slides.main(["splines/breakpoints", "--most", "0"]) == 1
    assert "choose fewer stories" in capsys.readouterr().err


@pytest.mark.course
def test_the_page_turns_by_keys_and_its_live_figure_lives(tmp_path, chromium):
    """Without a network; the whole live figure is on the screen, and a press of its button changes it."""
    assert slides.main(["1", "--out", str(tmp_path)]) == 0
    count = len(slides.chosen(stories([1])))
    context = chromium.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    page, told = context.new_page(), []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.goto((tmp_path / "1.html").as_uri())
    frame = page.frame_locator("section.now iframe")
    frame.get_by_role("button", name="Draw 1,000").wait_for()
    page.wait_for_function("document.querySelector('iframe').contentDocument.querySelector('[data-live]').style.transform !== ''")
    box = frame.locator("[data-live]").bounding_box()
    assert box["height"] > 0.75 * 720
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 720.5
    assert page.locator("footer").text_content() == f"1 / {count}"
    few = frame.get_by_text(re.compile(r"^\d+ bends so far"))  # those that are drawn, no comma
    few.wait_for()
    frame.get_by_role("button", name="Draw 1,000").click()
    few.wait_for(state="hidden")
    page.mouse.click(5, 5)
    assert page.locator("footer").text_content() == f"2 / {count}"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.locator("footer").text_content() == f"3 / {count}"
    picture = page.locator("section.now img").bounding_box()
    assert picture["height"] > 0.4 * 720
    assert picture["y"] + picture["height"] <= 720
    assert told == []
    context.close()
