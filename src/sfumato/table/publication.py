"""The publication of rows under a recoding: published texts, untouched columns, canonical order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from weakref import ref

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.system.errors import BadData, UsageError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_arrays import text_array, to_arrow, to_numpy
from sfumato.table.counting import UNKNOWN, GatheredRows, expected_rows, gather, leaf_ranks, person_ranks
from sfumato.table.dictionary import BYTES_TO_NUMBER, BYTES_TO_PUBLISH, Dictionary
from sfumato.table.microdata import (
    Codes,
    Column,
    Counts,
    Microdata,
    Packing,
    Words,
    sort_and_count,
    sorted_keys,
)
from sfumato.table.published_rows import PublishedRows, PublishedRowsBuilder
from sfumato.table.reader import Reader
from sfumato.table.recoding import SUPPRESSED, Recoding, Rewriting
from sfumato.table.row_steps import SetReader
from sfumato.table.spill import Equivalence, NumberTable, Runs, Spill, first_of_each

# Published columns: their values in canonical order, and which of them a class or a row shows.

BLOCK_ROWS = 1 << 21
"""Rows recoded at a time, at most."""

LEAST_ROWS = 1 << 16
"""Rows recoded at a time where memory is scarce."""


@dataclass(frozen=True, eq=False)
class OrderedValues:
    """The values of a dictionary in canonical order, and the place of every number in it (missing: last)."""

    values: pa.Array
    place: NDArray[np.int64]
    missing: bool

    @classmethod
    def of(cls, dictionary: Dictionary) -> OrderedValues:
        values, index = dictionary.distinct_values()
        order = pc.sort_indices(values)
        place = np.empty(len(values) + 1, np.int64)
        place[to_numpy(order)] = np.arange(len(values))
        place[len(values)] = len(values)
        return cls(values.take(order), place[index], dictionary.missing > 0)


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """One published column: its values, and the code of every class, or of every code of column `column`, or
    of every row."""

    values: pa.Array
    code: NDArray[np.integer]
    column: int | None = None
    by_row: bool = False


def planned_ranks(order: OrderedValues, dictionary: Dictionary, column: Column) -> NDArray[np.int64]:
    """The planned leaf rank of every number of a dictionary; raises `BadData` where a value has none."""
    ranks = leaf_ranks(column.taxonomy, dictionary.texts(order.values))[order.place]
    if (ranks[1:] == UNKNOWN).any() or (dictionary.missing and ranks[0] == UNKNOWN):
        raise another_table()
    return np.maximum(ranks, 0)


def code_by_rank(order: OrderedValues, ranks: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The place of a value by its rank, if every value has a rank of its own; else `None`."""
    occurring = slice(None if order.missing else 1, None)
    ranks, place = ranks[occurring], order.place[occurring]
    code = np.zeros(int(ranks.max(initial=0)) + 1, np.int64)
    code[ranks] = place
    return code if np.array_equal(code[ranks], place) else None


def key_column(recoding: Recoding, key: int) -> PublishedColumn:
    """The published texts of a key column, sorted, and which of them each class has (missing: last)."""
    texts, which = recoding.texts(key)
    labels = sorted({text for text in texts if text is not None})
    number = {text: i for i, text in enumerate(labels)}
    codes = np.array([len(labels) if text is None else number[text] for text in texts], np.int64)
    return PublishedColumn(text_array(labels, pa.string()), codes.take(which))


def rewritten_column(new: Rewriting) -> PublishedColumn:
    """Published texts, sorted, and which of them each row has (missing: last)."""
    labels = new.taxonomy.leaf_labels
    texts = sorted(label for label in labels if label is not None)
    number = {text: i for i, text in enumerate(texts)}
    place = np.array([len(texts) if x is None else number[x] for x in labels], np.int32)
    return PublishedColumn(pa.array(texts, pa.large_string()), place[new.codes], by_row=True)


def block_rows(memory: Memory) -> int:
    """How many rows are recoded at a time within a limit of memory."""
    return max(LEAST_ROWS, min(BLOCK_ROWS, memory.room // 32))


def another_table() -> BadData:
    """The refusal of rows that are not those of the plan."""
    return BadData(
        "this is not the table that was planned",
        remedy="Plan again with this table; other rows take the plan over with protect(rows, policy,"
        " reuse_plan=plan), if top-down, lattice or optimum found it (search='top-down').",
    )


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
        raise UsageError("no column is left to publish")
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
        from sfumato.kernels.rows import locate  # noqa: PLC0415  # compiled when first needed

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
        published = class_of != SUPPRESSED
        everything = bool(published.all())
        self.distinct = int(np.count_nonzero(published))
        self._row = first + np.flatnonzero(published) if recoding.rewritten else None
        self._packing = packing
        self._packed = packed if everything else packed[:, published]
        self._class_of = class_of if everything else class_of[published]
        self.counts = counts if counts is None or everything else counts[published]

    def codes(self, part: PublishedColumn) -> NDArray[np.integer]:
        """What each row publishes."""
        if part.by_row and self._row is not None:
            return part.code[self._row]
        if part.column is None:
            return part.code[self._class_of]
        return part.code[self._packing.unpack(self._packed, part.column)]


# Numbers in place of values, for columns of which only equality may be seen.


def number_last(published: PublishedRows, count: int, spill: Spill) -> PublishedRows:
    """The same table, with numbers from 0 on in place of the values of its last `count` columns.

    Values are numbered as they first appear when rows are sorted by the columns before: a number says
    which cells are equal, and neither the value nor its place among the others. Missing cells stay missing.
    """
    first = len(published.names) - count
    numbers = [np.full(len(values) + 1, -1, np.int64) for values in published.values[first:]]
    for codes in published.blocks():
        for number, column in zip(numbers, codes[first:], strict=True):
            _number_new(number, column)
    for number in numbers:
        number[-1] = len(number) - 1
    values = [*published.values[:first], *(to_arrow(np.arange(len(n) - 1)) for n in numbers)]
    builder = PublishedRowsBuilder(published.names, values, spill)
    for codes in published.blocks():
        last = [number[column] for number, column in zip(numbers, codes[first:], strict=True)]
        builder.add(len(codes[0]), [*codes[:first], *last])
    return builder.finish()


def _number_new(number: NDArray[np.int64], codes: NDArray[np.int32]) -> None:
    """Go on numbering codes as they appear; the last one means a missing cell and has no number."""
    distinct, place = np.unique(codes, return_index=True)
    unseen = (number[distinct] < 0) & (distinct < len(number) - 1)
    new = distinct[unseen][np.argsort(place[unseen])]
    start = int(number.max(initial=-1)) + 1
    number[new] = np.arange(start, start + len(new))


# Rows that were counted, published without a second pass over the source.
#
# Where every published column was counted, the distinct rows and their counts say all that is published. Then
# the source need not be read again: only the values of the columns that are no keys are kept from the count.

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
        by_name = {
            column.name: dictionary
            for column, dictionary in zip(table.columns, dictionaries, strict=False)
            if not column.role.is_key
        }
        return cls(table.columns, by_name, ref(table.words))

    def tell(self, recoding: Recoding, names: Sequence[str]) -> list[PublishedColumn] | None:
        """Returns how each of these columns is published; `None` where the counted rows do not tell it.

        They do not tell columns that were not counted, copies of a row that publish different things, nor
        values that share a leaf.
        """
        table = recoding.table
        is_counted = table.words is self._words() and table.columns is self.columns
        if not is_counted or recoding.rewritten or not names:
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
        published = class_of != SUPPRESSED
        if not published.all():
            class_of, counts, words = class_of[published], counts[published], words[:, published]
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
    published = (part.code[class_of if part.column is None else next(own)] for part in parts)
    builder.add(len(class_of), published, None if (counts == 1).all() else counts)


WriteVersion = Callable[[Recoding, Path, Path | None], None]
"""Writes a recoding of the table to a path and, where a second path is given, its witness to that one.

A witness holds the same rows, with a number in place of each value of the numbered columns.
"""


@dataclass(eq=False)
class RowsToPublish:
    """The rows of a counted table, read again when the first version is asked for that needs it.

    `names` are the published columns in order; of the last `numbered` ones only numbers are published. Rows
    that memory has no room for wait in `spill` until the last version is made. A version whose columns were
    all `counted` is published from the counted rows.
    """

    reader: Reader
    table: Microdata
    names: Sequence[str]
    numbered: int
    spill: Spill
    progress: Progress
    counted: CountedRows | None = None
    _taken: bool = field(default=False, init=False)

    def published(self, recoding: Recoding, spill: Spill, *, last: bool) -> PublishedRows:
        """Returns the rows under a recoding of the table, coded and sorted; after the `last` there are none.

        Raises `BadData` if these are not the rows that were counted. `spill` is for this version alone.
        """
        if self._taken:
            raise UsageError("the last version of these rows was published already")
        self._taken = last
        parts = self.counted.tell(recoding, self.names) if self.counted is not None else None
        if parts is not None:
            rows = publish_counted(parts, recoding, self.names, spill=spill, progress=self.progress)
        else:
            gathered = self._gathered
            gathered = gathered if last else replace(gathered, chunks=list(gathered.chunks))
            if last:
                del self._gathered
            rows = publish(gathered, recoding, self.names, spill=spill, progress=self.progress)
        return number_last(rows, self.numbered, spill) if self.numbered else rows

    def without_numbers(self, rows: PublishedRows) -> PublishedRows:
        """Returns published rows without the numbered columns: rows stay in order, since these are last."""
        return rows.first_columns(len(self.names) - self.numbered) if self.numbered else rows

    def native(self, rows: PublishedRows, spill: Spill) -> PublishedRows:
        """Returns published rows with term sets written as the source writes them."""
        return self.reader.written_back(rows, spill) if isinstance(self.reader, SetReader) else rows

    @cached_property
    def _gathered(self) -> GatheredRows:
        """All rows, as codes: the pass over the source."""
        table, reader = self.table, self.reader
        person = table.person_column
        if table.has_person and person is None:
            raise UsageError("the planned table does not name its person column")
        planned = [c.name for c in table.columns] + ([person] if person is not None else [])
        counted = set(planned)
        others = [name for name in self.names if name not in counted]
        gathered = gather(
            reader.batches(list(dict.fromkeys([*planned, *others]))),
            reader.schema,
            [*planned, *others],
            required=[c.name for c in table.keys] if table.dropped else (),
            each=[BYTES_TO_NUMBER] * len(planned) + [BYTES_TO_PUBLISH] * len(others),
            phase="recoding",
            progress=self.progress,
            total=expected_rows(reader),
            memory=self.spill.memory,
            equivalence=equal_when_published(table),
            spill=self.spill,
        )
        if gathered.dropped != table.dropped:
            raise another_table()
        return gathered
