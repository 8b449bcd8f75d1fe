"""Texts of intervals of numbers: their two ends, whichever way an interval was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cached_property
from math import inf

# Texts of ranges: what is published for several neighbouring nodes of an ordered tree.

RANGE = "–"
"""Joins the two ends of a range that is no node of the tree."""

_HALF_OPEN = re.compile(r"\[(\S+), (\S+)\)")
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(?:(?:-| to )(0|-?[1-9][0-9]*))?")


class RangeTexts:
    """The texts of ranges between nodes, from the labels of the nodes in their order.

    Where labels are intervals the range is one, too: `[0, 20)` to `[40, 60)` is `[0, 60)`, and `20-24` to
    `40-44` is `20–44`. Other ranges name both nodes: `1953–1957`. Different ranges have different texts:
    where two intervals begin or end with the same number, every range names both nodes.

    >>> RangeTexts({1: "20-24", 2: "25-29", 3: "30+"}).between(1, 2)
    '20–29'
    >>> RangeTexts({1: "2024-02", 2: "2024-03"}).between(1, 2)
    '2024-02–2024-03'
    """

    def __init__(self, labels: Mapping[int, str | None]) -> None:
        self._labels = labels
        ends = {node: _ends(label) for node, label in labels.items()}
        pairs = [pair for pair in ends.values() if pair is not None]
        one_to_one = all(len({pair[i] for pair in pairs}) == len(pairs) for i in (0, 1))
        self._ends = ends if one_to_one else {}

    @cached_property
    def _named(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The node that a range begins with, and the one that it ends with, by the text of the end."""
        first, last = (
            {label: node for node, label in self._labels.items() if label is not None} for _ in "12"
        )
        for node, pair in self._ends.items():
            if pair is not None:
                mark = "[" if pair[2] else ""
                first[mark + pair[0]], last[mark + pair[1]] = node, node
        return first, last

    def nodes(self, text: str) -> tuple[int, int] | None:
        """Returns the first and the last node of a range, `None` where the text is none.

        >>> RangeTexts({1: "20-24", 2: "25-29", 3: "30+"}).nodes("20–29")
        (1, 2)
        """
        first, last = self._named
        half_open = _HALF_OPEN.fullmatch(text)
        halves = [(f"[{half_open[1]}", f"[{half_open[2]}")] if half_open else []
        for joint in (RANGE, " to "):
            pieces = text.split(joint)
            halves += [(joint.join(pieces[:i]), joint.join(pieces[i:])) for i in range(1, len(pieces))]
        for left, right in halves:
            begin, end = first.get(left), last.get(right)
            if begin is not None and end is not None and self.between(begin, end) == text:
                return begin, end
        return None

    def between(self, first: int, last: int) -> str:
        """Returns the text of the range from one node to another."""
        begin, end = self._ends.get(first), self._ends.get(last)
        left, right = self._labels[first], self._labels[last]
        if begin is None or end is None or begin[2] != end[2]:
            return f"{left}{RANGE}{right}"
        if begin[2]:
            return f"[{begin[0]}, {end[1]})"
        return f"{begin[0]}{' to ' if begin[0].startswith('-') else RANGE}{end[1]}"


def _ends(label: str | None) -> tuple[str, str, bool] | None:
    """Returns the two ends of an interval, and whether it is half-open; `None` where it is no interval."""
    if label is None:
        return None
    if half_open := _HALF_OPEN.fullmatch(label):
        return half_open[1], half_open[2], True
    whole = _WHOLE.fullmatch(label)
    if whole is None:
        return None
    first, last = whole[1], whole[2] or whole[1]
    return (first, last, False) if int(first) <= int(last) else None


_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""A number as it is written; `021` is a code."""
PLAIN_NUMBER = re.compile(_NUMBER)
_HALF_OPEN_INTERVAL = re.compile(rf"\[({_NUMBER}), ?({_NUMBER})[)\[]")
_CLOSED = re.compile(rf"({_NUMBER})(?:-|{RANGE}| to )({_NUMBER})")
_BELOW = re.compile(rf"< ?({_NUMBER})")
_FROM = re.compile(rf">= ?({_NUMBER})|({_NUMBER})\+")


def numeric_ends(text: str) -> tuple[float, float, bool] | None:
    """Returns the two ends of an interval of numbers, and whether it holds its upper end.

    >>> numeric_ends("20-29"), numeric_ends("[20, 30)"), numeric_ends("90+"), numeric_ends("young")
    ((20.0, 29.0, True), (20.0, 30.0, False), (90.0, inf, True), None)

    ARX writes `[20, 30[` and `>=90`, which mean the same:

    >>> numeric_ends("[20, 30["), numeric_ends(">=90"), numeric_ends("<50")
    ((20.0, 30.0, False), (90.0, inf, True), (-inf, 50.0, False))
    """
    if PLAIN_NUMBER.fullmatch(text):
        return float(text), float(text), True
    if half_open := _HALF_OPEN_INTERVAL.fullmatch(text):
        return float(half_open[1]), float(half_open[2]), False
    if closed := _CLOSED.fullmatch(text):
        return float(closed[1]), float(closed[2]), True
    if below := _BELOW.fullmatch(text):
        return -inf, float(below[1]), False
    above = _FROM.fullmatch(text)
    return None if above is None else (float(above[1] or above[2]), inf, True)


# Rounded numbers: the digits of a number that a policy lets be published, and none beyond them.
#
# A number is rounded as it is written, in decimal digits: to the nearest number with so many digits behind
# the
# point, and halfway between two of them to the one whose last digit is even. No sum of roundings leans to
# one
# side, and no binary fraction comes in between.

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
