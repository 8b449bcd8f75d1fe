"""Guesses: the chance that others, who made up what they did not hold, would get somebody charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.imprint import Imprint
from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Microdata
from sfumato.core.reading_tree import UNKNOWN
from sfumato.tracing.chance import LEAST_STATED, chance_of_at_least, upper_limit
from sfumato.tracing.content import rows_held_by, rows_in_original
from sfumato.tracing.evidence import LeakEvidence
from sfumato.tracing.leak import Flags, Leak
from sfumato.tracing.versions import HeldVersion

GUESSERS = 4
"""So many of those who would have to guess the fewest columns are looked at."""
SAMPLED_ROWS, DRAWS = 100, 30
"""The chance of a hit is told from so many rows, with so many guesses for each."""
COMPARED_VERSIONS = 4
"""A guess hits if so many versions of an event, at most, hold a record for it."""
GUESS_FACTOR = 2
"""A guesser's chance is stated so many times as large as the assumptions give it."""
DOUBT = 0.05
"""Guesses that hit as often as a leak with a larger chance than this are possible; nobody is charged if also
some rows miss, or if a column may be one that is published unchanged: its values are guesses of a key's."""

Told = Sequence[NDArray[np.bool_]]
"""Per column: who is told which text, by the cuts of their versions."""


@dataclass(frozen=True)
class GuessChance:
    """The chance that somebody else, who guessed some columns, would have got the charged one charged.

    The others hold everything but the `columns`, and know these as coarse as they hold them. A guess is drawn
    from the different combinations that the leak shows for rows which look alike to a guesser. Of `rows`
    different rows with a choice, `fitting` fit a record; a guess fits with the chance `by_accident` at most.
    Stated is twice the chance of so many fits, and 1 where no row leaves a choice.
    """

    probability: float
    columns: tuple[str, ...]
    rows: int
    fitting: int
    by_accident: float

    @property
    def possible(self) -> bool:
        """Whether guesses would hit as often as the leak does with a chance that is not small."""
        return self.probability > DOUBT

    @property
    def likely(self) -> bool:
        """Whether the leak looks like guesses: some rows miss, and no more hit than would by accident."""
        return self.fitting < self.rows and self.possible

    def as_dict(self) -> JsonObject:
        return {**vars(self), "columns": list(self.columns)}


def guess_chance(
    evidence: LeakEvidence,
    charged: str,
    c_max: int,
    known: Sequence[tuple[HeldVersion, Imprint]],
    original: Microdata | None,
) -> GuessChance | None:
    """Returns the largest chance of several groups of guessers; `None` where there is nobody else.

    `known` are versions with their imprints: of every event those that show the whole table, if any does.
    """
    recipients = evidence.knowledge.issued.recipients
    others = [i for i, name in enumerate(recipients) if name != charged]
    rows = evidence.leak.legible & ~evidence.finer & ~evidence.never_shown
    if not others or not rows.any():
        return None
    told: list[NDArray[np.bool_]] = []
    for (which, sets), codes in zip(evidence.knowledge.columns, evidence.leak.codes, strict=True):
        texts = evidence.knowledge.recipients(sets)[which]
        texts[np.setdiff1d(np.arange(len(texts)), codes[rows])] = True
        told.append(texts)
    lacking = np.stack([~texts[:, others].all(axis=0) for texts in told]).sum(axis=0)
    first = np.argsort(lacking, kind="stable")[:GUESSERS]
    chances = []
    for one in first.tolist():
        group = _joined_by_others(told, others, others[one], c_max)
        chances.append(_chance(evidence, rows, told, group, known, original))
    return max(chances, key=lambda chance: chance.probability)


def _joined_by_others(told: Told, others: Sequence[int], first: int, c_max: int) -> list[int]:
    """Returns a group of guessers: each next one leaves the fewest columns to be guessed."""
    group = [first]
    while len(group) < c_max:
        own = [_told_to(texts, group) for texts in told]
        left = np.stack(
            [~(texts[:, others] | mine[:, None]).all(axis=0) for texts, mine in zip(told, own, strict=True)]
        ).sum(axis=0)
        if left.min() >= sum(not mine.all() for mine in own):
            break
        group.append(others[int(left.argmin())])
    return group


def _told_to(texts: Flags, group: Sequence[int]) -> Flags:
    """Flags the texts that somebody of the group is told."""
    told: Flags = np.logical_or.reduce(texts[:, list(group)], axis=1)
    return told


def _chance(
    evidence: LeakEvidence,
    rows: Flags,
    told: Told,
    group: Sequence[int],
    known: Sequence[tuple[HeldVersion, Imprint]],
    original: Microdata | None,
) -> GuessChance:
    """Returns the chance of one group; what they all were told, and did not hold, they guess altogether."""
    leak = evidence.leak
    beyond = [~_told_to(texts, group)[codes] for texts, codes in zip(told, leak.codes, strict=True)]
    columns = [j for j, missing in enumerate(beyond) if (missing & rows).any()] or list(range(len(beyond)))
    guessed = rows & np.logical_or.reduce(beyond)
    guessed = guessed if guessed.any() else rows
    guesses = _Guesses.of(leak, guessed, columns, _alike(evidence, group, columns))
    tried = guesses.choice
    names = tuple(leak.names[j] for j in columns)
    if not tried.any():
        return GuessChance(1.0, names, 0, 0, 1.0)
    hit = guesses.hits(leak, columns, known, original)
    tries, fits = leak.different(tried), leak.different(tried & evidence.ours)
    chance = GUESS_FACTOR * chance_of_at_least(fits, [(tries, hit)])
    return GuessChance(min(1.0, max(float(LEAST_STATED), chance)), names, tries, fits, hit)


def _alike(evidence: LeakEvidence, group: Sequence[int], columns: Sequence[int]) -> NDArray[np.intp]:
    """Numbers the rows of the leak so that those are equal which look alike to the group in these columns."""
    leak, issued = evidence.leak, evidence.knowledge.issued
    codes = []
    for j in columns:
        shown = [np.zeros(len(leak.texts[j]), np.int32)]
        for v in np.flatnonzero(np.isin(issued.owner, group)).tolist():
            for tree in leak.trees[leak.names[j]]:
                cut, nodes = issued.versions[v].cut_of(tree), leak.nodes(j, tree)
                if cut is not None:
                    shown.append(np.where(nodes == UNKNOWN, 0, tree.node_of(cut)[tree.shape.low[nodes]]))
        _, look = np.unique(np.stack(shown), axis=1, return_inverse=True)
        codes.append(look.ravel()[leak.codes[j]])
    _, alike = np.unique(np.stack(codes), axis=1, return_inverse=True)
    return alike.ravel()


@dataclass(frozen=True, eq=False)
class _Guesses:
    """What could be guessed: every different combination that the leak shows for rows which look alike.

    `pairs[i]` is a row that stands for a combination; those of one look are `start[g] .. start[g + 1]`.
    `own` is the number of a row's combination, `look` its look, and `choice` flags rows with two or more.
    """

    pairs: NDArray[np.intp]
    start: NDArray[np.intp]
    own: NDArray[np.intp]
    look: NDArray[np.intp]
    choice: Flags

    @classmethod
    def of(cls, leak: Leak, rows: Flags, columns: Sequence[int], alike: NDArray[np.intp]) -> _Guesses:
        chosen = np.flatnonzero(rows)
        table = np.stack([alike[chosen], *(leak.codes[j][chosen] for j in columns)])
        distinct, first, which = np.unique(table, axis=1, return_index=True, return_inverse=True)
        looks, start = np.unique(distinct[0], return_index=True)
        own, look = np.zeros(len(rows), np.intp), np.zeros(len(rows), np.intp)
        own[chosen] = which.ravel()
        look[chosen] = np.searchsorted(looks, alike[chosen])
        ends = np.append(start, distinct.shape[1])
        choice = rows & (np.diff(ends)[look] > 1)
        return cls(chosen[first], ends, own, look, choice)

    def hits(
        self,
        leak: Leak,
        columns: Sequence[int],
        known: Sequence[tuple[HeldVersion, Imprint]],
        original: Microdata | None,
    ) -> float:
        """Returns an upper limit of the chance that a guess fits a record; what the row shows always does."""
        rng, pool = np.random.default_rng(1), np.flatnonzero(self.choice)
        rows = np.repeat(rng.choice(pool, min(len(pool), SAMPLED_ROWS), replace=False), DRAWS)
        begin, end = self.start[self.look[rows]], self.start[self.look[rows] + 1]
        drawn = begin + (rng.random(len(rows)) * (end - begin)).astype(np.intp)
        codes = tuple(own[self.pairs[drawn] if j in columns else rows] for j, own in enumerate(leak.codes))
        guesses = replace(leak, codes=codes, counts=np.ones(len(rows), np.int64), unchanged={})
        return upper_limit((drawn == self.own[rows]) | _fitting(guesses, known, original))


def _fitting(
    guesses: Leak, known: Sequence[tuple[HeldVersion, Imprint]], original: Microdata | None
) -> Flags:
    """Flags the guesses that fit a record of the original, or of the versions of some event."""
    every = np.ones(len(guesses.counts), dtype=bool)
    if original is not None:
        return rows_in_original(guesses, original, every)
    by_event: dict[str, list[Flags]] = {}
    for version, imprint in known:
        held = by_event.setdefault(version.event, [])
        flags = rows_held_by(guesses, version, imprint, every) if len(held) < COMPARED_VERSIONS else None
        if flags is not None:
            held.append(flags)
    found = [np.logical_and.reduce(held) for held in by_event.values() if held]
    fitting: Flags = np.logical_or.reduce(found) if found else every
    return fitting
