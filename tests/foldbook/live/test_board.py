"""The board of boolean/training: it counts the influence, and its networks learn as often as those of the package."""

from __future__ import annotations

import re

import numpy as np
import pytest

from foldbook.live import live
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
