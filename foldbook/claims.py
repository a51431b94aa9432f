"""A verdict is computed, never declared: `check` compares what a chapter measured with what a source says.

>>> from foldbook.claims import at_most, claim, evaluate
>>> claim("S3-thm-cauchy").title
'Cauchy law of the breakpoints'
>>> evaluate("S3-thm-cauchy", "largest gap", 0.001, at_most(0.002)).verdict  # a bound of ours, and no rival
'consistent'
>>> evaluate("S3-thm-cauchy", "largest gap", 0.001, at_most(0.002), rivals={"a normal law": 0.1}).verdict
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
ORDER = ("reproduced", "used", "consistent", "corrected", "differs")  # a claim is as good as its weakest point
STRENGTHS = {
    "exact": "an equality or a count without exception, up to rounding, in every case tried; often beside a proof",
    "sampled": "many cases, with a tolerance that the measurement itself gives",
    "one setting": "a setup that was chosen, or a criterion that was fixed after looking",
}


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
    weight: str | None = None  # of a correction: whether it changes a `result` or is a `slip`


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
    twins: tuple = ()  # a name and what a false neighbour of the statement would have us measure, each


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
    says: str | None = None  # what a story says of it, in one sentence
    changed: str | None = None  # which of the source's settings a reader has changed: then there is no verdict


def check(id, what, measured, expected=None, *, tol=None, rtol=None, corrected=None, rivals=None, twins=None, **more) -> None:
    """Compare a measurement with a claim and show the verdict as one line.

    `expected` defaults to what the claim's entry has as `published` and as the criterion's `demands`. A target is a number, a
    text, an array, a `Bound` or an `Order`; a mapping of them makes several points, each with its own verdict. `tol` is
    absolute, `rtol` relative; without either the comparison is exact, and inexact numbers need one of them. `corrected` is
    what we hold to be true where the source errs. `rivals` maps names of rivals (the null model, the opposite trend) to what
    was measured for them: a shape is reproduced only where every rival fails. `twins` maps names of false neighbours of the
    statement (another constant, exponent, sign) to the targets they would give: the measurement must miss them. A bound that
    the source does not print is ours; without a rival or a twin it makes a claim consistent and no more. `stored` names the
    stored run a verdict rests on and `live` how much of it was run again; `selected` says how a setup was chosen; `note` what
    was tried. `says` is the sentence of a story: the verdict is one line then, mark and sentence, and opens to the rest.
    `setting={"σ_w": (SIGMA_W, 10.0)}` names what the source fixes, as it is here and as it is there: where somebody changes
    it, the measurement is shown and the verdict is open. NaN has no verdict: it is refused, wherever it stands.
    """
    compared = {"tol": tol, "rtol": rtol, "corrected": corrected, "rivals": rivals, "twins": twins}
    record = evaluate(id, what, measured, expected, **compared, **more)
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
    id, what, measured, expected=None, *, tol=None, rtol=None, corrected=None, rivals=None, twins=None, digits=None,
    setting=None, **more,
) -> Record:  # fmt: skip
    """The record of a check, without showing it: its verdict by comparison alone."""
    of = claim(id)
    targets = _held_against(of, expected)
    compared = {"measurement": measured, "target": targets, "correction": corrected, "rivals": rivals, "twins": twins}
    for name, value in compared.items():
        if _comparison.has_nan(_comparison.plain(value)):
            raise ValueError(f"{id}: NaN in the {name}, and NaN has no verdict: {_comparison.plain(value)}")
    if (more.get("stored") is None) != (more.get("live") is None):
        raise ValueError(f"{id}: a verdict that rests on a stored run says which (stored=) and how much was run again (live=)")
    single = not isinstance(targets, Mapping)
    if not single and (not isinstance(measured, Mapping) or set(measured) != set(targets)):
        raise ValueError(f"the measurement needs the keys {sorted(map(str, targets))}")
    others = [*(rivals or {}).values(), *(twins or {}).values()]
    if not single and any(not isinstance(r, Mapping) or not set(r) <= set(targets) for r in others):
        raise ValueError(f"a rival, or a twin, speaks of the same points: {sorted(map(str, targets))}")
    points = []
    for key in [None] if single else targets:
        values = (measured, targets, corrected, tol, rtol, digits)
        mine = values if single else (v.get(key) if isinstance(v, Mapping) else v for v in values)
        points.append(_point(of, key, *mine, _beside(rivals, key, single), _beside(twins, key, single)))
    twofold = [point for point in points if point.corrected is not None]
    if twofold and all(map(_same_twice, twofold)):
        raise ValueError(f"{id}: the source and its correction say the same here, so no verdict can tell them apart")
    return judged(Record(id, what, "open", of.evidence, tuple(points), changed=_changes(setting or {}), **more))


def _same_twice(point: Point) -> bool:
    """Whether what the source says of a point and what we hold to be true cannot be told apart."""
    ends = [_comparison.from_plain(end) for end in (point.target, point.corrected)]
    return not any(isinstance(end, (Bound, Order)) for end in ends) and _comparison.agrees(*ends[::-1], point.tol, point.rtol)


def _changes(setting: Mapping) -> str | None:
    """Which settings are not the source's, in words."""
    plain = {name: tuple(map(_comparison.plain, pair)) for name, pair in setting.items()}
    pairs = [(name, *map(_wording.show, pair)) for name, pair in plain.items() if pair[0] != pair[1]]
    said = [f"{name} is {here} and not {there}" for name, here, there in pairs]
    return "; ".join(said) or None


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


def _beside(others, key, single: bool) -> dict:
    """What the rivals, or the twins, have at a point."""
    if single:
        return dict(others or {})
    return {name: value[key] for name, value in (others or {}).items() if key in value}


def _point(of: Claim, name, measured, target, corrected, tol, rtol, digits, rivals, twins) -> Point:
    tol, rtol = _comparison.stored(tol), _comparison.stored(rtol)
    bounds = (target, corrected)
    target, corrected = (_comparison.from_plain(_comparison.stored(t)) if isinstance(t, Bound) else t for t in bounds)
    keep = functools.partial(_comparison.kept, tol=tol, rtol=rtol, digits=digits)
    value = keep(measured, target, corrected)
    beside = tuple({"name": str(n), "measured": keep(v, target, None)} for n, v in rivals.items())
    targets = (_comparison.stored(target), _comparison.stored(corrected))
    false = tuple({"name": str(n), "target": _comparison.stored(_comparison.plain(v))} for n, v in twins.items())
    return Point(name, "open", _against(of, name), value, *targets, tol, rtol, beside, false)


# ---- verdicts, from a record's fields alone ----------------------------------------------------------------------------


def judged(record: Record) -> Record:
    """The record with its verdicts computed from its numbers: what `check` does, and what a test does again."""
    if record.changed:
        return replace(record, verdict="open", points=tuple(replace(point, verdict="open") for point in record.points))
    points = tuple(replace(point, verdict=_verdict(record.evidence, point)) for point in record.points)
    return replace(record, points=points, verdict=max((p.verdict for p in points), key=ORDER.index))


def _verdict(evidence: str, point: Point) -> str:
    if not _meets(point, "target"):
        return "corrected" if point.corrected is not None and _meets(point, "corrected") else "differs"
    if evidence == "definition":
        return "used"
    passing = [passes for _, _, passes in (*_wording.rivals(point), *_wording.twins(point))]
    if any(passing) or (_bar_is_ours(point) and not passing):
        return "consistent"
    return "reproduced"


def _bar_is_ours(point: Point) -> bool:
    """Whether a point meets a bound or a trend that the source does not print; rounding, a sign and "none" are not ours."""
    target = _comparison.from_plain(point.target)
    if point.against != "statement" or not isinstance(target, (Bound, Order)):
        return point.against == "criterion"
    return isinstance(target, Order) or (target not in (at_least(0), at_most(0)) and _rounding(point) is None)


def _rounding(point: Point) -> float | None:
    return _comparison.rounding_width(_comparison.from_plain(point.target), point.tol, point.rtol)


def strength(record: Record) -> str:
    """How strong the evidence is, one of `STRENGTHS`: from the record and the criterion of its claim."""
    criterion = claim(record.id).criterion or {}
    if record.selected or criterion.get("fixed") == "after":
        return "one setting"
    exact = ((p.tol is None and p.rtol is None and not _bar_is_ours(p)) or _rounding(p) is not None for p in record.points)
    return "sampled" if record.stored or not all(exact) else "exact"


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
    points = []
    for point in data["points"]:
        tuples: dict[str, Any] = {key: tuple(map(dict, point.get(key, ()))) for key in ("rivals", "twins")}
        points.append(Point(**{**point, **tuples}))
    fields: dict[str, Any] = {**data, "points": tuple(points)}
    return Record(**fields)


def shown(record: Record) -> dict:
    """A record as a notebook shows it: text, HTML and the record itself, the first two from the third."""
    data = json.loads(json.dumps(asdict(record)))
    for rare in ("says", "changed"):  # most records are of checks pages, and of the source's settings
        if data[rare] is None:
            del data[rare]
    for point in data["points"]:
        if not point["twins"]:
            del point["twins"]
    return {"text/plain": _wording.line(record), "text/html": _wording.box(record), MIME: data}


def problems(of: Claim, data: Mapping) -> list[str]:
    """What is wrong with a stored output: verdict, line and box must follow from the record, and the record from the claim."""
    record = from_json(data[MIME])
    again, found = judged(record), [f"is stored with another setting: {record.changed}"] if record.changed else []
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
