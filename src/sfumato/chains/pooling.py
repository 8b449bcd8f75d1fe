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

from sfumato.chains.history import History, release_under
from sfumato.chains.overlap import Overlap
from sfumato.chains.survivors import surviving_histograms
from sfumato.chains.worlds import StepBudget, Worlds
from sfumato.core.chain import Chain, ClassTable
from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Microdata
from sfumato.core.promise import Cuts, Promises
from sfumato.core.recoding import classes_under

MOST_CELLS_SOLVED = 60
"""Versions that overlap in more cells than this are not solved by the integer program."""

MOST_VERSIONS_COMBINED = 5
"""Where the meet of more versions than this is too fine, their coalitions are not looked at one by one."""


def meet_of(versions: Sequence[Cuts]) -> dict[str, Cut]:
    """On every path the finest node that one of the versions shows."""
    return {name: reduce(Cut.meet, (v[name] for v in versions)) for name in versions[0]}


class Pool:
    """A table, and what is promised of it, also to those whose versions are put together."""

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self.table, self.promises = table, promises
        self.history = History.of(table, (), None)
        self._trees = tuple(c.taxonomy for c in table.keys)
        self._meets: dict[bytes, bool] = {}
        self._releases: dict[bytes, ClassTable] = {}
        self._together: dict[tuple[bytes, ...], bool] = {}

    def keeps(self, versions: Sequence[Cuts]) -> bool:
        """Whether every promise holds for whoever puts all these versions together."""
        if len(versions) < 2:
            return True
        in_order = sorted(versions, key=self._key)
        key = tuple(self._key(v) for v in in_order)
        if key not in self._together:
            self._together[key] = self.meet_keeps(in_order) or self._keeps_beyond_meet(in_order)
        return self._together[key]

    def _keeps_beyond_meet(self, versions: Sequence[Cuts]) -> bool:
        """The same, judged on the cells of the versions, where their meet is too fine."""
        if self.promises.of_table:
            return False  # promises about the whole table are judged on tables: on that of the meet
        try:
            overlap = self.overlap(versions)
            cells = overlap.cells(0).table
        except WrongCall:  # too many cells to look at
            return False
        if len(versions) > 2:
            exact = self._exact(overlap) if len(cells) <= MOST_CELLS_SOLVED else None
            if exact is None:
                return False
            cells = exact
        return bool(self.promises.holds_on(self.survivors(cells)).all())

    def keeps_all(self, versions: Sequence[Cuts]) -> bool:
        """The same for every coalition of these versions."""
        if len(versions) <= 2:
            return self.keeps(versions)
        if self.meet_keeps(versions):
            return True
        if len(versions) > MOST_VERSIONS_COMBINED:
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

    def overlap(self, versions: Sequence[Cuts]) -> Overlap:
        """The versions as releases of the same people."""
        releases = tuple(self._release(v) for v in versions)
        return Overlap(Chain(self._trees, releases, self.history.values), every=len(versions) > 2)

    def survivors(self, cells: ClassTable) -> Classes:
        """The surviving histograms of cells, as classes, of the columns that a promise reads."""
        names = self.promises.sensitive
        return surviving_histograms(
            self.history, cells.owner, cells.values, cells.counts, len(cells), columns=names
        )

    def _exact(self, overlap: Overlap) -> ClassTable | None:
        """The cells where some world has somebody, with what is left there; `None`: too much to solve."""
        tables = Worlds(overlap).tables(StepBudget())
        return None if tables is None else tables[0]

    def _release(self, cuts: Cuts) -> ClassTable:
        key = self._key(cuts)
        if key not in self._releases:
            self._releases[key] = release_under(self.history, cuts)
        return self._releases[key]

    def _key(self, cuts: Cuts) -> bytes:
        return b"".join(cuts[c.name].node_of.tobytes() for c in self.table.keys)
