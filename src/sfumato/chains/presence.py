"""The presence of people in earlier releases of a table that they may leave, checked before anything else.

Which release a row was in is declared: by the batches it came and left with, or by marks of people. Rows at
hand that were in a release, recoded as they were then, give no group more than was published of it, and none
is missing, unless people are told by their key and somebody who is absent has left. Only counts of earlier
releases are used after that, so nothing has to be known of somebody who is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.alike_people import alike_rows
from sfumato.chains.departures import Component, LivingChain, Pair, fixed_columns
from sfumato.chains.history import (
    NEW_CHAIN,
    refuse_gaps,
    refuse_rewritten_people,
    refuse_several_rows,
    refuse_unnamed,
)
from sfumato.chains.other_columns import on_table_columns
from sfumato.chains.person_versions import CAME, LEFT, WAITS, RowPresence, batch_marks, link_versions
from sfumato.chains.presence_cells import PlacedRows, PresenceTargets
from sfumato.chains.shown_rows import classes_in, refuse_lost_rows
from sfumato.core.chain import ClassTable, PresentTrees
from sfumato.core.errors import BadData, RefusedByHistory
from sfumato.core.imprint import Imprint, KeyImprint, grouped
from sfumato.core.known_departures import KnownDepartures
from sfumato.core.leavers import Leavers
from sfumato.core.marks import Marks, matching, numbered_together
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.core.promise import Cuts
from sfumato.core.recoding import classes_under
from sfumato.core.taxonomy import Taxonomy


@dataclass(frozen=True)
class LivingTerms:
    """What a promise says of people who come and go: the columns that tell it, and what is known of it."""

    leavers: Leavers
    since: str | None = None
    until: str | None = None
    person: str | None = None
    returns: bool = False
    moves: tuple[str, ...] = ()
    corrected: bool = False

    @property
    def batch_column(self) -> str | None:
        return self.since or self.person

    @property
    def known(self) -> tuple[object, ...]:
        """What has to stay the same in a chain."""
        return KnownDepartures(self.leavers, (), self.returns, self.moves, self.corrected).terms


@dataclass(frozen=True, eq=False)
class LivingHistory:
    """A table of the people who are in now, beside earlier releases.

    `releases` are these on the table's trees, oldest first; `value` numbers the matching value of every
    distinct row. `present[i]` says which rows are about people who were in release i; `class_in[i]` is their
    class there (-1 where they were not in it, or where that is not known any more), and `kept[i]` which of
    them had the same matching value. `others` are the key columns that only earlier releases show: they are
    at their roots in this one.
    """

    table: Microdata
    terms: LivingTerms
    releases: tuple[ClassTable, ...]
    value: Codes
    values: int
    present: tuple[NDArray[np.bool_], ...]
    class_in: tuple[Codes, ...]
    kept: tuple[NDArray[np.bool_], ...]
    shared: dict[Pair, Counts]
    others: tuple[KeyImprint, ...] = ()

    @classmethod
    def of(cls, table: Microdata, earlier: Sequence[Imprint], terms: LivingTerms) -> LivingHistory:
        """The history of a table; raises where a precondition fails."""
        _refuse_unnamed_rows(table, terms)
        refuse_gaps(earlier)
        for i, imprint in enumerate(earlier):
            _refuse_other_terms(imprint, terms, i)
        if terms.since is None and terms.person is not None:
            refuse_rewritten_people(table, earlier, terms.person)
        unchanged, others, alike = on_table_columns(table, earlier)
        value = matching(table, unchanged)
        gone = None if table.departed is None else matching(table.departed, unchanged)
        more = [] if gone is None else [gone.marks]
        numbers, values = numbered_together([value.marks, *more, *(i.values for i in alike)])
        named = zip(alike, numbers[1 + len(more) :], strict=True)
        trees = [*(c.taxonomy for c in table.keys), *(key.tree for key in others)]
        marks = [*(None for _ in table.keys), *(key.marks for key in others)]
        present = PresentTrees(trees, marks)
        releases = tuple(present.place(imprint, number) for imprint, number in named)
        own = numbers[0][value.ids]
        all_values = (own, *(() if gone is None else (numbers[1][gone.ids],)))
        rows = RowPresence.of(table, earlier, terms.since, terms.until, terms.person)
        fixed = [j for j, c in enumerate(table.keys) if c.name not in terms.moves]
        extra = list(range(len(table.keys), len(trees)))
        refuse_lost_rows(rows, earlier, releases, all_values, fixed if terms.since is None else None)
        linked = link_versions(rows, all_values, terms.moves, terms.corrected, returns=terms.returns)
        unknown_place = bool(others) or (terms.since is None and bool(terms.moves))
        nowhere = tuple(np.full(table.distinct, -1, np.int32) for _ in releases)
        class_in = nowhere if unknown_place else classes_in(linked, releases)
        shared = _shared_before(earlier, releases, trees, terms, fixed + extra)
        return cls(table, terms, releases, own, values, linked.present, class_in, linked.kept, shared, others)

    @cached_property
    def fixed(self) -> list[int]:
        """The key columns that cannot change, by their place."""
        names = [*(c.name for c in self.table.keys), *(key.name for key in self.others)]
        return [j for j, name in enumerate(names) if name not in self.terms.moves]

    @cached_property
    def chain(self) -> LivingChain:
        """The earlier releases."""
        every = [*(c.taxonomy for c in self.table.keys), *(key.tree for key in self.others)]
        trees = tuple(every[j] for j in self.fixed)
        releases = tuple(fixed_columns(release, self.fixed) for release in self.releases)
        return LivingChain(trees, releases, self.terms.leavers, self.shared, self.terms.returns)

    def without(self, rows: NDArray[np.bool_]) -> LivingHistory:
        """The same history, with these distinct rows withheld: their people count as gone."""
        kept = ~rows
        return replace(
            self,
            table=self.table.withholding(rows),
            value=self.value[kept],
            present=tuple(some[kept] for some in self.present),
            class_in=tuple(some[kept] for some in self.class_in),
            kept=tuple(some[kept] for some in self.kept),
        )

    @cached_property
    def targets(self) -> PresenceTargets:
        """Who can be told apart in the earlier releases; what was asked of them is kept."""
        return PresenceTargets(self.chain)

    @cached_property
    def merged(self) -> LivingHistory:
        """The same history, with people counted together who differ in nothing that a release is judged by.

        They have the same values in all columns but identifiers, and were in the same releases, with the same
        classes there. It is the history itself where that is not enough to tell what somebody was before.
        """
        table, first, group = alike_rows(self.table, (*self.present, *self.kept))
        same = (self.value, *self.class_in)
        if not all(np.array_equal(numbers, numbers[first][group]) for numbers in same):
            return self
        return replace(
            self,
            table=table,
            value=self.value[first],
            present=tuple(some[first] for some in self.present),
            class_in=tuple(some[first] for some in self.class_in),
            kept=tuple(some[first] for some in self.kept),
        )

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Which rows are about people who were in no release."""
        found = np.ones(self.table.distinct, dtype=bool)
        for there in self.present:
            found &= ~there
        return found

    def code_of_value(self, name: str) -> Codes:
        """The leaf rank in a column that is published unchanged, by the number of a matching value.

        Values that nobody at hand has are taken for the first: they never count as one more.
        """
        codes = np.zeros(max(1, self.values), np.int32)
        codes[self.value] = self.table.codes(name)
        return codes

    def released(self, cuts: Cuts) -> tuple[ClassTable, Codes]:
        """The release that the table would be under these cuts, and the class of every distinct row."""
        class_of, nodes = classes_under(self.table, cuts)
        owner, values, counts = grouped(self.table, class_of, self.value, len(nodes), self.values)
        node_of = [cuts[c.name].node_of for c in self.table.keys]
        for key in self.others:
            node_of.append(np.zeros(len(key.tree.leaves), np.int32))
            nodes = np.column_stack([nodes, np.zeros(len(nodes), np.int32)])
        return ClassTable(tuple(node_of), nodes, owner, values, counts), class_of

    def shared_with(self, release: ClassTable, class_of: Codes) -> tuple[Counts, ...]:
        """How many people the release would share with each earlier one, as an imprint keeps it."""
        if self.terms.leavers is Leavers.UNKNOWN:
            return ()
        shared, now = [], fixed_columns(release, self.fixed)
        for i, earlier in enumerate(self.chain.releases):
            both = self.present[i] & self.kept[i]
            people = self.table.counts[both]
            if self.terms.leavers is Leavers.TOTAL:
                shared.append(np.array([people.sum()], np.int64))
                continue
            met = Component.of(self.chain.trees, earlier, now)
            sums = np.zeros(max(1, met.count), np.int64)
            np.add.at(sums, met.join_other[class_of[both]], people)
            shared.append(sums[met.join_other])
        return tuple(shared)

    def placed(self, class_of: Codes) -> PlacedRows | None:
        """Where everybody in the table is and was; `None` where that is not known of all releases.

        Whoever was corrected is left out: nobody with one value is in both of their classes because of them.
        """
        if self.others or (self.terms.since is None and self.terms.moves):
            return None
        earlier, changed = self._placed_before
        return earlier.followed_by(np.where(changed, np.int32(-1), class_of))

    @cached_property
    def _placed_before(self) -> tuple[PlacedRows, NDArray[np.bool_]]:
        """Where everybody in the table was in the earlier releases, and who was corrected since one."""
        changed = np.zeros(self.table.distinct, dtype=bool)
        for there, same in zip(self.present, self.kept, strict=True):
            changed |= there & ~same
        return PlacedRows(tuple(np.where(changed, np.int32(-1), some) for some in self.class_in)), changed

    def batches(self, earlier: Sequence[Imprint]) -> Marks | None:
        """The marks of all batches so far; `None` where people are told by their key.

        A batch that is held back was not published, though people may leave with it.
        """
        since, until = self.terms.since, self.terms.until
        if since is None:
            return None
        waiting = set() if self.table.withheld is None else set(_labels(self.table.withheld, since))
        came = [label for label in _labels(self.table.with_departed, since) if label not in waiting]
        left = [] if until is None else _labels(self.table.with_departed, until)
        found = [batch_marks(came, CAME), batch_marks(left, LEFT), batch_marks(sorted(waiting), WAITS)]
        return np.unique(np.concatenate([*(i.batches for i in earlier[-1:]), *found]), axis=0)


def _labels(table: Microdata, name: str) -> list[str]:
    """The texts of a column that rows have."""
    labels = table.column(name).taxonomy.leaf_labels
    used = [labels[code] for code in np.unique(table.codes(name)).tolist()]
    return [label for label in used if label is not None]


def _refuse_unnamed_rows(table: Microdata, terms: LivingTerms) -> None:
    refuse_several_rows(table)
    if terms.since is not None:
        refuse_unnamed(table, terms.since, person=False)
    if terms.person is not None:
        refuse_unnamed(table, terms.person, person=True)


def _refuse_other_terms(imprint: Imprint, terms: LivingTerms, i: int) -> None:
    """Refuse to go on where an earlier release was made under another assumption.

    A chain that nobody has left goes on as one whose departures are counted: that is the same knowledge.
    """
    if imprint.since != terms.batch_column:
        raise RefusedByHistory(
            "an earlier release was told by another column which rows are new",
            remedy=f"Keep the promise's `since` or `person`, {NEW_CHAIN}.",
        )
    plain = KnownDepartures(Leavers.COUNTED).terms
    known = plain if imprint.departures is None else imprint.departures.terms
    if known != terms.known:
        raise RefusedByHistory(
            f"release {i + 1} was made for somebody who knows something else of departures",
            where="leavers, returns, moves and corrected",
            remedy=f"Keep them as they were, {NEW_CHAIN}.",
        )


def _shared_before(
    earlier: Sequence[Imprint],
    releases: Sequence[ClassTable],
    trees: Sequence[Taxonomy],
    terms: LivingTerms,
    fixed: Sequence[int],
) -> dict[Pair, Counts]:
    """How many people earlier releases share, as their imprints say; all, where nobody could leave."""
    if terms.leavers is Leavers.UNKNOWN:
        return {}
    found: dict[Pair, Counts] = {}
    for i, j in combinations(range(len(earlier)), 2):
        said = earlier[j].departures
        if said is None:
            met = Component.of(
                [trees[c] for c in fixed],
                fixed_columns(releases[i], fixed),
                fixed_columns(releases[j], fixed),
            )
            sums = np.zeros(max(1, met.count), np.int64)
            np.add.at(sums, met.component, met.held_one)
            found[i, j] = sums[met.join_other]
            continue
        place = earlier[j].after.index(earlier[i].digest) if earlier[i].digest in earlier[j].after else -1
        if place < 0 or place >= len(said.shared):
            raise BadData(
                "the imprint of a release is damaged: it does not say how many people it shares with others",
                remedy="Restore it from a backup.",
            )
        found[i, j] = said.shared[place]
    return found
