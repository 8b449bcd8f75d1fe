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
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from sfumato.system.errors import BadData
from sfumato.table.cell_text import NO_FIRST_NAME, check_names, name_first
from sfumato.table.data_file import NO_FORM, Note, SourceForm, built_in_reader, readable_formats

# The encoding of a text file, from its bytes: UTF-8, UTF-16 by its mark, else Windows-1252.

ASCII, UTF_8, UTF_8_MARKED, UTF_16, WINDOWS_1252 = "ascii", "utf-8", "utf-8-sig", "utf-16", "cp1252"
LATIN_1 = "iso8859-1"
"""Encodings by Python's names."""

MARKS = {codecs.BOM_UTF8: UTF_8_MARKED, codecs.BOM_UTF16_LE: UTF_16, codecs.BOM_UTF16_BE: UTF_16}

NOT_IN_WINDOWS_1252 = re.compile(rb"[\x00\x81\x8d\x8f\x90\x9d]")
_LONE_BYTE = re.compile("[\udc80-\udcff]")
_WIDE_CHARACTER = re.compile("[^\x00-\x7f\udc80-\udcff]")

SPOKEN = {WINDOWS_1252: "Windows-1252", LATIN_1: "Latin-1", UTF_8: "UTF-8", UTF_16: "UTF-16"}


def spoken(encoding: str) -> str:
    """Returns an encoding as people call it.

    >>> spoken("cp1252"), spoken("latin-1"), spoken("koi8-r")
    ('Windows-1252', 'Latin-1', 'KOI8-R')
    """
    name = codecs.lookup(encoding).name
    return SPOKEN.get(name, name.upper())


def marked_encoding(start: bytes) -> str | None:
    """Returns the encoding that a byte-order mark names, if the first bytes of a file are one."""
    return next((encoding for mark, encoding in MARKS.items() if start.startswith(mark)), None)


def detected_encoding(blocks: Iterable[bytes]) -> str | None:
    """Returns the encoding of a text that comes in blocks; ASCII, where nothing tells more than that.

    A text that is no UTF-8 is in Windows-1252, of which Latin-1 is a part, if no bytes of it make a character
    of UTF-8 beyond ASCII, all are characters of Windows-1252, and its end is not half a character. Otherwise
    it is a damaged or mixed text, or in another encoding: `None`.

    >>> detected_encoding([b"a;b", "Müller".encode("cp1252")]), detected_encoding(["ü".encode(), b" \\xfc "])
    ('cp1252', None)
    """
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    lone = wide = foreign = begun = False
    for block in blocks:
        if not begun and (marked := marked_encoding(block)):
            return marked
        begun = True
        if block.isascii() and not decoder.getstate()[0]:
            foreign = foreign or b"\0" in block
            continue
        foreign = foreign or NOT_IN_WINDOWS_1252.search(block) is not None
        text = decoder.decode(block)
        lone = lone or _LONE_BYTE.search(text) is not None
        wide = wide or _WIDE_CHARACTER.search(text) is not None
        if wide and lone:
            return None
    if decoder.getstate()[0] or (lone and foreign):
        return None
    return WINDOWS_1252 if lone else UTF_8 if wide else ASCII


# The form of a CSV file: in which encoding it is written, and what separates its cells.

DELIMITERS = (",", ";", "\t", "|")
USUAL_NAMES = {"cp1252": "windows-1252", "iso8859-1": "latin-1", "iso8859-15": "latin-9"}
"""What encodings are called by people, and understood by Python."""


@dataclass(frozen=True)
class TextForm:
    """An encoding, by any name that Python knows, and a delimiter.

    >>> TextForm("windows-1252", ";").words
    {'encoding': 'windows-1252', 'delimiter': ';'}
    >>> TextForm().words
    {}
    """

    encoding: str = UTF_8
    delimiter: str = ","

    @property
    def words(self) -> dict[str, str]:
        """What differs from UTF-8 with commas, as plain data."""
        name = codecs.lookup(self.encoding).name
        words = {} if name == UTF_8 else {"encoding": USUAL_NAMES.get(name, name)}
        return words if self.delimiter == "," else {**words, "delimiter": self.delimiter}

    def encoder(self) -> TextEncoder:
        """Returns what turns the UTF-8 bytes of one file into this encoding."""
        return TextEncoder(self.encoding)


PLAIN_FORM = TextForm()


class TextEncoder:
    """Turns UTF-8, in pieces of whole characters, into the bytes of a file; its mark comes first."""

    def __init__(self, encoding: str) -> None:
        self._plain = codecs.lookup(encoding).name == UTF_8
        self._name = encoding
        self._encoder = codecs.getincrementalencoder(encoding)("strict")

    def __call__(self, text: bytes | memoryview) -> bytes | memoryview:
        if self._plain:
            return text
        try:
            return self._encoder.encode(bytes(text).decode(UTF_8))
        except UnicodeEncodeError:
            raise BadData(
                f"a published text has a character that {spoken(self._name)} lacks",
                remedy="Write a Parquet or XLSX file, or hand in the data in UTF-8.",
            ) from None


# The bytes of a text file, cleaned and checked while they stream.

BLOCK_BYTES = 1 << 22
LONGEST_CELL = 1 << 20
"""A cell of more bytes is refused unless the caller allows it: tables of people have none, torn files may."""


def open_bytes(path: Path) -> BinaryIO:
    """Returns the bytes of a file, unpacked where its name ends in .gz or .zst."""
    ending = path.suffix.lower()
    if ending == ".zst":
        return cast(BinaryIO, pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"))
    return cast(BinaryIO, gzip.open(path, "rb") if ending == ".gz" else path.open("rb"))


UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a damaged file raises here; whoever reads it in earnest says what is wrong."""


def encoding_of(path: Path) -> str | None:
    """Returns the encoding of a text file, from all of its bytes; `None` where they do not tell it."""
    with suppress(*UNREADABLE), open_bytes(path) as file:
        return detected_encoding(iter(lambda: file.read(BLOCK_BYTES), b""))
    return None


def first_bytes(path: Path, count: int) -> bytes:
    """Returns what a file begins with, unpacked; nothing where it cannot be read."""
    with suppress(*UNREADABLE), open_bytes(path) as file:
        return file.read(count)
    return b""


class Utf8:
    """The bytes of a file as clean UTF-8: other encodings turned, marks removed, the last line ended.

    With a delimiter, quotes and the length of cells are checked on the way. `problem` says what was wrong, if
    anything was.
    """

    def __init__(
        self,
        path: Path,
        encoding: str | None,
        *,
        delimiter: str = "",
        columns: int = 0,
        longest: int = LONGEST_CELL,
    ) -> None:
        self.name = path.name
        self.delimiter = delimiter
        self.columns = columns
        self.longest = longest
        self.problem: BadData | None = None
        self.closed = False
        self._packed = path.suffix.lower() == ".zst"
        self._raw = open_bytes(path)
        start = self._read(3)
        marked = start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        named = encoding or ("utf-16" if marked else "utf-8")
        self._foreign = codecs.lookup(named).name not in ("utf-8", "utf-8-sig")
        self._decoder = codecs.getincrementaldecoder(named if self._foreign else "utf-8")("strict")
        self._ahead = start if self._foreign else start.removeprefix(codecs.BOM_UTF8)
        self._offset = len(start) - len(self._ahead)
        self._ready = b""
        self._last = b"\n"
        self._lines = 1
        self._in_record = self._in_cell = self._end = 0
        self._state: NDArray[np.int64] | None = None
        self._done = False

    def __enter__(self) -> Utf8:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.closed = True
        self._raw.close()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; none at the end."""
        while not self._done and (size < 0 or len(self._ready) < size):
            self._ready += self._next()
        if size < 0 or len(self._ready) == size:
            block, self._ready = self._ready, b""
        else:
            block, self._ready = self._ready[:size], self._ready[size:]
        return block

    def records(self) -> Iterator[bytes]:
        """Yields the bytes in blocks of whole records: a delimiter has to be known."""
        waiting: list[bytes] = []
        while not self._done:
            text = self._next()
            end = len(text) if self._done else self._end
            if end or self._done:
                yield b"".join([*waiting, memoryview(text)[:end]])
                waiting = [text[end:]]
            else:
                waiting.append(text)

    def _read(self, size: int) -> bytes:
        try:
            return self._raw.read(size)
        except (gzip.BadGzipFile, zlib.error):
            raise self._refuse("the compressed file is damaged", "Compress it again.") from None
        except EOFError:
            raise self._refuse("the compressed file is cut off", "Copy or compress it again.") from None
        except OSError:
            if not self._packed:
                raise
            raise self._refuse("the compressed file is damaged or cut off", "Compress it again.") from None

    def _next(self) -> bytes:
        block = self._ahead or self._read(BLOCK_BYTES)
        self._ahead = b""
        text = self._decoded(block)
        if b"\0" in text:
            raise self._refuse("there is a NUL byte", "Is it UTF-16 without a mark, or no text at all?")
        if self.delimiter:
            self._check_quotes(text)
        if not block:
            self._done = True
            self._check_closed()
            text += b"" if (text or self._last)[-1:] in (b"\n", b"\r") else b"\n"
        self._last = text[-1:] or self._last
        return text

    def _decoded(self, block: bytes) -> bytes:
        """UTF-8 bytes of a block; half a character at its end waits for the next."""
        waiting = self._decoder.getstate()[0]
        if block and block.isascii() and not waiting and not self._foreign:
            self._offset += len(block)
            return block
        try:
            text = self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            place = self._offset - len(waiting) + error.start
            raise self._refuse(
                f"byte {place} is not {error.encoding.upper()}",
                "Name the encoding, as in --encoding windows-1252 (sf.DataFile(path, encoding=…)).",
            ) from None
        self._offset += len(block)
        return text.encode("utf-8")

    def _check_quotes(self, text: bytes) -> None:
        """Checks quotes and the length of cells, and notes where the last whole record ends."""
        if self._state is None and b'"' not in text and not self._may_be_too_long(text):
            split = self._last == b"\r" and text[:1] == b"\n"
            returns = text.count(b"\r")
            self._lines += text.count(b"\n") + returns - (text.count(b"\r\n") if returns else 0) - split
            self._note_ends(text)
            return
        from sfumato.kernels import rows as quotes  # noqa: PLC0415  # compiled: not every file has quotes

        if self._state is None:
            self._state = quotes.fresh_state()
            self._state[quotes.LINE] = self._state[quotes.RECORD_LINE] = self._lines
            self._state[quotes.AFTER_CR] = self._last == b"\r"
            self._state[quotes.CELL] = self._in_cell
            if self._last not in (b"\n", b"\r", self.delimiter.encode()):
                self._state[quotes.MODE] = quotes.PLAIN
        cells = np.frombuffer(text, np.uint8)
        verdict = quotes.walk(cells, ord(self.delimiter), 0, self.longest, self._state)
        self._end = int(self._state[quotes.END])
        if verdict == quotes.TOO_LONG:
            line = self._state[quotes.RECORD_LINE]
            raise self._refuse(
                f"line {line} begins a row with a cell of more than {self.longest} bytes",
                "Check its quotes and line ends, or allow longer cells: --longest-cell BYTES.",
            )
        if verdict == quotes.FINE and not self._end and 0 < self.columns < self._state[quotes.FIELDS]:
            line = self._state[quotes.RECORD_LINE]
            raise self._refuse(
                f"line {line} begins a row of more than {self.columns} cells; the header has {self.columns}",
                "Check its delimiters and quotes, or name the delimiter.",
            )
        if verdict != quotes.FINE:
            line = self._state[quotes.LINE]
            raise self._refuse(f"line {line}: text after a closing quote", "Double the quotes inside cells.")

    def _note_ends(self, text: bytes) -> None:
        """Notes, in text without quotes, where the last whole record ends, and how long what follows it is.

        A CR at the very end may be half of a line end: its record is not whole yet.
        """
        line = _last_line_end(text, 0, len(text))
        cell = max(line, text.rfind(self.delimiter.encode()))
        torn = text.endswith(b"\r")
        self._end = (_last_line_end(text, 0, len(text) - 1) if torn else line) + 1
        self._in_record = len(text) - 1 - line if line >= 0 else self._in_record + len(text)
        self._in_cell = len(text) - 1 - cell if cell >= 0 else self._in_cell + len(text)

    def _may_be_too_long(self, text: bytes) -> bool:
        """Whether a line is longer than a cell may be; only then cells are measured."""
        place = -self._in_record
        while len(text) - place > self.longest:
            end = _last_line_end(text, max(place, 0), max(place + self.longest, 0) + 1)
            if end < 0:
                return True
            place = end + 1
        return False

    def _check_closed(self) -> None:
        if self._state is None:
            return
        from sfumato.kernels import rows as quotes  # noqa: PLC0415  # compiled: not every file has quotes

        if self._state[quotes.MODE] == quotes.QUOTED:
            line = self._state[quotes.QUOTE_LINE]
            raise self._refuse(f"line {line}: a quote is opened and never closed", "Close or double it.")

    def _refuse(self, message: str, remedy: str) -> BadData:
        self.problem = BadData(message, where=self.name, remedy=remedy)
        return self.problem


def _last_line_end(text: bytes, start: int, end: int) -> int:
    """The place of the last line end in a part of the text; -1 where there is none."""
    return max(text.rfind(b"\n", start, end), text.rfind(b"\r", start, end))


def first_ragged_line(path: Path, encoding: str | None, delimiter: str, expected: int) -> int:
    """The line on which the first record with another number of cells begins."""
    from sfumato.kernels import rows as quotes  # noqa: PLC0415  # compiled: not every file is ragged

    state = quotes.fresh_state()
    with Utf8(path, encoding) as stream:
        while block := stream.read(BLOCK_BYTES):
            if quotes.walk(np.frombuffer(block, np.uint8), ord(delimiter), expected, 0, state):
                break
    return int(state[quotes.RECORD_LINE])


HEAD_BYTES = 1 << 20
OTHER_KINDS = {
    b"PK\x03\x04": "a spreadsheet or another packed file",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF file",
}
"""How files begin that are not CSV, whatever they are called."""


CSV_ENDINGS = next(kind.endings for kind in readable_formats() if kind.reader.attribute == "CsvReader")


@built_in_reader(
    ".csv",
    ".tsv",
    ".txt",
    what="a CSV file",
    place=1,
    options=("encoding", "delimiter", "longest-cell", "empty"),
    named=(".csv", ".csv.gz"),
    packed=True,
)
@dataclass(frozen=True, eq=False)
class CsvReader:
    """A CSV file; `options` say how it is to be read where its bytes do not tell.

    `expected` is the form that a policy says its data have, for what `options` leave open. By default the
    delimiter is the one of `, ; tab |` that occurs most often in the header (the earlier one in a tie). The
    encoding is what a byte-order mark says, UTF-8, or Windows-1252 where the bytes are that and no UTF-8.
    """

    path: Path
    options: SourceForm = NO_FORM
    kind: str = "csv"
    total: int | None = None
    expected: SourceForm = NO_FORM
    note: Note | None = None

    @classmethod
    def of_file(cls, path: Path, form: SourceForm, expected: SourceForm, note: Note | None) -> CsvReader:
        """Returns the reader of a file, of which so much is said, and so much expected."""
        return cls(path, form, expected=expected, note=note)

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
        return self.options.empty_texts or self.expected.empty_texts

    @cached_property
    def _encoding(self) -> str:
        if self.options.encoding is not None:
            return self.options.encoding
        detected, expected = encoding_of(self.path), self.expected.encoding
        if detected is None:
            self._refuse_other_kinds()
        if expected is None or detected in (UTF_8_MARKED, UTF_16):
            if detected == WINDOWS_1252 and self.note is not None:
                self.note(
                    f"{self.path.name} is not in UTF-8: read as Windows-1252 (Latin-1). "
                    "If letters look wrong, name its encoding with --encoding."
                )
            return detected if detected not in (None, ASCII) else UTF_8  # which finds a byte that is wrong
        if detected == UTF_8 and codecs.lookup(expected).name != UTF_8:
            raise BadData(
                f"the policy says that the data are in {spoken(expected)}, but this file looks like UTF-8",
                where=self.path.name,
                remedy="Name its encoding with --encoding, or correct `source` in the policy.",
            )
        return expected

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
        longest = int(self.options.longest_cell or self.expected.longest_cell or LONGEST_CELL)
        columns = len(header)
        with Utf8(self.path, self._encoding, delimiter=delimiter, columns=columns, longest=longest) as stream:
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
