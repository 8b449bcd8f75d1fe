"""Bounds of the parts of a sorted table, taken from the plan so that Spark need not sample the rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import Column as Cell
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sfumato.core.packing import Packing
from sfumato.core.recoding import Recoding
from sfumato.engine.spark.lookups import bitwise_or

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
