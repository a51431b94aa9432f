"""The large run: its arms, each network independent of its neighbours."""

import pytest
import torch

from experiments import fold_utilization as run
from foldnet.growth.typical import accuracy


@pytest.mark.parametrize("arm", run.ARMS[2:])
def test_every_arm_adds_one_unit_and_at_most_a_tenth(arm):
    small = run.start(2, 0, 12)
    x, y = run.data("sine", 0)
    grown = run.grown(small, arm, "sine", 0)
    assert grown.sizes == (2, 3, 2)
    assert (grown(x) - small(x)).abs().max() <= 0.1 + 1e-5
    assert torch.equal(grown.weights[0][:, :2], small.weights[0])
    first = run.grown(small[:5], arm, "sine", 0)
    assert torch.allclose(first.weights[0], grown.weights[0][:5])
    assert run.scores(grown, "sine", 0) == [round(300 * a) for a in accuracy(grown, x, y).tolist()]


def test_a_summary_counts_every_network_once():
    nets = run.start(3, 0, 80)
    every = run.scores(nets, "sine", 0)
    found = run.summary(nets, "sine", 0)
    assert found["first"] == every[:64]
    for needed in (0, 100, 150, 301):
        assert run.successes(found, needed) == sum(score >= needed for score in every)


def test_cells_name_a_thousand_networks_for_each_arm_task_and_data_set():
    cells = run.cells()
    assert len(cells) == len(run.LOSSES) * 2 * run.BLOCKS
    assert run.NETWORKS == 1000
    with pytest.raises(ValueError, match="a grown arm is one of"):
        run.grown(run.start(2, 0, 2), "nothing", "sine", 0)


def test_what_a_chapter_repeats_is_trained_on_the_cpu(monkeypatch):
    monkeypatch.setattr(run, "device", lambda: "nowhere")
    assert run.train(run.start(2, 0, 3), "sine", 0, epochs=2).device.type == "cpu"
    with pytest.raises(RuntimeError, match="nowhere"):
        run.train(run.start(2, 0, run.FIRST + 1), "sine", 0, epochs=2)
