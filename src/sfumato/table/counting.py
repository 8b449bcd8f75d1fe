"""The count of a table: its rows as microdata, distinct rows of leaf ranks with counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.system.errors import BadData, BadTaxonomy, SfumatoError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress
from sfumato.table.arrow_arrays import to_numpy
from sfumato.table.cell_text import canonical, comparable, safe_name
from sfumato.table.dictionary import Dictionary, check_values
from sfumato.table.microdata import (
    ROW_NUMBER,
    Coding,
    Column,
    Counts,
    Microdata,
    Missing,
    Packing,
    Words,
    sort_and_count,
)
from sfumato.table.reader import Reader
from sfumato.table.spill import (
    Chunk,
    Equivalence,
    NumberTable,
    RowBuffer,
    Spill,
    first_of_each,
    on_own_pages,
    repacked,
)
from sfumato.table.taxonomy import Label, Taxonomy

# The pass over the rows that every source goes through: cells become packed keys.


class WronglyMerged(Exception):
    """Values that were merged while rows came in turned out to differ: the rows have to be read again."""


@dataclass(frozen=True, eq=False)
class GatheredRows:
    """All rows of some columns, packed as numbers of their dictionaries.

    Dictionaries grow while rows come in, so every chunk has a packing of its own, as narrow as the
    dictionaries were at that moment. `merged` says which numbers were.
    """

    dictionaries: tuple[Dictionary, ...]
    chunks: list[Chunk]
    rows: int
    dropped: int
    merged: Sequence[NumberTable | None] = ()

    def repack(
        self, tables: Sequence[NDArray[np.integer]], sizes: Sequence[int]
    ) -> tuple[Packing, Words, Counts | None]:
        """New keys: column i is what `tables[i]` has for its numbers; how often each row occurs, unless once.

        Uses up the chunks.
        """
        for table, merged in zip(tables, self.merged, strict=False):
            if merged is not None and not np.array_equal(table[: len(merged)], table[merged]):
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
            block, length = [], 0
            while chunks and length < rows:
                chunk = chunks.pop()
                if chunk.length > rows:
                    parts = range(0, chunk.length, rows)
                    chunks += [chunk.part(start, start + rows) for start in parts]
                    chunk = chunks.pop()
                block.append(chunk)
                length += chunk.length
            yield repacked(block, packing, tables, columns)


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
        complete = keep(batch)
        dropped += len(batch) - len(complete)
        if len(complete) == 0:
            continue
        cells = [d.look_up(complete.column(d.name)) for d in dictionaries]
        rows += len(complete)
        check_values(dictionaries, each, memory, rows=rows + dropped)
        packing = Packing(tuple(d.size for d in dictionaries))
        words = on_own_pages((packing.words, len(complete)), np.dtype(np.int64))
        for (numbers, index), (word, shift, _) in zip(cells, packing.places, strict=True):
            words[word] |= (numbers << shift).take(index)
        buffer.add(packing, words)
        progress(phase, rows + dropped, None if total is None else max(total, rows + dropped))
    progress(phase, rows + dropped, rows + dropped)
    pa.default_memory_pool().release_unused()
    return GatheredRows(dictionaries, buffer.chunks, rows, dropped, buffer.merged)


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


UNKNOWN = -1
"""In a table of ranks: a value that the taxonomy lacks."""


def microdata(
    gathered: GatheredRows, codings: Sequence[Coding], *, missing: Missing, person: str | None = None
) -> Microdata:
    """The rows counted as leaf ranks, of taxonomies that are built from the values that occur."""
    columns: list[Column] = []
    tables: list[NDArray[np.int64]] = []
    for coding, dictionary in zip(codings, gathered.dictionaries, strict=False):
        if missing is Missing.REFUSE and coding.role.is_key:
            refuse_missing(coding.name, dictionary.missing)
        taxonomy, table = rank_table(coding, dictionary)
        columns.append(Column(coding.name, coding.role, taxonomy, coding.form))
        tables.append(table)
    sizes = [max(1, len(c.taxonomy.leaves)) for c in columns]
    if person is not None:
        table, people = person_ranks(gathered.dictionaries[-1])
        tables.append(table)
        sizes.append(max(1, people))
    packing, packed, times = gathered.repack(tables, sizes)
    words, counts = sort_and_count(packed, times)
    return Microdata(tuple(columns), packing, words, counts, person is not None, gathered.dropped, person)


def equal_by_leaf(codings: Sequence[Coding]) -> Equivalence:
    """The equivalence of values that are coded as one leaf, as far as the values so far show."""

    def equivalence(column: int, dictionary: Dictionary) -> NumberTable | None:
        values, index = dictionary.distinct_values()
        if column >= len(codings):
            return first_of_each(index)
        texts = dictionary.texts(values)
        try:
            taxonomy = codings[column].build([*sorted(texts), *([None] if dictionary.missing else [])])
        except SfumatoError:  # raised again when all values are known
            return first_of_each(index)
        groups = leaf_ranks(taxonomy, texts)[index]
        return first_of_each(index if (groups[1:] == UNKNOWN).any() else groups)

    return equivalence


def rank_table(coding: Coding, dictionary: Dictionary) -> tuple[Taxonomy, NDArray[np.int64]]:
    """The taxonomy of a column, and the leaf rank of every number that its dictionary gave."""
    values, index = dictionary.distinct_values()
    refuse_infinite(values, coding.name)
    texts = dictionary.texts(values)
    occurring: list[Label] = [*sorted(texts), *([None] if dictionary.missing else [])]
    taxonomy = coding.build(occurring)
    ranks = leaf_ranks(taxonomy, texts)
    table = ranks[index]
    if (ranks[: len(texts) + bool(dictionary.missing)] == UNKNOWN).any():
        lacking = [label for label in occurring if taxonomy.rank(label) is None]
        raise BadTaxonomy(
            f"the taxonomy of column {safe_name(coding.name)} "
            f"lacks {len(lacking)} of {len(occurring)} values that occur",
            remedy="Add them to the taxonomy, or clean the column.",
            values=["" if label is None else label for label in lacking],
        )
    return taxonomy, np.maximum(table, 0)


def refuse_missing(name: str, cells: int) -> None:
    """Refuse a key column with missing cells."""
    if cells:
        raise BadData(
            f"column {safe_name(name)} has {cells} missing cells, and the policy refuses them",
            remedy="Fill them, or set missing to own-value or suppress.",
        )


def leaf_ranks(taxonomy: Taxonomy, texts: Sequence[str]) -> NDArray[np.int64]:
    """The rank of each text, and of a missing cell at the end; UNKNOWN where the taxonomy lacks it."""
    ranks = taxonomy.ranks
    return np.fromiter(map(ranks.get, (*texts, None), repeat(UNKNOWN)), np.int64, len(texts) + 1)


def person_ranks(dictionary: Dictionary) -> tuple[NDArray[np.int64], int]:
    """Number people by the order of their texts, so that numbers do not depend on the order of rows."""
    refuse_missing_people(dictionary.missing, dictionary.name)
    values, index = dictionary.distinct_values()
    if dictionary.name == ROW_NUMBER:
        numbers = np.append(to_numpy(values), 0)
        return numbers[index], int(numbers.max()) + 1  # rows that were left out have numbers, too
    keys = canonical(values, dictionary.name)
    refuse_keys_written_twice(keys, dictionary.name)
    order = to_numpy(pc.sort_indices(keys))
    ranks = np.zeros(len(values) + 1, np.int64)
    ranks[order] = np.arange(len(values))
    return ranks[index], len(values)


def refuse_missing_people(cells: int, name: str) -> None:
    """Refuse a person column in which so many cells are missing."""
    if cells:
        raise BadData(
            f"column {safe_name(name)} names the person, and {cells} of its cells are missing",
            remedy="Give every row a person, or leave such rows out.",
        )


def refuse_keys_written_twice(keys: pa.Array, name: str) -> None:
    """Refuse people whose keys differ in nothing but blanks around them or composed letters.

    The rule is that of `plain_key`, for a whole array.
    """
    plain = pc.utf8_trim_whitespace(pc.utf8_normalize(keys, form="NFC"))
    if not plain.equals(keys):
        refuse_further_keys(len(keys) - len(plain.unique()), name)


def refuse_further_keys(again: int, name: str) -> None:
    """Refuse so many further writings of keys in the person column."""
    if again:
        raise BadData(
            f"column {safe_name(name)} names the person, and {again} of its keys differ from others"
            " in nothing but blanks around them or composed letters",
            remedy="Write each key in one way: the same person would count as several.",
        )


def refuse_infinite(values: pa.Array, column: str) -> None:
    """Refuse infinite numbers in a column that is coded."""
    if pa.types.is_floating(values.type) and pc.any(pc.is_inf(values), min_count=0).as_py():
        raise BadData(
            f"column {safe_name(column)} holds infinite numbers", remedy="Replace them by missing cells."
        )


# Expected rows: how many a reader will hand out, as far as that is known or can be guessed beforehand.

HEAD_BYTES = 1 << 18
"""Bytes of a text file by whose lines its other lines are estimated."""


def expected_rows(reader: Reader) -> int | None:
    """Returns the number of rows; of a text file, what its size and its first lines let expect.

    Nothing but progress is told by it. `None` where nobody can say.
    """
    if reader.total is not None:
        return reader.total
    inner: object = reader
    # `getattr`: a reader may stand on another one, and that of another package may be anything.
    while (below := getattr(inner, "reader", None) or getattr(inner, "_reader", None)) is not None:
        inner = below
    path = getattr(inner, "path", None)
    return rows_by_size(path) if isinstance(path, Path) and path.suffix.lower() != ".gz" else None


def rows_by_size(path: Path) -> int | None:
    """Returns the lines after the first that a file of this size has, if all are like the first ones."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return None
    lines = head.count(b"\n")
    return max(1, size * lines // max(1, len(head)) - 1) if lines else None
