"""Where in a table certain keys stand, so that somebody can delete these rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.rows import RowSource
from sfumato.engine.source import Source
from sfumato.engine.text import canonical


def rows_of_keys(source: Source, column: str, keys: Sequence[str]) -> list[int] | None:
    """Returns the numbers of the rows, from 1, in which a column holds one of the keys.

    `None` where the source does not hand out its rows in an order.
    """
    if not isinstance(source, RowSource):
        return None
    found, before = list[int](), 0
    for batch in source.reader.batches([column]):
        texts = canonical(batch.column(0), column)
        texts = texts.dictionary_decode() if pa.types.is_dictionary(texts.type) else texts
        hits = pc.indices_nonzero(pc.is_in(texts, value_set=pa.array(keys, texts.type)))
        found += [before + 1 + row for row in hits.to_pylist()]
        before += batch.num_rows
    return found
