"""Fences around a ball: radii against the corners of networks, exact radii against floats, and where searches end."""

import math

import numpy as np
import pytest

from experiments import fences
from foldbook.chapters import annulus
from foldbook.stored import stored
from foldnet.nets import ReLUNet


def closed(n, m, seed):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(m, n))
    while not fences._closed(u):
        u = rng.normal(size=(m, n))
    return np.round(np.column_stack([u, 0.1 * rng.normal(size=m)]), 3)


@pytest.mark.parametrize(("n", "m"), [(2, 3), (2, 5), (3, 4), (3, 5), (4, 6)])
def test_radii_are_those_of_the_network(n, m):
    """Corners by `boundary_corners`, faces by the convex hull of them."""
    for seed in range(5):
        rows = closed(n, m, seed)
        corners = annulus.boundary_corners(ReLUNet([rows[:, :-1], np.ones((1, m))], [rows[:, -1], [-1.0]]))
        near, far = fences.radii(rows[:, :-1], rows[:, -1])
        assert far.max() == pytest.approx(np.linalg.norm(corners, axis=1).max())
        assert near.min() == pytest.approx(annulus.facets(corners)[1].min())
        assert len(set(far[far > 0].round(9))) == len(set(np.linalg.norm(corners, axis=1).round(9)))
        whole = np.rint(fences.UNIT * rows).astype(int).tolist()
        assert math.sqrt(fences.exact(whole)) == pytest.approx(far.max() / near.min(), rel=1e-12)


def test_a_batch_is_its_members():
    rows = np.stack([closed(3, 5, seed) for seed in range(3)])
    together = fences.radii(rows[..., :-1], rows[..., -1])
    for i, each in enumerate(rows):
        for one, all_of_them in zip(fences.radii(each[:, :-1], each[:, -1]), together):
            assert np.allclose(one, all_of_them[i], rtol=1e-12)


def test_the_square_has_its_ratio_exactly():
    rows = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]
    assert fences.exact([[fences.UNIT * v for v in row] for row in rows]) == 2


def test_what_has_no_radii_is_refused():
    unit = fences.UNIT
    with pytest.raises(ValueError, match="not closed"):
        fences.exact([[unit, 0, 0], [0, unit, 0], [unit, unit, 0]])
    with pytest.raises(ValueError, match="0 is not inside"):
        fences.exact([[unit, 0, 2 * unit], [-unit, 0, 0], [0, unit, 0], [0, -unit, 0]])


def test_most_searches_in_the_plane_end_at_the_hexagon_and_none_below():
    rng = np.random.default_rng(0)
    ends = [fences.search(2, 3, rng)[0] for _ in range(8)]
    assert min(ends) == pytest.approx(annulus.expanded_ratio(2), abs=1e-6)
    assert sum(abs(end - min(ends)) < 1e-6 for end in ends) >= 4


def test_a_search_that_ended_goes_on_where_it_stopped():
    """The octagon, a little spoiled, comes back; so a search that was cut short loses nothing."""
    octagon = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]) * (1 + math.sqrt(0.5))
    spoiled = octagon + 0.02 * np.random.default_rng(0).normal(size=octagon.shape)
    ratio, rows = fences.settled(spoiled, np.full(4, -math.sqrt(0.5)))
    assert ratio == pytest.approx(1 / math.cos(math.pi / 8), abs=1e-7)
    assert fences.radii(rows[:, :-1], rows[:, -1])[1].max() == pytest.approx(1)


def test_the_stored_searches_are_complete_and_their_best_fences_certified():
    """Every ratio that a row calls its best is that of the fence beside it, without rounding."""
    rows = stored("fences").rows
    assert [row.cell for row in rows] == fences.cells()
    for row in rows:
        size = fences.COUNTS[row.cell["inputs"], row.cell["neurons"]] // fences.BLOCKS
        assert len(row["ratio"]) == size
        assert list(row["ratio"]) == sorted(row["ratio"])
        assert math.sqrt(fences.exact(row["best"].tolist())) == pytest.approx(row["ratio"][0], rel=5e-7)


def test_no_stored_search_of_n_plus_1_neurons_is_below_the_uniform_one():
    for row in stored("fences").rows:
        if row.cell["neurons"] == row.cell["inputs"] + 1:
            uniform = annulus.expanded_ratio(row.cell["inputs"])
            assert uniform - 1e-7 < row["ratio"][0] < uniform + 1e-6
