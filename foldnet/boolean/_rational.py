"""What is given as a number becomes a fraction, or is refused in a sentence."""

from __future__ import annotations

from fractions import Fraction


def rational(value) -> Fraction:
    """A whole number, a fraction, a text as "1/10" or a float (its binary value, exactly) as a fraction."""
    try:
        return Fraction(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(f"a finite rational number is needed, as 3, Fraction(1, 10), '1/10' or 0.5; got {value!r}") from None


def rationals(values, what: str = "a list of numbers") -> tuple[Fraction, ...]:
    """A sequence of numbers as fractions; `what` names it in the error."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ValueError(f"{what} is needed; got {values!r}")
    return tuple(map(rational, values))


def leak_of(leak) -> Fraction:
    """The slope of a leaky ReLU left of zero as a fraction, 0 <= leak < 1."""
    leak = rational(leak)
    if not 0 <= leak < 1:
        raise ValueError(f"the leak of a ReLU lies in [0, 1); got {leak}")
    return leak


def sign_of(first) -> int:
    """The first sign of a function, 1 or -1; anything else is refused."""
    if rational(first) not in (-1, 1):
        raise ValueError(f"the first sign is 1 or -1; got {first}")
    return int(first)
