"""Every figure in the hands of one who tries everything, at random from a fixed seed, and what such a reader has met before."""

from __future__ import annotations

import base64
import json
import random
import re
from itertools import pairwise

import pytest

from foldbook.live import figures

pytestmark = pytest.mark.browser
ACTIONS = 50
NONSENSE = ("", "0", "-0", "1e-300", "1e308", "-1e308", "1e400", "99999", "3.5", "-2,5", "abc")
KEYS = (
    "ArrowLeft",
    "ArrowRight",
    "ArrowUp",
    "ArrowDown",
    "Enter",
    "Space",
    "Delete",
    "Tab",
    "Shift+Tab",
    "Home",
    "End",
    "Escape",
)
# what can be used: its class, what it is, how many choices it has, its words
TARGETS = """() => {
  const root = document.querySelector('[data-live]').shadowRoot;
  const all = root.querySelectorAll('button, select, input, .handle, .pick, .picture svg[role=group]');
  globalThis.targets = [...all].filter((e) => e.checkVisibility() && !e.disabled);
  const many = (e) => Number(e.max ?? e.options?.length ?? 0);
  return targets.map((e) => [e.getAttribute('class') ?? '', e.type ?? e.tagName, many(e), e.textContent]);
}"""
# what the reader sees and hears, and the numbers of which the picture is made
SEEN = """() => {
  const root = document.querySelector('[data-live]').shadowRoot, bad = /NaN|undefined|Infinity|\\[object/, found = [];
  for (const e of root.querySelectorAll('.readout, .said, .drawer td, .drawer th, caption, output, .picture text')) {
    if (bad.test(e.textContent)) found.push(e.textContent.slice(0, 200));
  }
  for (const e of root.querySelectorAll('.picture *')) {
    for (const a of e.attributes) if (bad.test(a.value)) found.push(`${e.tagName} ${a.name}=${a.value.slice(0, 120)}`);
  }
  return found;
}"""


def resize(page, width: int, height: int) -> None:
    """A window that is full screen, or about to be, has no size of its own: it is left first."""
    for trial in range(100):
        page.evaluate("() => document.fullscreenElement && document.exitFullscreen()")
        try:
            return page.set_viewport_size({"width": width, "height": height})
        except Exception as error:
            if trial == 99 or "restore it to normal" not in str(error):
                raise
            page.wait_for_timeout(50)


class Monkey:
    """One who uses what there is, at random: `act` does one thing and says what."""

    def __init__(self, window, seed: int):
        self.window, self.page, self.random = window, window.page, random.Random(seed)
        self.did: list[str] = []

    def act(self) -> None:
        k, (kind, type_, many, words) = self.random.choice(list(enumerate(self.page.evaluate(TARGETS))))
        target = self.page.evaluate_handle(f"targets[{k}]").as_element()
        if "handle" in kind or "pick" in kind:
            what = self.random.choice(["drag", "drag", "keys"])
            self.did.append(f"{what} handle {k}")
            self.drag(target) if what == "drag" else self.keys(target)
        elif type_ in ("svg", "group"):
            box = target.bounding_box()
            at = [self.random.uniform(-0.02, 1.02) for _ in range(2)]
            self.did.append(f"click at {at}")
            self.page.mouse.click(box["x"] + at[0] * box["width"], box["y"] + at[1] * box["height"])
        elif type_ == "button":
            self.did.append(f"press {words}")
            target.evaluate("e => e.click()")
            if words in ("Share this", "Hide numbers") and self.random.random() < 0.7:
                target.evaluate("e => e.click()")
        elif type_ == "range":
            value = self.random.randint(0, many)
            self.did.append(f"slide {k} to {value}")
            target.fill(str(value))
        elif type_ == "select-one":
            choice = self.random.randrange(many)
            self.did.append(f"choose {choice} of {k}")
            target.select_option(index=choice)
        elif type_ == "checkbox":
            self.did.append(f"check {k}")
            target.click()
        elif type_ == "number":
            nonsense = self.random.choice(NONSENSE)
            self.did.append(f"type {nonsense!r} into {k}")
            target.focus()
            self.page.keyboard.press("Control+a")
            self.page.keyboard.type(nonsense)
            self.page.keyboard.press("Enter")
        if self.random.random() < 0.1:
            self.page.wait_for_timeout(self.random.choice([20, 60, 200]))
        if self.random.random() < 0.04:
            width = self.random.choice([320, 390, 700, 1280])
            self.did.append(f"width {width}")
            resize(self.page, width, 900)

    def drag(self, target) -> None:
        if not (box := target.bounding_box()):  # a training that plays has taken it away
            return
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        far = self.random.choice([20, 200, 2000])
        self.page.mouse.move(x + self.random.uniform(-far, far), y + self.random.uniform(-far, far), steps=2)
        self.page.mouse.up()

    def keys(self, target) -> None:
        target.focus()
        for _ in range(self.random.randint(1, 4)):
            key = self.random.choice(KEYS)
            self.page.keyboard.press(self.random.choice(["", "", "Shift+"]) + key if "Tab" not in key else key)


def numbers(window) -> list[str]:
    """The table as it is now: one that is open may be older than the picture where a field of it has the focus."""
    if window.button("Hide numbers").count():
        window.button("Hide numbers").click()
    window.button("Show numbers").click()
    read = "rows => rows.map(r => [...r.cells].map(c => c.querySelector('input')?.value ?? c.textContent).join(' '))"
    return window.page.locator("table tr").evaluate_all(read)


@pytest.mark.parametrize("name", list(figures()))
def test_whatever_one_does_it_shows_numbers_and_goes_on(show, name):
    window = show(name)
    monkey = Monkey(window, seed=1)
    for _ in range(ACTIONS):
        monkey.act()
        assert window.errors == [], monkey.did[-3:]
        assert window.page.evaluate(SEEN) == [], monkey.did[-3:]
    for pause in window.button("Pause").all():
        pause.click()
    resize(window.page, 900, 1000)
    again = show(name, anchor=link(window))
    assert numbers(again) == numbers(window)
    assert settled(again.state()) == settled(window.state())
    assert again.errors == []


def link(window) -> str:
    """What the figure's link adds to the address of its page."""
    share = window.button("Share this")
    if share.get_attribute("aria-expanded") == "true":
        share.click()
    share.click()
    address = window.page.get_by_role("textbox", name="the link", exact=True).input_value()
    share.click()
    return address[address.index("#") :]


def settled(state):
    """A state without its last digits, which a figure that makes its weights a unit vector again may change."""
    if isinstance(state, dict):
        return {key: settled(value) for key, value in state.items()}
    if isinstance(state, list):
        return [settled(value) for value in state]
    return round(state, 9) if isinstance(state, float) else state


# ---- what a curious reader met ---------------------------------------------------------------------------------------------


def pull(window, name: str, dx: float, dy: float) -> None:
    """Drag a handle by so many pixels."""
    box = window.page.get_by_role("slider", name=name, exact=True).locator("path").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    window.page.mouse.move(x, y)
    window.page.mouse.down()
    window.page.mouse.move(x + dx, y + dy, steps=6)
    window.page.mouse.up()


def test_a_large_network_is_shared(show):
    """Seven thousand weights are more than a call takes arguments."""
    window = show("depth", hidden=[40] * 5)
    window.button("Another start").click()  # drawn in the page, with all its digits
    again = show("depth", anchor=link(window))
    assert again.state() == window.state()
    assert window.errors == again.errors == []


def test_a_handle_pulled_off_the_page_lifts_no_further_than_its_edge(show):
    """The scale does not change under the hand, or a pull would feed on itself."""
    window = show("depth")
    low, high = 0.0, 0.0
    for label in window.page.locator(".picture svg").first.locator("text").all_text_contents():
        value = float(label.replace("−", "-")) if re.fullmatch(r"−?[\d.]+", label) else 0.0
        low, high = min(low, value), max(high, value)
    before = window.state()
    for dy in (-2000, 2000):
        pull(window, "lift the chosen neuron", 0, dy)
        after = window.state()["theta"]
        change = max(abs(a - b) for a, b in zip(after, before["theta"]))
        assert 0 < change < 3 * (high - low)


def test_a_typed_number_may_be_any(show):
    window = show("breakpoints")
    window.button("Show numbers").click()
    for what in ("place of the bend", "change of slope"):
        for typed in ("1e308", "-1e308", "1e-300"):
            field = window.page.get_by_role("spinbutton", name=f"{what} of neuron 2")
            field.fill(typed)
            field.press("Enter")
            assert abs(float(field.input_value())) <= 1000
            assert window.page.evaluate(SEEN) == []
    assert window.errors == []


def test_a_training_that_explodes_can_be_drawn_and_explodes_again(show):
    window = show("dynamics", rate=0.5)
    for _ in range(3):
        window.button("Train").click()
        window.said("The steps are too long")
        assert float(re.search(r"loss ([\d.e+]+)\.", window.readout())[1]) < 1e6
    assert window.page.evaluate(SEEN) == []
    assert window.errors == []


def test_a_link_carries_what_training_made(show):
    window = show("smoothing")
    window.button("100 steps").click()
    again = show("smoothing", anchor=link(window))
    assert numbers(again) == numbers(window)
    assert any(abs(row[2]) > 0.1 for row in again.table()), "the curve has left the start"
    again.button("Start again").click()
    assert all(row[2] == 0 for row in again.table())


def test_two_points_at_one_place_are_no_function(show):
    window = show("smoothing", points=[[-1, 0.5], [0, 1], [1, -1]])
    for name in ("point 1", "point 2"):
        pull(window, name, -2000, 0)
    assert "no function goes through both" in window.readout()
    assert window.errors == []


@pytest.mark.parametrize("state", [{"w": [1.0]}, {"w": 3}, {"w": None, "points": None, "hidden": None}, {"theta": "x"}])
@pytest.mark.parametrize("name", ["breakpoints", "dynamics", "depth"])
def test_a_link_that_no_figure_wrote_leaves_the_figure_as_it_is(show, name, state):
    words = base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
    window = show(name, anchor=f"#live-{name}={words}")
    window.page.locator(".picture path").first.wait_for(state="attached")
    assert window.readout()
    assert window.errors == []


def test_every_fold_that_is_added_finds_paper(show):
    window = show("sheet", creases=[], folds=0)
    pieces = []
    while window.button("Add a fold").is_enabled():
        window.button("Add a fold").click()
        pieces.append(int(re.search(r"(\d+) pieces? of paper", window.readout())[1]))
    assert len(pieces) == 5
    assert all(more > less for less, more in pairwise([1, *pieces]))
    for _ in range(5):
        window.button("Take one away").click()
    assert window.button("Take one away").is_disabled()
    assert window.button("Fold").is_disabled()


def test_nothing_to_train_on_is_said(show):
    window = show("polytopes")
    window.page.get_by_role("combobox", name="data").select_option("spiral")
    assert window.page.get_by_role("combobox", name="data").input_value() == "spiral"
    window.button("Clear the points").click()
    window.button("Train").click()
    window.page.get_by_text("No points: paint some to train on").first.wait_for()
    window.button("Train").wait_for()
    assert window.page.get_by_role("combobox", name="data").input_value() == "own"


def test_the_cube_is_turned_by_the_paper_around_it(show):
    window = show("swaps")
    before, box = window.state()["weights"], window.page.get_by_role("group", name="The cube and the line").bounding_box()
    window.page.mouse.move(box["x"] + 20, box["y"] + 20)
    window.page.mouse.down()
    window.page.mouse.move(box["x"] + 80, box["y"] + 20, steps=3)
    window.page.mouse.up()
    assert window.state()["weights"] != before
    window.button("Hunt").click()
    window.button("Back to the best").click()
    assert window.button("Hunt").is_visible(), "what was found stays on the page"
    best = window.state()
    assert settled(best["weights"]) == settled(best["bestWeights"])


@pytest.mark.parametrize("name", ["dynamics", "bottleneck", "landscape", "smoothing", "capacity"])
def test_points_are_taken_away_and_put_in(show, name):
    window = show(name)
    handles = window.page.get_by_role("slider", name=re.compile("^point"))
    least = {"dynamics": 0, "bottleneck": 0}.get(name, 2)
    for _ in range(handles.count()):
        handles.first.focus()
        handles.first.press("Delete")
        if handles.count() == least:
            break
    assert handles.count() == len(window.state()["points"]) == least
    for _ in range(3):
        window.button("Add a point").click()
    places = sorted(x for x, _ in window.state()["points"])
    assert len(places) == least + 3
    assert min(b - a for a, b in pairwise(places)) > 0.2
    assert window.errors == []


# labels of a picture that lie on each other, on a mark, or out of it
CLASHES = """() => {
  const found = [], box = (e) => e.getBoundingClientRect();
  const shared = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]);
  const meet = (a, b) => shared(a, b, 'left', 'right') > 1 && shared(a, b, 'top', 'bottom') > 3;
  for (const picture of document.querySelector('[data-live]').shadowRoot.querySelectorAll('.picture > svg')) {
    const labels = [...picture.querySelectorAll('text')].filter((e) => e.checkVisibility() && e.textContent);
    const marks = picture.querySelectorAll('.handle > path'), all = box(picture);
    labels.forEach((label, i) => {
      const a = box(label), name = label.textContent;
      if (a.left < all.left - 2 || a.right > all.right + 2 || a.bottom > all.bottom + 2) found.push(`${name} is outside`);
      for (const other of labels.slice(0, i)) if (meet(a, box(other))) found.push(`${name} lies on ${other.textContent}`);
      if (!/\\d/.test(name)) for (const mark of marks) if (meet(a, box(mark))) found.push(`${name} lies on a handle`);
    });
  }
  return found;
}"""
STATES = [
    *((name, {}) for name in figures()),
    ("capacity", {"build": "waves", "widths": [2, 2, 2, 3, 3], "bits": 16}),
    ("capacity", {"nodes": 5}),
    ("bottleneck", {"points": [[-2.9, 1.9], [-2.5, 2], [-2, -2], [1, 2]]}),
    ("dynamics", {"points": [[-3.1, 2], [-2.8, 2], [-2.5, 2]]}),
    ("breakpoints", {"w": [1.0, -1.0], "b": [3.9, 3.8], "v": [1.0, 1.0]}),
]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(("name", "state"), STATES)
def test_no_label_lies_on_another_or_on_a_handle(show, name, state, width):
    window = show(name, context={"viewport": {"width": width, "height": 900}}, **state)
    window.page.locator(".live svg").first.wait_for()
    assert window.page.evaluate(CLASHES) == []


def test_of_handles_closer_than_a_finger_the_nearest_is_taken(show):
    """Twenty points stand fourteen pixels apart on a phone, bends among them: what a finger touches moves, nothing else."""
    row = [[round(-3 + 6 * i / 19, 2), 0.5] for i in range(20)]
    window = show("dynamics", points=row, context={"viewport": {"width": 390, "height": 844}, "has_touch": True})
    finger, before = window.context.new_cdp_session(window.page), window.state()
    for i in (4, 11):
        box = window.page.get_by_role("slider", name=f"point {i + 1}", exact=True).locator("path").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for kind, at in (("touchStart", y), ("touchMove", y + 15), ("touchMove", y + 30), ("touchEnd", None)):
            points = [] if at is None else [{"x": x, "y": at}]
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        after = window.state()
        assert [k for k, (a, b) in enumerate(zip(before["points"], after["points"])) if a != b] == [i]
        assert after["b"] == before["b"]
        before = after


def test_numbers_are_written_alike(show):
    """What training leaves of a zero is no place to read out, and a small number has a real minus in its exponent too."""
    window = show("optima", w=[1.0, 1.0], b=[-1.1e-7, 5e-8], o=[1e-9, -1e-9], c=0.0)
    assert "bends at 0.00 and 0.00" in window.readout()
    assert window.state()["b"] == [-1.1e-7, 5e-8], "what is shown rounded is kept exactly"
    shown = show("breakpoints", w=[1.0, 1.0], b=[0.0, 5e-8], v=[1.0, 1.0])
    shown.button("Show numbers").click()
    assert "5.0e−8" in shown.page.locator(".drawer table").inner_text()


@pytest.mark.parametrize(
    ("name", "before", "pressed"), [("capacity", [], "All neurons"), ("folding", ["Choose one for me"], "Fold here")]
)
def test_a_button_that_can_do_no_more_hands_the_focus_on(show, name, before, pressed):
    window = show(name)
    for words in before:
        window.button(words).click()
    window.button(pressed).press("Enter")
    focused = "document.querySelector('[data-live]').shadowRoot.activeElement"
    window.page.wait_for_function(f"{focused}?.tagName === 'BUTTON' && !{focused}.disabled")
    assert window.button(pressed).is_disabled()
