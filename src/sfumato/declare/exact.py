"""Numbers as people write them, kept exactly."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from sfumato.terms.errors import BadPolicy

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?")
_RATIO = re.compile(r"[+-]?\d{1,30}\s*/\s*\d{1,30}")


def fraction(value: object, *, key: str = "the value") -> Fraction:
    """The exact number that a person wrote; a float means the decimal it prints as.

    >>> fraction("1/5") == fraction("20%") == fraction("0.2") == fraction(0.2) == Fraction(1, 5)
    True
    """
    read = _read(value)
    if read is None:
        raise BadPolicy(f"{key} must be a number such as 1/5, 20% or 0.2", where=key)
    return read


def _read(value: object) -> Fraction | None:
    if isinstance(value, int | Fraction):
        return None if isinstance(value, bool) else Fraction(value)
    if isinstance(value, float):
        value = repr(float(value))
    text = str(value).strip() if isinstance(value, str | Decimal) else ""
    if text.endswith("%"):
        share = _read(text[:-1])
        return None if share is None else share / 100
    if _RATIO.fullmatch(text):
        above, below = (int(part) for part in text.split("/"))
        return Fraction(above, below) if below else None
    return Fraction(text) if _NUMBER.fullmatch(text) else None


def written(number: Fraction) -> int | str:
    """A fraction as a policy file writes it: a whole number, or `above/below`.

    >>> written(Fraction(3)), written(Fraction(1, 5))
    (3, '1/5')
    """
    return int(number) if number.denominator == 1 else f"{number.numerator}/{number.denominator}"
