"""Sources of conflicts for the exact search: what cannot all stay, by every promise (`core.conflicts`)."""

from __future__ import annotations

import numpy as np

from sfumato.core.classes import Classes
from sfumato.core.conflicts import Conflict, Conflicts, below, most_general
from sfumato.core.microdata import Microdata
from sfumato.core.promise import Cuts, Promises, TablePromise
from sfumato.core.recoding import classes_under
from sfumato.core.watch import Answer

MOST_AT_ONCE = 8
"""So many broken classes are turned into conflicts at once."""


def conflict_sources(table: Microdata, promises: Promises) -> list[Conflicts]:
    """Returns one source for all class promises, and one for each promise about the table."""
    sources: list[Conflicts] = [p.conflicts(table) or OpaquePromise(table, p) for p in promises.of_table]
    if promises.of_class:
        sources.insert(0, BrokenClasses(table, Promises(promises.of_class)))
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


class OpaquePromise:
    """A promise about the table that only says no: nothing is learned from it beyond the cuts at hand."""

    def __init__(self, table: Microdata, promise: TablePromise) -> None:
        self._watch = promise.watch(table)

    def of(self, cuts: Cuts) -> list[Conflict] | None:
        answer, _ = self._watch.ask(cuts)
        return [] if answer is Answer.YES else None
