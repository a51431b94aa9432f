"""A verdict is computed, never declared: `check` compares what a chapter measured with what a source says.

>>> from foldbook.claims import at_most, claim, evaluate
>>> claim("S3-thm-cauchy").title
'Cauchy law of the breakpoints'
>>> evaluate("S3-thm-cauchy", "largest gap", 0.001, at_most(0.002)).verdict
'reproduced'
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from . import _comparison, _wording, paths, plan
from ._comparison import FALLING, RISING, Bound, Order, at_least, at_most, between
from ._wording import MARKS

__all__ = ["FALLING", "RISING", "Bound", "Claim", "Order", "Point", "Record", "at_least", "at_most", "between", "check"]

MIME = "application/vnd.foldnet.check+json"
VERDICTS = tuple(MARKS)
EVIDENCE = ("number", "statement", "shape", "definition")
STRENGTH = ("reproduced", "used", "consistent", "corrected", "differs")  # a claim is as strong as its weakest point


@dataclass(frozen=True)
class Claim:
    """One statement of a source, in our words: an entry of `book/claims/PART/CHAPTER.yml`.

    `published` is what the source prints and nothing else; `criterion` is what we demand beyond it, with the reason and
    whether it was fixed before or after looking.
    """

    id: str
    source: str
    chapter: str
    kind: str
    title: str
    where: str
    says: str
    evidence: str = "statement"
    published: Any = None
    criterion: Mapping | None = None
    truth: str | None = None
    note: str | None = None
    open: str | None = None  # why nothing checks it yet, in a chapter that is there


@functools.cache
def claims() -> dict[str, Claim]:
    """Every claim of the four sources by id, chapter by chapter in the order of the plan."""
    folder, found = paths.book() / "claims", {}
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
class Point:
    """One point of a claim: what was measured, what it was held against (`printed`, `statement` or `criterion`), its verdict.

    `measured` is rounded to what the tolerance can tell, so that it is the same on every machine and gives the same verdict.
    """

    name: str | None
    verdict: str
    against: str
    measured: Any
    target: Any
    corrected: Any = None
    tol: Any = None
    rtol: Any = None
    rivals: tuple = ()  # a name and what was measured for it, each


@dataclass(frozen=True)
class Record:
    """What one `check` found; it travels in the cell's output, and the ledger, the errata and the printed line come from it."""

    id: str
    what: str
    verdict: str
    evidence: str
    points: tuple[Point, ...]
    note: str | None = None
    stored: str | None = None
    live: str | None = None
    selected: str | None = None


def check(id, what, measured, expected=None, *, tol=None, rtol=None, corrected=None, rivals=None, **more) -> None:
    """Compare a measurement with a claim and show the verdict as one line.

    `expected` defaults to what the claim's entry has as `published` and as the criterion's `demands`. A target is a number, a
    text, an array, a `Bound` or an `Order`; a mapping of them makes several points, each with its own verdict. `tol` is
    absolute, `rtol` relative; without either the comparison is exact, and inexact numbers need one of them. `corrected` is
    what we hold to be true where the source errs. `rivals` maps names of rivals (the null model, the opposite trend) to what
    was measured for them: a shape is reproduced only where every rival fails. `stored` names the stored run a verdict rests
    on and `live` how much of it was run again; `selected` says how a setup was chosen; `note` what was tried.
    """
    record = evaluate(id, what, measured, expected, tol=tol, rtol=rtol, corrected=corrected, rivals=rivals, **more)
    bundle = shown(record)
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        get_ipython = lambda: None  # noqa: E731
    if get_ipython() is None:
        print(bundle["text/plain"])
    else:
        display(bundle, raw=True)


def evaluate(
    id, what, measured, expected=None, *, tol=None, rtol=None, corrected=None, rivals=None, digits=None, **more
) -> Record:
    """The record of a check, without showing it: its verdict by comparison alone."""
    of = claim(id)
    targets = _held_against(of, expected)
    if (more.get("stored") is None) != (more.get("live") is None):
        raise ValueError(f"{id}: a verdict that rests on a stored run says which (stored=) and how much was run again (live=)")
    single = not isinstance(targets, Mapping)
    if not single and (not isinstance(measured, Mapping) or set(measured) != set(targets)):
        raise ValueError(f"the measurement needs the keys {sorted(map(str, targets))}")
    if not single and any(not isinstance(r, Mapping) or not set(r) <= set(targets) for r in (rivals or {}).values()):
        raise ValueError(f"a rival is measured at the same points: {sorted(map(str, targets))}")
    points = []
    for key in [None] if single else targets:
        values = (measured, targets, corrected, tol, rtol, digits)
        mine = values if single else (v.get(key) if isinstance(v, Mapping) else v for v in values)
        points.append(_point(of, key, *mine, _beside(rivals, key, single)))
    return judged(Record(id, what, "open", of.evidence, tuple(points), **more))


def _held_against(of: Claim, expected) -> Any:
    """The targets of a check: what is printed and what the criterion demands, and what the check adds to them."""
    printed, demands = _comparison.read(of.published), _comparison.read((of.criterion or {}).get("demands"))
    fixed = {"published as": printed if _comparison.is_printed_number(printed) else None, "to be judged by": demands}
    for word, stated in fixed.items():
        if stated is None or expected is None:
            continue
        if isinstance(stated, Mapping) != isinstance(expected, Mapping) or not _holds(expected, stated):
            said, wanted = _wording.show(expected), _wording.show(stated)
            raise ValueError(f"{of.id} is {word} {wanted} in book/claims; the check says {said}")
    given = [t for t in (*fixed.values(), expected) if t is not None]
    if not given and printed is None:
        raise ValueError(f"{of.id} has neither a published value nor a criterion in book/claims: say what is expected")
    if all(isinstance(t, Mapping) for t in given):
        return {str(k): v for t in given for k, v in t.items()} or printed
    return given[-1]


def _holds(expected, stated) -> bool:
    """Whether a check expects what its claim's entry says, as far as it speaks of the same points."""
    if isinstance(stated, Mapping):
        return all(_comparison.plain(expected[k]) == _comparison.plain(v) for k, v in stated.items() if k in expected)
    return _comparison.plain(expected) == _comparison.plain(stated)


def _against(of: Claim, name: str | None) -> str:
    """What a point is held against: a printed number, the statement itself, or a criterion of ours."""
    printed = _comparison.read(of.published)
    if _comparison.is_printed_number(printed) and (name is None or name in printed):
        return "printed"
    demanded = (of.criterion or {}).get("demands")
    ours = of.evidence == "shape" or (demanded is not None and (name is None or name in demanded))
    return "criterion" if ours or (of.evidence == "number" and printed is not None) else "statement"


def _beside(rivals, key, single: bool) -> dict:
    """What the rivals measured at a point."""
    if single:
        return dict(rivals or {})
    return {name: value[key] for name, value in (rivals or {}).items() if key in value}


def _point(of: Claim, name, measured, target, corrected, tol, rtol, digits, rivals) -> Point:
    tol, rtol = _comparison.stored(tol), _comparison.stored(rtol)
    bounds = (target, corrected)
    target, corrected = (_comparison.from_plain(_comparison.stored(t)) if isinstance(t, Bound) else t for t in bounds)
    keep = functools.partial(_comparison.kept, tol=tol, rtol=rtol, digits=digits)
    value = keep(measured, target, corrected)
    beside = tuple({"name": str(n), "measured": keep(v, target, None)} for n, v in rivals.items())
    targets = (_comparison.stored(target), _comparison.stored(corrected))
    return Point(name, "open", _against(of, name), value, *targets, tol, rtol, beside)


# ---- verdicts, from a record's fields alone ----------------------------------------------------------------------------


def judged(record: Record) -> Record:
    """The record with its verdicts computed from its numbers: what `check` does, and what a test does again."""
    points = tuple(replace(point, verdict=_verdict(record.evidence, point)) for point in record.points)
    counted = points
    if record.evidence == "number" and any(p.against == "printed" for p in points):  # what we ask beyond it can fail, not weaken
        counted = [p for p in points if p.against == "printed" or p.verdict in ("corrected", "differs")]
    return replace(record, points=points, verdict=max((p.verdict for p in counted), key=STRENGTH.index))


def _verdict(evidence: str, point: Point) -> str:
    if not _meets(point, "target"):
        return "corrected" if point.corrected is not None and _meets(point, "corrected") else "differs"
    if evidence == "definition":
        return "used"
    rivals = [passes for _, _, passes in _wording.rivals(point)]
    if any(rivals) or (point.against == "criterion" and not rivals):
        return "consistent"
    return "reproduced"


def _meets(point: Point, which: str) -> bool:
    target, value = _comparison.from_plain(getattr(point, which)), point.measured
    if not isinstance(value, Mapping):
        return _comparison.agrees(value, target, point.tol, point.rtol)
    width = _comparison.rounding_width(target, point.tol, point.rtol)
    return value.get("of", "target") == which and width is not None and value["within"] <= width


def from_json(data: Mapping) -> Record:
    """A stored record as a `Record`."""
    if "points" not in data:
        raise ValueError(f"{data.get('id')} is stored in an older form: run its notebook again (make notebooks CHAPTER=...)")
    points = (Point(**{**point, "rivals": tuple(map(dict, point["rivals"]))}) for point in data["points"])  # ty: ignore[invalid-argument-type]
    return Record(**{**data, "points": tuple(points)})  # ty: ignore[invalid-argument-type]


def shown(record: Record) -> dict:
    """A record as a notebook shows it: text, HTML and the record itself, the first two from the third."""
    data = json.loads(json.dumps(asdict(record)))
    return {"text/plain": _wording.line(record), "text/html": _wording.box(record), MIME: data}


def problems(of: Claim, data: Mapping) -> list[str]:
    """What is wrong with a stored output: verdict, line and box must follow from the record, and the record from the claim."""
    record = from_json(data[MIME])
    again, found = judged(record), []
    if again != record:
        words = ", ".join(p.verdict for p in again.points)
        found.append(f"is stored as {record.verdict}; its numbers make it {again.verdict} ({words})")
    for mime, text in shown(record).items():
        if mime != MIME and "".join(data.get(mime, "")) != text:
            found.append(f"shows another {mime} than its record gives: {text[:90]!r}")
    if record.evidence != of.evidence:
        found.append(f"is stored as evidence of the kind {record.evidence}; its entry says {of.evidence}")
    printed = _comparison.read(of.published)
    for point in record.points:
        held = _against(of, point.name)
        if point.against != held:
            found.append(f"holds {point.name or 'its value'} against a {point.against}; by its entry it is a {held}")
        elif point.against == "printed":
            stated = printed if point.name is None else printed[point.name]
            if point.target != _comparison.stored(stated):
                found.append(f"was held against {point.target}; its entry has {_comparison.plain(stated)} as published")
    return found


def dumps(records: list[dict]) -> str:
    """Records as JSON, one object a claim, in letters that every encoding has."""
    return json.dumps(records, indent=1)
