"""Files of published rows: complete or not there at all, the same bytes for the same table."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from sfumato.system.disk import private_folder, to_disk
from sfumato.system.errors import BadData, UsageError
from sfumato.system.progress import Progress
from sfumato.table.arrow_arrays import text_array, to_arrow, to_numpy
from sfumato.table.cell_text import LARGEST_EXACT, canonical, safe_name
from sfumato.table.data_file import (
    WrittenFormat,
    built_in_writer,
    in_words,
    written_format_of,
    written_formats,
)
from sfumato.table.published_rows import PublishedRows
from sfumato.table.reading.csv import DELIMITERS, PLAIN_FORM, TextForm
from sfumato.table.reading.loaded_file import as_written, extra_library

ROW_GROUP = 1 << 20
LINES_AT_A_TIME = 1 << 17

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet read a cell as a formula."""


@dataclass(frozen=True)
class OutputForm:
    """How a file is written: by its ending, and in the form of a text file."""

    ending: str
    text: TextForm = PLAIN_FORM
    formula_safe: bool = False


WriteRows = Callable[[PublishedRows, BinaryIO, OutputForm, Progress], None]
"""Writes published rows in one format: what stands below `built_in_writer`."""


def writer(
    path: Path,
    *,
    overwrite: bool = False,
    formula_safe: bool = False,
    form: TextForm = PLAIN_FORM,
    private: bool = False,
) -> Callable[[PublishedRows, Progress], Path]:
    """A function that writes a published table to this path; refuses at once what cannot work.

    `form` is that of a CSV file. A `private` file can be read by its owner alone.
    """
    suffix = path.suffix.lower()
    write_rows: WriteRows = check_ending(path).writer.load()
    check_target(path, overwrite)

    def write(published: PublishedRows, progress: Progress) -> Path:
        with atomic_file(path, overwrite=overwrite, mode=0o600 if private else 0o666) as file:
            write_rows(published, file, OutputForm(suffix, form_for(path, form), formula_safe), progress)
        return path

    return write


def form_for(path: Path, form: TextForm) -> TextForm:
    """Returns the form in which a CSV file of this name is written: in one that ends in .tsv, tabs."""
    return TextForm(form.encoding, "\t") if path.suffix.lower() == ".tsv" else form


def check_ending(path: Path) -> WrittenFormat:
    """Returns the format that the ending of a path names; raises `UsageError` where none is written."""
    kind = written_format_of(path)
    if kind is None:
        raise UsageError(
            f"the ending {path.suffix.lower()!r} names no format that is written",
            remedy=f"End the path in {in_words([f'.{name}' for name in written_formats()])}.",
        )
    return kind


def check_target(path: Path, overwrite: bool = False) -> None:
    """Refuse a place where nothing can be written, or where something is."""
    if path.is_symlink():
        raise UsageError("the target is a symbolic link", where=str(path), remedy="Name the file itself.")
    if path.exists() and not (overwrite and path.is_file()):
        raise UsageError(
            "the target exists already", where=str(path), remedy="Choose another name, or overwrite."
        )
    if not path.parent.is_dir():
        raise UsageError(
            "the target's folder does not exist", where=str(path.parent), remedy="Create it first."
        )


@contextmanager
def atomic_file(path: Path, *, overwrite: bool = False, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file that appears under `path` only when it is complete and on disk; otherwise no trace stays."""
    check_target(path, overwrite)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise UsageError(
            f"the target's folder cannot be written to ({error.strerror})", where=str(path.parent)
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            draft.replace(path)
        else:
            _name_draft(draft, path)
        with suppress(OSError):  # some file systems do not sync folders
            to_disk(path.parent)
    except OSError as error:
        raise BadData(f"the file could not be written ({error.strerror})", where=str(path)) from None
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def _name_draft(draft: Path, path: Path) -> None:
    """Give the draft its name unless someone else took it meanwhile."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise UsageError(
            "the target exists already", where=str(path), remedy="Choose another name."
        ) from None
    except OSError:  # a file system without hard links
        check_target(path, False)
        draft.replace(path)


@built_in_writer("parquet", ".parquet", ".pq", place=2)
def write_parquet(published: PublishedRows, file: BinaryIO, _form: OutputForm, progress: Progress) -> None:
    """Writes the rows in groups; the bytes follow from them alone."""
    published = replace(published, values=tuple(map(as_written, published.values)))
    with _parquet_writer(file, published.schema) as write_group:
        for _, codes in _blocks(published, ROW_GROUP, progress):
            cells = [to_arrow(code, missing=len(v)) for v, code in zip(published.values, codes, strict=True)]
            write_group(map(pa.DictionaryArray.from_arrays, cells, published.values))


def _blocks(
    published: PublishedRows, rows: int, progress: Progress
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yields the codes of so many rows at a time, and how many were before them; tells what is written."""
    done = 0
    for codes in published.blocks(rows):
        yield done, codes
        done += len(codes[0])
        progress("writing", done, published.rows)


def write_parquet_again(path: Path) -> None:
    """Replaces a Parquet file of another program by one in the form of releases, with the same rows."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    schema = pa.schema([pa.field(column.name, column.type) for column in pq.read_schema(path)])
    texts = [column.name for column in schema if pa.types.is_string(column.type)]
    with (
        pq.ParquetFile(path, read_dictionary=texts) as rows,
        atomic_file(path, overwrite=True) as file,
        _parquet_writer(file, schema) as write_group,
    ):
        waiting: list[pa.Table] = []
        for number in range(rows.num_row_groups):
            waiting.append(rows.read_row_group(number))
            is_last = number == rows.num_row_groups - 1
            while sum(part.num_rows for part in waiting) >= (1 if is_last else ROW_GROUP):
                whole = pa.concat_tables(waiting)
                group = whole.slice(0, ROW_GROUP).unify_dictionaries()
                write_group(cells.combine_chunks() for cells in group.columns)
                waiting = [whole.slice(ROW_GROUP)]


@contextmanager
def _parquet_writer(file: BinaryIO, schema: pa.Schema) -> Iterator[Callable[[Iterable[pa.Array]], None]]:
    """Yields what writes a group of rows, column by column; the only metadata is the schema.

    The bytes follow from the rows alone, so that the judge can compare them with what it writes itself.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    coded = pa.schema(
        [
            pa.field(name, pa.dictionary(pa.int32(), kind) if pa.types.is_string(kind) else kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
    )
    with pq.ParquetWriter(
        file, coded, compression="zstd", store_schema=False, use_dictionary=True, version="2.6"
    ) as out:
        out.add_key_value_metadata({"ARROW:schema": base64.b64encode(schema.serialize()).decode()})

        def write_group(columns: Iterable[pa.Array]) -> None:
            arrays = list(map(_as_they_occur, columns))
            out.write_batch(pa.RecordBatch.from_arrays(arrays, schema=coded), row_group_size=ROW_GROUP)

        yield write_group


def _as_they_occur(cells: pa.Array) -> pa.Array:
    """A dictionary of texts without those that no cell has, in the order in which cells have them.

    Of values other than texts the cells themselves are returned: Arrow gives them such a dictionary.
    """
    if not pa.types.is_dictionary(cells.type):
        return cells
    if not pa.types.is_string(cells.type.value_type):
        return cells.dictionary_decode()
    coded = cells.indices.dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices, cells.dictionary.take(coded.dictionary))


@built_in_writer("csv", ".csv", ".tsv", place=1)
def write_csv(published: PublishedRows, file: BinaryIO, form: OutputForm, progress: Progress) -> None:
    """Every value is quoted once, then rows are joined; a missing cell is empty, empty text is quoted."""
    delimiter, formula_safe = form.text.delimiter, form.formula_safe
    encoded = form.text.encoder()
    head = [_quoted(_writable(name), (*DELIMITERS, delimiter), formula_safe) for name in published.names]
    file.write(encoded((delimiter.join(head) + "\n").encode()))
    cells = [_cells(values, delimiter, formula_safe) for values in published.values]
    separator = _text(delimiter)
    for _, codes in _blocks(published, LINES_AT_A_TIME, progress):
        columns = [c.take(to_arrow(code)) for c, code in zip(cells, codes, strict=True)]
        lines = pc.binary_join_element_wise(*columns, separator) if len(columns) > 1 else columns[0]
        ended = pc.binary_join_element_wise(lines, _text(""), _text("\n"))
        file.write(encoded(_bytes_of(ended)))


def _text(text: str) -> pa.Scalar:
    return text_array([text])[0]


def _bytes_of(texts: pa.Array) -> memoryview:
    """The bytes of all texts, one after the other, as they lie in memory."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)
    return memoryview(data)[int(bounds[texts.offset]) : int(bounds[texts.offset + len(texts)])]


def _cells(values: pa.Array, delimiter: str, formula_safe: bool) -> pa.Array:
    """The CSV text of every published value, and of a missing cell at the end."""
    number = not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type))
    texts = canonical(values)
    special = '^$|[\\x00"\n\r\ufeff' + re.escape(delimiter) + "]" + ("|^[=+@\t\r-]" if formula_safe else "")
    marked = pc.match_substring_regex(texts, special)
    if marked.true_count and not number:
        loose = texts.filter(marked).to_pylist()
        quoted = [_quoted(_writable(text), delimiter, formula_safe) for text in loose]
        texts = pc.replace_with_mask(texts, marked, text_array(quoted))
    return pa.concat_arrays([texts, text_array([""])])


def _writable(text: str) -> str:
    if "\0" in text:
        raise BadData("a text holds a NUL character, which CSV cannot carry", remedy="Write Parquet.")
    return text


def _quoted(text: str, delimiters: Iterable[str], formula_safe: bool) -> str:
    """Quotes only where a reader would otherwise see something else."""
    if formula_safe and text.startswith(FORMULA):
        text = "'" + text
    if text == "" or any(mark in text for mark in (*delimiters, '"', "\n", "\r", "\ufeff")):
        return '"' + text.replace('"', '""') + '"'
    return text


# Arrow files and JSON lines of published rows.

RECORDS_AT_A_TIME = 1 << 17


@built_in_writer("arrow", ".arrow", ".feather", place=6, releases=("feather", "ipc", "arrows"))
def write_arrow(published: PublishedRows, file: BinaryIO, _form: OutputForm, progress: Progress) -> None:
    """Writes the rows as an Arrow IPC file, without metadata."""
    values = [as_written(column) for column in published.values]
    fields = [pa.field(name, column.type) for name, column in zip(published.names, values, strict=True)]
    schema = pa.schema(fields)
    options = ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    with ipc.new_file(file, schema, options=options) as out:
        for _, codes in _blocks(published, RECORDS_AT_A_TIME, progress):
            columns = [
                pc.take(column, to_arrow(code, missing=len(column)))
                if len(column)
                else pa.nulls(len(code), column.type)
                for column, code in zip(values, codes, strict=True)
            ]
            out.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


@built_in_writer("jsonl", ".jsonl", ".ndjson", place=7, releases=("ndjson",))
def write_json_lines(published: PublishedRows, file: BinaryIO, _form: OutputForm, progress: Progress) -> None:
    """Writes a record on each line: every column in order, a missing cell as null."""
    cells = [_members(name, v) for name, v in zip(published.names, published.values, strict=True)]
    comma, nothing = _text(", "), _text("")
    for _, codes in _blocks(published, RECORDS_AT_A_TIME, progress):
        columns = [values.take(to_arrow(code)) for values, code in zip(cells, codes, strict=True)]
        members = pc.binary_join_element_wise(*columns, comma) if len(columns) > 1 else columns[0]
        lines = pc.binary_join_element_wise(_text("{"), members, _text("}\n"), nothing)
        file.write(_bytes_of(lines))


def _members(name: str, values: pa.Array) -> pa.Array:
    """Returns a column's name with each of its values in JSON, and with null at the end."""
    kind, types = values.type, pa.types
    plain = types.is_integer(kind) or types.is_boolean(kind) or types.is_float64(kind)
    key = json.dumps(name, ensure_ascii=False)
    texts = canonical(values, name).to_pylist()
    if types.is_float64(kind):
        plain = bool(np.isfinite(values.to_numpy(zero_copy_only=False)).all())
    written = texts if plain else [json.dumps(text, ensure_ascii=False) for text in texts]
    return text_array([f"{key}: {text}" for text in [*written, "null"]])


# XLSX files of published rows, written from scratch: one sheet, its cells, and nothing else.
#
# The same table gives the same bytes: no program, no author and no time of day is named. Texts stand in their
# cells, numbers and truths keep their types, dates are dates. What XLSX would not carry without change (empty
# texts, rows without a cell, control characters, very long texts) is refused.

MOST_ROWS, MOST_COLUMNS, LONGEST_CELL_TEXT = 1_048_575, 16_384, 32_767
ROWS_AT_A_TIME = 1 << 16
OWN_FILE = 0o600 << 16
"""The attributes of every part."""
SHEET = "xl/worksheets/sheet1.xml"
FIRST_DAY = date(1899, 12, 30)
FIRST_SURE_DAY = date(1900, 3, 1)
"""Earlier days have other numbers in different programs."""
REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
REMEDY = "Write CSV or Parquet."

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
PARTS: dict[str, str] = tomllib.loads(files("sfumato.table").joinpath("workbook.toml").read_text("utf-8"))
"""Everything but the cells."""


@built_in_writer("xlsx", ".xlsx", place=3, releases=("xlsm",))
def write_xlsx(published: PublishedRows, file: BinaryIO, _form: OutputForm, progress: Progress) -> None:
    """Writes the rows of a published table as one sheet called `data`."""
    if published.rows > MOST_ROWS or len(published.names) > MOST_COLUMNS:
        raise BadData(
            f"a sheet holds at most {MOST_ROWS} rows and {MOST_COLUMNS} columns below its names",
            remedy=REMEDY,
        )
    with ZipFile(file, "w", ZIP_DEFLATED) as out:
        for name, text in PARTS.items():
            out.writestr(_entry(name), _XML + text)
        with out.open(_entry(SHEET), "w") as sheet:
            sheet.write(f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
            names = [f'<c r="{_letters(j)}1"{_text_cell(name)}' for j, name in enumerate(published.names)]
            sheet.write(f'<row r="1">{"".join(names)}</row>'.encode())
            cells = [_xlsx_writer_cells(values) for values in published.values]
            for before, codes in _blocks(published, ROWS_AT_A_TIME, progress):
                _refuse_bare_rows(published, codes)
                sheet.write(_lines(cells, codes, first=before + 2))
            sheet.write(b"</sheetData></worksheet>")


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.create_system, entry.external_attr = ZIP_DEFLATED, 0, OWN_FILE
    return entry


def _lines(cells: list[pa.Array], codes: list[np.ndarray], *, first: int) -> bytes:
    """Returns some rows as XML: the cells of each value are written once, then joined."""
    rows = len(codes[0])
    numbers = pa.array(np.arange(first, first + rows)).cast(pa.large_string())
    parts: list[pa.Array | pa.Scalar] = [_text('<row r="'), numbers, _text('">')]
    nothing = _text("")
    for j, (values, code) in enumerate(zip(cells, codes, strict=True)):
        own = values.take(to_arrow(code))
        place = pc.binary_join_element_wise(_text(f'<c r="{_letters(j)}'), numbers, own, nothing)
        parts.append(pc.if_else(pc.equal(own, nothing), nothing, place))
    line = pc.binary_join_element_wise(*parts, _text("</row>"), nothing)
    return bytes(_bytes_of(line))


def _refuse_bare_rows(published: PublishedRows, codes: list[np.ndarray]) -> None:
    missing = np.ones(len(codes[0]), bool)
    for values, code in zip(published.values, codes, strict=True):
        missing &= code == len(values)
    if missing.any():
        raise BadData("a row has no cell that holds anything, which XLSX cannot carry", remedy=REMEDY)


def _xlsx_writer_cells(values: pa.Array) -> pa.Array:
    """Returns each value as the rest of a cell behind its row number; at the end that of a missing one."""
    kind, types = values.type, pa.types
    texts = canonical(values).to_pylist()
    if types.is_boolean(kind):
        cells = [f'" t="b"><v>{int(text == "true")}</v></c>' for text in texts]
    elif types.is_date(kind) and all(day >= FIRST_SURE_DAY for day in values.to_pylist()):
        cells = [f'" s="1"><v>{(day - FIRST_DAY).days}</v></c>' for day in values.to_pylist()]
    elif (types.is_integer(kind) or types.is_floating(kind)) and _are_exact(values):
        cells = [f'"><v>{text}</v></c>' for text in texts]
    else:
        cells = [f'"{_text_cell(text)}' for text in texts]
    return text_array([*cells, ""])


def _are_exact(values: pa.Array) -> bool:
    """Whether numbers are finite doubles that no spreadsheet changes."""
    if pa.types.is_float32(values.type) or values.null_count:
        return False
    numbers = to_numpy(values).astype(np.float64)
    fine = np.isfinite(numbers)
    if pa.types.is_integer(values.type):
        fine &= np.abs(numbers) < LARGEST_EXACT
    return bool(fine.all())


def _text_cell(text: str) -> str:
    if not text or len(text) > LONGEST_CELL_TEXT or REFUSED.search(text):
        raise BadData("a text is empty, too long, or has a character that XLSX cannot carry", remedy=REMEDY)
    escaped = escape(text, quote=False).replace("\r", "&#13;")
    return f' t="inlineStr"><is><t xml:space="preserve">{escaped}</t></is></c>'


def _letters(column: int) -> str:
    """Returns the letters of a column, counted from nought.

    >>> [_letters(j) for j in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    text, left = "", column + 1
    while left:
        left, letter = divmod(left - 1, 26)
        text = chr(ord("A") + letter) + text
    return text


# SPSS and Stata files of published rows, written from scratch: cells, and no label, no note, no time.
#
# Numbers and dates keep their types; everything else is text. What these programs would not carry without
# change (empty texts, blanks at the end of a text in SPSS, names with blanks) is refused.

WRITERS = {".sav": "write_sav", ".dta": "write_dta"}
LONGEST_STATISTICS_TEXT = {".sav": 32_767, ".dta": 2_045}
LONGEST_NAME = {".sav": 64, ".dta": 32}
NAME = re.compile(r"[^\W\d_]\w*")
SPSS_TIME = slice(92, 109)
STATA_TIME = re.compile(rb"(<timestamp>\x11)[^<]{17}(</timestamp>)")


@built_in_writer("sav", ".sav", place=4, releases=("zsav",))
@built_in_writer("dta", ".dta", place=5)
def write_statistics(published: PublishedRows, file: BinaryIO, form: OutputForm, progress: Progress) -> None:
    """Writes the rows of a published table in the format that the ending names."""
    ending = form.ending
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
        if not text or cut or "\0" in text or len(text.encode()) > LONGEST_STATISTICS_TEXT[ending]:
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
