"""The cost of exact regions: small cells again, and what the stored run says about growth."""

import numpy as np
import pytest

from experiments import region_cost
from foldbook.stored import stored


@pytest.mark.parametrize(("width", "count"), [(8, 128), (16, 451)])
def test_a_cell_counts_what_integers_count_and_what_is_stored(width, count):
    found = region_cost.cell(width, 3, 1.0)
    assert found["faces"] == count == stored("region_cost").row(width=width, depth=3, reach=1.0)["faces"]
    assert 0 < found["seconds"] < 10
    assert not found["bytes"] < 0


def test_the_stored_cost_is_near_linear_up_to_a_million_regions():
    rows = stored("region_cost").where(depth=region_cost.DEEP[1])
    faces, seconds, held = (np.array([row[name] for row in rows]) for name in ("faces", "seconds", "bytes"))
    assert faces.min() < 200
    assert faces.max() > 1_000_000
    many = faces > 10_000
    slope = np.polyfit(np.log(faces[many]), np.log(seconds[many]), 1)[0]
    assert 0.9 < slope < 1.1
    assert (held / faces)[many].max() < 3.5 * 8 * region_cost.DEEP[0]
