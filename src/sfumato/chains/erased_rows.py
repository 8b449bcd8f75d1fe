"""The rows of people who are to be erased, told by batches: which earlier releases hold how many of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.chains.history import came_with
from sfumato.core.errors import RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.core.taxonomy import Label


def rows_by_release(
    table: Microdata, earlier: Sequence[Imprint], keys: Sequence[str], *, person: str, since: str
) -> tuple[list[int], int]:
    """Returns how many rows each release holds of people with these keys, and how many of them there are.

    The table is whole: their rows are still in it, and nobody else's are missing. Raises `RefusedByHistory`
    where a release holds more or fewer rows than the table and those who were erased before give.
    """
    came = came_with(table, earlier, since)
    _refuse_missing(table, earlier, came)
    labels = {label: code for code, label in enumerate(table.column(person).taxonomy.leaf_labels)}
    codes = np.array([labels[key] for key in keys if key in labels], np.int64)
    wanted = np.isin(table.codes(person), codes)
    return _rows_in_each(came[wanted], table.counts[wanted], len(earlier)), len(codes)


def named_by_release(
    table: Microdata, earlier: Sequence[Imprint], rows: Sequence[tuple[Label, ...]], *, since: str
) -> list[int]:
    """Returns how many of some rows each release holds: of each the batch it came with.

    Raises as `rows_by_release` does.
    """
    came, column = came_with(table, earlier, since), table.column(since)
    _refuse_missing(table, earlier, came)
    of_batch = np.full(len(column.taxonomy.leaves), len(earlier), np.int32)
    of_batch[table.codes(since)] = came
    codes = np.array([column.taxonomy.rank(batch) for (batch,) in rows], np.int32)
    return _rows_in_each(of_batch[codes], np.ones(len(codes), np.int64), len(earlier))


def _rows_in_each(came: Codes, counts: Counts, releases: int) -> list[int]:
    """Returns how many rows each release holds: it holds all that came with it, and before it."""
    return [int(counts[came <= i].sum()) for i in range(releases)]


def _refuse_missing(table: Microdata, earlier: Sequence[Imprint], came: Codes) -> None:
    """Raises where a release holds more or fewer rows than the table and those who were erased give."""
    for i, (imprint, held) in enumerate(
        zip(earlier, _rows_in_each(came, table.counts, len(earlier)), strict=True)
    ):
        if held + imprint.erased != imprint.rows:
            raise RefusedByHistory(
                f"release {i + 1} holds {imprint.rows} rows, of which {imprint.erased} were erased, and the"
                f" table has {held} of them",
                remedy="Give the whole table: rows of whoever was erased before are deleted, all others are"
                " in it.",
            )
