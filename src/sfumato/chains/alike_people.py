"""People who are alike: rows that differ in nothing that a release is judged by, counted together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Codes, Column, Microdata, Role
from sfumato.core.packing import Packing, order_of_keys
from sfumato.core.taxonomy import Taxonomy

Truths = NDArray[np.bool_]
MOST_PATTERNS = 1 << 58
"""Presences are numbered anew where their numbers grow beyond this."""


def alike_rows(
    table: Microdata, facts: Sequence[Truths]
) -> tuple[Microdata, NDArray[np.intp], NDArray[np.intp]]:
    """A table without identifiers, a given row for each of its rows, and the row of every given one.

    Rows are alike if they have the same values in all columns but identifiers, and the same facts.
    """
    seen = _numbered(facts, table.distinct)
    patterns = Taxonomy.flat([str(n) for n in range(int(seen.max(initial=0)) + 1)])
    columns = [c for c in table.columns if c.role is not Role.IDENTIFIER]
    codes = [*(table.codes(c.name) for c in columns), seen]
    columns.append(Column("\0presence", Role.IDENTIFIER, patterns))
    packing = Packing(tuple(max(1, len(c.taxonomy.leaves)) for c in columns))
    order, fresh = order_of_keys(packed := packing.pack(codes))
    first, group = order[fresh], np.empty(table.distinct, np.intp)
    group[order] = np.cumsum(fresh) - 1
    counts = np.zeros(len(first), np.int64)
    np.add.at(counts, group, table.counts)
    words = np.ascontiguousarray(packed[:, first])
    return Microdata(tuple(columns), packing, words, counts), first, group


def _numbered(facts: Sequence[Truths], rows: int) -> Codes:
    """A number per row, equal where all facts are."""
    found = np.zeros(rows, np.int64)
    for fact in facts:
        found = found * 2 + fact
        if int(found.max(initial=0)) > MOST_PATTERNS:
            found = np.unique(found, return_inverse=True)[1].ravel().astype(np.int64)
    return np.unique(found, return_inverse=True)[1].ravel().astype(np.int32)
