"""A freeform promise at work on one table: asked before every step of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.freeform.guard import Guard
from sfumato.core.freeform.inference import Inference, Ints, NodeTable, Small
from sfumato.core.freeform.limit import FreeformLimit
from sfumato.core.freeform.published_nodes import leaves_come_from_data
from sfumato.core.microdata import Microdata
from sfumato.core.promise import Cuts
from sfumato.core.recoding import classes_under
from sfumato.core.watch import Answer, Watch
from sfumato.kernels.freeform.breaches import breach, breach_of_step

ENOUGH = 5
"""People who must share a combination before its values are named in an explanation."""


@dataclass(frozen=True, eq=False)
class PublishedNodes:
    """What is published under some cuts: the class of every distinct row, nodes and rows of every class."""

    cuts: Cuts
    class_of: Small
    nodes: Small
    counts: Ints

    @classmethod
    def under(cls, table: Microdata, cuts: Cuts) -> PublishedNodes:
        class_of, nodes = classes_under(table, cuts)
        counts = np.zeros(len(nodes), np.int64)
        np.add.at(counts, class_of, table.counts)
        return cls(cuts, class_of, np.ascontiguousarray(nodes.T), counts)

    def with_step(self, table: Microdata, cuts: Cuts, column: int, node: int) -> PublishedNodes:
        """The same with one node replaced by its children: only rows below the node are looked at."""
        touched = np.flatnonzero(self.nodes[column] == node)
        number = np.full(len(self.counts), -1, np.int64)
        number[touched] = np.arange(len(touched))
        rows = np.flatnonzero(number[self.class_of] >= 0)
        key, tree = table.keys[column], table.keys[column].taxonomy
        children = np.array(tree.children(node), dtype=np.int32)
        branch = np.searchsorted(children, tree.child_above(node))
        codes = table.codes(key.name)[rows] - tree.low[node]
        pairs = number[self.class_of[rows]] * len(children) + branch[codes]
        parts, part_of = _numbered(pairs, len(touched) * len(children))
        parent, below = touched[parts // len(children)], children[parts % len(children)]
        nodes = self.nodes[:, parent].copy()
        nodes[column] = below
        counts = np.bincount(part_of, weights=table.counts[rows], minlength=len(parts)).astype(np.int64)
        rest = np.flatnonzero(self.nodes[column] != node)
        kept = np.full(len(self.counts), -1, np.int32)
        kept[rest] = np.arange(len(rest))
        class_of = kept[self.class_of]
        class_of[rows] = len(rest) + part_of
        return PublishedNodes(
            cuts,
            class_of,
            np.concatenate([self.nodes[:, rest], nodes], axis=1),
            np.concatenate([self.counts[rest], counts]),
        )


def node_table_under(table: Microdata, cuts: Cuts, guards: tuple[Guard, ...]) -> NodeTable:
    """What is published under some cuts, with what is declared of the columns."""
    shown = PublishedNodes.under(table, cuts)
    return NodeTable(shown.nodes, shown.counts, guards)


def _numbered(pairs: Ints, space: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct numbers among those below `space`, ascending, and where each stands."""
    if space > 4 * len(pairs) + (1 << 20):
        parts, part_of = np.unique(pairs, return_inverse=True)
        return parts, part_of.ravel()
    there = np.zeros(space, dtype=bool)
    there[pairs] = True
    parts = np.flatnonzero(there)
    place = np.cumsum(there) - 1
    return parts, place[pairs]


class FreeformWatch(Watch):
    """Asked before every step of a search; a step is judged on what it changes."""

    def __init__(self, limit: FreeformLimit, table: Microdata, guards: tuple[Guard, ...]) -> None:
        self.limit, self.table, self.guards = limit, table, guards
        self._index = {c.name: j for j, c in enumerate(table.keys)}
        self._accepted: PublishedNodes | None = None
        self._proposed: PublishedNodes | None = None
        self.in_full = ""

    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        found = self.find(cuts, step)
        self.in_full = "" if found is None else self.tell(found, values=True)
        return (Answer.YES, "") if found is None else (Answer.NEVER, self.tell(found))

    def find(self, cuts: Cuts, step: tuple[str, int] | None = None) -> Inference | None:
        """A breach under these cuts, if there is any."""
        threat = self.limit.threat
        if step is None or self._accepted is None:
            self._proposed = PublishedNodes.under(self.table, cuts)
            return breach(self._node_table(self._proposed), threat)
        column, node = self._index[step[0]], step[1]
        self._proposed = self._accepted.with_step(self.table, cuts, column, node)
        return breach_of_step(self._node_table(self._proposed), threat, column, node)

    def accept(self, cuts: Cuts) -> None:
        told = self._proposed
        same = told is not None and all(told.cuts[name] == cut for name, cut in cuts.items())
        self._accepted = told if same else PublishedNodes.under(self.table, cuts)

    def _node_table(self, shown: PublishedNodes) -> NodeTable:
        return NodeTable(shown.nodes, shown.counts, self.guards)

    def tell(self, found: Inference, *, values: bool = False) -> str:
        """A breach in columns and counts; values where enough people match and the policy writes them."""
        shown = values or found.support >= ENOUGH
        given = [self._told(j, v, shown, values) for j, v in enumerate(found.given) if v]
        whoever = f"whoever sees {' and '.join(given)}" if given else "anybody"
        return (
            f"{whoever} would infer {self._told(found.target, found.node, shown, values)}: right for"
            f" {found.held} of {found.support} rows, threat {found.threat}"
        )

    def _told(self, column: int, node: int, shown: bool, values: bool) -> str:
        name, tree = self.table.keys[column].name, self.guards[column].taxonomy
        free = self.limit.columns.get(name)
        written = values or (free is not None and not leaves_come_from_data(free.rule))
        return f"{name} = {tree.labels[node]}" if shown and written else name
