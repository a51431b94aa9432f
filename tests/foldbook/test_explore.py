"""One pure function, three fronts: frames in the page, controls for them, and widgets where a kernel runs."""

import json
import re
from html.parser import HTMLParser

import matplotlib
import matplotlib.pyplot as plt
import pytest

from foldbook.explore import MOST_FRAMES, explore
from foldnet import plots

matplotlib.use("agg")
CALLS = []


def draw(width=1, kind="flat"):
    CALLS.append((width, kind))
    fig, axes = plots.subplots(figsize=(2, 1))
    axes.plot([0, width], [0, 1 if kind == "flat" else 2])
    return fig


def data(figure) -> dict:
    return json.loads(
        re.search(r'<script type="application/json">(.*?)</script>', figure.html, re.DOTALL)[1].replace("<\\/", "</")
    )


def both(**more):
    return explore(draw, alt="a {kind} line of width {width}", width=[1, 2.5, 10], kind=["flat", "steep"], **more)


# ---- frames ------------------------------------------------------------------------------------------------------------


def test_every_combination_is_drawn_and_found_by_its_index():
    figure = both()
    found = data(figure)
    assert found["labels"] == [["1", "2.5", "10"], ["flat", "steep"]]
    assert len(found["index"]) == 6
    alts = [re.search(r'alt="([^"]*)"', found["frames"][i])[1] for i in found["index"]]
    # the last choice moves fastest, as the script in the page counts
    assert alts == [f"a {kind} line of width {width}" for width in ("1", "2.5", "10") for kind in ("flat", "steep")]


def test_each_combination_is_drawn_once():
    drawn = []
    explore(lambda k: (drawn.append(k), draw())[1], alt="a line", start={"k": 2}, k=[1, 2, 3])
    assert drawn == [1, 2, 3]


def test_equal_frames_are_stored_once():
    figure = explore(lambda k: draw(), alt="always the same line", k=[1, 2, 3])
    assert data(figure)["index"] == [0, 0, 0]
    assert len(data(figure)["frames"]) == 1


def test_the_bytes_are_deterministic():
    assert both().html == both().html
    assert both().html != both(start={"width": 10}).html


def test_two_figures_on_a_page_have_their_own_names():
    uid = re.compile(r'data-explore="(\w+)"')
    other = explore(draw, alt="a line of width {width}", width=[3, 4])
    assert uid.search(both().html)[1] != uid.search(other.html)[1]


def test_the_first_frame_is_the_start():
    page = both(start={"width": 10, "kind": "steep"}).html
    frame = re.search(r'<div class="explore-frame"[^>]*>(<img [^>]*>)', page)[1]
    assert 'alt="a steep line of width 10"' in frame
    assert '<option value="1" selected>steep</option>' in page
    assert re.search(r'type="range" min="0" max="2" value="2" aria-valuetext="10"', page)


def test_it_has_a_name_and_small_print_where_they_are_given():
    page = both(title="Wider & wider", about="Each line is <one> run.").html
    words = '<p class="explore-title">Wider &amp; wider</p><p class="explore-about">Each line is &lt;one&gt; run.</p>'
    assert f'">{words}<div class="explore-controls">' in page
    assert page.replace(words, "") == both().html


def test_labels_rename_controls():
    page = both(labels={"width": "number of <neurons>"}).html
    assert "<label>number of &lt;neurons&gt; <input" in page
    assert "<label>kind <select" in page
    assert "<label>learning rate <" in explore(lambda learning_rate: draw(), alt="the same line", learning_rate=[1, 2, 3]).html


def test_two_numbers_make_a_menu_and_only_a_slider_speaks_its_value():
    page = explore(draw, alt="a line of width {width}", width=[1.0, 2.5]).html
    assert '<option value="0" selected>1</option><option value="1">2.5</option></select>' in page
    assert "aria-valuetext=" not in page
    assert "if (e.type === 'range') e.setAttribute('aria-valuetext'" in page


def test_texts_in_the_frames_cannot_end_the_script():
    figure = explore(lambda k: draw(), alt="a line </script><b> {k}", k=[1, 2])
    inside = re.search(r'<script type="application/json">(.*?)</script>', figure.html, re.DOTALL)[1]
    assert len(json.loads(inside)["frames"]) == 2
    figure = explore(lambda k: draw(), alt="a line of kind {k}", k=["</script>", '"&'])
    assert len(data(figure)["frames"]) == 2
    assert '<option value="0" selected>&lt;/script&gt;</option>' in figure.html


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_ready_for_the_keyboard():
    tags = _Tags()
    tags.feed(both().html)
    assert tags.open == []
    controls = [attrs for tag, attrs in tags.seen if tag in ("input", "select")]
    assert len(controls) == 2
    assert all(attrs["data-lm-suppress-shortcuts"] == "true" for attrs in controls)
    assert not re.search(r'(src|href)="(?!data:)', both().html)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({}, "make 0"),
        ({"width": [1]}, "make 1"),
        ({"width": []}, "width starts at None"),
        ({"width": range(1, MOST_FRAMES + 2)}, f"make {MOST_FRAMES + 1}"),
        ({"width": range(8), "kind": list("abcdefgh")}, "make 64"),
        ({"width": [1, 2], "start": {"width": 3}}, "starts at 3, which is not among its values"),
    ],
)
def test_too_few_too_many_and_wrong_starts_are_refused_before_a_frame_is_drawn(choices, sentence):
    CALLS.clear()
    with pytest.raises(ValueError, match=sentence):
        explore(draw, alt="a line", **choices)
    assert CALLS == []


def test_names_that_nothing_has_are_refused():
    with pytest.raises(ValueError, match="speed"):
        both(start={"speed": 1})
    with pytest.raises(ValueError, match="speed"):
        both(labels={"speed": "x"})


def test_an_alt_text_is_needed():
    with pytest.raises(TypeError):
        explore(draw, width=[1, 2])
    with pytest.raises(ValueError, match="alt text"):
        explore(draw, alt="", width=[1, 2])


def test_an_alt_text_may_be_a_function_of_the_choices():
    figure = explore(draw, alt=lambda width: "thick" if width > 2 else f"thin, {width}", width=[1, 3])
    assert 'alt="thin, 1"' in figure.frame(width=1)
    assert 'alt="thick"' in figure.frame(width=3)


def test_no_figure_stays_open():
    both()
    assert plt.get_fignums() == []


def test_in_a_notebook_it_shows_html_and_a_stable_text():
    bundle = both()._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/plain"] == "explore(draw: width, kind)"


# ---- widgets -----------------------------------------------------------------------------------------------------------


def test_sliders_redraws_when_a_control_moves():
    shown = both().sliders(width=range(1, 8))
    assert 'alt="a flat line of width 1"' in shown.picture.value
    shown.controls["width"].value = 7
    assert 'alt="a flat line of width 7"' in shown.picture.value
    shown.controls["kind"].value = "steep"
    assert 'alt="a steep line of width 7"' in shown.picture.value
    assert shown.picture in shown.box.children


def test_sliders_shows_a_still_frame_without_a_kernel():
    shown = both(start={"width": 10}).sliders()
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain", "application/vnd.jupyter.widget-view+json"}
    assert 'alt="a flat line of width 10"' in bundle["text/html"]
    assert "0x" not in bundle["text/plain"]
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == shown.box.model_id


def test_sliders_refuses_choices_that_the_figure_lacks():
    with pytest.raises(ValueError, match=r"no choice named speed; it has width, kind"):
        both().sliders(speed=[1])
    with pytest.raises(ValueError, match="width has no values"):
        both().sliders(width=[])


def test_sliders_takes_texts_and_numbers():
    shown = both().sliders()
    assert type(shown.controls["width"]).__name__ == "SelectionSlider"
    assert type(shown.controls["kind"]).__name__ == "Dropdown"


def test_sliders_starts_at_the_nearest_there_is():
    shown = both(start={"width": 10}).sliders(width=range(3, 6))
    assert shown.controls["width"].value == 5


def test_sliders_say_what_they_are_where_no_widget_is_shown():
    assert both().sliders()._repr_mimebundle_()["text/plain"] == "sliders(draw: width, kind)"
