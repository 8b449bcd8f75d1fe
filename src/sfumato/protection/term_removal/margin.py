"""A margin against whoever knows that no more was removed than had to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.recoding import Recoding
from sfumato.protection.term_removal.one_class import Terms

if TYPE_CHECKING:
    from sfumato.protection.term_removal.phase import TermPart

TRIES = 4


def with_margin(
    recoding: Recoding, part: TermPart, gone: Mapping[int, Terms], share: float, *, seed: int | None = None
) -> dict[int, Terms]:
    """Remove each remaining term with the probability `share`, where the promise still holds.

    Every class takes part, also those that needed no removal, so that a removal alone says nothing. A class
    that would break the promise is dealt with anew, a few times; if it still would, it gets none. Without a
    `seed` chance comes from the system: it must not be repeatable by outsiders.
    """
    rng = np.random.default_rng(seed)
    sets = part.sets
    found = dict(gone)
    owner = recoding.class_of[sets.row]
    waiting = np.ones(recoding.count, bool)
    for _ in range(TRIES):
        tried = dict(found)
        for row in np.flatnonzero((owner >= 0) & waiting[owner]).tolist():
            terms = sets.terms[sets.code[row]]
            lost = set(gone.get(row, ()))
            more = {
                t for t, chance in zip(terms, rng.random(len(terms)).tolist(), strict=True) if chance < share
            }
            if more - lost:
                tried[row] = tuple(t for t in terms if t in more | lost)
        holds = part.judged(recoding, tried)
        settled = waiting & holds
        found |= {row: terms for row, terms in tried.items() if settled[owner[row]]}
        waiting &= ~holds
        if not waiting.any():
            break
    return found
