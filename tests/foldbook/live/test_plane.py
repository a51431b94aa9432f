"""The figures on a rising shore, one new corner and the ends of a spline: what they compute is what the package computes."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from test_images import calling

from foldbook.chapters.fences import fences
from foldbook.chapters.smoothing import bending
from foldnet.geometry.boundaries import kinks
from foldnet.nets import ReLUNet
from foldnet.splines.smoothing import limit

pytestmark = pytest.mark.browser
ROWS, BIASES, PUSH = [[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [3, 2, 1]
RAMPS = [{"row": row, "bias": bias, "push": push} for row, bias, push in zip(ROWS, BIASES, PUSH)]
X, Y = [-1.8, -1.0, 0.2, 0.8, 1.6], [0.3, -0.6, 0.5, 0.9, -0.2]


@pytest.fixture(scope="module")
def call(core, core_address):
    return calling(core, core_address)


def in_order(corners) -> np.ndarray:
    """Corners in order around a polygon, from the lowest one on, either way round."""
    found = np.array(corners, dtype=float)
    found = np.roll(found, -np.lexsort(found.round(6).T)[0], axis=0)
    return found if found[1].tolist() < found[-1].tolist() else np.roll(found[::-1], 1, axis=0)


def same_shore(call, eighths: int):
    """The shore at a level, in eighths, is the fence that the package finds in fractions."""
    (fence,) = fences(ROWS, BIASES, [8 * p for p in PUSH], -eighths)
    found = call("shore", "m.shore(ramps, level)", ramps=RAMPS, level=eighths / 8)
    assert len(found) == len(fence.corners)
    np.testing.assert_allclose(in_order([one["at"] for one in found]), in_order(fence.corners), atol=1e-12)


@pytest.mark.parametrize("eighths", [9, 16, 20, 23, 24, 25, 28])
def test_the_shore_is_the_fence_of_the_package(call, eighths):
    same_shore(call, eighths)


def test_water_rises_from_four_corners_to_six(show):
    window = show("shore", level=2.995, context={"reduced_motion": "reduce"})
    assert "6 corners" in window.readout()
    slider = window.page.get_by_role("slider", name="level of the water")
    slider.focus()
    slider.press("ArrowRight")  # to the next of its values: to 3
    assert "5 corners" in window.readout()
    window.button("Raise the water").click()
    window.said("3 crossings of two creases are under water")
    assert window.state()["level"] == 3.5
    assert slider.get_attribute("aria-valuetext") == "3.50"
    assert not window.errors


def turned(window) -> float:
    return float(re.search(r"turns by ([\d.]+)°", window.readout())[1])


@pytest.mark.parametrize(("angle", "strength"), [(45, 1.0), (-120, 2.5), (90, 0.3), (150, 2.0)])
def test_the_corner_is_that_of_the_boundary(show, angle, strength):
    phi = math.radians(angle)
    rows = [[1.0, 0.0], [0.0, 1.0], [math.sin(phi), math.cos(phi)]]  # y is one neuron here, on in all the picture
    net = ReLUNet([[rows], [[[0.8, 1.0, strength]]]], [[[-0.6, 1.0, -0.2 * math.sin(phi)]], [[-1.0]]])
    found = kinks(net)
    (turn,) = found.angle[(found.point - torch.tensor([0.2, 0.0])).norm(dim=-1) < 1e-6].tolist()
    window = show("corner", angle=angle, strength=strength)
    assert turned(window) == pytest.approx(turn, abs=0.06)


def test_the_crease_is_turned_by_keys_and_along_the_boundary_nothing_folds(show):
    window = show("corner", angle=2)
    crease = window.page.get_by_role("slider", name="crease")
    crease.focus()
    crease.press("ArrowLeft")
    assert window.state()["angle"] == 1
    before = turned(window)
    assert before < 1
    crease.press("ArrowLeft")
    assert "no corner" in window.readout()
    crease.press("Shift+ArrowRight")
    assert turned(window) > before
    assert window.page.get_by_role("slider", name="angle").get_attribute("aria-valuetext") == "15°"
    assert not window.errors


def same_limit(call, reach: float, facing: str, line: bool = False):
    t = np.linspace(-min(reach, 3), min(reach, 3), 31)
    given = {"x": X, "y": Y, "reach": reach, "facing": facing, "line": line, "t": t.tolist()}
    found = call(
        "limit", "(() => { const f = m.limit(x, y, reach, facing, line); return [t.map(f.value), f.bending]; })()", **given
    )
    np.testing.assert_allclose(found[0], limit(X, Y, reach, facing, affine=line)(t), atol=1e-9)
    assert found[1] == pytest.approx(bending(X, Y, facing, reach, affine=line), rel=1e-4)  # of 20,000 neurons


@pytest.mark.parametrize(
    ("reach", "facing", "line"), [(2, "right", False), (3, "both", False), (6, "right", False), (3, "right", True)]
)
def test_the_limit_is_that_of_the_package(call, reach, facing, line):
    same_limit(call, reach, facing, line)


def test_far_bends_bring_the_natural_spline(show):
    window = show("ends")
    more = [float(re.search(r"([\d.]+)\s%", window.readout())[1])]
    window.button("Turn half of them around").click()
    more.append(float(re.search(r"([\d.]+)\s%", window.readout())[1]))
    assert window.page.get_by_role("combobox", name="facing").input_value() == "both"
    slider = window.page.get_by_role("slider", name="bends reach to")
    slider.focus()
    slider.press("End")
    more.append(float(re.search(r"([\d.]+)\s%", window.readout())[1]))
    least = bending(X, Y, "both", 3.0, affine=True)
    asked = [("right", 3.0), ("both", 3.0), ("both", 30.0)]
    assert more == pytest.approx([100 * (bending(X, Y, *how) / least - 1) for how in asked], abs=0.6)
    assert more[0] > more[1] > more[2]
    point = window.page.get_by_role("slider", name="point 1")
    point.focus()
    point.press("ArrowUp")
    assert window.state()["points"][0] == pytest.approx([-1.8, 0.35])
    assert not window.errors


MUTANTS = {
    "shore: another foot": ("shore", "* u) / (u - v)", "* v) / (u - v)", lambda call: same_shore(call, 20)),
    "shore: crossings twice": ("shore", "if (same) same.on", "if (false) same.on", lambda call: same_shore(call, 24)),
    "limit: one side": ("limit", "+ right(-x", "+ 0 * right(-x", lambda call: same_limit(call, 3, "both")),
    "limit: a longer lever": ("limit", "- low)) / 6", "- low)) / 5", lambda call: same_limit(call, 3, "both")),
    "limit: no rule of Simpson": ("limit", "+ 4 * bend", "+ 2 * bend", lambda call: same_limit(call, 3, "both")),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_core_is_noticed(call, broken_core, core_address, name):
    module, old, new, compare = MUTANTS[name]
    compare(call)
    with pytest.raises(AssertionError):
        compare(calling(broken_core(module, old, new), core_address))
