"""What a packed file unpacks to, told before a library sees it.

Packing can make a file a thousand times smaller, and repeated cells can make it smaller still. So a small
file may take all memory there is. Whoever reads one asks here first: sizes are taken from the structure of
the file, and nothing is kept of what it holds.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from sfumato.system.errors import BadData
from sfumato.system.memory import in_words

FREELY = 512_000_000
"""So many bytes any file may take, however small it is."""
MOST_TIMES = 1000
"""Beyond that, so many bytes for each of the file. Measured were 35 to 60 for XLSX, and 100 to 370 for ODS,
where most cells are equal to their neighbours."""


def check_expansion(need: int, path: Path, *, times: int = MOST_TIMES) -> None:
    """Raises `BadData` where a file would take far more memory than files of its size do."""
    size = path.stat().st_size
    if need > max(FREELY, times * size):
        raise BadData(
            f"the file has {in_words(size)} and would take more than {in_words(need)} of memory",
            where=path.name,
            remedy="Files of tables do not. If this one is yours, save it as CSV: that is read row by row.",
        )


def zip_bytes(path: Path) -> int:
    """Returns how much all parts of a ZIP file unpack to, as its list of parts says."""
    with ZipFile(path) as file:
        return sum(part.file_size for part in file.infolist())


def read_part(file: ZipFile, name: str) -> bytes:
    """Returns a part of a ZIP file; raises `BadZipFile` where it unpacks to another size than is listed.

    Python ends a part where the list says so. Other libraries go on, and what follows has no limit.
    """
    part = file.getinfo(name)
    content = file.read(name)
    if part.compress_type == ZIP_STORED and part.compress_size == part.file_size == len(content):
        return content
    if part.compress_type != ZIP_DEFLATED or file.fp is None:
        raise BadZipFile
    file.fp.seek(part.header_offset + 26)
    packed = file.fp.tell() + 4 + sum(struct.unpack("<HH", file.fp.read(4)))
    file.fp.seek(packed)
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    size, rest = 0, file.fp.read(part.compress_size)
    while rest and size <= part.file_size and not unpacker.eof:
        size += len(unpacker.decompress(rest, BLOCK_OF_PART))
        rest = unpacker.unconsumed_tail
    if size != part.file_size or not unpacker.eof:
        raise BadZipFile
    return content


BLOCK_OF_PART = 1 << 20


class NoMessages(ValueError):
    """The bytes are no messages of Arrow."""


RECORD_BATCH, DICTIONARY_BATCH = 3, 2
"""Kinds of messages that hold cells."""
MAGIC, CONTINUES = b"ARROW1", b"\xff\xff\xff\xff"
BLOCK = 24
"""Bytes of an entry in the list of an Arrow file: a place, the lengths of a message and of its body."""


def arrow_bytes(path: Path) -> int:
    """Returns how much the batches of an Arrow file or stream unpack to; raises `NoMessages`.

    A buffer that is compressed begins with its size, and the header of a batch says where its buffers are.
    """
    try:
        with path.open("rb") as file:
            listed = file.read(len(MAGIC)) == MAGIC
            return sum(_batch_bytes(file, place) for place in (_listed if listed else _following)(file))
    except (struct.error, IndexError, OverflowError, OSError, ValueError):  # no place of a file, no number
        raise NoMessages from None


def _listed(file: IO[bytes]) -> Iterator[int]:
    """Yields the places of all batches that the end of a file lists; the same one may be listed twice."""
    end = file.seek(-len(MAGIC) - 4, os.SEEK_END)
    (length,) = struct.unpack("<i", file.read(4))
    if not 0 < length <= end:
        raise NoMessages
    file.seek(end - length)
    footer = _Table.root(file.read(length))
    for field in (2, 3):
        start, count = footer.vector(field)
        for number in range(count):
            yield struct.unpack_from("<q", footer.content, start + number * BLOCK)[0]


def _following(file: IO[bytes]) -> Iterator[int]:
    """Yields the places of the messages of a stream."""
    place = 0
    while (message := _message(file, place)) is not None:
        yield place
        header, body = message
        length = header.number(3, "<q")
        if length < 0:
            raise NoMessages
        place = body + length


def _batch_bytes(file: IO[bytes], place: int) -> int:
    message = _message(file, place)
    if message is None:
        raise NoMessages
    header, body = message
    kind = header.number(1, "<B")
    if kind not in (RECORD_BATCH, DICTIONARY_BATCH):
        return 0
    batch = header.table(2)
    if kind == DICTIONARY_BATCH:
        batch = batch.table(1)
    packed = batch.place(3) is not None
    start, count = batch.vector(2)
    total = 0
    for number in range(count):
        offset, length = struct.unpack_from("<qq", batch.content, start + 16 * number)
        if packed and length >= 8:
            file.seek(body + offset)
            (size,) = struct.unpack("<q", file.read(8))
            length = max(size, length)  # -1 stands for a buffer that is as it is
        total += max(0, length)
    return total


def _message(file: IO[bytes], place: int) -> tuple[_Table, int] | None:
    """Returns the header of a message and where its body begins; `None` at the end of a stream."""
    file.seek(place)
    start = file.read(4)
    if start == CONTINUES:
        start = file.read(4)
    if start in (b"", bytes(4)):
        return None
    (length,) = struct.unpack("<i", start)
    if length <= 0:
        raise NoMessages
    content = file.read(length)
    return _Table.root(content), file.tell()


class _Table:
    """A table of FlatBuffers, the form of Arrow's headers: fields by number, each at a place of its own."""

    def __init__(self, content: bytes, start: int) -> None:
        self.content, self._start = content, start

    @classmethod
    def root(cls, content: bytes) -> _Table:
        return cls(content, struct.unpack_from("<I", content)[0])

    def place(self, field: int) -> int | None:
        """Returns where a field stands; `None` where the table lacks it."""
        list_of_fields = self._start - struct.unpack_from("<i", self.content, self._start)[0]
        (size,) = struct.unpack_from("<H", self.content, list_of_fields)
        at = 4 + 2 * field
        offset = struct.unpack_from("<H", self.content, list_of_fields + at)[0] if at < size else 0
        return self._start + offset if offset else None

    def number(self, field: int, form: str) -> int:
        place = self.place(field)
        return 0 if place is None else int(struct.unpack_from(form, self.content, place)[0])

    def table(self, field: int) -> _Table:
        place = self.place(field)
        if place is None:
            raise NoMessages
        return _Table(self.content, place + struct.unpack_from("<I", self.content, place)[0])

    def vector(self, field: int) -> tuple[int, int]:
        """Returns where the entries of a list begin, and how many it has."""
        place = self.place(field)
        if place is None:
            return 0, 0
        start = place + struct.unpack_from("<I", self.content, place)[0]
        count = struct.unpack_from("<I", self.content, start)[0]
        if count > len(self.content):
            raise NoMessages
        return start + 4, count
