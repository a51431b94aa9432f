"""The run behind the wandering fold: a small cell of each kind, and what its numbers must say."""

import pytest
import torch

from experiments import fold_wander as run


@pytest.mark.parametrize("way", run.WAYS)
def test_every_way_starts_at_its_fold_point_with_the_same_parents(way, monkeypatch):
    monkeypatch.setattr(run.runs, "EPOCHS", 600)
    run.parents.cache_clear()
    result = run.cell("sine", 1, way, networks=12, marks=(0, 10))
    run.parents.cache_clear()
    count = result["networks"]
    assert count == len(result["right_before"]) == len(result["right_after"]) == len(result["last_distance"]) > 5
    assert result["within"][0] == count
    assert result["distance"][0][2] < 1e-3
    assert 0 < result["angle"][0][1] < 60
    # what is held decides whether the kink can move
    still = way == "old and row held"
    assert (max(result["last_distance"]) < 1e-3) == still
    assert (result["line"][1][1] < 1e-4) == ("row held" in way)


def test_quartiles_are_those_of_numpy():
    values = torch.tensor([3.0, 1.0, 2.0, 5.0, 4.0])
    assert run.quartiles(values) == [2.0, 3.0, 4.0]
    assert len(run.cells()) == 2 * 5 * len(run.WAYS)
