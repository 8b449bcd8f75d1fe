"""The distinct values of a column, numbered while rows stream by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.system.memory import Memory
from sfumato.table.arrow_arrays import to_arrow, to_numpy
from sfumato.table.cell_text import canonical, comparable, published_type, safe_name

NO_VALUE = 0
"""The number of a missing cell."""

MOST_LOOKED_UP = 1 << 18
"""Values beyond this many are appended without a look, and told apart when the rows are over."""

FIRST_LOOK = 1 << 12
"""Cells in which the values of a batch are looked for first."""

COPIES_PER_VALUE = 4
"""How many copies of a value are in memory at most, while values are told apart and put in order."""

BYTES_TO_CODE, BYTES_TO_NUMBER, BYTES_TO_PUBLISH = 480, 180, 120
"""Bytes that a value takes besides its own: as a leaf of a taxonomy, as a number, as a value to write."""


class Dictionary:
    """Gives every value of a column a number: 0 is a missing cell, others count up as they appear.

    Numbers are provisional: a value may get several, and which one depends on the order of the rows.
    `distinct_values` says which numbers stand for the same value.

    >>> import pyarrow as pa
    >>> d = Dictionary("zip", pa.string())
    >>> d.encode(pa.array(["02138", None, "02139"])).tolist(), d.encode(pa.array(["02139"])).tolist()
    ([1, 0, 2], [2])
    """

    def __init__(self, name: str, kind: pa.DataType) -> None:
        self.name = name
        self.kind = published_type(kind)
        self.missing = 0
        self._known = pa.nulls(0, self.kind)
        self._last: tuple[pa.Array | None, NDArray[np.int64]] = None, np.zeros(0, np.int64)
        self._more: list[pa.Array] = []
        self._more_count = self._more_bytes = 0

    @property
    def size(self) -> int:
        """One more than the largest number given so far."""
        return 1 + len(self._known) + self._more_count

    @property
    def bytes(self) -> int:
        """How much memory the values take."""
        return int(self._known.nbytes) + self._more_bytes

    def encode(self, array: pa.Array) -> NDArray[np.int64]:
        """The number of every cell."""
        numbers, index = self.look_up(array)
        return numbers.take(index)

    def look_up(self, array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
        """Numbers, and which of them every cell has: `numbers.take(index)` is what `encode` returns."""
        cells = comparable(array, self.name)
        if pa.types.is_null(cells.type):
            self.missing += len(cells)
            return np.zeros(1, np.int64), np.zeros(len(cells), np.int32)
        coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
        local, indices = coded.dictionary, coded.indices
        empty = len(local)
        index = to_numpy(indices, missing=empty)
        occurring = np.flatnonzero(_used(index, empty))
        numbers = self._known_of(local)
        unnumbered = occurring[numbers[occurring] == NO_VALUE]
        if len(unnumbered):
            numbers[unnumbered] = self.numbers(
                local if len(unnumbered) == empty else local.take(to_arrow(unnumbered))
            )
        if coded is cells:
            self._last = local, numbers
        if local.null_count or (len(index) and int(index.max()) == empty):
            self.missing += int(np.count_nonzero(numbers.take(index) == NO_VALUE))
        return numbers, index

    def _known_of(self, local: pa.Array) -> NDArray[np.int64]:
        """Numbers of the values of a dictionary, as far as it is the one before; `NO_VALUE` for the others.

        Batches of one row group come with the same dictionary.
        """
        before, numbers = self._last
        if before is not None and len(before) == len(local) and before.equals(local):
            return numbers.copy()
        return np.full(len(local) + 1, NO_VALUE, np.int64)

    def numbers(self, values: pa.Array) -> NDArray[np.int64]:
        """Numbers of some values (perhaps repeated, perhaps missing), new ones included."""
        if values.type != self.kind:
            values = values.cast(self.kind)
        index = pc.index_in(values, value_set=self._known, skip_nulls=True)
        fresh = pc.and_(index.is_null(), values.is_valid())
        existing = to_numpy(index, missing=-1).astype(np.int64)
        if not pc.any(fresh).as_py():
            return existing + 1
        unseen = values.filter(fresh).unique()
        start = len(self._known) + self._more_count
        place = pc.index_in(values, value_set=unseen, skip_nulls=True)
        if len(self._known) < MOST_LOOKED_UP:
            self._known = pa.concat_arrays([self._known, unseen])
        else:
            self._more.append(unseen)
            self._more_count += len(unseen)
            self._more_bytes += unseen.nbytes
        more = to_numpy(place, missing=-1 - start).astype(np.int64) + start
        return np.asarray(np.maximum(existing, more) + 1)

    def values_among(self, array: pa.Array) -> tuple[pa.Array, NDArray[np.int64], int]:
        """The values of some cells, how often each occurs, and how many cells are missing; none is numbered.

        A value may come twice.
        """
        cells = comparable(array, self.name)
        if pa.types.is_null(cells.type):
            return self._known[:0], np.zeros(0, np.int64), len(cells)
        coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
        local = coded.dictionary
        times = np.bincount(to_numpy(coded.indices, missing=len(local)), minlength=len(local) + 1)
        valid = times[:-1] > 0
        if local.null_count:
            valid &= to_numpy(local.is_valid().cast(pa.int32())) == 1
        occurring = np.flatnonzero(valid)
        values = local if len(occurring) == len(local) else local.take(to_arrow(occurring))
        if values.type != self.kind:
            values = values.cast(self.kind)
        often = times[occurring]
        return values, often, len(cells) - int(often.sum())

    def take_in(self, several: Sequence[pa.Array], most: int) -> NDArray[np.int64] | None:
        """The numbers of the values of several arrays, as if these came one after the other.

        Where all values together would be more than `most`, nothing is numbered, and the answer is `None`.
        """
        coded = pa.concat_arrays([self._known, *several]).dictionary_encode()
        if self._more or len(coded.dictionary) > min(most, MOST_LOOKED_UP):
            return None
        before, self._known = len(self._known), coded.dictionary
        return to_numpy(coded.indices)[before:].astype(np.int64) + 1

    def missing_among(self, array: pa.Array) -> int:
        """How many of these cells are missing; their values get no numbers."""
        cells = comparable(array, self.name)
        if pa.types.is_dictionary(cells.type) and cells.dictionary.null_count:
            cells = cells.dictionary_decode()
        return len(cells) if pa.types.is_null(cells.type) else int(cells.null_count)

    def distinct_values(self) -> tuple[pa.Array, NDArray[np.int64]]:
        """The distinct values, and for every number given the index of its value (missing: their count)."""
        if not self._more:
            values = self._known
            return values, np.concatenate(([len(values)], np.arange(len(values))))
        coded = pa.concat_arrays([self._known, *self._more]).dictionary_encode()
        values = coded.dictionary
        return values, np.concatenate(([len(values)], to_numpy(coded.indices))).astype(np.int64)

    def texts(self, values: pa.Array) -> list[str]:
        """The canonical text of each of these values."""
        texts: list[str] = canonical(values, self.name).to_pylist()
        return texts


def _used(index: NDArray[np.integer], size: int) -> NDArray[np.bool_]:
    """Which of the numbers below `size` occur; what is `size` itself stands for no value.

    Looks at more and more until all of them are found.
    """
    used = np.zeros(size + 1, bool)
    start, stop = 0, FIRST_LOOK
    while start < len(index):
        used[index[start:stop]] = True
        if used[:size].all():
            break
        start, stop = stop, stop * 2
    return used[:size]


def check_values(
    dictionaries: Sequence[Dictionary],
    each: Sequence[int],
    memory: Memory,
    *,
    rows: int,
    way_out: str = "(unless it names the person) leave the column out by `role: identifier`, or of the file",
) -> None:
    """Raise where the values of so many rows are more than can be told apart within the limit.

    `each` says how many bytes a value takes besides its own, column by column. Rows want room of their own
    meanwhile: a fifth of what is left is theirs.
    """
    if memory.limit is None or not dictionaries:
        return
    needs = [d.bytes * COPIES_PER_VALUE + d.size * more for d, more in zip(dictionaries, each, strict=True)]
    worst = dictionaries[needs.index(max(needs))]
    memory.check(
        sum(needs) * 5 // 4,
        f"telling apart {worst.size - 1:,} values of column {safe_name(worst.name)}, in the first"
        f" {rows:,} rows,",
        f"round or shorten its values beforehand, or {way_out}.",
    )
