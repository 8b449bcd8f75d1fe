"""Numbers in data, read exactly."""

from __future__ import annotations

import re
from decimal import Decimal

_SHAPE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_MOST_DIGITS = 60


def number(text: str) -> Decimal | None:
    """Returns the number a cell holds, `None` if it holds none (NaN and infinity are none).

    >>> number("007"), number("2.50"), number("nan"), number("1_000")
    (Decimal('7'), Decimal('2.50'), None, None)
    """
    if len(text) > _MOST_DIGITS or not _SHAPE.fullmatch(text):
        return None
    value = Decimal(text)
    return value if not value or abs(value.adjusted()) < _MOST_DIGITS else None


def plain(value: Decimal) -> str:
    """Writes a number without exponent and without idle zeros.

    >>> plain(Decimal("2.50")), plain(Decimal("1E+2")), plain(Decimal("-0.0"))
    ('2.5', '100', '0')
    """
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
