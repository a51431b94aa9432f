"""The live figures on perceptrons and on pruning, moved as readers move them and held against the package."""

from __future__ import annotations

import numpy as np
import pytest

from foldbook.live import live
from foldnet.boolean.functions import corners, parity
from foldnet.boolean.perceptron import novikoff_bound, train_perceptron
from foldnet.boolean.pruning import solves, subnetworks, train_on
from foldnet.nets import ReLUNet, as_tensor

pytestmark = pytest.mark.browser


def clouds():
    """Points on both sides of some line, by seed."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, (a, b, c) = rng.uniform(-1.4, 1.4, (9, 2)).round(2), rng.normal(size=3)
        yield x, np.where(a * x[:, 0] + b * x[:, 1] + 0.3 * c >= 0, 1, -1)


def test_the_line_is_turned_as_the_package_turns_it(show):
    for x, t in clouds():
        run = train_perceptron(x, t, most_passes=10_000)
        window = show("perceptron", points=np.c_[x, t].tolist())
        for _ in range(run.mistakes):
            window.button("Next mistake").click()
        assert f"Settled after {run.mistakes} mistake" in window.page.locator(".readout").inner_text()
        assert window.button("Next mistake").is_disabled()
        rows = window.table()
        assert np.allclose([row[-3:] for row in rows], run.weights[-len(rows) :], atol=0.006)
        assert [int(row[1]) - 1 for row in rows[1:]] == list(run.samples)[-len(rows) + 1 :]
        said = float(window.page.locator(".drawer caption").inner_text().split()[-1])
        assert said == pytest.approx(novikoff_bound(x, t), rel=1e-3)
        assert window.errors == []


def test_no_line_for_xor_and_the_state_says_where_it_stands(show):
    points = [[-0.8, -0.8, -1], [-0.8, 0.8, 1], [0.8, -0.8, 1], [0.8, 0.8, -1]]
    window = show("perceptron", points=points, mistakes=30)
    assert "never ends" in window.page.locator(".readout").inner_text()
    assert window.state()["mistakes"] == 30
    window.button("From the start").click()
    assert window.state()["mistakes"] == 0
    assert window.readout().startswith("0 mistakes so far, 2 points of 4 wrong")


def test_the_still_of_a_line_is_the_line_after_so_many_mistakes():
    assert "7 are on its wrong side" in live("perceptron").still
    assert "0 are on its wrong side" in live("perceptron", mistakes=7).still
    assert "0 are on its wrong side" in live("perceptron", mistakes=99).still


def test_one_of_twenty_triples_learns_parity_again_as_in_python(show):
    begun = live("pruning").state
    (weights, biases) = begun["learned"]
    net = ReLUNet([as_tensor(w) for w in weights], [as_tensor(b) for b in biases])
    assert bool(solves(net, parity(4)))
    won = solves(train_on(subnetworks(net, 3), parity(4), until=0.01).net, parity(4)).int().tolist()
    assert sum(won) == 1
    window = show("pruning")
    window.button("All twenty").click()
    window.page.wait_for_function(
        "() => document.querySelector('[data-live]').shadowRoot.querySelector('.live').innerHTML.includes('of 20')"
    )
    assert window.state()["tally"]["learned"] == won
    assert window.errors == []


def test_three_are_always_kept_and_what_they_say_is_what_the_package_says(show):
    window = show("pruning", keep=[0, 1, 2])
    window.page.get_by_role("checkbox", name="neuron 5").click()
    assert window.state()["keep"] == [1, 2, 4]
    (weights, biases) = window.state()["learned"]
    some = [1, 2, 4]
    net = ReLUNet([np.array(weights[0])[some], np.array(weights[1])[:, some]], [np.array(biases[0])[some], biases[1]])
    right = int(((net(corners(4))[:, 0].numpy() > 0) == (parity(4) > 0)).sum())
    assert f"right at {right} of 16 inputs" in window.page.locator(".readout").inner_text()
