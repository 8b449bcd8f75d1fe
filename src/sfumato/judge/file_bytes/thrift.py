"""Structures in Thrift's compact form, in which Parquet files keep their headers, read without a schema."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeVar

from sfumato.core.errors import BadData

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
WHOLE = (4, 5, 6)
DEEPEST = 40
"""Structures, lists and maps stand in each other no deeper than that."""

Kind = TypeVar("Kind", bool, int, bytes, "Fields")


class Fields(dict[int, object]):
    """A structure: the number of each field that is there, and its value.

    A field is asked for by its kind. Where it is of another one, or missing and there is no default, that
    raises `BadData`: nobody vouches for what a header holds.

    >>> Fields({1: 7}).one(1, int), Fields({1: 7}).one(2, bytes, b"")
    (7, b'')
    """

    def one(self, number: int, kind: type[Kind], default: Kind | None = None) -> Kind:
        """Returns the value of a field."""
        found = self.get(number, default)
        if type(found) is not kind:  # a truth is no number
            raise damaged()
        return found

    def maybe(self, number: int, kind: type[Kind]) -> Kind | None:
        """Returns the value of a field; `None` where it is missing."""
        return self.one(number, kind) if number in self else None

    def count(self, number: int, default: int | None = None) -> int:
        """Returns a number of things, a size or a place: none of them is below 0."""
        found = self.one(number, int, default)
        if found < 0:
            raise damaged()
        return found

    def several(self, number: int, kind: type[Kind], default: Sequence[Kind] | None = None) -> list[Kind]:
        """Returns the values of a list."""
        found = self.get(number, default)
        if not isinstance(found, list | tuple) or any(type(each) is not kind for each in found):
            raise damaged()
        return list(found)


class CompactReader:
    """Reads structures one after the other; `place` is where the next one begins.

    >>> CompactReader(bytes([0x15, 0x04, 0x18, 0x02, 0x68, 0x69, 0x00])).fields()
    {1: 2, 2: b'hi'}
    """

    def __init__(self, data: bytes, place: int = 0) -> None:
        self._data = data
        self.place = place
        self._depth = 0

    def fields(self) -> Fields:
        """Returns the next structure; raises `BadData` where the bytes are none."""
        found = Fields()
        number = 0
        while (head := self._byte()) != 0:
            step, kind = head >> 4, head & 15
            number = number + step if step else _zigzag(self._varint())
            found[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind)
        return found

    def _value(self, kind: int) -> object:
        if kind in WHOLE:
            return _zigzag(self._varint())
        if kind == BINARY:
            return self._take(self._varint())
        if kind == BYTE:
            return self._byte()
        if kind == DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        containers: dict[int, Callable[[], object]] = {
            LIST: self._list,
            SET: self._list,
            MAP: self._map,
            STRUCT: self.fields,
        }
        if kind not in containers or self._depth == DEEPEST:
            raise damaged()
        self._depth += 1
        found = containers[kind]()
        self._depth -= 1
        return found

    def _list(self) -> list[object]:
        head = self._byte()
        size = head >> 4 if head >> 4 != 15 else self._varint()
        return [self._element(head & 15) for _ in range(self._checked(size))]

    def _map(self) -> list[tuple[object, object]]:
        size = self._checked(self._varint())
        kinds = self._byte() if size else 0
        return [(self._element(kinds >> 4), self._element(kinds & 15)) for _ in range(size)]

    def _element(self, kind: int) -> object:  # truths in a list take a byte each
        return self._byte() == TRUE if kind in (TRUE, FALSE) else self._value(kind)

    def _checked(self, size: int) -> int:
        if size > len(self._data) - self.place:
            raise damaged()
        return size

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, size: int) -> bytes:
        start, self.place = self.place, self.place + size
        if self.place > len(self._data):
            raise damaged()
        return self._data[start : self.place]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 70:
                raise damaged()


def damaged() -> BadData:
    """Returns the complaint about bytes that are not what they should be."""
    return BadData("the file's headers cannot be read", remedy="Write it again: it is damaged.")


def _zigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)
