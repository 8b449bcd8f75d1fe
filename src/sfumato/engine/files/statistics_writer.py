"""SPSS and Stata files of published rows, written from scratch: cells, and no label, no note, no time.

Numbers and dates keep their types; everything else is text. What these programs would not carry without
change (empty texts, blanks at the end of a text in SPSS, names with blanks) is refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from sfumato.core.errors import BadData
from sfumato.core.progress import Progress
from sfumato.engine.arrow_arrays import text_array
from sfumato.engine.column_names import safe_name
from sfumato.engine.files.extra_library import extra_library
from sfumato.engine.published_rows import PublishedRows
from sfumato.engine.text import LARGEST_EXACT, canonical
from sfumato.system.private_folder import private_folder

WRITERS = {".sav": "write_sav", ".dta": "write_dta"}
LONGEST_TEXT = {".sav": 32_767, ".dta": 2_045}
LONGEST_NAME = {".sav": 64, ".dta": 32}
NAME = re.compile(r"[^\W\d_]\w*")
SPSS_TIME = slice(92, 109)
STATA_TIME = re.compile(rb"(<timestamp>\x11)[^<]{17}(</timestamp>)")
REMEDY = "Write CSV or Parquet."


def write_statistics(published: PublishedRows, file: BinaryIO, ending: str, progress: Progress) -> None:
    """Writes the rows of a published table in the format that the ending names."""
    import polars as pl  # noqa: PLC0415  # heavy, and few write such files

    library = extra_library("pyreadstat", "a file of SPSS or Stata")
    _check_names(published.names, ending)
    values = [_column(name, v, ending) for name, v in zip(published.names, published.values, strict=True)]
    for j, column in enumerate(values):
        published = published.with_values(j, column)
    frame = pl.DataFrame(pl.from_arrow(published.table()))
    with private_folder() as folder:
        aside = folder / f"table{ending}"
        try:
            getattr(library, WRITERS[ending])(frame, str(aside))
        except Exception:  # of the library, whose message may quote cells
            raise BadData("the table cannot be written for this program", remedy=REMEDY) from None
        file.write(_without_time(aside, ending))
    progress("writing", published.rows, published.rows)


def _check_names(names: tuple[str, ...], ending: str) -> None:
    for name in names:
        if not NAME.fullmatch(name) or len(name.encode()) > LONGEST_NAME[ending]:
            raise BadData(
                f"the program of {ending} files has no column called {safe_name(name)}",
                remedy=f"Letters, digits and _ only, a letter first. {REMEDY}",
            )
    if len({name.casefold() for name in names}) < len(names):
        raise BadData("two columns differ by capitals alone", remedy=REMEDY)


def _column(name: str, values: pa.Array, ending: str) -> pa.Array:
    """Returns the values of a column in a type that the program has, equal for equal texts."""
    kind, types = values.type, pa.types
    texts = canonical(values, name)
    if types.is_date(kind):
        return values.cast(pa.date32())
    if types.is_float64(kind) or types.is_integer(kind):
        numbers = values.cast(pa.float64(), safe=False)
        if canonical(numbers).equals(texts) and all(abs(n) < LARGEST_EXACT for n in numbers.to_pylist()):
            return numbers
    listed = texts.to_pylist()
    for text in listed:
        cut = ending == ".sav" and text.endswith(" ")
        if not text or cut or "\0" in text or len(text.encode()) > LONGEST_TEXT[ending]:
            raise BadData(
                f"a text of {safe_name(name)} is empty, too long, or ends in a blank: a file with the ending"
                f" {ending} cannot carry it",
                remedy=REMEDY,
            )
    return text_array(listed)


def _without_time(path: Path, ending: str) -> bytes:
    """Returns the bytes of a file with a time of writing that is always the same."""
    content = bytearray(path.read_bytes())
    if ending == ".sav":
        content[SPSS_TIME] = b"01 Jan 8000:00:00"
        return bytes(content)
    fixed, times = STATA_TIME.subn(rb"\g<1>01 Jan 1980 00:00\g<2>", bytes(content))
    if times != 1:
        raise BadData("the file cannot be written without its time", remedy=REMEDY)
    return fixed
