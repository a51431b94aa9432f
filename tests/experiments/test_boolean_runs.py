"""The large runs of the Boolean part: one small cell of each, beside brute force and what is stored."""

import functools
from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr

from experiments import boolean_training, five_inputs, parity_width, swaps_classes, xor_optima
from foldbook.chapters import training
from foldbook.stored import Row, Stored, stored
from foldnet.boolean import functions, swaps
from foldnet.boolean.training import train_many


@pytest.mark.parametrize(("width", "leak"), [(1, "0"), (1, "1/2"), (2, "0"), (2, "1/10")])
def test_parity_width_of_two_bits_is_what_small_whole_weights_say(width, leak):
    slope = {"0": 0.0, "1/10": 0.1, "1/2": 0.5}[leak]
    x = np.array(list(product((0, 1), repeat=2)))
    wanted = x.sum(1) == 1
    nodes = np.array([x @ w[:2] + w[2] for w in product((-1, 0, 1), repeat=3)])
    nodes = np.where(nodes > 0, nodes, slope * nodes)
    found = False
    for chosen in product(nodes, repeat=width):
        for out in product((-4, -3, -2, -1, 1, 2, 3, 4), repeat=width):
            sums = np.asarray(out) @ np.array(chosen)  # a bias parts them if the ones lie above all the others
            found |= sums[wanted].min() > sums[~wanted].max()
    cell = {"n": 2, "width": width, "leak": leak}
    assert cell in parity_width.cells()
    result = parity_width.cell(**cell)
    assert result["solvable"] == bool(found) == (width == 2)
    assert result == stored("parity_width").row(**cell).result


def test_a_cell_of_xor_optima_counts_every_network_once(monkeypatch):
    monkeypatch.setattr(xor_optima, "initial", functools.partial(xor_optima.initial, networks=1000))
    found = xor_optima.cell(**xor_optima.setup())
    nets = xor_optima.train(xor_optima.initial("torch", "double", 0))
    x, y = np.array([-1.0, 0.0, 0.0, 1.0]), np.array([-1.0, 1.0, 1.0, -1.0])
    losses = ((nets(x[:, None]).numpy()[..., 0] - y) ** 2).sum(-1)
    counted = [int((np.abs(losses - level) < 1e-2).sum()) for level in (0, 8 / 3, 4)]
    assert found["levels"][:3] == counted
    assert sum(found["levels"]) == sum(found["cases"]) == len(found["first"]) == 1000
    assert found["cases"] == np.bincount(found["first"], minlength=169).tolist()
    assert all(rows <= regions for rows, regions in zip(found["rows"], found["regions"]))
    before = stored("xor_optima").row(**xor_optima.setup()).result["first"]
    assert np.mean(np.array(before) == found["first"]) > 0.99  # a sign near zero may fall either way on another machine


def test_boolean_training_has_every_shape_once_and_the_small_ones_first():
    cells = boolean_training.cells()
    four = [c for c in cells if c["task"] == "classes" and c["biases"] == "torch"]
    assert len({(c["leak"], c["width"], c["depth"]) for c in four}) == len(four) == 2 * 45
    assert min(c["trials"] for c in four) == 1000
    assert {(c["width"], c["depth"]) for c in four if c["trials"] == 10_000} >= {(3, 1), (2, 2), (4, 1), (3, 2)}
    assert cells[0]["trials"] == 10_000


def test_a_cell_of_boolean_training_counts_by_class():
    cell = boolean_training.classes_cell(0.1, 3, 1) | {"trials": 4}
    found = boolean_training.cell(**cell, epochs=300)
    again = train_many(functions.truth_tables(functions.npn_classes(4), 4), 3, 1, 0.1, 4, 300, seed=31_500)
    assert found["solved"].tolist() == again.solved.sum(1).tolist() == found["first"].tolist()
    assert found["epochs"].tolist() == sorted(found["epochs"].tolist())
    hard = np.argmax(functions.npn_classes(4) == 27030)
    assert found["solved"][hard] < found["solved"].mean()


def test_the_cells_of_more_inputs():
    found = boolean_training.cell(task="families", inputs=5, width=3, depth=1, trials=2, epochs=40)
    assert len(found["solved"]) == len(found["right"]) == 323
    assert (found["right"] >= 10).all()
    assert (found["right"] <= 32).all()
    assert len(boolean_training.cell(task="sizes", inputs=6, width=2, depth=2, functions=3, trials=2, epochs=10)["solved"]) == 4


def test_a_cell_of_five_inputs(monkeypatch, tmp_path):
    some = functions.npn_classes(5)[::7000]
    t = functions.truth_tables(some, 5)
    known = {"number": some.astype(np.uint32), "swaps": swaps.swaps(t).astype(np.uint8), **training.measures(t)}
    monkeypatch.setattr(five_inputs, "table_of_measures", lambda: known)
    found = five_inputs.cell(0.1, 4, 1, every=1, epochs=250, trials=6)
    again = train_many(t, 4, 1, 0.1, 6, 250, seed=41_500).counts
    assert found["solved"].tolist() == again.tolist()
    assert found["sample"].tolist() == again[::20].tolist()
    assert found["mean"] == pytest.approx(again.mean() / 6, rel=1e-5)
    for name, (unit, _) in five_inputs.BINS.items():
        assert found["by"][name].sum() == len(some)
        assert (found["by"][name].sum(0) == np.bincount(again, minlength=7)).all()
        mean = (found["by"][name].sum(1) * np.arange(len(found["by"][name]))).sum() / len(some)
        assert mean == pytest.approx(np.floor(known[name] * unit + 1e-9).mean())
        tied = np.round(known[name].astype(float), 6)  # equal up to rounding, which is another on each processor
        assert found["ranks"][name] == pytest.approx(spearmanr(tied, again)[0], abs=1e-5)
    assert [row[1] for row in found["hardest"]] == sorted(again)[:20]
    assert found["easiest"][0][1] == again.max()
    assert "solved" not in five_inputs.cell(0.0, 3, 1, every=1, epochs=5, trials=2)


def test_measures_of_five_inputs_are_made_once_and_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(five_inputs.paths, "repository", lambda: tmp_path)
    monkeypatch.setattr(five_inputs, "npn_classes", lambda n: np.array([1, 27030, 2**31], dtype=np.uint64))
    five_inputs.table_of_measures.cache_clear()
    known = five_inputs.table_of_measures()
    five_inputs.table_of_measures.cache_clear()
    monkeypatch.setattr(five_inputs, "npn_classes", lambda n: [])
    again = five_inputs.table_of_measures()
    five_inputs.table_of_measures.cache_clear()
    assert known.keys() == again.keys() == {"number", *five_inputs.NAMES}
    assert not any(column.flags.writeable for column in (*known.values(), swaps_classes.chosen_orders(3)))
    assert all(np.array_equal(known[k], again[k]) for k in known)
    assert known["swaps"].tolist() == [swaps.swaps(int(f), 5) for f in (1, 27030, 2**31)]


def test_every_five_input_class_is_trained_in_every_main_cell():
    cells = five_inputs.cells()
    assert {(c["leak"], c["width"]) for c in cells if c["depth"] == 1 and c["every"] == 1} == {
        (leak, w) for leak in (0.0, 0.1) for w in range(3, 9)
    }
    assert any(c["depth"] == 2 for c in cells)
    assert len(cells) == len({str(c) for c in cells})


def test_rates_and_hardest_counts_go_by_shape():
    row = lambda w, d, solved: Row({**boolean_training.classes_cell(0.1, w, d), "trials": 10}, {"solved": solved}, 1.0, "")  # noqa: E731
    one, two = np.full(222, 10), np.full(222, 10)
    one[[3, 5]], two[5] = 2, 9
    found = boolean_training.rates(Stored([], [row(2, 1, one), row(10, 5, two)]), 0.1)
    assert found.shape == (9, 5, 222)
    assert (found[0, 0] == one / 10).all()
    assert (found[8, 4] == two / 10).all()
    assert np.isfinite(found).sum() == 2 * 222
    certain = np.stack([(one < 10) * 0.0 + (one == 10), np.ones(222)])  # rates 0 and 1 leave nothing to chance
    counts = boolean_training.hardest_counts(certain)
    assert counts[3] == counts[5] == 1  # where nobody fails, nobody is hard
    assert not np.delete(counts, [3, 5]).any()
