"""A record of a check in words, from its fields alone: the line that is printed, the box of a page, the cells of the ledger."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from ._comparison import Bound, Order, agrees, from_plain

MARKS = {"reproduced": "✓", "consistent": "≈", "corrected": "✎", "differs": "≠", "used": "◇", "open": "○"}
WORDS = {"printed": "printed", "statement": "implied", "criterion": "we ask for"}  # stated is what a source prints
ASKS = {"printed": "printed:", "statement": "implied:", "criterion": "we ask for"}  # of bounds: a statement implies them
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MANY = 8  # longer lists are told by what became of them


def number(value: Any) -> str:
    """A number for people: 616,126, 0.0012, 2.8·10⁻⁸."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    text = f"{value + 0.0:.10g}" if 1e-4 <= abs(value) < 1e7 or value == 0 else f"{value:.7e}"
    if "e" not in text:
        return text
    mantissa, power = text.split("e")
    mantissa = f"{float(mantissa):g}"
    power = "10" + str(int(power)).translate(SUPERSCRIPT)
    return power if mantissa == "1" else f"−{power}" if mantissa == "-1" else f"{mantissa}·{power}"


def show(value: Any) -> str:
    """A target, or a measurement, in words."""
    if isinstance(value, Bound):
        ends = (("at least", value.low), ("at most", value.high))
        return ", ".join(f"{word} {number(float(f'{end:.4g}'))}" for word, end in ends if math.isfinite(end))
    if isinstance(value, Order):
        return value.direction
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {show(v)}" for key, v in value.items())
    if isinstance(value, list):
        flat = _flat(value)
        if len(flat) == len(value) > 2 and all(v == flat[0] for v in flat):
            return f"{show(flat[0])} in all {len(flat)}"
        if len(flat) <= MANY or (isinstance(value[0], list) and len(flat) <= 2 * MANY):
            return "[" + ", ".join(f"[{', '.join(map(show, v))}]" if isinstance(v, list) else show(v) for v in value) + "]"
        return f"{len(flat)} values" + (f", {number(min(flat))} to {number(max(flat))}" if _comparable(flat) else "")
    return number(value)


def _flat(value: Any) -> list:
    return [w for v in value for w in _flat(v)] if isinstance(value, list) else [value]


def _comparable(flat: list) -> bool:
    return all(isinstance(v, (int, float)) for v in flat)


# ---- one point ---------------------------------------------------------------------------------------------------------


def measured(point) -> str:
    """What was measured at a point; a long list by how it compares."""
    value, target = point.measured, from_plain(point.target)
    if isinstance(value, Mapping):  # agreement up to rounding
        against = from_plain(point.corrected if "of" in value else point.target)
        if isinstance(against, Bound):
            return f"below {number(value['within'])}"
        return f"all {len(_flat(against))} values" if _long(against) else show(_near(against))
    if not _long(value) or not isinstance(target, list):
        return show(value)
    flat, wanted = _flat(value), _flat(target)
    if point.verdict not in ("corrected", "differs", "open"):
        return f"all {len(flat)} values"
    off = [i for i in range(len(flat)) if not _entry_agrees(point, i)] if len(flat) == len(wanted) else []
    first = f", the first {show(flat[off[0]])} instead of {show(wanted[off[0]])}" if off else ""
    return f"{len(off)} of {len(flat)} values off{first}"


def against(point) -> str:
    """What a point was held against, and how near it had to come; empty where the measurement says it already."""
    target, word = from_plain(point.target), WORDS[point.against]
    ask = ASKS[point.against]
    said = show(_near(target, point.tol))
    if point.verdict == "corrected":
        true = from_plain(point.corrected)
        truth = "as corrected" if _long(true) else f"true {show(_near(true, point.tol))}"
        stated = "" if _long(target) else f"{ask if isinstance(target, (Bound, Order)) else word} {said}; "
        return stated + truth + _within(point, true)
    if isinstance(target, (Bound, Order)):
        return "" if isinstance(point.measured, Mapping) else f"{ask} {said}"
    as_said = "as we ask" if point.against == "criterion" else f"as {word}"
    if point.verdict == "open":
        return f"{word} {said}"
    if point.verdict == "differs":
        return f"{as_said} it is not" if _long(target) else f"{word} {said}{_within(point, target)}"
    if isinstance(point.measured, Mapping):
        return f"{as_said}, up to rounding"
    if (point.tol is None and point.rtol is None) or point.measured == point.target:
        return as_said
    return f"{as_said}{_within(point, target)}" if _long(target) else f"{word} {said}{_within(point, target)}"


def rivals(point) -> list[tuple[str, str, bool]]:
    """Each rival at a point: its name, what it measured, and whether it meets the criterion too."""
    target = from_plain(point.target)
    found = []
    for rival in point.rivals:
        value = rival["measured"]
        near = isinstance(value, Mapping)  # agreement up to rounding
        said = (f"below {number(value['within'])}" if isinstance(target, Bound) else "the same") if near else show(value)
        found.append((rival["name"], said, near or agrees(value, target, point.tol, point.rtol)))
    return found


def twins(point) -> list[tuple[str, str, bool]]:
    """Each false neighbour at a point: its name, what it would have us measure, and whether the measurement meets it too."""
    value = point.target if isinstance(point.measured, Mapping) else point.measured  # up to rounding the target is the value
    found = []
    for twin in point.twins:
        wanted = from_plain(twin["target"])
        found.append((twin["name"], show(_near(wanted, point.tol)), agrees(value, wanted, point.tol, point.rtol)))
    return found


def tolerance(point) -> str:
    """The tolerance of a point: `0.05`, `5 %`; empty for bounds, orders and exact comparisons."""
    parts = []
    for width, unit in ((point.tol, ""), (point.rtol, " %")):
        if width:
            flat = sorted({100 * w if unit else w for w in _flat(width)})
            ends = [number(float(f"{w:.2g}")) for w in (flat[0], flat[-1])]
            parts.append((ends[0] if ends[0] == ends[1] else " to ".join(ends)) + unit)
    return " and ".join(parts)


def _within(point, target: Any) -> str:
    near = "" if isinstance(target, (Bound, Order)) or isinstance(point.measured, Mapping) else tolerance(point)
    return f", within {near}" if near else ""


def _entry_agrees(point, index: int) -> bool:
    """Whether one entry of a list meets its own target."""
    pick = lambda of: of if of is None or not isinstance(of, list) else _flat(of)[index]  # noqa: E731
    return agrees(pick(point.measured), pick(point.target), pick(point.tol), pick(point.rtol))


def _long(value: Any) -> bool:
    return isinstance(value, list) and len(_flat(value)) > (2 * MANY if value and isinstance(value[0], list) else MANY)


def _near(value: Any, tol: Any = None) -> Any:
    """Values to one digit more than a tolerance can tell, and to six at most: for the eye."""
    if isinstance(value, list):
        return [_near(v, tol) for v in value]
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    short = float(f"{value:.6g}")
    return round(short, max(0, math.ceil(-math.log10(tol)) + 1)) if isinstance(tol, float) and 0 < tol < 1 else short


# ---- the whole record --------------------------------------------------------------------------------------------------


def line(record) -> str:
    """One line of text: verdict, claim, what was measured, and each point beside what it was held against."""
    mixed = len({point.verdict for point in record.points}) > 1
    found = "; ".join(_point(point, mixed, lambda text: text) for point in record.points)
    says = f"{MARKS[record.verdict]} {record.says} " if record.says else ""
    return f"{says}{record.verdict} {record.id} | {record.what}: {found}" + "".join(f". {s}" for s in sentences(record))


def box(record) -> str:
    """The same as HTML, from a template."""
    points = [_point(point, len(record.points) > 1, lambda text: f"<b>{text}</b>", html.escape) for point in record.points]
    found = "<br>".join(["", *points] if len(points) > 1 else points)
    words = {"verdict": record.verdict, "id": html.escape(record.id), "mark": MARKS[record.verdict]}
    more = "".join(f" {html.escape(s.rstrip('.'))}." for s in sentences(record))
    texts = {"what": html.escape(record.what), "found": found, "more": ("." if more else "") + more}
    if record.says is None:
        return _template("check.html").substitute(words, **texts)
    return _template("verdict.html").substitute(words, **texts, says=html.escape(record.says))


def _template(name: str) -> Template:
    return Template(Path(__file__).with_name("_assets").joinpath(name).read_text(encoding="utf-8").strip())


def _point(point, marked: bool, strong, escape=str) -> str:
    name = (f"{MARKS[point.verdict]} " if marked else "") + (f"{escape(point.name)}: " if point.name else "")
    held = against(point)
    beside = "".join(f"; {n} {value}, {'which passes too' if ok else 'excluded'}" for n, value, ok in rivals(point))
    beside += "".join(f"; {n} would be {value}, {'which it is too' if ok else 'refuted'}" for n, value, ok in twins(point))
    held = (held + beside).removeprefix("; ")
    return name + strong(escape(measured(point))) + (f" ({escape(held)})" if held else "")


def sentences(record) -> list[str]:
    """What else a reader must know: a stored run and how much of it was repeated, a setup that was selected, the note."""
    found = [f"No verdict, since the setting was changed: {record.changed}"] if record.changed else []
    found += [f"Rests on the stored run {record.stored}; run again here: {record.live}"] if record.stored else []
    found += [f"Selected: {record.selected}"] if record.selected else []
    return found + ([record.note] if record.note else [])


def column(record, field: str) -> str | None:
    """One field of all points as text, for the ledger: measured, target, corrected or tolerance."""
    texts = {
        "measured": measured,
        "target": lambda p: show(_near(from_plain(p.target), p.tol)),
        "corrected": lambda p: show(_near(from_plain(p.corrected), p.tol)) if p.verdict == "corrected" else None,
        "tolerance": tolerance,
    }
    pairs = [(point.name, texts[field](point)) for point in record.points]
    return "; ".join(f"{name}: {text}" if name else text for name, text in pairs if text) or None
