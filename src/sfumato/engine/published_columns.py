"""Published columns: their values in canonical order, and which of them a class or a row shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.errors import BadData
from sfumato.core.microdata import Column
from sfumato.core.recoding import Recoding, Rewriting
from sfumato.engine.arrow_arrays import text_array, to_numpy
from sfumato.engine.count import UNKNOWN, leaf_ranks
from sfumato.engine.dictionary import Dictionary
from sfumato.system.memory import Memory

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
    return BadData("this is not the table that was planned", remedy="Plan again with this table.")
