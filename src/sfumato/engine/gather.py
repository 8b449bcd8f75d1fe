"""Rows become packed keys: the one pass that every source goes through."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.engine.dictionary import Dictionary
from sfumato.engine.text import plain
from sfumato.terms.packing import Packing, Words
from sfumato.terms.progress import Progress


@dataclass(frozen=True, eq=False)
class Gathered:
    """All rows of some columns, as packed numbers of their dictionaries.

    Dictionaries grow while rows come in, so every chunk has a packing of its own, as narrow as the
    dictionaries were at that moment.
    """

    dictionaries: tuple[Dictionary, ...]
    chunks: list[tuple[Packing, Words]]
    rows: int
    dropped: int

    def repack(
        self,
        tables: Sequence[NDArray[np.integer]],
        sizes: Sequence[int],
        *,
        columns: Sequence[int] | None = None,
    ) -> tuple[Packing, Words]:
        """New keys: column i is what `tables[i]` has for the numbers of column `columns[i]` (by default i).

        Uses up the chunks.
        """
        columns = range(len(tables)) if columns is None else columns
        packing = Packing(tuple(sizes))
        packed = np.zeros((packing.words, self.rows), np.int64)
        moved = [t.astype(np.int64) << shift for t, (_, shift, _) in zip(tables, packing.places, strict=True)]
        end = self.rows
        while self.chunks:
            before, words = self.chunks.pop()
            start = end - words.shape[1]
            for j, table, (word, _, _) in zip(columns, moved, packing.places, strict=True):
                packed[word, start:end] |= table.take(_numbers(before, words, j))
            end = start
        return packing, packed


def _on_own_pages(words: Words) -> Words:
    """A copy whose memory goes back to the system as soon as it is given up."""
    pages = np.ndarray(words.shape, np.int64, buffer=mmap.mmap(-1, max(1, words.nbytes)))
    pages[:] = words
    return pages


def _numbers(packing: Packing, words: Words, column: int) -> NDArray[np.int64]:
    word, shift, bits = packing.places[column]
    numbers: NDArray[np.int64] = words[word] >> shift
    numbers &= (1 << bits) - 1
    return numbers


def gather(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    names: Sequence[str],
    *,
    whole: Sequence[str] = (),
    phase: str,
    progress: Progress,
    total: int | None = None,
) -> Gathered:
    """Read all rows once. Rows with a missing cell in one of the columns `whole` are left out and counted."""
    dictionaries = tuple(Dictionary(name, schema.field(name).type) for name in names)
    chunks: list[tuple[Packing, Words]] = []
    rows = dropped = 0
    keep = complete_rows(whole)
    for batch in batches:
        kept = keep(batch)
        dropped += len(batch) - len(kept)
        if len(kept) == 0:
            continue
        codes = [d.encode(kept.column(d.name)) for d in dictionaries]
        packing = Packing(tuple(d.size for d in dictionaries))
        words = packing.pack(codes) if codes else np.zeros((1, len(kept)), np.int64)
        chunks.append((packing, _on_own_pages(words)))
        rows += len(kept)
        progress(phase, rows + dropped, total)
    pa.default_memory_pool().release_unused()
    return Gathered(dictionaries, chunks, rows, dropped)


def complete_rows(whole: Sequence[str]) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A filter that drops the rows with a missing cell in one of these columns."""

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        mask = None
        for name in whole:
            cells = plain(batch.column(name), name)
            valid = cells.is_valid()
            if hasattr(cells, "dictionary") and cells.dictionary.null_count:
                valid = cells.dictionary_decode().is_valid()
            if valid.false_count:
                mask = valid if mask is None else pc.and_(mask, valid)
        return batch if mask is None else batch.filter(mask)

    return keep
