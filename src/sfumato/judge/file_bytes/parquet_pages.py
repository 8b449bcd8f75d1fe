"""Bytes of a Parquet page behind its last value: no reader reads them, and whoever has the file can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.judge.file_bytes.thrift import Fields, damaged

PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY, BYTE_STREAM_SPLIT = 0, 2, 3, 8, 9
BOOLEAN, BYTE_ARRAY = 0, 6
WIDTHS = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""How many bytes a value of each physical type of fixed length has."""


@dataclass(frozen=True)
class LeafColumn:
    """A column of the schema: its physical type, the bytes of a value of fixed length, and how deep its
    definition and repetition levels go."""

    physical: int
    length: int
    definitions: int
    repetitions: int


@dataclass(frozen=True)
class NumberRuns:
    """Numbers in runs: where the bytes behind them begin, how many are the wanted one, and whether bits that
    fill up the last run are set."""

    stop: int
    wanted: int
    filled: bool


def surplus_bytes(page: bytes, header: Fields, column: LeafColumn) -> int | None:
    """Returns how many bytes of an unpacked data page belong to no value; zeros are padding.

    `None` where the values are in an encoding whose length is not known here.
    """
    version_2 = header.maybe(8, Fields)
    about = header.one(5, Fields) if version_2 is None else version_2
    count, place, extra = about.count(1), 0, 0
    if version_2 is not None:
        present, encoding = count - about.count(2), about.one(4, int)
        definitions, repetitions = about.count(5), about.count(6)
        place = repetitions + definitions
        for level, section in (
            (column.repetitions, page[:repetitions]),
            (column.definitions, page[repetitions:place]),
        ):
            extra += _surplus_of_levels(section, level, count)[0]
    else:
        present, encoding = count, about.one(2, int)
        for level, number in ((column.repetitions, 4), (column.definitions, 3)):
            if not level:
                continue
            if about.one(number, int) != RLE:
                return None
            size = int.from_bytes(page[place : place + 4], "little")
            more, present = _surplus_of_levels(page[place + 4 : place + 4 + size], level, count)
            extra, place = extra + more, place + 4 + size
        present = present if column.definitions else count
    if place > len(page) or present < 0:
        raise damaged()
    behind = _surplus_of_values(page[place:], encoding, column, present)
    return None if behind is None else extra + behind


def _surplus_of_levels(section: bytes, deepest: int, count: int) -> tuple[int, int]:
    """Returns the bytes behind levels, and how many of the levels are the deepest."""
    if not deepest:
        return _not_padding(section), count
    runs = read_runs(section, 0, deepest.bit_length(), count, deepest)
    return _not_padding(section[runs.stop :]) + runs.filled, runs.wanted


def _surplus_of_values(values: bytes, encoding: int, column: LeafColumn, count: int) -> int | None:
    if encoding == PLAIN or (encoding == BYTE_STREAM_SPLIT and column.physical != BYTE_ARRAY):
        return _not_padding(values[_plain_size(values, column, count) :])
    if encoding in (PLAIN_DICTIONARY, RLE_DICTIONARY):
        if not values:
            return 0
        runs = read_runs(values, 1, values[0], count)
        return _not_padding(values[runs.stop :]) + runs.filled
    if encoding == RLE and column.physical == BOOLEAN:
        size = int.from_bytes(values[:4], "little")
        runs = read_runs(values[: 4 + size], 4, 1, count)
        return _not_padding(values[runs.stop :]) + runs.filled
    return None


def _plain_size(values: bytes, column: LeafColumn, count: int) -> int:
    if column.physical == BOOLEAN:
        return (count + 7) // 8
    if column.physical != BYTE_ARRAY:
        return count * WIDTHS.get(column.physical, column.length)
    place = 0
    for _ in range(count):  # each length says where the next one stands
        place += 4 + int.from_bytes(values[place : place + 4], "little")
        if place > len(values):
            raise damaged()
    return place


def read_runs(data: bytes, place: int, width: int, count: int, wanted: int | None = None) -> NumberRuns:
    """Reads `count` numbers of `width` bits, runs of one number and packed groups of eight by turns.

    >>> read_runs(bytes([6, 1]), 0, 1, 3, 1)
    NumberRuns(stop=2, wanted=3, filled=False)
    """
    left, matches, filled, end = count, 0, False, len(data)
    bytes_of_one = (width + 7) // 8
    while left > 0:
        head = data[place] if place < end else 128
        head, place = (head, place + 1) if head < 128 else _varint(data, place)
        if head & 1:
            groups = head >> 1
            here, size = min(left, 8 * groups), groups * width
            if not groups or place + size > end:
                raise damaged()
            if width and (wanted is not None or here < 8 * groups):
                numbers = _unpacked_bits(data[place : place + size], width)
                matches += 0 if wanted is None else int((numbers[:here] == wanted).sum())
                filled |= bool(numbers[here:].any())
        else:
            here, size = head >> 1, bytes_of_one
            if not here or place + size > end:
                raise damaged()
            here = left if here > left else here
            if wanted is not None:
                matches += here * (int.from_bytes(data[place : place + size], "little") == wanted)
        place, left = place + size, left - here
    return NumberRuns(place, matches, filled)


def _unpacked_bits(data: bytes, width: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(-1, width)
    return bits.astype(np.uint64) @ (np.uint64(1) << np.arange(width, dtype=np.uint64))


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise damaged()
        byte = data[place]
        number, place, shift = number | (byte & 127) << shift, place + 1, shift + 7
        if byte < 128:
            return number, place


def _not_padding(rest: bytes) -> int:
    return len(rest.strip(b"\0"))
