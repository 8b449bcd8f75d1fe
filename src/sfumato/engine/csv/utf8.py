"""The bytes of a text file, cleaned and checked while they stream."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.errors import BadData
from sfumato.engine.csv.charset import detected_encoding

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
        from sfumato.kernels.rows import quotes  # noqa: PLC0415  # compiled: not every file has quotes

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
        from sfumato.kernels.rows import quotes  # noqa: PLC0415  # compiled: not every file has quotes

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
    from sfumato.kernels.rows import quotes  # noqa: PLC0415  # compiled: not every file is ragged

    state = quotes.fresh_state()
    with Utf8(path, encoding) as stream:
        while block := stream.read(BLOCK_BYTES):
            if quotes.walk(np.frombuffer(block, np.uint8), ord(delimiter), expected, 0, state):
                break
    return int(state[quotes.RECORD_LINE])
