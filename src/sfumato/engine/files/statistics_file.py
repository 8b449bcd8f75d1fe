"""Files of statistics programs as readers: SPSS, Stata and SAS.

Where codes have labels, the labels are the values. Codes that a file declares to be missing are missing
cells, and so are empty texts, which these programs do not tell apart from missing ones. Dates are dates,
also where SAS shows a part of them alone, as the name of a month.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import isnan
from typing import Any

import pyarrow as pa

from sfumato.core.errors import BadData
from sfumato.engine.column_names import safe_name
from sfumato.engine.files.extra_library import extra_library
from sfumato.engine.files.loaded_file import LoadedFileReader, as_dates

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
STATISTICS_ENDINGS = tuple(READERS)
CAN_TELL_MISSING_CODES = (".sav", ".zsav")
"""Files that declare codes missing; in Stata and SAS these are no numbers, and come as missing cells."""

SAS_ENDINGS = (".sas7bdat", ".xpt")
SAS_FIRST_DAY = date(1960, 1, 1)
_SHORT = re.compile(
    "DAY|DOWNAME|JULDAY|JULIAN|MINGUO|MONNAME|MONTH|MONYY|NENGO|NLDATE|QTRR?|WEEK(DAY|[UVW])|WORDDAT[EX]|YEAR"
    "|(YYMM|MMYY|YYQR?)[CDNPS]?|YYMON"
)
"""Formats of SAS that show days since 1960 and that the library leaves as numbers."""

BYTES_PER_BYTE, BYTES_PER_CELL = 13, 120
"""Memory for each byte of a file, and for each cell: measured were 9.8 to 12.1, and 104 to 115."""

Range = Mapping[str, Any]
"""The ends `lo` and `hi` of codes that are declared missing: numbers, or texts."""


@dataclass(frozen=True, eq=False)
class StatisticsFileReader(LoadedFileReader):
    """A file of SPSS, Stata or SAS."""

    def needed_bytes(self) -> int:
        if self.memory.limit is None:
            return 0
        ending, by_size = self.path.suffix.lower(), self.path.stat().st_size * BYTES_PER_BYTE
        library = extra_library("pyreadstat", "a file of SPSS, Stata or SAS")
        try:
            _, about = getattr(library, READERS[ending])(str(self.path), metadataonly=True)
        except Exception:  # of the library: reading the file will say what is wrong
            return by_size
        widths = sum((about.variable_storage_width or {}).values())
        row = about.number_columns * BYTES_PER_CELL + widths
        return max(by_size, int((about.number_rows or 0) * row))

    def load(self) -> pa.Table:
        ending = self.path.suffix.lower()
        library = extra_library("pyreadstat", "a file of SPSS, Stata or SAS")
        said = {"user_missing": True} if ending in CAN_TELL_MISSING_CODES else {}
        try:
            columns, about = getattr(library, READERS[ending])(str(self.path), output_format="dict", **said)
        except Exception:  # of the library, whose message may quote cells
            raise BadData(
                "the file cannot be read as one of SPSS, Stata or SAS",
                where=self.path.name,
                remedy="Save it again in its program, or as CSV.",
            ) from None
        labels: Mapping[str, Mapping[Any, str]] = about.variable_value_labels or {}
        ranges: Mapping[str, Sequence[Range]] = about.missing_ranges or {}
        formats = (about.original_variable_types or {}) if ending in SAS_ENDINGS else {}
        made = {}
        for name, cells in columns.items():
            known, missing = self._known(cells, ranges.get(name, ()))
            if _SHORT.fullmatch(str(formats.get(name, "")).rstrip("0123456789.").upper()):
                known = _as_days(known)
            if missing:
                self.tell(f"{missing} cells of {safe_name(name)} hold codes that the file declares missing")
            made[name] = self._column(name, known, labels.get(name, {}))
        return pa.table(made)

    def _known(self, cells: Sequence[Any], ranges: Sequence[Range]) -> tuple[list[Any], int]:
        """Returns the cells without declared codes and empty texts, and how many codes there were."""
        plain = [None if cell == "" or cell is None or _is_nan(cell) else cell for cell in cells]
        if not ranges:
            return plain, 0
        codes = {cell for cell in set(plain) if cell is not None and _is_declared(cell, ranges)}
        known = [None if cell in codes else cell for cell in plain]
        return known, known.count(None) - plain.count(None)

    def _column(self, name: str, cells: list[Any], labels: Mapping[Any, str]) -> pa.Array:
        """Returns the cells in one type; where codes have labels, these, and unlabelled codes as texts."""
        if not labels:
            return self._plain(name, cells)
        shared = len(labels) - len(set(labels.values()))
        if shared:
            self.tell(f"{shared} codes of {safe_name(name)} share a label with another one")
        values = list(dict.fromkeys(cells))
        texts = {value: None if value is None else labels.get(value, _text(value)) for value in values}
        return pa.array([texts[cell] for cell in cells], pa.string())

    def _plain(self, name: str, cells: list[Any]) -> pa.Array:
        if not any(cell is not None for cell in cells):
            return pa.array(cells, pa.string())
        try:
            return as_dates(pa.array(cells))
        except (pa.ArrowException, TypeError, ValueError):
            raise BadData(
                f"column {safe_name(name)} holds cells of different types", where=self.path.name
            ) from None


def _is_declared(cell: Any, ranges: Sequence[Range]) -> bool:
    """Whether a code lies in one of the ranges that a file declares missing."""
    for one in ranges:
        low, high = one["lo"], one["hi"]
        same_kind = isinstance(cell, str) == isinstance(low, str)
        if same_kind and (low <= cell <= high):
            return True
    return False


def _as_days(cells: list[Any]) -> list[Any]:
    """Returns the dates that are so many days after the first of 1960; the cells, if one says no date."""
    try:
        days = {cell: SAS_FIRST_DAY + timedelta(days=cell) for cell in set(cells) if cell is not None}
    except (OverflowError, TypeError, ValueError):
        return cells
    if any(cell != int(cell) for cell in days):
        return cells
    return [None if cell is None else days[cell] for cell in cells]


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and isnan(cell)


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)
