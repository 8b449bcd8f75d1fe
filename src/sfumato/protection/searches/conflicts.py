"""Sources of conflicts for the exact search: what cannot all stay, by every promise (`core.conflicts`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes, histogram
from sfumato.core.conflicts import Conflict, Conflicts, below, most_general
from sfumato.core.microdata import Microdata
from sfumato.core.positions import positions
from sfumato.core.promise import Cuts, Promises, TablePromise
from sfumato.core.recoding import classes_under
from sfumato.core.taxonomy import ROOT
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


class _RowsBelow:
    """Judges the rows below one node per key column as one class, once for the same nodes."""

    def __init__(self, table: Microdata, promises: Promises, among: NDArray[np.bool_] | None = None) -> None:
        self._table, self._promises = table, promises
        self._sizes = Promises(tuple(promise for promise in promises.of_class if promise.by_size))
        self._among = np.ones(table.distinct, dtype=bool) if among is None else among
        self.trees = [c.taxonomy for c in table.keys]
        self._leaves = [c.taxonomy.leaves[table.codes(c.name)] for c in table.keys]
        self._codes = {name: table.codes(name) for name in promises.sensitive}
        everybody = Classes.of(table, np.zeros(table.distinct, np.int32), sensitive=promises.sensitive)
        self._overall = {name: h.overall for name, h in everybody.histograms.items()}
        self._known: dict[bytes, bool] = {}

    def break_it(self, values: Conflict) -> bool:
        """Whether these rows break a promise; no rows break none."""
        key = values.tobytes()
        if key not in self._known:
            self._known[key] = self._judge(values)
        return self._known[key]

    def _judge(self, values: Conflict) -> bool:
        inside = self._among.copy()
        for tree, shown, node in zip(self.trees, self._leaves, values.tolist(), strict=True):
            if node != ROOT:
                inside &= below(tree, shown, node)
        rows = np.flatnonzero(inside)
        if not len(rows):
            return False
        weight, ids = self._table.counts[rows], np.zeros(len(rows), np.int64)
        person = None if self._table.person is None else self._table.person[rows]
        size = weight.sum(keepdims=True)
        people = size if person is None else np.array([len(np.unique(person))], np.int64)
        if not self._sizes.holds_on(Classes(people, size))[0]:
            return True
        histograms = {
            name: histogram(
                self._table.column(name).taxonomy,
                ids,
                codes[rows],
                weight,
                1,
                person=person,
                overall=self._overall[name],
            )
            for name, codes in self._codes.items()
        }
        return not bool(self._promises.holds_on(Classes(people, size, histograms))[0])


class BrokenClasses:
    """The classes that break a monotone class promise."""

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self._table, self._promises = table, promises
        self._rows = _RowsBelow(table, promises)

    def of(self, cuts: Cuts) -> list[Conflict]:
        class_of, nodes = classes_under(self._table, cuts)
        classes = Classes.of(self._table, class_of, sensitive=self._promises.sensitive)
        broken = np.flatnonzero(~self._promises.holds_on(classes))
        conflicts: list[Conflict] = []
        for values in nodes[broken[:MOST_AT_ONCE]].astype(np.int64):
            conflicts += most_general(values, self._rows.trees, self._rows.break_it, turns=2)
        return conflicts


class BrokenPositions:
    """The positions that break a monotone class promise, where people have several rows.

    A position of people with one row is a conflict as a class is: whatever is finer splits it, and nobody
    else comes in. What several rows show together has several nodes in one column, which no conflict can
    say.
    """

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self._table, self._promises = table, promises
        person = table.person
        assert person is not None  # noqa: S101  # only tables with people have profiles
        rows = np.zeros(int(person.max(initial=-1)) + 1, np.int64)
        np.add.at(rows, person, table.counts)
        self._single = rows[person] == 1
        self._rows = _RowsBelow(table, promises, self._single)

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
            conflicts += most_general(values, self._rows.trees, self._rows.break_it, turns=2)
        return conflicts or None


class OpaquePromise:
    """A promise about the table that only says no: nothing is learned from it beyond the cuts at hand."""

    def __init__(self, table: Microdata, promise: TablePromise) -> None:
        self._watch = promise.watch(table)

    def of(self, cuts: Cuts) -> list[Conflict] | None:
        answer, _ = self._watch.ask(cuts)
        return [] if answer is Answer.YES else None
