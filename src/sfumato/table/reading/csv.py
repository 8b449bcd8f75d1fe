"""CSV files as sources: every cell is text, and nothing is guessed about it.

An empty cell is missing, and so is one with a text that is said to mean that (`NA`); a quoted one is text. A
row with another number of cells than the header, a quote that is never closed, text after a closing quote, a
NUL byte, or bytes that are not in the file's encoding are refused with the line (or byte) where they are.
Empty lines hold no row, unless the table has a single column. What is published from such a file is written
as it is: same encoding, same delimiter.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv

from sfumato.core.data_file import NO_FORM, Note, SourceForm
from sfumato.core.errors import BadData, WrongCall
from sfumato.engine.column_names import NO_FIRST_NAME, check_names, name_first
from sfumato.engine.csv.charset import ASCII, LATIN_1, UTF_8, UTF_8_MARKED, UTF_16, WINDOWS_1252, spoken
from sfumato.engine.csv.text_form import DELIMITERS, TextForm
from sfumato.engine.csv.utf8 import LONGEST_CELL, Utf8, encoding_of, first_bytes, first_ragged_line

BLOCK_BYTES = 1 << 22
HEAD_BYTES = 1 << 20
OTHER_KINDS = {
    b"PK\x03\x04": "a spreadsheet or another packed file",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF file",
}
"""How files begin that are not CSV, whatever they are called."""


@dataclass(frozen=True)
class CsvOptions:
    """How to read a CSV file where its bytes do not tell.

    By default the delimiter is the one of `, ; tab |` that occurs most often in the header (the earlier one
    in a tie). The encoding is what a byte-order mark says, UTF-8, or Windows-1252 where the bytes are that
    and no UTF-8. A cell of more than `longest_cell` bytes is refused. A cell that holds one of the texts
    `empty`, without quotes, is missing.
    """

    delimiter: str | None = None
    encoding: str | None = None
    longest_cell: int = LONGEST_CELL
    empty: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        SourceForm(encoding=self.encoding, delimiter=self.delimiter)
        if self.longest_cell < 1:
            raise WrongCall("the longest cell has at least one byte")


@dataclass(frozen=True, eq=False)
class CsvReader:
    """A CSV file; `expected` is the form that a policy says its data have, for what `options` leave open."""

    path: Path
    options: CsvOptions = field(default_factory=CsvOptions)
    kind: str = "csv"
    total: int | None = None
    expected: SourceForm = NO_FORM
    note: Note | None = None

    @cached_property
    def form(self) -> TextForm:
        """How the file is written, and what is published from it.

        Latin-1 goes out as Windows-1252, which has all its letters and the dash of published ranges, too.
        """
        latin = codecs.lookup(self._encoding).name == LATIN_1
        return TextForm(WINDOWS_1252 if latin else self._encoding, self._header[0])

    @property
    def empty(self) -> tuple[str, ...]:
        """The texts that stand for an empty cell."""
        return self.options.empty or self.expected.empty_texts

    @cached_property
    def _encoding(self) -> str:
        if self.options.encoding is not None:
            return self.options.encoding
        found, said = encoding_of(self.path), self.expected.encoding
        if found is None:
            self._refuse_other_kinds()
        if said is None or found in (UTF_8_MARKED, UTF_16):
            if found == WINDOWS_1252 and self.note is not None:
                self.note(
                    f"{self.path.name} is not in UTF-8: read as Windows-1252 (Latin-1). "
                    "If letters look wrong, name its encoding with --encoding."
                )
            return found if found not in (None, ASCII) else UTF_8  # which finds a byte that is wrong
        if found == UTF_8 and codecs.lookup(said).name != UTF_8:
            raise BadData(
                f"the policy says that the data are in {spoken(said)}, but this file looks like UTF-8",
                where=self.path.name,
                remedy="Name its encoding with --encoding, or correct `source` in the policy.",
            )
        return said

    def _refuse_other_kinds(self) -> None:
        """Raises where a file that is no text begins as a known kind does: a spreadsheet by another name."""
        start = first_bytes(self.path, max(map(len, OTHER_KINDS)))
        for begin, kind in OTHER_KINDS.items():
            if start.startswith(begin):
                raise BadData(
                    f"the file is no text: it begins as {kind} does",
                    where=self.path.name,
                    remedy="Give it the ending of its kind (.xlsx, .xls, .csv.gz), or save it as CSV.",
                )

    @cached_property
    def _header(self) -> tuple[str, tuple[str, ...]]:
        """The delimiter and the names of the columns."""
        with Utf8(self.path, self._encoding) as stream:
            head = stream.read(HEAD_BYTES).decode("utf-8", "ignore")
        record = _first_record(head)
        if not record.strip("\r\n"):
            raise BadData(
                "the file is empty", where=self.path.name, remedy="It needs a line of column names."
            )
        if len(record) == len(head) and len(head.encode()) >= HEAD_BYTES - 3:
            raise BadData(
                f"the line of column names has more than {HEAD_BYTES} bytes",
                where=self.path.name,
                remedy="Check its quotes and line ends.",
            )
        delimiter = self.options.delimiter or _sniff(record, self.expected.delimiter)
        try:
            names = tuple(next(csv.reader(io.StringIO(record, newline=""), delimiter=delimiter)))
        except csv.Error:
            raise BadData(
                "the line of column names cannot be read", where=self.path.name, remedy="Check its quotes."
            ) from None
        if (first := name_first(names)) is not None:
            names = (first, *names[1:])
            if self.note is not None:
                self.note(f"{self.path.name}: {NO_FIRST_NAME.format(first)}")
        check_names(names)
        return delimiter, names

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(name, pa.string()) for name in self._header[1]])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, block by block; each block is parsed in memory, and no thread outlives its call."""
        delimiter, header = self._header
        ragged: list[arrow_csv.InvalidRow] = []

        def refuse(row: arrow_csv.InvalidRow) -> str:
            ragged.append(row)
            return "error"

        wanted = list(names) or [header[0]]
        parsing = arrow_csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            ignore_empty_lines=len(header) > 1,
            invalid_row_handler=refuse,
        )
        converting = arrow_csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(wanted, pa.dictionary(pa.int32(), pa.string())),
            include_columns=wanted,
            null_values=["", *self.empty],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        begun = False  # the first block begins with the names
        with self._opened(delimiter, len(header)) as stream:
            try:
                for block in stream.records():
                    if begun and not block.strip(b"\r\n" if len(header) > 1 else b""):
                        continue
                    reading = arrow_csv.ReadOptions(
                        use_threads=False,
                        block_size=len(block) + 1,
                        column_names=list(header),
                        skip_rows_after_names=int(not begun),
                    )
                    table = arrow_csv.read_csv(pa.BufferReader(block), reading, parsing, converting)
                    begun = True
                    yield from table.to_batches()
            except (pa.ArrowException, BadData):
                # Never the library's message: it quotes the row.
                if ragged:
                    raise self._ragged(delimiter, len(header), ragged[0].actual_columns) from None
                raise stream.problem or BadData(
                    "the file cannot be read as CSV", where=self.path.name
                ) from None

    def _opened(self, delimiter: str, columns: int) -> Utf8:
        options = self.options
        return Utf8(
            self.path, self._encoding, delimiter=delimiter, columns=columns, longest=options.longest_cell
        )

    def _ragged(self, delimiter: str, expected: int, cells: int) -> BadData:
        line = first_ragged_line(self.path, self._encoding, delimiter, expected)
        return BadData(
            f"line {line} begins a row of {cells} cells; the header has {expected}",
            where=self.path.name,
            remedy="Check quotes, delete titles above the line of names, or name the delimiter.",
        )

    def first_rows(self, most: int) -> list[list[str]]:
        """The cells of the first rows below the header, so many at most; without those in quotes too long."""
        delimiter, _ = self._header
        with Utf8(self.path, self._encoding) as stream:
            head = stream.read(HEAD_BYTES).decode("utf-8", "ignore")
        rows = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
        try:
            return [row for row in islice(rows, 1, most + 1) if row]
        except csv.Error:
            return []

    def native(self, table: pa.Table) -> pa.Table:
        return table


def _first_record(text: str) -> str:
    """The text up to the first line end outside quotes."""
    quoted = False
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character in "\r\n" and not quoted:
            return text[:place]
    return text


def _sniff(record: str, expected: str | None) -> str:
    """Returns the delimiter of a line: the expected one if it occurs, else that which occurs most often."""
    quoted = False
    counts = dict.fromkeys((*DELIMITERS, *([] if expected is None else [expected])), 0)
    for character in record:
        if character == '"':
            quoted = not quoted
        elif character in counts and not quoted:
            counts[character] += 1
    return expected if expected is not None and counts[expected] else max(DELIMITERS, key=counts.__getitem__)
