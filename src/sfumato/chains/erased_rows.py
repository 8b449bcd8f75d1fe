"""The rows of people who are to be erased, told by batches: which earlier releases hold how many of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.chains.person_versions import RowPresence
from sfumato.core.errors import RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Microdata


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
    labels = {label: code for code, label in enumerate(whole.column(person).taxonomy.leaf_labels)}
    codes = np.array([labels[key] for key in keys if key in labels], np.int64)
    wanted = np.isin(whole.codes(person), codes)
    theirs = []
    for imprint, i, inside in zip(earlier, range(len(earlier)), there, strict=True):
        held = int(whole.counts[inside].sum())
        if held + imprint.erased != imprint.rows:
            raise RefusedByHistory(
                f"release {i + 1} holds {imprint.rows} rows, of which {imprint.erased} were erased, and the"
                f" table has {held} of them",
                remedy="Give the whole table: rows of whoever was erased before are deleted, all others are"
                " in it, also of people who left.",
            )
        theirs.append(int(whole.counts[inside & wanted].sum()))
    return theirs, len(codes)
