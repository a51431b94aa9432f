"""Self-checks for exercises and problem sets: one line that says how far an answer is, with the failing case.

>>> from foldbook.exercises import fresh, selfcheck
>>> def area(r):
...     return 2 * 3.141592653589793 * r
>>> selfcheck(area, fresh(lambda r: 3.141592653589793 * r * r, r=(3.0, 5.0)), mistakes={"this is the circumference": area})
keep working: this is the circumference
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Cases = Sequence[tuple[tuple, object]]


def selfcheck(
    answer: Callable,
    cases: Cases | Callable[[], Cases],
    tol: float = 1e-6,
    mistakes: Mapping[str, Callable] | None = None,
    stub: str | None = None,
) -> None:
    """Print a verdict on a student's function: missing, keep working, almost or correct.

    `cases` are pairs of a tuple of arguments, `(3,)` for one, and the expected value (a number or an array), or a condition: a
    function that is given the student's value and says whether it will do; or what draws such pairs, as `fresh` does. The first
    case that fails is shown; *almost* means within five per cent in every case. `mistakes` maps a sentence ("this is the angle in
    radians") to a function that makes this mistake: who answers like it in every case is told so. Where `answer` is a helper that
    calls what the student wrote, `stub` is the name of the latter, and the verdict speaks of it.
    """
    print(verdict(answer, cases, tol, mistakes, stub))


def fresh(truth: Callable, count: int = 6, **ranges: tuple) -> Callable[[], Cases]:
    """Draws `count` new cases each time: arguments uniform in their `ranges`, whole where both ends are, and their `truth`.

    A table of right answers cannot be learned by heart then. `truth` takes the arguments by position, in the order of `ranges`.
    """

    def draw() -> Cases:
        rng = np.random.default_rng()
        rows = [tuple(_between(rng, *ends) for ends in ranges.values()) for _ in range(count)]
        return [(row, truth(*row)) for row in rows]

    return draw


def selfcheck_value(name: str, value, expected, tol: float = 1e-6) -> None:
    """Print a verdict on a value that a student found: the same four, and `expected` as in a case of `selfcheck`."""
    print(value_verdict(name, value, expected, tol))


def drawn(figure, curves: int = 1) -> bool:
    """Whether a figure shows something: labels at both axes, and at least so many lines of two or more finite points.

    Takes a matplotlib figure, or what a judge sees of one: a list with `xlabel`, `ylabel` and `lines` of each of its axes.
    """
    for axes in figure if isinstance(figure, list) else figure.axes:
        if isinstance(axes, dict):
            labels, lines = (axes["xlabel"], axes["ylabel"]), list(axes["lines"])
        else:
            labels, lines = (axes.get_xlabel(), axes.get_ylabel()), [line.get_xydata().T for line in axes.get_lines()]
        shown = [line for line in lines if np.shape(line)[1] > 1 and np.isfinite(np.asarray(line, dtype=float)).all()]
        if all(label.strip() for label in labels) and len(shown) >= curves:
            return True
    return False


def verdict(
    answer: Callable,
    cases: Cases | Callable[[], Cases],
    tol: float = 1e-6,
    mistakes: Mapping | None = None,
    stub: str | None = None,
) -> str:
    """The line that `selfcheck` prints."""
    drawn: Any = cases() if callable(cases) else cases
    if not drawn:
        raise ValueError("a self-check needs at least one case")
    judged, answers, name = [], [], getattr(answer, "__name__", "the answer")
    for arguments, expected in drawn:
        call = f"{name}({', '.join(map(_argument, arguments))})"
        try:
            given = answer(*arguments)
        except Exception as error:  # a student's code may raise anything: say what, and go on
            return f"keep working: {call} raises {type(error).__name__}: {error}"
        if given is None:
            return f"missing: {stub or name} returns nothing yet"
        answers.append(given)
        judged.append(_judged(call, "gives", given, expected, tol))
    if any(judged):
        for sentence, mistake in (mistakes or {}).items():
            same = [(arguments, mistake(*arguments)) for arguments, _ in drawn]
            if not any(_judged("", "", given, wrong, tol) for given, (_, wrong) in zip(answers, same)):
                return f"keep working: {sentence}"
    return _worst(judged) or f"correct: {stub or name} passes all {len(drawn)} cases"


def value_verdict(name: str, value, expected, tol: float = 1e-6) -> str:
    """The line that `selfcheck_value` prints."""
    if value is None:
        return f"missing: {name} has no value yet"
    return _worst([_judged(name, "is", value, expected, tol)]) or f"correct: {name}"


def _judged(what: str, verb: str, given, expected, tol: float) -> str | None:
    """The line for one case; None where it is right."""
    if callable(expected):
        try:
            right = bool(expected(given))
        except Exception:  # a condition that cannot even be asked of the value does not hold
            right = False
        return None if right else f"keep working: {what} {verb} {_short(given)}, which is not right"
    try:
        given = given.detach() if hasattr(given, "detach") else given  # a tensor that is being trained is a number too
        given, wanted = np.asarray(given, dtype=float), np.asarray(expected, dtype=float)
    except (TypeError, ValueError):
        return f"keep working: {what} {verb} {given!r}, not a number"
    if given.shape != wanted.shape:
        return f"keep working: {what} has shape {given.shape}; {wanted.shape} is needed"
    gap = np.abs(given - wanted)
    if np.all(gap <= tol * np.maximum(1, np.abs(wanted))):
        return None
    close = bool(np.all(gap <= 0.05 * np.abs(wanted)))
    return f"{'almost' if close else 'keep working'}: {what} {verb} {_short(given)}, which is {'close' if close else 'not right'}"


def _worst(judged: list[str | None]) -> str | None:
    """The line to show: the first that fails; it says almost only where every other failing case does."""
    failing = [line for line in judged if line]
    if failing and any(line.startswith("keep") for line in failing):
        return next(line for line in failing if line.startswith("keep"))
    return failing[0] if failing else None


def _between(rng: np.random.Generator, low, high):
    if isinstance(low, int) and isinstance(high, int):
        return int(rng.integers(low, high + 1))
    return round(float(rng.uniform(low, high)), 3) or 0.001  # zero is a case of its own, and rounding hits it now and then


def _argument(value) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else repr(value) if isinstance(value, str) else "…"


def _short(value) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.ndarray, np.generic)):
        return type(value).__name__ if len(repr(value)) > 60 else repr(value)
    value = np.asarray(value)
    return f"{value:.6g}" if value.ndim == 0 else np.array2string(value, precision=4, threshold=6)
