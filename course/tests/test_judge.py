"""The judge and its fairness."""

import ast
import dataclasses
import json

import nbformat
import numpy as np
import pytest

from course import carry, judge, make, rehearse, restore, shield, source, submission
from course.kernel import Kernel, Limits
from course.submission import Step, Submission
from course.tests import classroom
from foldbook import exercises

pytestmark = [
    pytest.mark.course,
    pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run"),
]
LIMITS = Limits(cell=60, call=10, shield="basic")


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


def test_a_mistake_that_we_know_is_not_called_almost_right(tiny_text):
    text = tiny_text.replace("return 2 * abs(x)", "return 1.98 * x")
    (wrong,) = rehearse.rehearse(source.parse("tiny", text), LIMITS)
    assert wrong.startswith("distractor-1 for twice (forgets the sign) is told 'almost: twice(1) gives 1.98")


def test_another_right_answer_must_lose_nothing(tiny_text):
    """It stands among the distractors, is no part of any notebook, and one that loses something is told."""
    right = '```python alternative="twice"\n# adds\ndef twice(x):\n    return x + x\n```\n\n```python distractor="twice"'
    text = tiny_text.replace('```python distractor="twice"', right, 1)
    problems = source.parse("tiny", text)
    assert "# adds" not in "\n".join(cell.source for cell in (*problems.notebook().cells, *make.release(problems).cells))
    assert rehearse.rehearse(problems, LIMITS) == []
    wrong = rehearse.rehearse(source.parse("tiny", text.replace("return x + x", "return abs(x + x)")), LIMITS)
    assert wrong == ["alternative-1 for twice (adds) loses ['twice-values'], not []"]


def test_only_what_depends_on_a_distractor_runs_again():
    steps = [Step("a", "x = 1"), Step("b", "y = x"), Step("c", "z = 1"), Step("d", "1", True), Step("e", "2", True)]
    assert [step.key for step in rehearse.after(steps, "a", {"d": "assert y", "e": "assert z"})] == ["a", "b", "d"]
    within = Step("a", "def f(y):\n    z = [k for k in y]\n    return z\n")
    assert [step.key for step in rehearse.after([within, *steps[1:]], "a", {"d": "assert y", "e": "f(1)"})] == ["a", "e"]
    tests = {"d": "cases = [x]\nassert cases", "e": "cases = [z]\nfor x in cases:\n    assert x"}
    steps = [Step("a", "def f(t):\n    return t"), Step("d", "cases = [f(1)]\nassert cases", True), Step("e", tests["e"], True)]
    steps += [Step("g", "def g(f):\n    t = f\n    return t"), Step("h", "def h():\n    return f(1)")]
    steps += [Step("i", "k = h()\nprint(k)")]
    tests |= {"d": steps[1].source}
    assert [step.key for step in rehearse.after(steps, "a", tests)] == ["a", "d"]  # no test sees what h and i show
    steps += [Step("j", "assert h()", True)]
    assert [step.key for step in rehearse.after(steps, "a", tests | {"j": "assert h()"})] == ["a", "d", "h", "j"]
    steps[-1] = Step("j", "assert k", True)
    assert [step.key for step in rehearse.after(steps, "a", tests | {"j": "assert k"})] == ["a", "d", "h", "i", "j"]


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
    "environment": dict(os.environ),
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
        home, wrapped = kernel.home, kernel.wrapped
    assert stopped == ""
    seen = json.loads(outputs[0]["text"])
    assert seen["here"] == []
    refused = ("secret", "book", "written") if wrapped else ("root", "secret", "book", "neighbours", "written")
    assert {seen[key] for key in refused} <= {"PermissionError", "FileNotFoundError"}
    if wrapped:  # bubblewrap gives it a root and processes of its own: what starts it, Python and perhaps one child
        assert len([name for name in ast.literal_eval(seen["neighbours"]) if name.isdigit()]) <= 3
    assert seen["foldnet"].startswith(str(home))
    assert seen["environment"]["LOGNAME"] == "student"  # whoever runs the judge
    assert not set(seen["environment"]) & {"USER", "PWD", "SSH_AUTH_SOCK", "VIRTUAL_ENV", "FOLDNET_DATA"}
    assert not home.exists()


def verdicts(problems, changed=None, steps=None, limits=LIMITS) -> dict[str, judge.Verdict]:
    """The verdicts on the solution with some answers changed, or on these steps."""
    submission = Submission(steps or judge.steps_of(problems, changed), limits)
    try:
        submission.start()
        return judge.judge(problems, submission)
    finally:
        submission.close()


def test_tests_tell_hidden_from_public(tiny):
    """The line for a student names a public failing case, and of a hidden test its message alone."""
    found = verdicts(tiny, {"twice": "def twice(x):\n    return 2 * abs(x)", "answer-of-all": "answer_of_all = object()"})
    assert found["twice-values"].line == "a hidden test fails: negative numbers"
    assert found["answer-value"].line.startswith("keep working: answer_of_all is an object of the type object")
    found = verdicts(tiny, {"twice": "def twice(x):\n    return 1 / 0"})
    assert found["twice-values"].line == "keep working: twice(1) raises ZeroDivisionError: division by zero"


QUIZ = """# Quiz

```python
import math
```

```python answer="area"
def area(r):
    'The area of a disc.'
    ### BEGIN SOLUTION
    return math.pi * r**2
    ### END SOLUTION
```

```python test="area-values" points=4
shown = 1.0
assert abs(area(shown) - math.pi) < 1e-9, "radius 1"
### BEGIN HIDDEN TESTS
for r in (2.0, 3.0, -4.0, 5.0):
    assert abs(area(r) - math.pi * r**2) < 1e-9, f"radius {r:g}"
assert area(0.0) == 0, "radius 0"
### END HIDDEN TESTS
```

```python distractor="area" loses="area-values"
def area(r):
    return math.pi * r * abs(r)
```

```python answer="total"
total = None
### BEGIN SOLUTION
total = [1.0, 2.0]
### END SOLUTION
```

```python test="total-value" points=2
assert len(total) == 2, "two numbers"
### BEGIN HIDDEN TESTS
assert abs(total[0] - 1) < 1e-9 and total[1] * 2 == 4, "one and two"
### END HIDDEN TESTS
```

```python distractor="total" loses="total-value"
total = [2.0, 1.0]
```
"""


@pytest.fixture(scope="module")
def quiz() -> source.ProblemSet:
    return source.parse("quiz", QUIZ)


def restored(quiz, change) -> dict[str, judge.Verdict]:
    """The verdicts on the solution as a notebook that was changed, restored as grading does it."""
    made = json.loads(nbformat.writes(make.release(quiz)))
    solution = {cell.name: cell.source for cell in quiz.of("answer")}
    for cell in made["cells"]:
        cell["source"] = solution.get(cell["id"], cell["source"])
    change(made["cells"])
    notebook, _ = restore.restore(quiz, json.dumps(made), make.release(quiz))
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.id != "setup"]
    return verdicts(quiz, steps=[Step(cell.id, cell.source, cell.id in ("area-values", "total-value")) for cell in code])


def own(code) -> dict:
    return {"cell_type": "code", "id": f"x{len(code)}", "metadata": {}, "source": code, "outputs": [], "execution_count": None}


def place(cells, name) -> int:
    return next(i for i, cell in enumerate(cells) if cell["id"] == name)


def helper_reused(cells):
    cells[place(cells, "area")]["source"] = "power = 2\ndef area(r):\n    return math.pi * r**power"
    cells.append(own("power = 3\nmath = None\ndef area(r):\n    return 'something else'"))


def name_of_a_check(cells):
    cells[place(cells, "total")]["source"] = "total = [shown, 2 * shown]"


def name_added_to_a_check(cells):
    cells[place(cells, "area-values")]["source"] += "\nmine = 2.0"
    cells[place(cells, "total")]["source"] = "total = [mine / 2, mine]"


def merged(cells):
    both = cells[place(cells, "area")]["source"] + "\n" + cells[place(cells, "total")]["source"]
    del cells[place(cells, "total")]
    cells[place(cells, "area")]["source"] = both


def merged_at_the_end(cells):
    both = cells[place(cells, "area")]["source"] + "\n" + cells[place(cells, "total")]["source"]
    del cells[place(cells, "total")], cells[place(cells, "area")]
    cells.append(own(both))


def added_to_the_given_cell(cells):
    cells[place(cells, "given-1")]["source"] += "\nimport numpy as np"
    cells[place(cells, "total")]["source"] = "total = np.arange(1.0, 3.0)"


def check_deleted(cells):
    del cells[place(cells, "area-values")]


def a_cell_dies(cells):
    cells.insert(place(cells, "total"), own("import os\nos._exit(1)"))


CHANGES = [helper_reused, name_of_a_check, name_added_to_a_check, merged, merged_at_the_end, added_to_the_given_cell]


@pytest.mark.parametrize("change", [*CHANGES, check_deleted, a_cell_dies])
def test_what_the_public_check_calls_correct_loses_nothing(quiz, change):
    found = restored(quiz, change)
    assert {name: (verdict.passed, verdict.line) for name, verdict in found.items()} == {
        "area-values": (True, "correct"),
        "total-value": (True, "correct"),
    }


NUMBERS = ["[1, 2]", "(1.0, 2)", "np.array([1, 2])", "torch.tensor([1.0, 2], requires_grad=True)"]
NUMBERS += ["[np.float32(1), torch.tensor(2)]"]


def test_numbers_count_alike_whatever_holds_them(quiz):
    given = judge.steps_of(quiz)[0]
    area = "import numpy as np, torch\ndef area(r):\n    return torch.tensor(math.pi * r**2, dtype=torch.float64)"
    submission = Submission(judge.steps_of(quiz, {"area": area}), LIMITS)
    try:
        submission.start()
        assert judge.judge(quiz, submission)["area-values"].passed
        for code in NUMBERS:
            for step in (given, Step("total", f"total = {code}"), Step("total-value", "", True)):
                submission.run(step, 60)
            assert judge.judge(quiz, submission, only={"total-value"})["total-value"].line == "correct", code
    finally:
        submission.close()


def test_each_case_counts_and_each_test_has_its_own_time(quiz):
    found = verdicts(quiz, {"area": "def area(r):\n    return math.pi * r * abs(r)"})["area-values"]
    assert (found.line, found.share, found.score(4)) == ("a hidden test fails: radius -4 (case 3 of 5)", 0.875, 3.5)
    slow = "import time\ndef area(r):\n    time.sleep(0 if r == 1 else 600)"
    slow += "\n    return math.pi"
    found = verdicts(quiz, {"area": slow}, limits=Limits(call=2, test=4, shield="basic"))
    assert found["area-values"].score(4) == 0
    assert found["total-value"].passed
    assert judge.Verdict(False, "", 0.999).score(4) == 3.5
    assert judge.Verdict(False, "", 1.0).score(1) == 0.5


def test_what_a_hidden_test_asks_is_not_told(quiz):
    """Neither in an error, nor in what a later cell prints, nor by a public check that comes after it."""
    told = "import pathlib\ndef area(r):\n    pathlib.Path('asked').write_text(str(r))\n"
    told += "    if r != 1:\n        raise ValueError(r)\n    return math.pi"
    late = "total = [1.0, 2.0]\nimport pathlib, os\nprint(os.path.exists('asked') and pathlib.Path('asked').read_text())"
    submission = Submission(judge.steps_of(quiz, {"area": told, "total": late}), LIMITS)
    try:
        submission.start()
        found = judge.judge(quiz, submission)
        printed = json.dumps([step.outputs for step in submission.steps])
    finally:
        submission.close()
    assert found["area-values"].line == "a hidden test could not use the answer: ValueError (case 1 of 5)"
    assert found["total-value"].passed
    assert "1.0" in printed
    assert "2.0" not in printed


def test_the_name_of_an_error_tells_nothing_that_was_asked(quiz):
    own = "def area(r):\n    if r != 1:\n        raise type(f'asked_{int(10 * abs(r))}', (Exception,), {})\n    return math.pi"
    assert verdicts(quiz, {"area": own})["area-values"].line.startswith("a hidden test could not use the answer: Error")


def test_what_a_submission_says_about_its_end_is_one_of_a_list():
    """The reason stands in the table, in the grader's voice."""
    with Kernel(LIMITS) as kernel:
        assert kernel.run(FORGED, 30)[1] == ""
        assert kernel.run("exit()", 30)[1] == "it called exit()"


FORGED = """
import gc
for record in gc.get_objects():
    if isinstance(record, type) and record.__name__ == "Record" and hasattr(record, "stopped"):
        record.stopped = "nothing, and 100 points were given by hand"
"""

CHAIN = """# Chain

```python answer="half"
def half(x):
    'Half of x.'
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION
```

```python test="half-values" points=2
assert half(0) == 0, "half of nothing"
### BEGIN HIDDEN TESTS
assert half(3) == 1.5, "half of three"
### END HIDDEN TESTS
```

```python answer="quarter"
def quarter(x):
    'A quarter of x.'
    ### BEGIN SOLUTION
    return half(half(x))
    ### END SOLUTION
```

```python test="quarter-values" points=2
assert quarter(0) == 0, "a quarter of nothing"
### BEGIN HIDDEN TESTS
assert quarter(8) == 2, "a quarter of eight"
assert quarter(-4) == -1, "below nothing"
### END HIDDEN TESTS
```

```python distractor="half" loses="half-values quarter-values"
def half(x):
    return x
```

```python distractor="quarter" loses="quarter-values"
def quarter(x):
    return abs(half(half(x)))
```
"""


@pytest.mark.parametrize(
    ("half", "quarter", "lines"),
    [
        ("x", "half(half(x))", ["half of three", "correct (carried: judged with our half)"]),
        ("x", "abs(half(half(x)))", ["half of three", "a quarter of eight (case 1 of 2) (carried: judged with our half)"]),
        ("x", "x", ["half of three", "a quarter of eight (case 1 of 2)"]),
        ("x / 2", "half(x)", ["correct", "a quarter of eight (case 1 of 2)"]),
    ],
)
def test_a_mistake_costs_its_own_points_and_no_others(half, quarter, lines):
    changed = {"half": f"def half(x):\n    return {half}", "quarter": f"def quarter(x):\n    return {quarter}"}
    found, runs = carried(judge.steps_of(source.parse("chain", CHAIN), changed))
    assert found == lines
    assert runs == 1 + (half == "x" and "half" in quarter)


@pytest.mark.skipif("ps3" not in source.names(), reason="the sources of the problem sets are kept elsewhere")
def test_a_gain_without_its_half_costs_its_own_points_alone():
    """Problem set 3: the best place is found with the gain, and is judged with ours in its place."""
    problems = source.read("ps3")
    end = next(place for place, cell in enumerate(problems.cells) if cell.name == "best-exact")
    wrong = next(cell for cell in problems.of("distractor") if cell.source.startswith("# forgets the half of the loss"))
    problems = dataclasses.replace(problems, cells=problems.cells[: end + 1])
    assert set(wrong.loses[1:]) == {test.name for test in problems.tests} == {"gain-values", "best-exact"}
    (gain, best), runs = carried(judge.steps_of(problems, {"gain": wrong.source}), problems)
    assert gain.startswith("keep working: gain_at(0.5, 1) gives 4.9")
    assert (best, runs) == ("correct (carried: judged with our gain)", 2)


def carried(steps, problems=None) -> tuple[list[str], int]:
    """What is said of the tests, by default of the two of the chain, and how often the cells ran."""
    problems, runs = problems or source.parse("chain", CHAIN), []

    def run(steps):
        runs.append(Submission(steps, LIMITS))
        runs[-1].start()
        return runs[-1]

    submission = run(steps)
    found = judge.judge(problems, submission)
    submission.close()
    found = carry.carried(problems, steps, found, run)
    return [verdict.line.removeprefix("a hidden test fails: ") for verdict in found.values()], len(runs)


WRONG, RIGHT = "def half(x):\n    return x", "def quarter(x):\n    return half(half(x))"
HELPED = "def quarter(x):\n    return twice_half(x)"
STUB, TEST = "def half(x):\n    pass", {"half-values": ""}
TWICE = "def twice_half(x):\n    return half(half(x))"
OWN = {  # the cells in their order: a wrong half, and a right quarter that uses it
    "a helper in an own cell": {"half": WRONG, "own": TWICE, **TEST, "quarter": HELPED},
    "a helper of a helper": {
        **{"half": WRONG, "own": "def once(x):\n    return half(x)", **TEST},
        **{"more": "%matplotlib inline\ndef twice_half(x):\n    return once(once(x))", "quarter": HELPED},
    },
    "a helper beside the wrong answer": {"half": f"{WRONG}\n\n{TWICE}", **TEST, "quarter": HELPED},
    "the wrong answer below its stub": {"half": STUB, "own": WRONG, **TEST, "quarter": RIGHT},
    "the wrong answer below its check": {"half": STUB, **TEST, "own": WRONG, "quarter": RIGHT},
    "both below their stubs": {
        **{"half": STUB, "own": WRONG, **TEST, "quarter": "def quarter(x):\n    pass"},
        **{"more": f"{TWICE}\n\nquarter = twice_half"},
    },
    "both in one cell": {"half": f"{WRONG}\n\n{RIGHT}", **TEST, "quarter": "pass"},
}


@pytest.mark.parametrize("cells", OWN.values(), ids=list(OWN))
def test_a_mistake_is_carried_through_cells_of_ones_own(cells):
    lines, runs = carried(
        [Step(key, code, key == "half-values") for key, code in cells.items()] + [Step("quarter-values", "", True)]
    )
    assert "half of" in lines[0]
    assert lines[1] == "correct (carried: judged with our half)"
    assert runs == 2


def test_a_cell_that_overwrites_all_answers_is_not_run_again_for_each_of_them():
    """It reads none of them, so none follows from another."""
    tests = [Step("half-values", "", True), Step("quarter-values", "", True)]
    lines, runs = carried([Step("own", "half = quarter = lambda x: 0"), *tests])
    assert (lines, runs) == (["half of three", "a quarter of eight (case 1 of 2)"], 1)


def test_what_belongs_to_colab_does_nothing_here():
    code = "from google.colab import drive, files\ndrive.mount('/x')\nimport google.colab\ngoogle.colab.output.clear()\n"
    with Kernel(LIMITS) as kernel:
        outputs, stopped = kernel.run(code + "def helper():\n    return 1\nprint(helper())", 30)
    assert (outputs, stopped) == ([{"output_type": "stream", "name": "stdout", "text": "1\n"}], "")


def test_a_case_that_fails_is_shown_with_small_arrays_in_full(tiny, tiny_text):
    """The notebook's own line has `…` for an argument and cuts what is long; the feedback has room."""
    cases = "(([1, 2],), [2, 4]), ((np.arange(8.0),), 2 * np.arange(8))"
    text = tiny_text.replace("selfcheck(twice, [((1.0,), 2.0)])", f"selfcheck(twice, [{cases}])")
    check = next(cell for cell in source.parse("tiny", text).tests if cell.name == "twice-values")
    names = {"np": np, "selfcheck": judge.must_be_correct(exercises.verdict)}

    def told(twice) -> str:
        return judge.public(check, names | {"twice": twice}, classroom.Here).line

    assert told(lambda x: 2 * np.asarray(x)) == "correct"
    line = told(lambda x: np.where(np.asarray(x) > 6, 0, 2 * np.asarray(x)))
    made, right = "[0, 2, 4, 6, 8, 10, 12, 0]", "[0, 2, 4, 6, 8, 10, 12, 14]"
    assert line.endswith(f"In full: of [0, 1, 2, 3, 4, 5, 6, 7] it makes {made}; {right} is right")
    assert told(lambda x: np.zeros(len(x))).endswith("In full: of [1, 2] it makes [0, 0]; [2, 4] is right")
    text = tiny_text.replace("lambda value: value > 0)", "2 * np.arange(8))")
    value = next(cell for cell in source.parse("tiny", text).tests if cell.name == "answer-value")
    names |= {"selfcheck_value": judge.must_be_correct(exercises.value_verdict), "answer_of_all": np.arange(8)}
    line = judge.public(value, names, classroom.Here).line
    assert line.endswith(f". In full: answer_of_all is [0, 1, 2, 3, 4, 5, 6, 7]; {right} is right")
    assert "In full" not in judge.public(value, names | {"answer_of_all": None}, classroom.Here).line
    assert "In full" not in told(lambda x: None)
    assert "In full" not in told(lambda x: "a" * 300)
    assert "In full" not in told(lambda x: 1 / 0)


def test_no_numbers_are_not_close_to_a_number():
    assert not judge.close(np.allclose, np.zeros((0, 3)), [1.0, 2.0, 3.0])
    assert not judge.close(np.allclose, 1, 2)
    assert judge.close(np.allclose, [], [])
    assert judge.close(np.allclose, [1.0], 1.0 + 1e-9)


def test_outputs_that_no_page_could_show_are_not_kept(monkeypatch):
    """A record is read again by every later run, and a runner that was patched prints without a limit of its own."""

    class Loud:
        def run(self, source, seconds):
            return [{"output_type": "stream", "name": "stdout", "text": "x" * 600}], ""

    monkeypatch.setattr(submission, "MOST_OUTPUTS", 2000)
    loud = Submission([Step(f"s{number}", "print()") for number in range(6)], LIMITS)
    loud.kernel = Loud()
    for step in loud.steps:
        loud.run(step, 10)
    assert len(json.dumps([step.outputs for step in loud.steps])) < 4000
    assert ["traceback" in step.outputs[0] for step in loud.steps] == [False] * 3 + [True] * 3
    assert loud.notes == ["outputs of more than 0 MB are left out"]
