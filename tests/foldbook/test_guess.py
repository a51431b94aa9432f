"""What `guess` and `ask` put into a notebook, and what they refuse."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from foldbook.guess import asked, guess, guessed
from foldbook.live import hash_of, script
from foldnet import plots


def data(part) -> dict:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', part.html, re.DOTALL)[1])


def test_a_notebook_gets_a_fold_the_data_and_a_script():
    part = guessed("How many </script>?", np.float64(0.67), between=(0, 10), unit="of 100", because="So *it* is.")
    bundle = part._repr_mimebundle_()
    assert bundle["text/plain"] == "guess: How many </script>?"
    assert "0.67" not in bundle["text/plain"]
    assert part.html.startswith(f'<div data-guess="guess" data-live-hash="{hash_of("guess")}"')
    assert script("guess") in part.html
    assert part.html.count("</script>") == 2
    assert "<p>0.67 of 100. So it is.</p></details>" in part.html
    assert data(part)["marks"] == [["", 0.67]]


def test_what_is_called_is_shown_and_returns_nothing(capsys):
    assert guess("How many?", 3, between=(0, 10)) is None
    assert capsys.readouterr().out == "guess: How many?\n"


def test_a_long_curve_is_thinned_and_stays_the_same():
    x = np.linspace(-3, 3, 5000)
    points = np.array(data(guessed("Draw it.", (x, np.sin(x)), window=((-2, 2), (-2, 2))))["curve"])
    assert len(points) <= 161
    assert points[[0, -1], 0].tolist() == [-2, 2]
    assert np.abs(np.sin(points[:, 0]) - points[:, 1]).max() < 1e-3


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_picture_knows_where_its_axes_are(scale):
    """The box is where the axes are in the picture: a point of the data, taken through it, is where matplotlib draws it."""
    fig, ax = plots.subplots(figsize=(5, 3))
    ax.plot([1, 100], [2, 3])
    ax.set(xscale=scale, xlim=(1, 100), ylim=(2, 4), xlabel="width $n$", ylabel="loss")
    got = data(guessed("Where?", (10, 3), picture=fig))
    assert got["labels"] == ["width n", "loss"]
    assert got["logs"] == [scale == "log", False]
    left, top, wide, tall = got["box"]
    share = 0.5 if scale == "log" else 9 / 99
    across, down = fig.transFigure.inverted().transform(ax.transData.transform((10, 3)))
    assert (left + wide * share, top + tall / 2) == pytest.approx((across, 1 - down), abs=1e-4)


@pytest.mark.parametrize(
    ("truth", "how", "sentence"),
    [
        (3, {}, "needs a scale"),
        (30, {"between": (0, 10)}, "30 is not between 0 and 10"),
        (3, {"between": (0, 10), "log": True}, "above zero where it is logarithmic"),
        (3, {"between": (10, 0)}, "from less to more"),
        ("c", {"among": ["a", "b"]}, "one of 'a', 'b'; got 'c'"),
        ("c", {"between": (0, 1)}, "a guess is a number"),
        (3, {"between": (0, 10), "among": ["3"]}, "one kind; got between and among"),
        (([0, 1], [0]), {"window": ((0, 1), (0, 1))}, "two lists of one length"),
        (([0, 1], [0, 1]), {"window": ((2, 3), (0, 1))}, "not in the window"),
    ],
)
def test_what_makes_no_guess_is_refused(truth, how, sentence):
    with pytest.raises(ValueError, match=sentence):
        guessed("How many?", truth, **how)


@pytest.mark.parametrize(
    ("answer", "how", "sentence"),
    [
        ("c", {"among": ["a", "b"]}, "'c' is not a wrong answer among|'c'"),
        ("a", {"among": ["a", "b"], "mistakes": {"d": "x"}}, "'d' is not a wrong answer"),
        ("2*x", {}, "'x', which the page cannot read"),
        ("2*x", {"of": "x", "mistakes": {"2x": "x"}}, "'2x' is no formula"),
        ("gamma(x)", {"of": "x"}, "the page cannot read"),
        ("x if x else 1", {"of": "x"}, "the page cannot read"),
        (3, {"mistakes": {3: "x"}}, "the right answer 3 is among the mistakes"),
        ([3], {"state": "shore.tide"}, "a live figure and a part of its state"),
        (3, {"state": "shore.level"}, "are a list; got 3"),
        ([3], {"state": "shore.level", "mistakes": {2: "x"}}, "no known mistakes"),
    ],
)
def test_what_makes_no_question_is_refused(answer, how, sentence):
    with pytest.raises(ValueError, match=sentence):
        asked("How many?", answer, **how)


def test_an_exercise_tells_no_answer_outside_its_fold():
    part = asked("How many?", 3.5, mistakes={2: "no"})
    assert part._repr_mimebundle_()["text/plain"] == "ask: How many?"
    assert "3.5" not in re.sub(r"<details>.*?</details>|<script.*?</script>", "", part.html, flags=re.DOTALL)
