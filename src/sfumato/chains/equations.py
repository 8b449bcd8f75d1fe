"""The equations that published counts put on the people of a chain, without those that follow from others.

An *entry* is a cell of one time and a value: how many people of that time and value are in it is unknown.
A release says, class by class and value by value, how many people of all times up to its own there are. Where
an earlier release i shows at least as much detail in every column, it has told that already of everybody up
to its own time: what release j adds is how many people who came after i are in each class. So nobody of a
time up to i is bound by j.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.detail import last_finer_release
from sfumato.chains.overlap import Overlap
from sfumato.core.chain import ReleaseIndex
from sfumato.core.errors import BadData
from sfumato.core.microdata import Codes, Counts
from sfumato.kernels.chains.whole_sums import components_of

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Equations:
    """Entries, sorted by time, then cell, then value, and the sums they are part of.

    Entry e is of cell `cells[e]` of time `times[e]` and of value `values[e]`; in no world are more than
    `most[e]` people there. It is part of the sums `through[start[e] : start[e+1]]`, which come to `sums`.
    `binding[t]` are the releases that bind people of time t.
    """

    binding: tuple[tuple[int, ...], ...]
    times: Codes
    cells: Codes
    values: Codes
    most: Counts
    start: Longs
    through: Codes
    sums: Counts

    @classmethod
    def of(cls, overlap: Overlap) -> Equations:
        """The equations of a whole chain."""
        chain, cells = overlap.chain, overlap.by_time
        finer = last_finer_release(chain)
        later = [j for j, i in enumerate(finer) if i >= 0]
        added = dict(zip(later, overlap.newer([(finer[j], j) for j in later]), strict=True))
        offsets = np.cumsum([0, *(len(release.owner) for release in chain.releases)])
        sums = [added.get(j, release.counts) for j, release in enumerate(chain.releases)]
        binding = tuple(tuple(j for j in range(t, len(chain)) if finer[j] < t) for t in range(len(chain)))
        index = [ReleaseIndex(chain, release) for release in chain.releases]
        through, lengths = [], []
        for some, releases in zip(cells, binding, strict=True):
            rows = np.stack([offsets[j] + index[j].entries(some.table) for j in releases], axis=1)
            through.append(rows.ravel())
            lengths.append(np.full(len(rows), len(releases), np.int64))
        return cls(
            binding,
            np.concatenate([np.full(len(c.table.owner), t, np.int32) for t, c in enumerate(cells)]),
            np.concatenate([c.table.owner for c in cells]),
            np.concatenate([c.table.values for c in cells]),
            np.concatenate([c.table.counts for c in cells]),
            np.concatenate([[0], np.cumsum(np.concatenate(lengths))]),
            np.concatenate(through).astype(np.int32),
            np.concatenate(sums),
        )

    @cached_property
    def component(self) -> Codes:
        """Entries with the same number share sums, directly or through others."""
        return components_of(self.start, self.through, len(self.sums))

    @cached_property
    def by_component(self) -> tuple[NDArray[np.intp], Longs]:
        """Entries in the order of their components, and where each of these begins."""
        order = np.argsort(self.component, kind="stable")
        count = int(self.component.max(initial=-1)) + 1
        return order, np.searchsorted(self.component[order], np.arange(count + 1)).astype(np.int64)

    def part(self, component: int) -> EquationPart:
        """The equations of one component."""
        order, begin = self.by_component
        entries = order[begin[component] : begin[component + 1]]
        lengths = self.start[entries + 1] - self.start[entries]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        flat = np.repeat(self.start[entries] - start[:-1], lengths) + np.arange(int(start[-1]))
        rows, through = np.unique(self.through[flat], return_inverse=True)
        return EquationPart(entries, start, through.astype(np.int32), self.sums[rows])

    @cached_property
    def widths(self) -> Longs:
        """The size of each component: entries times sums."""
        begin = self.by_component[1]
        held = np.zeros(len(self.sums), np.int32)
        held[self.through] = np.repeat(self.component, np.diff(self.start))
        used = np.unique(self.through)
        return np.diff(begin) * np.bincount(held[used], minlength=len(begin) - 1)


@dataclass(frozen=True, eq=False)
class EquationPart:
    """Equations of one component: its entries among all, their sums, and what these come to."""

    entries: NDArray[np.intp]
    start: Longs
    through: Codes
    sums: Counts


def no_world() -> BadData:
    """The error for releases that cannot be of one chain."""
    return BadData(
        "no table of people gives the counts of all these releases",
        remedy="Give cumulative releases of one chain, oldest first.",
    )
