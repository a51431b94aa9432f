"""What a hand does to a live figure and what it must not do: scrolling paints nothing, a line turned back is where it was."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


def swipe(window, x: float, y: float, far: float) -> None:
    """One finger, from a place upwards."""
    finger = window.context.new_cdp_session(window.page)
    for kind, up in (("touchStart", 0), ("touchMove", far / 2), ("touchMove", far), ("touchEnd", None)):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if up is None else [{"x": x, "y": y - up}]})


def test_a_finger_that_scrolls_paints_nothing_and_a_tap_does(show):
    window = show("polytopes", points=[[0.0, 0.0, 0]], context=PHONE)
    plane = window.page.get_by_role("group", name="The pieces of the plane and the data")
    box = plane.bounding_box()
    swipe(window, box["x"] + 0.3 * box["width"], box["y"] + 0.7 * box["height"], 80)
    assert len(window.state()["points"]) == 1
    plane.tap(position={"x": 0.3 * box["width"], "y": 0.7 * box["height"]})
    assert len(window.state()["points"]) == 2
    plane.click(position={"x": 0.7 * box["width"], "y": 0.7 * box["height"]})
    assert len(window.state()["points"]) == 3, "a mouse paints once"


def test_a_line_turned_there_and_back_is_where_it_was(show):
    window = show("sheet")
    before = window.state()["knife"]
    diamond = window.page.get_by_role("slider", name="turn the knife")
    diamond.focus()
    for key in ["Shift+ArrowRight"] * 3 + ["Shift+ArrowLeft"] * 3:
        diamond.press(key)
    angle, offset = window.state()["knife"]
    assert (offset, angle) == (before[1], pytest.approx(before[0], abs=0.051)), "angles are kept to a tenth of a degree"
    for _ in range(24):
        diamond.press("Shift+ArrowRight")
    assert window.state()["knife"] == [angle, offset], "once around"


def test_the_diamond_of_a_line_stays_under_the_pointer(show):
    window = show("sheet")

    def place():
        box = window.page.get_by_role("slider", name="turn the knife").locator("path").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    (x, y), before = place(), window.state()["knife"]
    window.page.mouse.move(x, y)
    window.page.mouse.down()
    window.page.mouse.move(x + 1, y, steps=2)
    held = place()
    window.page.mouse.up()
    assert held == pytest.approx((x, y), abs=2.5)
    assert window.state()["knife"][1] == before[1]


def test_the_last_point_is_taken_away_and_the_keys_go_on(show):
    window = show("dynamics")
    many = len(window.state()["points"])
    last = window.page.get_by_role("slider", name=f"point {many}", exact=True)
    last.focus()
    last.press("Delete")
    assert window.page.locator(".handle:focus").get_attribute("aria-label") == f"point {many - 1}"
    assert len(window.state()["points"]) == many - 1


@pytest.mark.parametrize(
    ("name", "state", "slider", "shown"),
    [("dynamics", {"rate": 0.5}, "step size", "0.5"), ("folding", {"angle": 40}, "turned by", "40°")],
)
def test_a_slider_shows_the_value_that_is_used(show, name, state, slider, shown):
    window = show(name, **state)
    assert window.page.get_by_role("slider", name=slider).get_attribute("aria-valuetext") == shown
    assert window.state()[next(iter(state))] == next(iter(state.values()))


def test_letting_go_of_the_width_draws_no_second_network(show):
    window = show("breakpoints")
    slider = window.page.get_by_role("slider", name="neurons", exact=True)
    slider.evaluate("e => { e.value = 4; e.dispatchEvent(new Event('input')); }")
    drawn = window.state()["w"]
    slider.evaluate("e => e.dispatchEvent(new Event('change'))")
    assert len(drawn) == 8
    assert window.state()["w"] == drawn


def test_the_fan_has_biases_of_its_own_scale(show):
    window = show("depth", hidden=[3, 3])
    window.page.get_by_role("combobox", name="start").select_option("fan")
    whole = window.state()
    assert whole["scale"] == 1
    slider = window.page.get_by_role("slider", name="scale of the biases")
    assert slider.get_attribute("aria-valuetext") == "1"
    slider.evaluate("e => { e.value = e.max; e.dispatchEvent(new Event('input')); }")
    assert window.state()["theta"] != whole["theta"]
    window.button("Another start").click()
    assert (window.state()["scale"], window.state()["theta"]) == (1, whole["theta"])


def test_births_and_deaths_are_counted_where_no_frame_is_drawn(show):
    def told(window):
        return re.search(r"Born so far: \d+, died: \d+\. 3,000 steps", window.readout())[0]

    quick, slow = show("depth", hidden=[6, 6], context={"reduced_motion": "reduce"}), show("depth", hidden=[6, 6])
    quick.button("Train on a sine").click()
    quick.button("Train on a sine").wait_for()
    for _ in range(300):
        slow.button("10 steps").click()
    assert told(quick) == told(slow)


@pytest.mark.parametrize(("name", "state"), [("depth", {"hidden": [3] * 6}), ("polytopes", {"hidden": [4] * 5})])
def test_more_layers_than_looks(show, name, state):
    window = show(name, **state)
    assert window.readout()
    assert window.state()["hidden"] == state["hidden"]


def test_a_neuron_of_a_wider_layer_can_be_chosen(show):
    assert show("depth", hidden=[4, 8], layer=1, neuron=6).state()["neuron"] == 6
    assert show("depth", hidden=[8, 4], layer=1, neuron=6).state()["neuron"] == 3
