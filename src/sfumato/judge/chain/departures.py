"""A chain that people leave, judged from what each release showed and how many people any two share.

People are known by the releases they are in and by their classes there. With matching value s, no more of
them can be there than one of these classes has rows; nor more than people of such a row can be in another
release (as many as both share), or be absent from it: as many as one has more of s than the other, and as
many besides as the counts would let stay beyond those who do. One release and two are decided by that, and
any number where nothing is known of departures. For others, worlds are looked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.core.errors import BadData
from sfumato.judge.chain.corrections import fewest_of_corrected
from sfumato.judge.chain.marks import Marks, in_order
from sfumato.judge.chain.remembered_release import (
    Numbers,
    ReleaseTable,
    RememberedRelease,
    on_newest_trees,
    unpacked,
)
from sfumato.judge.chain.same_columns import in_same_columns
from sfumato.judge.chain.world_equations import (
    LARGEST,
    CellTable,
    TooLarge,
    WorldEquations,
    cells_of_each,
    components_of,
    joins,
)

KNOWN = ("counted", "total", "unknown")
MOST_WITH_RETURNS = 10
"""So many releases are judged where people may come back: every set of them is looked at."""


@dataclass(frozen=True, eq=False)
class PeopleMarks:
    """The marks of the people in a release, where it tells people apart, and how many were erased from it.

    They are `packed` until somebody asks for them.
    """

    packed: str
    erased: int

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> PeopleMarks | None:
        """Returns the marks that a document holds; `None` where it tells people apart by batches."""
        if not document.get("people"):
            return None
        return cls(document["batches"], int(document.get("erased", 0)))

    @cached_property
    def different(self) -> Marks:
        """The marks, each once."""
        return np.unique(unpacked(self.packed, "<u8").astype(np.uint64).reshape(-1, 2), axis=0)

    def may_share(self, other: PeopleMarks, count: int) -> bool:
        """Whether two releases can have so many people in common; who was erased may have been in both."""
        every = np.concatenate([self.different, other.different])
        every = every[in_order(every)]
        seen = int(np.all(every[1:] == every[:-1], axis=1).sum())
        return seen <= count <= seen + min(self.erased, other.erased)


@dataclass(frozen=True, eq=False)
class LeftChain:
    """Releases side by side, oldest first, in the columns that cannot change, and who is known to have left.

    `shared[i, j]` says how many people releases i < j share, by class of j; the same number for all of them,
    where it is known in all. Nothing is shared where departures are unknown.
    """

    tables: tuple[ReleaseTable, ...]
    known: str
    shared: Mapping[tuple[int, int], Numbers]
    returns: bool
    corrected: bool
    people: tuple[PeopleMarks | None, ...] = ()

    @classmethod
    def of(cls, documents: Sequence[Mapping[str, Any]], known: str) -> LeftChain:
        """Returns the chain of some documents; raises `BadData` where they were made for other knowledge."""
        releases = in_same_columns([RememberedRelease.of(document) for document in documents])
        said = [document.get("departures") for document in documents]
        newest = said[-1] if isinstance(said[-1], Mapping) else {}
        terms = _terms(newest)
        plain = ("counted", False, (), False)
        if known not in KNOWN or terms[0] != known or any(_terms(s) != terms for s in said if s):
            raise _other_knowledge()
        if any(s is None for s in said) and terms != plain:
            raise _other_knowledge()
        moves = set(terms[2])
        fixed = [j for j, name in enumerate(releases[-1].names) if name not in moves]
        tables = tuple(_in_columns(table, fixed) for table in on_newest_trees(releases))
        people = tuple(PeopleMarks.of(document) for document in documents)
        chain = cls(tables, known, {}, bool(terms[1]), bool(terms[3]), people)
        pairs = combinations(range(len(tables)), 2) if known != "unknown" else ()
        return replace(chain, shared={(i, j): chain._shared(i, j, said[j]) for i, j in pairs})

    def _shared(self, i: int, j: int, said: Mapping[str, Any] | None) -> Numbers:
        first, second = self.tables[i], self.tables[j]
        if said is None:  # nobody could leave: all people of the earlier one are in the later
            one, other = joins(first, second)
            held = np.zeros(1 + int(max(one.max(initial=-1), other.max(initial=-1))), np.int64)
            np.add.at(held, one[first.owner], first.count)
            return held[other]
        try:
            numbers = unpacked(said["shared"][i], "<i8").astype(np.int64)
        except (IndexError, KeyError, TypeError, ValueError):
            raise _damaged() from None
        if len(numbers) != (1 if self.known == "total" else len(second)) or np.any(numbers < 0):
            raise _damaged()
        return np.repeat(numbers, len(second)) if self.known == "total" else numbers

    def people_shared(self) -> dict[tuple[int, int], int]:
        """Returns how many people any two releases share in all, where that is known."""
        found = {}
        for (i, j), numbers in self.shared.items():
            _, other = joins(self.tables[i], self.tables[j])
            _, first = np.unique(other, return_index=True)
            found[i, j] = int(numbers[:1].sum() if self.known == "total" else numbers[first].sum())
        return found

    def check_shared(self, pair: tuple[int, int], count: int) -> None:
        """Raises where marks of people say that another number of them is in both releases."""
        one, other = (self.people[i] if self.people else None for i in pair)
        if one is not None and other is not None and not one.may_share(other, count):
            raise BadData(
                f"releases {pair[0] + 1} and {pair[1] + 1} are said to share {count} people, and their marks"
                " say otherwise",
                remedy="Restore the imprints from a backup.",
            )

    @property
    def presences(self) -> list[tuple[int, ...]]:
        """The sets of releases that somebody can be in."""
        count = len(self.tables)
        if self.returns:
            return [p for n in range(1, count + 1) for p in combinations(range(count), n)]
        return [tuple(range(a, b)) for a in range(count) for b in range(a + 1, count + 1)]


def _terms(said: Mapping[str, Any] | None) -> tuple[object, bool, tuple[str, ...], bool]:
    words = said or {}
    moves = tuple(map(str, words.get("moves", ())))
    return (words.get("leavers"), bool(words.get("returns")), moves, bool(words.get("corrected")))


def _in_columns(table: ReleaseTable, columns: Sequence[int]) -> ReleaseTable:
    chosen = list(columns)
    cut = tuple(table.cut[j] for j in chosen)
    return replace(table, low=table.low[:, chosen], high=table.high[:, chosen], cut=cut)


def _other_knowledge() -> BadData:
    return BadData(
        "the releases were made for somebody who knows something else of departures",
        remedy="Judge them by the policy that they were made by.",
    )


def _damaged() -> BadData:
    return BadData(
        "the imprint of a release does not say how many people it shares with the earlier ones",
        remedy="Restore it from a backup.",
    )


def target_bounds(chain: LeftChain) -> tuple[Numbers, list[CellTable]]:
    """Returns the most candidates of every target, and the cells of every presence they are numbered in."""
    if chain.returns and len(chain.tables) > MOST_WITH_RETURNS:
        raise TooLarge
    offset = np.cumsum([0, *(len(table.owner) for table in chain.tables)])
    most, every, unknowns = [], [], 0
    limits = {pair: _limits(chain, *pair) for pair in chain.shared}
    cells_of = cells_of_each(chain.tables, chain.presences, offset)
    for presence, cells in zip(chain.presences, cells_of, strict=True):
        unknowns += len(cells.owner)
        if unknowns > LARGEST:
            raise TooLarge
        left = np.full(len(cells.owner), np.iinfo(np.int64).max)
        for place, j in enumerate(presence):
            entry = cells.sums[:, place] - offset[j]
            left = np.minimum(left, _capped(chain, limits, presence, j)[entry])
        sums = np.zeros(cells.count, np.int64)
        np.add.at(sums, cells.owner, left)
        most.append(sums)
        every.append(cells)
    return np.concatenate(most), every


def _capped(
    chain: LeftChain,
    limits: Mapping[tuple[int, int], tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]],
    presence: Sequence[int],
    j: int,
) -> Numbers:
    """Returns how many people of a presence can be behind each entry of release j."""
    count = chain.tables[j].count
    for pair, (absent, both) in limits.items():
        if j in pair:
            side, other = pair.index(j), pair[1 - pair.index(j)]
            count = np.minimum(count, both[side] if other in presence else absent[side])
    return count


def _limits(chain: LeftChain, i: int, j: int) -> tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
    """Returns, for the entries of two releases, how many people can be absent from the other, and in both."""
    first, second = chain.tables[i], chain.tables[j]
    one, other = joins(first, second)
    width = 1 + int(max(first.value.max(initial=0), second.value.max(initial=0)))
    mine, theirs = one[first.owner] * width + first.value, other[second.owner] * width + second.value
    known = np.unique(np.concatenate([mine, theirs]))
    held = np.zeros((2, len(known)), np.int64)
    at = [np.searchsorted(known, keys) for keys in (mine, theirs)]
    np.add.at(held[0], at[0], first.count)
    np.add.at(held[1], at[1], second.count)
    part = known // width
    stay, spare = _stay_and_spare(chain, (i, j), other, part, held)
    limits = [spare[part] + np.maximum(0, held[side] - held[1 - side]) for side in (0, 1)]
    both = stay[part]
    return (limits[0][at[0]], limits[1][at[1]]), (both[at[0]], both[at[1]])


def _stay_and_spare(
    chain: LeftChain, pair: tuple[int, int], other: Numbers, part: Numbers, held: Numbers
) -> tuple[Numbers, Numbers]:
    """Returns, by component, how many people both releases share, and how many more could be in both."""
    count = 1 + int(max(part.max(initial=-1), other.max(initial=-1)))
    could = np.zeros(count, np.int64)
    np.add.at(could, part, held.min(axis=0))
    shared = chain.shared[pair]
    if chain.known == "total":
        number = int(shared[0]) if len(shared) else 0
        chain.check_shared(pair, number)
        stay = np.full(count, number, np.int64)
        spare = np.full(count, int(could.sum()) - number, np.int64)
    else:
        stay = np.zeros(count, np.int64)
        stay[other] = shared
        chain.check_shared(pair, int(stay.sum()))
        spare = could - stay
        if not np.array_equal(stay[other], shared):
            raise _damaged()
    if np.any(spare < 0):
        raise BadData(
            "more people are said to be in two releases than their counts allow",
            remedy="Restore the imprints from a backup.",
        )
    return stay, spare


def left_equations(chain: LeftChain, cells: Sequence[CellTable]) -> WorldEquations:
    """Returns what counts and shared numbers say of the people behind a chain, as sums of unknowns."""
    total = [table.count for table in chain.tables]
    first = sum(map(len, total))
    place: dict[tuple[int, int], Numbers] = {}
    for (i, j), shared in chain.shared.items():
        _, other = joins(chain.tables[i], chain.tables[j])
        parts = np.zeros(len(other), np.int64) if chain.known == "total" else other
        sums = np.zeros(1 + int(parts.max(initial=0)), np.int64)
        sums[parts] = shared
        place[i, j] = first + parts
        total.append(sums)
        first += len(sums)
    offset = np.cumsum([0, *(len(table.owner) for table in chain.tables)])
    target, sums_of, lengths, time, count = [], [], [], [], 0
    for number, (presence, some) in enumerate(zip(chain.presences, cells, strict=True)):
        rows = [some.sums]
        for i, j in combinations(presence, 2):
            entry = some.sums[:, presence.index(j)] - offset[j]
            rows.append(place[i, j][chain.tables[j].owner[entry]][:, None])
        whole = np.hstack(rows)
        target.append(some.owner + count)
        sums_of.append(whole.ravel())
        lengths.append(np.full(len(whole), whole.shape[1], np.int64))
        time.append(np.full(some.count, number, np.int64))
        count += some.count
    start = np.concatenate(([0], np.cumsum(np.concatenate(lengths))))
    sums, totals = np.concatenate(sums_of), np.concatenate(total)
    component = components_of(start, sums, len(totals))
    return WorldEquations(np.concatenate(target), np.concatenate(time), start, sums, totals, component)


def is_by_formula(chain: LeftChain) -> bool:
    """Tells whether the formulas alone decide."""
    return chain.known == "unknown" or len(chain.tables) < 3


def corrected_bound(chain: LeftChain) -> int | None:
    """Returns the fewest candidates of somebody whose value may have been corrected; `None`: nobody's can.

    Raises `TooLarge` where there are more than two releases: then it is not known.
    """
    if not chain.corrected or len(chain.tables) == 1:
        return None
    if len(chain.tables) > 2:
        raise TooLarge
    first, second = chain.tables
    one, other = joins(first, second)
    shared = chain.shared.get((0, 1))
    return fewest_of_corrected((first, one), (second, other), shared, total=chain.known == "total")
