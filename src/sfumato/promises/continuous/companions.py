"""Companions: people who are withheld from a release so that nobody stands alone beside earlier ones.

Whoever was published and is withheld has left, as far as anybody can tell. One with a value of which the
release holds more than an earlier one raises the spare exchange of both by one, any other raises the gap of
their own value: so a leaver gets candidates. Somebody who is new, or whose class is too small, is withheld
with whoever shares their part of it, until nobody can be there at all. What is found is a proposal: the
release without these people is searched, proved and judged like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.departures import Component, fixed_columns
from sfumato.chains.presence import LivingHistory
from sfumato.chains.presence_cells import PresenceTargets
from sfumato.core.chain import ClassTable
from sfumato.core.cut import Cut
from sfumato.core.leavers import Leavers
from sfumato.core.marks import joined_marks
from sfumato.core.microdata import Codes, Counts
from sfumato.core.withholding import Withholding

Truths = NDArray[np.bool_]

MOST_ROUNDS = 12
"""So often people are added for one recoding, then it is given up."""
MOST_TARGETS = 64
"""So many targets are mended in one round."""
MOST_PUT_BACK = 64
"""Of so many people at most it is asked, one by one, whether they may be published after all."""
MOST_LOOKS = 20_000_000
"""Rows times releases that are looked at for one table; then nobody more is withheld."""


@dataclass(frozen=True, eq=False)
class ShortTarget:
    """A target with fewer than k candidates: the releases it is in, its classes there, and its values."""

    presence: tuple[int, ...]
    classes: tuple[int, ...]
    values: Codes
    left: Counts
    lacking: int


@dataclass(frozen=True, eq=False)
class ProposedRelease:
    """A release under some cuts, without some rows: its targets, and the class of every row (-1: none)."""

    targets: PresenceTargets
    class_of: Codes

    @property
    def newest(self) -> int:
        return len(self.targets.chain) - 1

    def components(self, i: int) -> Component:
        """The components of the release with an earlier one."""
        chain = self.targets.chain
        return Component.of(chain.trees, chain.releases[i], chain.releases[-1])

    def short_targets(self, k: int) -> Iterator[ShortTarget]:
        """Yields targets that keep too few candidates.

        Where departures are unknown the release tells nothing of people who are not in it.
        """
        chain = self.targets.chain
        every = chain.presences
        if chain.leavers is Leavers.UNKNOWN:
            every = [presence for presence in every if presence[-1] == self.newest]
        for cells in self.targets.all_cells(only=every):
            start = cells.table.start
            few = np.flatnonzero((cells.candidates > 0) & (cells.candidates < k))
            for c in few[:MOST_TARGETS].tolist():
                part = slice(int(start[c]), int(start[c + 1]))
                classes = tuple(int(q) for q in cells.classes[c])
                lacking = k - int(cells.candidates[c])
                values, left = cells.table.values[part], cells.table.counts[part]
                yield ShortTarget(cells.presence, classes, values, left, lacking)


class Companions(Withholding):
    """Finds people to withhold from a release of a table beside earlier ones.

    `published` says that people who are in earlier releases may be withheld, too: then they are told by a
    key. Newcomers are withheld one by one where a key tells them, and otherwise batch by batch, so that the
    batch has a label that was never published. People are taken in the order of a hash of their key and of
    the table: who is withheld tells nothing of why.
    """

    def __init__(self, history: LivingHistory, k: int, *, published: bool) -> None:
        self.history, self.k = history, k
        self.published = published
        self._earlier = PresenceTargets(history.chain)
        self._left = MOST_LOOKS
        self._known: dict[tuple[bytes, ...], Truths | None] = {}

    def rows(self, cuts: Mapping[str, Cut], most: int) -> Truths | None:
        key = tuple(cuts[c.name].node_of.tobytes() for c in self.history.table.keys)
        if key not in self._known:
            self._known[key] = self._found(cuts)
        found = self._known[key]
        return found if found is not None and self._people(found) <= most else None

    def _people(self, rows: Truths) -> int:
        return int(self.history.table.counts[rows].sum())

    def _found(self, cuts: Mapping[str, Cut]) -> Truths | None:
        """The rows to withhold under these cuts: the fewer of two ways, less whoever can be put back.

        Newcomers who are too few wait, or somebody who stayed is withheld, so that more may be new.
        """
        ways = (False, True) if self.published else (False,)
        found = [rows for way in ways if (rows := self._repaired(cuts, exchange=way)) is not None]
        return min(found, key=self._people, default=None)

    def _repaired(self, cuts: Mapping[str, Cut], *, exchange: bool) -> Truths | None:
        """The rows to withhold; with `exchange`, people who stayed are withheld for newcomers."""
        rows = np.zeros(self.history.table.distinct, dtype=bool)
        for _ in range(MOST_ROUNDS):
            seen = self._look(cuts, rows)
            if seen is None:
                return None
            short = list(seen.short_targets(self.k))
            if not short:
                return self._put_back(cuts, rows)
            more = self._mended(seen, short, rows, exchange=exchange)
            if more is None or np.array_equal(more, rows) or more.all():
                return None
            rows = more
        return None

    def _look(self, cuts: Mapping[str, Cut], rows: Truths) -> ProposedRelease | None:
        """The release without these rows; `None` where enough was looked at."""
        self._left -= len(rows) * (1 + len(self.history.releases))
        if self._left < 0:
            return None
        history = self.history.without(rows)
        release, class_of = history.released(cuts)
        shared = history.shared_with(release, class_of)
        now = fixed_columns(release, history.fixed)
        whole = np.full(len(rows), -1, np.int32)
        whole[~rows] = class_of
        return ProposedRelease(self._earlier.followed_by(now, shared), whole)

    def _put_back(self, cuts: Mapping[str, Cut], rows: Truths) -> Truths:
        """The rows, less those without which everybody keeps k candidates all the same."""
        batches = np.unique(self._batch[rows])
        if len(batches) > MOST_PUT_BACK:
            return rows
        last = np.full(int(self._batch.max(initial=-1)) + 1, -1, np.int64)
        np.maximum.at(last, self._batch, self._order)
        for batch in batches[np.argsort(-last[batches], kind="stable")].tolist():
            fewer = rows & (self._batch != batch)
            seen = self._look(cuts, fewer)
            if seen is None:
                return rows
            if next(seen.short_targets(self.k), None) is None:
                rows = fewer
        return rows

    def _mended(
        self, seen: ProposedRelease, short: Sequence[ShortTarget], rows: Truths, *, exchange: bool
    ) -> Truths | None:
        """The rows and more, for those who are in the release or, if all of these have enough, who left."""
        newest = seen.newest
        inside = [t for t in short if t.presence[-1] == newest and not (exchange and t.presence == (newest,))]
        more = rows.copy()
        for target in inside[:MOST_TARGETS] or short[:MOST_TARGETS]:
            added = self._without_target(seen, target) if inside else self._exchanged(seen, target, more)
            if added is None:
                return None
            more |= np.isin(self._batch, self._batch[added])
        return more

    def _without_target(self, seen: ProposedRelease, target: ShortTarget) -> Truths | None:
        """Rows without which fewer people can be the target; `None` where they may not be withheld.

        First those who are, then those of the same component who are in as many releases, then everybody who
        shows as much.
        """
        history, now = self.history, seen.class_of >= 0
        here = seen.class_of == target.classes[-1]
        alike = now & (history.is_new if len(target.presence) == 1 else ~history.is_new)
        really = here & alike
        for j, q in zip(target.presence[:-1], target.classes[:-1], strict=True):
            really &= history.class_in[j] == q
        around = alike & self._in_component(seen, target)
        known = history.terms.leavers is not Leavers.UNKNOWN
        held = here & np.isin(history.value, target.values)
        for rows in (really, *((around,) if known else ()), held):
            if rows.any() and (self.published or not np.any(rows & ~history.is_new)):
                return rows
        return None

    def _in_component(self, seen: ProposedRelease, target: ShortTarget) -> Truths:
        """Which rows are in the component of the target with some release, its own or an earlier one."""
        found = np.zeros(len(seen.class_of), dtype=bool)
        class_of = np.maximum(seen.class_of, 0)
        for i in range(seen.newest):
            met = seen.components(i)
            if target.presence[-1] == seen.newest:
                found |= met.join_other[class_of] == met.join_other[target.classes[-1]]
            elif i == target.presence[-1]:
                found |= met.join_other[class_of] == met.join_one[target.classes[-1]]
        return found & (seen.class_of >= 0)

    def _exchanged(self, seen: ProposedRelease, target: ShortTarget, rows: Truths) -> Truths | None:
        """The rows of some who stayed: more people may then have left, or come, than before."""
        if not self.published:
            return None
        chain, last = seen.targets.chain, target.presence[-1]
        other = last if last < seen.newest else seen.newest - 1
        if other < 0:
            return None
        pool = (seen.class_of >= 0) & ~rows & self.history.present[other]
        raising = _raises_spare(seen, other, self.history.value)
        inside = self._in_component(seen, target)
        unsaturated = self._unsaturated(chain.releases[last], target)
        own = inside & np.isin(self.history.value, unsaturated)
        if last < seen.newest:
            pool &= own | (raising & (inside if chain.leavers is Leavers.COUNTED else True))
        else:
            pool &= raising & (inside if chain.leavers is Leavers.COUNTED else True)
        if not pool.any():
            return None
        order = np.lexsort((self._order, ~raising))
        each = max(1, len(unsaturated)) if bool(raising[pool].any()) else 1
        chosen = order[pool[order]][: -(-target.lacking // each)]
        found = np.zeros(len(pool), dtype=bool)
        found[chosen] = True
        return found

    def _unsaturated(self, release: ClassTable, target: ShortTarget) -> Codes:
        """The values of which the target's class has more rows than can be of somebody who left."""
        begin, end = release.start[target.classes[-1]], release.start[target.classes[-1] + 1]
        values, counts = release.values[begin:end], release.counts[begin:end]
        left = np.zeros(len(values), np.int64)
        left[np.searchsorted(values, target.values)] = target.left
        found: Codes = values[left < counts]
        return found

    @cached_property
    def _batch(self) -> Codes:
        """The rows that are withheld together: of a person or, where no key tells people, of a batch."""
        table, terms = self.history.table, self.history.terms
        if terms.since is not None:
            return table.codes(terms.since)
        return np.arange(table.distinct, dtype=np.int32)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The place of every row in the order of a keyed hash of whom it is about."""
        table, column = self.history.table, self.history.terms.batch_column
        labels = [] if column is None else [(table.column(column).taxonomy.leaf_labels, table.codes(column))]
        key = ([table.digest], np.zeros(table.distinct, np.int32))
        marks = joined_marks([key, *labels], table.distinct)
        place = np.empty(table.distinct, np.int64)
        place[np.lexsort((marks[:, 1], marks[:, 0]))] = np.arange(table.distinct)
        return place


def _raises_spare(seen: ProposedRelease, i: int, value: Codes) -> Truths:
    """Which rows have a value of which the release holds more, in their component, than release i does."""
    met, now = seen.components(i), seen.targets.chain.releases[-1]
    width = 1 + int(max(now.values.max(initial=0), value.max(initial=0)))
    known = now.owner.astype(np.int64) * width + now.values
    asked = seen.class_of.astype(np.int64) * width + value
    at = np.minimum(np.searchsorted(known, asked), max(0, len(known) - 1))
    more = met.held_other[met.key_other] > met.held_one[met.key_other]
    if not len(known):
        return np.zeros(len(value), dtype=bool)
    found: Truths = (known[at] == asked) & more[at]
    return found
