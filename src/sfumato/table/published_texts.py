"""Texts of intervals of numbers: their two ends, whichever way an interval was written."""

from __future__ import annotations

import re
from math import inf

from sfumato.core.range_texts import RANGE

_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""A number as it is written; `021` is a code."""
PLAIN_NUMBER = re.compile(_NUMBER)
_HALF_OPEN = re.compile(rf"\[({_NUMBER}), ?({_NUMBER})[)\[]")
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
    if half_open := _HALF_OPEN.fullmatch(text):
        return float(half_open[1]), float(half_open[2]), False
    if closed := _CLOSED.fullmatch(text):
        return float(closed[1]), float(closed[2]), True
    if below := _BELOW.fullmatch(text):
        return -inf, float(below[1]), False
    above = _FROM.fullmatch(text)
    return None if above is None else (float(above[1] or above[2]), inf, True)
