"""All problem sets are rehearsed: solutions, distractors, and other right answers."""

import pytest

from course import rehearse, shield, source

pytestmark = [
    pytest.mark.course,
    pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run"),
]


@pytest.mark.parametrize("name", source.names())
def test_solution_and_distractors_of_every_set(name, capsys):
    failed = rehearse.main([name])
    assert not failed, "".join(capsys.readouterr())
