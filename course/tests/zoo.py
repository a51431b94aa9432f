"""Submissions as they come: honest, careless, desperate and hostile, each with the points it deserves on problem set 2."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from course import grade, shield, source

ROOT = source.ROOT
TESTS, BY_HAND = 24, 11


@dataclass
class Submission:
    """What is handed in, and what it deserves: points by tests, points that a person has to read, words in its note; and words
    that it would like to put into our mouth."""

    text: str
    points: float
    to_read: float = BY_HAND
    notes: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


ZOO: dict[str, Callable[[source.ProblemSet, dict], Submission]] = {}


def animal(function):
    ZOO[function.__name__] = function
    return function


def solved(problems: source.ProblemSet, release: dict, **changed: str) -> dict:
    """The student version with the solution filled in, but for the changed answers (with _ for -)."""
    made = copy.deepcopy(release)
    answers = {cell.name: cell.source for cell in problems.of("answer")}
    answers |= {name.replace("_", "-"): text for name, text in changed.items()}
    for cell in made["cells"]:
        if cell["id"] in answers:
            cell["source"] = answers[cell["id"]]
    return made


def cell(notebook: dict, name: str) -> dict:
    return next(c for c in notebook["cells"] if c["id"] == name)


def insert(notebook: dict, before: str, code: str) -> None:
    """A cell of the student's own before a cell of the set."""
    index = next(i for i, c in enumerate(notebook["cells"]) if c["id"] == before)
    notebook["cells"].insert(index, json.loads(json.dumps(new_code_cell(code, id=f"own-{len(notebook['cells'])}"))))


def distractor(problems: source.ProblemSet, answer: str, number: int = 0) -> str:
    return [c for c in problems.of("distractor") if c.loses[0] == answer][number].source


def written(notebook: dict) -> str:
    return json.dumps(notebook)


# ---- honest ------------------------------------------------------------------------------------------------------------


@animal
def correct(problems, release):
    return Submission(written(solved(problems, release)), TESTS)


@animal
def partly(problems, release):
    wrong = {"chain": distractor(problems, "chain"), "aim": distractor(problems, "aim")}
    made = solved(problems, release, **wrong, conclusion=source.TEXT_STUB)
    return Submission(written(made), TESTS - 1 - 3, BY_HAND - 4)  # four of six cases, and one of three


@animal
def empty(problems, release):
    return Submission(written(release), 0, 0, notes=("nothing is filled in",))


@animal
def no_metadata(problems, release):
    """As after a tour through editors that keep neither metadata nor ids, with the setup cell edited."""
    made = solved(problems, release)
    for c in made["cells"]:
        c["metadata"] = {"id": "x9"} if c["cell_type"] == "code" else {}
        c.pop("id")
    made["cells"].insert(1, made["cells"].pop(1) | {"source": "# google.colab\n!pip install foldnet"})
    return Submission(written(made | {"nbformat_minor": 0}), TESTS, notes=("metadata restored",))


@animal
def untidy(problems, release):
    """The stub left alone and the answer in a cell below it; a name used again later; a test deleted; a syntax error."""
    made = solved(problems, release, law=cell(release, "law")["source"])
    insert(made, "law-values", next(c.source for c in problems.of("answer") if c.name == "law"))
    insert(made, "errors", "def chain(x, y):\n    return 'another thing of the same name'")
    insert(made, "errors", "def half(:\n    return")
    made["cells"] = [c for c in made["cells"] if c["id"] != "aim-quartiles"]
    return Submission(written(made), TESTS, notes=("missing cells put back: aim-quartiles", "a cell does not run: SyntaxError"))


@animal
def from_colab(problems, release):
    """Helpers in a cell that also mounts a drive and installs a package; a legend of the whole figure; a mistake that is used,
    by such a helper."""
    figure, errors = (next(c.source for c in problems.of("answer") if c.name == name) for name in ("farthest-figure", "errors"))
    figure, errors = figure.replace("ax.legend()", "fig.legend()"), errors.replace("fit_error(", "error_of(")
    wrong = distractor(problems, "fit-error")
    made = solved(problems, release, farthest_figure=figure, fit_error=wrong, errors=errors)
    helper = "def error_of(*data):\n    return fit_error(*data)"
    insert(made, "farthest-figure", f"from google.colab import drive\n!pip install pandas\ndrive.mount('/content')\n{helper}")
    insert(made, "farthest-figure", "assert callable(error_of)")
    return Submission(written(made), TESTS - 3, notes=("google.colab is not here",))  # what uses fit_error is carried


# ---- careless ----------------------------------------------------------------------------------------------------------


@animal
def endless(problems, release):
    """A function without an end, and a cell without one."""
    made = solved(problems, release, needed="def needed(k, low, high, location, scale, p=0.95):\n    while True:\n        k += 1")
    insert(made, "fit-error", "while True:\n    pass")
    return Submission(written(made), TESTS - 3, notes=("longer than",))


@animal
def other_set(problems, release):
    """The right file of another week."""
    return Submission(written(release_of("ps3")), 0, 0, notes=("this is ps3, not ps2",))


@animal
def raises(problems, release):
    made = solved(problems, release, law="def law(sigma_w, sigma_b, rho):\n    raise ValueError('to do')")
    insert(made, "aim", "raise RuntimeError('not finished')")
    return Submission(written(made), TESTS - 2)


@animal
def leaves(problems, release):
    """exit() in a cell of its own costs nothing, in an answer that answer."""
    made = solved(problems, release, aim="import os\n\n\ndef aim(low, high, sigma_w):\n    os._exit(0)")
    insert(made, "law", "exit()")
    insert(made, "fit-error", "import os\nos._exit(3)")
    return Submission(written(made), TESTS - 4, notes=("it called exit()", "ended its process"))


@animal
def greedy(problems, release):
    """Memory without end, in one process and in many; a flood of words."""
    made = solved(problems, release, needed="def needed(*_):\n    return len([bytearray(10**8) for _ in range(10**6)])")
    insert(made, "law", "import mmap\nm = mmap.mmap(-1, 10**10)\nfor i in range(0, 10**10, 4096):\n    m[i] = 1")
    insert(made, "aim", "while True:\n    print('spam ' * 1000)")
    return Submission(written(made), TESTS - 3, notes=("MB",))


# ---- hostile -----------------------------------------------------------------------------------------------------------

PATCH = """
import builtins, gc, inspect, sys
import foldbook.exercises, numpy as np

class Yes(float):
    def __eq__(self, other): return True
    __lt__ = __le__ = __gt__ = __ge__ = __ne__ = __eq__
    __hash__ = float.__hash__
    def __sub__(self, other): return Yes(0)
    __rsub__ = __add__ = __truediv__ = __rtruediv__ = __abs__ = lambda self, *other: Yes(0)
    def __array__(self, *a, **k): return np.zeros(())
    def __bool__(self): return True

yes = lambda *a, **k: Yes(0)
selfcheck = selfcheck_value = foldbook.exercises.selfcheck = lambda *a, **k: print('correct')
foldbook.exercises.verdict = foldbook.exercises.value_verdict = lambda *a, **k: 'correct'
np.allclose = np.isclose = np.all = lambda *a, **k: True
builtins.AssertionError = type('Never', (BaseException,), {})
builtins.abs = lambda x: 0
import ast
class NoAsserts(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
get_ipython().ast_transformers.append(NoAsserts())
sys.settrace(lambda *a: None)
import _answers
_answers.encode = lambda value: {"is": "code", "text": "__import__('os')._exit(0)"}
_answers.reply = lambda request: print(request)
chain = law = aim = needed = farthest = farthest_figure = fit_error = median_error = yes
"""


@animal
def overwrites(problems, release):
    """Redefines the checks, numpy and the answers' courier, and edits and deletes tests."""
    made = copy.deepcopy(release)
    insert(made, "chain", PATCH)
    for c in made["cells"]:
        if c["id"] in {test.name for test in problems.tests}:
            c["source"] = "print('correct')"
            c["metadata"]["nbgrader"] |= {"points": 100, "locked": False}
    made["cells"] = [c for c in made["cells"] if c["id"] != "law-values"]
    return Submission(written(made), 0, 0, notes=("changed cells put back", "missing cells put back"))


@animal
def equal_to_all(problems, release):
    """Without touching the courier: answers that claim to equal everything are no plain data."""
    made = copy.deepcopy(release)
    insert(made, "chain-values", PATCH.split("import _answers")[0] + "chain = law = aim = needed = farthest = fit_error = yes")
    return Submission(written(made), 0, 0)


SPY = """
import glob, os, pathlib, subprocess, sys
found = []
places = ['/', '..', '../..', os.path.expanduser('~'), '/home', '/root', '/tmp', {root!r}, {root!r} + '/course/sets/ps2/ps2.md']
for place in places:
    for folder, _, files in os.walk(place):
        for name in files:
            if 'ps2' in name or 'judge' in name or name == 'record.json':
                try:
                    found.append(pathlib.Path(folder, name).read_text())
                except OSError as error:
                    pass
for path in [{root!r} + '/course/sets/ps2/ps2.md', *glob.glob('/proc/*/cmdline'), *glob.glob('/proc/*/environ')]:
    try:
        found.append(open(path).read())
    except OSError as error:
        pass
for command in ('cat ' + {root!r} + '/course/sets/ps2/ps2.md', 'ps aux'):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    found.append(done.stdout)
print(repr('\\n'.join(found))[:100000])
if any('BEGIN SOLUTION' in text for text in found):
    exec(compile('\\n'.join(found), 'stolen', 'exec'))
"""
REACH = """
import os, signal, socket
for family in (socket.AF_INET, socket.AF_INET6):
    s = socket.socket(family)
    s.settimeout(2)
    try:
        s.connect(('127.0.0.1', 80) if family == socket.AF_INET else ('::1', 80))
    except OSError as error:
        print(type(error).__name__)
for pid in (os.getppid(), -1, 1):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError as error:
        print(type(error).__name__)
"""


@animal
def spies(problems, release):
    """Looks for the solutions and for the judge, everywhere; and keeps what it is asked, to show it in its feedback."""
    made = copy.deepcopy(release)
    insert(made, "chain", SPY.replace("{root!r}", repr(str(source.HOME))))
    insert(made, "fit-error", "print(dir(), globals().get('In'), open('/proc/self/cmdline').read())")
    script = "<script>alert(1)</script> and <img src=x onerror=alert(2)>"
    made["cells"].append(json.loads(json.dumps(new_markdown_cell(script, id="own-text"))))
    script = "display(HTML('<script>alert(3)</script>'), Javascript('alert(4)'))"
    insert(made, "errors", f"from IPython.display import HTML, Javascript, display\n{script}")
    return Submission(written(made), 0, 0)


@animal
def strikes(problems, release):
    """Correct, and out to stop the others: signals, forks, a full disk, a loop that ignores interrupts."""
    made = solved(problems, release)
    if shield.separable() or shield.version() >= 6:  # elsewhere its signals would end this very session
        insert(made, "law", REACH)
    flooded = grade.bounded()  # elsewhere it would hold up this machine
    if flooded:
        insert(made, "aim", "import os\nwhile True:\n    os.fork()")
    insert(made, "needed", "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    pass")
    disk = "n = 0\nwhile True:\n    n += 1\n    with open(f'{n}', 'wb') as file:\n        file.write(bytes(50_000_000))"
    insert(made, "fit-error", disk)
    return Submission(written(made), TESTS, notes=("did not stop when asked to", *["more than 64 processes"] * flooded))


CROWD = """
import os, signal
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
signal.signal(signal.SIGINT, signal.SIG_IGN)
for _ in range(8):
    if not os.fork():
        while True: pass
while True: pass
"""


@animal
def crowd(problems, release):
    """Correct, with a cell that waits behind its own children, so that its time would not count."""
    made = solved(problems, release)
    insert(made, "needed", CROWD)
    return Submission(written(made), TESTS, notes=("longer than", "did not stop when asked to"))


FORGED = """
import gc
for record in gc.get_objects():
    if isinstance(record, type) and record.__name__ == "Record" and hasattr(record, "stopped"):
        record.stopped = "it was st" + "olen: full marks"
"""


@animal
def forged(problems, release):
    """Tells in the name of an error what it was asked, and in the grader's voice how a cell ended."""
    law = next(c.source for c in problems.of("answer") if c.name == "law")
    told = "    if rho not in (0.0, 0.6):\n        raise type(f'st{\"olen\"}_{sigma_b}', (Exception,), {})\n    return"
    made = solved(problems, release, law=law.replace("    return", told))
    insert(made, "aim", FORGED)
    return Submission(written(made), TESTS - 2, never=("stolen",))


@animal
def heavy(problems, release):
    """Correct, with a text whose page would take minutes and gigabytes."""
    made = solved(problems, release, conclusion="|" * 1500 + "\n" + "|-" * 1500 + "|\n" + "|\n" * 1500)
    return Submission(written(made), TESTS)


@animal
def garbage(problems, release):
    return Submission('{"cells": [', 0, 0, notes=("no notebook",))


@animal
def not_cells(problems, release):
    return Submission('{"nbformat": 4, "cells": {"a": 1}}', 0, 0, notes=("no notebook",))


def release_of(name: str) -> dict:
    """The student version in the book, without outputs."""
    notebook = nbformat.read(ROOT / "book" / "assignments" / f"{name}.ipynb", as_version=4)
    for c in notebook.cells:
        if c.cell_type == "code":
            c.outputs, c.execution_count = [], None
    return json.loads(nbformat.writes(notebook))
