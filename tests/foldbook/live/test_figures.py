"""The live figures as readers meet them: opened from the disk, moved by pointer, touch and keys, compared with Python."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch

from foldbook.chapters.gans import lost_by_staircase
from foldbook.chapters.optima import data, levels
from foldbook.live import figures, live
from foldnet import ReLUNet
from foldnet.boolean import capacity
from foldnet.boolean.swaps import class_changes, swaps
from foldnet.geometry.boundaries import margin
from foldnet.geometry.regions import regions
from foldnet.growth.amplitude import best_amplitude
from foldnet.growth.expressivity import best_update, desired_update, layer_inputs
from foldnet.growth.folding import fold
from foldnet.growth.neurons import optimal_neurons, with_neurons
from foldnet.piecewise.text import to_json
from foldnet.splines import dynamics
from foldnet.splines.breakpoints import spline
from foldnet.splines.depth import deep_spline
from foldnet.splines.initialization import breakpoint_grid
from foldnet.splines.landscape import breakpoint_slice
from foldnet.splines.smoothing import minimum_norm
from foldnet.train import fit

pytestmark = pytest.mark.browser
NAMES = list(figures())
ROOT_OF = "document.querySelector('[data-live]').shadowRoot"
STATE = "(el) => JSON.parse(el.querySelector('script').textContent)"
W, B, V = [1.0, -2.0, 0.5], [1.0, 1.0, -1.5], [1.0, 0.5, -2.0]


# ---- every figure ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_to_life_and_nothing_moves_by_itself(show, name):
    window = show(name, context={"reduced_motion": "reduce"} if name == "sheet" else {})  # that one shows once what a fold is
    page = window.page
    page.locator(".live svg").first.wait_for()
    assert page.locator(".live").get_attribute("aria-label") == figures()[name]["title"]
    assert page.locator(".live .hints kbd").count() >= 2, "no visible key hints"
    assert not page.locator("[data-live] > img").is_visible(), "the still picture stands beside the live one"
    before = page.locator(".picture").inner_html()
    page.wait_for_timeout(250)
    assert page.locator(".picture").inner_html() == before
    assert page.locator(".said").inner_text() == ""
    for theme, dark in (("dark", 1), ("light", 0)):  # the page around it decides
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        page.wait_for_function(f"{ROOT_OF}.querySelectorAll('.live.dark').length == {dark}")
    page.emulate_media(media="print")
    assert page.locator("[data-live] > img").is_visible()
    assert not page.locator(".live").is_visible()
    assert window.errors == []


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_to_life_in_a_sandbox(show, name):
    window = show(name, frame=True)
    window.page.frames[-1].locator(".live svg").first.wait_for()
    assert window.errors == []


@pytest.mark.parametrize("name", NAMES)
def test_without_scripts_there_is_the_still_picture(show, name):
    window = show(name, context={"java_script_enabled": False})
    assert window.page.locator("[data-live] > img").is_visible()


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_has_room_for_it(show, name):
    window = show(name, context={"viewport": {"width": 390, "height": 844}, "has_touch": True})
    wide = window.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    small = window.page.locator(".live button, .live select").evaluate_all(
        "all => all.filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 30).map(e => e.textContent)"
    )
    assert small == []
    window.button("Full screen").tap()
    window.page.locator(".live.full").wait_for()
    window.button("Leave full screen").tap()
    assert window.page.locator(".live.full").count() == 0
    assert window.errors == []


@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing(show, axe, name):
    """All its rules by day; by night the colours are what is new."""
    window = show(name)
    window.button("Show numbers").click()
    window.button("Share this").click()
    window.page.evaluate(axe)
    off = {rule: {"enabled": False} for rule in ("region", "landmark-one-main", "page-has-heading-one")}
    for scheme, how in (("light", {"rules": off}), ("dark", {"runOnly": ["color-contrast"]})):
        window.page.emulate_media(color_scheme=scheme)
        window.page.wait_for_function(f"{ROOT_OF}.querySelectorAll('.live.dark').length == {int(scheme == 'dark')}")
        found = window.page.evaluate("(how) => axe.run(document, how)", how)
        assert [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found["violations"]] == []
        assert len(found["passes"]) > (8 if scheme == "light" else 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_link_carries_the_state(show, name):
    window = show(name)
    window.button("Share this").click()
    link, line = (
        window.page.get_by_role("textbox", name=f"the {what}", exact=True).input_value() for what in ("link", "line of Python")
    )
    again = show(name, anchor=link[link.index("#") :])
    again.button("Share this").click()
    assert again.page.get_by_role("textbox", name="the line of Python", exact=True).input_value() == line
    again.button("Share this").click()
    made = eval(line, {"live": live})
    assert again.state().items() <= made.state.items(), "Python takes the line as it stands"
    again.page.evaluate(f"location.hash = '#live-{name}=nonsense'")
    assert again.state().items() <= made.state.items(), "what no figure wrote changes nothing"
    window.page.evaluate("(hash) => { location.hash = hash; }", link[link.index("#") :])  # a link put into an open page
    window.page.wait_for_function(f"{ROOT_OF}.querySelector('.live svg')")
    assert window.state().items() <= made.state.items()
    assert window.errors == again.errors == []


# ---- breakpoints -----------------------------------------------------------------------------------------------------------


def bends(window) -> list[float]:
    return [row[1] for row in window.table()]


def test_breakpoints_are_those_of_the_network(show):
    window = show("breakpoints", w=W, b=B, v=V)
    f = spline(ReLUNet([np.array(W)[:, None], [V]], [B, [0.0]]))
    rows = window.table()
    assert [row[1] for row in rows] == pytest.approx(f.breakpoints.tolist(), abs=5e-4)
    assert [row[2] for row in rows] == pytest.approx(f.delta_slopes.tolist(), abs=5e-4)
    assert window.page.get_by_role("slider", name=re.compile("^bend")).count() == 3


def test_a_bend_is_moved_by_keys(show):
    window = show("breakpoints", w=W, b=B, v=V)
    handle = window.page.get_by_role("slider", name="bend 1")
    handle.focus()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight", "ArrowLeft", "ArrowUp", "Shift+ArrowDown"):
        handle.press(key)
    assert window.table()[0][1:3] == pytest.approx([-1 + 0.05 + 0.05 + 0.5 - 0.05, 1 + 0.05 - 0.5], abs=1e-9)
    assert bends(window)[1:] == pytest.approx([0.5, 3.0])
    window.said("bend at −0.45, slope changes by 0.55, switched on to the right")


def test_a_bend_is_moved_by_the_pointer(show):
    window = show("breakpoints", w=W, b=B, v=V)
    boxes = [window.page.get_by_role("slider", name=f"bend {i}").locator("path").bounding_box() for i in (1, 2)]
    (x1, y1), (x2, _) = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in boxes]
    window.page.mouse.move(x1, y1)
    window.page.mouse.down()
    window.page.mouse.move((x1 + x2) / 2, y1, steps=4)
    window.page.mouse.up()
    assert bends(window)[0] == pytest.approx(-0.25, abs=0.011)
    window.said("bend at −0.2")


def test_a_bend_is_moved_by_a_finger(show):
    window = show("breakpoints", w=W, b=B, v=V, context={"viewport": {"width": 390, "height": 844}, "has_touch": True})
    box = window.page.get_by_role("slider", name="bend 1").locator("path").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = window.context.new_cdp_session(window.page)
    for kind, at in (("touchStart", x), ("touchMove", x + 20), ("touchMove", x + 40), ("touchEnd", None)):
        points = [] if at is None else [{"x": at, "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    width = window.page.locator(".picture").evaluate("e => e.clientWidth") - 56
    assert bends(window)[0] == pytest.approx(-1 + 40 * 8 / width, abs=0.03)


def test_a_number_can_be_typed(show):
    window = show("breakpoints", w=W, b=B, v=V)
    window.button("Show numbers").click()
    field = window.page.get_by_role("spinbutton", name="place of the bend of neuron 3")
    field.fill("1.25")
    field.press("Enter")
    assert bends(window) == pytest.approx([-1, 0.5, 1.25])
    assert window.table()[2][5] == pytest.approx(-0.5 * 1.25, abs=1e-3)


def test_thousands_of_bends_follow_their_law(show):
    window = show("breakpoints")
    for law, ratio, expected in (
        ("normal", 9, 50),
        ("normal", 2, 100 * 2 / np.pi * np.arctan(1 / 0.3)),
        ("uniform", 9, 50),
        ("even", 9, 25),
    ):
        window.page.get_by_role("combobox").select_option(law)
        scale = window.page.get_by_role("slider", name="scale of the biases")
        assert scale.is_disabled() == (law == "even"), "where the bends are spread evenly it decides nothing"
        if law != "even":
            scale.fill(str(ratio))
        window.button("Clear the pile").click()
        for _ in range(4):
            window.button("Draw 1,000").click()
        found = re.search(r"20,000 bends so far\. Between −1 and 1: ([\d.]+)", window.readout())
        assert float(found[1]) == pytest.approx(expected, abs=1.5)  # four standard deviations of 20,000 draws


def test_reset_brings_the_start_back(show):
    window = show("breakpoints", w=W, b=B, v=V)
    window.button("Draw again").click()
    assert bends(window) != pytest.approx([-1, 0.5, 3.0])
    window.button("Reset").click()
    assert bends(window) == pytest.approx([-1, 0.5, 3.0])


# ---- folding ---------------------------------------------------------------------------------------------------------------


def folding_network():
    state = live("folding").state
    points = np.array(state["points"])
    return ReLUNet(*([np.array(p) for p in state[key]] for key in ("weights", "biases"))), points[:, :2], points[:, 2].astype(int)


def test_mistakes_are_those_of_the_network(show):
    net, x, y = folding_network()
    wrong = (margin(net, x).numpy() > 0) != (y == 1)
    window = show("folding")
    assert window.page.get_by_role("button", name=re.compile("^mistake")).count() == wrong.sum()
    assert f"{wrong.sum()} mistakes among {len(y)} points" in window.readout()


def test_a_fold_is_chosen_by_keys_accepted_and_trained(show):
    net, x, y = folding_network()
    window = show("folding", size=1, angle=45)
    marks = window.page.get_by_role("button", name=re.compile("^mistake"))
    marks.first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "Enter"):
        window.page.keyboard.press(key)
    window.said("Mistake at")
    wrong = np.flatnonzero((margin(net, x).numpy() > 0) != (y == 1))
    chosen = x[wrong[1]]
    assert f"Mistake at {chosen[0]:.2f}, {chosen[1]:.2f}".replace("-", "−") in window.page.locator(".said").inner_text()
    window.button("Fold here").click()
    before, (weights, biases) = window.state(), ("weights", "biases")
    new = np.array(before[weights][0][2])
    single = fold(net, np.array([chosen, *x]), np.array([y[wrong[1]], *y]), size=1.0, clusters=1)
    assert np.linalg.norm(new) == pytest.approx(float(single.incoming.norm()), rel=1e-9)
    for _ in range(10):
        window.button("10 steps").click()
    grown = ReLUNet([np.array(w) for w in before[weights]], [np.array(b) for b in before[biases]])
    want = fit(grown, x, y[:, None].astype(float), loss="bce", lr=0.01, epochs=100, progress=False, engine="torch").net
    after = window.state()
    got = ReLUNet([np.array(w) for w in after[weights]], [np.array(b) for b in after[biases]])
    np.testing.assert_allclose(got.vector(), want.vector(), rtol=1e-11)
    assert "100 steps" in window.readout()
    assert "since you made it" in window.readout()


def test_frozen_neurons_stay_and_the_new_one_moves(show):
    window = show("folding", frozen=True)
    window.button("Choose one for me").click()
    window.button("Fold here").click()
    before = window.table()
    for _ in range(5):
        window.button("10 steps").click()
    after = window.table()
    assert [row[1:5] for row in after[:2]] == [row[1:5] for row in before[:2]]
    assert after[2][1:5] != before[2][1:5]


def test_training_plays_and_pauses_and_jumps_where_motion_is_unwanted(show):
    window = show("folding")
    window.button("Train").click()
    window.page.wait_for_function(
        "document.querySelector('[data-live]').shadowRoot.querySelector('.readout').textContent.includes('step')"
    )
    window.button("Pause").click()
    first = window.readout()
    window.page.wait_for_timeout(150)
    assert window.readout() == first
    quiet = show("folding", context={"reduced_motion": "reduce"})
    quiet.button("Train").click()
    quiet.page.get_by_text("2,000 steps").first.wait_for()
    quiet.said("after 2,000 steps")


def test_own_points_can_be_put_in_and_taken_away(show):
    window = show("folding")
    window.button("Clear the points").click()
    window.page.get_by_role("combobox").select_option("circle")
    plot = window.page.get_by_role("group", name="The data")
    plot.click(position={"x": 100, "y": 100})
    window.page.get_by_role("combobox").select_option("square")
    plot.click(position={"x": 200, "y": 300})
    assert "among 2 points" in window.readout()
    window.page.get_by_role("combobox").select_option("erase")
    plot.click(position={"x": 101, "y": 101})
    assert "among 1 point " in window.readout()


# ---- dynamics --------------------------------------------------------------------------------------------------------------


def line_network(state) -> ReLUNet:
    return ReLUNet([np.array(state["w"])[:, None], [state["v"]]], [state["b"], [state["offset"]]])


def test_bends_move_by_the_laws_and_jump_where_the_package_puts_them(show):
    window = show("dynamics")
    state = window.state()
    x, y = np.array(state["points"]).T
    net = line_network(state)
    speed, f = dynamics.velocity(net, x, y), spline(net)
    got = np.array(window.table())[:, 1:5]
    want = torch.stack([f.breakpoints, speed.breakpoints, f.delta_slopes, speed.delta_slopes], 1)
    np.testing.assert_allclose(got, want, atol=6e-4)
    for _ in range(3):
        window.button("100 steps").click()
    how = {"loss": "half_sum", "optimizer": "gd", "lr": 1e-3, "epochs": 300, "progress": False, "engine": "torch"}
    trained = fit(net, x[:, None], y[:, None], **how).net
    np.testing.assert_allclose(line_network(window.state()).vector(), trained.vector(), rtol=1e-11)
    assert f"300 steps, loss {float(dynamics.loss(trained, x, y)):.3f}" in window.readout()
    window.button("Move a useless bend").click()
    moved = dynamics.relocate(trained, x, y)
    np.testing.assert_allclose(line_network(window.state()).vector(), moved.vector(), rtol=1e-10)
    window.said("jumped from")
    assert window.errors == []
    wild = show("dynamics", rate=0.5)
    wild.button("Train").click()
    wild.said("The steps are too long")
    assert wild.errors == []


# ---- bottleneck ------------------------------------------------------------------------------------------------------------


def test_a_neuron_by_hand_stands_beside_the_optimal_one(show):
    window = show("bottleneck")
    half = lambda f, y: 0.5 * (f - y).square().sum(-1)  # noqa: E731
    state = window.state()
    x, y = np.array(state["points"]).T[:, :, None]
    net = line_network(state)
    window.button("Settle the old weights").click()
    goal = desired_update(net, 1, x, y, half)
    net = best_update(layer_inputs(net, x)[1], goal).applied(net, 1, 1.0)
    np.testing.assert_allclose(line_network(window.state()).vector(), net.vector(), atol=1e-9)
    bend = window.page.get_by_role("slider", name="bend of your neuron")
    bend.focus()
    for key in ("Shift+ArrowLeft", "ArrowLeft"):
        bend.press(key)
    height = window.page.get_by_role("slider", name="height of your neuron")
    height.focus()
    height.press("Shift+ArrowDown")
    height.press("ArrowUp")
    assert [window.state()[key] for key in ("beta", "mu")] == [-0.55, 0.05]
    window.page.get_by_text("compare", exact=True).click()
    hinge = 0.05 * np.maximum(0, x + 0.55)
    left = float(half(net(x), torch.tensor(y - hinge)).mean())
    new = optimal_neurons(net, 0, x, y, k=1, loss=half)
    found = best_amplitude(net, 0, new, x, y, half, update=0.0)
    rows = window.table()
    assert [row[3] for row in rows[:2]] == pytest.approx([left, float(found.loss)], abs=6e-5)
    assert rows[2][3] < rows[1][3], "the best bend is better than that of the linear theory"
    window.button("Add TINY's").click()
    grown = with_neurons(net, 0, new, found.amplitude, update=0.0)
    np.testing.assert_allclose(line_network(window.state())(x), grown(x), atol=1e-4)  # a line search beside a closed form
    assert f"2 neurons, loss {float(found.loss):.4f}" in window.readout()
    assert window.errors == []


# ---- depth -------------------------------------------------------------------------------------------------------------------


def deep_network(state) -> ReLUNet:
    return ReLUNet.random((1, *state["hidden"], 1)).with_vector(torch.tensor(state["theta"], dtype=torch.float64))


def test_breakpoints_of_deep_layers_are_counted_and_born_in_pairs(show):
    window = show("depth")
    lift = window.page.get_by_role("slider", name="lift the chosen neuron")
    before = deep_spline(deep_network(window.state()))
    for _ in range(3):
        lift.focus()
        lift.press("Shift+ArrowDown")
        state = window.state()
        f = deep_spline(deep_network(state))
        told = re.match(r"18 neurons: (\d+) switches, (\d+) pieces on the whole line \((\d+) in view\)", window.readout())
        want = f.breakpoint_count(), f.piece_count(), f.piece_count(-4, 4)
        assert list(map(int, told.groups())) == [int(n) for n in want]
    mine = int((f.switches & (f.layer == state["layer"]) & (f.neuron == state["neuron"])).sum())
    times = {0: "never", 1: "once", 2: "twice"}.get(mine, f"{mine} times")
    assert f"The dashed neuron switches {times}." in window.readout()
    new = int(f.breakpoint_count() - before.breakpoint_count())
    assert new % 2 == 0
    assert f"Born so far: {new}, died: 0." in window.readout()
    window.page.get_by_role("combobox", name="start").select_option("fan")
    assert "(216 in view)" in window.readout()
    window.page.get_by_role("slider", name="layers", exact=True).fill("4")
    assert window.readout().startswith("7,776 pieces are too many to draw: here are 4 layers. 24 neurons")
    window.button("10 steps").click()
    assert "10 steps, mean squared error" in window.readout()
    assert window.errors == []


def test_bends_are_counted_when_the_reader_has_guessed(show):
    window = show("depth", counted=False)
    assert not re.search(r"piece|neurons", window.readout())
    window.button("Count the bends").click()
    window.said("18 neurons")
    assert "pieces on the whole line" in window.readout()
    assert not window.button("Count the bends").is_visible()
    assert not show("depth").button("Count the bends").is_visible()


# ---- capacity ----------------------------------------------------------------------------------------------------------------


def test_a_network_is_built_node_by_node_and_layer_by_layer(show):
    window = show("capacity")
    window.button("All neurons").click()
    point = window.page.get_by_role("slider", name="point 3")
    point.focus()
    point.press("Shift+ArrowRight")
    x, y = zip(*sorted(window.state()["points"]))
    assert x[2] == 0.0
    net = capacity.interpolate(x, y).float()
    got = np.array(window.table())[:, 1:]
    np.testing.assert_allclose(got, np.column_stack([x[:-1], net.weights[1][0]]), atol=6e-4)
    assert window.readout().startswith("5 neurons go through 6 of 6 points.")
    point.press("Shift+ArrowRight")  # onto the fourth
    assert "1 point at a place that is taken is left out" in window.readout()
    while window.button("Take a neuron away").is_enabled():
        window.button("Take a neuron away").click()
    assert window.readout().startswith("No neuron: a constant")
    window.page.get_by_role("combobox", name="build").select_option("waves")
    window.page.get_by_role("slider", name="bits").fill("7")  # the eighth of its values
    for widths, right in (([2, 2], 7), ([2, 2, 3], 9)):
        wave = capacity.deep_wave(widths)
        signs = [wave(Fraction(k, int(np.prod(widths)))) > 0 for k in range(9)]
        assert sum(sign == k % 2 for k, sign in enumerate(signs)) == right
        assert f"Parity of 8 bits: {right} of 9 numbers of ones are right" in window.readout()
        window.button("Add a layer of 3").click()
    assert f"one hidden layer needs {capacity.least_width(8)} neurons" in window.readout()
    assert window.errors == []


# ---- landscape, smoothing, optima ------------------------------------------------------------------------------------------


def test_the_loss_and_the_pull_on_a_bend_are_those_of_the_package(show):
    state = live("landscape").state
    points = np.array(sorted(state["points"]))
    f = spline(ReLUNet([np.array(state["w"])[:, None], [state["v"]]], [state["b"], [state["offset"]]]))
    window = show("landscape", context={"reduced_motion": "reduce"})
    want = breakpoint_slice(f, 1, points[:, 0], points[:, 1])
    assert f"loss {((f(points[:, 0]) - torch.tensor(points[:, 1])) ** 2).sum() / 2:.3f}" in window.readout()
    rows = window.table()
    assert [row[2] for row in rows] == pytest.approx(want.curvature.tolist(), abs=1e-3)
    assert [row[3] for row in rows[:-1]] == pytest.approx(want.minimizers.tolist()[:-1], abs=1e-3)
    window.button("Descend").click()
    window.said("It has come to rest")
    place = float(re.search(r"Bend at (\S+),", window.readout())[1].replace("−", "-"))
    inside = [m for m, (low, high) in zip(want.minimizers.tolist(), pairwise([-9, *points[:, 0], 9])) if low < m < high]
    assert min(abs(place - m) for m in inside) < 0.006


def test_a_lonely_bend_is_not_pulled(show):
    window = show("landscape")
    bend = window.page.get_by_role("slider", name="bend 2")
    bend.focus()
    for _ in range(5):
        bend.press("Shift+ArrowRight")
    assert "flat, nothing pulls" in window.readout()
    window.button("Descend").click()
    window.said("Bend at 2.60")


def test_training_ends_at_the_smallest_fit(show):
    window = show("smoothing", context={"reduced_motion": "reduce"})
    window.button("Train").click()
    window.page.locator(".said", has_text="Largest gap").wait_for(state="attached")
    points = np.array(sorted(live("smoothing").state["points"]))
    fit_ = minimum_norm(points[:, 0], points[:, 1], *breakpoint_grid(60, 3.0, facing="both"))
    for x, y, network, predicted in window.table():
        assert predicted == pytest.approx(y, abs=1e-3)
        assert network == pytest.approx(float(fit_(np.array([x]))[0]), abs=0.01)
    assert float(re.search(r"prediction: (\d+\.\d+)", window.readout())[1]) < 0.02


@pytest.mark.parametrize("alpha", [0.1, 0.03])
def test_a_small_start_fits_the_data_and_leaves_the_prediction(show, alpha):
    window = show("smoothing", alpha=alpha, context={"reduced_motion": "reduce"})
    window.button("Train").click()
    window.page.locator(".said", has_text="Largest gap").wait_for(state="attached")
    for _, y, network, _ in window.table():
        assert network == pytest.approx(y, abs=1e-3)
    assert float(re.search(r"prediction: (\d+\.\d+)", window.readout())[1]) > 0.1


def test_a_point_is_moved_added_and_taken_away_by_keys(show):
    window = show("smoothing")
    point = window.page.get_by_role("slider", name="point 1")
    point.focus()
    point.press("Shift+ArrowUp")
    assert window.state()["points"][0] == pytest.approx([-2.0, 0.0])
    window.button("Add a point").click()
    assert len(window.state()["points"]) == 6
    point.focus()
    point.press("Delete")
    assert len(window.state()["points"]) == 5


def test_dropped_starts_end_at_the_three_losses(show):
    window = show("optima", context={"reduced_motion": "reduce"})
    told = window.page.locator("svg text", has_text="8/3")
    assert told.count() == 0  # the reader guesses first
    window.button("Drop 200 starts").click()
    window.page.locator(".said", has_text="200 starts").wait_for(state="attached")
    assert told.count() == 1
    at0, at83, at4 = map(int, re.search(r"(\d+) at 0, (\d+) at 8/3, (\d+) at 4", window.readout()).groups())
    how = {"loss": "half_sum", "optimizer": "gd", "lr": 0.01, "epochs": 4000, "progress": False}
    nets = fit(ReLUNet.random((1, 2, 1), batch=2000, seed=0), *data(), **how).net
    share = np.bincount(levels(nets)[levels(nets) >= 0], minlength=3) / 2000
    for found, expected in zip((at0, at83, at4), share):
        assert found / 200 == pytest.approx(expected, abs=4.5 * np.sqrt(max(expected, 0.01) / 200))
    assert at0 + at83 + at4 > 180


# ---- swaps, the sheet, polytopes -------------------------------------------------------------------------------------------


def test_the_cube_is_turned_painted_and_answered(show):
    window = show("swaps")
    state = window.state()
    assert f"{class_changes(np.array(state['table'], bool), np.array(state['weights']))} changes" in window.readout()
    grip = window.page.get_by_role("slider", name="turn the cube")
    grip.focus()
    for key in ("ArrowRight", "Shift+ArrowUp", "ArrowLeft"):
        grip.press(key)
    turned = window.state()
    assert turned["weights"] != state["weights"]
    assert (
        f"Along this line: {class_changes(np.array(state['table'], bool), np.array(turned['weights']))} change"
        in window.readout()
    )
    window.button("Tell me the answer").click()
    assert "The swaps value is 3" in window.readout()
    window.page.get_by_role("button", name="corner 000").click()
    assert window.state()["table"][0] == 1 - state["table"][0]
    window.page.get_by_role("combobox").select_option("4")
    window.button("Tell me the answer").click()
    assert f"The swaps value is {swaps(np.array(window.state()['table'], bool))}" in window.readout()


def test_the_sheet_is_folded_where_one_likes(show):
    window = show("sheet", folds=2.25)
    assert "8 pieces of paper" in window.readout()
    window.page.get_by_role("slider", name="folds").fill("20")
    assert window.readout().startswith("1 fold: 2 pieces of paper, and one straight cut becomes a boundary of 2 straight pieces")
    dot = window.page.get_by_role("slider", name="move crease 1")
    dot.focus()
    dot.press("Shift+ArrowRight")
    assert window.state()["creases"][0] == [0, 0.2]
    window.button("Add a fold").click()
    assert len(window.state()["creases"]) == 4
    assert window.readout().startswith("4 folds")
    handle = window.page.get_by_role("slider", name="turn the knife")
    handle.focus()
    handle.press("ArrowRight")
    assert window.state()["knife"][0] == pytest.approx(238.2, abs=0.06)


def test_the_pieces_of_the_plane_are_counted_and_told(show):
    window = show("polytopes")
    state = window.state()
    weights, biases, rest = [], [], np.array(state["theta"])
    for fan, out in pairwise([2, *state["hidden"], 1]):
        weights.append(rest[: fan * out].reshape(out, fan))
        biases.append(rest[fan * out : fan * out + out])
        rest = rest[fan * out + out :]
    net = ReLUNet(weights, biases)
    slope = net.jacobian(np.array([state["probe"]]))[0, 0].numpy()
    told = re.search(r"f\s=\s(\S+)\sx₁\s([+−])\s(\S+)\sx₂", window.readout())
    assert float(told[1].replace("−", "-")) == pytest.approx(slope[0], abs=0.006)
    assert float(told[3]) * (1 if told[2] == "+" else -1) == pytest.approx(slope[1], abs=0.006)
    count = int(re.search(r"([\d,]+) piece", window.readout())[1].replace(",", ""))
    edge = 1.1
    assert count == len(regions(net, [[-edge, -edge], [edge, -edge], [edge, edge], [-edge, edge]]))
    before = state["theta"]
    window.button("10 steps").click()
    assert window.state()["theta"] != before
    window.button("Add a layer").click()
    assert window.readout().startswith("2-8-8-8-1")


def test_a_network_of_the_reader_s_own_is_pasted(show):
    window, net = show("polytopes"), ReLUNet.random((2, 6, 5, 1), leak=0.2, seed=4)
    window.page.get_by_text("A network of yours").click()
    text = window.page.get_by_label("a network as text")
    text.fill(to_json(ReLUNet.random((3, 2, 1), seed=0)))
    window.button("Show this network").click()
    window.said("Two inputs")
    text.fill(to_json(net))
    window.page.get_by_label("the window reaches to").fill("3")
    window.button("Show this network").click()
    window.said("2-6-5-1")
    state = window.state()
    assert state["theta"] == net.vector().tolist()
    assert (state["leak"], state["edge"]) == (0.2, 3)
    count = int(re.search(r"([\d,]+) piece", window.readout())[1].replace(",", ""))
    assert count == len(regions(net, [[-3, -3], [3, -3], [3, 3], [-3, 3]]))


def test_each_piece_has_a_dot_at_its_slope_and_each_layer_its_lines(show):
    window = show("polytopes", hidden=[5, 4], slopes=True)
    page, state = window.page, window.state()
    net = ReLUNet.random((2, 5, 4, 1)).with_vector(torch.tensor(state["theta"], dtype=torch.float64))
    c = regions(net, [[-1.1, -1.1], [1.1, -1.1], [1.1, 1.1], [-1.1, 1.1]])
    dots = page.locator(".picture svg[role=img] circle[fill-opacity]").evaluate_all(
        "(all) => all.map((e) => [e.getAttribute('cx'), e.getAttribute('cy')].map(Number))"
    )
    slopes = c.maps()[0][:, 0] * [1, -1]  # down is positive on the page
    unit = np.abs(slopes).max() * 1.15
    side = float(page.locator(".picture svg[role=img]").get_attribute("viewBox").split()[2]) - 4
    expected = sorted((slopes / unit / 2 * side + [2 + side / 2, 16 + side / 2]).tolist())
    assert np.abs(np.array(sorted(dots))[:, 0] - np.array(expected)[:, 0]).max() < 0.06
    assert np.array(sorted(p[1] for p in dots)) == pytest.approx(np.array(sorted(p[1] for p in expected)), abs=0.06)
    assert page.locator(".picture svg[role=img] text").all_text_contents() == ["slope along x₂", "slope along x₁"]
    green = page.locator("svg[role=group] path[stroke='var(--green)']").get_attribute("d")
    first = regions(net.with_layers([net.weights[0], net.weights[1]], [net.biases[0], net.biases[1]]), c.vertices[:4])
    assert green.count("M") == len(first)
    assert "layer 2" in page.locator(".picture .hints").inner_text()


def test_small_networks_and_other_data_are_at_hand(show):
    window = show("polytopes")
    window.button("Take a layer away").click()
    for _ in range(5):
        window.button("Narrower").click()
    assert window.readout().startswith("2-3-1")
    assert window.button("Take a layer away").is_disabled()
    window.page.get_by_role("combobox").first.select_option("xor")
    points = np.array(window.state()["points"])
    assert len(points) == 240
    radius = np.linalg.norm(points[:, :2] - 0.5 * np.sign(points[:, :2]), axis=1) / 0.45
    assert ((points[:, 2] == 1) == ((radius > 0.6) != (points[:, 0] * points[:, 1] < 0))).all()
    window.page.get_by_role("combobox").nth(1).select_option("look")
    box = window.page.locator("svg[role=group]").bounding_box()
    window.page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
    left, inner = 24, box["width"] - 28  # room for the names of the axes
    at = [(0.75 * box["width"] - left) / inner, 1 - (0.25 * box["height"] - 4) / inner]
    assert window.state()["probe"] == pytest.approx([2.2 * v - 1.1 for v in at], abs=0.02)
    assert len(window.state()["points"]) == 240


# ---- Firefox ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_firefox_brings_it_to_life(firefox, tmp_path, name):
    path = tmp_path / f"{name}.html"
    path.write_text(live(name).page(), encoding="utf-8")
    firefox.open(path.as_uri())
    assert firefox.evaluate(f"!!{ROOT_OF}.querySelector('.live svg :is(path, rect)')")
    assert firefox.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_firefox_drags_a_bend(firefox, tmp_path):
    path = tmp_path / "breakpoints.html"
    path.write_text(live("breakpoints", w=W, b=B, v=V).page(), encoding="utf-8")
    firefox.open(path.as_uri())
    middle = """(() => { const r = %s.querySelectorAll('.handle [data-mark]')[%d].getBoundingClientRect();
      return [r.left + r.width / 2, r.top + r.height / 2]; })()"""
    (x1, y1), (x2, _) = (firefox.evaluate(middle % (ROOT_OF, i)) for i in (0, 1))
    firefox.drag((x1, y1), ((x1 + x2) / 2, y1))
    place = f"Number({ROOT_OF}.querySelector('.handle').getAttribute('aria-valuenow'))"
    assert firefox.evaluate(place) == pytest.approx(-0.25, abs=0.02)
    firefox.press("\ue014")  # the right arrow
    assert firefox.evaluate(place) == pytest.approx(-0.2, abs=0.02)


# ---- budgets ---------------------------------------------------------------------------------------------------------------


def test_a_stored_state_is_what_the_page_begins_with(show):
    window = show("breakpoints", w=W, b=B, v=V, ratio=0.5)
    stored = window.page.locator("[data-live]").evaluate(STATE)
    assert stored["ratio"] == 0.5
    assert json.loads(json.dumps(stored)) == live("breakpoints", w=W, b=B, v=V, ratio=0.5).state


TELL = """(done) => {
  if (!globalThis.asked) document.body.append(Object.assign(document.createElement('div'), {id: 'asked'}));
  asked.dataset.guess = "guess";
  if (done) asked.dataset.told = "1";
  asked.dispatchEvent(new Event("told", { bubbles: true }));
}"""


@pytest.mark.parametrize(
    ("name", "mark", "words"),
    [
        ("breakpoints", "path[fill='var(--tint-b)']", "The band holds half of them by the law."),
        ("landscape", "path[fill='var(--green)']", "The lowest place of all, the green diamond, is at"),
        ("optima", "text:has-text('8/3')", "Training ends at 0, 8/3 or 4, the dashed lines."),
    ],
)
def test_the_answer_is_marked_once_the_guess_is_made(show, name, mark, words):
    window = show(name)
    marks = window.page.locator(f".picture svg[role=img] {mark}")
    window.page.evaluate(TELL, False)
    assert (marks.count(), words in window.readout()) == (0, False), "the answer is not told before"
    window.page.evaluate(TELL, True)
    assert (marks.count(), words in window.readout()) == (1, True)
    window.button("Reset").click()
    assert (marks.count(), words in window.readout()) == (1, True), "who knows it knows it"
    assert window.errors == []


def test_the_lowest_place_is_the_lowest_of_a_fine_grid(show):
    state = live("landscape").state
    window = show("landscape")
    window.page.evaluate(TELL, True)
    place, loss = (float(v.replace("−", "-")) for v in re.search(r"is at (\S+), loss (\S+)\.", window.readout()).groups())
    f = spline(ReLUNet([np.array(state["w"])[:, None], [state["v"]]], [state["b"], [state["offset"]]]))
    x, y = np.array(sorted(state["points"])).T
    grid = np.linspace(-3, 3, 6001)
    losses = breakpoint_slice(f, state["chosen"], x, y)(grid).numpy()
    assert loss == pytest.approx(losses.min(), abs=6e-4)
    assert place == pytest.approx(grid[losses.argmin()], abs=0.011)


def test_a_slope_is_marked_once_the_guess_below_the_figure_is_made(show):
    window = show("gans")
    window.page.evaluate(TELL, False)
    assert "tick" not in window.readout(), "the answer is not told before"
    window.page.evaluate(TELL, True)
    marked = int(re.search(r"From slope (\d+) on, at the tick", window.readout())[1])
    assert lost_by_staircase(5, 0.4, marked) < 0.01 < lost_by_staircase(5, 0.4, 0.9 * marked)
