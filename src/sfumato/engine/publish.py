"""Microdata become rows again: published texts, untouched columns, canonical order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.engine.count import UNKNOWN, leaf_ranks, person_ranks
from sfumato.engine.dictionary import Dictionary
from sfumato.engine.exchange import text_array, to_arrow, to_numpy
from sfumato.engine.gather import Gathered
from sfumato.terms.errors import BadData, WrongCall
from sfumato.terms.microdata import Codes, Column
from sfumato.terms.packing import BLOCK, Packing, Words, sorted_keys
from sfumato.terms.recoding import SUPPRESSED, Recoding, Rewriting

ROWS_AT_A_TIME = 1 << 20


@dataclass(frozen=True, eq=False)
class Published:
    """The published table: sorted packed keys whose codes number sorted published values (missing: last)."""

    names: tuple[str, ...]
    values: tuple[pa.Array, ...]
    packing: Packing
    words: Words

    @property
    def rows(self) -> int:
        return int(self.words.shape[1])

    @property
    def schema(self) -> pa.Schema:

        return pa.schema([pa.field(n, v.type) for n, v in zip(self.names, self.values, strict=True)])

    def codes(self, column: int, start: int = 0, stop: int | None = None) -> NDArray[np.int32]:
        return self.packing.unpack(self.words[:, start:stop], column)

    def batches(self, rows: int = ROWS_AT_A_TIME) -> Iterator[pa.RecordBatch]:
        """The rows in order, every column a dictionary of published values."""
        for start in range(0, self.rows, rows):
            arrays = []
            for j, values in enumerate(self.values):
                codes = self.codes(j, start, start + rows)
                indices = to_arrow(codes, missing=len(values))
                arrays.append(pa.DictionaryArray.from_arrays(indices, values))
            yield pa.RecordBatch.from_arrays(arrays, names=list(self.names))

    def table(self) -> pa.Table:
        """All rows, decoded, in fresh buffers that hold nothing else."""
        columns = []
        for j, values in enumerate(self.values):
            codes = self.codes(j)
            indices = to_arrow(codes, missing=len(values))
            columns.append(pc.take(values, indices) if len(values) else pa.nulls(self.rows, values.type))
        return pa.Table.from_arrays(columns, schema=self.schema)


def publish(gathered: Gathered, recoding: Recoding, names: Sequence[str]) -> Published:
    """Check that these are the rows that were planned, recode them and sort them.

    `gathered` holds the columns of the planned table, then its person column if it has one, then the other
    columns to be published; `names` are the published columns in order.

    A column that is not generalized publishes the source's own values. A leaf rank does not tell them where
    values share a leaf: if the taxonomy of a sensitive column holds 90 and more to be one value, promises
    are judged on that one value, and the published table still says 93. Such a column is packed twice, as
    ranks to recognize the planned rows and as values to be published.
    """
    if not names:
        raise WrongCall("no column is left to publish")
    table = recoding.table
    planned = len(table.packing.sizes)
    orders = [_Ordered.of(d) for d in gathered.dictionaries]
    ranks = [
        _ranks(order, d, c) for order, d, c in zip(orders, gathered.dictionaries, table.columns, strict=False)
    ]
    if table.has_person:
        ranks.append(person_ranks(gathered.dictionaries[planned - 1])[0])
    for found, size in zip(ranks, table.packing.sizes, strict=True):
        if found.max(initial=0) >= size:
            raise _another_table()
    position = {d.name: j for j, d in enumerate(gathered.dictionaries)}
    keys = {c.name: j for j, c in enumerate(table.keys)}
    parts: list[_Part] = []
    others: list[int] = []
    for name in names:
        j = position[name]
        if name in keys:
            parts.append(_Part(*_labels(recoding, keys[name])))
        elif name in recoding.rewritten:
            parts.append(_rewritten(recoding.rewritten[name]))
        elif j < planned and (code := _places(orders[j], ranks[j])) is not None:
            parts.append(_Part(orders[j].values, code, j))
        else:
            own = np.arange(len(orders[j].values) + 1)
            parts.append(_Part(orders[j].values, own, planned + len(others)))
            others.append(j)
    packing, packed = gathered.repack(
        [*ranks, *(orders[j].place for j in others)],
        [*table.packing.sizes, *(len(orders[j].values) + 1 for j in others)],
        columns=[*range(planned), *others],
    )
    packed = sorted_keys(packed)
    class_of = _classes(packing, packed, recoding)
    row_of = np.arange(len(class_of)) if recoding.rewritten else None
    if (class_of == SUPPRESSED).any():
        kept = class_of != SUPPRESSED
        packed, class_of = packed[:, kept], class_of[kept]
        row_of = None if row_of is None else row_of[kept]
    return _assemble(names, parts, packing, packed, class_of, row_of)


@dataclass(frozen=True, eq=False)
class _Ordered:
    """The values of a dictionary in canonical order, and the place of every number in it (missing: last)."""

    values: pa.Array
    place: NDArray[np.int64]
    missing: bool

    @classmethod
    def of(cls, dictionary: Dictionary) -> _Ordered:
        values, index = dictionary.settle()
        order = pc.sort_indices(values)
        place = np.empty(len(values) + 1, np.int64)
        place[to_numpy(order)] = np.arange(len(values))
        place[len(values)] = len(values)
        return cls(values.take(order), place[index], dictionary.missing > 0)


@dataclass(frozen=True, eq=False)
class _Part:
    """One published column: its values, and the code of every class, or of every code of column `column`, or
    of every row."""

    values: pa.Array
    code: NDArray[np.int64]
    column: int | None = None
    by_row: bool = False


def _ranks(order: _Ordered, dictionary: Dictionary, column: Column) -> NDArray[np.int64]:
    """The planned leaf rank of every number of a dictionary."""
    ranks = leaf_ranks(column.taxonomy, dictionary.texts(order.values))[order.place]
    if (ranks[1:] == UNKNOWN).any() or (dictionary.missing and ranks[0] == UNKNOWN):
        raise _another_table()
    return np.maximum(ranks, 0)


def _places(order: _Ordered, ranks: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The place of a value by its rank, if every value has a rank of its own; else `None`."""
    occurring = slice(None if order.missing else 1, None)
    ranks, place = ranks[occurring], order.place[occurring]
    code = np.zeros(int(ranks.max(initial=0)) + 1, np.int64)
    code[ranks] = place
    return code if np.array_equal(code[ranks], place) else None


def _another_table() -> BadData:
    return BadData("this is not the table that was planned", remedy="Plan again with this table.")


def _classes(packing: Packing, packed: Words, recoding: Recoding) -> Codes:
    """The class of every sorted row, after comparing all rows with the planned ones."""
    table = recoding.table
    if packed.shape[1] != table.rows:
        raise _another_table()
    owner = np.repeat(np.arange(table.distinct, dtype=np.int32), table.counts)
    for start in range(0, len(owner), BLOCK):
        rows, mine = packed[:, start : start + BLOCK], table.words[:, owner[start : start + BLOCK]]
        for j in range(len(table.packing.sizes)):
            if not np.array_equal(packing.unpack(rows, j), table.packing.unpack(mine, j)):
                raise _another_table()
    return recoding.class_of[owner]


def _labels(recoding: Recoding, key: int) -> tuple[pa.Array, NDArray[np.int64]]:
    """The published texts of a key column, sorted, and which of them each class has (missing: last)."""
    texts, which = recoding.texts(key)
    labels = sorted({text for text in texts if text is not None})
    number = {text: i for i, text in enumerate(labels)}
    codes = np.array([len(labels) if text is None else number[text] for text in texts], np.int64)
    return text_array(labels, pa.string()), codes.take(which)


def _rewritten(new: Rewriting) -> _Part:
    """Published texts, sorted, and which of them each row has (missing: last)."""
    labels = new.taxonomy.leaf_labels
    texts = sorted(label for label in labels if label is not None)
    number = {text: i for i, text in enumerate(texts)}
    place = np.array([len(texts) if x is None else number[x] for x in labels], np.int64)
    return _Part(pa.array(texts, pa.large_string()), place[new.codes], by_row=True)


def _assemble(
    names: Sequence[str],
    parts: Sequence[_Part],
    packing: Packing,
    packed: Words,
    class_of: Codes,
    row_of: NDArray[np.int64] | None,
) -> Published:
    """Pack the published codes of all columns and sort the rows by them; values of suppressed rows go."""
    rows = len(class_of)

    def index(part: _Part, start: int) -> NDArray[np.integer]:
        span = slice(start, start + BLOCK)
        if part.by_row and row_of is not None:
            return row_of[span]
        return class_of[span] if part.column is None else packing.unpack(packed[:, span], part.column)

    values, codes = [], []
    for part in parts:
        seen = np.zeros(len(part.code), bool)
        for start in range(0, rows, BLOCK):
            seen[index(part, start)] = True
        used = np.zeros(len(part.values) + 1, bool)
        used[part.code[seen]] = True
        used[-1] = False
        values.append(part.values.take(to_arrow(np.flatnonzero(used))))
        codes.append((np.cumsum(used) - used)[part.code])
    published = Packing(tuple(len(v) + 1 for v in values))
    words = np.zeros((published.words, rows), np.int64)
    for part, code, (word, shift, _) in zip(parts, codes, published.places, strict=True):
        moved = code << shift
        for start in range(0, rows, BLOCK):
            words[word, start : start + BLOCK] |= moved.take(index(part, start))
    return Published(tuple(names), tuple(values), published, sorted_keys(words))
