"""Dates in calendar units of growing length."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache

from sfumato.core.errors import BadTaxonomy
from sfumato.judge.taxonomies.value_tree import ANY, Text, ValueTree

_MOMENT = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T][0-9]{2}:[0-9]{2}"  # hours and minutes
    r"(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"  # seconds and parts of one
    r"[ \t\n\r\f\v]?(?:Z|[+-][0-9]{2}:?(?:[0-9]{2})?)?)?"  # the zone
)

REMEMBERED = 1 << 14
"""So many texts are not read again: ranges share their ends."""

_UNIT = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?:W(?P<week>[0-9]{2})|Q(?P<quarter>[1-4])|(?P<last>[0-9]{4})|(?P<month>[0-9]{2})))?"
)


def _decade(day: date) -> str:
    first = day.year - day.year % 10
    return f"{first:04d}-{first + 9:04d}"


UNITS: Mapping[str, Callable[[date], str]] = {
    "day": lambda day: day.isoformat(),
    "week": lambda day: "{:04d}-W{:02d}".format(*day.isocalendar()[:2]),
    "month": lambda day: day.isoformat()[:7],
    "quarter": lambda day: f"{day.isoformat()[:4]}-Q{1 + (day.month - 1) // 3}",
    "year": lambda day: day.isoformat()[:4],
    "decade": _decade,
}
"""What a day becomes, unit by unit."""


def build(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of dates in the order of time; a moment belongs to the day that is written.

    >>> tree = build({"date": ["month", "year"]}, ["2024-03-01", "2024-02-29T23:59Z"])
    >>> [level[0] for level in tree.labels]
    ['2024-02-29T23:59Z', '2024-02', '2024', '*']
    """
    listed = spec["date"]
    units = list(listed) if isinstance(listed, Sequence) and not isinstance(listed, str) else [listed]
    if any(unit not in UNITS for unit in units):
        raise BadTaxonomy(f"the units are {', '.join(UNITS)}")
    form = spec.get("written")
    dated = [(_day(text, None if form is None else str(form)), text) for text in texts if text is not None]
    wrong = [text for day, text in dated if day is None]
    if wrong:
        raise BadTaxonomy(f"{len(wrong)} values are no dates", values=wrong)
    known = sorted((day, text) for day, text in dated if day is not None)
    levels: list[list[Text]] = [[text for _, text in known]]
    levels += [[UNITS[str(unit)](day) for day, _ in known] for unit in units]
    return ValueTree.of_levels([*levels, [ANY] * len(known)], ordered=True, missing=None in texts)


def is_moment(text: str, form: str | None = None) -> bool:
    """Tells whether a text names a day, or a moment of one, in the form in which cells are written."""
    return _day(text, form) is not None


@lru_cache(REMEMBERED)
def span(label: str) -> tuple[date | None, date | None]:
    """Returns the first and the last day of a calendar unit, a day or a moment; `None` where it is none.

    >>> [str(day) for day in span("2024-02")], [str(day) for day in span("1950-1959")]
    (['2024-02-01', '2024-02-29'], ['1950-01-01', '1959-12-31'])
    """
    if (day := _day(label)) is not None:
        return day, day
    found = _UNIT.fullmatch(label)
    if found is None:
        return None, None
    year, one = int(found["year"]), timedelta(days=1)
    try:
        if found["week"]:
            first = date.fromisocalendar(year, int(found["week"]), 1)
            return first, first + 6 * one
        if found["last"]:
            return date(year, 1, 1), date(int(found["last"]), 12, 31)
        month, months = 1, 12
        if found["quarter"]:
            month, months = 3 * int(found["quarter"]) - 2, 3
        elif found["month"]:
            month, months = int(found["month"]), 1
        after = month + months - 1
        first = date(year, month, 1)
        return first, date(year, 12, 31) if after == 12 else date(year, after + 1, 1) - one
    except ValueError:
        return None, None


@lru_cache(REMEMBERED)
def _day(text: str, form: str | None = None) -> date | None:
    """Returns the day that a cell names, `None` where it names none; of a month, the first."""
    if form is not None:
        return _day_in_form(text, form)
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day = map(int, found["day"].split("-"))
    return _calendar_day(year, month, day)


_CLOCK = re.compile(
    r"[T ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
    r"[ \t\n\r\f\v]?(?:Z|[+-][0-9]{2}:?(?:[0-9]{2})?)?"
)


def _day_in_form(text: str, form: str) -> date | None:
    """Returns the day that a text names in a form such as `dd.mm.yyyy`."""
    if not text.isascii():
        return None
    clock = _CLOCK.search(text)
    if clock is not None and "dd" in form and clock.end() == len(text):
        text = text[: clock.start()]
    marks = {character for character in form if character not in "dmy"}
    if not marks:
        pieces = [text[:4], text[4:6], text[6:]]
        fields = ["yyyy", "mm", "dd"]
    else:
        (mark,) = marks
        pieces, fields = text.split(mark), form.split(mark)
    if len(pieces) != len(fields) or not all(piece.isdecimal() for piece in pieces):
        return None
    exact = not marks or form == "yyyy-mm"
    for piece, field in zip(pieces, fields, strict=True):
        if not (len(piece) == len(field) or (len(piece) == 1 and len(field) == 2 and not exact)):
            return None
    told = {field: int(piece) for field, piece in zip(fields, pieces, strict=True)}
    return _calendar_day(told["yyyy"], told["mm"], told.get("dd", 1))


def _calendar_day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
