"""Questions in the page: a guess that is made before the truth is shown, and exercises that are answered in the page.

What a reader guesses stays in the browser. Where scripts do not run, there is a fold with the answer.

>>> from foldbook.guess import ask, guess
>>> guess("How many pieces do five folds make at most?", 32, between=(1, 100), log=True, because="Each fold doubles them.")
guess: How many pieces do five folds make at most?
>>> ask("What is T_2(x)?", "2*x**2 - 1", of="x", mistakes={"2*x**2": "you forgot the constant"})
ask: What is T_2(x)?
"""

from __future__ import annotations

import ast
import html
import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foldnet import plots

from .live import figures, hash_of, script

MOST_POINTS = 161
_FUNCTIONS = {"sqrt", "exp", "log", "ln", "sin", "cos", "tan", "atan", "arctan", "abs", "max", "min", "relu"}
_CONSTANTS = {"pi", "e"}
_ALLOWED = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Load, ast.Constant)
_ALLOWED += (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub)

# JupyterLab's command mode eats the arrow keys unless the focused element, here the host, carries the attribute.
_HOST = (
    '<div data-guess="{sort}" data-live-hash="{hash}" data-lm-suppress-shortcuts="true">{still}'
    '<script type="application/json">{data}</script>\n<script data-live-script="{name}">{script}</script></div>'
)


class Shown:
    """What a notebook shows of a question: `html` for a page, and the question alone for everything else."""

    def __init__(self, sort: str, text: str, still: str, data: dict):
        self.name = {"tally": "guess"}.get(sort, sort)
        self.text = text
        self.html = _HOST.format(
            sort=sort,
            hash=hash_of(self.name),
            still=still,
            data=json.dumps(data, ensure_ascii=False).replace("</", "<\\/"),
            name=self.name,
            script=script(self.name),
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_):
        return {"text/html": self.html, "text/plain": self.text}


def guess(
    question: str,
    truth: Any,
    *,
    between: Sequence[float] | None = None,
    log: bool = False,
    unit: str = "",
    among: Sequence[str] | None = None,
    window: Sequence | None = None,
    labels: Sequence[str] = ("x", "y"),
    picture: Any = None,
    alt: str = "",
    because: str = "",
) -> None:
    """Show a question whose truth the reader sees after a guess; `because` is one sentence that is shown with it.

    The truth says what the reader does. A number, or several by name, is placed on a scale `between` two ends, in a `unit`, and
    logarithmic with `log`. A text is chosen `among` a few. A curve `(xs, ys)` is drawn in a `window` `((x0, x1), (y0, y1))` with
    `labels`. A point `(x, y)` is marked on a matplotlib `picture`, in the coordinates of its first axes. In a text `*this*` is
    slanted.
    """
    from IPython.display import display

    scale = {"between": between, "log": log, "unit": unit}
    plane = {"window": window, "labels": labels, "picture": picture, "alt": alt}
    display(guessed(question, truth, among=among, because=because, **scale, **plane))


def ask(
    question: str,
    answer: float | str | Sequence,
    *,
    tol: float = 1e-6,
    among: Sequence[str] | None = None,
    of: str | None = None,
    between: Sequence[float] = (-2, 2),
    state: str | None = None,
    mistakes: Mapping[str, str] | None = None,
    solution: str = "",
) -> None:
    """Show an exercise that is answered in the page: a number, one of a few, a formula, or the state of a live figure.

    A number is right to `tol`, as in `selfcheck`. A choice is one `among` a few. A formula is one `of` a variable; it is compared
    at points `between` two numbers, where the answer has a value. With `state`, "shore.level", the reader sets this figure of the
    page, and the answer lists all values of its `level` that are right. `mistakes` maps wrong answers to what to say to them. The
    answer is never shown by itself; the `solution` is a fold.
    """
    from IPython.display import display

    display(asked(question, answer, tol, among, of, between, mistakes, solution, state))


def tally(part: str) -> Shown:
    """How many guesses the reader made on the pages below a folder of the book, as "splines", and how many were close."""
    note = "<p>Guesses are counted here where scripts run.</p>"
    return Shown("tally", f"tally: {part}", note, {"part": part})


# ---- a guess -------------------------------------------------------------------------------------------------------------


def guessed(question: str, truth: Any, **how) -> Shown:
    """What `guess` shows."""
    how: dict[str, Any] = {"between": None, "among": None, "window": None, "picture": None, "because": "", **how}
    given = [name for name in ("between", "among", "window", "picture") if how[name] is not None]
    if len(given) > 1:
        raise ValueError(f"a guess is of one kind; got {' and '.join(given)}")
    sort, image = "guess", ""
    if how["among"] is not None:
        data, answer = _choice(truth, how["among"])
    elif how["picture"] is not None:
        alt = how.get("alt") or f"The picture that is asked about: {_bare(question)}"
        sort, (data, answer, image) = "marked", _picture(truth, how["picture"], alt)
    elif how["window"] is not None or _is_curve(truth):
        sort, (data, answer) = "drawn", _curve(truth, how["window"], how.get("labels", ("x", "y")))
    else:
        data, answer = _number(truth, how["between"], how.get("log", False), how.get("unit", ""))
    because = how["because"]
    data |= {"question": question, "because": because, "answer": answer}
    told = f"{answer}. {_bare(because)}".strip()
    fold = f"<details><summary>Guess: {html.escape(_bare(question))}</summary><p>{html.escape(told)}</p></details>"
    return Shown(sort, f"guess: {question}", image + fold, data)


def _number(truth, between, log: bool, unit: str):
    marks = {"": truth} if not isinstance(truth, Mapping) else truth
    if any(isinstance(value, str) or not np.isscalar(value) for value in marks.values()):
        raise ValueError(f"a guess is a number, numbers by name, one of a few (among), a curve or a mark; got {truth!r}")
    if between is None:
        raise ValueError("a guess of a number needs a scale, as between=(0, 10)")
    low, high = map(_plain, between)
    values = [_plain(value) for value in marks.values()]
    if not low < high or (log and low <= 0):
        raise ValueError(f"a scale runs from less to more{', above zero where it is logarithmic' * log}; got {between}")
    if outside := [value for value in values if not low <= value <= high]:
        raise ValueError(f"the truth {outside[0]} is not between {low} and {high}")
    whole = all(float(value).is_integer() for value in (low, high, *values))
    one = unit[:-1] if re.fullmatch("[a-z]+s", unit) else unit
    told = [f"{_number_words(value, 3)} {one if abs(value) == 1 else unit}".strip() for value in values]
    answer = ", ".join(f"{name}: {words}" if name else words for name, words in zip(marks, told))
    data = {"kind": "number", "marks": list(zip(marks, values)), "between": [low, high], "log": log, "unit": unit, "whole": whole}
    return data, answer


def _choice(truth, among):
    if truth not in among:
        raise ValueError(f"the truth is one of {', '.join(map(repr, among))}; got {truth!r}")
    return {"kind": "choice", "among": list(among), "truth": truth}, truth


def _is_curve(truth) -> bool:
    return isinstance(truth, tuple) and len(truth) == 2 and np.ndim(truth[0]) == 1 == np.ndim(truth[1])


def _curve(truth, window, labels):
    if not _is_curve(truth) or len(truth[0]) != len(truth[1]) or len(truth[0]) < 2:
        raise ValueError("a curve is (xs, ys), two lists of one length")
    x, y = (np.asarray(part, float) for part in truth)
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    if window is None:
        reach = np.ptp(y) or 1.0
        window = ((x[0], x[-1]), (y.min() - 0.3 * reach, y.max() + 0.3 * reach))
    (x0, x1), (y0, y1) = ((_plain(a), _plain(b)) for a, b in window)
    if not (x0 < x1 and y0 < y1):
        raise ValueError(f"a window is ((x0, x1), (y0, y1)) with less before more; got {window}")
    if not (x[0] < x1 and x[-1] > x0):
        raise ValueError(f"the curve, from {x[0]:g} to {x[-1]:g}, is not in the window from {x0:g} to {x1:g}")
    if len(x) > MOST_POINTS:
        places = np.linspace(max(x[0], x0), min(x[-1], x1), MOST_POINTS)
        x, y = places, np.interp(places, x, y)
    some = np.linspace(max(x[0], x0), min(x[-1], x1), 3)
    told = [f"{_number_words(v)} at {labels[0]} = {_number_words(p)}" for p, v in zip(some, np.interp(some, x, y))]
    answer = f"{labels[1]} = {', '.join(told)}"
    points = [[_short(a), _short(b)] for a, b in zip(x, y)]
    return {"kind": "curve", "curve": points, "window": [[x0, x1], [y0, y1]], "labels": list(labels)}, answer


def _picture(truth, fig, alt: str):
    if np.shape(truth) != (2,):
        raise ValueError(f"a mark on a picture is (x, y); got {truth!r}")
    image = plots.image(fig, alt)  # it is laid out now
    axes = fig.axes[0]
    corners = axes.get_position()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(fig)  # else the notebook shows it a second time, without the question
    scales = [axes.get_xscale(), axes.get_yscale()]
    if unknown := [scale for scale in scales if scale not in ("linear", "log")]:
        raise ValueError(f"a mark can be put on axes that are linear or logarithmic; these are {unknown[0]}")
    names = [_bare(label) or name for label, name in ((axes.get_xlabel(), "x"), (axes.get_ylabel(), "y"))]
    point = [_plain(value) for value in truth]
    data = {
        "kind": "picture",
        "truth": point,
        "box": [_short(v) for v in (corners.x0, 1 - corners.y1, corners.width, corners.height)],
        "x": [_short(v) for v in axes.get_xlim()],
        "y": [_short(v) for v in axes.get_ylim()],
        "logs": [scale == "log" for scale in scales],
        "labels": names,
    }
    return data, ", ".join(f"{name} = {_number_words(v)}" for name, v in zip(names, point)), image


# ---- a question ----------------------------------------------------------------------------------------------------------


def asked(
    question: str,
    answer: float | str | Sequence,
    tol: float = 1e-6,
    among: Sequence[str] | None = None,
    of: str | None = None,
    between: Sequence[float] = (-2, 2),
    mistakes: Mapping[str, str] | None = None,
    solution: str = "",
    state: str | None = None,
) -> Shown:
    """What `ask` shows."""
    mistakes = {str(key): words for key, words in (mistakes or {}).items()}
    data: dict[str, Any]
    if state is not None:
        if mistakes:
            raise ValueError("a state of a figure is right or not: it has no known mistakes")
        data, answer = _state(state, answer, tol), ""
    elif among is not None:
        if wrong := sorted({answer, *mistakes} - set(among), key=str) or [answer] * (answer in mistakes):
            raise ValueError(f"{wrong[0]!r} is not a wrong answer among {', '.join(map(repr, among))}")
        data = {"kind": "choice", "among": list(among), "answer": answer}
    else:
        answer = str(answer if of else _plain(answer)) if not isinstance(answer, str) else answer
        for words in (answer, *mistakes):
            _readable(words, of)
        if answer in mistakes:
            raise ValueError(f"the right answer {answer} is among the mistakes")
        data = {"kind": "formula" if of else "number", "answer": answer, "tol": tol}
        data |= {"of": of, "between": [_plain(v) for v in between]} if of else {}
    data |= {"question": question, "mistakes": mistakes, "solution": solution}
    told = f"{answer}. {_bare(solution)}".removeprefix(". ").strip()
    fold = f"<p>{html.escape(_bare(question))}</p><details><summary>Answer</summary><p>{html.escape(told)}</p></details>"
    return Shown("ask", f"ask: {question}", fold, data)


def _state(name: str, answers, tol: float) -> dict:
    """What a live figure is asked for: of the `level` in "shore.level" these values are right."""
    figure, _, key = name.partition(".")
    if key not in figures().get(figure, {}).get("defaults", {}):
        raise ValueError(f"a state is a live figure and a part of its state, as 'shore.level'; got {name!r}")
    right = np.asarray(answers).tolist()
    if not isinstance(right, list) or not right:
        raise ValueError(f"the states that are right are a list; got {answers!r}")
    return {"kind": "state", "figure": figure, "key": key, "answers": right, "tol": tol}


def _readable(words: str, of: str | None) -> None:
    """Refuse what the page could not read: a formula has numbers, the variable, + - * / ** and a few functions."""
    try:
        tree = ast.parse(words.replace("^", "**").strip(), mode="eval")
    except SyntaxError:
        raise ValueError(f"{words!r} is no formula: write it as in Python, 2*x**2 - 1") from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        known = _FUNCTIONS if id(node) in called else _CONSTANTS | {of}
        if not isinstance(node, _ALLOWED) or (isinstance(node, ast.Name) and node.id not in known):
            raise ValueError(f"{words!r} has {ast.unparse(node)!r}, which the page cannot read")


# ---- numbers and words ---------------------------------------------------------------------------------------------------


def _plain(value) -> int | float:
    """A number as JSON has it: whole where it is written so."""
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, int) else float(value)


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _number_words(value: float, digits: int = 4) -> str:
    words = f"{value:,}" if isinstance(value, int) else f"{float(f'{value:.{digits}g}'):,.10g}"
    return words.replace("-", "−")


def _bare(words: str) -> str:
    """Words without the marks of slanted text, code and mathematics."""
    return re.sub(r"[*`$]", "", words)
