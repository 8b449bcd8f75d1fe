"""The conflicts of a freeform promise: what an exact search learns from its breaches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.core.conflicts import Conflict, below, most_general
from sfumato.core.cut import Cut
from sfumato.core.freeform.guard import Guard
from sfumato.core.microdata import Microdata
from sfumato.core.promise import Cuts
from sfumato.kernels.freeform.breaches import breach
from sfumato.promises.freeform.watch import node_table_under


class FreeformConflicts:
    """The breaches of a freeform promise, each raised as far as it stays one."""

    def __init__(self, table: Microdata, guards: tuple[Guard, ...], threat: Fraction) -> None:
        self._table, self._guards, self._threat = table, guards, threat
        self._raw = node_table_under(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys}, guards)

    def of(self, cuts: Cuts) -> list[Conflict]:
        found = breach(node_table_under(self._table, cuts, self._guards), self._threat)
        if found is None:
            return []
        values = np.array(found.given, dtype=np.int64)
        values[found.target] = found.node
        seen = self._guards[found.target].seen

        def still(some: Conflict) -> bool:
            return not seen[some[found.target]] and self._breaks(some, found.target)

        return most_general(values, [g.taxonomy for g in self._guards], still)

    def _breaks(self, values: Conflict, target: int) -> bool:
        counts, trees = self._raw.counts, [g.taxonomy for g in self._guards]
        given = np.ones(len(counts), dtype=bool)
        for j, node in enumerate(values.tolist()):
            if j != target and node:
                given &= below(trees[j], self._raw.nodes[j], node)
        held = given & below(trees[target], self._raw.nodes[target], int(values[target]))
        support = int(counts[given].sum())
        s = self._guards[target].sensitivity[int(values[target])]
        return support > 0 and Fraction(int(counts[held].sum()), support) * s > self._threat
