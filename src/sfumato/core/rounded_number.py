"""Rounded numbers: the digits of a number that a policy lets be published, and none beyond them.

A number is rounded as it is written, in decimal digits: to the nearest number with so many digits behind the
point, and halfway between two of them to the one whose last digit is even. No sum of roundings leans to one
side, and no binary fraction comes in between.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

MOST_DIGITS = 30
"""A policy keeps at most so many digits behind the point, and rounds to at most so many before it."""

_SHAPE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LONGEST = 400
_EXACT = Context(prec=4 * 1000, rounding=ROUND_HALF_EVEN)
"""More digits than a text of the longest length with the largest exponent writes."""


def rounded(value: Decimal, digits: int) -> Decimal:
    """Returns the number with so many digits behind the point; with fewer than none, whole tens and hundreds.

    >>> [rounded(Decimal(text), 1) for text in ("0.25", "0.35", "-0.04")]
    [Decimal('0.2'), Decimal('0.4'), Decimal('0.0')]
    """
    near = _EXACT.quantize(value, Decimal(1).scaleb(-digits))
    return near if near else abs(near)


def rounded_number(text: str, digits: int) -> str | None:
    """Returns the rounded number that a text writes, in its shortest form; `None` where it writes none.

    >>> [rounded_number(text, 2) for text in ("33.333333333333336", " 2.50", "-0.001", "1e3", "1,5", "inf")]
    ['33.33', '2.5', '0', '1000', None, None]
    >>> rounded_number("1250", -2), rounded_number("2.5", 0)
    ('1200', '2')
    """
    plain = text.strip(" ")
    if len(plain) > _LONGEST or not _SHAPE.fullmatch(plain):
        return None
    written = f"{rounded(Decimal(plain), digits):f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def in_words(digits: int) -> str:
    """Returns how a column is published that is rounded to so many digits behind the point.

    >>> [in_words(digits) for digits in (2, 1, 0, -2)]
    ['rounded to 2 digits', 'rounded to 1 digit', 'rounded to whole numbers', 'rounded to multiples of 100']
    """
    if digits > 0:
        return f"rounded to {digits} {'digit' if digits == 1 else 'digits'}"
    return f"rounded to multiples of {10**-digits}" if digits else "rounded to whole numbers"
