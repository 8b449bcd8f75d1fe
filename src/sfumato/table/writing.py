"""Files of published rows: complete or not there at all, the same bytes for the same table."""

from __future__ import annotations

import base64
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.progress import Progress
from sfumato.engine.arrow_arrays import text_array, to_arrow
from sfumato.engine.csv.text_form import DELIMITERS, PLAIN_FORM, TextForm
from sfumato.engine.files.column_types import as_written
from sfumato.engine.published_rows import PublishedRows
from sfumato.engine.text import canonical
from sfumato.system.disk import to_disk

WRITTEN_ENDINGS = (
    *(".csv", ".tsv", ".parquet", ".pq"),
    *(".xlsx", ".sav", ".dta"),
    *(".arrow", ".feather", ".jsonl", ".ndjson"),
)
"""The endings of files that are written."""

ROW_GROUP = 1 << 20
LINES_AT_A_TIME = 1 << 17

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet read a cell as a formula."""


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
    check_ending(path)
    check_target(path, overwrite)

    def write(published: PublishedRows, progress: Progress) -> Path:
        with atomic_file(path, overwrite=overwrite, mode=0o600 if private else 0o666) as file:
            if suffix in (".csv", ".tsv"):
                _write_csv(published, file, form_for(path, form), formula_safe, progress)
            elif suffix in (".parquet", ".pq"):
                _write_parquet(published, file, progress)
            else:
                _write_otherwise(published, file, suffix, progress)
        return path

    return write


def _write_otherwise(published: PublishedRows, file: BinaryIO, suffix: str, progress: Progress) -> None:
    """Writes neither CSV nor Parquet; what that takes is loaded here."""
    if suffix == ".xlsx":
        from sfumato.engine.files.xlsx_writer import write_xlsx  # noqa: PLC0415  # seldom asked for

        write_xlsx(published, file, progress)
    elif suffix in (".sav", ".dta"):
        from sfumato.engine.files.statistics_writer import write_statistics  # noqa: PLC0415  # so is this

        write_statistics(published, file, suffix, progress)
    else:
        from sfumato.engine.files.record_writers import write_arrow, write_json_lines  # noqa: PLC0415  # and this

        (write_arrow if suffix in (".arrow", ".feather") else write_json_lines)(published, file, progress)


def form_for(path: Path, form: TextForm) -> TextForm:
    """Returns the form in which a CSV file of this name is written: in one that ends in .tsv, tabs."""
    return TextForm(form.encoding, "\t") if path.suffix.lower() == ".tsv" else form


def check_ending(path: Path) -> None:
    """Raises `WrongCall` where the ending of a path names no format that is written."""
    suffix = path.suffix.lower()
    if suffix not in WRITTEN_ENDINGS:
        raise WrongCall(
            f"the ending {suffix!r} names no format that is written",
            remedy="End the path in .csv, .parquet, .xlsx, .sav, .dta, .arrow or .jsonl.",
        )


def check_target(path: Path, overwrite: bool = False) -> None:
    """Refuse a place where nothing can be written, or where something is."""
    if path.is_symlink():
        raise WrongCall("the target is a symbolic link", where=str(path), remedy="Name the file itself.")
    if path.exists() and not (overwrite and path.is_file()):
        raise WrongCall(
            "the target exists already", where=str(path), remedy="Choose another name, or overwrite."
        )
    if not path.parent.is_dir():
        raise WrongCall(
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
        raise WrongCall(
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
        raise WrongCall("the target exists already", where=str(path), remedy="Choose another name.") from None
    except OSError:  # a file system without hard links
        check_target(path, False)
        draft.replace(path)


def _write_parquet(published: PublishedRows, file: BinaryIO, progress: Progress) -> None:
    published = replace(published, values=tuple(map(as_written, published.values)))
    with _parquet_writer(file, published.schema) as write_group:
        done = 0
        for codes in published.blocks(ROW_GROUP):
            cells = [to_arrow(code, missing=len(v)) for v, code in zip(published.values, codes, strict=True)]
            write_group(map(pa.DictionaryArray.from_arrays, cells, published.values))
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
    found = cells.indices.dictionary_encode()
    return pa.DictionaryArray.from_arrays(found.indices, cells.dictionary.take(found.dictionary))


def _write_csv(
    published: PublishedRows, file: BinaryIO, form: TextForm, formula_safe: bool, progress: Progress
) -> None:
    """Every value is quoted once, then rows are joined; a missing cell is empty, empty text is quoted."""
    delimiter, encoded = form.delimiter, form.encoder()
    head = [_quoted(_writable(name), (*DELIMITERS, delimiter), formula_safe) for name in published.names]
    file.write(encoded((delimiter.join(head) + "\n").encode()))
    cells = [_cells(values, delimiter, formula_safe) for values in published.values]
    separator = _text(delimiter)
    done = 0
    for codes in published.blocks(LINES_AT_A_TIME):
        columns = [c.take(to_arrow(code)) for c, code in zip(cells, codes, strict=True)]
        lines = pc.binary_join_element_wise(*columns, separator) if len(columns) > 1 else columns[0]
        ended = pc.binary_join_element_wise(lines, _text(""), _text("\n"))
        _, offsets, data = ended.buffers()
        bounds = np.frombuffer(offsets, np.int64)
        lines_of_block = memoryview(data)[int(bounds[ended.offset]) : int(bounds[ended.offset + len(ended)])]
        file.write(encoded(lines_of_block))
        done += len(codes[0])
        progress("writing", done, published.rows)


def _text(text: str) -> pa.Scalar:
    return text_array([text])[0]


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
