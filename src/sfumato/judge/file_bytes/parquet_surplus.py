"""What a Parquet file tells beyond its rows: notes, values that no row has, bytes that no reader reads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import BadData
from sfumato.judge.file_bytes.parquet_layout import ColumnChunk, ParquetLayout, layout_of
from sfumato.judge.file_bytes.plain_values import plain_values
from sfumato.judge.tables.parquet import is_harmless, parts_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

WRITER = re.compile(r"[A-Za-z0-9 .,:+/()_-]{0,120}")
"""What the name of the program that wrote a file looks like."""


@dataclass(frozen=True)
class Surplus:
    """Something that the bytes of a file tell and its rows do not, in a sentence without values.

    `certain` is False where it could not be found out, or may be harmless.
    """

    sentence: str
    columns: tuple[str, ...] = ()
    certain: bool = True


def parquet_surplus(path: Path) -> tuple[Surplus, ...]:
    """Returns what a Parquet file, or the parts of a folder, tell beyond their rows.

    Raises `BadData` where the file cannot be read. Inside a page, what stands behind its last value is looked
    at where values are written plainly or by a dictionary; otherwise it is said that nobody looked.
    """
    return tuple(dict.fromkeys(some for part in parts_of(path) for some in _of_part(part)))


def _of_part(part: Path) -> Iterator[Surplus]:
    import pyarrow as pa  # noqa: PLC0415  # heavy
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    layout = layout_of(part)
    columns = tuple(dict.fromkeys(chunk.path[0] for chunk in layout.chunks))
    yield from _notes(layout, columns)
    if layout.stray:
        yield Surplus(f"{layout.stray:,} bytes of the file belong to no column")
    yield from _behind_values(layout.chunks)
    if twice := tuple(dict.fromkeys(chunk.path[0] for chunk in layout.chunks if _has_twice(chunk))):
        yield Surplus("a dictionary holds a value twice, so that equal cells can be told apart", twice)
    try:
        # Dictionaries stay what they are: one long value in many rows takes the room of one.
        texts = [field.name for field in pq.read_schema(part) if _is_text(field.type)]
        with pq.ParquetFile(part, read_dictionary=texts) as file:
            yield from _claims(file, layout.chunks)
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # the last of names
        raise BadData("the file cannot be read as Parquet", where=part.name) from None


def _notes(layout: ParquetLayout, columns: Sequence[str]) -> Iterator[Surplus]:
    extra = sum(not is_harmless(key, value, columns) for key, value in layout.notes)
    if extra:
        notes = "a note" if extra == 1 else f"{extra} notes"
        yield Surplus(f"the file carries {notes} besides its columns", certain=False)
    if not WRITER.fullmatch(layout.made_by):
        yield Surplus("the name of the file's writer is none", certain=False)
    if noted := tuple(dict.fromkeys(chunk.path[0] for chunk in layout.chunks if chunk.notes)):
        yield Surplus("notes stand beside columns", noted)
    if filtered := tuple(dict.fromkeys(chunk.path[0] for chunk in layout.chunks if chunk.has_bloom_filter)):
        yield Surplus("a filter tells which values a column may hold", filtered, certain=False)


def _behind_values(chunks: Sequence[ColumnChunk]) -> Iterator[Surplus]:
    """Says where bytes stand in pages that no reader reads, and where that could not be found out."""
    hidden = tuple(dict.fromkeys(chunk.path[0] for chunk in chunks if chunk.pages.behind))
    if hidden:
        yield Surplus("bytes stand in pages behind the last value", hidden)
    unknown = tuple(dict.fromkeys(chunk.path[0] for chunk in chunks if chunk.pages.unknown))
    if unknown:
        yield Surplus("what stands in pages behind the last value could not be told", unknown, certain=False)


def _has_twice(chunk: ColumnChunk) -> bool:
    """Whether cells of one value may be written as different numbers."""
    return len(set(chunk.claims.entries)) < len(chunk.claims.entries)


def _claims(file: pq.ParquetFile, chunks: Sequence[ColumnChunk]) -> Iterator[Surplus]:
    """Compares what headers claim of values with the values of the rows, column by column."""
    by_path: dict[tuple[str, ...], list[ColumnChunk]] = defaultdict(list)
    for chunk in chunks:
        by_path[chunk.path].append(chunk)
    unused, foreign, miscounted, unknown = [], [], [], []
    for path, some in by_path.items():
        held = _Held(file, path, some)
        name = path[0]
        if held.unknown:
            unknown.append(name)
            continue
        unused += [name] * bool(held.lacking("entries"))
        foreign += [name] * bool(held.lacking("low") or held.lacking("high"))
        miscounted += [name] * held.miscounted
    for names, sentence, certain in (
        (unused, "a dictionary holds values that no row has", True),
        (foreign, "statistics name values that no row has", True),
        (miscounted, "statistics count other cells than there are", True),
        (unknown, "what headers say of a column could not be compared with its cells", False),
    ):
        if names:
            yield Surplus(sentence, tuple(dict.fromkeys(names)), certain)


class _Held:
    """The claims about one column that its cells do not bear out; one row group is held at a time.

    How many different values there are is an estimate where DuckDB wrote the file: only more than there are
    cells is no count of theirs.
    """

    def __init__(self, file: pq.ParquetFile, path: tuple[str, ...], chunks: Sequence[ColumnChunk]) -> None:
        self._left = {
            "entries": set[bytes]().union(*(chunk.claims.entries for chunk in chunks)),
            "low": set[bytes]().union(*(chunk.claims.low for chunk in chunks)),
            "high": set[bytes]().union(*(chunk.claims.high for chunk in chunks)),
        }
        self.unknown = self.miscounted = False
        for chunk in chunks:
            cells = _cells(file, chunk.row_group, path)
            found = None if cells is None else plain_values(_used(cells), chunk.physical, chunk.length)
            if cells is None or found is None:
                self.unknown = any(self._left.values())
                return
            if len(path) == 1:
                self.miscounted |= chunk.claims.nulls not in (None, cells.null_count)
                self.miscounted |= (chunk.claims.distinct or 0) > max(len(cells), len(found))
            self._settle(found)

    def lacking(self, which: str) -> set[bytes]:
        return self._left[which]

    def _settle(self, found: set[bytes]) -> None:
        for which, left in self._left.items():
            left.difference_update(found)
            if left and which in SHORTENED:
                left.difference_update(shortened(left, found, SHORTENED[which]))


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa  # noqa: PLC0415  # heavy

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _used(cells: pa.Array) -> pa.Array:
    """Returns the values that cells have; of a dictionary, those that some cell refers to."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    if not pa.types.is_dictionary(cells.type):
        return cells
    return cells.dictionary.take(cells.indices.unique().drop_null())


def shortened(
    claims: set[bytes], values: set[bytes], beginnings: Callable[[bytes], Iterable[bytes]]
) -> set[bytes]:
    """Returns the claims that are bounds cut short of some value: one that has one of their beginnings."""
    asked = {claim: tuple(beginnings(claim)) for claim in claims}
    lengths = {len(beginning) for each in asked.values() for beginning in each}
    there = {value[:length] for length in lengths for value in values}
    return {claim for claim, each in asked.items() if not there.isdisjoint(each)}


def of_lower_bound(claim: bytes) -> Iterator[bytes]:
    """Yields how a value begins of which this is a lower bound."""
    yield claim


def of_upper_bound(claim: bytes) -> Iterator[bytes]:
    """Yields how a value begins of which this is an upper bound: its last byte or letter is one lower."""
    if not claim:
        return
    yield claim[:-1] + bytes([max(claim[-1] - 1, 0)])
    with suppress(UnicodeError):  # no letters
        text = claim.decode()
        yield (text[:-1] + chr(max(ord(text[-1]) - 1, 0))).encode()


SHORTENED = {"low": of_lower_bound, "high": of_upper_bound}
"""Bounds that writers cut short, and how values begin that are within them."""


def _cells(file: pq.ParquetFile, row_group: int, path: tuple[str, ...]) -> pa.Array | None:
    """Returns the cells of a column, or of the lists in it; `None` for records."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    kind = file.schema_arrow.field(path[0]).type
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return None
    table = file.read_row_group(row_group, columns=[path[0]])
    whole = table.column(table.schema.get_field_index(path[0])).combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
