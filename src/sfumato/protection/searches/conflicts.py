"""Sources of conflicts for the exact search: what cannot all stay, by every promise (`core.conflicts`)."""

from __future__ import annotations

import numpy as np

from sfumato.core.classes import Classes
from sfumato.core.conflicts import Conflict, Conflicts, below, most_general
from sfumato.core.microdata import Microdata
from sfumato.core.positions import positions
from sfumato.core.promise import Cuts, Promises, TablePromise
from sfumato.core.recoding import classes_under
from sfumato.core.watch import Answer

MOST_AT_ONCE = 8
"""So many broken classes are turned into conflicts at once."""


def conflict_sources(table: Microdata, promises: Promises) -> list[Conflicts]:
    """Returns one source for all class promises, and one for each promise about the table."""
    sources: list[Conflicts] = [p.conflicts(table) or OpaquePromise(table, p) for p in promises.of_table]
    if promises.of_class:
        kind = BrokenPositions if table.profiles else BrokenClasses
        sources.insert(0, kind(table, Promises(promises.of_class)))
    return sources


class BrokenClasses:
    """The classes that break a monotone class promise."""

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self._table, self._promises = table, promises
        self._trees = [c.taxonomy for c in table.keys]
        self._leaves = [c.taxonomy.leaves[table.codes(c.name)] for c in table.keys]

    def of(self, cuts: Cuts) -> list[Conflict]:
        class_of, nodes = classes_under(self._table, cuts)
        classes = Classes.of(self._table, class_of, sensitive=self._promises.sensitive)
        broken = np.flatnonzero(~self._promises.holds_on(classes))
        conflicts: list[Conflict] = []
        for values in nodes[broken[:MOST_AT_ONCE]].astype(np.int64):
            conflicts += most_general(values, self._trees, self._breaks, turns=2)
        return conflicts

    def _breaks(self, values: Conflict) -> bool:
        """Whether the rows below these nodes, as one class, break a promise."""
        inside = np.ones(self._table.distinct, dtype=bool)
        for tree, shown, node in zip(self._trees, self._leaves, values.tolist(), strict=True):
            inside &= below(tree, shown, node)
        if not inside.any():
            return False
        classes = Classes.of(self._table, (~inside).astype(np.int32), sensitive=self._promises.sensitive)
        return not bool(self._promises.holds_on(classes)[0])


class BrokenPositions:
    """The positions that break a monotone class promise, where people have several rows.

    A position of people with one row is a conflict as a class is: whatever is finer splits it, and nobody
    else comes in. What several rows show together has several nodes in one column, which no conflict can
    say.
    """

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self._table, self._promises = table, promises
        self._trees = [c.taxonomy for c in table.keys]
        self._leaves = [c.taxonomy.leaves[table.codes(c.name)] for c in table.keys]
        person = table.person
        assert person is not None  # noqa: S101  # only tables with people have profiles
        rows = np.zeros(int(person.max(initial=-1)) + 1, np.int64)
        np.add.at(rows, person, table.counts)
        self._single = rows[person] == 1
        everybody = Classes.of(table, np.zeros(table.distinct, np.int32), sensitive=promises.sensitive)
        self._overall = {name: h.overall for name, h in everybody.histograms.items()}

    def of(self, cuts: Cuts) -> list[Conflict] | None:
        class_of, nodes = classes_under(self._table, cuts)
        where = positions(self._table, class_of)
        classes = Classes.of(self._table, where, sensitive=self._promises.sensitive)
        broken = ~self._promises.holds_on(classes)
        if not broken.any():
            return []
        single = np.unique(class_of[self._single & broken[where]])
        conflicts: list[Conflict] = []
        for values in nodes[single[:MOST_AT_ONCE]].astype(np.int64):
            conflicts += most_general(values, self._trees, self._breaks, turns=2)
        return conflicts or None

    def _breaks(self, values: Conflict) -> bool:
        """Whether the people with one row, below these nodes, break a promise as one position."""
        inside = self._single.copy()
        for tree, shown, node in zip(self._trees, self._leaves, values.tolist(), strict=True):
            inside &= below(tree, shown, node)
        if not inside.any():
            return False
        where, names = np.where(inside, 0, -1), self._promises.sensitive
        classes = Classes.of(self._table, where, sensitive=names, overall=self._overall)
        return not bool(self._promises.holds_on(classes)[0])


class OpaquePromise:
    """A promise about the table that only says no: nothing is learned from it beyond the cuts at hand."""

    def __init__(self, table: Microdata, promise: TablePromise) -> None:
        self._watch = promise.watch(table)

    def of(self, cuts: Cuts) -> list[Conflict] | None:
        answer, _ = self._watch.ask(cuts)
        return [] if answer is Answer.YES else None
