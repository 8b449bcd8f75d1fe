"""Dates in months, years, decades."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.policy.taxonomies.levels import (
    Level,
    builder_schema,
    label,
    list_schema,
    sequence,
    tree_of_levels,
    unknown_values,
)
from sfumato.system.errors import BadPolicy
from sfumato.table.taxonomy import ANY, Label, Spec, Taxonomy

# Forms of dates: the order and the marks of day, month and year in a cell.

ISO = "yyyy-mm-dd"
ISO_LENGTH = len(ISO)
_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?\s?(?:Z|[+-]\d{2}:?(?:\d{2})?)?)?"
_FIELDS = {"yyyy": r"(?P<y>\d{4})", "mm": r"(?P<m>\d{1,2})", "dd": r"(?P<d>\d{1,2})"}


@dataclass(frozen=True)
class DateForm:
    """A form, as a policy writes it: `dd.mm.yyyy`. A time of the day may follow; the day counts as written.

    >>> DateForm("dd.mm.yyyy").day("28.2.2026"), DateForm("mm/dd/yyyy").day("02/30/2026")
    (datetime.date(2026, 2, 28), None)
    """

    written: str = ISO

    def __post_init__(self) -> None:
        if self.written not in DATE_FORMS:
            raise BadPolicy(f"dates are written as one of {', '.join(DATE_FORMS)}", where="written")

    def day(self, text: str) -> date | None:
        """Returns the date that a cell holds, `None` if it holds none."""
        if self.written == ISO and len(text) == ISO_LENGTH and text[4] == text[7] == "-":
            try:
                return date.fromisoformat(text)
            except ValueError:
                return None
        shape = self._shape.fullmatch(text)
        if shape is None:
            return None
        fields = shape.groupdict()
        try:
            return date(int(fields["y"]), int(fields["m"]), int(fields.get("d") or 1))
        except ValueError:
            return None

    @property
    def finest(self) -> str:
        """The calendar unit of a cell."""
        return "day" if "dd" in self.written else "month"

    @cached_property
    def _shape(self) -> re.Pattern[str]:
        exact = self.written in (ISO, "yyyymmdd", "yyyy-mm")
        pattern = re.escape(self.written)
        for field, shape in _FIELDS.items():
            pattern = pattern.replace(field, shape.replace("{1,2}", "{2}") if exact else shape)
        time = _TIME.replace("{1,2}", "{2}", 1) if self.written == ISO else _TIME
        return re.compile(pattern + (time if self.finest == "day" else ""), re.ASCII)


DATE_FORMS = (
    ISO,
    "dd.mm.yyyy",
    "dd/mm/yyyy",
    "mm/dd/yyyy",
    "dd-mm-yyyy",
    "mm-dd-yyyy",
    "yyyy/mm/dd",
    "yyyy.mm.dd",
    "yyyymmdd",
    "yyyy-mm",
    "mm/yyyy",
    "mm.yyyy",
)
"""The forms that a policy may name; cells are ISO dates unless it does."""


def forms_of(texts: Iterable[str]) -> list[DateForm]:
    """Returns every form in which all texts are dates: two, where days and months could change places."""
    listed = list(texts)
    return [form for form in map(DateForm, DATE_FORMS) if listed and all(map(form.day, listed))]


UNITS: Mapping[str, Callable[[date], str]] = {
    "day": lambda d: d.isoformat(),
    "week": lambda d: "{:04}-W{:02}".format(*d.isocalendar()),
    "month": lambda d: f"{d.year:04}-{d.month:02}",
    "quarter": lambda d: f"{d.year:04}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year:04}",
    "decade": lambda d: f"{d.year // 10 * 10:04}-{d.year // 10 * 10 + 9:04}",
}
"""What a day becomes in each unit, from fine to coarse."""

_EPOCH, _EPOCH_YEAR = date(1970, 1, 1).toordinal(), 1970
"""Where numpy begins to count days and months."""
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
"""The months of the units that consist of months, counted from the year 0."""


@dataclass(frozen=True)
class Dates:
    """Calendar units of growing length: `{date: [month, year, decade]}`; also day, week and quarter.

    Cells hold ISO dates or times (`2026-02-28`, `2026-02-28T23:15:00+01:00`), or dates in the form that
    `written: dd.mm.yyyy` names; the date counts as written, without moving it to another time zone. The
    values that occur are the leaves, in the order of time.

    >>> t = Dates(("month", "year")).build(["2024-03-01", "2024-02-29"])
    >>> [t.labels[v] for v in t.levels[:, 0]]
    ['2024-02-29', '2024-02', '2024', '*']
    """

    key: ClassVar[str] = "date"
    schema: ClassVar[Mapping[str, object]] = builder_schema(
        "Calendar units, each longer than the one before.",
        {
            "date": list_schema({"enum": list(UNITS)}, "The unit of level 1, of level 2, and so on."),
            "written": {"enum": list(DATE_FORMS), "default": ISO, "description": "How cells write a date."},
        },
    )

    units: tuple[str, ...]
    written: str = ISO
    ordered: ClassVar[bool] = True
    digest: ClassVar[str] = ""

    def __post_init__(self) -> None:
        names = list(UNITS)
        if not self.units or any(unit not in UNITS for unit in self.units):
            raise BadPolicy(f"the units are {', '.join(names)}", where="date")
        if any(names.index(a) >= names.index(b) for a, b in pairwise(self.units)):
            raise BadPolicy("each unit must be longer than the one before", where="date")
        finest = DateForm(self.written).finest
        if names.index(self.units[0]) < names.index(finest) or (finest == "month" == self.units[0]):
            raise BadPolicy(
                f"the cells hold a {finest} each, and the first unit must be longer",
                where="date",
                remedy="Begin with quarter or year.",
            )
        if "week" in self.units[:-1]:
            after = self.units[self.units.index("week") + 1]
            raise BadPolicy(
                f"a week can lie in two {after}s, so weeks do not add up to a {after}",
                where="date",
                remedy="Let week be the last unit, or leave it out.",
            )

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        return cls(tuple(label(unit) for unit in sequence(spec["date"])), label(spec.get("written", ISO)))

    @property
    def spec(self) -> Spec:
        form = {} if self.written == ISO else {"written": self.written}
        return {"date": list(self.units), **form}

    def build(self, values: Sequence[Label]) -> Taxonomy:
        texts = [v for v in values if v is not None]
        form = DateForm(self.written)
        days = {text: form.day(text) for text in texts}
        dated = sorted((at, text) for text, at in days.items() if at is not None)
        if len(dated) < len(texts):
            raise unknown_values([text for text, at in days.items() if at is None])
        leaves: list[Label] = [text for _, text in dated]
        levels = _levels(self.units, [at for at, _ in dated])
        each, top = Level(leaves, np.arange(len(leaves))), Level.all_alike(ANY, len(leaves))
        missing = len(texts) < len(values)
        return tree_of_levels([each, *levels, top], ordered=True, missing=missing)


def _levels(units: Sequence[str], days: Sequence[date]) -> list[Level]:
    """Returns what days in the order of time become in each unit; a unit is put in words once."""
    ordinals = np.fromiter((at.toordinal() for at in days), np.int64, len(days))
    levels = []
    for unit in units:
        number = _numbers(unit, ordinals)
        begins = np.diff(number, prepend=number[:1] - 1) != 0
        names: list[Label] = [UNITS[unit](days[at]) for at in np.flatnonzero(begins).tolist()]
        levels.append(Level(names, np.cumsum(begins) - 1))
    return levels


def _numbers(unit: str, ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns numbers that are equal for days of one unit alone; day 1 is a Monday, of the year 1."""
    if unit not in _MONTHS:
        return (ordinals - 1) // (7 if unit == "week" else 1)
    months = (ordinals - _EPOCH).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return (months + 12 * _EPOCH_YEAR) // _MONTHS[unit]


def day(text: str) -> date | None:
    """Returns the ISO date a cell holds, `None` if it holds none."""
    return _ISO_FORM.day(text)


_ISO_FORM = DateForm()
