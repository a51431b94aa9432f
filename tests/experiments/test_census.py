"""The census: its functions against counts of their own, its cells beside plain training, and a small run from start to end."""

import itertools
import json

import numpy as np
import pytest

from experiments import _census, _command, _storing, census, census_again, census_settings, census_six, census_swaps, runner
from foldbook.chapters import census as chapter
from foldbook.chapters import training
from foldbook.stored import stored
from foldnet.boolean.functions import fourier, truth_tables
from foldnet.boolean.swaps import swaps
from foldnet.boolean.training import TrainingOutcome, train_many


@pytest.fixture
def small(monkeypatch):
    """Some random functions, none of them chosen by the runs, and a few starts of each."""
    some = lambda n, count: np.random.default_rng([n, 7]).integers(0, 2, (count, 2**n), dtype=np.uint8)  # noqa: E731
    monkeypatch.setattr(_census, "TRIALS", 6)
    for run in (census, census_settings):
        monkeypatch.setattr(run, "five", lambda every: some(5, 40))
    monkeypatch.setattr(census_six, "six", lambda: some(6, 40))
    monkeypatch.setattr(census_six, "OF_EACH", 10)
    for run in (census, census_settings, census_six):
        monkeypatch.setattr(run, "EPOCHS", 60)
    monkeypatch.setattr(census, "LONG", 90)


def test_cells_are_those_of_the_protocol():
    five = [c for c in census.cells() if c["task"] == "training"]
    assert {(c["activation"], c["width"], c["epochs"]) for c in five} == {
        (a, w, e) for a in _census.ACTIVATIONS for w, e in [*itertools.product((3, 4, 5, 6, 8), [1000]), (4, 4000)]
    }
    settings = census_settings.cells()
    assert len({json.dumps(c) for c in settings}) == len(settings) == 900
    assert [len({c[name] for c in settings if not c["batch"]}) for name in census_settings.NAMES] == [6, 2, 2, 6, 3, 2, 2, 1]
    assert {(c["activation"], c["width"]) for c in census_six.cells()} == set(itertools.product(_census.ACTIVATIONS, range(4, 9)))


def test_a_run_of_each_from_start_to_end(small, monkeypatch, tmp_path):
    """Through the command, a part first, then all, and stored: what is read back are the counts of plain training."""
    monkeypatch.setattr(_command.paths, "repository", lambda: tmp_path)
    monkeypatch.setattr(_command.paths, "book", lambda: tmp_path / "book")
    usual = {"lr": 0.025, "scale": 1.0, "biases": "torch", "low": -1, "optimizer": "adam"}
    chosen = [c for c in census_settings.cells() if all(c[k] == v for k, v in usual.items())]
    monkeypatch.setattr(census_settings, "cells", lambda: chosen)
    monkeypatch.setattr(census, "WIDTHS", (4, 8))
    monkeypatch.setattr(census_six, "WIDTHS", (6, 4))
    names = {"census": "width=8", "census_settings": "loss=mse", "census_six": "activation=tanh"}
    kept = {"census": 5, "census_settings": 14, "census_six": 3}  # of 40, where not all are
    for name, part in names.items():
        assert _command.command(name, only=(part,)) == 0
        assert _command.command(name, store=True) == 0
        found = stored(name, tmp_path / "book" / "data" / f"{name}.jsonl")
        assert not found.failed
        for row in found.rows:
            if row.cell.get("task") != "swaps":
                main = name == "census" and (row.cell["width"], row.cell["epochs"]) == (4, 60)
                whole = main or (name == "census_six" and row.cell["width"] == 6)
                assert row["solved"].shape == (40 if whole else kept[name],)
                assert row["solved"].max() <= 6
    long = stored("census", tmp_path / "book" / "data" / "census.jsonl").row(activation="leaky", width=4, epochs=90)
    where = {"device": runner.device(), "engine": "cuda" if runner.device() == "cuda" else "auto"}  # a GPU draws its own starts
    again = train_many(census.five(1), 4, 1, 0.1, 6, 90, seed=100_041, **where)
    assert long["solved"].tolist() == again.counts[:: census.KEPT].tolist()
    assert ((long["times"] > 0) == (long["solved"] > 0)).all()
    six = stored("census_six", tmp_path / "book" / "data" / "census_six.jsonl").row(activation="tanh", width=6)
    assert [len(six["extreme"][k]) for k in ("parity", "majority", "bent", "threshold")] == [6, 6, 32, 64]
    assert six["extreme"]["parity"][0] == 6  # a single bit
    assert six["times"].shape == (20,)


def test_times_are_medians_of_those_that_solve():
    epochs = np.array([[11, 95, 30, 60], [100, 100, 100, 7], [100, 100, 100, 100]])
    solved = np.array([[True, True, True, False], [True, False, False, True], [False] * 4])
    assert _census.times(TrainingOutcome(solved, epochs, epochs)).tolist() == [3, 1, 0]


@pytest.mark.parametrize("loss", ["bce", "mse"])
def test_a_start_is_as_far_from_a_function_as_from_its_complement(loss):
    """The outputs begin around the place at which the classes are parted."""
    nets = _census.start("tanh", (5, 4, 1), (4000,), seed=3, biases="zero", scale=0.5, middle=0.5 * (loss == "mse"))
    outputs = nets(2 * np.eye(5) - 1)
    assert abs(float(outputs.mean()) - (0.5 if loss == "mse" else 0.0)) < 0.02
    twice = _census.start("tanh", (5, 4, 1), (4000,), seed=3, biases="zero", scale=1.0)
    assert np.allclose(twice.weights[0], 2 * nets.weights[0])


def test_functions_of_six_inputs(monkeypatch):
    monkeypatch.setattr(_census, "OF_EACH", 300)
    coins, sparse, smooth, trees = np.split(_census.six.__wrapped__(), 4)
    for part in (coins, sparse, smooth, trees):
        assert len(np.unique(part, axis=0)) == 300
        assert ((part.sum(1) > 0) & (part.sum(1) < 64)).all()
    assert abs(coins.mean() - 0.5) < 0.01
    assert set(sparse.sum(1).tolist()) == set(range(3, 33))
    above = [
        ((fourier(part) ** 2) * (np.array([bin(k).count("1") for k in range(64)]) > 2)).sum(1) for part in (coins, smooth, trees)
    ]
    assert np.quantile(above[1], 0.1) < 0.2 < np.median(above[2]) < np.median(above[0])
    bent = _census.extremes()["bent"]
    assert np.allclose(np.abs(fourier(bent)), 1 / 8)
    assert _census.extremes()["majority"].sum(1).tolist() == [63, 57, 42, 22, 7, 1]


# ---- the registered one ----------------------------------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch):
    """Some classes in the place of all, one with nine changes among the parts, and a few starts of each."""
    nine = np.concatenate([r["near_the_top"] for r in stored("swaps_classes").rows])
    nine = truth_tables(nine.astype(int), 5)
    nine = nine[np.asarray(swaps(nine)) == 9][:1]
    some = np.concatenate([np.repeat(nine, 2, axis=0), _census.five(10)[::100]])
    values = np.asarray(swaps(some))
    monkeypatch.setattr(census_again, "five", lambda every: some if every == 1 else _census.five(every))
    monkeypatch.setattr(census_settings, "five", lambda every: some[:30])
    monkeypatch.setattr(census_again, "table_of_measures", lambda: {"swaps": values})
    for run in (_census, census_again):
        monkeypatch.setattr(run, "TRIALS", 4)
    for name, value in {"EPOCHS": 200, "OF_EACH": 40, "STARTS": 8, "REACH": (5, 100), "PER": 1, "PARTS": (1, 3)}.items():
        monkeypatch.setattr(census_again, name, value)
    monkeypatch.setattr(census_settings, "EPOCHS", 200)
    census_again.known.cache_clear()
    yield some
    census_again.known.cache_clear()


def test_the_registered_run_from_start_to_end(few, tmp_path):
    """One cell of each task: what is stored are the correlations of failures that are counted again."""
    cells = [c for c in census_again.cells() if c["activation"] == "tanh" and c.get("width", 4) == 4]
    cells = [next(c for c in cells if c["task"] == task) for task in ("share", "six", "reach", "setting")]
    _storing.store_result(runner.run(cells, census_again.cell, tmp_path / "run.jsonl", progress=False), tmp_path / "book/x.jsonl")
    found = stored("x", tmp_path / "book" / "x.jsonl")
    assert found.row(task="reach")["solved"].shape == (-(-(len(few) - 5) // 100),)
    assert found.row(task="six")["ranks"].shape == found.row(task="six")["coins"].shape == (8, 20)
    row, t = found.row(task="share"), few[3::10]
    if runner.device() == "cpu":  # a GPU draws its own starts
        missed = 4 - _census.train("tanh", t, 4, 200, census_again.seed("tanh", 4, 3)).counts
        influence = training.rank_correlation(training.measures(t)["influence"], missed)
        assert abs(row["ranks"][1][census_again.SIXTEEN.index("influence")] - 1e4 * influence) < 0.51
    assert [v.sum() for v in row["maps"].values()] == [len(few[1::10]) + len(few[3::10])] * 5
    assert len(row["nine"]) == 1  # the other one stands in the part of the first run


def test_statements_are_judged_from_the_stored_run():
    """Where two predictors take each other's place, what is said of them turns."""
    run = stored("census_again")
    judged = lambda: {w: census_again.outcome(bar, v) for w, bar, v in census_again.statements(census_again.Seen(run))}  # noqa: E731
    said = judged()
    assert len(said) == 25
    assert said["weight above 2 leads influence"] == "held"
    for row in run.where(task="share"):
        row.result["ranks"] = np.array(row["ranks"])[:, [*range(2), 6, 3, 4, 5, 2, *range(7, 20)]]
    assert judged()["weight above 2 leads influence"] == "refuted"


def test_registered_parts_are_new_and_predictors_are_named():
    t = np.random.default_rng(5).integers(0, 2, (6, 32), dtype=np.uint8)
    names = ["swaps", *chapter.of_function(t), *chapter.kernels(t, "tanh", 4)]
    assert (sorted(names), set(chapter.more_of_function(t))) == (sorted(census_again.SIXTEEN), set(census_again.MORE))
    assert 0 not in census_again.PARTS  # the classes of the first run
    assert len({json.dumps(c) for c in census_again.cells()}) == len(census_again.cells())


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([0.2] * 8 + [0.05], "held"), ([0.01, 0.02] * 4 + [0.0], "refuted"), ([0.0, 0.19] * 4 + [0.0], "undecided")],
)
def test_outcomes_follow_the_rule(values, verdict):
    assert census_again.outcome({"tanh": 0.1}, {"tanh": np.array(values)}) == verdict


def test_stored_swaps_values_of_six_inputs_are_those_of_the_package():
    rows = stored("census_swaps").rows
    assert [r.cell for r in rows] == census_swaps.cells()
    for row in rows:
        assert row["swaps"].shape == (200,)
        again = _census.six()[:: census_swaps.EVERY][row.cell["part"] :: census_swaps.PARTS][[40, 170]]
        assert swaps(again).tolist() == row["swaps"][[40, 170]].tolist()
