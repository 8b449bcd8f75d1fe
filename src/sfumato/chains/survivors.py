"""Surviving histograms: what remains of sensitive values once records are ruled out, as classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.history import History
from sfumato.core.classes import Classes, histogram
from sfumato.core.microdata import Codes, Counts


def surviving(
    history: History, owner: NDArray[np.integer], values: Codes, counts: Counts, count: int
) -> Classes:
    """One class per target: the candidates that somebody keeps there, with their sensitive values.

    Entry e says that target `owner[e]` keeps `counts[e]` records with the matching value `values[e]`.
    """
    histograms = {}
    for name, (tree, code) in history.codes_of_values().items():
        overall = np.zeros(max(1, len(tree.leaves)), np.int64)
        np.add.at(overall, history.table.codes(name), history.table.counts)
        histograms[name] = histogram(tree, owner, code[values], counts, count, overall=overall)
    people = np.zeros(count, np.int64)
    np.add.at(people, owner, counts)
    return Classes(people, people, histograms)
