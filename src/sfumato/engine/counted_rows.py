"""Rows that were counted, published without a second pass over the source.

Where every published column was counted, the distinct rows and their counts say all that is published. Then
the source need not be read again: only the values of the columns that are no keys are kept from the count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import ref

import numpy as np

from sfumato.core.microdata import Column, Counts, Microdata
from sfumato.core.packing import Words
from sfumato.core.progress import Progress, silent
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.engine.dictionary import Dictionary
from sfumato.engine.published_columns import (
    OrderedValues,
    PublishedColumn,
    block_rows,
    code_by_rank,
    key_column,
    planned_ranks,
)
from sfumato.engine.published_rows import PublishedRows, PublishedRowsBuilder
from sfumato.engine.spill.folder import Spill

ROWS_AT_A_TIME = 1 << 17
"""Distinct rows whose combinations are counted at a time."""

CELLS_PER_ROW = 4
"""Combinations of a class and its other columns are counted in an array of so many cells per row, at most."""


@dataclass(frozen=True, eq=False)
class CountedRows:
    """What a source keeps of a count: which rows they are, and the values of columns that are no keys.

    The rows belong to whoever counted them, and are not kept alive here.
    """

    columns: tuple[Column, ...]
    dictionaries: dict[str, Dictionary]
    _words: ref[Words]

    @classmethod
    def of(cls, table: Microdata, dictionaries: Sequence[Dictionary]) -> CountedRows:
        """Returns what is to be kept of a table that was counted with these dictionaries."""
        kept = {
            column.name: dictionary
            for column, dictionary in zip(table.columns, dictionaries, strict=False)
            if not column.role.is_key
        }
        return cls(table.columns, kept, ref(table.words))

    def tell(self, recoding: Recoding, names: Sequence[str]) -> list[PublishedColumn] | None:
        """Returns how each of these columns is published; `None` where the counted rows do not tell it.

        They do not tell columns that were not counted, copies of a row that publish different things, nor
        values that share a leaf.
        """
        table = recoding.table
        same = table.words is self._words() and table.columns is self.columns
        if not same or recoding.rewritten or not names:
            return None
        keys = {column.name: j for j, column in enumerate(table.keys)}
        parts: list[PublishedColumn] = []
        for name in names:
            part = key_column(recoding, keys[name]) if name in keys else self._own_values(table, name)
            if part is None:
                return None
            parts.append(part)
        return parts

    def _own_values(self, table: Microdata, name: str) -> PublishedColumn | None:
        """How a column that is no key is published, if every value has a leaf of its own."""
        dictionary = self.dictionaries.get(name)
        if dictionary is None:
            return None
        j = next(j for j, column in enumerate(table.columns) if column.name == name)
        order = OrderedValues.of(dictionary)
        code = code_by_rank(order, planned_ranks(order, dictionary, table.columns[j]))
        return None if code is None else PublishedColumn(order.values, code, j)


@dataclass(eq=False)
class LastCount:
    """The last count of a source, if there was one."""

    rows: CountedRows | None = field(default=None)


def publish_counted(
    parts: Sequence[PublishedColumn],
    recoding: Recoding,
    names: Sequence[str],
    *,
    spill: Spill,
    progress: Progress = silent,
) -> PublishedRows:
    """The published rows, sorted, from the distinct rows of the table alone.

    `parts` says how each of the `names` is published (`CountedRows.tell`). Rows of a class that agree in all
    other columns are published alike: they are counted together first, where the combinations are few.
    """
    builder = PublishedRowsBuilder(names, [part.values for part in parts], spill)
    table = recoding.table
    others = [part for part in parts if part.column is not None]
    sizes = [len(part.code) for part in others]
    cells = recoding.count * int(np.prod(sizes, dtype=np.float64))
    most = min(CELLS_PER_ROW * table.distinct, spill.memory.room // 8)
    together = _Combinations(recoding.count, sizes) if cells <= most else None
    rows, done = block_rows(spill.memory) if together is None else ROWS_AT_A_TIME, 0
    for start in range(0, table.distinct, rows):
        span = slice(start, start + rows)
        class_of, counts = recoding.class_of[span], table.counts[span]
        words = table.words[:, span]
        done += int(counts.sum())
        kept = class_of != SUPPRESSED
        if not kept.all():
            class_of, counts, words = class_of[kept], counts[kept], words[:, kept]
        codes = [table.packing.unpack(words, part.column) for part in others if part.column is not None]
        if together is None:
            _add(builder, parts, class_of, codes, counts)
        else:
            together.add(class_of, codes, counts)
        progress("ordering", done, table.rows)
    if together is not None:
        _add(builder, parts, *together.counted())
    return builder.finish()


class _Combinations:
    """Counts how often a class occurs with the codes of other columns, in one cell for each combination."""

    def __init__(self, classes: int, sizes: Sequence[int]) -> None:
        self._sizes = list(sizes)
        self._counts = np.zeros(classes * int(np.prod(sizes, dtype=np.int64)), np.int64)

    def add(self, class_of: np.ndarray, codes: Sequence[np.ndarray], counts: Counts) -> None:
        """Adds rows."""
        cells = class_of.astype(np.int64)
        for size, code in zip(self._sizes, codes, strict=True):
            cells *= size
            cells += code
        np.add.at(self._counts, cells, counts)

    def counted(self) -> tuple[np.ndarray, list[np.ndarray], Counts]:
        """Returns the combinations that occur: their classes, their codes, and how often each occurs."""
        cells = np.flatnonzero(self._counts)
        counts, codes = self._counts[cells], list[np.ndarray]()
        for size in reversed(self._sizes):
            cells, code = np.divmod(cells, size)
            codes.insert(0, code)
        return cells, codes, counts


def _add(
    builder: PublishedRowsBuilder,
    parts: Sequence[PublishedColumn],
    class_of: np.ndarray,
    codes: Sequence[np.ndarray],
    counts: Counts,
) -> None:
    """Adds rows by their class and the codes of their other columns."""
    own = iter(codes)
    shown = (part.code[class_of if part.column is None else next(own)] for part in parts)
    builder.add(len(class_of), shown, None if (counts == 1).all() else counts)
