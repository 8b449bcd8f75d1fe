"""Published rows in the order of the source, with its index: for the owner, not to be handed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from math import isfinite
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.errors import BadData, UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.cell_text import safe_name
from sfumato.table.form_of_source import RowSource, first_reader
from sfumato.table.published_texts import numeric_ends
from sfumato.table.reader import NumberedReader
from sfumato.table.recoding import Recoding
from sfumato.table.source import AnyTable, Source, open_source
from sfumato.table.taxonomy import ANY

IN_MEMORY = ("pandas", "polars", "pyarrow")
"""Kinds of tables whose rows have an order that can be kept."""


@dataclass(eq=False)
class InOrderReader(NumberedReader):
    """A reader whose rows carry their number, and which puts published ones back in order."""

    def native(self, table: pa.Table) -> Any:  # the reader's kind
        numbers = table.column(self.number)
        order = pc.sort_indices(numbers)
        frame = self.reader.native(table.drop_columns([self.number]).take(order))
        if self.kind == "pandas":
            index = first_reader(self.reader).frame.index  # type: ignore[attr-defined]  # the only kind that has one
            return frame.set_axis(index[numbers.take(order).to_numpy()], axis=0)
        return frame


def recode_in_order(
    source: Source, recoding: Recoding, *, drop: Sequence[str] = (), progress: Progress = silent
) -> Any:  # the source's kind
    """Returns the published rows in the order of the source, of its kind; a pandas frame keeps its index."""
    if not isinstance(source, RowSource) or source.kind not in IN_MEMORY:
        raise UsageError(
            f"rows of a {source.kind} table have no index to keep",
            remedy="Hand in a pandas, Polars (eager) or PyArrow table.",
        )
    taken = set(source.columns)
    name = next(name for i in count() if (name := f"row number {i}") not in taken)
    return RowSource(InOrderReader(source.reader, name), source.memory).recode(
        recoding, drop=drop, progress=progress
    )


# Intervals as numbers: the texts of a published table, read as middles or as ends.

Ends = tuple[float, float, bool]


class IntervalForm(StrEnum):
    """What an interval becomes."""

    MIDPOINT = "midpoint"
    """The middle of it: of whole numbers that of the numbers themselves."""
    BOUNDS = "bounds"
    """Two columns: the first number, and the first that is beyond."""


def numbers_of_intervals(
    table: AnyTable, form: IntervalForm, columns: Sequence[str] | None
) -> Any:  # a table of the caller's kind
    """Returns the table with numbers instead of the texts of intervals; see `sf.as_numbers`."""
    frame: nw.DataFrame[Any] = nw.from_native(_eager(table), eager_only=True)
    wanted = list(frame.columns) if columns is None else list(columns)
    for name in wanted:
        if name not in frame.columns:
            raise BadData(f"the table has no column {safe_name(name)}")
        ends = _ends_by_text(frame[name])
        if ends is None:
            if columns is not None:
                raise BadData(
                    f"column {safe_name(name)} holds texts that are neither numbers nor intervals of them",
                    remedy="Leave it out: it stays as it is.",
                )
            continue
        frame = _replaced(frame, name, ends, form)
    return frame.to_native()


def _eager(table: AnyTable) -> object:
    """Returns a table in memory: a file as a PyArrow table, a query as its result."""
    source = open_source(table)
    if not isinstance(source, RowSource):
        raise UsageError(
            f"a {source.kind} table is not read into memory here", remedy="Hand in a part of it."
        )
    if source.kind in ("pandas", "polars", "pyarrow"):
        return table
    batches = list(source.reader.batches(source.columns))
    return pa.Table.from_batches(batches) if batches else source.reader.schema.empty_table()


def _ends_by_text(cells: nw.Series[Any]) -> dict[str, Ends | None] | None:
    """Returns the ends of every text of a column; nothing unless it holds an interval and only such texts."""
    if cells.dtype not in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return None
    texts = [text for text in cells.cast(nw.String).unique().to_list() if isinstance(text, str)]
    ends = {text: numeric_ends(text) for text in texts}
    if any(pair is None and text.strip(ANY) for text, pair in ends.items()):
        return None
    return ends if any(pair is not None and pair[0] != pair[1] for pair in ends.values()) else None


def _replaced(
    frame: nw.DataFrame[Any], name: str, ends: dict[str, Ends | None], form: IntervalForm
) -> nw.DataFrame[Any]:
    """Returns the table with one column, or two, in the place of another."""
    columns = COLUMNS[form](name, ends)
    if taken := (set(columns) - {name}) & set(frame.columns):
        raise BadData(f"the table has a column {safe_name(min(taken))} already")
    old, new = list(ends), []
    for named, numbers in columns.items():
        texts = frame[name].cast(nw.String)
        new.append(texts.replace_strict(old, numbers, return_dtype=nw.Float64).alias(named))
    at = frame.columns.index(name)
    order = [*frame.columns[:at], *columns, *frame.columns[at + 1 :]]
    return frame.with_columns(*new).select(*order)


def _middles(name: str, ends: dict[str, Ends | None]) -> dict[str, list[float | None]]:
    whole = _is_whole(ends)
    return {name: [_middle(pair, whole=whole) for pair in ends.values()]}


def _bounds(name: str, ends: dict[str, Ends | None]) -> dict[str, list[float | None]]:
    whole = _is_whole(ends)
    return {
        f"{name}_from": [_finite(None if pair is None else pair[0]) for pair in ends.values()],
        f"{name}_to": [_beyond(pair, whole=whole) for pair in ends.values()],
    }


COLUMNS = {IntervalForm.MIDPOINT: _middles, IntervalForm.BOUNDS: _bounds}
"""What each form makes of a column: names, and a number for each text."""


def _is_whole(ends: dict[str, Ends | None]) -> bool:
    """Whether all ends are whole numbers."""
    return all(end == int(end) for pair in ends.values() if pair for end in pair[:2] if isfinite(end))


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None


def _beyond(pair: Ends | None, *, whole: bool) -> float | None:
    """Returns the first number beyond an interval of whole numbers, or its upper end."""
    last = _finite(None if pair is None else pair[1])
    return last + 1 if last is not None and pair is not None and pair[2] and whole else last


def _middle(pair: Ends | None, *, whole: bool) -> float | None:
    if pair is None or not (isfinite(pair[0]) and isfinite(pair[1])):
        return None
    first, last, closed = pair
    return (first + (last - 1 if whole and not closed else last)) / 2
