"""The publication of rows under a recoding: published texts, untouched columns, canonical order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.core.packing import Packing, Words, sort_and_count, sorted_keys
from sfumato.core.progress import Progress, silent
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.engine.count import UNKNOWN, leaf_ranks, person_ranks
from sfumato.engine.dictionary import Dictionary
from sfumato.engine.published_columns import (
    OrderedValues,
    PublishedColumn,
    another_table,
    block_rows,
    code_by_rank,
    key_column,
    planned_ranks,
    rewritten_column,
)
from sfumato.engine.published_rows import PublishedRows, PublishedRowsBuilder
from sfumato.engine.row_pass import GatheredRows
from sfumato.engine.spill.folder import Spill
from sfumato.engine.spill.row_buffer import Equivalence, NumberTable, first_of_each
from sfumato.engine.spill.runs import Runs


def publish(
    gathered: GatheredRows,
    recoding: Recoding,
    names: Sequence[str],
    *,
    spill: Spill,
    progress: Progress = silent,
) -> PublishedRows:
    """The published rows, sorted; raises `BadData` unless these are the rows that were planned.

    `gathered` holds the columns of the planned table, then its person column if it has one, then the other
    columns to be published; `names` are the published columns in order.

    A column that is not generalized publishes the source's own values. A leaf rank does not tell them where
    values share a leaf: if the taxonomy of a sensitive column holds 90 and more to be one value, promises
    are judged on that one value, and the published table still says 93. Such a column is packed twice, as
    ranks to recognize the planned rows and as values to be published.

    Rows are taken some at a time, sorted, and found among the planned ones. Where copies of a row publish
    different things (`recoding.rewritten`), which copy is which is known only with all of them in order:
    they are sorted as a whole before.
    """
    if not names:
        raise WrongCall("no column is left to publish")
    table = recoding.table
    if gathered.rows != table.rows:
        raise another_table()
    planned = len(table.packing.sizes)
    orders = [OrderedValues.of(d) for d in gathered.dictionaries]
    ranks = _planned_ranks(gathered, table, orders)
    parts, others = _published_columns(gathered, recoding, names, orders, ranks)
    packing = Packing((*table.packing.sizes, *(len(orders[j].values) + 1 for j in others)))
    tables = [*ranks, *(orders[j].place for j in others)]
    builder = PublishedRowsBuilder(names, [part.values for part in parts], spill)
    planned_rows = _PlannedRows(table, packing)
    rows = block_rows(spill.memory)
    blocks = gathered.blocks(packing, tables, [*range(planned), *others], rows)
    done = 0
    for packed, counts in _in_order(blocks, rows, spill) if recoding.rewritten else blocks:
        block = _Block(*planned_rows.find(packed, counts), packing, recoding, first=done)
        builder.add(block.distinct, (block.codes(part) for part in parts), block.counts)
        done += block.rows
        progress("ordering", done, table.rows)
    return builder.finish()


def _in_order(
    blocks: Iterable[tuple[Words, Counts | None]], rows: int, spill: Spill
) -> Iterator[tuple[Words, None]]:
    """All rows in ascending order, so many at a time, copies one after the other."""
    keys = Runs(spill)
    for packed, counts in blocks:
        keys.add(packed, counts)
    return ((words, None) for words in keys.expanded(rows))


def equal_when_published(table: Microdata) -> Equivalence:
    """Numbers of values that are one leaf of a key column: published alike under every recoding."""
    columns = table.columns

    def equivalence(column: int, dictionary: Dictionary) -> NumberTable | None:
        values, index = dictionary.distinct_values()
        if column >= len(columns) or not columns[column].role.is_key:
            return first_of_each(index)
        groups = leaf_ranks(columns[column].taxonomy, dictionary.texts(values))[index]
        return first_of_each(index if (groups[1:] == UNKNOWN).any() else groups)

    return equivalence


def _planned_ranks(
    gathered: GatheredRows, table: Microdata, orders: Sequence[OrderedValues]
) -> list[NDArray[np.int64]]:
    """The planned code of every number of the planned columns."""
    ranks = [
        planned_ranks(order, d, c)
        for order, d, c in zip(orders, gathered.dictionaries, table.columns, strict=False)
    ]
    if table.has_person:
        ranks.append(person_ranks(gathered.dictionaries[len(table.columns)])[0])
    for codes, size in zip(ranks, table.packing.sizes, strict=True):
        if codes.max(initial=0) >= size:
            raise another_table()
    return ranks


def _published_columns(
    gathered: GatheredRows,
    recoding: Recoding,
    names: Sequence[str],
    orders: Sequence[OrderedValues],
    ranks: Sequence[NDArray[np.int64]],
) -> tuple[list[PublishedColumn], list[int]]:
    """How each column is published, and which dictionaries are packed besides those of the planned table."""
    table = recoding.table
    planned = len(table.packing.sizes)
    position = {d.name: j for j, d in enumerate(gathered.dictionaries)}
    keys = {c.name: j for j, c in enumerate(table.keys)}
    parts: list[PublishedColumn] = []
    others: list[int] = []
    for name in names:
        j = position[name]
        if name in keys:
            parts.append(key_column(recoding, keys[name]))
        elif name in recoding.rewritten:
            parts.append(rewritten_column(recoding.rewritten[name]))
        elif j < planned and (code := code_by_rank(orders[j], ranks[j])) is not None:
            parts.append(PublishedColumn(orders[j].values, code, j))
        else:
            own = np.arange(len(orders[j].values) + 1)
            parts.append(PublishedColumn(orders[j].values, own, planned + len(others)))
            others.append(j)
    return parts, others


class _PlannedRows:
    """Finds rows among the planned ones; refuses unless each is found as often as it was counted."""

    def __init__(self, table: Microdata, packing: Packing) -> None:
        self._keys = table.words
        small = table.counts.max(initial=0) <= np.iinfo(np.int32).max
        self._left: NDArray[np.integer] = table.counts.astype(np.int32) if small else table.counts.copy()
        last = table.packing.words - 1
        beside = [bits for word, _, bits in packing.places[len(table.packing.sizes) :] if word == last]
        self._shift = sum(beside)

    def find(self, packed: Words, counts: Counts | None) -> tuple[Words, Counts | None, Codes]:
        """The rows in order, how often each occurs, and which distinct row of the plan each is."""
        from sfumato.kernels.rows.positions import locate  # noqa: PLC0415  # compiled when first needed

        if counts is None:
            packed = sorted_keys(packed)
        else:
            packed, counts = sort_and_count(packed, counts)
        owner = np.empty(packed.shape[1], np.int32)
        weights = np.zeros(0, np.int64) if counts is None else counts
        if not locate(packed, weights, self._shift, self._keys, self._left, owner):
            raise another_table()
        return packed, counts, owner


class _Block:
    """Some rows in order, without those that are suppressed; `first` is the place of the first among all."""

    def __init__(
        self,
        packed: Words,
        counts: Counts | None,
        owner: Codes,
        packing: Packing,
        recoding: Recoding,
        *,
        first: int,
    ) -> None:
        self.rows = packed.shape[1] if counts is None else int(counts.sum())
        class_of = recoding.class_of[owner]
        kept = class_of != SUPPRESSED
        everything = bool(kept.all())
        self.distinct = int(np.count_nonzero(kept))
        self._row = first + np.flatnonzero(kept) if recoding.rewritten else None
        self._packing = packing
        self._packed = packed if everything else packed[:, kept]
        self._class_of = class_of if everything else class_of[kept]
        self.counts = counts if counts is None or everything else counts[kept]

    def codes(self, part: PublishedColumn) -> NDArray[np.integer]:
        """What each row publishes."""
        if part.by_row and self._row is not None:
            return part.code[self._row]
        if part.column is None:
            return part.code[self._class_of]
        return part.code[self._packing.unpack(self._packed, part.column)]
