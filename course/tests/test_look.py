"""A student's own look at a notebook: as the judge runs it, without hidden tests and without the instructors' sources."""

import json
import subprocess
import sys

import pytest

from course import look, shield, source
from course.kernel import Limits
from course.tests import zoo

pytestmark = pytest.mark.skipif("ps2" not in source.names(), reason="the sources of the problem sets are kept elsewhere")


def test_a_set_is_read_from_its_student_version_alone():
    problems, whole = look.public("ps2")[0], source.read("ps2")
    assert [(c.kind, c.name, c.points, c.public.strip()) for c in problems.cells] == [
        (c.kind, c.name, c.points, c.public.strip()) for c in whole.cells if c.kind != "distractor"
    ]
    secret = [line for test in whole.tests for line in test.secret if len(line) > 30]
    assert not any(line in cell.source for cell in problems.cells for line in secret)


@pytest.mark.course
@pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run")
def test_it_says_what_each_check_says(tmp_path):
    problems, release = source.read("ps2"), zoo.release_of("ps2")
    wrong = {"aim": "def aim(low, high, sigma_w):\n    return 0, 0", "law": zoo.distractor(problems, "law")}
    made = zoo.solved(problems, release, **wrong, conclusion=source.TEXT_STUB)
    made["cells"] = [cell for cell in made["cells"] if cell["id"] != "farthest"]
    path = tmp_path / "ps2.ipynb"
    path.write_text(json.dumps(made), encoding="utf-8")
    said = dict(line.split(": ", 1) for line in look.look("ps2", path, Limits(shield="basic")))
    assert said["chain-values (3 points)"] == said["chain-few (1 point)"] == "correct"
    assert said["law-values (2 points)"] == "correct"  # only a hidden test sees what is wrong
    assert said["aim-quartiles (4 points)"].startswith("keep working: aim(-1, 1, 1)")
    assert said["farthest-median (2 points)"].startswith("missing")
    assert said["derivation (5 points)"] == "a text, which a person will read"
    assert said["conclusion (4 points)"] == "no text yet"
    assert said["note"] == "missing cells put back: farthest"


def test_errors_are_sentences(tmp_path):
    def told(*words) -> str:
        command = [sys.executable, "-m", "course.look", *words]
        done = subprocess.run(command, cwd=source.ROOT, capture_output=True, text=True)
        assert done.returncode == 1
        return done.stderr

    (tmp_path / "mine.ipynb").write_text("{")
    assert "there is no file" in told(str(tmp_path / "none.ipynb"))
    assert "which set is it?" in told(str(tmp_path / "mine.ipynb"))
    assert "there is no problem set 'ps99'; there are ps1" in told(str(tmp_path / "mine.ipynb"), "--set", "ps99")
    assert "no notebook" in told(str(tmp_path / "mine.ipynb"), "--set", "ps2")
