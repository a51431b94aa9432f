"""Stored results: what is not there is told; the format itself is tested where runs are written, in tests/experiments."""

import pytest

from foldbook.stored import stored
from foldnet.data import DataMissing


def test_an_unknown_stored_result_says_how_to_make_it():
    with pytest.raises(DataMissing, match="make sweep NAME=nothing"):
        stored("nothing")
