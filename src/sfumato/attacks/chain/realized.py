"""Realized targets: where people of the data are in the releases, which only the data holder can say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.overlap import Overlap, candidates_of
from sfumato.core.chain import Chain, ClassTable, positions
from sfumato.core.errors import BadData, WrongCall
from sfumato.core.imprint import Imprint
from sfumato.core.marks import are_known, leaf_marks
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.core.packing import Packing, sort_and_count

BLOCK_ROWS = 1 << 17
"""So many rows are looked up together."""


@dataclass(frozen=True, eq=False)
class RealizedTargets:
    """The class of every distinct row in every release, and the release each came with."""

    time: Codes
    classes: tuple[Codes, ...]

    @classmethod
    def of(
        cls, imprints: Sequence[Imprint], chain: Chain, table: Microdata, since: str | None = None
    ) -> RealizedTargets:
        newest = {key.name: key.digest for key in imprints[-1].keys}
        if newest != {c.name: c.taxonomy.digest for c in table.keys}:
            raise WrongCall(
                "the data are coded by other trees than the newest release", remedy="Count them anew."
            )
        classes = []
        sizes = tuple(len(tree.labels) for tree in chain.trees)
        for side in chain.releases:
            if not sizes:
                classes.append(np.zeros(table.distinct, np.int32))
                continue
            classes.append(_class_of(table, side, chain.names, Packing(sizes)))
        return cls(times(imprints, table, since), tuple(classes))

    def candidates(self, overlap: Overlap, time: int) -> Counts:
        """Returns how many candidates remain for each cell where somebody of this time is."""
        here = self.time == time
        chosen = [classes[here] for classes in self.classes[time:]]
        if any(np.any(classes < 0) for classes in chosen):
            raise BadData("a row of the data is in a class that a release does not show")
        packing = Packing(tuple(int(c.max(initial=0)) + 1 for c in chosen))
        packed = packing.pack(chosen)
        words, _ = sort_and_count(packed[:, _heads(packed)])
        cells = {time + i: packing.unpack(words, i) for i in range(len(chosen))}
        return candidates_of(overlap, time, cells)


def _class_of(table: Microdata, side: ClassTable, names: Sequence[str], packing: Packing) -> Codes:
    """Returns the class of every distinct row in a release (-1: none), block by block."""
    known = packing.pack(list(side.nodes.T))
    order = np.append(np.lexsort(known[::-1]), -1).astype(np.int32)
    known, class_of = known[:, order[:-1]], np.empty(table.distinct, np.int32)
    for start in range(0, table.distinct, BLOCK_ROWS):
        here = slice(start, start + BLOCK_ROWS)
        part = replace(table, words=table.words[:, here], counts=table.counts[here])
        shown = packing.pack([cut[part.codes(n)] for cut, n in zip(side.node_of, names, strict=True)])
        head = _heads(shown)
        class_of_run = order[positions(known, shown[:, head])]
        class_of[here] = np.repeat(class_of_run, np.diff(head, append=shown.shape[1]))
    return class_of


def _heads(packed: NDArray[np.int64]) -> NDArray[np.intp]:
    """Returns where each run of equal keys begins: rows are sorted, so runs are long."""
    change = np.any(packed[:, 1:] != packed[:, :-1], axis=0)
    return np.flatnonzero(np.append(np.ones(min(1, packed.shape[1]), dtype=bool), change))


def times(imprints: Sequence[Imprint], table: Microdata, since: str | None) -> Codes:
    """Returns the first release (from 0) whose batches include each distinct row's; else the last."""
    if since is None:
        return np.zeros(table.distinct, np.int32)
    tree = table.column(since).taxonomy
    marks = leaf_marks(tree)
    first = np.full(len(marks), len(imprints) - 1, np.int32)
    for t in reversed(range(len(imprints))):
        first[are_known(marks, imprints[t].batches)] = t
    came_with: Codes = first[table.codes(since)]
    return came_with
