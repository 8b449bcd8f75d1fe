"""Forms of dates: the order and the marks of day, month and year in a cell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from sfumato.core.errors import BadPolicy

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
