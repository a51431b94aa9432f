"""A mistake costs its own points alone: what fails because it uses a wrong answer is judged again with ours in its place."""

from __future__ import annotations

import ast

from . import restore, source
from .judge import Verdict, judge, names_in
from .submission import Step


def follow_on(problems: source.ProblemSet, steps: list[Step], verdicts: dict[str, Verdict]) -> dict[frozenset[str], set[str]]:
    """The tests that may fail because of other answers alone, by these answers: they fail too, and what is asked uses them,
    by itself or by helpers in whatever cell."""
    defines = {cell.name: set(cell.defines) for cell in problems.of("answer") if cell.code}
    cells = [(restore.top_level(step.source), names_in(step.source, ast.Load)) for step in steps if not step.test]
    asks = {test.name: {a for a in defines if defines[a] & names_in(test.source)} for test in problems.tests}
    failed = {answer for test, those in asks.items() if not verdicts[test].passed for answer in those}
    found: dict[frozenset[str], set[str]] = {}
    for test, those in asks.items():
        reached: set[str] = set().union(*(defines[answer] for answer in those))
        left = cells
        while more := [used for own, used in left if own & reached]:
            left = [cell for cell in left if not cell[0] & reached]
            reached = reached.union(*more)
        blamed = frozenset(answer for answer in failed - those if defines[answer] & reached)
        if blamed and not verdicts[test].passed:
            found.setdefault(blamed, set()).add(test)
    return found


def with_ours(problems: source.ProblemSet, steps: list[Step], blamed: frozenset[str]) -> list[Step]:
    """The same cells with our answers: below each cell that gives one, and in its place where it gives nothing else."""
    ours = {cell.name: (cell.source, set(cell.defines)) for cell in problems.of("answer") if cell.name in blamed}
    made = []
    for step in steps:
        given = set() if step.test else restore.top_level(step.source)
        mine = {name: text for name, (text, own) in ours.items() if step.key == name or own & given}
        if not mine or given - set().union(*(ours[name][1] for name in mine)):
            made.append(Step(step.key, step.source, step.test))
        made += [Step(f"{step.key}-{name}", text) for name, text in mine.items()]
    return made


def carried(problems: source.ProblemSet, steps: list[Step], verdicts: dict[str, Verdict], run) -> dict[str, Verdict]:
    """Verdicts in which a mistake costs its own points alone.

    `run(steps)` gives a submission that has run. Nothing that it says is shown: it has seen our answers.
    """
    made = dict(verdicts)
    for blamed, tests in follow_on(problems, steps, verdicts).items():
        submission = run(with_ours(problems, steps, blamed))
        try:
            again = judge(problems, submission, only=tests)
        finally:
            submission.close()
        for test, verdict in again.items():
            if verdict.share > verdicts[test].share:
                said = "correct" if verdict.passed else verdicts[test].line
                made[test] = Verdict(
                    verdict.passed, f"{said} (carried: judged with our {', '.join(sorted(blamed))})", verdict.share
                )
    return made
