"""Self-checks for exercises: one line that says how far an answer is, with the failing case."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


def selfcheck(answer: Callable, cases: Sequence[tuple[tuple, object]], tol: float = 1e-6) -> None:
    """Print a verdict on a student's function: missing, keep working, almost or correct.

    `cases` are pairs of arguments and the expected value (a number or an array); the first case that fails is shown. *Almost*
    means within five per cent in every case: right in kind, wrong in a factor or in precision.
    """
    print(verdict(answer, cases, tol))


def verdict(answer: Callable, cases: Sequence[tuple[tuple, object]], tol: float = 1e-6) -> str:
    """The line that `selfcheck` prints."""
    if not cases:
        raise ValueError("a self-check needs at least one case")
    failing, close = None, True
    for arguments, expected in cases:
        call = f"{answer.__name__}({', '.join(f'{a:g}' if isinstance(a, (int, float)) else '…' for a in arguments)})"
        try:
            given = answer(*arguments)
        except Exception as error:  # a student's code may raise anything: say what, and go on
            return f"keep working: {call} raises {type(error).__name__}: {error}"
        if given is None:
            return f"missing: {answer.__name__} returns nothing yet"
        try:
            given, wanted = np.asarray(given, dtype=float), np.asarray(expected, dtype=float)
        except (TypeError, ValueError):
            return f"keep working: {call} gives {given!r}, not a number"
        if given.shape != wanted.shape:
            return f"keep working: {call} has shape {given.shape}; {wanted.shape} is needed"
        gap = np.abs(given - wanted)
        if not np.all(gap <= tol * np.maximum(1, np.abs(wanted))):
            failing = failing or f"{call} gives {_short(given)}"
            close = close and bool(np.all(gap <= 0.05 * np.abs(wanted)))
    if failing is None:
        return f"correct: {answer.__name__} passes all {len(cases)} cases"
    return f"{'almost' if close else 'keep working'}: {failing}, which is {'close' if close else 'not right'}"


def _short(value: np.ndarray) -> str:
    return f"{value:.6g}" if value.ndim == 0 else np.array2string(value, precision=4, threshold=6)
