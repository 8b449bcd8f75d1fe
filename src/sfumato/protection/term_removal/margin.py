"""A margin against whoever knows that no more was removed than had to be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.core.recoding import Recoding
from sfumato.protection.term_removal.one_class import Terms
from sfumato.protection.term_removal.term_column import TermColumn

MOST_TRIES = 4
"""So often terms are drawn anew for classes that would break the promise."""


def with_margin(
    recoding: Recoding,
    column: TermColumn,
    gone: Mapping[int, Terms],
    share: float,
    *,
    seed: int | None = None,
) -> dict[int, Terms]:
    """Removes each remaining term with the probability `share`, where the promise still holds.

    Every class takes part, also those that needed no removal, so that a removal alone says nothing. A class
    that would break the promise is dealt with anew, a few times; if it still would, it gets none. Without a
    `seed` chance comes from the system: it must not be repeatable by outsiders.
    """
    rng = np.random.default_rng(seed)
    sets = column.sets
    removed = dict(gone)
    owner = recoding.class_of[sets.row]
    waiting = np.ones(recoding.count, bool)
    for _ in range(MOST_TRIES):
        tried = dict(removed)
        for row in np.flatnonzero((owner >= 0) & waiting[owner]).tolist():
            terms = sets.terms[sets.code[row]]
            lost = set(gone.get(row, ()))
            more = {
                t for t, chance in zip(terms, rng.random(len(terms)).tolist(), strict=True) if chance < share
            }
            if more - lost:
                tried[row] = tuple(t for t in terms if t in more | lost)
        holds = column.judged(recoding, tried)
        accepted = waiting & holds
        removed |= {row: terms for row, terms in tried.items() if accepted[owner[row]]}
        waiting &= ~holds
        if not waiting.any():
            break
    return removed
