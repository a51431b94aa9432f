"""Pictures of functions on cubes: what is drawn is read back from the axes."""

import numpy as np
import pytest
from matplotlib.colors import same_color
from scipy.spatial.distance import pdist, squareform

from foldnet import plots
from foldnet.boolean import pictures
from foldnet.boolean.functions import corners


def lines(ax) -> list[np.ndarray]:
    """The ends of each line drawn without a marker, `(2, 2)` each."""
    return [line.get_xydata() for line in ax.get_lines() if line.get_marker() == "None"]


def dots(ax) -> dict[bool, set]:
    """Places of the empty and of the filled corners, rounded."""
    drawn = [line for line in ax.get_lines() if line.get_marker() == "o"]
    return {not same_color(d.get_markerfacecolor(), "white"): set(map(tuple, d.get_xydata().round(9))) for d in drawn}


@pytest.fixture
def ax():
    fig, ax = plots.subplots()
    yield ax
    fig.clear()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_edges_join_corners_that_differ_in_one_input(n):
    apart = squareform(pdist(corners(n), "hamming")) * n
    joined = np.zeros((2**n, 2**n), dtype=bool)
    joined[tuple(pictures.edges(n).T)] = True
    assert len(pictures.edges(n)) == n * 2 ** (n - 1)
    assert np.array_equal(joined | joined.T, np.isclose(apart, 1))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_corners_are_drawn_apart_and_a_cube_by_parallel_edges(n):
    at = pictures.places(n)
    assert at.shape == (2**n, 2)
    assert n == 1 or pdist(at).min() > 0.2
    if n < 4:  # edges along one input are equal as vectors
        ways = {tuple((at[j] - at[i]).round(9)) for i, j in pictures.edges(n)}
        assert len(ways) == n
    else:  # the inner cube is the outer one, smaller
        inner, outer = at[:8], at[8:]
        assert np.allclose(inner, 0.4 * outer)
        assert np.allclose(outer, pictures.places(3))


def test_only_one_to_four_inputs_have_places():
    for n in (0, 5):
        with pytest.raises(ValueError, match=f"1 to 4 inputs; got {n}"):
            pictures.places(n)


@pytest.mark.parametrize(("f", "n"), [("0110", None), ("00010111", None), (5000, 4)])
def test_a_cube_has_its_edges_and_fills_the_ones(ax, f, n):
    pictures.cube(ax, f, n, title="a function")
    digits = f if n is None else f"{f:016b}"
    inputs = len(digits).bit_length() - 1
    at = pictures.places(inputs).round(9)
    assert dots(ax) == {bit == "1": {tuple(p) for p, d in zip(at, digits) if d == bit} for bit in "01"}
    assert len(lines(ax)) == inputs * 2 ** (inputs - 1)
    for ends in lines(ax):
        i, j = (int(np.flatnonzero(np.isclose(at, end).all(1))[0]) for end in ends)
        assert bin(i ^ j).count("1") == 1
    assert ax.get_title() == "a function"


def test_corners_may_stand_elsewhere(ax):
    at = np.array([[0, 0], [3, 1], [1, 4], [5, 5]], dtype=float)
    pictures.cube(ax, "0111", at=at)
    assert dots(ax) == {False: {(0.0, 0.0)}, True: {(3.0, 1.0), (1.0, 4.0), (5.0, 5.0)}}


def test_a_projection_puts_corners_on_one_line(ax):
    pictures.projected(ax, "0110", [2.0, 1.0], height=0.5)  # -3, -1, 1, 3: the ones lie in the middle
    assert dots(ax) == {False: {(-3.0, 0.5), (3.0, 0.5)}, True: {(-1.0, 0.5), (1.0, 0.5)}}
    assert [ends.tolist() for ends in lines(ax)] == [[[-3.0, 0.5], [3.0, 0.5]]]
