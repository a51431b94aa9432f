"""The run behind the searched angle: a small cell of it, and what its arms have in common."""

import torch

from experiments import fold_scanned as run


def test_arms_differ_in_the_new_neuron_alone(monkeypatch):
    monkeypatch.setattr(run.runs, "EPOCHS", 400)
    result = run.cell("sine", 1, networks=8)
    assert set(result["scores"]) == {"scanned fold", "fold", "random unit"}
    assert all(len(right) == 8 and max(right) <= run.runs.POINTS for right in result["scores"].values())
    small = run.runs.parents("sine", 1, 8)
    searched, usual = run.scanned(small, "sine", 1), run.runs.grown(small, "fold", "sine", 1)
    assert (searched.weights[0][:, :2] == usual.weights[0][:, :2]).all(), "the old neurons are the same"
    assert not torch.allclose(searched.weights[0][:, 2], usual.weights[0][:, 2])
