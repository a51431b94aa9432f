"""The sums of distances and the staircase that the pages compute are those of the package."""

from __future__ import annotations

import numpy as np
import pytest

from foldbook.chapters.gans import lost_by_staircase
from foldnet.splines.creases import polyharmonic

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def distances(core, core_address):
    """Calls an expression of the module `live/core/distances.js`, as `m`, with arguments by name."""

    def call(expression: str, **arguments):
        names = ", ".join(arguments)
        body = f"async ({{{names}}}) => {{ const m = await import('{core_address}core/distances.js'); return {expression}; }}"
        return core.page.evaluate(body, arguments)

    return call


@pytest.mark.parametrize("power", [0, 0.4, 1, 1.6, 2, 3])
def test_the_surface_is_the_law_of_the_package(distances, power):
    rng = np.random.default_rng(3)
    points, at = rng.normal(size=(25, 3)), rng.normal(size=(10, 2))
    want = polyharmonic(points[:, :2], points[:, 2], power + 1.0)(at).numpy()
    found = distances("at.map(m.surface(points, power))", points=points.tolist(), at=at.tolist(), power=power)
    np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-7 * np.abs(want).max())  # the systems are badly scaled
    other = polyharmonic(points[:, :2], points[:, 2], power + 1.13)(at).numpy()
    assert np.abs(np.array(found) - other).max() > 1e-3


def test_a_power_without_a_law_is_refused(distances):
    with pytest.raises(Exception, match="even power of distances"):
        distances("m.surface([[0, 0, 1], [1, 0, 2], [0, 1, 0]], 0.5)([0, 0])")


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_staircase_loses_what_it_loses_in_python(distances, count):
    slopes = [4.0, 10.0, 53.0]
    found = distances("slopes.map((s) => m.lost(count, 0.4, s))", slopes=slopes, count=count)
    np.testing.assert_allclose(found, [lost_by_staircase(count, 0.4, s) for s in slopes], rtol=1e-11)


def test_the_normal_distribution_is_right_near_and_far(distances):
    from scipy.stats import norm

    z = [-8.0, -3.1, -2.9, -0.5, 0.0, 0.3, 2.99, 3.01, 7.0]
    np.testing.assert_allclose(distances("z.map(m.below)", z=z), norm.cdf(z), rtol=1e-11)
    np.testing.assert_allclose(distances("[0.01, 0.2, 0.5, 0.9].map(m.quantile)"), norm.ppf([0.01, 0.2, 0.5, 0.9]), atol=1e-12)
