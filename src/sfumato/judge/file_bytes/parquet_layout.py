"""The layout of a Parquet file: which bytes belong to which column, and what its headers claim of values."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.errors import BadData
from sfumato.judge.file_bytes.packed_page import has_surplus, unpacked
from sfumato.judge.file_bytes.parquet_pages import LeafColumn, surplus_bytes
from sfumato.judge.file_bytes.thrift import CompactReader, Fields, damaged

MARK = b"PAR1"
HEADER_BYTES = 1 << 16
"""A page header is looked for in so many bytes first; statistics may make it longer."""
LONGEST_HEADER = 1 << 26

REPEATED = 2
"""How the schema says that a field may occur several times."""

Span = tuple[int, int]


@dataclass(frozen=True)
class Claims:
    """What headers say of the values of one column chunk: dictionary entries, lowest and highest values.

    All are bytes as the column's physical type is written plainly. `nulls` and `distinct` are counts that
    statistics of the whole chunk state, if they do.
    """

    entries: tuple[bytes, ...] = field(default=(), repr=False)
    low: frozenset[bytes] = field(default=frozenset(), repr=False)
    high: frozenset[bytes] = field(default=frozenset(), repr=False)
    nulls: int | None = None
    distinct: int | None = None


@dataclass(frozen=True)
class ColumnChunk:
    """One column of one row group."""

    path: tuple[str, ...]
    physical: int
    length: int
    row_group: int
    claims: Claims
    notes: int
    has_bloom_filter: bool
    pages: PageBytes


@dataclass
class PageBytes:
    """What stands in the pages of a column chunk behind their values: `behind` bytes, and whether some pages
    are written in a way that does not tell (`unknown`)."""

    behind: int = 0
    unknown: bool = False

    def look(self, body: bytes, header: Fields, codec: int, column: LeafColumn) -> None:
        """Looks at one data page as it stands in the file."""
        version_2 = header.get(8)
        levels = version_2[5] + version_2[6] if version_2 is not None else 0
        packed = codec if version_2 is None or version_2.get(7, True) else 0
        values = unpacked(body[levels:], packed, header[2] - levels) if len(body) > levels else b""
        found, hidden = (
            surplus_bytes(body[:levels] + values, header, column),
            has_surplus(body[levels:], packed),
        )
        self.behind += (found or 0) + bool(hidden)
        self.unknown |= found is None or hidden is None


@dataclass(frozen=True)
class ParquetLayout:
    """A Parquet file taken apart; `stray` are bytes that belong to nothing, `made_by` its writer's name."""

    chunks: tuple[ColumnChunk, ...]
    notes: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    made_by: str
    stray: int


def layout_of(path: Path) -> ParquetLayout:
    """Returns the layout of a Parquet file; raises `BadData` where its headers cannot be followed."""
    with _bytes_of(path) as data:
        if len(data) < 12 or data[:4] != MARK or data[-4:] != MARK:
            raise damaged()
        end = len(data) - 8
        start = end - int.from_bytes(data[end : end + 4], "little")
        if start < 4:
            raise damaged()
        footer = CompactReader(data[start:end])
        whole = footer.fields()
        spans: list[Span] = [(0, 4), (start, start + footer.place), (end, len(data))]
        leaves = {tuple(path): leaf for path, leaf in _leaves(whole[2])}
        chunks = [
            _chunk(data, column, number, leaves, spans)
            for number, group in enumerate(whole.get(4, []))
            for column in group[1]
        ]
        notes = tuple((pair[1], pair.get(2, b"")) for pair in whole.get(5, []))
        made_by = whole.get(6, b"").decode("utf-8", "replace")
        return ParquetLayout(tuple(chunks), notes, made_by, _stray(data, spans))


@contextmanager
def _bytes_of(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file:
        if not file.seek(0, 2):
            raise damaged()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def _leaves(nodes: list[Fields]) -> Iterator[tuple[list[str], LeafColumn]]:
    """Yields the path of every leaf of the schema, and what its pages hold."""
    place = 0

    def below(path: list[str], optional: int, repeated: int) -> Iterator[tuple[list[str], LeafColumn]]:
        nonlocal place
        node, place = nodes[place], place + 1
        own = [*path, node[4].decode("utf-8", "replace")] if place > 1 else []
        kind = node.get(3, 0) if own else 0
        optional, repeated = optional + (kind > 0), repeated + (kind == REPEATED)
        if not node.get(5):
            yield own, LeafColumn(node.get(1, 0), node.get(2, 0), optional, repeated)
        for _ in range(node.get(5, 0)):
            yield from below(own, optional, repeated)

    yield from below([], 0, 0)


def _chunk(
    data: mmap.mmap,
    column: Fields,
    row_group: int,
    leaves: dict[tuple[str, ...], LeafColumn],
    spans: list[Span],
) -> ColumnChunk:
    about = column.get(3)
    if about is None or 1 in column or not isinstance(about, dict):
        raise damaged()  # encrypted, or in another file
    path = tuple(name.decode("utf-8", "replace") for name in about[3])
    statistics = [about[12]] if 12 in about else []
    if path not in leaves:
        raise damaged()
    leaf, pages = leaves[path], PageBytes()
    entries = tuple(_pages(data, about, leaf, spans, statistics, pages))
    low, high = _extremes(statistics)
    for offset, size in ((4, 5), (6, 7)):
        if column.get(offset):
            span = (column[offset], column[offset] + column.get(size, 0))
            spans.append(span)
            if offset == 6:
                index = CompactReader(data[slice(*span)]).fields()
                shown = [not empty for empty in index.get(1, [])]
                low |= {v for v, is_shown in zip(index.get(2, []), shown, strict=False) if is_shown}
                high |= {v for v, is_shown in zip(index.get(3, []), shown, strict=False) if is_shown}
    if about.get(14):
        spans.append((about[14], about[14] + about.get(15, 0)))
    _repeated_header(data, about, spans)
    whole = about.get(12, {})
    claims = Claims(entries, frozenset(low), frozenset(high), whole.get(3), whole.get(4))
    notes = len(about.get(8, []))
    return ColumnChunk(path, about[1], leaf.length, row_group, claims, notes, bool(about.get(14)), pages)


def _pages(
    data: mmap.mmap,
    about: Fields,
    leaf: LeafColumn,
    spans: list[Span],
    statistics: list[Fields],
    pages: PageBytes,
) -> Iterator[bytes]:
    """Yields the entries of the chunk's dictionary; adds where pages stand, their statistics, and what is
    behind their values."""
    place = _begin(about)
    stop = place + about[7]
    while place < stop:
        header, size = _header(data, place, stop)
        after = place + size + header[3]
        if after > stop:
            raise damaged()
        spans.append((place, after))
        statistics += [header[kind][at] for kind, at in ((5, 5), (8, 8)) if at in header.get(kind, {})]
        body, codec = data[place + size : after], about.get(4, 0)
        if 7 in header:
            pages.behind += bool(has_surplus(body, codec))
            yield from _plain_values(unpacked(body, codec, header[2]), about[1], leaf.length, header[7][1])
        elif 5 in header or 8 in header:
            pages.look(body, header, codec, leaf)
        place = after


def _header(data: mmap.mmap, place: int, stop: int) -> tuple[Fields, int]:
    """Returns the header of a page, and how long it is."""
    room = HEADER_BYTES
    while True:
        reader = CompactReader(data[place : min(stop, place + room)])
        try:
            return reader.fields(), reader.place
        except BadData:
            if room >= min(stop - place, LONGEST_HEADER):
                raise
        room *= 16


def _repeated_header(data: mmap.mmap, about: Fields, spans: list[Span]) -> None:
    """Some writers repeat what the footer says of a column behind its pages: the same, or stray bytes."""
    place = _begin(about) + about[7]
    reader = CompactReader(data[place : place + HEADER_BYTES])
    try:
        again = reader.fields()
    except BadData:
        return
    if again and all(about.get(key) == value for key, value in again.items()):
        spans.append((place, place + reader.place))


def _begin(about: Fields) -> int:
    """Returns where the first page of a chunk stands."""
    return int(min(offset for offset in (about.get(11), about[9]) if offset))


def _extremes(statistics: list[Fields]) -> tuple[set[bytes], set[bytes]]:
    """Returns the lowest and the highest values that statistics name, by their old and new fields."""
    low = {some[key] for some in statistics for key in (2, 6) if key in some}
    high = {some[key] for some in statistics for key in (1, 5) if key in some}
    return low, high


def _plain_values(page: bytes, physical: int, length: int, count: int) -> Iterator[bytes]:
    """Yields the values of a dictionary page, and whatever stands behind the last of them, too."""
    width = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 7: length}.get(physical)
    place = 0
    for _ in range(count):
        size = width
        if size is None:
            size = int.from_bytes(page[place : place + 4], "little")
            place += 4
        if place + size > len(page):
            raise damaged()
        yield page[place : place + size]
        place += size
    if page[place:].strip(b"\0"):
        yield page[place:]


def _stray(data: mmap.mmap, spans: list[Span]) -> int:
    """Returns how many bytes stand in no span; zeros are padding."""
    stray = reached = 0
    for begin, stop in sorted(spans):
        if begin > reached:
            stray += len(data[reached:begin].strip(b"\0"))
        reached = max(reached, stop)
    return stray
