"""The rows of people who are to be erased, told by batches: which earlier releases hold how many of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.person_versions import RowPresence
from sfumato.core.errors import RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Microdata
from sfumato.core.taxonomy import Label


def rows_by_release(
    table: Microdata,
    earlier: Sequence[Imprint],
    keys: Sequence[str],
    *,
    person: str,
    since: str,
    until: str | None,
) -> tuple[list[int], int]:
    """Returns how many rows each release holds of people with these keys, and how many of them there are.

    The table is whole: their rows are still in it, and nobody else's are missing. Raises `RefusedByHistory`
    where a release holds more or fewer rows than the table and those who were erased before give.
    """
    whole = table.whole
    (there,) = RowPresence.of(whole, earlier, since, until, None).there
    _refuse_missing(whole, earlier, there)
    labels = {label: code for code, label in enumerate(whole.column(person).taxonomy.leaf_labels)}
    codes = np.array([labels[key] for key in keys if key in labels], np.int64)
    wanted = np.isin(whole.codes(person), codes)
    return [int(whole.counts[inside & wanted].sum()) for inside in there], len(codes)


def named_by_release(
    table: Microdata,
    earlier: Sequence[Imprint],
    rows: Sequence[tuple[Label, ...]],
    *,
    since: str,
    until: str | None,
) -> list[int]:
    """Returns how many of some rows each release holds: of each the batch it came with and left with.

    Raises as `rows_by_release` does.
    """
    whole = table.whole
    _refuse_missing(whole, earlier, RowPresence.of(whole, earlier, since, until, None).there[0])
    names = [since, *([until] if until else [])]
    columns = [whole.column(name) for name in names]
    codes = [
        np.array([column.taxonomy.rank(row[j]) for row in rows], np.int32) for j, column in enumerate(columns)
    ]
    some = Microdata.of_codes(columns, codes)
    (there,) = RowPresence.of(some, earlier, since, until, None).there
    return [int(some.counts[inside].sum()) for inside in there]


def _refuse_missing(whole: Microdata, earlier: Sequence[Imprint], there: Sequence[NDArray[np.bool_]]) -> None:
    """Raises where a release holds more or fewer rows than the table and those who were erased give."""
    for i, (imprint, inside) in enumerate(zip(earlier, there, strict=True)):
        held = int(whole.counts[inside].sum())
        if held + imprint.erased != imprint.rows:
            raise RefusedByHistory(
                f"release {i + 1} holds {imprint.rows} rows, of which {imprint.erased} were erased, and the"
                f" table has {held} of them",
                remedy="Give the whole table: rows of whoever was erased before are deleted, all others are"
                " in it, also of people who left.",
            )
