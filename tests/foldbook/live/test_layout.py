"""The place of things: button above picture, all of it on one screen, small ones side by side, and figures made with the kit."""

from __future__ import annotations

import re

import pytest
from conftest import SOURCES, Shown

from foldbook.live import figures, live

pytestmark = pytest.mark.browser
NAMES = list(figures())
SIZES = {"desk": ({"width": 1280, "height": 900}, 700), "phone": ({"width": 390, "height": 844}, 844)}
# What is where, from the top of the main row to the end of the controls.
PLACES = """() => {
  const root = document.querySelector('[data-live]').shadowRoot, box = (e) => e.getBoundingClientRect();
  const parts = [...root.querySelectorAll('.top, .stage, .readout, .readout + div')].map(box);
  return {
    main: box(root.querySelector('button.main')).bottom, picture: box(root.querySelector('.picture svg')).top,
    tall: Math.max(...parts.map((b) => b.bottom)) - Math.min(...parts.map((b) => b.top)),
    halos: [...root.querySelectorAll('.handle .halo')].map((e) => Math.round(box(e).width)).filter((wide) => wide > 0),
    outside: root.querySelector('.stage').scrollWidth - root.querySelector('.stage').clientWidth,
  };
}"""
LARGE = [
    ("polytopes", {"hidden": [4, 3], "probe": [0.5, -0.55], "slopes": True}),
    ("depth", {"hidden": [6] * 5}),
    ("capacity", {"build": "waves", "widths": [2, 2, 2, 3, 3], "bits": 16}),
    ("swaps", {"table": [0, 1] * 8, "weights": [0.9, 0.3, 0.5, 0.17]}),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "state"), [*((name, {}) for name in NAMES), *LARGE])
def test_button_picture_and_controls_are_on_one_screen(show, name, state, size):
    viewport, most = SIZES[size]
    window = show(name, context={"viewport": viewport, "has_touch": size == "phone"}, **state)
    window.page.locator(".picture svg").first.wait_for()
    seen = window.page.evaluate(PLACES)
    assert seen["main"] <= seen["picture"], "the main button stands above the picture"
    assert seen["tall"] <= most
    assert all(wide >= 44 for wide in seen["halos"]), "too small for a finger"
    assert seen["outside"] <= 0
    keys = window.page.locator(".keys")
    assert keys.is_visible() == (size == "desk")
    if size == "phone":
        window.button("Keys").tap()
        assert keys.is_visible()
        window.button("Keys").tap()
        assert not keys.is_visible()
    else:
        before = window.page.locator(".picture svg").first.bounding_box()
        window.button("Full screen").click()
        svg = "document.querySelector('[data-live]').shadowRoot.querySelector('.picture svg')"
        now = f"(was) => {svg}.getBoundingClientRect().width"
        window.page.wait_for_function(f"{now} > 1.04 * was", arg=before["width"])
        assert window.page.evaluate(PLACES)["outside"] <= 1
        window.button("Leave full screen").click()
        window.page.wait_for_function(f"{now} - was < 1", arg=before["width"])
    assert window.errors == []


XOR = [[-0.8, -0.8, -1], [-0.8, 0.8, 1], [0.8, -0.8, 1], [0.8, 0.8, -1]]
SMALL = [
    *((name, {}) for name in NAMES),
    ("polytopes", {"hidden": [3]}),
    ("polytopes", {"hidden": [8, 8, 8], "slopes": True}),
    ("perceptron", {"mistakes": 4, "proof": True}),
    ("perceptron", {"points": XOR, "mistakes": 3}),
    ("depth", {"hidden": [3, 3, 3], "start": "fan"}),
    ("depth", {"hidden": [4, 4, 4], "seed": 2119, "data": True}),
    ("bottleneck", {"mu": 0, "compare": True}),
    ("capacity", {"build": "waves", "widths": [2, 2, 2], "bits": 8}),
]


@pytest.mark.parametrize("size", SIZES)
def test_a_small_one_and_its_sentence_are_on_one_screen(many, size):
    viewport, most = SIZES[size]
    window = many(*(live(name, small=True, **state) for name, state in SMALL), viewport=viewport, has_touch=size == "phone")
    tall = window.page.evaluate(
        """() => [...document.querySelectorAll('[data-live]')].map((host) => {
          const root = host.shadowRoot, stage = root.querySelector('.stage');
          const all = root.querySelectorAll('.top, .stage, .readout, .readout + div');
          const parts = [...all].map((e) => e.getBoundingClientRect());
          const tall = Math.max(...parts.map((b) => b.bottom)) - Math.min(...parts.map((b) => b.top));
          return [host.dataset.live, Math.round(tall), stage.scrollWidth - stage.clientWidth];
        })"""
    )
    assert [one for one in tall if one[1] > most or one[2] > 0] == []
    assert len(tall) == len(SMALL)
    assert window.errors == []


def test_a_handle_follows_the_pointer_on_the_whole_screen(show):
    window = show("breakpoints", w=[1.0, -2.0], b=[1.0, 1.0], v=[1.0, 0.5], context={"viewport": SIZES["desk"][0]})
    window.button("Full screen").click()
    window.page.locator(".live.full").wait_for()
    window.page.wait_for_timeout(100)
    places = []
    for i in (1, 2):
        box = window.page.get_by_role("slider", name=f"bend {i}", exact=True).locator("path").bounding_box()
        places.append((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
    (x1, y1), (x2, _) = places  # at -1 and at 0.5
    window.page.mouse.move(x1, y1)
    window.page.mouse.down()
    window.page.mouse.move((x1 + x2) / 2, y1, steps=4)
    window.page.mouse.up()
    assert window.table()[0][1] == pytest.approx(-0.25, abs=0.011)


@pytest.fixture
def many(chromium, tmp_path):
    """Several figures on one page."""
    opened = []

    def new(*all_: live, anchor: str = "", **context) -> Shown:
        path = tmp_path / "many.html"
        head = '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>x</title>'
        path.write_text(head + "".join(figure.html for figure in all_), encoding="utf-8")
        opened.append(Shown(chromium, path, anchor, **context))
        return opened[-1]

    yield new
    for one in opened:
        one.context.close()


def test_small_ones_stand_on_a_page_any_number_of_times(many, axe):
    ratios = (0.5, 1, 3)
    window = many(*(live("breakpoints", small=True, ratio=ratio) for ratio in ratios))
    hosts = window.page.locator("[data-live]")
    for k, ratio in enumerate(ratios):
        host = hosts.nth(k)
        scale = host.get_by_role("slider", name="scale of the biases over scale of the weights")
        assert scale.get_attribute("aria-valuetext") == str(ratio)
        assert not host.get_by_role("button", name="Share this").count()
        assert host.get_by_role("group", name="Where does a random network bend?").is_visible()
    bend = hosts.nth(1).get_by_role("slider", name="bend 1", exact=True)
    others = [hosts.nth(k).locator(".picture").inner_html() for k in (0, 2)]
    bend.focus()
    bend.press("ArrowRight")
    assert [hosts.nth(k).locator(".picture").inner_html() for k in (0, 2)] == others, "each is its own"
    window.page.evaluate(axe)
    off = {rule: {"enabled": False} for rule in ("region", "landmark-one-main", "page-has-heading-one")}
    found = window.page.evaluate("(how) => axe.run(document, how)", {"rules": off})
    assert [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found["violations"]] == []
    assert window.errors == []
    assert repr(live("breakpoints", small=True, ratio=2)) == "live(breakpoints, small, ratio)"


def test_linked_ones_change_together(many):
    window = many(*(live("breakpoints", small=True, linked=name, ratio=r) for name, r in (("a", 1), ("a", 1), ("", 1), ("b", 1))))
    hosts = window.page.locator("[data-live]")
    bend = [hosts.nth(k).get_by_role("slider", name="bend 1", exact=True) for k in range(4)]
    before = [one.get_attribute("aria-valuenow") for one in bend]
    assert len(set(before)) == 1
    for key in ("Shift+ArrowRight", "ArrowRight"):
        bend[1].press(key)
    moved = bend[1].get_attribute("aria-valuenow")
    assert moved != before[1]
    hosts.first.locator(f".handle[aria-valuenow='{moved}']").wait_for()
    assert bend[1].evaluate("e => e.getRootNode().activeElement === e"), "the hand stays where it is"
    assert [one.get_attribute("aria-valuenow") for one in bend] == [moved, moved, before[2], before[3]]
    hosts.first.get_by_role("slider", name="scale of the biases over scale of the weights").fill("20")
    hosts.nth(1).locator("input[aria-valuetext='2.1']").wait_for()
    hosts.nth(1).get_by_role("button", name="Reset").click()
    hosts.first.locator("input[aria-valuetext='1']").wait_for()
    assert [one.get_attribute("aria-valuenow") for one in bend] == before
    assert window.errors == []


def test_linked_ones_keep_what_no_hand_changed(many):
    """Two views of one network: its weights are shared, what each of them looks at is its own."""
    window = many(*(live("depth", small=True, linked="net", hidden=[4, 4], layer=1, neuron=k) for k in (0, 2)))
    hosts = window.page.locator("[data-live]")
    state = "({foldnetState: {neuron, theta}}) => [neuron, String(theta)]"
    shown = f"() => [...document.querySelectorAll('[data-live]')].map({state})"
    (_, old), _ = window.page.evaluate(shown)
    hosts.first.get_by_role("button", name="10 steps").click()
    window.page.wait_for_function(f"(old) => ({shown})()[1][1] !== old", arg=old)
    (first, theta), (second, same) = window.page.evaluate(shown)
    assert (first, second) == (0, 2)
    assert theta == same != old
    assert window.errors == []


@pytest.mark.parametrize("small", [False, True])
def test_a_page_has_words_of_its_own_for_a_figure(many, small):
    figure = live("polytopes", small=small, title='A "fence" of <three>', about="What is drawn & why.")
    window = many(figure)
    assert figure.title in figure.embed().replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">")
    group = window.page.get_by_role("group", name='A "fence" of <three>')
    assert group.locator(".about").text_content() == "What is drawn & why."
    assert window.page.locator(".title").is_visible() is not small
    assert window.errors == []


def test_a_link_opens_the_one_that_made_it(many):
    two = live("breakpoints", ratio=0.5), live("breakpoints", ratio=1)
    window = many(*two)
    second = window.page.locator("[data-live]").nth(1)
    second.get_by_role("button", name="Draw again").click()
    places = [bend.get_attribute("aria-valuenow") for bend in second.locator(".handle").all()]
    second.get_by_role("button", name="Share this").click()
    link = second.get_by_role("textbox", name="the link", exact=True).input_value()
    assert "#live-breakpoints.2=" in link
    again = many(*two, anchor=link[link.index("#") :])
    hosts = again.page.locator("[data-live]")
    assert [bend.get_attribute("aria-valuenow") for bend in hosts.nth(1).locator(".handle").all()] == places
    first = window.page.locator("[data-live]").first.locator(".handle").first.get_attribute("aria-valuenow")
    assert hosts.first.locator(".handle").first.get_attribute("aria-valuenow") == first


def test_the_worked_example_of_the_kit_is_a_figure(chromium, core_address):
    """The example at the top of kit.js, as it stands there."""
    text = (SOURCES / "ui" / "kit.js").read_text(encoding="utf-8")
    example = re.search(r"A whole figure:\n \*\n(.*?\n)( \*\n)? \* A control is one of", text, re.DOTALL)[1]
    code = re.sub(r"(?m)^ \* ?", "", example).replace("../ui/", f"{core_address}ui/")
    context = chromium.new_context(viewport={"width": 900, "height": 900})
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{core_address}package.json")
    page.evaluate(
        """async ([code, mount]) => {
          document.body.innerHTML = '<div data-live="hinge"></div>';
          const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
          const [{ default: figure }, { mount: begin }] = await Promise.all([import(url), import(mount)]);
          begin('hinge', figure);
        }""",
        [code, f"{core_address}mount.js"],
    )
    readout = page.locator(".readout")
    assert readout.inner_text() == "The neuron bends at 0.00."
    bend = page.get_by_role("slider", name="bend")
    bend.focus()
    bend.press("Shift+ArrowRight")
    bend.press("ArrowRight")
    assert readout.inner_text() == "The neuron bends at 0.55."
    page.locator(".said", has_text="bends at 0.55").wait_for(state="attached")
    box = bend.locator("path").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 2000, box["y"], steps=3)
    page.mouse.up()
    assert readout.inner_text() == "The neuron bends at 3.00.", "no further than its picture"
    page.get_by_role("button", name="Turn it around").click()
    page.get_by_role("button", name="Show numbers").click()
    assert page.locator("tbody tr").inner_text().split() == ["3.0000", "−1.0000"]
    page.get_by_role("button", name="Reset").click()
    assert readout.inner_text() == "The neuron bends at 0.00."
    page.get_by_role("button", name="Walk").click()
    page.locator(".readout", has_text="bends at 0.50").wait_for()
    page.get_by_role("button", name="Walk").wait_for()
    slider = page.get_by_role("slider", name="slope")
    slider.focus()
    slider.press("End")
    page.get_by_role("button", name="Hide numbers").click()
    page.get_by_role("button", name="Show numbers").click()
    assert page.locator("tbody tr").inner_text().split()[1] == "2.0000"
    assert errors == []
    context.close()
