"""Self-checks for exercises and problem sets: one line that says how far an answer is, with the failing case."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


def selfcheck(answer: Callable, cases: Sequence[tuple[tuple, object]], tol: float = 1e-6) -> None:
    """Print a verdict on a student's function: missing, keep working, almost or correct.

    `cases` are pairs of arguments and the expected value (a number or an array), or a condition: a function that is given the
    student's value and says whether it will do. The first case that fails is shown. *Almost* means within five per cent in every
    case: right in kind, wrong in a factor or in precision.
    """
    print(verdict(answer, cases, tol))


def selfcheck_value(name: str, value, expected, tol: float = 1e-6) -> None:
    """Print a verdict on a value that a student found: the same four, and `expected` as in a case of `selfcheck`."""
    print(value_verdict(name, value, expected, tol))


def verdict(answer: Callable, cases: Sequence[tuple[tuple, object]], tol: float = 1e-6) -> str:
    """The line that `selfcheck` prints."""
    if not cases:
        raise ValueError("a self-check needs at least one case")
    judged = []
    for arguments, expected in cases:
        call = f"{answer.__name__}({', '.join(map(_argument, arguments))})"
        try:
            given = answer(*arguments)
        except Exception as error:  # a student's code may raise anything: say what, and go on
            return f"keep working: {call} raises {type(error).__name__}: {error}"
        if given is None:
            return f"missing: {answer.__name__} returns nothing yet"
        judged.append(_judged(call, "gives", given, expected, tol))
    return _worst(judged) or f"correct: {answer.__name__} passes all {len(cases)} cases"


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


def _argument(value) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else repr(value) if isinstance(value, str) else "…"


def _short(value) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.ndarray, np.generic)):
        return type(value).__name__ if len(repr(value)) > 60 else repr(value)
    value = np.asarray(value)
    return f"{value:.6g}" if value.ndim == 0 else np.array2string(value, precision=4, threshold=6)
