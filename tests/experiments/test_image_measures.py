"""Tables of the stored comparison, on a small one made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from experiments.image_measures import by_chance, from_row
from foldbook.stored import Row

NAMES = [f"{kind} sgd {run}" for kind in ("linear", "dense", "simple") for run in (1, 2, 3)]


def made(seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(9, 20))
    square = {k: rng.uniform(size=(9, 9)) for k in ("cka", "cka_plain", "cross", "cka_reads", "rsa")}
    result = {"names": NAMES, "right": rng.integers(50, 100, 9), "mapped": rng.integers(10, 50, (9, 9)), **square}
    result["clustered"] = rng.integers(10, 50, (9, 4))
    return rows, Row({}, {**result, "inner": rows @ rows.T, "top": rows.max(1)}, 0.0, "")


def test_measures_stand_from_row_to_column():
    rows, row = made()
    t = from_row(row)
    assert t.measures["accuracy kept"][3, 7] == row["mapped"][3, 7] / row["right"][7]
    assert t.measures["cross-entropy"][3, 7] == row["cross"][7, 3]
    assert t.measures["divergence"][3, 7] == row["cross"][7, 3] - row["cross"][7, 7]
    by_hand = ((rows[3] / rows[3].max() - rows[7] / rows[7].max()) ** 2).sum()
    assert t.measures["distance"][3, 7] == pytest.approx(by_hand)


def test_groups_runs_and_pairs():
    t = from_row(made()[1])
    assert t.at("dense sgd") == [3, 4, 5]
    assert t.at(("dense sgd", "simple sgd"), (1, 3)) == [3, 5, 6, 8]
    assert t.pairs() == [(1, 2), (2, 3), (3, 1)]
    m = t.measures["CKA"]
    assert t.between("CKA", "dense sgd", "dense sgd", (1, 2)) == pytest.approx((m[3, 4] + m[4, 3]) / 2)
    assert t.between("CKA", "dense sgd", "simple sgd", (1, 2)) == pytest.approx(m[3:5, 6:8].mean())
    assert t.over_runs("CKA", "dense sgd", "dense sgd")[2] == pytest.approx((m[3, 5] + m[5, 3]) / 2)


def test_agreement_is_scipys_and_turns_signs():
    t = from_row(made()[1])
    found = t.agreement(t.at(("dense sgd", "simple sgd")), ("CKA", "cross-entropy"))
    apart = ~np.eye(6, dtype=bool)
    a, b = (t.measures[k][3:, 3:][apart] for k in ("CKA", "cross-entropy"))
    assert found[0, 1] == pytest.approx(scipy.stats.spearmanr(a, -b).statistic)


def test_renamed_networks_keep_their_numbers_and_change_their_names():
    t = from_row(made()[1])
    other = t.renamed(("dense sgd", "simple sgd"), seed=1)
    assert sorted(other.names) == sorted(t.names)
    assert other.names != t.names
    assert other.names[:3] == t.names[:3]
    assert other.measures is t.measures


def test_chance_is_what_shuffled_names_give():
    t = from_row(made()[1])
    planted = np.add.outer([0, 0, 0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0, 0]) == 2
    t.measures["CKA"][:] = planted + 0.01 * t.measures["CKA"]

    def measured(tables):
        dense, simple = (tables["toy"].over_runs("CKA", k, k).mean() for k in ("dense sgd", "simple sgd"))
        return {"dense minus simple": dense - simple}

    groups, name = ("dense sgd", "simple sgd"), "dense minus simple"
    low = by_chance(measured, {"toy": t}, groups, small=(name,), draws=100)[name]
    high = by_chance(measured, {"toy": t}, groups, draws=100)[name]
    whole = measured({"toy": t})["dense minus simple"]
    assert -1 < low < 0 < high <= whole
    few = [measured({"toy": t.renamed(("dense sgd", "simple sgd"), seed)})["dense minus simple"] for seed in range(100)]
    assert (low, high) == pytest.approx(np.quantile(few, (0.05, 0.95)))


def test_a_name_without_a_run_is_run_one():
    row = made()[1]
    row.result["names"] = [*NAMES[:8], "lite0 sgd"]
    assert from_row(row).parts[-2:] == [("simple sgd", 2), ("lite0 sgd", 1)]
