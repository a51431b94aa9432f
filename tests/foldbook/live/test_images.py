"""The figures on networks that read images: what they compute is what the package computes, and what a hand does to them."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from foldnet import data
from foldnet.geometry.comparison import coefficients, least_squares
from foldnet.geometry.sensitivity import directions, explained, moments
from foldnet.growth.moments import SecondMoment
from foldnet.growth.neurons import optimal_neurons
from foldnet.nets import ReLUNet

pytestmark = pytest.mark.browser
EMPTY = ReLUNet([np.zeros((1, 64)), np.zeros((10, 1))], [np.zeros(1), np.zeros(10)])  # it says nothing yet


def calling(core, address: str):
    """`call("looks", "m.along(second, 1)", second=...)`: an expression of a module of `live/core`, which is `m`."""

    def run(module: str, expression: str, **arguments):
        names = ", ".join(arguments)
        body = f"async ({{{names}}}) => {{ const m = await import('{address}core/{module}.js'); return {expression}; }}"
        return core.page.evaluate(body, arguments)

    return run


@pytest.fixture(scope="module")
def call(core, core_address):
    return calling(core, core_address)


def percent(words: str) -> list[int]:
    return [int(v.replace("−", "-")) for v in re.findall(r"([−\d]+)\s%", words)]


# ---- digits and wishes -----------------------------------------------------------------------------------------------------


def test_the_digits_are_those_of_the_package(call):
    images = data.digits()
    np.testing.assert_array_equal(call("digits", "m.digits()"), images.x_train[:300])
    np.testing.assert_array_equal(call("digits", "m.LABELS"), images.y_train[:300])


def same_neurons(call, many: int, ridge: float):
    images = data.digits()
    x, y = torch.as_tensor(images.x_train[:many]).double(), torch.as_tensor(images.y_train[:many])
    moment = SecondMoment.with_ridge(x, ridge)
    new = optimal_neurons(EMPTY, 0, x, y, 3, loss="cross_entropy", moment=moment, old="kept", signs=False)
    given = {"x": x.tolist(), "y": y.tolist(), "ridge": ridge}
    found = call("wishes", "m.neurons(x, m.wishes(y), ridge).found.slice(0, 3)", **given)
    close = {"rtol": 0, "atol": 1e-16 / ridge + 1e-10}  # a system is as badly scaled as its ridge is small
    np.testing.assert_allclose([one["value"] for one in found], new.singular_values[:3], **close)
    root = new.singular_values[:3].sqrt().numpy()
    for k, one in enumerate(found):
        mine, theirs = (
            np.outer(one["reads"], one["says"]),
            torch.outer(torch.cat([new.incoming[k], new.bias[k : k + 1]]), new.outgoing[:, k]),
        )
        np.testing.assert_allclose(
            mine * root[k] ** 2 / one["value"], theirs, rtol=0, atol=1e-9 * float(theirs.abs().max()) + 1e-13 / ridge
        )
    fresh = torch.as_tensor(images.x_train[200:260]).double()
    asked = torch.eye(10, dtype=torch.float64)[torch.as_tensor(images.y_train[200:260])] - 0.1
    whole = optimal_neurons(EMPTY, 0, x, y, loss="cross_entropy", moment=moment, old="kept", signs=False)
    says = (fresh @ whole.incoming.mT + whole.bias) @ whole.outgoing.mT
    want = 1 - (asked - says).square().sum() / asked.square().sum()
    given |= {"fresh": fresh.tolist(), "labels": images.y_train[200:260].tolist()}
    got = call("wishes", "m.granted(m.neurons(x, m.wishes(y), ridge).map, fresh, m.wishes(labels))", **given)
    assert got == pytest.approx(float(want), abs=1e-12 / ridge + 1e-9)


@pytest.mark.parametrize(("many", "ridge"), [(40, 1e-3), (150, 0.01), (150, 1e-6), (20, 1.0)])
def test_the_best_neurons_are_those_of_the_package(call, many, ridge):
    same_neurons(call, many, ridge)


def test_a_ridge_helps_on_other_images(show):
    window = show("mnist")
    here, others = percent(window.readout())
    assert here > 90
    assert others < 0
    slider = window.page.get_by_role("slider", name="ridge")
    slider.focus()
    for _ in range(7):
        slider.press("ArrowRight")
    assert window.state()["ridge"] == 0.1
    assert percent(window.readout())[1] > 20
    square = window.page.get_by_role("slider", name="images that are looked at")
    square.focus()
    square.press("ArrowRight")
    assert window.state()["images"] == 70
    window.button("Ten more images").click()
    assert "80 images" in window.readout()
    assert not window.errors


# ---- ten maps ----------------------------------------------------------------------------------------------------------------


def test_the_maps_are_learned_and_those_of_a_linear_network_stay(show):
    window = show("images", steps=60, optimizer="adam")
    learned = int(re.search(r"Of 300 digits (\d+)", window.readout())[1])
    assert learned > 240
    maps = "document.querySelector('[data-live]').shadowRoot.querySelectorAll('.picture svg[role=img] path')"
    drawn = f"() => [...{maps}].map((p) => p.getAttribute('d')).join('')"
    numbers = window.table()
    assert max(range(10), key=lambda k: numbers[k][3]) == int(re.search(r"reads a (\d)", window.readout())[1])
    for _, product, constant, output in numbers:
        assert product + constant == pytest.approx(output, abs=2e-4)
    bent = {window.page.evaluate(drawn)}
    for _ in range(4):
        window.button("Another digit").click()
        bent.add(window.page.evaluate(drawn))
    assert len(bent) > 2, "digits whose neurons agree share their maps, and not all do"
    window.page.get_by_role("combobox", name="network").select_option(label="linear")
    straight = window.page.evaluate(drawn)
    window.button("Another digit").click()
    assert window.page.evaluate(drawn) == straight
    assert not window.errors


def test_a_brush_paints_by_keys_and_by_pointer(show):
    window = show("images")
    brush = window.page.get_by_role("slider", name="brush", exact=True)
    brush.focus()
    brush.press("ArrowRight")
    assert window.state()["brush"] == [4, 5]
    assert window.state()["ink"] == []
    brush.press("Enter")
    ink = window.state()["ink"]
    assert ink[8 * 4 + 5] == (0 if data.digits().x_train[1][8 * 4 + 5] >= 0.5 else 1)
    board = window.page.get_by_role("group", name="The digit, to be painted").bounding_box()
    unit = board["width"] / 8
    window.page.mouse.click(board["x"] + 7.5 * unit, board["y"] + 0.5 * unit)
    assert window.state()["ink"][7] == 1
    assert window.state()["brush"] == [0, 7]
    window.button("Another digit").click()
    assert window.state()["ink"] == []
    assert not window.errors


# ---- directions --------------------------------------------------------------------------------------------------------------


def same_directions(call, seed: int):
    net = ReLUNet.random((2, 6, 1), init="torch", seed=seed)
    x = torch.rand(240, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2 - 1
    slopes, f = net.jacobian(x), net(x)[:, 0]
    want = moments([slopes])
    given = {"slopes": slopes[:, 0].tolist()}
    got = call("looks", "m.moments(slopes)", **given)
    np.testing.assert_allclose(got["second"], want.second[0], rtol=1e-12, atol=1e-14)
    angle = call("looks", "m.leading(m.moments(slopes))", **given)
    np.testing.assert_allclose([np.cos(angle), np.sin(angle)], directions(want)[0], atol=1e-9)
    value = call("looks", "m.along(m.moments(slopes).second, angle)", angle=angle, **given)
    assert value == pytest.approx(float(torch.linalg.eigvalsh(want.second[0])[-1]), rel=1e-12)
    for way in ([1.0, 0.0], [0.6, 0.8]):
        t = x @ torch.tensor(way, dtype=torch.float64)
        share = call("looks", "m.explained(t, f, 15)", t=t.tolist(), f=f.tolist())
        assert share == pytest.approx(float(explained(t, f, 15)), abs=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_directions_and_what_they_explain_are_those_of_the_package(call, seed):
    same_directions(call, seed)


def test_the_valley_has_its_leading_direction_across(show):
    window = show("sensitivity")
    [before] = percent(window.readout())
    window.button("Turn to the leading direction").click()
    [after] = percent(window.readout())
    assert after > before + 40
    assert "no direction has more" in window.readout()
    angle = window.state()["angle"]
    arrow = window.page.get_by_role("slider", name="direction", exact=True)
    arrow.focus()
    arrow.press("Shift+ArrowUp")
    assert window.state()["angle"] == angle + 15
    assert "no direction has more" not in window.readout()
    rows = window.table()
    assert [round(v, 1) for v in (rows[1][2], rows[2][2])] == [9.0, 1.0]
    assert not window.errors


# ---- a dictionary ------------------------------------------------------------------------------------------------------------


def line_network(knots, jumps, slope, constant) -> ReLUNet:
    inner = [[1.0]] * len(knots) + [[1.0], [-1.0]]
    return ReLUNet([inner, [[*jumps, slope, -slope]]], [[*(-np.array(knots)), 0.0, 0.0], [constant]])


def same_dictionary(call, knots: list[float]):
    rng = np.random.default_rng(len(knots))
    source = line_network(knots, rng.normal(size=len(knots)), 0.7, -0.4)
    target = line_network([-1.0, -0.2, 0.6], rng.normal(size=3), -0.3, 0.2)
    x = torch.linspace(-1.975, 1.975, 80, dtype=torch.float64)[:, None]
    mine, theirs = (coefficients(net, x)[0] for net in (source, target))
    want = mine @ least_squares(mine, theirs)
    got = call("dictionary", "m.translated(a, m.dictionary(a, b))", a=mine.tolist(), b=theirs.tolist())
    np.testing.assert_allclose(got, want, atol=1e-6)
    if not knots:
        np.testing.assert_allclose(got, theirs.mean(0).expand(80, 2), atol=1e-6)
    f = {"knots": knots, "slopes": [], "intercepts": []}
    for at in [-1.99, *[k + 1e-6 for k in knots]]:
        slope, constant = coefficients(source, torch.tensor([[at]], dtype=torch.float64))[0, 0].tolist()
        f["slopes"].append(slope)
        f["intercepts"].append(constant)
    np.testing.assert_allclose(call("dictionary", "m.rows(f, x)", f=f, x=x[:, 0].tolist()), mine, atol=1e-12)


@pytest.mark.parametrize("knots", [[], [0.3], [-0.8, 0.1, 0.9]])
def test_the_dictionary_is_that_of_the_package(call, knots):
    same_dictionary(call, knots)


def test_all_linear_sources_have_one_translation(show):
    window = show("comparison")
    told = [row[5:] for row in window.table()]
    source = [row[1:3] for row in window.table()]
    window.button("Another source").click()
    assert [row[1:3] for row in window.table()] != source
    np.testing.assert_allclose([row[5:] for row in window.table()], told, atol=1e-3)
    assert "1 map in the source, 1 map in its translation" in window.readout()
    before = percent(window.readout())
    window.button("Add a bend").click()
    bend = window.page.get_by_role("slider", name="bend 1")
    bend.focus()
    bend.press("Shift+ArrowRight")
    assert "2 maps in the source, 2 maps in its translation" in window.readout()
    assert percent(window.readout()) > before
    window.button("Take a bend away").click()
    assert percent(window.readout()) == before
    assert not window.errors


# ---- a broken core is noticed ------------------------------------------------------------------------------------------------

MUTANTS = {
    "wishes: all classes alike": ("wishes", "- 0.1", "- 0.2", lambda call: same_neurons(call, 40, 1e-3)),
    "wishes: no ridge": ("wishes", "row[i] += extra", "row[i] += 0", lambda call: same_neurons(call, 150, 1e-3)),
    "wishes: the smallest first": ("wishes", "a[k][k] - a[i][i]", "a[i][i] - a[k][k]", lambda call: same_neurons(call, 40, 1e-3)),
    "looks: no mixed moment": ("looks", "Math.atan2(2 * b", "Math.atan2(0 * b", lambda call: same_directions(call, 1)),
    "looks: its own half": ("looks", "half(1 - k)", "half(k)", lambda call: same_directions(call, 1)),
    "dictionary: another inverse": ("dictionary", "- c * wanted", "+ c * wanted", lambda call: same_dictionary(call, [0.3])),
    "dictionary: the piece before": (
        "dictionary",
        "slopes[k], inter",
        "slopes[0], inter",
        lambda call: same_dictionary(call, [0.3]),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_core_is_noticed(call, broken_core, core_address, name):
    module, old, new, compare = MUTANTS[name]
    compare(call)
    with pytest.raises(AssertionError):
        compare(calling(broken_core(module, old, new), core_address))
