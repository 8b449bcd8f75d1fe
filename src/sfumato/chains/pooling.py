"""Pooling: what recipients who put their versions together learn, and whether every promise survives it.

Colluders align rows by whatever is published unchanged. A person is in one class of each of their versions; a
value is left for that person as often as every one of these classes holds it: the surviving histogram. For
two versions that is exact (every such count is reached in some world that gives both tables); for more it is
a bound, which an integer program settles where it is small.

Whoever publishes the *meet* of versions, on every path the finer node, gives away at least as much: each
version can be made from it. Where the meet keeps every promise, so does every coalition below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations

import numpy as np

from sfumato.chains.history import History, side_under
from sfumato.chains.overlap import Overlap
from sfumato.chains.worlds import Worlds
from sfumato.core.chain import Chain, Side
from sfumato.core.classes import Classes, histogram
from sfumato.core.cut import Cut
from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Codes, Microdata
from sfumato.core.promise import Cuts, Promises
from sfumato.core.recoding import classes_under

PROGRAMS = 60
"""So many cells at most are solved by the integer program."""

CROWD = 5
"""Of so many versions every coalition is looked at where their meet is too fine."""


def meet_of(versions: Sequence[Cuts]) -> dict[str, Cut]:
    """On every path the finest node that one of the versions shows."""
    return {name: reduce(Cut.meet, (v[name] for v in versions)) for name in versions[0]}


class Pool:
    """A table, and what is promised of it, also to those whose versions are put together."""

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self.table, self.promises = table, promises
        self.history = History.of(table, (), None)
        self._trees = tuple(c.taxonomy for c in table.keys)
        self._codes = {name: self._code_of_values(name) for name in promises.sensitive}
        self._meets: dict[bytes, bool] = {}
        self._sides: dict[bytes, Side] = {}
        self._together: dict[tuple[bytes, ...], bool] = {}

    def keeps(self, versions: Sequence[Cuts]) -> bool:
        """Whether every promise survives that all these versions are put together."""
        if len(versions) < 2:
            return True
        in_order = sorted(versions, key=self._key)
        key = tuple(self._key(v) for v in in_order)
        if key not in self._together:
            self._together[key] = self.meet_keeps(in_order) or self._keeps_beyond_meet(in_order)
        return self._together[key]

    def _keeps_beyond_meet(self, versions: Sequence[Cuts]) -> bool:
        """The same, where the meet is too fine."""
        if self.promises.of_table:
            return False  # promises about the whole table are judged on tables: on that of the meet
        try:
            meeting = self.meeting(versions)
            side = meeting.cells(0).side
        except WrongCall:  # too many cells to look at
            return False
        if len(versions) > 2:
            exact = self._exact(meeting) if len(side) <= PROGRAMS else None
            if exact is None:
                return False
            side = exact
        return bool(self.promises.holds_on(self.survivors(side)).all())

    def keeps_all(self, versions: Sequence[Cuts]) -> bool:
        """The same for every coalition of these versions."""
        if len(versions) <= 2:
            return self.keeps(versions)
        if self.meet_keeps(versions):
            return True
        if len(versions) > CROWD:
            return False
        sizes = range(2, len(versions) + 1)
        return all(self.keeps(some) for size in sizes for some in combinations(versions, size))

    def meet_keeps(self, versions: Sequence[Cuts]) -> bool:
        """Whether the meet of these versions could be published itself."""
        cuts = meet_of(versions)
        key = self._key(cuts)
        if key not in self._meets:
            class_of, _ = classes_under(self.table, cuts)
            classes = Classes.of(self.table, class_of, sensitive=self.promises.sensitive)
            self._meets[key] = bool(self.promises.holds_on(classes).all()) and all(
                p.verdict_on(self.table, cuts).holds is True for p in self.promises.of_table
            )
        return self._meets[key]

    def meeting(self, versions: Sequence[Cuts]) -> Overlap:
        """The versions as releases of the same people."""
        sides = tuple(self._side(v) for v in versions)
        return Overlap(Chain(self._trees, sides, self.history.values), every=len(versions) > 2)

    def survivors(self, side: Side) -> Classes:
        """The surviving histograms of cells, as classes."""
        count = len(side)
        histograms = {}
        for name, codes in self._codes.items():
            column = self.table.column(name)
            overall = np.zeros(max(1, len(column.taxonomy.leaves)), np.int64)
            np.add.at(overall, self.table.codes(name), self.table.counts)
            histograms[name] = histogram(
                column.taxonomy, side.owner, codes[side.values], side.counts, count, overall=overall
            )
        return Classes(side.sizes, side.sizes, histograms)

    def _exact(self, meeting: Overlap) -> Side | None:
        """The cells where some world has somebody, with what is left there; `None`: too much to solve."""
        found = Worlds(meeting).sides(Worlds.patience())
        return None if found is None else found[0]

    def _side(self, cuts: Cuts) -> Side:
        key = self._key(cuts)
        if key not in self._sides:
            self._sides[key] = side_under(self.history, cuts)
        return self._sides[key]

    def _key(self, cuts: Cuts) -> bytes:
        return b"".join(cuts[c.name].node_of.tobytes() for c in self.table.keys)

    def _code_of_values(self, name: str) -> Codes:
        codes = np.zeros(max(1, self.history.values), np.int32)
        codes[self.history.value] = self.table.codes(name)
        return codes
