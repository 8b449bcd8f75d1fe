"""A glance: a survey of the first rows alone, for columns with too many values to list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sfumato.engine.rows import RowSource
from sfumato.engine.source import Source
from sfumato.engine.survey import Survey
from sfumato.engine.survey_pass import survey

ROWS = 10_000


def glance(source: Source, names: Sequence[str], *, rows: int = ROWS) -> Survey | None:
    """Survey these columns over the first rows; `None` if the source cannot hand out its rows."""
    if not isinstance(source, RowSource):
        return None
    return survey(_first(source.reader.batches(list(names)), rows), source.reader.schema, names)


def _first(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    left = rows
    for batch in batches:
        yield batch.slice(0, left)
        left -= len(batch)
        if left <= 0:
            return
