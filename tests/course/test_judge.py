"""The judge, the shield and the distractors: needs no nbgrader, but starts kernels."""

import json
import subprocess
import sys

import pytest

from tools.course import judge, rehearse, shield, source
from tools.course.kernel import Kernel, Limits

pytestmark = [
    pytest.mark.course,
    pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run"),
]
LIMITS = Limits(cell=60, call=10)


@pytest.mark.parametrize("name", source.names())
def test_solution_and_distractors_of_every_set(name):
    """In a process of its own: a judge wants the main thread."""
    done = subprocess.run([sys.executable, "-m", "tools.course.rehearse", name], cwd=source.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_rehearsal_finds_what_is_wrong(tiny_text, monkeypatch):
    """A wrong solution, a distractor that is right, a stub that passes, a given cell that fails without an answer."""
    broken = tiny_text.replace("answer_of_all == 42", "answer_of_all == 41").replace("2 * abs(x)", "x + x")
    broken = broken.replace("print(twice(1.0) is None)", "print(1 + twice(1.0))")
    wrong = rehearse.rehearse(source.parse("tiny", broken), LIMITS)
    assert "in the untouched student version the cell given-2 raises an error" in wrong
    assert any("the solution fails answer-value: a hidden test fails: another number" in line for line in wrong)
    kind = tiny_text.replace("2 * abs(x)", "x + x").replace("selfcheck(twice, [((1.0,), 2.0)])", "1")
    kind = kind.replace('assert twice(np.array([5.0, -1.0]))[1] == -2.0, "negative numbers"', "pass")
    wrong = rehearse.rehearse(source.parse("tiny", kind), LIMITS)
    assert wrong == ["the untouched student version passes twice-values"]
    late = tiny_text.replace("2 * abs(x)", "x + x")
    wrong = rehearse.rehearse(source.parse("tiny", late), LIMITS)
    assert wrong == ["distractor-1 for twice (forgets the sign) loses [], not ['twice-values']"]


def test_only_what_depends_on_a_distractor_runs_again():
    steps = [judge.Step("a", "x = 1"), judge.Step("b", "y = x"), judge.Step("c", "z = 1"), judge.Step("d", "", ["y"])]
    assert [step.key for step in rehearse.after(steps, "a")] == ["a", "b", "d"]


def test_a_submission_sees_an_empty_world(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden")
    code = f"""
import json, os, pathlib, sys
def tried(action):
    try:
        return str(action())
    except OSError as error:
        return type(error).__name__
print(json.dumps({{
    "environment": sorted(os.environ),
    "here": os.listdir(),
    "root": tried(lambda: os.listdir('/')),
    "secret": tried(lambda: pathlib.Path({str(secret)!r}).read_text()),
    "book": tried(lambda: pathlib.Path({str(source.ROOT / "README.md")!r}).read_text()),
    "neighbours": tried(lambda: os.listdir('/proc')),
    "foldnet": __import__("foldnet").__file__,
    "written": tried(lambda: pathlib.Path({str(tmp_path / "new.txt")!r}).write_text("x")),
}}))
"""
    with Kernel(LIMITS) as kernel:
        outputs, stopped = kernel.run(code, 60)
        home = kernel.home
    assert stopped == ""
    seen = json.loads(outputs[0]["text"])
    assert seen["here"] == []
    assert {seen[key] for key in ("root", "secret", "book", "neighbours", "written")} == {"PermissionError"}
    assert seen["foldnet"].startswith(str(home))
    assert not set(seen["environment"]) & {"USER", "LOGNAME", "PWD", "SSH_AUTH_SOCK", "VIRTUAL_ENV", "FOLDNET_DATA"}
    assert not home.exists()


def test_tests_tell_hidden_from_public(tiny):
    """The line for a student names a public failing case, and of a hidden test its message alone."""
    steps = judge.steps_of(tiny, {"twice": "def twice(x):\n    return 2 * abs(x)", "answer-of-all": "answer_of_all = object()"})
    submission = judge.Submission(steps, LIMITS)
    try:
        submission.start()
        verdicts = judge.judge(tiny, submission)
        assert verdicts["twice-values"].line == "a hidden test fails: negative numbers"
        assert verdicts["answer-value"].line.startswith("keep working: answer_of_all is an object of the type object")
        submission.run(judge.Step("twice", "def twice(x):\n    return 1 / 0", ["twice"]), 60)
        assert judge.judge(tiny, submission)["twice-values"].line == (
            "keep working: twice(1) raises ZeroDivisionError: division by zero"
        )
    finally:
        submission.close()
