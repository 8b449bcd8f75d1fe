"""Published rows in their order: texts travel and are sorted as numbers, and become texts again at the end.

Eight columns of text that were recoded are one word of 63 bits on their way through Spark. Texts come back
from tables that are part of the query: a join after a sort would have Spark leave the sort out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import Column as Cell
from pyspark.sql import functions as F

from sfumato.table.microdata import BLOCK_ROWS, Packing, Words
from sfumato.table.recoding import Recoding
from sfumato.table.spark.text import ANOTHER_TABLE, bitwise_or
from sfumato.table.taxonomy import Label

# Bounds of the parts of a sorted table, taken from the plan so that Spark need not sample the rows.

ROWS_PER_PART = 1 << 18
"""Rows that a part has at least, if there are so many."""

MOST_BITS = 16
"""Bits of the leading columns that decide about the part."""


@dataclass(frozen=True)
class PartBounds:
    """The part of every combination of what the first `columns` columns publish; ascending, as these are."""

    columns: int
    packing: Packing
    part_of: tuple[int, ...]

    @property
    def parts(self) -> int:
        return max(self.part_of) + 1

    def part(self, ranks: Sequence[Cell]) -> Cell:
        """The part of a row whose first columns have these texts, by their numbers."""
        if self.parts == 1:
            return F.lit(0)
        places = zip(ranks, self.packing.places, strict=True)
        place = bitwise_or([F.shiftleft(rank, shift) for rank, (_, shift, _) in places])
        table = F.from_json(F.lit(json.dumps(self.part_of)), "array<int>")
        return F.coalesce(F.get(table, place.cast("int")), F.lit(0))


def part_bounds(
    frame: DataFrame, recoding: Recoding, lead: Sequence[tuple[int, np.ndarray]]
) -> PartBounds | None:
    """Bounds of parts of about the same size; `None` where the plan does not say enough, or Spark is too old.

    `lead` has, for each of the leading columns, how many texts there are, and which of them each class has.
    """
    if not hasattr(frame, "repartitionById"):  # new in Spark 4.1
        return None
    total = int(recoding.rows.sum())
    most = min(int(str(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))), total // ROWS_PER_PART)
    if most <= 1:
        return PartBounds(0, Packing((1,)), (0,))
    return _even(recoding, lead, most)


def _even(recoding: Recoding, lead: Sequence[tuple[int, np.ndarray]], most: int) -> PartBounds | None:
    """As many leading columns as few bits can hold, cut where equal shares of the rows end."""
    columns = len(lead)
    while columns and sum(bits for _, _, bits in _packing(lead[:columns]).places) > MOST_BITS:
        columns -= 1
    if not columns:
        return None
    packing = _packing(lead[:columns])
    places = packing.pack([which for _, which in lead[:columns]])[0]
    bits = sum(bits for _, _, bits in packing.places)
    rows = np.bincount(places, weights=recoding.rows, minlength=1 << bits)
    before, total = np.cumsum(rows) - rows, rows.sum()
    part_of = np.minimum(before * most // total, most - 1).astype(np.int64)
    if np.bincount(part_of, weights=rows).max() > 2 * total / most:
        return None
    return PartBounds(columns, packing, tuple(part_of.tolist()))


def _packing(lead: Sequence[tuple[int, np.ndarray]]) -> Packing:
    return Packing(tuple(max(1, size) for size, _ in lead))


# A checksum of a multiset of packed keys, computed by Spark over rows and by numpy over counts.
#
# Spark's own `xxhash64` is rebuilt here: every key is hashed, and two slices of 29 bits of it are added up.
# The sums do not depend on the order of rows, and fit into 64 bits up to 2**34 rows. They tell a table that
# changed by accident; nobody is kept from making another one with the same sums.

SLICE = 29
_MASK = (1 << SLICE) - 1
_P = tuple(
    np.uint64(p)
    for p in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_SEED = np.uint64(42)


def sums(words: Sequence[str]) -> list[Column]:
    """The checksum as aggregates over rows; the last counts the keys that lack a word."""
    keys = [F.col(word) for word in words]
    mixed = F.xxhash64(*keys)
    parts = (mixed, F.shiftright(mixed, SLICE))
    slices = [F.coalesce(F.sum(part.bitwiseAND(F.lit(_MASK))), F.lit(0)) for part in parts]
    lacking = F.coalesce(F.sum(F.when(bitwise_or(keys).isNull(), F.lit(1)).otherwise(F.lit(0))), F.lit(0))
    return [cell.alias(f"sum{i}") for i, cell in enumerate([*slices, lacking])]


def expected(words: Words, counts: NDArray[np.int64]) -> list[int]:
    """The checksum of these keys, each with its count, which may be 0."""
    sums = [0, 0]
    for start in range(0, len(counts), BLOCK_ROWS):
        span = slice(start, start + BLOCK_ROWS)
        many, mixed = counts[span].astype(np.uint64), np.full(len(counts[span]), _SEED)
        with np.errstate(over="ignore"):
            for word in words:
                mixed = _mixed(word[span].astype(np.uint64), mixed)
            parts = (mixed, mixed >> np.uint64(SLICE))
            for i, part in enumerate(parts):
                sums[i] += int(((part & np.uint64(_MASK)) * many).sum())
    return [*sums, 0]


def _mixed(key: NDArray[np.uint64], seed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """XXH64 of a 64-bit key."""
    p1, p2, p3, p4, p5 = _P
    mixed = (seed + p5 + np.uint64(8)) ^ (_rotated(key * p2, 31) * p1)
    mixed = _rotated(mixed, 27) * p1 + p4
    mixed = (mixed ^ (mixed >> np.uint64(33))) * p2
    mixed = (mixed ^ (mixed >> np.uint64(29))) * p3
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _rotated(key: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return np.asarray((key << np.uint64(bits)) | (key >> np.uint64(64 - bits)))


MOST_TEXTS = 1 << 16
"""A column with more texts than this travels as text: its table would make the query too long."""


@dataclass(frozen=True, eq=False)
class ShownColumn:
    """Texts in ascending order of their UTF-8 bytes, a missing one last, and which of them each thing has."""

    texts: tuple[Label, ...]
    which: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[Label], which: NDArray[np.integer]) -> ShownColumn:
        """Put texts in order; equal ones become one.

        >>> ShownColumn.of(["b", None, "a"], np.array([0, 1, 2, 0])).which
        array([1, 2, 0, 1])
        """
        # Code points and UTF-8 bytes have the same order.
        ordered = tuple(sorted(set(texts), key=lambda text: (text is None, text or "")))
        place = {text: i for i, text in enumerate(ordered)}
        moved = np.array([place[text] for text in texts], np.int64)
        return cls(ordered, moved[which] if len(moved) else np.zeros(len(which), np.int64))

    @property
    def is_short(self) -> bool:
        """Whether a query can hold the texts."""
        return len(self.texts) <= MOST_TEXTS


@dataclass(frozen=True, eq=False)
class RankedColumn:
    """A column of the rows that has numbers in the order of `texts`."""

    rank: Cell
    texts: tuple[Label, ...]

    def text(self, rank: Cell) -> Cell:
        """The text with this number."""
        table = F.from_json(F.lit(json.dumps(self.texts, ensure_ascii=False)), "array<string>")
        return F.get(table, rank.cast("int"))


@dataclass(frozen=True, eq=False)
class OrderedRows:
    """Published rows: the cells of every column by name.

    A column in `order` is not ordered by its cells; one in `ranked` is a number until all is in order.
    """

    frame: DataFrame
    cells: dict[str, Cell]
    order: dict[str, Cell]
    ranked: dict[str, RankedColumn] = field(default_factory=dict)

    @cached_property
    def _runs(self) -> list[tuple[Packing, list[str]]]:
        """Neighbours that are numbers share their words."""
        runs: list[list[str]] = []
        names = list(self.cells)
        for name in self.ranked_names:
            if runs and names.index(runs[-1][-1]) + 1 == names.index(name):
                runs[-1].append(name)
            else:
                runs.append([name])
        return [(self._packing(run), run) for run in runs]

    @property
    def ranked_names(self) -> list[str]:
        return [name for name in self.cells if name in self.ranked]

    def _packing(self, names: Sequence[str]) -> Packing:
        return Packing(tuple(max(1, len(self.ranked[name].texts)) for name in names))

    def ordered(
        self,
        *,
        words: Sequence[str] = (),
        observation: Observation | None = None,
        bounds: PartBounds | None = None,
    ) -> DataFrame:
        """All rows in canonical order, in columns p0, p1, …; the checksum of `words` is observed on the way.

        Without `bounds` Spark draws a sample of the rows first, to find out where parts may begin; they are
        then seen twice before they are in order, and once after.
        """
        taken, by = self._moved()
        if bounds is None:
            frame = _watched(self.frame.select(*taken, *words).orderBy(*by), words, observation)
        else:
            lead = [self.ranked[name].rank for name in list(self.cells)[: bounds.columns]]
            part = bounds.part(lead).alias("part")
            frame = _watched(self.frame.select(*taken, part, *words), words, observation)
            frame = frame.repartitionById(bounds.parts, F.col("part")).sortWithinPartitions(*by)
        return frame.select(*self._texts())

    def _moved(self) -> tuple[list[Cell], list[Cell]]:
        """What of every row goes through the sort, and what it is sorted by."""
        taken, by = [], []
        first = {run[0]: g for g, (_, run) in enumerate(self._runs)}
        for i, (name, cell) in enumerate(self.cells.items()):
            if name in first:
                g = first[name]
                packing, run = self._runs[g]
                by_word: list[list[Cell]] = [[] for _ in range(packing.words)]
                for own, (word, shift, _) in zip(run, packing.places, strict=True):
                    by_word[word].append(F.shiftleft(self.ranked[own].rank, shift))
                packed = [bitwise_or(cells) for cells in by_word]
                taken += [or_fail(word, word).alias(f"s{g}_{w}") for w, word in enumerate(packed)]
                by += [F.col(f"s{g}_{w}") for w in range(packing.words)]
            elif name not in self.ranked:
                taken.append(cell.alias(f"p{i}", metadata={}))
                if name in self.order:
                    taken.append(self.order[name].alias(f"o{i}"))
                by.append(F.col(f"o{i}" if name in self.order else f"p{i}").asc_nulls_last())
        return taken, by

    def _texts(self) -> list[Cell]:
        places = {
            name: (f"s{g}_{word}", shift, bits)
            for g, (packing, run) in enumerate(self._runs)
            for name, (word, shift, bits) in zip(run, packing.places, strict=True)
        }
        texts = []
        for i, name in enumerate(self.cells):
            cell = F.col(f"p{i}")
            if name in places:
                word, shift, bits = places[name]
                rank = F.shiftright(F.col(word), shift).bitwiseAND(F.lit((1 << bits) - 1))
                cell = self.ranked[name].text(rank)
            texts.append(cell.alias(f"p{i}", metadata={}))
        return texts


def or_fail(cell: Cell, looked_up: Cell) -> Cell:
    """The cell, where `looked_up` is there; a row with a value that no table has fails the query."""
    return F.when(looked_up.isNotNull(), cell).otherwise(F.raise_error(F.lit(ANOTHER_TABLE)))


def _watched(frame: DataFrame, words: Sequence[str], observation: Observation | None) -> DataFrame:
    if not words or observation is None:
        return frame
    return frame.observe(observation, *sums(words)).drop(*words)
