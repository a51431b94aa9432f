"""The large runs of the Boolean part: one small cell of each, beside brute force and what is stored."""

import functools
from itertools import product

import numpy as np
import pytest

from foldnet.data import stored
from foldnet.experiments import parity_width, xor_optima


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
