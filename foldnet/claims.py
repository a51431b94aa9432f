"""A verdict is computed, never declared: `check` compares what a chapter measured with what a source says."""

from __future__ import annotations

import difflib
import functools
import html
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from . import _paths, plan

MIME = "application/vnd.foldnet.check+json"
MARKS = {"reproduced": "✓", "corrected": "✎", "differs": "≠", "open": "○"}
VERDICTS = tuple(MARKS)


@dataclass(frozen=True)
class Claim:
    """One statement of a source, in our words: an entry of `book/claims/PART/CHAPTER.yml`."""

    id: str
    source: str
    chapter: str
    kind: str
    title: str
    where: str
    says: str
    published: Any = None
    truth: str | None = None
    note: str | None = None
    open: str | None = None  # why nothing checks it yet, in a chapter that is there


@functools.cache
def claims() -> dict[str, Claim]:
    """Every claim of the four sources by id, chapter by chapter in the order of the plan."""
    folder, found = _paths.book() / "claims", {}
    for chapter in plan.chapters():
        path = folder / f"{chapter}.yml"
        for entry in plan.read(path) if path.is_file() else ():
            if entry["id"] in found:
                raise ValueError(f"{entry['id']} stands in book/claims twice: in {found[entry['id']].chapter} and in {chapter}")
            found[entry["id"]] = Claim(chapter=chapter, **entry)
    return found


def claim(id: str) -> Claim:
    """The claim with this id; an unknown id raises and names the nearest ones."""
    known = claims()
    if id not in known:
        near = difflib.get_close_matches(id, known, n=3)
        raise ValueError(f"book/claims has no claim {id!r}" + (f"; did you mean {', '.join(near)}?" if near else ""))
    return known[id]


@dataclass(frozen=True)
class Bound:
    """A published inequality: `low <= measured <= high`."""

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self):
        if not (math.isfinite(self.low) or math.isfinite(self.high)) or not self.low <= self.high:
            raise ValueError(f"a bound has at least one finite side, low <= high; got {self.low} and {self.high}")

    def __str__(self) -> str:
        if math.isinf(self.low):
            return f"at most {self.high:.4g}"
        return f"at least {self.low:.4g}" if math.isinf(self.high) else f"between {self.low:.4g} and {self.high:.4g}"


def at_most(high: float) -> Bound:
    return Bound(high=float(high))


def at_least(low: float) -> Bound:
    return Bound(low=float(low))


def between(low: float, high: float) -> Bound:
    return Bound(float(low), float(high))


@dataclass(frozen=True)
class Record:
    """What one `check` found; it travels in the cell's output and is read by the ledger."""

    id: str
    what: str
    verdict: str
    measured: Any
    published: Any
    corrected: Any = None
    tolerance: str = "exact"
    note: str | None = None
    parts: list[dict] | None = None  # for a mapping: one dict a key, with the fields above


def check(id, what, measured, published=None, *, tol=None, rtol=None, corrected=None, digits=None, note=None) -> None:
    """Compare a measurement with a claim and show the verdict as one line.

    `published` defaults to the value of the claim's entry. A target is a number, a text, an array or a mapping of them, or a
    `Bound`. `tol` is absolute, `rtol` relative; without either the comparison is exact, and inexact numbers need one of them.
    `corrected` is what we hold to be true where the source errs; `note` says what was tried where neither agrees.
    """
    record = evaluate(id, what, measured, published, tol=tol, rtol=rtol, corrected=corrected, digits=digits, note=note)
    line = _line(record)
    bundle = {"text/plain": line, "text/html": _html(record), MIME: asdict(record)}
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        get_ipython = lambda: None  # noqa: E731
    if get_ipython() is None:
        print(line)
    else:
        display(bundle, raw=True)


def evaluate(id, what, measured, published=None, *, tol=None, rtol=None, corrected=None, digits=None, note=None) -> Record:
    """The record of a check, without showing it: `reproduced`, `corrected` or `differs`, by comparison alone."""
    stated = claim(id).published
    published = stated if published is None else published
    if published is None:
        raise ValueError(f"{id} has no published value in book/claims: say what the measurement is compared with")
    if _is_number_like(stated) and not _holds(_plain(published), _plain(stated)):
        raise ValueError(f"{id} is published as {_plain(stated)} in book/claims; the check says {_plain(published)}")
    agrees = _agrees(measured, published, tol, rtol)
    if agrees:
        verdict = "reproduced"
    else:
        verdict = "corrected" if corrected is not None and _agrees(measured, corrected, tol, rtol) else "differs"
    values = (measured, published, None if agrees else corrected, tol, rtol, digits)
    if not isinstance(published, Mapping):
        return Record(id, what, verdict, **_fields(*values), note=note)
    parts = [{"name": str(key), **_fields(*(_part(v, key) for v in values))} for key in published]
    joined = {
        f: "; ".join(f"{p['name']}: {p[f]}" for p in parts if p[f]) or None
        for f in ("measured", "published", "corrected", "tolerance")
    }
    return Record(id, what, verdict, **joined, note=note, parts=parts)


def _fields(measured, published, corrected, tol, rtol, digits) -> dict[str, str | None]:
    """Measured, published and corrected value as texts, and the tolerance."""
    show = functools.partial(_shown, target=published, tol=tol, rtol=rtol, digits=digits)
    tolerance = "bound" if isinstance(published, Bound) else _tolerance(tol, rtol)
    truth = None if corrected is None else show(corrected)
    return {"measured": show(measured), "published": show(published), "corrected": truth, "tolerance": tolerance}


def _tolerance(tol, rtol) -> str:
    return " and ".join(([f"±{tol:g}"] if tol else []) + ([f"±{100 * rtol:g} %"] if rtol else [])) or "exact"


# ---- comparison --------------------------------------------------------------------------------------------------------


def _agrees(measured, target, tol, rtol) -> bool:
    """Whether a measurement meets a target; raises where the comparison could not fail or is not well posed."""
    if isinstance(target, Mapping):
        if not isinstance(measured, Mapping) or set(measured) != set(target):
            raise ValueError(f"the measurement needs the keys {sorted(map(str, target))}")
        results = [_agrees(measured[key], target[key], _part(tol, key), _part(rtol, key)) for key in target]
        return all(results)
    if isinstance(target, Bound):
        values = _numbers(measured)
        return values.size > 0 and bool(np.all((values >= target.low) & (values <= target.high)))
    measured, target = _plain(measured), _plain(target)
    if tol is None and rtol is None:
        if _has_floats(measured) or _has_floats(target):
            raise ValueError("inexact numbers need a tolerance: tol= (absolute) or rtol= (relative)")
        return measured == target and type(measured) is type(target)
    if not ((tol or 0.0) >= 0 and (rtol or 0.0) >= 0):
        raise ValueError(f"a tolerance is not negative; got tol={tol} and rtol={rtol}")
    m, t = _numbers(measured), _numbers(target)
    if m.shape != t.shape or not t.size:
        raise ValueError(f"measured and published have shapes {m.shape} and {t.shape}: they must be equal and not empty")
    width = np.zeros_like(t) + (tol or 0.0) + (rtol or 0.0) * np.abs(t)
    if np.any(t != 0) and np.all(np.abs(t) <= width):
        raise ValueError(f"the tolerance {tol or rtol:g} would accept zero for {_shown(target)}: it tests nothing")
    return bool(np.all(np.abs(m - t) <= width))


def _numbers(value) -> np.ndarray:
    try:
        return np.asarray(_plain(value), dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"a tolerance or a bound compares numbers; got {_plain(value)!r}") from None


def _plain(value):
    """Tensors, arrays, tuples and numpy scalars as lists and Python numbers."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _holds(published, stated) -> bool:
    """Whether a check's published value is the one of its entry, or has it among others."""
    if isinstance(stated, Mapping):
        return isinstance(published, Mapping) and all(k in published and published[k] == v for k, v in stated.items())
    return published == stated


def _has_floats(value) -> bool:
    return any(map(_has_floats, value)) if isinstance(value, list) else isinstance(value, float)


def _is_number_like(value) -> bool:
    value = list(value.values()) if isinstance(value, Mapping) else value
    return bool(value) and all(map(_is_number_like, value)) if isinstance(value, list) else isinstance(value, (int, float))


# ---- showing -----------------------------------------------------------------------------------------------------------


def _shown(value, target=None, tol=None, rtol=None, digits=None) -> str:
    """A value rounded to what its tolerance can tell, so that the text is the same on every machine."""
    if isinstance(value, (Bound, str)):
        return str(value)
    value = _plain(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_shown(v, _part(target, k), _part(tol, k), _part(rtol, k), digits)}" for k, v in value.items())
    show = functools.partial(_shown, target=target, tol=tol, rtol=rtol, digits=digits)
    if isinstance(value, list):
        if len(value) > 8 and not isinstance(value[0], list):
            return f"{len(value)} values from {show(min(value))} to {show(max(value))}"
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    if isinstance(target, Bound):
        if 0 < abs(value) < 1e-9:  # rounding noise differs from machine to machine
            return f"below {target.high:g}" if abs(value) <= target.high < 1e-9 else "below 1e-9"
        return f"{value:.{digits or 2}g}"
    if digits is None and isinstance(tol, (int, float)) and tol > 0:
        return f"{round(value, min(6, max(0, math.ceil(-math.log10(tol))))) + 0.0:.10g}"
    return f"{value:.{digits or 4}g}"


def _keys(of) -> dict:
    return dict.fromkeys(of) if isinstance(of, Mapping) else {}


def shown(value) -> str | None:
    """A published value as text, several of them joined."""
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {shown(v)}" for key, v in value.items())
    return None if value is None else _shown(value)


def _part(of, key):
    return of.get(key) if isinstance(of, Mapping) else of


def _comparison(verdict: str, published, corrected, tolerance, **_) -> str:
    """What a measurement was held against: `expected` where it agrees, `source` and `true` where the source errs."""
    against = "expected" if verdict == "reproduced" else "source"
    truth = f"; true {corrected}" if corrected is not None else ""
    return f"({against} {published}{truth}" + ("" if tolerance in ("bound", "exact") else f"; {tolerance}") + ")"


def _line(r: Record) -> str:
    if r.parts:
        found = "; ".join(f"{p['name']} {p['measured']} {_comparison(r.verdict, **p)}" for p in r.parts)
    else:
        found = f"{r.measured} {_comparison(**asdict(r))}"
    return f"{r.verdict} {r.id} | {r.what}: {found}" + (f". {r.note}" if r.note else "")


def _html(r: Record) -> str:
    e, mark = html.escape, MARKS[r.verdict]
    if r.parts:
        rows = ((p["name"], p["measured"], _comparison(r.verdict, **p)) for p in r.parts)
        found = "<br>".join(f"{e(name)} <b>{e(measured)}</b> {e(against)}" for name, measured, against in rows)
        found = f"<br>{found}" if len(r.parts) > 1 else found
    else:
        found = f"<b>{e(r.measured)}</b> {e(_comparison(**asdict(r)))}"
    note = f" {e(r.note)}" if r.note else ""
    return (
        f'<div class="foldnet-check foldnet-{r.verdict}" id="claim-{e(r.id)}"><b>{mark} {r.verdict}</b> {e(r.what)}: {found}'
        f"{note} <small><code>{e(r.id)}</code></small></div>"
    )


def dumps(records: list[dict]) -> str:
    """Records as JSON, one object a claim."""
    return json.dumps(records, indent=1, ensure_ascii=False)
