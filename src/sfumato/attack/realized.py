"""Where people of the data are in the releases: what only the data holder can say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.declare.meeting import Meeting, left_in
from sfumato.terms.chain import Chain, place
from sfumato.terms.errors import BadData, WrongCall
from sfumato.terms.imprint import Imprint
from sfumato.terms.marks import among, label_marks
from sfumato.terms.microdata import Codes, Counts, Microdata
from sfumato.terms.packing import Packing, sort_and_count


@dataclass(frozen=True, eq=False)
class Realized:
    """The class of every distinct row in every release, and the release each came with."""

    time: Codes
    classes: tuple[Codes, ...]

    @classmethod
    def of(
        cls, imprints: Sequence[Imprint], chain: Chain, table: Microdata, since: str | None = None
    ) -> Realized:
        newest = {key.name: key.digest for key in imprints[-1].keys}
        if newest != {c.name: c.taxonomy.digest for c in table.keys}:
            raise WrongCall(
                "the data are coded by other trees than the newest release", remedy="Count them anew."
            )
        found = []
        sizes = tuple(len(tree.labels) for tree in chain.trees)
        for side in chain.releases:
            if not sizes:
                found.append(np.zeros(table.distinct, np.int32))
                continue
            packing = Packing(sizes)
            shown = packing.pack(
                [cut[table.codes(n)] for cut, n in zip(side.node_of, chain.names, strict=True)]
            )
            known = packing.pack(list(side.nodes.T))
            order = np.append(np.lexsort(known[::-1]), -1).astype(np.int32)
            found.append(order[place(known[:, order[:-1]], shown)])
        return cls(times(imprints, table, since), tuple(found))

    def left(self, meeting: Meeting, time: int) -> Counts:
        """How many candidates remain for each cell where somebody of this time is."""
        here = self.time == time
        chosen = [classes[here] for classes in self.classes[time:]]
        if any(np.any(classes < 0) for classes in chosen):
            raise BadData("a row of the data is in a class that a release does not show")
        packing = Packing(tuple(int(c.max(initial=0)) + 1 for c in chosen))
        words, _ = sort_and_count(packing.pack(chosen))
        cells = {time + i: packing.unpack(words, i) for i in range(len(chosen))}
        return left_in(meeting, time, cells)


def times(imprints: Sequence[Imprint], table: Microdata, since: str | None) -> Codes:
    """The first release (from 0) whose batches include each distinct row's; the last where none does."""
    if since is None:
        return np.zeros(table.distinct, np.int32)
    tree = table.column(since).taxonomy
    marks = label_marks(tree.leaf_labels)
    first = np.full(len(marks), len(imprints) - 1, np.int32)
    for t in reversed(range(len(imprints))):
        first[among(marks, imprints[t].batches)] = t
    found: Codes = first[table.codes(since)]
    return found
