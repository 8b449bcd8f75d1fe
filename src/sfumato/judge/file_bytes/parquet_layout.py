"""The layout of a Parquet file: which bytes belong to which column, and what its headers claim of values."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
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

DEEPEST_SCHEMA = 500
"""Records stand in each other no deeper than that."""
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
        version_2 = header.maybe(8, Fields)
        levels = version_2.count(5) + version_2.count(6) if version_2 is not None else 0
        packed = codec if version_2 is None or version_2.one(7, bool, default=True) else 0
        values = unpacked(body[levels:], packed, header.count(2) - levels) if len(body) > levels else b""
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
        leaves = dict(_leaves(whole.several(2, Fields)))
        chunks = [
            _chunk(data, column, number, leaves, spans)
            for number, group in enumerate(whole.several(4, Fields, []))
            for column in group.several(1, Fields)
        ]
        notes = tuple((pair.one(1, bytes), pair.one(2, bytes, b"")) for pair in whole.several(5, Fields, []))
        made_by = whole.one(6, bytes, b"").decode("utf-8", "replace")
        return ParquetLayout(tuple(chunks), notes, made_by, _stray(data, spans))


@contextmanager
def _bytes_of(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file:
        if not file.seek(0, 2):
            raise damaged()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


@dataclass
class _Group:
    """A record of the schema: its path, the levels down to it, and how many of its fields are to come."""

    path: tuple[str, ...]
    optional: int
    repeated: int
    left: int


def _leaves(nodes: Sequence[Fields]) -> Iterator[tuple[tuple[str, ...], LeafColumn]]:
    """Yields the path of every leaf of the schema, whose nodes stand in preorder, and what its pages hold."""
    if not nodes:
        raise damaged()
    open_groups = [_Group((), 0, 0, nodes[0].count(5, 0))]
    for node in nodes[1:]:
        while open_groups and not open_groups[-1].left:
            open_groups.pop()
        if not open_groups:
            return
        above = open_groups[-1]
        above.left -= 1
        path, kind = (*above.path, node.one(4, bytes).decode("utf-8", "replace")), node.one(3, int, 0)
        optional, repeated = above.optional + (kind > 0), above.repeated + (kind == REPEATED)
        if len(path) > DEEPEST_SCHEMA:
            raise damaged()
        if fields := node.count(5, 0):
            open_groups.append(_Group(path, optional, repeated, fields))
        else:
            yield path, LeafColumn(node.one(1, int, 0), node.count(2, 0), optional, repeated)
    if any(group.left for group in open_groups):
        raise damaged()


def _chunk(
    data: mmap.mmap,
    column: Fields,
    row_group: int,
    leaves: dict[tuple[str, ...], LeafColumn],
    spans: list[Span],
) -> ColumnChunk:
    about = column.one(3, Fields)
    path = tuple(name.decode("utf-8", "replace") for name in about.several(3, bytes))
    if 1 in column or path not in leaves:  # in another file, or of no column
        raise damaged()
    statistics = [about.one(12, Fields)] if 12 in about else []
    leaf, pages = leaves[path], PageBytes()
    entries = tuple(_pages(data, about, leaf, spans, statistics, pages))
    low, high = _extremes(statistics)
    for offset, size in ((4, 5), (6, 7)):
        if begin := column.count(offset, 0):
            span = (begin, begin + column.count(size, 0))
            spans.append(span)
            if offset == 6:
                index = CompactReader(data[slice(*span)]).fields()
                shown = [not empty for empty in index.several(1, bool, [])]
                for found, number in ((low, 2), (high, 3)):
                    bounds = index.several(number, bytes, [])
                    found |= {bound for bound, is_shown in zip(bounds, shown, strict=False) if is_shown}
    bloom_filter = about.count(14, 0)
    if bloom_filter:
        spans.append((bloom_filter, bloom_filter + about.count(15, 0)))
    _repeated_header(data, about, spans)
    whole = about.one(12, Fields, Fields())
    claims = Claims(entries, frozenset(low), frozenset(high), whole.maybe(3, int), whole.maybe(4, int))
    notes = len(about.several(8, Fields, []))
    physical = about.one(1, int)
    return ColumnChunk(path, physical, leaf.length, row_group, claims, notes, bool(bloom_filter), pages)


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
    physical, codec = about.one(1, int), about.one(4, int, 0)
    place = _begin(about)
    stop = place + about.count(7)
    while place < stop:
        header, size = _header(data, place, stop)
        after = place + size + header.count(3)
        if after > stop:
            raise damaged()
        spans.append((place, after))
        for kind, at in ((5, 5), (8, 8)):
            page = header.one(kind, Fields, Fields())
            statistics += [page.one(at, Fields)] if at in page else []
        body = data[place + size : after]
        if 7 in header:
            pages.behind += bool(has_surplus(body, codec))
            entries = header.one(7, Fields).count(1)
            yield from _plain_values(unpacked(body, codec, header.count(2)), physical, leaf.length, entries)
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
    place = _begin(about) + about.count(7)
    reader = CompactReader(data[place : place + HEADER_BYTES])
    try:
        again = reader.fields()
    except BadData:
        return
    if again and all(about.get(key) == value for key, value in again.items()):
        spans.append((place, place + reader.place))


def _begin(about: Fields) -> int:
    """Returns where the first page of a chunk stands."""
    offsets = [offset for offset in (about.count(11, 0), about.count(9)) if offset]
    if not offsets:
        raise damaged()
    return min(offsets)


def _extremes(statistics: list[Fields]) -> tuple[set[bytes], set[bytes]]:
    """Returns the lowest and the highest values that statistics name, by their old and new fields."""
    low = {some.one(key, bytes) for some in statistics for key in (2, 6) if key in some}
    high = {some.one(key, bytes) for some in statistics for key in (1, 5) if key in some}
    return low, high


def _plain_values(page: bytes, physical: int, length: int, count: int) -> Iterator[bytes]:
    """Yields the values of a dictionary page, and whatever stands behind the last of them, too."""
    width = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 7: length}.get(physical)
    if width == 0:
        raise damaged()
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
