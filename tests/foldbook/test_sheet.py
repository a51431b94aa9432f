"""The network that folds a sheet, against mirror images computed one crease after the other."""

from __future__ import annotations

import numpy as np
import pytest

from foldbook.sheet import line, sheet_network

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(-1, 1, (200, 2))
CREASES = [line(angle, offset) for angle, offset in zip(RNG.uniform(-180, 180, 4), RNG.uniform(-0.5, 0.5, 4))]


def folded(points: np.ndarray, creases) -> np.ndarray:
    """A point below a crease goes to its mirror image."""
    for normal, offset in creases:
        u = points @ np.array(normal) - offset
        points = points - np.outer(np.where(u < 0, 2 * u, 0), normal)
    return points


@pytest.mark.parametrize("folds", range(5))
def test_whole_folds_are_mirror_images(folds):
    want, (normal, offset) = folded(POINTS, CREASES[:folds]), line(30, 0.2)
    assert np.allclose(sheet_network(CREASES, None, folds)(POINTS), want, atol=1e-12)
    net = sheet_network(CREASES, (normal, offset), folds)
    assert net.sizes == (2, *[4] * folds, 1)
    assert np.allclose(net(POINTS)[:, 0], want @ np.array(normal) - offset, atol=1e-12)


def test_without_a_number_all_folds_are_made():
    assert np.allclose(sheet_network(CREASES)(POINTS), folded(POINTS, CREASES), atol=1e-12)


def test_half_way_the_turning_part_stands_upright_over_its_crease():
    (normal, offset), shadow = CREASES[0], sheet_network(CREASES, None, 0.5)(POINTS).numpy()
    u = POINTS @ np.array(normal) - offset
    assert np.allclose((shadow @ np.array(normal) - offset)[u < 0], 0, atol=1e-12)
    assert np.allclose(shadow[u >= 0], POINTS[u >= 0], atol=1e-12)
