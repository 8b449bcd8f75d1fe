"""Conflicts: what cannot all stay in a table that keeps its promises.

A conflict holds one node per key column (the root where a column does not matter). Wherever all of them are
published, or lie above what is published, a promise is broken; so a recoding that keeps it must lose at least
one. Both kinds of promises have them. A freeform breach is one: supports of values at or above a cut do not
depend on the cut. A class that breaks a monotone class promise is one: if something finer is published, the
class is a union of finer classes, and they cannot all keep what their union breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.microdata import Microdata
from sfumato.core.promise import Answer, Cuts, Promises, TablePromise
from sfumato.core.recoding import classes_under
from sfumato.core.taxonomy import ROOT, Taxonomy
from sfumato.kernels.freeform.breaches import breach
from sfumato.promises.freeform.definition import Freeform

Ints = NDArray[np.int64]

AT_ONCE = 8
"""Conflicts that are learned from one look at the data."""


class Conflicts(Protocol):
    """Where conflicts come from."""

    def of(self, cuts: Cuts) -> list[Ints] | None:
        """Conflicts that these cuts hold; `[]` if they hold none, `None` if they do but cannot be told."""
        ...


def sources(table: Microdata, promises: Promises) -> list[Conflicts]:
    """One source for all class promises, one for each promise about the table."""
    found: list[Conflicts] = [
        Breaches(table, p) if isinstance(p, Freeform) else Unknown(table, p) for p in promises.of_table
    ]
    if promises.of_class:
        found.insert(0, BrokenClasses(table, Promises(promises.of_class)))
    return found


class Breaches:
    """The breaches of a freeform promise."""

    def __init__(self, table: Microdata, promise: Freeform) -> None:
        self._table, self._promise = table, promise
        self._guards = promise.guards(table.keys)
        finest = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
        self._raw = promise.node_table(table, finest, self._guards)

    def of(self, cuts: Cuts) -> list[Ints]:
        found = breach(self._promise.node_table(self._table, cuts, self._guards), self._promise.threat)
        if found is None:
            return []
        values = np.array(found.given, dtype=np.int64)
        values[found.target] = found.node
        seen = self._guards[found.target].seen

        def still(some: Ints) -> bool:
            return not seen[some[found.target]] and self._breaks(some, found.target)

        return most_general(values, [g.taxonomy for g in self._guards], still)

    def _breaks(self, values: Ints, target: int) -> bool:
        counts, trees = self._raw.counts, [g.taxonomy for g in self._guards]
        given = np.ones(len(counts), dtype=bool)
        for j, node in enumerate(values.tolist()):
            if j != target and node:
                given &= _below(trees[j], self._raw.nodes[j], node)
        held = given & _below(trees[target], self._raw.nodes[target], int(values[target]))
        support = int(counts[given].sum())
        s = self._guards[target].sensitivity[int(values[target])]
        return support > 0 and Fraction(int(counts[held].sum()), support) * s > self._promise.threat


class BrokenClasses:
    """The classes that break a monotone class promise."""

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self._table, self._promises = table, promises
        self._trees = [c.taxonomy for c in table.keys]
        self._leaves = [c.taxonomy.leaves[table.codes(c.name)] for c in table.keys]

    def of(self, cuts: Cuts) -> list[Ints]:
        class_of, nodes = classes_under(self._table, cuts)
        classes = Classes.of(self._table, class_of, sensitive=self._promises.sensitive)
        broken = np.flatnonzero(~self._promises.holds_on(classes))
        found: list[Ints] = []
        for values in nodes[broken[:AT_ONCE]].astype(np.int64):
            found += most_general(values, self._trees, self._breaks, turns=2)
        return found

    def _breaks(self, values: Ints) -> bool:
        """Whether the rows below these nodes, as one class, break a promise."""
        inside = np.ones(self._table.distinct, dtype=bool)
        for tree, shown, node in zip(self._trees, self._leaves, values.tolist(), strict=True):
            inside &= _below(tree, shown, node)
        if not inside.any():
            return False
        classes = Classes.of(self._table, (~inside).astype(np.int32), sensitive=self._promises.sensitive)
        return not bool(self._promises.holds_on(classes)[0])


class Unknown:
    """A promise about the table that only says no: nothing is learned from it beyond the cuts at hand."""

    def __init__(self, table: Microdata, promise: TablePromise) -> None:
        self._watch = promise.watch(table)

    def of(self, cuts: Cuts) -> list[Ints] | None:
        answer, _ = self._watch.ask(cuts)
        return [] if answer is Answer.YES else None


def most_general(
    values: Ints, trees: list[Taxonomy], still: Callable[[Ints], bool], *, turns: int | None = None
) -> list[Ints]:
    """Conflicts above a conflict that cannot be raised any further, by the column that is raised first."""
    found = {tuple(some.tolist()): some for some in _raised(values, trees, still, turns)}
    return list(found.values())


def _raised(
    values: Ints, trees: list[Taxonomy], still: Callable[[Ints], bool], turns: int | None
) -> Iterator[Ints]:
    columns = np.arange(len(values))
    for turn in range(len(values) if turns is None else min(turns, len(values))):
        some, moved = values.copy(), True
        while moved:
            moved = False
            for j in np.roll(columns, -turn).tolist():
                while some[j] != ROOT:
                    raised = some.copy()
                    raised[j] = trees[j].parent[some[j]]
                    if not still(raised):
                        break
                    some, moved = raised, True
        yield some


def _below(tree: Taxonomy, shown: NDArray[np.integer], node: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (shown >= node) & (shown < tree.end[node])
    return found
