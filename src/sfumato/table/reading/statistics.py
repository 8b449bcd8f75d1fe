"""Files of statistics programs as readers: SPSS, Stata and SAS.

Where codes have labels, the labels are the values. Codes that a file declares to be missing are missing
cells, and so are empty texts, which these programs do not tell apart from missing ones. Dates are dates,
also where SAS shows a part of them alone, as the name of a month. Labels of SAS are in a catalogue, a file
of its own that has to be named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import isnan
from os import fspath
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from sfumato.system.disk import read_start
from sfumato.system.errors import BadData
from sfumato.system.expansion import check_expansion
from sfumato.table.cell_text import safe_name
from sfumato.table.data_file import NO_FORM, Note, SourceForm, built_in_reader
from sfumato.table.reading.loaded_file import LoadedFileReader, as_dates, extra_library

# The catalogue of SAS: a file of its own that holds the labels of codes, by the names of formats.

CATALOG_ENDING = ".sas7bcat"
LARGEST_CATALOG = 1 << 26
FIRST_BYTES = bytes.fromhex("000000000000000000000000c2ea8163b31411cfbd92080009c7318c181f1011")
"""How a catalogue begins; the library would also take a file of rows for one, and find nothing in it."""
MOST_NAMED = 3
_PLAIN = frozenset({"", "NULL", "$", "F", "BEST", "$F", "$CHAR", "CHAR"})
"""Formats that show a cell as it is."""


def format_name(written: str) -> str:
    """Returns the name of a format without its width; no name ends in a digit, and capitals do not count.

    >>> format_name("$sex8."), format_name("REGION"), format_name("COMMA12.2")
    ('$SEX', 'REGION', 'COMMA')
    """
    return written.rstrip("0123456789.").upper()


def is_plain(name: str) -> bool:
    """Whether a format has nothing to do with labels: it shows a cell as it is."""
    return name in _PLAIN


def catalogs_beside(data: Path) -> list[str]:
    """Returns the names of the catalogues in the folder of a file, in order; the first of them, if many."""
    try:
        names = [file.name for file in data.parent.iterdir() if file.suffix.lower() == CATALOG_ENDING]
    except OSError:
        return []
    return sorted(names)[:MOST_NAMED]


def labels_in(path: Path) -> dict[str, Mapping[Any, str]]:
    """Returns the labels of a catalogue: by the name of a format, what stands for each code.

    Raises `BadData` where there is no catalogue, or one that is damaged or too large.
    """
    if not path.exists():
        raise BadData("there is no such catalogue", where=str(path), remedy="Check the path.")
    if not path.is_file():
        raise BadData("the catalogue is no file", where=path.name, remedy="Name a .sas7bcat file.")
    if fspath(path) != fspath(path).encode("utf-8", "replace").decode():
        raise BadData(
            "the path is not written in UTF-8", where=path.name, remedy="Rename the file, or move it."
        )
    if path.stat().st_size > LARGEST_CATALOG:
        raise BadData(
            f"the catalogue has more than {LARGEST_CATALOG} bytes",
            where=path.name,
            remedy="Is it the right one? Copy the formats that are needed into one of their own.",
        )
    library = extra_library("pyreadstat", "a catalogue of SAS")
    refusal = BadData(
        "the file cannot be read as a catalogue of SAS",
        where=path.name,
        remedy="Name the .sas7bcat file that SAS wrote, or leave the catalogue out to keep codes.",
    )
    if read_start(path, len(FIRST_BYTES)) != FIRST_BYTES:
        raise refusal
    try:
        _, about = library.read_sas7bcat(str(path))
    except Exception:  # of the library, whose message may quote labels
        raise refusal from None
    by_format: dict[str, dict[Any, str]] = {}
    for name, labels in (about.value_labels or {}).items():
        by_format.setdefault(format_name(name), {}).update(labels)
    return dict(by_format)


READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
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

MOST_TIMES_PACKED = 4000
"""Cells become objects of Python: packed files of codes take 560 to 1,300 times their size."""
ROWS_PER_BYTE = {".zsav": 1100}
"""How many rows a byte can hold at most: one, but where a file is packed by zlib."""

Labels = Mapping[Any, str]
"""What is to be read in place of each code: a number, or a text."""

Range = Mapping[str, Any]
"""The ends `lo` and `hi` of codes that are declared missing: numbers, or texts."""


@built_in_reader(".sav", ".zsav", ".dta", what="a file of SPSS or Stata", place=4, named=(".sav", ".dta"))
@dataclass(frozen=True, eq=False)
class StatisticsFileReader(LoadedFileReader):
    """A file of SPSS, Stata or SAS; that of SAS may have a `catalog` of labels."""

    catalog: Path | None = None

    @property
    def source_form(self) -> SourceForm:
        return NO_FORM if self.catalog is None else SourceForm(catalog=self.catalog.as_posix())

    def needed_bytes(self) -> int:
        if self.memory.limit is None:
            return 0
        files = [file for file in (self.path, self.catalog) if file is not None and file.is_file()]
        by_size = sum(f.stat().st_size for f in files) * BYTES_PER_BYTE
        about = self._header()
        if about is None:  # reading the file will say what is wrong
            return by_size
        widths = sum((about.variable_storage_width or {}).values())
        row = about.number_columns * BYTES_PER_CELL + widths
        return max(by_size, int((about.number_rows or 0) * row))

    def _header(self) -> Any:
        """Returns what the file says of itself before its rows; `None` where the library cannot tell."""
        library = extra_library("pyreadstat", "a file of SPSS, Stata or SAS")
        try:
            _, about = getattr(library, READERS[self.path.suffix.lower()])(str(self.path), metadataonly=True)
        except Exception:  # of the library, whose message may quote cells
            return None
        return about

    def _is_beyond_its_size(self) -> bool:
        """Whether the file claims more rows than its bytes can hold: the library makes room for all."""
        about, most = self._header(), ROWS_PER_BYTE.get(self.path.suffix.lower(), 1)
        if about is None or (about.number_rows or 0) > most * self.path.stat().st_size:
            return about is not None
        cells = (about.number_rows or 0) * (about.number_columns or 0)
        check_expansion(cells * BYTES_PER_CELL, self.path, times=MOST_TIMES_PACKED)
        return False

    def load(self) -> pa.Table:
        ending = self.path.suffix.lower()
        library = extra_library("pyreadstat", "a file of SPSS, Stata or SAS")
        options = {"user_missing": True} if ending in CAN_TELL_MISSING_CODES else {}
        refusal = BadData(
            "the file cannot be read as one of SPSS, Stata or SAS",
            where=self.path.name,
            remedy="Save it again in its program, or as CSV.",
        )
        if self._is_beyond_its_size():
            raise refusal
        try:
            columns, about = getattr(library, READERS[ending])(
                str(self.path), output_format="dict", **options
            )
        except Exception:  # of the library, whose message may quote cells
            raise refusal from None
        ranges: Mapping[str, Sequence[Range]] = about.missing_ranges or {}
        types = (about.original_variable_types or {}) if ending in SAS_ENDINGS else {}
        formats = {name: format_name(str(form)) for name, form in types.items()}
        labels: Mapping[str, Labels] = about.variable_value_labels or {}
        if ending in SAS_ENDINGS:
            labels = self._labels_of_sas(formats)
        arrays = {}
        for name, cells in columns.items():
            values, missing = self._known(cells, ranges.get(name, ()))
            if _SHORT.fullmatch(formats.get(name, "")):
                values = _as_days(values)
            if missing:
                self.tell(f"{missing} cells of {safe_name(name)} hold codes that the file declares missing")
            own_labels = labels.get(name, {})
            arrays[name] = self._column(
                name, values, self._fitting(name, values, own_labels) if formats else own_labels
            )
        return pa.table(arrays)

    def _labels_of_sas(self, formats: Mapping[str, str]) -> Mapping[str, Labels]:
        """Returns the labels of every column whose format the catalogue has."""
        if self.catalog is None:
            beside = catalogs_beside(self.path)
            if beside and not all(map(is_plain, formats.values())):
                named = ", ".join(map(safe_name, beside))
                self.tell(f"codes have no labels: {named} beside it is not read (--catalog names one)")
            return {}
        by_format = labels_in(self.catalog)
        labels = {
            name: by_format[form]
            for name, form in formats.items()
            if form in by_format and not is_plain(form)
        }
        if not labels:
            self.tell("no column has a format that the catalogue has labels for")
        return labels

    def _fitting(self, name: str, cells: Sequence[Any], labels: Labels) -> Labels:
        """Returns the labels of a catalogue, unless more codes of the column lack one than have one.

        Of a format that gives one label to a range of numbers, the library tells no more than one number.
        """
        codes = {cell for cell in cells if cell is not None} if labels else set()
        lacking = sum(code not in labels for code in codes)
        if not lacking:
            return labels
        few = 2 * lacking > len(codes)
        self.tell(
            f"{lacking} of {len(codes)} values of {safe_name(name)} have no label in the catalogue"
            + (": all stay as they are, since its format may be about ranges" if few else " and stay")
        )
        return {} if few else labels

    def _known(self, cells: Sequence[Any], ranges: Sequence[Range]) -> tuple[list[Any], int]:
        """Returns the cells without declared codes and empty texts, and how many codes there were."""
        plain = [None if cell == "" or cell is None or _is_nan(cell) else cell for cell in cells]
        if not ranges:
            return plain, 0
        codes = {cell for cell in set(plain) if cell is not None and _is_declared(cell, ranges)}
        values = [None if cell in codes else cell for cell in plain]
        return values, values.count(None) - plain.count(None)

    def _column(self, name: str, cells: list[Any], labels: Labels) -> pa.Array:
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
    for ends in ranges:
        low, high = ends["lo"], ends["hi"]
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


@built_in_reader(".sas7bdat", ".xpt", what="a file of SAS", place=5, options=("catalog",))
class SasFileReader(StatisticsFileReader):
    """A file of SAS, with the catalogue that is named, or that a policy names."""

    @classmethod
    def of_file(cls, path: Path, form: SourceForm, expected: SourceForm, note: Note | None) -> Self:
        catalog = form.catalog or expected.catalog
        return cls(path, path.suffix.lower()[1:], note, None if catalog is None else Path(catalog))
