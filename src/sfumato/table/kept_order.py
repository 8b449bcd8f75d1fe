"""Published rows in the order of the source, with its index: for the owner, not to be handed on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.core.recoding import Recoding
from sfumato.engine.form_of_source import first_reader
from sfumato.engine.reader import PassingReader
from sfumato.engine.rows import RowSource
from sfumato.engine.source import Source

IN_MEMORY = ("pandas", "polars", "pyarrow")
"""Kinds of tables whose rows have an order that can be kept."""


@dataclass(eq=False)
class NumberedReader(PassingReader):
    """A reader whose rows carry their number in one more column; published ones are put back in order."""

    @cached_property
    def number(self) -> str:
        """A name that no column has."""
        taken = set(self.reader.schema.names)
        return next(name for i in count() if (name := f"row number {i}") not in taken)

    @cached_property
    def schema(self) -> pa.Schema:
        return self.reader.schema.append(pa.field(self.number, pa.int64()))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        own = [name for name in names if name != self.number]
        done = 0
        for batch in self.reader.batches(own):
            rows = batch.num_rows
            columns = {name: batch.column(name) for name in own}
            if self.number in names:
                columns[self.number] = pa.array(np.arange(done, done + rows, dtype=np.int64))
            yield pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))
            done += rows

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
        raise WrongCall(
            f"rows of a {source.kind} table have no index to keep",
            remedy="Hand in a pandas, Polars (eager) or PyArrow table.",
        )
    return RowSource(NumberedReader(source.reader), source.memory).recode(
        recoding, drop=drop, progress=progress
    )
