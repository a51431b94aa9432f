"""The live race: its training is that of the stored race, step by step, and a finished race is counted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foldnet.growth.minibatches import Training
from foldnet.growth.tasks import sine
from foldnet.growth.widen import widen
from foldnet.nets import ReLUNet

pytestmark = pytest.mark.browser

TRAINED = """async ([address, weights, biases, x, y, row, bias, out, steps]) => {
  const race = await import(address + "core/race.js"), net = await import(address + "core/net.js");
  const data = { x: Float64Array.from(x.flat()), y: Float64Array.from(y) };
  const runner = new race.Runner(net.network(weights, biases), data, 0.01);
  for (let k = 0; k < steps; k++) runner.step();
  runner.become(net.widen(runner.net, 0, row, bias, [out]));
  for (let k = 0; k < steps; k++) runner.step();
  return [...runner.net.theta];
}"""


def test_it_trains_as_the_stored_race_does(core, core_address):
    """Adam with a fresh memory for what is new: 30 steps, one more neuron, 30 steps."""
    x, y = sine(60, seed=3)
    net = ReLUNet.random((2, 3, 1), batch=1, seed=5)
    row, bias, out = [0.3, -0.7], 0.2, -0.4
    training = Training(net, x[None], y.double()[None, :, None], loss="bce", lr=0.01, batch_size=None)
    training.train(30)
    new = (torch.tensor(part, dtype=torch.float64) for part in ([[row]], [[bias]], [[[out]]]))
    training.become(widen(training.net, 0, *new))
    training.train(30)
    weights, biases = ([part[0].tolist() for part in parts] for parts in (net.weights, net.biases))
    given = [core_address, weights, biases, x.tolist(), y.tolist(), row, bias, out, 30]
    np.testing.assert_allclose(core.page.evaluate(TRAINED, given), training.net.vector()[0], rtol=0, atol=1e-10)


def test_a_finished_race_is_counted(show):
    window = show("race", steps=2900)
    assert "No race" in window.readout()
    window.button("300 steps").click()
    window.said("1 race run")
    assert "3000 of 3000 steps" in window.readout()
    assert window.page.get_by_role("img", name="grown by dice: 8 neurons").count() == 1
    lead = window.state()["leads"]
    assert len(lead) == 1
    assert abs(lead[0]) < 50
    window.button("Next race").click()
    window.said("New points")
    assert "0 of 3000 steps" in window.readout()
    assert len(window.state()["leads"]) == 1
    assert not window.errors
