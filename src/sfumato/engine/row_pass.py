"""The pass over the rows that every source goes through: cells become packed keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.microdata import Counts
from sfumato.core.packing import Packing, Words
from sfumato.core.progress import Progress
from sfumato.engine.dictionary import Dictionary, check_values
from sfumato.engine.spill.folder import Spill
from sfumato.engine.spill.row_buffer import Chunk, Equivalence, NumberTable, RowBuffer, on_own_pages, repacked
from sfumato.engine.text import comparable
from sfumato.system.memory import Memory


class WronglyMerged(Exception):
    """Values that were merged while rows came in turned out to differ: the rows have to be read again."""


@dataclass(frozen=True, eq=False)
class GatheredRows:
    """All rows of some columns, packed as numbers of their dictionaries.

    Dictionaries grow while rows come in, so every chunk has a packing of its own, as narrow as the
    dictionaries were at that moment. `same` says which numbers were merged.
    """

    dictionaries: tuple[Dictionary, ...]
    chunks: list[Chunk]
    rows: int
    dropped: int
    same: Sequence[NumberTable | None] = ()

    def repack(
        self, tables: Sequence[NDArray[np.integer]], sizes: Sequence[int]
    ) -> tuple[Packing, Words, Counts | None]:
        """New keys: column i is what `tables[i]` has for its numbers; how often each row occurs, unless once.

        Uses up the chunks.
        """
        for table, same in zip(tables, self.same, strict=False):
            if same is not None and not np.array_equal(table[: len(same)], table[same]):
                raise WronglyMerged
        packing = Packing(tuple(sizes))
        return packing, *repacked(self.chunks, packing, tables)

    def blocks(
        self,
        packing: Packing,
        tables: Sequence[NDArray[np.integer]],
        columns: Sequence[int],
        rows: int,
    ) -> Iterator[tuple[Words, Counts | None]]:
        """The same, about `rows` at a time; column i comes from column `columns[i]`."""
        chunks = self.chunks
        while chunks:
            some, length = [], 0
            while chunks and length < rows:
                chunk = chunks.pop()
                if chunk.length > rows:
                    parts = range(0, chunk.length, rows)
                    chunks += [chunk.part(start, start + rows) for start in parts]
                    chunk = chunks.pop()
                some.append(chunk)
                length += chunk.length
            yield repacked(some, packing, tables, columns)


def gather(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    names: Sequence[str],
    *,
    required: Sequence[str] = (),
    each: Sequence[int],
    phase: str,
    progress: Progress,
    total: int | None = None,
    memory: Memory | None = None,
    equivalence: Equivalence | None = None,
    spill: Spill | None = None,
) -> GatheredRows:
    """All rows, read once. Rows that lack a cell in a `required` column are left out and counted.

    `memory`, `equivalence` and `spill` say what happens where rows are too many to be held: see `RowBuffer`.
    `each` says how many bytes a value of each column takes later on: values that would be too many end the
    call.
    """
    dictionaries = tuple(Dictionary(name, schema.field(name).type) for name in names)
    memory = memory or Memory()
    buffer = RowBuffer(dictionaries, memory, equivalence, spill)
    rows = dropped = 0
    keep = complete_rows(required)
    for batch in batches:
        kept = keep(batch)
        dropped += len(batch) - len(kept)
        if len(kept) == 0:
            continue
        cells = [d.look_up(kept.column(d.name)) for d in dictionaries]
        rows += len(kept)
        check_values(dictionaries, each, memory, rows=rows + dropped)
        packing = Packing(tuple(d.size for d in dictionaries))
        words = on_own_pages((packing.words, len(kept)), np.dtype(np.int64))
        for (numbers, index), (word, shift, _) in zip(cells, packing.places, strict=True):
            words[word] |= (numbers << shift).take(index)
        buffer.add(packing, words)
        progress(phase, rows + dropped, None if total is None else max(total, rows + dropped))
    progress(phase, rows + dropped, rows + dropped)
    pa.default_memory_pool().release_unused()
    return GatheredRows(dictionaries, buffer.chunks, rows, dropped, buffer.same)


def complete_rows(required: Sequence[str]) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A filter that drops the rows with a missing cell in one of these columns."""

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        mask = None
        for name in required:
            cells = comparable(batch.column(name), name)
            valid = cells.is_valid()
            if pa.types.is_dictionary(cells.type) and cells.dictionary.null_count:
                valid = cells.dictionary_decode().is_valid()
            if valid.false_count:
                mask = valid if mask is None else pc.and_(mask, valid)
        return batch if mask is None else batch.filter(mask)

    return keep
