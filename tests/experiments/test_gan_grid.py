"""The run behind the chapter on GANs: a killed run goes on where it stopped, and its kinds are what they are called."""

import numpy as np
import pytest
import torch
from scipy import stats

from experiments import gan_grid as run
from foldbook.chapters import gans
from foldnet.splines.gans import Games


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    for name, value in {
        "SEEDS": 3,
        "WIDTH": 8,
        "BATCH": 16,
        "CHUNK": 5,
        "SAMPLES": 400,
        "MARKS": (10, 20),
        "LONGER": (30,),
    }.items():
        monkeypatch.setattr(run, name, value)


@pytest.mark.parametrize("rule", ["simultaneous", "ridge", "guarded"])
def test_a_run_in_parts_is_the_run_at_once(tmp_path, rule):
    run.cell(rule, 10, 2, tmp_path / "parts")
    parts, whole = run.cell(rule, 20, 2, tmp_path / "parts"), run.cell(rule, 20, 2, tmp_path / "whole")
    assert parts == whole
    assert parts["covered"].keys() == run.KINDS.keys()
    assert len(parts["shares"]["sgd wide"][0]) == 9
    with pytest.raises(ValueError, match="has 2 seeds, and 3 are asked for"):
        run.cell(rule, 20, 3, tmp_path / "whole")


def test_a_step_is_that_of_the_game_and_kinds_share_their_data():
    games = run.start(2)
    before = games.x.clone()
    assert torch.equal(before[:2], before[2:4])
    run.play(games, 2, torch.Generator().manual_seed(7), 10, "simultaneous")
    real, noise = (torch.cat(both)[:, :2] for both in zip(*(run.batches(torch.Generator().manual_seed(k)) for k in (2020, 7))))
    for kind, (scaled, scale) in enumerate(run.KINDS.values()):
        twin = run.start(2)
        rows = slice(2 * kind, 2 * kind + 2)
        one = Games.start(twin.generator()[rows], twin.discriminator()[rows], torch.full((2,), float(scaled)))
        for k in range(10):
            one.step(real[k], scale * noise[k], 1e-3)
        torch.testing.assert_close(one.x, games.x[rows], atol=1e-6, rtol=0)


def test_fewer_seeds_are_the_first_of_many():
    few, many = run.start(2), run.start(3)
    for games, seeds in ((few, 2), (many, 3)):
        run.play(games, seeds, torch.Generator(), 5, "ridge")
    torch.testing.assert_close(few.x.unflatten(0, (4, 2)), many.x.unflatten(0, (4, 3))[:, :2])


def test_measures_are_those_of_the_generator():
    games = run.start(2)
    found = run.measure(games)
    source = torch.Generator().manual_seed(1)
    noise = torch.randn(400, 2, generator=source)
    net = games.generator()[0]
    assert found["quality"][0].item() == pytest.approx(gans.quality(run.grid().shares(net(0.1 * noise))).item())
    assert found["steep"][0].item() == pytest.approx(
        torch.linalg.matrix_norm(net.jacobian(0.1 * noise), 2).max().item(), rel=1e-5
    )
    assert (found["folds"][4:] > found["folds"][:4]).all()  # wide noise meets more folds


def test_intervals_are_students():
    values = np.random.default_rng(0).normal(size=10)
    mean, low, high = run.interval(values)
    assert (low, high) == pytest.approx(stats.t.interval(0.95, 9, mean, stats.sem(values)))


def test_marks_are_whole_graphs():
    assert all(c["steps"] % run.CHUNK == 0 for c in run.cells())
