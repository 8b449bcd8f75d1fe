"""Surviving histograms: the sensitive values of the candidates that targets keep, as classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.history import History
from sfumato.core.classes import Classes, histogram
from sfumato.core.microdata import Codes, Counts


def surviving_histograms(
    history: History,
    owner: NDArray[np.integer],
    values: Codes,
    counts: Counts,
    count: int,
    *,
    columns: Sequence[str] | None = None,
) -> Classes:
    """One class per target: the candidates that it keeps, with their values in sensitive columns.

    Entry e says that target `owner[e]` keeps `counts[e]` records with the matching value `values[e]`. There
    are `count` targets. Histograms are of these columns, by default of every sensitive one.
    """
    table = history.table
    histograms = {}
    for name in [c.name for c in table.sensitive] if columns is None else columns:
        tree = table.column(name).taxonomy
        overall = np.zeros(max(1, len(tree.leaves)), np.int64)
        np.add.at(overall, table.codes(name), table.counts)
        codes = history.code_of_value(name)[values]
        histograms[name] = histogram(tree, owner, codes, counts, count, overall=overall)
    people = np.zeros(count, np.int64)
    np.add.at(people, owner, counts)
    return Classes(people, people, histograms)
