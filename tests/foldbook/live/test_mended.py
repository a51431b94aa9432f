"""What first readers found wrong in the figures: a count of what nobody sees, a descent without end, work that was lost."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

from foldbook.live import live
from foldnet import ReLUNet
from foldnet.growth.typical import typical_mistake
from foldnet.splines.breakpoints import spline
from foldnet.splines.depth import deep_spline
from foldnet.splines.landscape import breakpoint_slice

pytestmark = pytest.mark.browser
QUIET = {"reduced_motion": "reduce"}


def number(words: str) -> float:
    return float(words.replace("−", "-").replace(",", ""))


# ---- what is counted is what is seen -----------------------------------------------------------------------------------------


def seen_corners(theta, reach: float = 3.0) -> tuple[int, int]:
    """How many corners hold nine tenths of the bending, and how many neurons bend the curve in view."""
    w, b, v = np.array(theta[:-1]).reshape(3, -1)
    place, jump = -b / w, v * np.abs(w)
    inside = np.abs(place) < reach
    order = np.argsort(place[inside])
    place, jump = place[inside][order], jump[inside][order]
    group = np.concatenate([[0], np.cumsum(np.diff(place) >= 0.12)])
    sizes = np.sort(np.abs(np.bincount(group, jump)))[::-1]
    return int(np.searchsorted(np.cumsum(sizes), 0.9 * sizes.sum()) + 1), len(place)


def test_corners_that_are_counted_are_corners_that_are_seen(show):
    window = show("smoothing", alpha=0.03, context=QUIET)
    assert "A straight line: no corner." in window.readout()
    window.button("Train").click()
    window.said("Largest gap to the prediction")
    told = int(re.search(r"(\d+) corners? holds? 90", window.readout())[1])
    few, neurons = seen_corners(window.state()["theta"])
    assert told == few
    assert few <= 10 < 40 < neurons
    window.page.get_by_role("checkbox", name="show the prediction").uncheck()
    assert re.search(r"(\d+) corners? holds? 90", window.readout())[1] == str(told), "it does not hang on the prediction"


@pytest.mark.parametrize(("name", "state"), [("breakpoints", {}), ("smoothing", {"alpha": 0.1, "width": 20}), ("optima", {})])
def test_what_each_neuron_adds_is_seen_faintly(show, name, state):
    window = show(name, **state)
    if name == "smoothing":
        window.button("100 steps").click()
        theta = np.array(window.state()["theta"])[:-1].reshape(3, -1)
        adds = int((theta[2] != 0).sum())
    else:
        now = window.state()
        adds = len(now["w"])
    line = window.page.locator("path.own").first.get_attribute("d")
    assert 0 < line.count("M") <= adds
    assert line.count("M") >= adds - 2, "one that switches on beyond the page adds nothing in view"


def test_depth_says_why_switches_and_pieces_differ_and_has_short_menus(show):
    window = show("depth", hidden=[40] * 5)
    for menu in window.page.get_by_role("combobox").all():
        assert menu.locator("option").count() <= 40
    window.page.get_by_role("combobox", name="dashed: layer").select_option(label="3")
    window.page.get_by_role("combobox", name="its neuron").select_option(label="18")
    assert (window.state()["layer"], window.state()["neuron"]) == (2, 17)
    small = show("depth", hidden=[6, 6])
    net = ReLUNet.random((1, 6, 6, 1)).with_vector(torch.tensor(small.state()["theta"], dtype=torch.float64))
    f = deep_spline(net)
    lost = int(f.breakpoint_count() - f.piece_count() + 1)
    told = re.search(r"(\d+) switch(?:es are| is) no bend of the curve", small.readout())
    assert (int(told[1]) if told else 0) == lost


# ---- a training ends and says so ---------------------------------------------------------------------------------------------


def test_a_bend_that_is_caught_at_a_data_point_stays_there(show):
    points = [[-2.2, 0.1], [-1.2, 1.4], [-0.3, -0.1], [0.6, -0.1], [1.3, -1.0], [2.3, -1.4]]
    state, (x, y) = live("landscape").state, np.array(points).T
    f = spline(ReLUNet([np.array(state["w"])[:, None], [state["v"]]], [state["b"], [state["offset"]]]))
    pieces = breakpoint_slice(f, 1, x, y)
    left, right = (float(pieces.curvature[k] * (x[1] - pieces.minimizers[k])) for k in (1, 2))
    assert left < 0 < right, "pushed to the right before the point, to the left after it"
    window = show("landscape", points=points, b=[1.6, 1.4, -0.9], context=QUIET)  # the bend begins at -1.4
    window.button("Descend").click()
    window.said("It is caught.")
    assert "Bend at −1.20" in window.readout()
    assert "the parabolas on both sides push it back" in window.readout()
    assert "pushed to the" not in window.readout()
    assert window.button("Descend").is_visible()
    steps = re.search(r"([\d,]+) steps?\.", window.readout())[1]
    window.button("Descend").click()
    window.said("It is caught.")
    assert number(re.search(r"([\d,]+) steps?\.", window.readout())[1]) <= number(steps) + 10, "it does not start again"


def test_all_bends_together_come_to_rest(show):
    window = show("landscape", only=False, context=QUIET)
    for _ in range(12):
        window.button("Descend").click()
        window.button("Descend").wait_for()
        if "come to rest" in window.readout():
            break
    assert "It has come to rest" in window.readout()


def test_dynamics_rests_where_the_loss_no_longer_falls(show):
    window = show("dynamics", context=QUIET)
    window.button("Train").click()
    window.said("It has come to rest: the last 2,000 steps took less than a thousandth off the loss.")
    steps, loss = (number(n) for n in re.search(r"([\d,]+) steps, loss ([\d.]+)\.", window.readout()).groups())
    assert 2000 < steps < 60000
    for _ in range(20):
        window.button("100 steps").click()
    after = number(re.search(r"steps, loss ([\d.]+)\.", window.readout())[1])
    assert loss - after <= 2e-3 * loss + 1e-3


def test_a_path_has_the_colour_of_its_bend(show):
    window = show("dynamics")
    window.button("100 steps").click()
    dots = window.page.get_by_role("slider", name=re.compile("^bend")).locator("path")
    fills = dots.evaluate_all("all => all.map((e) => e.getAttribute('fill'))")
    paths = window.page.locator(".picture svg[role=img] svg path").evaluate_all("all => all.map((e) => e.getAttribute('stroke'))")
    assert len(fills) == len(paths)
    assert all(fill in (path, "var(--soft)") for fill, path in zip(fills, paths))


ENDS = """() => [...document.querySelector('[data-live]').shadowRoot.querySelectorAll('path.arrow')].map((e) => {
  const { x, y, width, height } = e.getBBox();
  return [x, x + width, y, y + height];
})"""


def test_bends_are_numbered_and_no_arrow_lies_on_another(show):
    window = show("dynamics")
    bends = window.page.get_by_role("slider", name=re.compile("^bend"))
    assert bends.locator("text").all_text_contents() == [str(k + 1) for k in range(8)]
    arrows, page = window.page.evaluate(ENDS), window.page
    moving = page.locator("path.arrow").evaluate_all("all => all.map((e) => e.getAttribute('stroke'))")
    seen = [b for b in bends.all() if "off the page" not in b.get_attribute("aria-valuetext")]
    assert moving == [b.locator("path").get_attribute("fill") for b in seen], "in the colour of its dot"
    both = [(p, q) for i, p in enumerate(arrows) for q in arrows[:i]]
    assert [(p, q) for p, q in both if p[0] < q[1] and q[0] < p[1] and p[2] < q[3] and q[2] < p[3]] == []
    assert len({round(top) for *_, top, _ in arrows}) <= 4
    ends = page.locator(".end text")
    assert ends.all_text_contents() == [b.locator("text").text_content() for b in seen], "the lower picture is not empty"
    window.button("100 steps").click()
    assert ends.count() >= 6
    looks = page.locator(".picture svg[role=img] svg path").evaluate_all(
        "all => all.map((e) => e.getAttribute('stroke') + e.getAttribute('stroke-dasharray'))"
    )
    assert len(set(looks)) == len(looks) == 8, "no two paths alike"


def test_the_pile_is_not_empty_when_the_page_opens(show):
    window = show("breakpoints")
    assert window.readout().startswith("5 bends so far.")
    window.button("Clear the pile").click()
    assert window.readout().startswith("The pile is empty")
    window.button("Reset").click()
    assert window.readout().startswith("5 bends so far.")


@pytest.mark.parametrize(("power", "color", "who"), [(0, "orange", "steps"), (1, "blue", "ReLU"), (2, "green", "higher powers")])
def test_a_surface_has_the_colour_of_its_activation_and_a_key(show, power, color, who):
    window = show("beyond", power=power, built=True)
    fills = window.page.locator(".picture svg[role=img] g > path[fill-opacity]").evaluate_all(
        "all => [...new Set(all.map((e) => e.getAttribute('fill') + e.getAttribute('stroke')))].sort()"
    )
    assert fills == [f"var(--{color})var(--ink)", f"var(--{color})var(--paper)"]
    key = window.page.locator(".picture p")
    assert key.inner_text().split() == f"the surface of {who} over the data, over the hole.".split()
    assert key.locator("path").evaluate_all("all => all.map((e) => e.getAttribute('stroke'))") == ["var(--paper)", "var(--ink)"]
    window.button("Take it away").click()
    assert "measured heights" in key.inner_text()


def test_optima_says_to_all_that_it_rests(show):
    window = show("optima", context=QUIET)
    window.button("Train").click()
    window.said("It has come to rest.")
    assert window.readout().startswith("It has come to rest.")
    bend = window.page.get_by_role("slider", name="bend 1")
    bend.focus()
    bend.press("ArrowRight")
    assert "come to rest" not in window.readout()


def test_who_acts_during_a_training_without_motion_keeps_what_it_has_done(show):
    """Nothing is drawn meanwhile; the next act begins where the training is, not where it began."""
    window = show("dynamics", rate=2e-4, context=QUIET)
    before = window.state()
    window.button("Train").click()
    window.button("Pause").wait_for()
    window.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # a tick has trained
    window.page.get_by_role("slider", name="bend 3").press("ArrowRight")
    window.button("Train").wait_for()
    after = window.state()
    assert after["v"] != before["v"], "the training was thrown away"
    moved = [abs(a - b) > 1e-12 for a, b in zip(after["w"], before["w"])]
    assert any(moved)
    assert window.errors == []


# ---- folding and polytopes ---------------------------------------------------------------------------------------------------


def test_a_fold_is_measured_where_it_moved_most(show):
    window = show("folding")
    window.button("Choose one for me").click()
    window.button("Fold here").click()
    for _ in range(10):
        window.button("10 steps").click()
    state = window.state()
    w, b = np.array(state["weights"][0][-1]), state["biases"][0][-1]
    now = np.append(w, b) / np.linalg.norm(w)
    was = np.array([*state["mark"]["normal"], state["mark"]["offset"]])

    def ends(line, edge=1.15):
        """Where a line leaves the picture."""
        a, b, c = line
        found = [(side, -(c + a * side) / b) for side in (-edge, edge) if b] + [
            (-(c + b * side) / a, side) for side in (-edge, edge) if a
        ]
        return [p for p in found if max(map(abs, p)) <= edge + 1e-9]

    far = max(abs(other @ np.array([*p, 1.0])) for line, other in ((was, now), (now, was)) for p in ends(line))
    told = number(re.search(r"moved by up to ([\d.]+) in the picture", window.readout())[1])
    assert told == pytest.approx(far, abs=0.0051)
    assert far > 1.5 * abs(now[2] - was[2]), "more than at the middle of the picture"


def test_the_mistake_that_is_chosen_is_the_typical_one(core):
    """Two kinds of mistakes far apart: the middle of the dearer kind, and not the mistake with the largest output."""
    x = [[-3.0, 0.0], [-3.1, 0.0], [-2.9, 0.0], [3.0, 0.0], [3.4, 0.0], [2.7, 0.0], [0.0, 9.0]]
    y = [1, 1, 1, 1, 1, 1, 0]
    weights, biases = [[[1.0, 0.0]], [[-1.0]]], [[6.0], [2.0]]
    net = ReLUNet([np.array(w) for w in weights], [np.array(b) for b in biases])
    want = typical_mistake(net, torch.tensor(x).double(), torch.tensor(y), clusters=2)
    flat = [v for p in x for v in p]
    got = core("fold.typical(net.network(w, b), x, y, 2)", w=weights, b=biases, x=flat, y=y)
    assert got == want == 3
    assert int(np.argmax(np.abs(net(np.array(x)[:6]).numpy()[:, 0]))) == 4
    assert core("fold.typical(net.network(w, b), x, y)", w=weights, b=biases, x=flat[-2:], y=[0]) is None


def test_the_typical_mistake_is_always_a_mistake(core):
    rng = np.random.default_rng(3)
    for _ in range(20):
        net = ReLUNet.random((2, 3, 1), seed=int(rng.integers(1000)))
        x, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
        wrong = np.flatnonzero((net(x)[:, 0].numpy() > 0) != (y == 1))
        weights, biases = [w.tolist() for w in net.weights], [b.tolist() for b in net.biases]
        got = core("fold.typical(net.network(w, b), x, y)", w=weights, b=biases, x=x.ravel().tolist(), y=y.tolist())
        assert got in wrong


@pytest.mark.parametrize(("name", "handle"), [("folding", "where a point goes"), ("polytopes", "probe")])
def test_points_are_put_in_and_taken_away_by_keys(show, name, handle):
    window = show(name)
    window.button("Clear the points").click()
    window.page.get_by_role("combobox", name="a click will").select_option("square")
    diamond = window.page.get_by_role("slider", name=handle)
    diamond.focus()
    for key in ("Shift+ArrowRight", "Shift+ArrowUp", "ArrowUp", "Enter"):
        diamond.press(key)
    at = (0.0, 0.0) if name == "folding" else live(name).state["probe"]
    assert window.state()["points"] == [[pytest.approx(at[0] + 0.2), pytest.approx(at[1] + 0.22), 1]]
    window.said("A square at")
    diamond.press("Shift+ArrowLeft")
    diamond.press("Delete")
    assert len(window.state()["points"]) == 1, "none is near"
    diamond.press("Shift+ArrowRight")
    diamond.press("Delete")
    assert window.state()["points"] == []
    assert window.errors == []


def test_the_map_of_a_piece_can_be_computed_by_hand(show):
    window = show("polytopes", hidden=[4, 3], probe=[0.5, -0.55])
    first, last = window.readout().split("\n")
    assert "pieces" in first
    assert last.startswith("At the diamond (0.50, −0.55) f")
    found = re.search(r"f\s=\s(\S+)\sx₁\s(.*)\sx₂\s(.*)\s=\s(\S+)\.", last).groups()
    a, b, c, value = (number(v.replace("\xa0", "")) for v in found)
    assert 0.5 * a - 0.55 * b + c == pytest.approx(value, abs=0.016)
    names = window.page.get_by_role("group", name="The pieces of the plane and the data").locator("text")
    assert sorted(names.all_text_contents()) == sorted(["x₁", "x₂", *2 * ["−1", "0", "1"]])


def test_a_story_shows_few_tools_until_more_are_asked_for(show):
    window = show("polytopes", hidden=[3], few=True, points=[])
    wider, data = window.button("Wider"), window.button("Clear the points")
    assert not wider.is_visible()
    assert not data.is_visible()
    window.page.locator(".picture svg").first.click(position={"x": 90, "y": 60})
    assert window.state()["points"] == [], "a click moves the diamond"
    assert window.state()["probe"] != [0.2, 0.1]
    window.button("More tools").click()
    assert wider.is_visible()
    assert data.is_visible()
    assert not window.button("More tools").is_visible()
    window.button("Reset").click()
    assert not wider.is_visible()


def test_the_address_of_a_piece_is_read_where_it_is_asked_for(show):
    window = show("polytopes", hidden=[4, 3], address=True)
    words = re.search(r"address\s([01]{4})\s([01]{3}),", window.readout()).groups()
    window.button("Show numbers").click()
    rows = window.page.locator(".drawer tbody td").all_text_contents()
    assert [row.replace(" ", "") for row in rows] == list(words)


def test_the_slopes_are_shown_where_they_are_asked_for(show):
    window = show("polytopes")
    dual = window.page.locator(".picture svg[role=img]")
    assert not dual.is_visible()
    window.page.get_by_role("checkbox", name="show the slopes").check()
    assert dual.is_visible()
    assert window.state()["slopes"] is True
    window.button("Reset").click()
    assert not dual.is_visible()


def test_the_formula_is_not_cut_on_a_phone(show):
    window = show("polytopes", hidden=[8, 8, 8], edge=1200, context={"viewport": {"width": 390, "height": 844}})
    box = window.page.locator(".readout").evaluate("e => [e.scrollWidth, e.clientWidth]")
    assert box[0] <= box[1]


# ---- the sheet ---------------------------------------------------------------------------------------------------------------


def test_the_sheet_begins_flat_and_folds_once_by_itself(show):
    window = show("sheet")
    amount = window.page.get_by_role("slider", name="folds", exact=True)
    window.page.locator(".readout", has_text="1 fold: 2 pieces of paper").wait_for()
    assert amount.get_attribute("aria-valuetext") == "1.00"
    before = window.page.locator(".picture").inner_html()
    window.page.wait_for_timeout(200)
    assert window.page.locator(".picture").inner_html() == before, "once"
    window.button("Reset").click()
    assert window.readout().startswith("1 fold:")
    window.button("Fold").click()
    window.page.locator(".readout", has_text="3 folds").wait_for()


@pytest.mark.parametrize("how", ["quiet", "given", "acted"])
def test_no_sheet_moves_by_itself_where_that_is_not_wanted(show, how):
    window = show("sheet", **({"folds": 2.25} if how == "given" else {}), context=QUIET if how == "quiet" else {})
    if how == "acted":
        window.page.get_by_role("slider", name="turn the knife").focus()
    words = "2 folds and a bit" if how == "given" else "1 fold: "
    window.page.locator(".readout", has_text=words).wait_for()
    before = window.page.locator(".picture").inner_html()
    window.page.wait_for_timeout(200)
    assert window.page.locator(".picture").inner_html() == before


def test_creases_have_their_numbers_on_both_sheets(show):
    window = show("sheet", folds=3)
    left, right = window.page.locator(".picture > svg").all()
    assert {"1", "2", "3", "knife"} <= set(left.locator("text").all_text_contents())
    assert right.locator("text").all_text_contents() == ["1", "2", "3"]
    places = right.locator("circle").evaluate_all("all => all.map((e) => [e.cx.baseVal.value, e.cy.baseVal.value])")
    assert min(math.dist(p, q) for i, p in enumerate(places) for q in places[:i]) > 18, "one number lies on another"


def test_a_new_fold_keeps_the_knife_in_the_paper(show):
    for creases, knife in (([], [0.0, 0.9]), ([[0.0, 0.0], [90.0, 0.0]], [237.17, -0.499]), ([[0.0, 0.5]], [180.0, 0.9])):
        window = show("sheet", creases=creases, folds=len(creases), knife=knife)
        while window.button("Add a fold").is_enabled():
            window.button("Add a fold").click()
            assert "misses" not in window.readout()
