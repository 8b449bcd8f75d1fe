"""Blind grouping: who is in a group depends on quasi-identifiers, on secret coins, and on whether groups keep
promises.

Whoever knows a search that looks at sensitive values learns from the classes that it did *not* make. Here
units of people are made from quasi-identifiers alone. Units that break a promise are then joined with others
in a way that is the same for every unit of a block, whatever it holds: exchanging what two units of a joined
group hold changes nothing that anybody sees, so a member's values are as likely as the group shows them, and
no likelier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Promises, Truth
from sfumato.models.registry import make
from sfumato.policy.searches import BUILT_IN
from sfumato.search.contract import Aim, Outcome, find
from sfumato.search.suppression import distinct_rows
from sfumato.system.coins import Coins
from sfumato.system.errors import Infeasible
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes, histogram
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.taxonomy import Taxonomy

Numbers = NDArray[np.int64]

BLOCK_UNITS = 4
"""Units that may be joined with each other before whole blocks are."""
DECOY_BLOCKS = 20
"""In one block of so many a unit is joined although it keeps every promise: nobody learns from a join who
failed.
"""
RUNS_OF_VALUES = (1, 2)
"""So many people who are alike get the same value, in one rehearsal and the next: real tables are in between.
"""
REHEARSALS = 20
"""How often values are dealt anew before it is decided how to group."""
REHEARSALS_OF_SIZES = 4
"""How often that is done for each size of units."""
WORTH_BEING_BLIND = Fraction(5, 4)
"""Blind grouping is the default where it loses at most this many times as much as k-anonymity alone."""
UNIT_SEARCHES = ("local", "mondrian")
"""The searches that units are made by; of equal losses the first is taken."""


def unit_searches(aim: Aim) -> tuple[str, ...]:
    """Returns the searches among those of an aim that units can be made by."""
    return tuple(name for name in UNIT_SEARCHES if name in (aim.compared or ()))


def publishes_ranges(aim: Aim) -> bool:
    """Returns whether groups may show ranges of ordered columns: where a search that may be run does."""
    return any(BUILT_IN[name].ranges for name in unit_searches(aim))


class Stuck(Exception):
    """All units of a kind together break a promise."""


# Boxes: what a group of people shows of its quasi-identifiers.


def covers(tree: Taxonomy, low: Codes, high: Codes, *, ranges: bool) -> tuple[Codes, Codes]:
    """Returns the narrowest interval that can be published over the leaf ranks `low .. high-1`, for each
    pair.

    It is the lowest node that covers them or, with `ranges` and of an ordered tree, the range between two
    nodes of its range level where that is narrower; a range never holds missing cells.
    """
    node = tree.leaves[low]
    while (short := tree.high[node] < high).any():
        node = np.where(short, tree.parent[node], node)
    first, last = tree.low[node], tree.high[node]
    if not (tree.ordered and ranges):
        return first, last
    begin, end = tree.range_cells()
    start, stop = begin[low], end[high - 1]
    missing = tree.rank(None)
    narrower = stop - start < last - first
    if missing is not None:
        narrower &= (missing < start) | (missing >= stop)
    return np.where(narrower, start, first), np.where(narrower, stop, last)


def group_boxes(table: Microdata, group_of: Codes, count: int, *, ranges: bool) -> tuple[Codes, Codes]:
    """Returns the intervals of leaf ranks that each group publishes in every key column."""
    shown = group_of >= 0
    low = np.empty((count, len(table.keys)), np.int32)
    high = np.empty_like(low)
    for j, column in enumerate(table.keys):
        codes = table.codes(column.name)[shown]
        first = np.full(count, np.iinfo(np.int32).max, np.int32)
        last = np.zeros(count, np.int32)
        np.minimum.at(first, group_of[shown], codes)
        np.maximum.at(last, group_of[shown], codes)
        low[:, j], high[:, j] = covers(column.taxonomy, first, last + 1, ranges=ranges)
    return low, high


# Units: people with similar quasi-identifiers, before anybody's values are read.


@dataclass(frozen=True, eq=False)
class Units:
    """People in units of one size each, and units in blocks: all from quasi-identifiers and coins.

    `unit_of` gives the unit of every row, or SUPPRESSED. `size` counts the people of a unit, `kind` numbers
    the units that may stand for each other, `block` the blocks. `can_join` says which blocks have exactly as
    many units as the others of their kind.
    """

    unit_of: Codes
    size: Counts
    kind: Numbers
    block: Numbers
    can_join: Truth

    @property
    def count(self) -> int:
        return len(self.size)

    @cached_property
    def kind_of_block(self) -> Numbers:
        """The kind of every block."""
        kinds = np.zeros(len(self.can_join), np.int64)
        kinds[self.block] = self.kind
        return kinds


def make_units(
    table: Microdata, people: int, aim: Aim, coins: Coins, *, progress: Progress = silent
) -> Units | None:
    """Returns units of `people` to 2 * `people` - 1 rows in blocks; `None` where there are too few of one
    size.

    Rows are those of different people, each distinct row one. At most as many rows are left out as the aim
    allows, because of their quasi-identifiers or for want of units of one size.
    """
    place, outcome = classes_of_keys(table, people, aim, progress)
    class_of = outcome.recoding.class_of[place]
    coin = coins.draw("people", table.people)[_identities(table)]
    unit_of, size = _split(class_of, place, coin, people)
    spare = aim.allowed(table) - table.dropped - int((unit_of == SUPPRESSED).sum())
    zone = _zones(table)
    builder = _KindBuilder(table, unit_of, size, zone, people, coins)
    if not builder.level(spare):
        return None
    return builder.units(ranges=publishes_ranges(aim))


def _identities(table: Microdata) -> Codes:
    person = table.person
    return np.arange(table.distinct, dtype=np.int32) if person is None else person


def classes_of_keys(table: Microdata, people: int, aim: Aim, progress: Progress) -> tuple[Numbers, Outcome]:
    """Returns the number of every row's combination of keys, and the best classes of so many people."""
    codes = np.stack([table.codes(column.name) for column in table.keys], axis=1)
    keys, place = distinct_rows(codes)
    counts = np.bincount(place, weights=table.counts, minlength=len(keys)).astype(np.int64)
    alone = Microdata.of_codes(table.keys, list(keys.T), counts=counts, dropped=table.dropped)
    promise = Promises((make("k-anonymity", {"k": people}),))
    outcomes = []
    for name in unit_searches(aim):
        try:
            outcomes.append(find(name)(alone, promise, aim, progress=progress))
        except Infeasible:
            continue
    if not outcomes:
        raise Infeasible(
            f"no search makes classes of {people} people from the quasi-identifiers",
            remedy="Ask for a smaller k, or allow more suppressed rows.",
        )
    return place, min(outcomes, key=lambda outcome: outcome.loss)


def _split(class_of: Codes, place: Numbers, coin: NDArray[np.uint64], people: int) -> tuple[Codes, Counts]:
    """Cuts classes into units of `people` to 2 * `people` - 1 rows: neighbours by their keys, equal ones by
    coins.
    """
    order = np.lexsort((coin, place, class_of))
    order = order[class_of[order] >= 0]
    rows = np.bincount(class_of[order])
    parts = rows // people
    owner = class_of[order]
    within = np.arange(len(order)) - (np.cumsum(rows) - rows)[owner]
    number = (np.cumsum(parts) - parts)[owner] + within * parts[owner] // rows[owner]
    unit_of = np.full(len(class_of), SUPPRESSED, np.int32)
    unit_of[order] = number
    return unit_of, np.bincount(number, minlength=int(parts.sum())).astype(np.int64)


def _zones(table: Microdata) -> Numbers:
    """Returns, for every row, which rows it may share a class with where columns may not become `*`."""
    tops = [
        column.taxonomy.levels[column.taxonomy.ceiling][table.codes(column.name)]
        for column in table.keys
        if column.taxonomy.ceiling < column.taxonomy.height
    ]
    return distinct_rows(np.stack(tops, axis=1))[1] if tops else np.zeros(table.distinct, np.int64)


class _KindBuilder:
    """Moves people between units, by coins, until every size has units enough, in blocks of equal many."""

    def __init__(
        self, table: Microdata, unit_of: Codes, size: Counts, zone: Numbers, people: int, coins: Coins
    ) -> None:
        self._table, self._people = table, people
        self._unit_of, self._size = unit_of.copy(), size.copy()
        self._zone = np.zeros(len(size), np.int64)
        self._zone[unit_of[unit_of >= 0]] = zone[unit_of >= 0]
        self._rank = np.argsort(coins.order("units", len(size)))
        self._rows_by_coin = coins.order("leavers", len(unit_of))
        self._codes = np.stack([table.codes(column.name) for column in table.keys], axis=1)
        self._widths = np.array([max(1, len(c.taxonomy.leaves)) for c in table.keys], np.float64)

    def level(self, spare: int) -> bool:
        """Brings every kind to a number of units that falls into blocks; whether at most `spare` people are
        left out.
        """
        left = 0
        for zone in np.unique(self._zone).tolist():
            homeless = self._shrink(zone)
            left += self._place(zone, homeless)
        return left <= max(0, spare) and self._all_in_blocks()

    def _units(self, zone: int, size: int) -> Numbers:
        """The units of a kind, in the order of their coins."""
        units = np.flatnonzero((self._size == size) & (self._zone == zone))
        return units[np.argsort(self._rank[units])]

    def _shrink(self, zone: int) -> list[int]:
        """Takes a person from each unit too many of its size, from the largest size down; returns who has no
        unit.
        """
        homeless: list[int] = []
        rows_of = self._rows_of_units()
        for size in range(2 * self._people - 1, self._people - 1, -1):
            units = self._units(zone, size)
            for unit in units[: _surplus(len(units))].tolist():
                leaving = rows_of(unit) if size == self._people else rows_of(unit)[:1]
                homeless += leaving
                self._unit_of[leaving] = SUPPRESSED
                self._size[unit] -= len(leaving)
        return homeless

    def _rows_of_units(self) -> Callable[[int], list[int]]:
        """Returns what lists the rows of a unit, in the order of their coins."""
        order = self._rows_by_coin[np.argsort(self._unit_of[self._rows_by_coin], kind="stable")]
        sorted_units = self._unit_of[order]

        def rows_of(unit: int) -> list[int]:
            begin, end = np.searchsorted(sorted_units, (unit, unit + 1))
            return [row for row in order[begin:end].tolist() if self._unit_of[row] == unit]

        return rows_of

    def _place(self, zone: int, homeless: list[int]) -> int:
        """Gives people without a unit to four units of one size at a time; returns how many are left over."""
        while len(homeless) >= BLOCK_UNITS:
            size = self._size_with_room(zone)
            if size is None:
                break
            units = self._units(zone, size)
            taken: list[int] = []
            for row in homeless[:BLOCK_UNITS]:
                unit = self._nearest(row, np.setdiff1d(units, taken))
                taken.append(unit)
                self._unit_of[row] = unit
            self._size[taken] += 1
            del homeless[:BLOCK_UNITS]
        return len(homeless)

    def _size_with_room(self, zone: int) -> int | None:
        """Returns the commonest size that can give four units to the next size, both falling into blocks
        still.
        """
        best, most = None, 0
        for size in range(self._people, 2 * self._people - 1):
            here, above = len(self._units(zone, size)), len(self._units(zone, size + 1))
            if here > most and _surplus(here - BLOCK_UNITS) == 0 and _surplus(above + BLOCK_UNITS) == 0:
                best, most = size, here
        return best

    def _nearest(self, row: int, units: Numbers) -> int:
        """Returns the unit that grows least by taking this row; of equal ones the first by its coin."""
        mine = np.isin(self._unit_of, units)
        owner = self._unit_of[mine]
        low = np.full((len(self._size), self._codes.shape[1]), np.iinfo(np.int32).max, np.int32)
        high = np.zeros_like(low)
        np.minimum.at(low, owner, self._codes[mine])
        np.maximum.at(high, owner, self._codes[mine])
        low, high = low[units], high[units]
        grown = np.maximum(high, self._codes[row]) - np.minimum(low, self._codes[row]) - (high - low)
        cost = (grown / self._widths).sum(axis=1)
        return int(units[np.lexsort((self._rank[units], cost))[0]])

    def _all_in_blocks(self) -> bool:
        there = self._size > 0
        _, kinds = distinct_rows(np.stack((self._zone[there], self._size[there]), axis=1))
        return bool((np.bincount(kinds) >= BLOCK_UNITS).all()) and bool(there.any())

    def units(self, *, ranges: bool) -> Units:
        """Returns the units that are left, in blocks of neighbours."""
        there = np.flatnonzero(self._size > 0)
        number = np.full(len(self._size) + 1, SUPPRESSED, np.int32)
        number[there] = np.arange(len(there))
        unit_of = number[self._unit_of]
        _, kind = distinct_rows(np.stack((self._zone[there], self._size[there]), axis=1))
        low, high = group_boxes(self._table, unit_of, len(there), ranges=ranges)
        block, can_join = _blocks(self._table, low, high, kind, ranges=ranges)
        return Units(unit_of, self._size[there], kind, block, can_join)


def _surplus(units: int) -> int:
    """Returns how many units of a kind do not fall into blocks.

    >>> [_surplus(units) for units in (0, 3, 4, 7, 8, 9, 11, 12)]
    [0, 3, 0, 0, 0, 1, 3, 0]
    """
    if units < BLOCK_UNITS:
        return max(0, units)
    return 0 if units < 2 * BLOCK_UNITS else units % BLOCK_UNITS


def _blocks(
    table: Microdata, low: Codes, high: Codes, kind: Numbers, *, ranges: bool
) -> tuple[Numbers, Truth]:
    """Returns the block of every unit, four units of one kind that are cheap to join; `low` and `high` are
    their boxes.

    The second array says of every block whether it has as many units as the others of its kind.
    """
    widths = np.array([max(1, len(c.taxonomy.leaves)) for c in table.keys], np.float64)
    middles = (low + high) / (2 * widths)
    block, full = np.empty(len(kind), np.int64), list[bool]()
    for units in np.split(np.argsort(kind, kind="stable"), np.flatnonzero(np.diff(np.sort(kind))) + 1):
        for part in _neighbourhoods(units, middles):
            distance = _join_costs(table, low[part], high[part], ranges=ranges)
            for members in _fours(distance):
                block[part[members]] = len(full)
                full.append(len(members) == BLOCK_UNITS)
    return block, np.array(full, dtype=bool)


MOST_NEIGHBOURS = 256
"""Units that are compared with each other when blocks are made."""


def _neighbourhoods(units: Numbers, middles: NDArray[np.float64]) -> list[Numbers]:
    """Returns units in parts that can be compared pair by pair, halved where they spread most; all but one of
    fours.
    """
    waiting, done = [units], []
    while waiting:
        part = waiting.pop()
        if len(part) <= MOST_NEIGHBOURS:
            done.append(part)
            continue
        spread = middles[part].max(axis=0) - middles[part].min(axis=0)
        part = part[np.argsort(middles[part, int(np.argmax(spread))], kind="stable")]
        middle = len(part) // (2 * BLOCK_UNITS) * BLOCK_UNITS
        waiting += [part[middle:], part[:middle]]
    return done


def _join_costs(table: Microdata, low: Codes, high: Codes, *, ranges: bool) -> NDArray[np.float64]:
    """Returns what each pair of units loses when it is joined: the widths of the box over both, added up."""
    count = len(low)
    first, second = np.triu_indices(count)
    cost = np.zeros(len(first))
    for j, column in enumerate(table.keys):
        begin = np.minimum(low[first, j], low[second, j])
        end = np.maximum(high[first, j], high[second, j])
        begin, end = covers(column.taxonomy, begin, end, ranges=ranges)
        cost += (end - begin) / max(1, len(column.taxonomy.leaves))
    costs = np.empty((count, count))
    costs[first, second] = cost
    costs[second, first] = cost
    return costs


def _fours(costs: NDArray[np.float64]) -> list[Numbers]:
    """Returns units by fours, the last block with up to three more: first those that are far from everybody
    else.
    """
    left = np.arange(len(costs))
    blocks = []
    apart = costs.sum(axis=1)
    while len(left) >= 2 * BLOCK_UNITS:
        first = left[int(np.argmax(apart[left]))]
        near = left[np.argsort(costs[first, left], kind="stable")]
        near = np.concatenate(([first], near[near != first][: BLOCK_UNITS - 1]))
        blocks.append(near)
        left = np.setdiff1d(left, near)
    return [*blocks, left]


# Joining: units that break a promise, with others of their block.


@dataclass(frozen=True, eq=False)
class Values:
    """What the rows of a table hold in the columns that promises read; `dealt` gives them to other rows."""

    promises: Promises
    columns: Mapping[str, tuple[Taxonomy, Codes, Counts]]

    @classmethod
    def of(cls, table: Microdata, promises: Promises, shown: Truth) -> Values:
        """Returns the values of a table of which these rows are shown."""
        columns = {}
        for name in promises.sensitive:
            tree, codes = table.column(name).taxonomy, table.codes(name)
            overall = np.bincount(codes[shown], minlength=max(1, len(tree.leaves))).astype(np.int64)
            columns[name] = tree, codes, overall
        return cls(promises, columns)

    def dealt(self, shown: Numbers, coins: Coins, run: int) -> Values:
        """Returns the same values, dealt anew to the rows `shown`, which stand in the order of their units.

        They are dealt in runs of so many equal ones, since people who are alike often have the same value.
        """
        codes: list[NDArray[np.integer]] = [ranks[shown] for _, ranks, _ in self.columns.values()]
        alike = np.lexsort([coins.order("equal values", len(shown)), *codes])
        runs = -(-len(shown) // run)
        place = coins.order("runs", runs).argsort()[np.arange(len(shown)) // run]
        order = alike[np.argsort(place, kind="stable")]
        columns = {}
        for name, (tree, codes_of, overall) in self.columns.items():
            moved = codes_of.copy()
            moved[shown] = codes_of[shown[order]]
            columns[name] = tree, moved, overall
        return replace(self, columns=columns)

    def kept(self, rows: Numbers, ids: Numbers, count: int) -> Truth:
        """Returns for each of `count` groups of rows whether it keeps every promise."""
        people = np.bincount(ids, minlength=count).astype(np.int64)
        ones = np.ones(len(rows), np.int64)
        histograms = {
            name: histogram(tree, ids, codes[rows], ones, count, overall=overall)
            for name, (tree, codes, overall) in self.columns.items()
        }
        return self.promises.holds_on(Classes(people, people, histograms))


class _UnitRows:
    """The rows of units, to be asked for a few units at a time."""

    def __init__(self, units: Units) -> None:
        order = np.argsort(units.unit_of, kind="stable")
        self._rows = order[int((units.unit_of < 0).sum()) :]
        self._start = np.concatenate(([0], np.cumsum(units.size)))

    def of(self, units: Numbers) -> tuple[Numbers, Numbers]:
        """Returns the rows of some units, and the place of each row's unit among these."""
        lengths = self._start[units + 1] - self._start[units]
        place = np.repeat(np.arange(len(units)), lengths)
        ends = np.cumsum(lengths)
        within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        return self._rows[self._start[units][place] + within], place


def joined_units(units: Units, values: Values, coins: Coins) -> Numbers:
    """Returns the group of every unit: one unit, or units that were joined because some of them break a
    promise.

    Raises `Stuck` where all units of a kind together do.
    """
    rows = _UnitRows(units)
    every = np.arange(units.count)
    joins = ~values.kept(*rows.of(every), units.count)
    coin = coins.draw("joins", units.count)
    joins |= _decoys(units, joins, coins)
    # Within a block those that are joined come first, then further units in the order of their coins.
    order = np.lexsort((coin, ~joins, units.block))
    start = np.flatnonzero(np.diff(units.block[order], prepend=-1))
    length = np.diff(np.append(start, units.count))
    taken = np.add.reduceat(joins[order].astype(np.int64), start)
    taken[taken == 1] = 2
    open_blocks = np.flatnonzero(taken > 0)
    group_of = every.copy()
    stuck: list[int] = []
    while len(open_blocks):
        short = taken[open_blocks] > length[open_blocks]
        stuck += open_blocks[short].tolist()
        open_blocks = open_blocks[~short]
        if not len(open_blocks):
            break
        counts = taken[open_blocks]
        owner = np.repeat(np.arange(len(open_blocks)), counts)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        members = order[start[open_blocks][owner] + within]
        chosen, place = rows.of(members)
        good = values.kept(chosen, owner[place], len(open_blocks))
        settled = good[owner]
        group_of[members[settled]] = order[start[open_blocks]][owner[settled]]
        open_blocks = open_blocks[~good]
        taken[open_blocks] += 1
    if stuck:
        blocks = [order[first : first + many] for first, many in zip(start, length, strict=True)]
        _join_blocks(units, values, rows, blocks, stuck, group_of, coins)
    return np.unique(group_of, return_inverse=True)[1].ravel()


def _decoys(units: Units, breaks: Truth, coins: Coins) -> Truth:
    """Returns units that keep every promise and are joined all the same: one, in one block of twenty."""
    drawn = coins.draw("decoys", len(units.can_join)) % np.uint64(DECOY_BLOCKS) == 0
    coin = coins.draw("decoy units", units.count)
    fit = np.flatnonzero(drawn[units.block] & ~breaks)
    order = fit[np.lexsort((coin[fit], units.block[fit]))]
    decoys = np.zeros(units.count, dtype=bool)
    decoys[order[np.unique(units.block[order], return_index=True)[1]]] = True
    return decoys


def _join_blocks(
    units: Units,
    values: Values,
    rows: _UnitRows,
    blocks: Sequence[Numbers],
    stuck: Sequence[int],
    group_of: Numbers,
    coins: Coins,
) -> None:
    """Joins blocks of which all units together break a promise with whole blocks of their kind, drawn by
    coins.
    """
    waiting = set(stuck)
    taken: set[int] = set()
    for number in coins.order("stuck blocks", len(blocks)).tolist():
        if number not in waiting or number in taken:
            continue
        if not units.can_join[number]:
            raise Stuck
        together = [number]
        kind = units.kind_of_block[number]
        free = units.can_join & (units.kind_of_block == kind)
        free[[number, *taken]] = False
        drawn = coins.of(f"block {number}").order("blocks", len(blocks))
        for further in (int(other) for other in drawn if free[other]):
            together.append(further)
            members = np.concatenate([blocks[one] for one in together])
            chosen, _ = rows.of(members)
            if values.kept(chosen, np.zeros(len(chosen), np.int64), 1)[0]:
                break
        else:
            raise Stuck
        taken.update(together)
        group_of[members] = blocks[number][0]


# Groups: units, joined where they have to be, and what they show.


@dataclass(frozen=True, eq=False)
class BlindGroups:
    """Units of the size that was chosen, and what rehearsals say of it.

    `loss` is the mean loss of the rehearsals, `plain` that of k-anonymity alone, `failures` how many of them
    could not be grouped.
    """

    table: Microdata
    aim: Aim
    units: Units
    people: int
    loss: float
    plain: float
    failures: int

    @property
    def worth_it(self) -> bool:
        """Whether it is the default: no rehearsal failed, and it loses little more than k-anonymity alone."""
        return not self.failures and Fraction(self.loss) <= WORTH_BEING_BLIND * Fraction(self.plain)

    def recoding(self, group_of: Numbers) -> Recoding:
        """Returns what groups of units publish."""
        groups = np.append(group_of, SUPPRESSED).astype(np.int32)[self.units.unit_of]
        low, high = group_boxes(
            self.table, groups, int(group_of.max()) + 1, ranges=publishes_ranges(self.aim)
        )
        return Recoding(self.table, groups, low, high)

    def outcome(self, promises: Promises, coins: Coins) -> Outcome:
        """Returns the groups of the true values; raises `Infeasible` where a kind of units cannot keep the
        promises.
        """
        values = Values.of(self.table, promises, self.units.unit_of >= 0)
        try:
            recoding = self.recoding(joined_units(self.units, values, coins.of("joining")))
        except Stuck:
            raise Infeasible(
                "people cannot be grouped without looking at who has which value",
                remedy="Relax a promise about sensitive values, or say `grouping: informed` under `protect`."
                " Whoever learns that this policy was refused learns that these people broke it.",
            ) from None
        return Outcome(recoding, self.aim.loss_of(recoding))


def least_people(promises: Promises) -> int:
    """Returns the smallest group that the promises allow, whatever it holds."""
    return max((2, *(promise.least_people for promise in promises.of_class)))


def unit_sizes(least: int) -> list[int]:
    """Returns the sizes of units that are rehearsed, for groups of at least so many people.

    >>> unit_sizes(5)
    [5, 6, 7, 9, 11, 14]
    """
    sizes = [least]
    while len(sizes) < len(UNIT_GROWTH):
        sizes.append(max(sizes[-1] + 1, round(least * UNIT_GROWTH[len(sizes)])))
    return sizes


UNIT_GROWTH = (1.0, 1.2, 1.4, 1.8, 2.2, 2.8)
"""Sizes of units that are rehearsed, as multiples of the smallest."""


def blind_groups(
    table: Microdata, promises: Promises, aim: Aim, coins: Coins, *, progress: Progress = silent
) -> BlindGroups | None:
    """Returns units of the size that loses least in rehearsals; `None` where the table has too few people.

    Nothing here depends on whose value is whose: rehearsals deal the values that are shown anew, by coins.
    """
    best: BlindGroups | None = None
    plain = None
    for people in unit_sizes(least_people(promises)):
        try:
            units = make_units(table, people, aim, coins.of(f"units of {people}"), progress=progress)
        except Infeasible:
            break
        if units is None:
            continue
        if plain is None:
            alone = BlindGroups(table, aim, units, people, 0.0, 0.0, 0)
            plain = aim.loss_of(alone.recoding(np.arange(units.count)))
        loss, failures = _rehearsed(table, promises, aim, units, coins, REHEARSALS_OF_SIZES)
        candidate = BlindGroups(table, aim, units, people, loss, plain, failures)
        if best is None or (failures, loss) < (best.failures, best.loss):
            best = candidate
        elif loss > best.loss and not failures:
            break
    if best is None:
        return None
    loss, failures = _rehearsed(table, promises, aim, best.units, coins, REHEARSALS)
    return replace(best, loss=loss, failures=failures)


def _rehearsed(
    table: Microdata, promises: Promises, aim: Aim, units: Units, coins: Coins, times: int
) -> tuple[float, int]:
    """Returns the mean loss of some rehearsals, and how many could not be grouped: these lose all."""
    shown = np.argsort(units.unit_of, kind="stable")[int((units.unit_of < 0).sum()) :]
    values = Values.of(table, promises, units.unit_of >= 0)
    groups = BlindGroups(table, aim, units, 0, 0.0, 0.0, 0)
    losses, failures = [], 0
    for number in range(times):
        drawn = coins.of(f"rehearsal {number}")
        dealt = values.dealt(shown, drawn, RUNS_OF_VALUES[number % len(RUNS_OF_VALUES)])
        try:
            losses.append(aim.loss_of(groups.recoding(joined_units(units, dealt, drawn))))
        except Stuck:
            failures += 1
            losses.append(1.0)
    return sum(losses) / len(losses), failures


# Which way of grouping a policy gets.


@dataclass(frozen=True)
class GroupedPeople:
    """How people were grouped, for plans and certificates.

    `blind` says that nobody's place depends on anybody's sensitive values; `reason` why it was not so, or
    what the size of units is. `loss` is what blind grouping loses in rehearsals, `plain` k-anonymity alone.
    """

    blind: bool
    reason: str
    loss: float | None = None
    plain: float | None = None

    @property
    def line(self) -> str:
        """What a plan prints."""
        return f"grouping: {'blind' if self.blind else 'informed'} ({self.reason})"


def reads_values(promises: Promises) -> bool:
    """Whether any promise is about more than how many people a class has."""
    return any(not promise.by_size for promise in promises)


def against_blind(promises: Promises, aim: Aim) -> str:
    """Returns why people cannot be grouped without looking at values; nothing if they can."""
    reasons = (
        (bool(promises.of_table), "a promise is about the table as a whole"),
        (bool(promises.of_terms), "terms of quasi-sensitive columns are removed class by class"),
        (not promises.monotone, "a promise may break where classes that keep it are joined"),
        (not unit_searches(aim), f"only {' and '.join(UNIT_SEARCHES)} make classes of any shape"),
        (bool(aim.together), "columns are published at the same level (together)"),
        (bool(aim.never_suppress), "values must not be suppressed (never-suppress)"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def group_people(
    table: Microdata,
    promises: Promises,
    aim: Aim,
    grouping: str,
    coins: Coins,
    *,
    progress: Progress = silent,
) -> tuple[Outcome | None, GroupedPeople]:
    """Returns blind groups where they are asked for or the default, and how people are grouped.

    Raises `Infeasible` where blind groups are asked for and cannot be made.
    """
    reason = against_blind(promises, aim)
    if not reason and not table.has_person:
        reason = "equal rows of this source are not told apart"
    if not reason and table.people != table.rows:
        reason = "somebody has several rows"
    groups = None if reason else blind_groups(table, promises, aim, coins, progress=progress)
    if groups is None:
        reason = reason or "there are too few people of similar quasi-identifiers"
        if grouping == "blind":
            raise Infeasible(
                f"people cannot be grouped blindly: {reason}",
                remedy="Say `grouping: informed` under `protect`.",
            )
        return None, GroupedPeople(False, reason)
    if grouping != "blind" and not groups.worth_it:
        reason = f"blind groups would lose about {groups.loss:.3f}, k alone loses {groups.plain:.3f}"
        return None, GroupedPeople(False, reason, groups.loss, groups.plain)
    made = f"from quasi-identifiers alone, in units of {groups.people} people or more"
    return groups.outcome(promises, coins), GroupedPeople(True, made, groups.loss, groups.plain)
