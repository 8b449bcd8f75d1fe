"""Releases of a table that people leave: who can have been in which of them, pair by pair.

A person is in a set of releases, their *presence*. Two releases i and j share `m` people, in a component J of
comparable classes or in all. Of a matching value s, at least `max(0, n_j - n_i)` people of J are in j and not
in i; the *spare exchange* `r`, the people in both that the counts would allow less those there are, says how
many more such there can be. So of an entry of release j at most `gap + r` people are not in i, and at most
`m` are in both. For two releases these numbers are exact, for more they bound (`presence_cells`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.core.chain import ClassTable, match_blocks
from sfumato.core.errors import BadData
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Codes, Counts
from sfumato.core.taxonomy import Taxonomy

Pair = tuple[int, int]
MANY = np.iinfo(np.int64).max // 4
"""As many as there may be: no bound."""


@dataclass(frozen=True, eq=False)
class PairBounds:
    """What a pair of releases (i, j) says of each other's entries.

    Of entry e of release i at most `alone_one[e]` people are not in j, and at most `both_one[e]` are in both;
    `alone_other` and `both_other` say the same of release j.
    """

    alone_one: Counts
    both_one: Counts
    alone_other: Counts
    both_other: Counts


@dataclass(frozen=True, eq=False)
class Component:
    """The entries of two releases by component: what both hold of each (component, value).

    `join_one` and `join_other` are the components of classes; `key_one` and `key_other` number the pair
    (component, value) of each entry, of which release i holds `held_one` and j `held_other`; `component` says
    which component each such pair is of. There are `count` components.
    """

    join_one: Codes
    join_other: Codes
    key_one: Codes
    key_other: Codes
    held_one: Counts
    held_other: Counts
    component: Codes
    count: int

    @classmethod
    def of(cls, trees: Sequence[Taxonomy], one: ClassTable, other: ClassTable) -> Component:
        """The components in which classes of two releases can hold the same people."""
        met = match_blocks(trees, one, other)
        values = int(max(one.values.max(initial=-1), other.values.max(initial=-1))) + 1
        keys = [
            join[table.owner].astype(np.int64) * max(1, values) + table.values
            for join, table in ((met.join_one, one), (met.join_other, other))
        ]
        known, number = np.unique(np.concatenate(keys), return_inverse=True)
        key_one, key_other = np.split(number.astype(np.int32), [len(keys[0])])
        held = []
        for key, table in ((key_one, one), (key_other, other)):
            sums = np.zeros(len(known), np.int64)
            np.add.at(sums, key, table.counts)
            held.append(sums)
        component = (known // max(1, values)).astype(np.int32)
        count = 1 + int(max(met.join_one.max(initial=-1), met.join_other.max(initial=-1)))
        return cls(met.join_one, met.join_other, key_one, key_other, held[0], held[1], component, count)

    @property
    def in_both(self) -> Counts:
        """Per component, how many people can be in both releases at most."""
        most = np.zeros(self.count, np.int64)
        np.add.at(most, self.component, np.minimum(self.held_one, self.held_other))
        return most

    def shared_in(self, shared: Counts, leavers: Leavers) -> tuple[Counts, Counts]:
        """Per component, how many people are known to be in both (`m`), and the spare exchange (`r`).

        `shared` says it of every class of the later release or, in all, with one number. Raises `BadData`
        where there cannot be as many.
        """
        most = self.in_both
        if leavers is Leavers.TOTAL:
            both = np.full(self.count, int(shared[0]), np.int64)
            spare = np.full(self.count, int(most.sum()) - int(shared[0]), np.int64)
        else:
            both = np.zeros(self.count, np.int64)
            both[self.join_other] = shared
            spare = most - both
        if (
            np.any(spare < 0)
            or np.any(both < 0)
            or not np.array_equal(both[self.join_other], _each(shared, self))
        ):
            raise no_people()
        return both, spare

    def bounds(self, shared: Counts, leavers: Leavers) -> PairBounds:
        """What the pair says of the entries of both releases."""
        both, spare = self.shared_in(shared, leavers)
        gap = self.held_one - self.held_other
        alone_one = np.maximum(0, gap) + spare[self.component]
        alone_other = np.maximum(0, -gap) + spare[self.component]
        of_both = both[self.component]
        return PairBounds(
            alone_one[self.key_one],
            of_both[self.key_one],
            alone_other[self.key_other],
            of_both[self.key_other],
        )


def _each(shared: Counts, met: Component) -> Counts:
    """The number of every class of the later release."""
    return shared if len(shared) == len(met.join_other) else np.repeat(shared[:1], len(met.join_other))


def no_people() -> BadData:
    """The error for numbers of people in two releases that no people can give."""
    return BadData(
        "no people give the counts of all these releases and the numbers of people that they share",
        remedy="Give the releases of one chain, oldest first, as they were entered.",
    )


@dataclass(frozen=True, eq=False)
class LivingChain:
    """Releases of a table that people leave, oldest first, as classes in the columns that cannot change.

    `shared[i, j]`, i < j, says how many people both hold: by class of release j, those of its component, or
    one number in all; nothing where departures are unknown. With `returns` people may come back.
    """

    trees: tuple[Taxonomy, ...]
    releases: tuple[ClassTable, ...]
    leavers: Leavers
    shared: Mapping[Pair, Counts]
    returns: bool = False

    def __len__(self) -> int:
        return len(self.releases)

    def followed_by(self, release: ClassTable, shared: Sequence[Counts]) -> LivingChain:
        """The same releases and one more, which shares so many people with each."""
        last = len(self)
        more = {(i, last): numbers for i, numbers in enumerate(shared)}
        releases = (*self.releases, release)
        return LivingChain(self.trees, releases, self.leavers, {**self.shared, **more}, self.returns)

    @property
    def presences(self) -> list[tuple[int, ...]]:
        """The sets of releases that somebody can be in."""
        every = range(len(self))
        if self.returns:
            return [p for size in every for p in combinations(every, size + 1)]
        return [tuple(range(a, b + 1)) for a in every for b in range(a, len(self))]


def fixed_columns(release: ClassTable, fixed: Sequence[int]) -> ClassTable:
    """The same classes, known by these columns alone: people may have moved in the others."""
    if len(fixed) == release.nodes.shape[1]:
        return release
    nodes = np.ascontiguousarray(release.nodes[:, list(fixed)])
    node_of = tuple(release.node_of[j] for j in fixed)
    return ClassTable(node_of, nodes, release.owner, release.values, release.counts)
