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


@pytest.mark.parametrize(("n", "m"), [(2, 3), (2, 4), (3, 4), (4, 6)])
def test_slopes_are_the_derivatives(n, m):
    """Central differences of `radii`, where no corner goes from one set of neurons to another within the step."""
    rows, step, missed = closed(n, m, 3), 1e-6, 0
    slopes = fences.with_slopes(rows[:, :-1], rows[:, -1])[2]
    for k in range(rows.size):
        up, down = (np.concatenate(fences.radii(r[:, :-1], r[:, -1])) for r in (rows.copy(), rows.copy()))
        for sign in (1, -1):
            moved = rows.copy()
            moved.flat[k] += sign * step
            values = np.concatenate(fences.radii(moved[:, :-1], moved[:, -1]))
            up, down = (values, down) if sign > 0 else (up, values)
        by_hand = (up - down) / (2 * step)
        missed = max(missed, np.abs(by_hand - slopes[:, k]).max() / (1 + np.abs(by_hand).max()))
    assert missed < 1e-5


def test_one_corner_and_one_face_bound_the_ratio_from_below():
    rng = np.random.default_rng(1)
    for n, m in ((2, 3), (3, 5), (4, 5)):
        rows = closed(n, m, int(rng.integers(100)))
        whole = np.rint(fences.UNIT * rows).astype(int).tolist()
        full, sets = fences.exact(whole), fences._sets(m, n)
        assert fences.exact(whole, *fences._extremes(whole)) == full
        for _ in range(20):
            assert fences.exact(whole, int(rng.integers(len(sets[0]))), int(rng.integers(len(sets[1])))) <= full


def test_the_uniform_one_has_the_ratio_of_the_chapter():
    for n in range(2, 9):
        assert math.sqrt(fences.uniform(n)) == pytest.approx(annulus.expanded_ratio(n), rel=1e-12)


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


def test_a_cell_counts_all_its_searches(monkeypatch):
    monkeypatch.setitem(fences.COUNTS, (2, 3), 10)
    row = fences.cell(2, 3, 0)
    assert row["certified"] + row["failed"] == sum(row["often"]) + row["others"] + row["failed"] == 10
    assert row["ratio"][0] == pytest.approx(annulus.expanded_ratio(2), abs=1e-4)
    assert 0 <= row["over"] == pytest.approx(float(fences.exact(row["best"]) / fences.uniform(2) - 1), rel=1e-2)


def test_the_stored_searches_are_complete_and_their_best_fences_certified():
    """Every ratio that a row calls its best is that of the fence beside it, without rounding."""
    rows = stored("fences").rows
    assert [row.cell for row in rows] == fences.cells()
    for row in rows:
        n, m = row.cell["inputs"], row.cell["neurons"]
        size = fences.COUNTS[n, m]
        assert row["certified"] == sum(row["often"]) + row["others"] == size - row["failed"]
        square = fences.exact(row["best"].tolist())
        assert math.sqrt(square) == pytest.approx(row["ratio"][0], abs=1e-4)
        assert float(square / fences.uniform(n) - 1) == pytest.approx(row["over"], rel=1e-2)


def test_no_stored_search_of_n_plus_1_neurons_is_below_the_uniform_one():
    for row in stored("fences").rows:
        if row.cell["neurons"] == row.cell["inputs"] + 1:
            assert 0 <= row["over"] < 1e-5
