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
from pyspark.sql import Column as Cell
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from sfumato.core.packing import Packing
from sfumato.core.taxonomy import Label
from sfumato.engine.spark import checksum
from sfumato.engine.spark.errors import ANOTHER_TABLE
from sfumato.engine.spark.lookups import bitwise_or
from sfumato.engine.spark.part_bounds import PartBounds

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
        self, *, words: Sequence[str] = (), seen: Observation | None = None, bounds: PartBounds | None = None
    ) -> DataFrame:
        """All rows in canonical order, in columns p0, p1, …; the checksum of `words` is `seen` on the way.

        Without `bounds` Spark draws a sample of the rows first, to find out where parts may begin; they are
        then seen twice before they are in order, and once after.
        """
        taken, by = self._moved()
        if bounds is None:
            frame = _watched(self.frame.select(*taken, *words).orderBy(*by), words, seen)
        else:
            lead = [self.ranked[name].rank for name in list(self.cells)[: bounds.columns]]
            part = bounds.part(lead).alias("part")
            frame = _watched(self.frame.select(*taken, part, *words), words, seen)
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
                held: list[list[Cell]] = [[] for _ in range(packing.words)]
                for own, (word, shift, _) in zip(run, packing.places, strict=True):
                    held[word].append(F.shiftleft(self.ranked[own].rank, shift))
                packed = [bitwise_or(cells) for cells in held]
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


def _watched(frame: DataFrame, words: Sequence[str], seen: Observation | None) -> DataFrame:
    if not words or seen is None:
        return frame
    return frame.observe(seen, *checksum.sums(words)).drop(*words)
