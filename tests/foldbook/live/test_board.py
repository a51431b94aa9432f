"""The figures of boolean/training: the board counts and trains as the package does, the map reads the stored run."""

from __future__ import annotations

import re

import numpy as np
import pytest

from experiments import census_again
from foldbook.live import live
from foldbook.live.stills_boolean import PLACES, UNITS
from foldbook.stored import stored
from foldnet.boolean.functions import parity, total_influence
from foldnet.boolean.training import train_many

pytestmark = pytest.mark.browser


def test_borders_are_eight_times_the_influence(show):
    window = show("training", borders=True)
    for _ in range(4):
        window.button("At random").click()
        table = np.array(window.state()["table"])
        assert window.readout().startswith(f"{round(8 * float(total_influence(table)))} of 32 pairs")
    window.button("Chessboard").click()
    assert window.state()["table"] == parity(4).tolist()
    assert window.readout().startswith("32 of 32")


def test_a_square_is_painted_by_keys_and_borders_wait_for_the_guess(show):
    window = show("training")
    assert "pairs" not in window.readout()
    before = window.state()["table"]
    square = window.page.get_by_role("button", name="bits 0110")
    square.focus()
    square.press("Enter")
    assert [k for k, (a, b) in enumerate(zip(before, window.state()["table"])) if a != b] == [6]


@pytest.mark.parametrize("board", ["One square", "Chessboard"])
def test_networks_learn_as_often_as_those_of_the_package(show, board):
    window = show("training", width=4, context={"reduced_motion": "reduce"})
    window.button(board).click()
    window.button("Train 20 networks").click()
    window.page.locator(".said", has_text="of 20 networks").wait_for(state="attached")
    learned = int(re.search(r"learned by (\d+) of 20", window.readout())[1])
    assert window.state()["tried"][0][2:] == [learned, 20]
    rate = train_many(np.array(window.state()["table"])[None], 4, trials=200, seed=3).solved.mean()
    assert abs(learned - 20 * rate) <= 4.5 * np.sqrt(20 * max(rate * (1 - rate), 0.01))


def test_a_board_of_another_size_is_refused():
    with pytest.raises(ValueError, match="sixteen squares"):
        live("training", table=[0, 1, 1, 0])


def test_edges_name_the_bits_and_the_first_bar_waits_for_training(show):
    window = show("training")
    words = window.page.locator(".picture text").all_text_contents()
    assert words[:8] == ["00", "00", "01", "01", "11", "11", "10", "10"], "columns and rows, in the order of the board"
    assert words[-1].startswith("press Train")


# ---- the map of all classes ------------------------------------------------------------------------------------------------


def test_units_and_places_are_those_of_the_run():
    assert {name: unit for name, (unit, _) in census_again.MAPS.items()} == UNITS
    assert {name: census_again.SIXTEEN.index(name) for name in UNITS} == PLACES


@pytest.mark.parametrize(
    ("neuron", "width", "measure"), [("leaky", 4, "swaps"), ("tanh", 6, "above 3"), ("gelu", 3, "influence")]
)
def test_the_map_says_what_the_run_has(show, neuron, width, measure):
    row = stored("census_again").row(task="share", activation=neuron, width=width)
    counts, failed = row["maps"][measure], np.maximum(98.5 - 4 * np.arange(26), 0)
    window = show("census", neuron=neuron, width=width, measure=measure)
    middle = int(np.argmax(counts.sum(1).cumsum() >= counts.sum() / 2))  # the column that has the class in the middle
    rho = census_again.Seen(stored("census_again")).rho(neuron, measure, width).mean()
    words = window.readout()
    assert f"{counts[middle].sum():,} classes" in words
    assert f"{counts[middle] @ failed / counts[middle].sum():.0f} fail" in words
    ends = [float(failed[np.argmax(counts[middle][::-1].cumsum() >= q * counts[middle].sum()) * -1 - 1]) for q in (0.25, 0.75)]
    found = re.search(r"(\d+) to (\d+) for the middle half", words)
    assert [int(v) for v in found.groups()] == pytest.approx(ends, abs=4.5), "shades are rounded: a row at most"
    assert words.endswith(f"{rho:.2f}.")
    window.page.get_by_role("slider").press("ArrowRight")
    assert f"{counts[middle + 1].sum():,} class" in window.readout()


def test_the_button_finds_the_best_measure_and_the_picture_takes_a_click(show):
    window = show("census", measure="swaps")
    window.button("The best of the five").click()
    assert window.state()["measure"] == "above 2"
    assert window.button("The best of the five").is_disabled()
    box = window.page.locator(".picture > svg").bounding_box()
    window.page.mouse.click(box["x"] + 44, box["y"] + box["height"] / 2)
    assert window.readout().startswith("Weight above 2 0.00 to 0.03")
