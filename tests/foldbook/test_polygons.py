"""Polygons cut by a line, against areas, random points inside, and cases that have no inside."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldbook.polygons import chord, clip

SQUARE = torch.tensor([[0.0, 0], [1, 0], [1, 1], [0, 1]]).double()


def polygon(count, seed):
    """A convex polygon: points of an ellipse, in order."""
    rng = np.random.default_rng(seed)
    turn = np.sort(rng.uniform(0, 2 * np.pi, count))
    return torch.as_tensor(np.stack([3 * np.cos(turn) + 1, np.sin(turn) - 2], 1))


def area(corners):
    if not len(corners):
        return 0.0
    x, y = corners.T
    return float((x * y.roll(-1) - y * x.roll(-1)).sum() / 2)


def inside(corners, points):
    """Left of every edge of a polygon that turns left."""
    way, off = corners.roll(-1, 0) - corners, points[:, None] - corners
    return (way[:, 0] * off[..., 1] - way[:, 1] * off[..., 0] > 0).all(-1)


@settings(deadline=None, max_examples=200)
@given(st.integers(3, 9), st.integers(0, 10_000), st.floats(0, 6.3), st.floats(-1, 1), st.sampled_from([1e-200, 1.0, 1e200]))
def test_the_two_parts_make_up_the_polygon(count, seed, angle, shift, size):
    corners = polygon(count, seed)
    function = lambda p: math.cos(angle) * (p[:, 0] - 1) + math.sin(angle) * (p[:, 1] + 2) + shift  # noqa: E731
    value = function(corners) * size
    left, right = clip(corners, value), clip(corners, -value)
    assert area(left) + area(right) == pytest.approx(area(corners), abs=1e-9)
    assert area(left) >= 0
    rng = np.random.default_rng(seed)
    points = torch.as_tensor(rng.dirichlet(np.ones(count), 50)) @ corners
    clear = function(points).abs() > 1e-9
    if len(left) and len(right):
        assert torch.equal(inside(left, points)[clear], (function(points) > 0)[clear] & inside(corners, points)[clear])
        # the cut has the same two ends on both sides, to the last bit, and they are those of the chord
        ends = {tuple(p) for p in left.tolist()} & {tuple(p) for p in right.tolist()}
        assert ends == {tuple(p) for p in chord(corners, value).tolist()}


@pytest.mark.parametrize(
    ("corners", "value", "part", "cut"),
    [
        (SQUARE, [0.0, 1, 1, 0], SQUARE.tolist(), [[0, 0], [0, 1]]),  # an edge on the line, all on the positive side
        (SQUARE, [0.0, -1, -1, 0], [], [[0, 0], [0, 1]]),  # only an edge is not negative
        (SQUARE, [0.0, -1, -2, -1], [], []),  # only a corner is not negative
        (SQUARE, [0.0, 1, 2, 1], SQUARE.tolist(), []),
        (SQUARE, [0.0, 1, 0, -1], [[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 1]]),  # through two corners
        (SQUARE, [0.0, 0, 0, 0], [], []),  # 0 everywhere is no segment
        (SQUARE, [1.0, 1, 1, 1], SQUARE.tolist(), []),
        (SQUARE, [-1.0, -1, -1, -1], [], []),
        (SQUARE, [1e-17, 1, 1, -1e-17], SQUARE.tolist(), [[0, 0], [0, 1]]),  # rounding is not a sliver
        (SQUARE[[0, 0, 1, 2, 2, 3]], [-1.0, -1, 1, 1, 1, -1], [[0.5, 0], [1, 0], [1, 1], [0.5, 1]], [[0.5, 0], [0.5, 1]]),
        ([[0.0, 0], [1, 0], [2, 0]], [-1.0, 0, 1], [], []),  # no area: no inside on any side
        ([[0.0, 0], [2, 0]], [-1.0, 1], [], []),  # a segment
        ([[1.0, 1]], [1.0], [], []),
        (torch.zeros(0, 2), [], [], []),
        ([[0, 0], [2, 0], [2, 2], [0, 2]], [-1, 1, 1, -1], [[1, 0], [2, 0], [2, 2], [1, 2]], [[1, 0], [1, 2]]),  # whole numbers
        (
            [[0.0, 0], [1, 0], [2, 0], [2, 2], [0, 2]],
            [0.0, 0, 0, 2, 2],
            [[0, 0], [1, 0], [2, 0], [2, 2], [0, 2]],
            [[0, 0], [2, 0]],  # the whole edge, not the half up to the corner inside it
        ),
    ],
)
def test_degenerate_cases(corners, value, part, cut):
    assert clip(corners, value).tolist() == part
    assert sorted(chord(corners, value).tolist()) == sorted(cut)


def test_dtype_is_kept_and_bad_shapes_are_refused():
    assert clip(SQUARE.float(), [0, 1, 1, 0]).dtype == torch.float32
    assert chord(SQUARE.float(), [-1, 1, 1, -1]).dtype == torch.float32
    with pytest.raises(ValueError, match=r"corners \(n, 2\) and a value for each"):
        clip(SQUARE, [1.0, 2.0])
    for function in (clip, chord):
        with pytest.raises(ValueError, match="NaN or infinite"):
            function(SQUARE, [1.0, math.nan, -1, -1])
        with pytest.raises(ValueError, match="NaN or infinite"):
            function([[0.0, 0], [math.inf, 0], [0, 1]], [1.0, -1, -1])
