"""How results of pruning are read: curves of accuracy, and the smallest networks of a depth."""

import numpy as np
import pytest
import torch

from foldbook.chapters.pruning import accuracy_at, knee, percent, products, smallest_widths, winners, work


def test_what_a_curve_says_of_a_network_that_shrinks():
    share = np.array([[1.0, 1.0], [0.5, 0.5], [0.25, 0.25], [0.125, 0.125]])
    accuracy = np.array([[90.0, 92.0], [90.0, 92.0], [89.5, 91.5], [88.0, 90.0]])  # one point down a third of the way
    assert knee(share, accuracy) == pytest.approx(25 * 2 ** (-1 / 3))
    assert knee(share, accuracy, lost=5) == pytest.approx(12.5)
    assert accuracy_at(25, share, accuracy).tolist() == pytest.approx([89.5, 91.5])
    assert accuracy_at(12.5 * 2**0.5, share, accuracy).tolist() == pytest.approx([88.75, 90.75])


def test_the_smallest_of_a_depth_is_the_most_frequent_of_the_smallest():
    ends = ["2-3", "3-2", "3-2", "2-4", "2-2-2", "4"]
    assert smallest_widths(ends, 2) == [3, 2]
    assert smallest_widths(ends, 3) == [2, 2, 2]
    assert smallest_widths(ends, 4) == []


def test_tickets_are_counted_by_network_and_by_how_they_begin():
    bytes_of = lambda **some: {"successes": {name: np.array(won, np.uint8) for name, won in some.items()}}  # noqa: E731  as they are stored
    rows = [bytes_of(tuned=[0, 2], rewound=[1, 1], fresh=[4, 0]), bytes_of(tuned=[1], rewound=[0], fresh=[0])]
    won = winners(rows)
    assert {name: list(some) for name, some in won.items()} == {"cut out": [0, 2, 1], "rewound": [1, 1, 0], "fresh": [4, 0, 0]}
    middle, error = percent(won["cut out"])
    assert middle == pytest.approx(5)  # 3 of 60
    assert percent(won["fresh"] - won["cut out"])[0] == pytest.approx(100 / 60)  # 4 - 3 of 60
    assert error == pytest.approx(2 * (50 / 3) ** 0.5 / 3**0.5)  # networks with 0, 10 and 5 percent


def test_a_success_is_paid_for_with_all_that_failed():
    class Run:
        def row(self, kind, block, **small):
            if kind == "cost":
                return {
                    "networks": 10,
                    "solved": 5,
                    "epochs": {"wide": 100, "tuned": 200},
                    "successes": {"tuned": [0, 3, 0, 1, 0]},
                }
            return {"networks": 50, "solved": 2 if small["leak"] else 1, "epochs": 40}

    found = work(Run(), 0)
    assert found["pruning six neurons"] == (10 * 100 * 37 + 5 * 20 * 200 * 19) / 2
    assert list(found.values())[1:] == [50 * 40 * 19, 50 * 40 * 19 / 2, 50 * 40 * 19 / 2]


def test_multiplications_are_those_of_torchs_own_layers():
    counted, x = 0, torch.zeros(1, 3, 32, 32)
    for before, after in ((3, 5), (5, 4), (4, 7)):
        layer = torch.nn.Conv2d(before, after, 3, padding=1)
        x = layer(x)
        counted += x.numel() * layer.weight[0].numel()
        x = torch.nn.functional.max_pool2d(x, 2)
    counted += 10 * x.numel()
    assert products([[5, 4, 7], [5, 4, 7]], 32, 3).tolist() == [counted, counted]
