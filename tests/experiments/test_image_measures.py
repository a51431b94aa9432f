"""Tables of the stored comparison, on a small one made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from foldnet.data import Row
from foldnet.experiments.image_measures import from_row

NAMES = [f"{kind} sgd {run}" for kind in ("linear", "dense", "simple") for run in (1, 2, 3)]


def made(seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(9, 20))
    square = {k: rng.uniform(size=(9, 9)) for k in ("cka", "cka_plain", "cross", "cka_reads", "rsa")}
    result = {"names": NAMES, "right": rng.integers(50, 100, 9), "mapped": rng.integers(10, 50, (9, 9)), **square}
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
    found = t.agreement(("dense sgd", "simple sgd"), (1, 2, 3), ("CKA", "cross-entropy"))
    apart = ~np.eye(6, dtype=bool)
    a, b = (t.measures[k][3:, 3:][apart] for k in ("CKA", "cross-entropy"))
    assert found[0, 1] == pytest.approx(scipy.stats.spearmanr(a, -b).statistic)
