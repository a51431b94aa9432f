"""What a measurement is held against, and whether it agrees: numbers, texts, arrays, bounds and orders.

Everything here is plain data (`plain`, `from_plain`), so that a stored record holds what its verdict was computed from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

NOTHING = 1e-12  # what is computed as smaller is zero: 4 sin(π), say
ROUNDING = 1e-6  # agreement within this is equality but for rounding: which digits are left depends on the machine


@dataclass(frozen=True)
class Bound:
    """An inequality: `low <= measured <= high`."""

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self):
        if not (math.isfinite(self.low) or math.isfinite(self.high)) or not self.low <= self.high:
            raise ValueError(f"a bound has at least one finite side, low <= high; got {self.low} and {self.high}")


@dataclass(frozen=True)
class Order:
    """A trend: each value of a list is larger (`"rising"`) or smaller (`"falling"`) than the one before it."""

    direction: str

    def __post_init__(self):
        if self.direction not in ("rising", "falling"):
            raise ValueError(f"an order is 'rising' or 'falling'; got {self.direction!r}")


RISING, FALLING = Order("rising"), Order("falling")


def at_most(high: float) -> Bound:
    return Bound(high=float(high))


def at_least(low: float) -> Bound:
    return Bound(low=float(low))


def between(low: float, high: float) -> Bound:
    return Bound(float(low), float(high))


def read(value: Any) -> Any:
    """A target as an entry of book/claims writes it: `at least 1.3`, `at most 2`, `between 1 and 2`, `rising`, or a value."""
    if isinstance(value, Mapping):
        return {key: read(v) for key, v in value.items()}
    if not isinstance(value, str):
        return value
    if value in ("rising", "falling"):
        return Order(value)
    number = r"([-+.\deE]+)"
    if found := re.fullmatch(rf"at least {number}", value):
        return at_least(float(found[1]))
    if found := re.fullmatch(rf"at most {number}", value):
        return at_most(float(found[1]))
    found = re.fullmatch(rf"between {number} and {number}", value)
    return between(float(found[1]), float(found[2])) if found else value


def plain(value: Any) -> Any:
    """Tensors, arrays, tuples, numpy scalars, bounds and orders as what JSON can hold."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, Bound):
        return {k: v for k, v in (("at_least", value.low), ("at_most", value.high)) if math.isfinite(v)}
    if isinstance(value, Order):
        return {"order": value.direction}
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def from_plain(value: Any) -> Any:
    """A target as a record holds it, as a target again."""
    if not isinstance(value, Mapping):
        return value
    return Order(value["order"]) if "order" in value else Bound(value.get("at_least", -math.inf), value.get("at_most", math.inf))


# ---- comparison --------------------------------------------------------------------------------------------------------


def agrees(measured: Any, target: Any, tol=None, rtol=None) -> bool:
    """Whether a measurement meets a target; raises where the comparison could not fail or is not well posed."""
    if isinstance(target, Bound):
        values = numbers(measured)
        return values.size > 0 and bool(np.all((values >= target.low) & (values <= target.high)))
    if isinstance(target, Order):
        values = numbers(measured)
        if values.ndim != 1 or len(values) < 2:
            raise ValueError(f"an order compares a list of two numbers or more; got {plain(measured)!r}")
        return bool(np.all(np.diff(values) > 0 if target.direction == "rising" else np.diff(values) < 0))
    measured, target = plain(measured), plain(target)
    if tol is None and rtol is None:
        if has_floats(measured) or has_floats(target):
            raise ValueError("inexact numbers need a tolerance: tol= (absolute) or rtol= (relative)")
        return measured == target and type(measured) is type(target)
    m, t = numbers(measured), numbers(target)
    if m.shape != t.shape or not t.size:
        raise ValueError(f"measured and expected have shapes {m.shape} and {t.shape}: they must be equal and not empty")
    return bool(np.all(np.abs(m - t) <= widths(t, tol, rtol)))


def widths(target: Any, tol=None, rtol=None) -> np.ndarray:
    """How far a measurement may be from each entry of a target; refuses a width that would accept zero for any of them."""
    t = numbers(target)
    if np.any(~(numbers(tol or 0.0) >= 0)) or np.any(~(numbers(rtol or 0.0) >= 0)):
        raise ValueError(f"a tolerance is not negative; got tol={tol} and rtol={rtol}")
    width = np.zeros_like(t) + numbers(tol or 0.0) + numbers(rtol or 0.0) * np.abs(t)
    if np.any(blind := (np.abs(t) > NOTHING) & (np.abs(t) <= width)):
        entry, wide = t[blind].flat[0], width[blind].flat[0]
        raise ValueError(f"the tolerance {wide:g} would accept zero for {entry:g}: it tests nothing there")
    return width


def numbers(value: Any) -> np.ndarray:
    try:
        return np.asarray(plain(value), dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"a tolerance or a bound compares numbers; got {plain(value)!r}") from None


def has_floats(value: Any) -> bool:
    return any(map(has_floats, value)) if isinstance(value, list) else isinstance(value, float)


def has_nan(value: Any) -> bool:
    """Whether plain data hold a number that is none."""
    if isinstance(value, (list, Mapping)):
        return any(map(has_nan, value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, float) and math.isnan(value)


def is_printed_number(value: Any) -> bool:
    """Whether an entry's published value can be compared: numbers, bounds and orders, alone or in lists and mappings."""
    value = list(value.values()) if isinstance(value, Mapping) else value
    if isinstance(value, list):
        return bool(value) and all(map(is_printed_number, value))
    return isinstance(value, (int, float, Bound, Order))


# ---- what a record keeps of a measurement ------------------------------------------------------------------------------


def kept(measured: Any, target: Any, corrected: Any, tol, rtol, digits) -> Any:
    """A measurement as it is stored: rounded to what its tolerance can tell, and never across the line that decides.

    Agreement up to rounding is kept as `{"within": 1e-10}`, of the target, or with `"of": "corrected"` of the corrected one:
    the digits below are noise.
    """
    targets = [t for t in (target, corrected) if t is not None]
    outcome = [agrees(measured, t, tol, rtol) for t in targets]
    for name, t, hit in zip((None, "corrected"), targets, outcome):
        width = rounding_width(t, tol, rtol)
        if hit and width is not None:
            return {"within": width} | ({"of": name} if name else {})
    for more in range(17):
        short = _rounded(plain(measured), target, tol, digits, more)
        if [agrees(short, from_plain(stored(t)), tol, rtol) for t in targets] == outcome:
            return short
    raise ValueError(f"{plain(measured)} is too near to the line that decides: {plain(target)}")


def stored(target: Any) -> Any:
    """A target as it is stored: computed values to seven digits, which are the same on every machine; bounds outward."""
    value = plain(target)
    if not isinstance(target, Bound):
        return _significant(value, 7)
    return {side: _outward(end, 1 if side == "at_most" else -1) for side, end in value.items()}


def rounding_width(target: Any, tol, rtol) -> float | None:
    """The width of a comparison that only leaves room for rounding; None where a measurement may really differ."""
    if isinstance(target, Bound):
        return target.high if math.isinf(target.low) and 0 < target.high <= ROUNDING else None
    if (tol is None and rtol is None) or isinstance(target, Order):
        return None
    width = float(np.max(widths(target, tol, rtol), initial=0.0))
    scale = max(1.0, float(np.max(np.abs(numbers(target)), initial=0.0)))
    small = np.max(numbers(rtol or 0.0)) <= ROUNDING and np.max(numbers(tol or 0.0)) <= ROUNDING * scale
    return float(f"{width:.2g}") if 0 < width and small else None


def _rounded(value: Any, target: Any, tol, digits, more: int) -> Any:
    if isinstance(value, list):
        return [_rounded(v, target, tol, digits, more) for v in value]
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value) if isinstance(value, float) else value
    if isinstance(target, Bound) and abs(value) < 1e-9 and not more:
        return 0.0
    if isinstance(target, (Bound, Order)) or not isinstance(tol, (int, float)) or not tol or digits:
        return _significant(value, (digits or (2 if isinstance(target, Bound) else 4)) + more)
    return round(value, min(6, max(0, math.ceil(-math.log10(tol)))) + more) + 0.0


def _outward(end: float, side: int) -> float:
    """A bound to seven digits, never tighter than it was."""
    short = _significant(end, 7)
    last = 10.0 ** (math.floor(math.log10(abs(short))) - 6) if short else 0.0
    return short if (short - end) * side >= 0 else _significant(short + side * last, 7)


def _significant(value: Any, digits: int) -> Any:
    if isinstance(value, list):
        return [_significant(v, digits) for v in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) and math.isfinite(value) else value
