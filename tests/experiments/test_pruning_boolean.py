"""The run behind pruning on parity: small cells of each kind."""

import numpy as np
import torch

from experiments import pruning_boolean as run
from foldnet.boolean.functions import parity
from foldnet.boolean.pruning import solves, train_on


def test_a_table_of_two_digits():
    found = run.wide(2, 0, widths=(2, 4, 6), trials=3, starts=5, epochs=400)
    pruned, successes, tried = (np.array(found[k]) for k in ("pruned", "successes", "tried"))
    assert pruned.shape == (3, 3)
    for i, w in enumerate((2, 4, 6)):
        starts = run.start((2, w, 1), 5, [1, 2, w, 0])
        right = int(solves(train_on(starts, parity(2), 400, run.SURE).net, parity(2)).sum())
        assert found["solved"][i] == right
        assert (tried[i] > 0).sum() == min(right, 3)
    assert set(pruned.flatten().tolist()) <= {0, 2, 3, 4}  # one neuron is monotone along its direction: never two digits
    assert ((successes > 0) == (pruned > 0)).all()


def test_the_costs_keep_their_books():
    found = run.cost(0, networks=40, epochs=1500, marks=5)
    n = found["solved"]
    assert 0 < n < 40
    for way in ("tuned", "rewound", "fresh"):
        assert np.shape(found["successes"][way]) == (n,)
        assert 0 < found["epochs"][way] <= 1500
    total = sum(found["successes"]["tuned"])
    assert len(found["rank"]) == len(found["after"]) == total
    assert np.array(found["curves"]).size == 6 * total
    assert found["largest"] <= n
    assert len(found["waits"]["tuned"]) == total
    assert len(found["waits"]["wide"]) == n
    small = run.direct((6,), 0.0, 0, networks=30, epochs=1500)
    assert small["networks"] == 30
    assert 10 <= small["solved"] <= 30


def test_plateaus_are_rests_at_different_heights():
    steps = lambda *parts: torch.cat([torch.full((k,), v) for k, v in parts])  # noqa: E731
    slope = torch.linspace(0.9, 0.3, 20)
    two = torch.cat([steps((10, 0.9)), slope, steps((10, 0.3)), steps((20, 0.01))])
    short = torch.cat([steps((4, 0.9)), slope, steps((4, 0.3)), steps((32, 0.01))])  # 160 epochs each
    none = torch.linspace(0.9, 0.01, 60)
    assert run.plateaus(torch.stack([two, short, none], 1), 40).tolist() == [2, 0, 0]


def test_deep_networks_end_small_and_right():
    found = run.deep(2, 4, 2, 0, networks=2, prunings=2, tuning=(30, 200))
    assert len(found["hidden"]) == 2 * found["solved"] == found["sure"]
    for hidden, steps in zip(found["hidden"], found["length"]):
        widths = [int(w) for w in hidden.split("-")]
        assert sum(widths) >= 2
        assert steps == 8 - sum(widths)


def test_the_cells_are_all_different():
    cells = run.cells()
    assert len({str(c) for c in cells}) == len(cells)
