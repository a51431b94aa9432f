"""Judge a submission that has run.

The submission's cells run in a shielded process, the public checks too. At each test's cell it is photographed. When all cells
have run, the tests run here, outside of it, and ask the photographs for values: a submission never sees a test, cannot reach what
decides about it, and an answer that is no plain data is wrong. A cell that ends the process is left out and the others run again
without it, so that a mistake costs its own points and no more.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import io
import math
import re
import signal
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from foldbook import exercises

from . import answers, source
from .line import STEP, Stopwatch
from .submission import END, Step, Submission


@dataclass
class Verdict:
    """How one test went: whether all of it passed, the share of its cases that did, and the line for the student."""

    passed: bool
    line: str
    share: float = 0.0

    def score(self, points: float) -> float:
        """The points for this share: halves, rounded down, and never all of them for less than all cases."""
        if self.passed:
            return points
        return min(math.floor(2 * points * self.share) / 2, max(points - 0.5, 0))


class StudentError(Exception):
    """What a submission raised when the judge asked it something."""


class Late(BaseException):
    """A test takes too long; no `except Exception` of a test or a check keeps it."""


# ---- tests -------------------------------------------------------------------------------------------------------------


def judge(problems: source.ProblemSet, submission: Submission, hidden: bool = True, only=None) -> dict[str, Verdict]:
    """The verdict of each test of the set (of `only` these) on a submission; without hidden tests, that of its public check.

    All public checks come first. What a submission raises in them is shown; what a hidden test asks comes later and is not.
    """
    kinds = {name: kind for cell in problems.of("answer") for name, kind in cell.defines.items()}
    submission.busy("the given cells", submission.limits.cells)
    names = given(problems, set(kinds))
    names |= {"selfcheck": must_be_correct(exercises.verdict), "selfcheck_value": must_be_correct(exercises.value_verdict)}
    names |= {"Code": answers.Code}
    verdicts, spaces = {}, {}
    tests = [test for test in problems.tests if only is None or test.name in only]
    for test in tests:
        for photo in (test.name, END):  # an answer below its check, or in the last cell, is an answer too
            spaces[test.name] = names | asked(submission, photo, kinds, test)
            verdicts[test.name] = public(test, spaces[test.name], submission)
            missing = verdicts[test.name].line.startswith("missing") or unanswered(submission, photo, kinds, test)
            if verdicts[test.name].passed or not missing:
                break
    for test in tests if hidden else ():
        if verdicts[test.name].passed:
            verdicts[test.name] = private(test, spaces[test.name], submission)
    return verdicts


def unanswered(submission: Submission, photo: str, kinds: dict[str, str], test: source.Cell) -> bool:
    """Whether a name that a test asks for is not there yet, or None."""
    used = {node.id for node in ast.walk(ast.parse(test.public)) if isinstance(node, ast.Name)} & set(kinds)
    submission.busy(f"the answers to {test.name}", len(used) * submission.limits.call)
    replies = [submission.ask(photo, {"name": name}) for name in sorted(used)]
    return any(reply.get("error") == "NameError" or reply.get("value", 0) is None for reply in replies)


def asked(submission: Submission, photo: str, kinds: dict[str, str], test: source.Cell) -> dict:
    """The answers as a test sees them: functions that ask a photograph, and the values that the test names."""
    used = {node.id for node in ast.walk(ast.parse(test.source)) if isinstance(node, ast.Name)}
    found = {name: remote(submission, photo, name) for name, kind in kinds.items() if kind == "function"}
    submission.busy(f"the answers to {test.name}", len(used & set(kinds)) * submission.limits.call)
    for name, kind in kinds.items():
        if kind == "value" and name in used:
            reply = submission.ask(photo, {"name": name})
            try:
                found[name] = None if "error" in reply else opened(reply)
            except (ValueError, KeyError, TypeError):
                found[name] = answers.Opaque("no plain data")
    return found


def public(test: source.Cell, names: dict, submission: Submission) -> Verdict:
    """The part of a test that students see."""
    seconds = submission.limits.test
    try:
        with limited(seconds, submission, test.name), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(test.public, "<check>", "exec"), names)
    except Failed as failed:
        return Verdict(False, str(failed))
    except Late:
        return Verdict(False, f"the check took longer than {seconds:.0f} s")
    except AssertionError as error:
        return Verdict(False, f"the check fails: {error}" if str(error) else "the check fails")
    except (Exception, SystemExit) as error:
        return Verdict(False, f"the check could not use the answer: {type(error).__name__}: {str(error)[:200]}")
    return Verdict(True, "correct", 1.0)


def private(test: source.Cell, names: dict, submission: Submission) -> Verdict:
    """The hidden part. Each statement with an assertion counts alike, and within a loop each round; of what fails the first
    message is told, with the number of its case; of an error its kind alone: a submission could say in it what it was asked."""
    shares, lines, asked, seconds = [], [], [], submission.limits.test

    @contextlib.contextmanager
    def case():
        asked.append(len(asked) + 1)
        try:
            yield
            rounds.append(True)
        except (Exception, SystemExit) as error:
            rounds.append(False)
            lines.append((why(error), asked[-1]))

    groups = list(cases(test))
    names["__case__"] = case
    try:
        with (
            limited(seconds, submission, test.name),
            contextlib.redirect_stdout(io.StringIO()),
            patch.object(np, "allclose", functools.partial(close, np.allclose)),
        ):
            for counts, statement in groups:
                rounds: list[bool] = []
                try:
                    exec(compile(statement, "<test>", "exec"), names)
                except (Exception, SystemExit) as error:
                    lines.append((why(error), 0))
                    rounds.append(False)
                    if not counts:  # nothing after it can be asked
                        break
                if counts:
                    shares.append(sum(rounds) / len(rounds) if rounds else 0.0)
    except Late:
        lines.append((f"a hidden test takes longer than {seconds:.0f} s", 0))
    total = sum(counts for counts, _ in groups)
    share = sum(shares) / total if total else 1.0
    if not lines and share == 1:
        return Verdict(True, "correct", 1.0)
    line, number = (lines or [("a hidden test fails", 0)])[0]
    return Verdict(False, f"{line} (case {number} of {len(asked)})" if number and len(asked) > 1 else line, share)


def close(allclose, a, b, *args, **kwargs) -> bool:
    """numpy's comparison, but nothing at all is not close to something: of no numbers, all are close."""
    return (np.size(a) == 0) == (np.size(b) == 0) and allclose(a, b, *args, **kwargs)


def why(error: BaseException) -> str:
    if isinstance(error, AssertionError):
        return f"a hidden test fails: {str(error)[:300]}" if str(error) else "a hidden test fails"
    return f"a hidden test could not use the answer: {type(error).__name__}"


def cases(test: source.Cell):
    """The statements of a test's hidden part, each with whether it counts; a case in a loop does not stop the next round."""
    lines = test.source.splitlines()
    start = next(i for i, line in enumerate(lines) if "### BEGIN HIDDEN TESTS" in line)
    end = next(i for i, line in enumerate(lines) if "### END HIDDEN TESTS" in line)
    for node in ast.parse("\n".join(lines[start + 1 : end])).body:
        counts = not isinstance(node, (ast.FunctionDef, ast.ClassDef)) and any(isinstance(n, ast.Assert) for n in ast.walk(node))
        if counts:
            item = ast.withitem(ast.Call(ast.Name("__case__", ast.Load()), [], []))
            if isinstance(node, ast.For):
                node.body = [ast.With([item], node.body)]
            else:
                node = ast.With([item], [node])
        yield counts, ast.fix_missing_locations(ast.Module([ast.copy_location(node, node)], []))


class Failed(Exception):
    """A public check that does not say correct."""


def must_be_correct(verdict):
    """A self-check that raises its line where that does not say correct."""

    def check(answer, *args, **kwargs):
        given: list = []
        line = verdict(noted(answer, given) if callable(answer) else answer, *args, **kwargs)
        if not line.startswith("correct"):
            more = in_full(line, answer, given, *args, **kwargs) if callable(answer) else value_in_full(answer, *args, **kwargs)
            raise Failed(line + more)

    return check


def noted(answer, given: list):
    """The same function, whose values are written down."""

    @functools.wraps(answer)
    def asked(*args):
        given.append(answer(*args))
        return given[-1]

    return asked


def in_full(line: str, answer, given: list, cases, tol: float = 1e-6, **_) -> str:
    """The case that the line of a self-check shows, with small arrays in full: the line itself has `…` and `...` for them."""
    for (arguments, expected), value in zip(() if callable(cases) else cases, given):
        if exercises.verdict(functools.wraps(answer)(lambda *_, value=value: value), [(arguments, expected)], tol) == line:
            told = wholes(*arguments, value, expected)
            return f". In full: of {', '.join(told[:-2]) or 'nothing'} it makes {told[-2]}{told[-1]}" if told else ""
    return ""


def value_in_full(name: str, value, expected, *_, **__) -> str:
    """The same for a value that is no function's."""
    return f". In full: {name} is {''.join(told)}" if (told := wholes(value, expected)) else ""


def wholes(*values) -> list[str]:
    """Values as one would type them, the last what is right, if it is no condition; none where no array is among them."""
    *given, expected = values
    told = [whole(value) for value in (*given, *(() if callable(expected) else (expected,)))]
    if not all(told) or not any(text.startswith(("[", "(")) for text in told):
        return []
    return [*told, ""] if callable(expected) else [*told[:-1], f"; {told[-1]} is right"]


def whole(value) -> str:
    """A number, a text or a small array as one would type it; nothing where it is anything else, or too long to be read."""
    if value is None:
        return ""
    try:
        text = repr(value) if isinstance(value, (str, bool)) else repr(np.round(np.asarray(value, dtype=float), 6).tolist())
    except (TypeError, ValueError):
        text = repr(value) if isinstance(value, (list, tuple)) else ""
    text = re.sub(r"(?<=\d)\.0\b", "", text)
    return text if len(text) <= 200 else ""


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


def remote(submission: Submission, photo: str, name: str):
    """A function that asks the submission's function of this name."""

    def function(*args, **kwargs):
        sent = {"args": [answers.encode(a) for a in args], "kwargs": {k: answers.encode(v) for k, v in kwargs.items()}}
        return opened(submission.ask(photo, {"name": name, **sent}))

    function.__name__ = name
    return function


def opened(reply: dict):
    """The value of a reply, with numbers as numbers; raises an error of the name that the submission's had.

    The name of a class of its own is a submission's word, in which it could say what it was asked: only those of a list are told.
    """
    if "value" in reply:
        return plain(answers.decode(reply["value"]))
    kind = str(reply.get("error"))
    known = getattr(builtins, kind, np.linalg.LinAlgError if kind == "LinAlgError" else None)
    kind = kind if isinstance(known, type) and issubclass(known, Exception) else "Error"
    raise type(kind, (StudentError,), {})(str(reply.get("says"))[:300])


def plain(value):
    """Tensors, arrays and lists of numbers as arrays, and one number as a number: they count alike."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if kind == "torch.Tensor":
        value = value.numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.item() if value.ndim == 0 else value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [plain(item) for item in value]
        numbers = items and all(isinstance(item, (bool, int, float, complex, np.ndarray)) for item in items)
        if numbers and len({np.shape(item) for item in items}) == 1:
            return np.array(items)
        return type(value)(items)
    return value


@contextlib.contextmanager
def limited(seconds: float, submission: Submission, name: str):
    """`Late` after so many seconds; what the submission or this process waits for a processor does not count."""
    submission.busy(f"the test {name}", seconds)
    watch = Stopwatch(lambda: submission.waited)

    def look(*_):
        if watch.over(seconds):
            raise Late
        submission.alive()

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, min(STEP, seconds), STEP)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- cells ----------------------------------------------------------------------------------------------------------------


def names_in(code: str, use: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """The names in code, or those that it reads (`ast.Load`); all its words where it does not parse."""
    try:
        return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and isinstance(node.ctx, use)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"[^\W\d]\w*", code))


def steps_of(problems: source.ProblemSet, changed: dict[str, str] | None = None) -> list[Step]:
    """The solution of a set as a submission, with the code of some answers changed."""
    texts = {cell.name: cell.source if cell.kind != "test" else cell.public for cell in problems.cells} | (changed or {})
    code = [cell for cell in problems.cells if cell.code and cell.kind != "distractor"]
    return [Step(cell.name, texts[cell.name], cell.kind == "test") for cell in code]
