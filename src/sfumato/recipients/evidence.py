"""What the issued versions say about a leak: the recipients that each of its cells may come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.reading_tree import UNKNOWN, ReadingTree
from sfumato.core.taxonomy import ROOT, Nodes
from sfumato.tracing.leak import Flags, Leak
from sfumato.tracing.unchanged import UnchangedColumns
from sfumato.tracing.versions import IssuedVersions

Numbers = NDArray[np.intp]


class Texts(Protocol):
    """Texts of some columns, which trees can read."""

    @property
    def names(self) -> tuple[str, ...]:
        """Our names of the columns."""
        ...

    def nodes(self, column: int, tree: ReadingTree) -> Nodes:
        """Returns the node of every text of a column; UNKNOWN where the tree has none."""
        ...


@dataclass(frozen=True, eq=False)
class RecipientKnowledge:
    """Which versions let their recipients write which texts.

    A version yields a text if it shows the node of the text or finer ones. A version whose pattern is not
    known, or that has no such key column, is taken to yield everything, unless the column is `withheld`:
    known not to be in the version, so that it yields only texts that say nothing.
    """

    issued: IssuedVersions
    texts: Texts
    withheld: frozenset[tuple[int, str]] = frozenset()

    @cached_property
    def columns(self) -> tuple[tuple[Numbers, Flags], ...]:
        """Per column: the distinct sets of versions that yield some text, and which of them each text has."""
        return tuple(self._column(j) for j in range(len(self.texts.names)))

    def _column(self, j: int) -> tuple[Numbers, Flags]:
        """The same of one column; of versions with the same cut of it only one is looked at."""
        name = self.texts.names[j]
        trees = {tree.digest: tree for tree in self.issued.columns[name]}
        read = {digest: self.texts.nodes(j, tree) for digest, tree in trees.items()}
        silent = np.all([nodes == ROOT for nodes in read.values()], axis=0)
        numbers: dict[object, int] = {"all": 0, "nothing": 1}
        yields = [np.ones(len(silent), dtype=bool), silent]
        alike = np.zeros(len(self.issued.versions), np.intp)
        for v, version in enumerate(self.issued.versions):
            if version.cuts is None or name not in version.columns:
                alike[v] = numbers["nothing" if (v, name) in self.withheld else "all"]
                continue
            place = version.columns.index(name)
            digest, cut = kind = version.digests[place], version.cuts[place]
            if kind not in numbers:
                numbers[kind] = len(yields)
                yields.append(trees[digest].knows(cut)[read[digest]] & (read[digest] != UNKNOWN))
            alike[v] = numbers[kind]
        distinct, which = np.unique(np.array(yields), axis=1, return_inverse=True)
        return which.ravel(), distinct.T[:, alike]

    def recipients(self, versions: Flags) -> Flags:
        """Turns sets of versions, one per row, into sets of recipients."""
        order = np.argsort(self.issued.owner, kind="stable")
        first = np.flatnonzero(np.diff(self.issued.owner[order], prepend=-1))
        recipients: Flags = np.logical_or.reduceat(versions[:, order], first, axis=1)
        return recipients

    def demands(self) -> Flags:
        """Returns the sets of recipients of which an explanation of all the texts needs one each."""
        return np.concatenate([self.recipients(sets) for _, sets in self.columns])


@dataclass(frozen=True, eq=False)
class LeakEvidence:
    """A leak compared with the issued versions, as far as their content has been looked at.

    `held[v]` flags the rows of the leak for which version v holds a record that may be their source; a
    version that is not in it, of an event that is not, is assumed to hold all. `real` flags the rows that
    exist in the original, where that was given.

    `unchanged` is what was learned from columns that are published as they are. It sets rows aside, and never
    charges anybody.

    `readings` are other ways to read the leak, in which columns are others than they are called: a cell then
    may also come from whoever could have written it in one of these. Columns that are `uncounted` may be
    anybody's. With `unplaced`, several columns that are published unchanged could not be compared: one of
    them may stand under the name of a key column, and no reading can tell.
    """

    leak: Leak
    knowledge: RecipientKnowledge
    held: Mapping[int, Flags] = field(default_factory=dict)
    real: Flags | None = None
    readings: tuple[LeakEvidence, ...] = ()
    uncounted: frozenset[int] = frozenset()
    unchanged: UnchangedColumns = field(default_factory=UnchangedColumns)
    unplaced: bool = False

    @classmethod
    def of(cls, leak: Leak, issued: IssuedVersions, *, real: Flags | None = None) -> LeakEvidence:
        return cls(leak, RecipientKnowledge(issued, leak), real=real)

    def learn(
        self,
        held: Mapping[int, Flags],
        withheld: frozenset[tuple[int, str]],
        unchanged: UnchangedColumns | None = None,
    ) -> LeakEvidence:
        """Returns the evidence after more versions were looked at."""
        known = self.knowledge
        if withheld - known.withheld:
            known = replace(known, withheld=known.withheld | withheld)
        learned = unchanged or self.unchanged
        return replace(self, held={**self.held, **held}, knowledge=known, unchanged=learned)

    @cached_property
    def existing(self) -> dict[str, Flags]:
        """Per event that was looked at: the rows of the leak that its table holds a record for.

        Such a record is in all versions that show the whole table; where none does, one has to hold it.
        """
        versions = self.knowledge.issued.versions
        existing = {}
        for event in dict.fromkeys(versions[v].event for v in self.held):
            every = [rows for v, rows in self.held.items() if versions[v].event == event]
            whole = [
                rows for v, rows in self.held.items() if versions[v].event == event and versions[v].whole
            ]
            existing[event] = np.logical_and.reduce(whole) if whole else np.logical_or.reduce(every)
        return existing

    @cached_property
    def _holders(self) -> tuple[Numbers, Flags]:
        """The distinct sets of versions that hold a row, and which of them each row has."""
        versions = self.knowledge.issued.versions
        if not self.held:
            return np.zeros(len(self.leak.counts), np.intp), np.ones((1, len(versions)), dtype=bool)
        places = {event: i for i, event in enumerate(self.existing)}
        own = {v: len(places) + i for i, v in enumerate(self.held)}
        rows = np.stack([*self.existing.values(), *self.held.values()], axis=1)
        distinct, which = np.unique(rows, axis=0, return_inverse=True)
        sets = np.ones((len(distinct), len(versions)), dtype=bool)
        for v, version in enumerate(versions):
            if version.event in places:
                sets[:, v] = distinct[:, places[version.event]]
            if v in own:
                sets[:, v] &= distinct[:, own[v]]
        return which.ravel(), sets

    @cached_property
    def _possible_sources(self) -> tuple[tuple[Numbers, Flags], ...]:
        """Per column: the sets of versions that a cell may come from, and which of them each row has."""
        holder, holders = self._holders
        by_column = []
        for (which, sets), codes in zip(self.knowledge.columns, self.leak.codes, strict=True):
            pairs, index = np.unique(which[codes] * len(holders) + holder, return_inverse=True)
            by_column.append((index, sets[pairs // len(holders)] & holders[pairs % len(holders)]))
        return tuple(by_column)

    @cached_property
    def finer(self) -> Flags:
        """Rows with a cell that is finer than in any version: no recipient can have known it."""
        known = np.ones(len(self.leak.counts), dtype=bool)
        for (which, sets), codes in zip(self.knowledge.columns, self.leak.codes, strict=True):
            known &= np.logical_or.reduce(sets, axis=1)[which[codes]]
        return self.leak.legible & ~known

    @cached_property
    def never_shown(self) -> Flags:
        """Rows with texts in unchanged columns that no version shows together."""
        events = frozenset(version.event for version in self.knowledge.issued.versions)
        return self.leak.legible & self.unchanged.never_shown(events, len(self.leak.counts))

    @cached_property
    def foreign(self) -> Flags:
        """Rows that can be read, and are about no record of any version that was looked at.

        Leaving a row aside charges nobody: whoever explains all rows explains the other ones, too.
        """
        rows = len(self.leak.counts)
        held = np.ones(rows, dtype=bool) if self.real is None else self.real
        if self.held and self.real is None:
            every = [there & self.unchanged.may_hold(e, rows) for e, there in self.existing.items()]
            held = np.logical_or.reduce(every)
        for index, sets in self._possible_sources:
            held = held & np.logical_or.reduce(sets, axis=1)[index]
        return self.leak.legible & ~self.finer & ~self.never_shown & ~held

    @cached_property
    def ours(self) -> Flags:
        """The rows that are ours: an explanation must cover each of them."""
        return self.leak.legible & ~self.finer & ~self.never_shown & ~self.foreign

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody who received something that has a column of the leak, in some reading."""
        every = (self.knowledge.issued, *(reading.knowledge.issued for reading in self.readings))
        return tuple(dict.fromkeys(name for issued in every for name in issued.recipients))

    def by_column(self) -> list[Flags]:
        """Returns, per column, the sets of recipients that a cell of a row of ours may come from."""
        return [self._column_sources(j) for j in range(len(self.leak.names))]

    def _column_sources(self, j: int) -> Flags:
        """The same of one column: the distinct sets, each over all readings that a row may have."""
        rows = np.flatnonzero(self.ours)
        if j in self.uncounted:
            return np.ones((min(1, len(rows)), len(self.recipients)), dtype=bool)
        index, sets = self._possible_sources[j]
        sources = [(index[rows], self.knowledge.recipients(sets), self.knowledge.issued.recipients)]
        for other in self.readings:
            nobody, anybody = np.zeros_like(rows), np.ones_like(rows)
            issued = other.knowledge.issued
            sets = np.stack([np.zeros(len(issued.versions), bool), np.ones(len(issued.versions), bool)])
            which = np.where(other.ours[rows], anybody, nobody)
            if j in other.leak.places:
                place = other.leak.places.index(j)
                own, own_sets = other._possible_sources[place]
                sets = np.concatenate([sets[:1], own_sets])
                which = np.where(other.ours[rows], own[rows] + 1, nobody)
            sources.append((which, other.knowledge.recipients(sets), issued.recipients))
        if j in self.unchanged.taken:
            either = np.array([[False], [True]]).repeat(len(self.recipients), axis=1)
            sources.append((self.unchanged.taken[j][rows].astype(np.intp), either, self.recipients))
        return _united(sources, self.recipients)

    def demands(self) -> Flags:
        """Returns the sets of recipients of which an explanation needs one each."""
        return np.concatenate(self.by_column())

    def rows(self, which: Flags) -> int:
        """Counts the rows of the leak that are flagged."""
        return int(self.leak.counts[which].sum())


def _united(sources: Sequence[tuple[Numbers, Flags, tuple[str, ...]]], names: tuple[str, ...]) -> Flags:
    """Returns the distinct unions of sets of recipients: per source which set each row has, sets, members."""
    place = {name: i for i, name in enumerate(names)}
    kinds = np.unique(np.stack([which for which, _, _ in sources]), axis=1)
    united = np.zeros((kinds.shape[1], len(names)), dtype=bool)
    for numbers, (_, sets, members) in zip(kinds, sources, strict=True):
        united[:, [place[name] for name in members]] |= sets[numbers]
    return united


@dataclass(frozen=True, eq=False)
class MarkedTexts:
    """Texts of which only the marks are known."""

    names: tuple[str, ...]
    marks: Sequence[NDArray[np.uint64]]

    def nodes(self, column: int, tree: ReadingTree) -> Nodes:
        return tree.read_marks(self.marks[column])
