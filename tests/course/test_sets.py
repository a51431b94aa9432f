"""All problem sets are rehearsed: solutions, distractors, and other right answers."""

import subprocess
import sys

import pytest

from tools.course import shield, source

pytestmark = [
    pytest.mark.course,
    pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run"),
]


@pytest.mark.parametrize("name", source.names())
def test_solution_and_distractors_of_every_set(name):
    """In a process of its own: a judge wants the main thread."""
    done = subprocess.run([sys.executable, "-m", "tools.course.rehearse", name], cwd=source.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
