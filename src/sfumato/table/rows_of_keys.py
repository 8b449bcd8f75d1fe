"""Where in a table certain keys stand, so that somebody can delete these rows, and what stands in rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.errors import UsageError
from sfumato.table.cell_text import canonical
from sfumato.table.form_of_source import RowSource
from sfumato.table.source import Source
from sfumato.table.taxonomy import Label


def rows_of_keys(source: Source, column: str, keys: Sequence[str]) -> list[int] | None:
    """Returns the numbers of the rows, from 1, in which a column holds one of the keys.

    `None` where the source does not hand out its rows in an order.
    """
    if not isinstance(source, RowSource):
        return None
    numbers, before = list[int](), 0
    for batch in source.reader.batches([column]):
        texts = canonical(batch.column(0), column)
        texts = texts.dictionary_decode() if pa.types.is_dictionary(texts.type) else texts
        hits = pc.indices_nonzero(pc.is_in(texts, value_set=pa.array(keys, texts.type)))
        numbers += [before + 1 + row for row in hits.to_pylist()]
        before += batch.num_rows
    return numbers


def texts_of_rows(source: Source, columns: Sequence[str], rows: Sequence[int]) -> list[tuple[Label, ...]]:
    """Returns what some columns hold in the rows of these numbers, from 1, in the order of the table.

    Raises `UsageError` where the table has no such row, or hands out its rows in no order.
    """
    if not isinstance(source, RowSource):
        raise UsageError("this table hands out its rows in no order", remedy="Name people by their keys.")
    wanted, cells, before = sorted(set(rows)), list[tuple[Label, ...]](), 0
    for batch in source.reader.batches(list(columns)):
        here = [row - before - 1 for row in wanted if before < row <= before + batch.num_rows]
        if here:
            chosen = batch.take(pa.array(here))
            texts = [canonical(chosen.column(name), name).to_pylist() for name in columns]
            cells += zip(*texts, strict=True)
        before += batch.num_rows
    if len(cells) != len(wanted) or not wanted:
        raise UsageError(
            f"{len(wanted) - len(cells)} of {len(wanted)} rows are not in the table",
            remedy="Number rows from 1, without the header.",
        )
    return cells
