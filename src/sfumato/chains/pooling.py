"""Pooling: what recipients who put their versions together learn, and whether every promise survives it.

Against whoever has a *register*, everybody's key values, versions are judged by the position of every person
(`positions`): the cells of their *meet*, which shows on every path the finer node. Every position that
somebody is in keeps every promise (M), and so does what random worlds make of every pair of versions (P). M
on the meet of all versions covers every coalition, also those who know that the others were served.

Against whoever knows only the key values of one *target*, versions are judged by what is published alone: a
person is in one class of each version, and a value is left for them as often as every one of these classes
holds it, in all cells where somebody can be. That decides how many people and how many different values are
left, for two versions by a formula, for more by an integer program where it is small. How likely a value is
it does not say: a promise about that is never judged so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import combinations

from sfumato.chains.history import History, release_under
from sfumato.chains.overlap import Overlap
from sfumato.chains.positions import overall_counts, positions_kept
from sfumato.chains.random_worlds import BelievedColumn, expectations_kept, expected_cells
from sfumato.chains.survivors import surviving_histograms
from sfumato.chains.worlds import StepBudget, Worlds
from sfumato.core.adversary import Adversary
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
"""Against one target, the coalitions of more versions than this are not looked at one by one."""


def meet_of(versions: Sequence[Cuts]) -> dict[str, Cut]:
    """On every path the finest node that one of the versions shows."""
    return {name: reduce(Cut.meet, (v[name] for v in versions)) for name in versions[0]}


class Pool:
    """A table, and what is promised of it, also to those whose versions are put together."""

    def __init__(
        self, table: Microdata, promises: Promises, adversary: Adversary = Adversary.REGISTER
    ) -> None:
        self.table, self.promises, self.adversary = table, promises, adversary
        if any(not p.cone for p in promises.of_class) or promises.of_table:
            raise WrongCall("a promise cannot be judged on several versions: it is no convex cone")
        if adversary is Adversary.TARGET and promises.about_beliefs:
            raise WrongCall("how likely a value is, is judged against a register alone")
        self.history = History.of(table, (), None)
        self._trees = tuple(c.taxonomy for c in table.keys)
        self._meets: dict[tuple[bytes, bool], bool] = {}
        self._releases: dict[bytes, ClassTable] = {}
        self._together: dict[tuple[bytes, ...], bool] = {}

    def keeps(self, versions: Sequence[Cuts]) -> bool:
        """Whether every promise holds for whoever puts all these versions together."""
        if len(versions) < 2:
            return True
        if self.adversary is Adversary.REGISTER:
            return self.meet_keeps(versions) and self._expectations_kept(versions)
        in_order = sorted(versions, key=self._key)
        key = tuple(self._key(v) for v in in_order)
        if key not in self._together:
            self._together[key] = self._feasible_keep(in_order)
        return self._together[key]

    def keeps_all(self, versions: Sequence[Cuts]) -> bool:
        """The same for every coalition of these versions."""
        if len(versions) <= 2 or self.adversary is Adversary.REGISTER:
            return self.keeps(versions)
        if len(versions) > MOST_VERSIONS_COMBINED:
            return False
        sizes = range(2, len(versions) + 1)
        return all(self.keeps(some) for size in sizes for some in combinations(versions, size))

    def keeps_pairs(self, versions: Sequence[Cuts]) -> bool:
        """The same for every two of these versions.

        Two who have a register, and know that a third version went out beside theirs, learn from that what
        its positions may hold: what is promised of values is asked of the positions of all versions.
        """
        pairs = list(combinations(versions, 2))
        if self.adversary is Adversary.TARGET:
            return all(self.keeps(pair) for pair in pairs)
        if not all(self.meet_keeps(pair, sizes_alone=True) for pair in pairs):
            return False
        return (len(versions) < 2 or self._values_kept(versions)) and self._expectations_kept(versions)

    def meet_keeps(self, versions: Sequence[Cuts], *, sizes_alone: bool = False) -> bool:
        """Whether every position of these versions that somebody is in keeps every promise: rule M."""
        chosen = self._sizes if sizes_alone else self.promises
        return self._meet_keeps(versions, chosen, sizes_alone=sizes_alone)

    def _values_kept(self, versions: Sequence[Cuts]) -> bool:
        """The same of what is promised of values alone."""
        values = Promises(tuple(p for p in self.promises.of_class if not p.by_size))
        if not values.members:
            return True
        class_of, _ = classes_under(self.table, meet_of(versions))
        return positions_kept(self.table, class_of, values)

    def _meet_keeps(self, versions: Sequence[Cuts], promises: Promises, *, sizes_alone: bool) -> bool:
        cuts = meet_of(versions)
        key = (self._key(cuts), sizes_alone)
        if key not in self._meets:
            class_of, _ = classes_under(self.table, cuts)
            self._meets[key] = positions_kept(self.table, class_of, promises)
        return self._meets[key]

    @cached_property
    def _sizes(self) -> Promises:
        return Promises(tuple(p for p in self.promises.of_class if p.by_size))

    def _expectations_kept(self, versions: Sequence[Cuts]) -> bool:
        """Whether what random worlds make of every two versions keeps every promise about beliefs: rule P."""
        if not self.promises.about_beliefs:
            return True
        return all(self._pair_expected(*pair) for pair in combinations(versions, 2))

    def _pair_expected(self, one: Cuts, other: Cuts) -> bool:
        key = tuple(sorted((self._key(one), self._key(other))))
        if key not in self._together:
            try:
                cells = expected_cells(self._trees, self._release(one), self._release(other))
                self._together[key] = expectations_kept(cells, self.promises.about_beliefs, self._columns)
            except WrongCall:  # too many cells to look at
                self._together[key] = False
        return self._together[key]

    @cached_property
    def _columns(self) -> list[BelievedColumn]:
        names = tuple(dict.fromkeys(n for p in self.promises.about_beliefs for n in p.sensitive))
        overall = overall_counts(self.table, names)
        return [
            BelievedColumn(n, self.table.column(n).taxonomy, self.history.code_of_value(n), overall[n])
            for n in names
        ]

    def _feasible_keep(self, versions: Sequence[Cuts]) -> bool:
        """Whether what is left wherever somebody can be keeps every promise: by what is published alone."""
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
