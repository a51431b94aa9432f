"""Run one submission and judge it: `python -m tools.course.judge PLAN RESULT`, one process for each submission.

The submission's cells run in a shielded kernel. The tests run here, outside of it, and ask it for values: it never sees a test,
cannot reach what decides about it, and an answer that is no plain data is wrong. A cell that ends the kernel is left out and the
others run again without it, so that a mistake costs its own points and no more.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from foldnet import exercises

from . import answers, source
from .kernel import Ended, Kernel, Limits

MOST_ENDS = 4  # so often may a submission end its kernel


@dataclass
class Step:
    """A cell of a submission in the order in which it runs; a test's cell runs nothing and `keeps` what was answered so far."""

    key: str
    source: str
    keeps: list[str] = field(default_factory=list)
    outputs: list = field(default_factory=list)


@dataclass
class Verdict:
    """How one test went: whether it passed, and the line for the student."""

    passed: bool
    line: str


class StudentError(Exception):
    """What a submission raised when the judge asked it something."""


class Late(Exception):
    """The tests take too long."""


class Submission:
    """The cells of a submission and the kernel they live in."""

    def __init__(self, steps: list[Step], limits: Limits):
        self.steps, self.limits = steps, limits
        self.kernel: Kernel | None = None
        self.left_out: set[str] = set()
        self.notes: list[str] = []
        self.ends = 0

    def start(self) -> None:
        """Run all cells that are not left out, in a fresh kernel; again without a cell that ends it."""
        while self.kernel is None and self.ends <= MOST_ENDS:
            self.kernel = Kernel(self.limits)
            deadline = time.monotonic() + self.limits.cells
            for step in self.steps:
                if step.key in self.left_out:
                    continue
                try:
                    self.run(step, deadline - time.monotonic())
                except Ended as end:
                    self.left_out.add(step.key)
                    step.outputs = [told(f"This cell was stopped: {end}. The others ran without it.")]
                    self.ended(f"a cell was stopped: {end}")
                    break

    def run(self, step: Step, left: float) -> None:
        if left <= 0 and step.source.strip():
            step.outputs = [told("This cell did not run: the time for the whole notebook was used up.")]
            self.note(f"more than {self.limits.cells:.0f} s for the whole notebook")
            return
        stopped = ""
        if step.source.strip():
            step.outputs, stopped = self.kernel.run(step.source, min(left, self.limits.cell))
        if stopped:
            step.outputs.append(told(f"This cell was stopped: {stopped}."))
            self.note(f"a cell was stopped: {stopped}")
        if step.keeps:
            self.kernel.keep(step.keeps)

    def ask(self, request: dict) -> dict:
        self.start()
        if self.kernel is None:
            return {"error": "RuntimeError", "says": "the notebook ended its kernel again and again"}
        try:
            return self.kernel.ask(request)
        except Ended as end:
            self.ended(f"{request['name']} was stopped: {end}")
            return {"error": "RuntimeError", "says": str(end)}

    def ended(self, note: str) -> None:
        self.close()
        self.ends += 1
        self.note(note)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def close(self) -> None:
        if self.kernel:
            self.kernel.close()
        self.kernel = None


def told(text: str) -> dict:
    return {"output_type": "error", "ename": "Stopped", "evalue": text, "traceback": [text]}


# ---- tests -------------------------------------------------------------------------------------------------------------


def judge(problems: source.ProblemSet, submission: Submission) -> dict[str, Verdict]:
    """The verdict of each test of the set on a submission."""
    kinds = {name: kind for cell in problems.of("answer") for name, kind in cell.defines.items()}
    names = given(problems, set(kinds))
    names |= {"selfcheck": must_be_correct(exercises.verdict), "selfcheck_value": must_be_correct(exercises.value_verdict)}
    names |= {"Code": answers.Code}
    names |= {name: remote(submission, name) for name, kind in kinds.items() if kind == "function"}
    values = [name for name, kind in kinds.items() if kind == "value"]
    verdicts, deadline = {}, time.monotonic() + submission.limits.tests
    for test in problems.tests:
        verdicts[test.name] = one(test, dict(names), values, submission, deadline - time.monotonic())
    return verdicts


def one(test: source.Cell, names: dict, values: list[str], submission: Submission, left: float) -> Verdict:
    """One test cell, the public part and the hidden part; the first that fails is told, the hidden one by its message alone."""
    hidden_from = next(i for i, line in enumerate(test.source.splitlines(), 1) if "### BEGIN HIDDEN TESTS" in line)
    try:
        with limited(left), contextlib.redirect_stdout(io.StringIO()):
            used = {node.id for node in ast.walk(ast.parse(test.source)) if isinstance(node, ast.Name)}
            names |= {name: fetched(submission, name) for name in values if name in used}
            exec(compile(test.source, "<test>", "exec"), names)
    except Failed as failed:
        return Verdict(False, str(failed))
    except Late:
        return Verdict(False, "the tests took too long")
    except (Exception, SystemExit) as error:
        trace, line = error.__traceback__, 0
        while trace:
            line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == "<test>" else line
            trace = trace.tb_next
        where = "a hidden test" if line >= hidden_from else "the check"
        if isinstance(error, AssertionError):
            return Verdict(False, f"{where} fails: {error}" if str(error) else f"{where} fails")
        return Verdict(False, f"{where} could not use the answer: {type(error).__name__}: {str(error)[:200]}")
    return Verdict(True, "correct")


class Failed(Exception):
    """A public check that does not say correct."""


def must_be_correct(verdict):
    """A self-check that raises its line where that does not say correct."""

    def check(*args, **kwargs):
        line = verdict(*args, **kwargs)
        if not line.startswith("correct"):
            raise Failed(line)

    return check


def given(problems: source.ProblemSet, asked: set[str]) -> dict:
    """What the given cells define, run here from the source; those that use answers are left out."""
    names: dict = {"__name__": "judge"}
    missing = set(asked)
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in problems.of("given"):
            tree = ast.parse(cell.source)
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            if used & missing:
                missing |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
                missing |= {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
            else:
                exec(compile(tree, "<given>", "exec"), names)
    return names


def remote(submission: Submission, name: str):
    """A function that asks the submission's function of this name."""

    def function(*args, **kwargs):
        sent = {"args": [answers.encode(a) for a in args], "kwargs": {k: answers.encode(v) for k, v in kwargs.items()}}
        return opened(submission.ask({"name": name, **sent}))

    function.__name__ = name
    return function


def fetched(submission: Submission, name: str):
    reply = submission.ask({"name": name})
    return None if "error" in reply else opened(reply)


def opened(reply: dict):
    """The value of a reply; raises an error of the name that the submission's had."""
    if "value" in reply:
        return answers.decode(reply["value"])
    kind = str(reply.get("error"))
    raise type(kind if kind.isidentifier() else "Error", (StudentError,), {})(str(reply.get("says"))[:300])


@contextlib.contextmanager
def limited(seconds: float):
    def late(*_):
        raise Late

    if seconds <= 0:
        raise Late
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def steps_of(problems: source.ProblemSet, changed: dict[str, str] | None = None) -> list[Step]:
    """The solution of a set as a submission, with the code of some answers changed."""
    texts = {cell.name: cell.source if cell.kind != "test" else "" for cell in problems.cells if cell.code} | (changed or {})
    code = [cell for cell in problems.cells if cell.code and cell.kind != "distractor"]
    return [Step(cell.name, texts[cell.name], problems.keeps.get(cell.name, [])) for cell in code]


def main(arguments: list[str]) -> int:
    plan = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    problems = source.read(plan["set"], Path(plan["sources"]))
    submission = Submission([Step(**step) for step in plan["steps"]], Limits(**plan["limits"]))
    try:
        submission.start()
        verdicts = judge(problems, submission)
    finally:
        submission.close()
    result = {
        "outputs": {step.key: step.outputs for step in submission.steps},
        "verdicts": {name: asdict(verdict) for name, verdict in verdicts.items()},
        "notes": submission.notes,
    }
    Path(arguments[1]).write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
