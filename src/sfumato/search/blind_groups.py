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
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Promises, Truth
from sfumato.models.registry import make
from sfumato.policy.searches import BUILT_IN
from sfumato.search.contract import Aim, Outcome, find
from sfumato.search.loss import column_weights
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
MORE_UNITS = 12
"""Units that a block has beyond those that do not fall into blocks of four. No other block has as many, so it
is joined with none, and breaks a promise all the seldomer.
"""
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
FEW_PEOPLE = 5_000
"""Of more people rehearsals lose nearly the same: no size is tried after one that loses more."""
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
    codes = _key_codes(table)[shown]
    return _published(table, *_hulls(group_of[shown], codes, codes, count), ranges=ranges)


def _key_codes(table: Microdata) -> Codes:
    return np.stack([table.codes(column.name) for column in table.keys], axis=1)


def _hulls(owner: NDArray[np.integer], first: Codes, last: Codes, count: int) -> tuple[Codes, Codes]:
    """Returns the least and the greatest leaf rank of each of `count` owners, all of whom own something."""
    order = np.argsort(owner, kind="stable")
    start = np.searchsorted(owner[order], np.arange(count))
    return np.minimum.reduceat(first[order], start), np.maximum.reduceat(last[order], start)


def _published(table: Microdata, first: Codes, last: Codes, *, ranges: bool) -> tuple[Codes, Codes]:
    """Returns what is published over the leaf ranks `first .. last`, both included, of every key column."""
    low, high = np.empty_like(first), np.empty_like(last)
    for j, column in enumerate(table.keys):
        low[:, j], high[:, j] = covers(column.taxonomy, first[:, j], last[:, j] + 1, ranges=ranges)
    return low, high


def _scales(table: Microdata, aim: Aim) -> NDArray[np.float64]:
    """Returns what a leaf costs in every key column: the weight of the column over its leaves."""
    leaves = np.array([max(1, len(column.taxonomy.leaves)) for column in table.keys], np.float64)
    return column_weights(table.keys, aim.weights) / leaves


# Units: people with similar quasi-identifiers, before anybody's values are read.


@dataclass(frozen=True, eq=False)
class Units:
    """People in units of one size each, and units in blocks: all from quasi-identifiers and coins.

    `unit_of` gives the unit of every row, or SUPPRESSED, `first` and `last` the leaf ranks that a unit holds
    in every key column. `size` counts the people of a unit, `kind` numbers the units that may stand for each
    other, `block` the blocks. `can_join` says which blocks have exactly as many units as the others of their
    kind.
    """

    unit_of: Codes
    first: Codes
    last: Codes
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

    @cached_property
    def in_order(self) -> Numbers:
        """All rows, those that are not shown first, then unit by unit."""
        return np.argsort(self.unit_of, kind="stable")

    @cached_property
    def _start(self) -> Numbers:
        return len(self.unit_of) - int(self.size.sum()) + np.concatenate(([0], np.cumsum(self.size)))

    def rows_of(self, units: Numbers) -> tuple[Numbers, Numbers]:
        """Returns the rows of some units, and the place of each row's unit among these."""
        lengths = self.size[units]
        place = np.repeat(np.arange(len(units)), lengths)
        within = np.arange(len(place)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.in_order[self._start[units][place] + within], place


def make_units(
    table: Microdata,
    people: int,
    aim: Aim,
    coins: Coins,
    *,
    of: Truth | None = None,
    progress: Progress = silent,
) -> Units | None:
    """Returns units of `people` to 2 * `people` - 1 rows in blocks; `None` where there are too few of one
    size.

    Rows are those of different people, each distinct row one. At most as many rows are left out as the aim
    allows, because of their quasi-identifiers or for want of units of one size. With `of`, these rows are in
    units, and no others.
    """
    if of is not None:
        return _units_of(table, np.flatnonzero(of), people, aim, coins, progress)
    place, outcome = classes_of_keys(table, people, aim, progress)
    unit_of, size = _split(
        outcome.recoding.class_of[place], place, _coin_of_rows(table, coins, "people"), people
    )
    if not len(size):
        return None
    spare = aim.allowed(table) - table.dropped - int((unit_of == SUPPRESSED).sum())
    builder = _KindBuilder(table, unit_of, size, people, aim, coins)
    return builder.units() if builder.level(spare) else None


def _units_of(
    table: Microdata, rows: Numbers, people: int, aim: Aim, coins: Coins, progress: Progress
) -> Units | None:
    """Returns units of all of these rows, or `None`."""
    left_out = table.dropped + table.distinct - len(rows)
    codes = [table.codes(column.name)[rows] for column in table.keys]
    person = rows if table.person is None else table.person[rows]
    some = Microdata.of_codes(table.keys, codes, person=person, dropped=left_out)
    all_of_them = replace(aim, suppress=Fraction(left_out, left_out + len(rows)))
    units = make_units(some, people, all_of_them, coins, progress=progress)
    if units is None or some.person is None:
        return None
    unit_of = np.full(table.distinct, SUPPRESSED, np.int32)
    unit_of[rows[np.argsort(person)]] = units.unit_of[np.argsort(some.person)]
    return replace(units, unit_of=unit_of)


def _coin_of_rows(table: Microdata, coins: Coins, purpose: str) -> NDArray[np.uint64]:
    """Returns a number drawn for every row. It is the person's: where a row stands depends on its values."""
    person = np.arange(table.distinct) if table.person is None else table.person
    return coins.draw(purpose, int(person.max(initial=-1)) + 1)[person]


def table_of_keys(table: Microdata) -> tuple[Numbers, Microdata]:
    """Returns the number of every row's combination of keys, and a table of these alone."""
    keys, place = distinct_rows(_key_codes(table))
    counts = np.bincount(place, weights=table.counts, minlength=len(keys)).astype(np.int64)
    return place, Microdata.of_codes(table.keys, list(keys.T), counts=counts, dropped=table.dropped)


def classes_of_keys(table: Microdata, people: int, aim: Aim, progress: Progress) -> tuple[Numbers, Outcome]:
    """Returns the number of every row's combination of keys, and the best classes of so many people."""
    place, alone = table_of_keys(table)
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
    """Moves people between units, by coins, until every size has units enough, in blocks of equal many.

    Of a zone, `_kinds` lists the units of every size, in the order of their coins; the rows of a unit stand
    in the order of theirs, and the first `_gone` of them have left.
    """

    def __init__(
        self, table: Microdata, unit_of: Codes, size: Counts, people: int, aim: Aim, coins: Coins
    ) -> None:
        self._table, self._people, self._aim = table, people, aim
        self._unit_of, self._size = unit_of.copy(), size.copy()
        self._zone = np.zeros(len(size), np.int64)
        self._zone[unit_of[unit_of >= 0]] = _zones(table)[unit_of >= 0]
        self._rank = np.argsort(coins.order("units", len(size)))
        self._rows = np.lexsort((_coin_of_rows(table, coins, "leavers"), unit_of))
        self._start = len(unit_of) - int(size.sum()) + np.cumsum(size) - size
        self._gone = np.zeros(len(size), np.int64)
        self._codes, self._scales = _key_codes(table), _scales(table, aim)
        order = np.lexsort((self._rank, size, self._zone))
        changes = np.flatnonzero(np.diff(self._zone[order]) | np.diff(size[order])) + 1
        self._kinds = {(int(self._zone[u[0]]), int(size[u[0]])): u for u in np.split(order, changes)}

    def level(self, spare: int) -> bool:
        """Brings every kind to a number of units that falls into blocks; whether at most `spare` people are
        left out.

        Who is left over where nobody may be left out goes to units of one size, whose kinds then have a block
        of more units than others.
        """
        homeless = {zone: self._shrink(zone) for zone in sorted({zone for zone, _ in self._kinds})}
        shown = self._unit_of >= 0
        self._first, self._last = _wide_hulls(self._unit_of[shown], self._codes[shown], len(self._size))
        for zone, people in homeless.items():
            self._place(zone, people)
        for zone, people in homeless.items():
            if sum(map(len, homeless.values())) > max(0, spare):
                self._place_all(zone, people)
        left = sum(map(len, homeless.values()))
        kinds = [len(units) for units in self._kinds.values() if len(units)]
        return left <= max(0, spare) and bool(kinds) and min(kinds) >= BLOCK_UNITS

    def _of(self, zone: int, size: int) -> Numbers:
        """The units of a kind, in the order of their coins."""
        return self._kinds.get((zone, size), np.empty(0, np.int64))

    def _move(self, zone: int, size: int, units: Numbers, step: int) -> None:
        """Makes units of a kind larger or smaller by `step` people."""
        self._kinds[zone, size] = np.setdiff1d(self._of(zone, size), units, assume_unique=True)
        self._size[units] += step
        if size + step:
            both = np.concatenate((self._of(zone, size + step), units))
            self._kinds[zone, size + step] = both[np.argsort(self._rank[both])]

    def _shrink(self, zone: int) -> list[int]:
        """Takes a person from each unit too many of its size, from the largest size down; returns who has no
        unit.
        """
        homeless: list[int] = []
        for size in range(2 * self._people - 1, self._people - 1, -1):
            units = self._of(zone, size)
            units = units[: _surplus(len(units))]
            many = size if size == self._people else 1
            for unit in units.tolist():
                begin = int(self._start[unit] + self._gone[unit])
                leaving = self._rows[begin : begin + many]
                homeless += leaving.tolist()
                self._unit_of[leaving] = SUPPRESSED
            self._gone[units] += many
            self._move(zone, size, units, -many)
        return homeless

    def _place(self, zone: int, homeless: list[int]) -> None:
        """Gives people without a unit to four units of one size at a time, as long as both sizes fall into
        blocks.
        """
        while len(homeless) >= BLOCK_UNITS:
            size = self._size_with_room(zone, BLOCK_UNITS, fits=lambda units: _surplus(units) == 0)
            if size is None:
                break
            self._house(zone, size, homeless, BLOCK_UNITS)

    def _place_all(self, zone: int, homeless: list[int]) -> None:
        """Gives people without a unit to units of one size, if both sizes have units enough then."""
        count = min(len(homeless), BLOCK_UNITS)
        while count:
            size = self._size_with_room(zone, count, fits=lambda units: not 0 < units < BLOCK_UNITS)
            if size is None:
                break
            self._house(zone, size, homeless, count)
            count = min(len(homeless), BLOCK_UNITS)

    def _size_with_room(self, zone: int, count: int, *, fits: Callable[[int], bool]) -> int | None:
        """Returns the commonest size that can give so many units to the next size, if both fit then."""
        best, most = None, count - 1
        for size in range(self._people, 2 * self._people - 1):
            here, above = len(self._of(zone, size)), len(self._of(zone, size + 1))
            if here > most and fits(here - count) and fits(above + count):
                best, most = size, here
        return best

    def _house(self, zone: int, size: int, homeless: list[int], count: int) -> None:
        """Gives the first so many of the homeless to as many units of a size."""
        units, taken = self._of(zone, size), []
        for row in homeless[:count]:
            unit = self._nearest(row, units)
            units = units[units != unit]
            taken.append(unit)
            self._unit_of[row] = unit
            np.minimum(self._first[unit], self._codes[row], out=self._first[unit])
            np.maximum(self._last[unit], self._codes[row], out=self._last[unit])
        self._move(zone, size, np.array(taken), 1)
        del homeless[:count]

    def _nearest(self, row: int, units: Numbers) -> int:
        """Returns the unit that grows least by taking this row; of equal ones the first by its coin."""
        first, last = self._first[units], self._last[units]
        grown = np.maximum(last, self._codes[row]) - np.minimum(first, self._codes[row]) - (last - first)
        return int(units[np.argmin(grown @ self._scales)])

    def units(self) -> Units:
        """Returns the units that are left, in blocks of neighbours."""
        there = np.flatnonzero(self._size > 0)
        number = np.full(len(self._size) + 1, SUPPRESSED, np.int32)
        number[there] = np.arange(len(there))
        unit_of = number[self._unit_of]
        _, kind = distinct_rows(np.stack((self._zone[there], self._size[there]), axis=1))
        first, last = self._first[there], self._last[there]
        block, can_join = _blocks(self._table, first, last, kind, self._aim)
        return Units(unit_of, first, last, self._size[there], kind, block, can_join)


def _wide_hulls(owner: Codes, codes: Codes, count: int) -> tuple[Codes, Codes]:
    """Returns the least and the greatest leaf rank of each owner; of one without any, what nobody holds."""
    there = np.unique(owner)
    first = np.full((count, codes.shape[1]), np.iinfo(np.int32).max, np.int32)
    last = np.zeros_like(first)
    first[there], last[there] = _hulls(np.searchsorted(there, owner), codes, codes, len(there))
    return first, last


def _surplus(units: int) -> int:
    """Returns how many units of a kind do not fall into blocks.

    >>> [_surplus(units) for units in (0, 3, 4, 7, 8, 9, 11, 12)]
    [0, 3, 0, 0, 0, 1, 3, 0]
    """
    if units < BLOCK_UNITS:
        return max(0, units)
    return 0 if units < 2 * BLOCK_UNITS else units % BLOCK_UNITS


def _blocks(table: Microdata, first: Codes, last: Codes, kind: Numbers, aim: Aim) -> tuple[Numbers, Truth]:
    """Returns the block of every unit, four units of one kind that are cheap to join; a unit holds the leaf
    ranks `first .. last`.

    The second array says of every block whether it has as many units as the others of its kind.
    """
    scales = _scales(table, aim)
    middles = (first + last) * scales
    block, full = np.empty(len(kind), np.int64), list[bool]()
    for units in np.split(np.argsort(kind, kind="stable"), np.flatnonzero(np.diff(np.sort(kind))) + 1):
        for part in _neighbourhoods(units, middles):
            costs = _join_costs(table, first[part], last[part], scales, ranges=publishes_ranges(aim))
            for members in _fours(costs):
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


def _join_costs(
    table: Microdata, first: Codes, last: Codes, scales: NDArray[np.float64], *, ranges: bool
) -> NDArray[np.float64]:
    """Returns what each pair of units loses when it is joined: the widths of the box over both, added up."""
    count = len(first)
    one, other = np.triu_indices(count)
    begin, end = np.minimum(first[one], first[other]), np.maximum(last[one], last[other])
    low, high = _published(table, begin, end, ranges=ranges)
    costs = np.empty((count, count))
    costs[one, other] = (high - low) @ scales
    costs[other, one] = costs[one, other]
    return costs


def _fours(costs: NDArray[np.float64]) -> list[Numbers]:
    """Returns units by fours: first those that are far from everybody else.

    Where four does not divide their number, the last block has `MORE_UNITS` more than are left over, or all.
    """
    blocks: list[Numbers] = []
    count = len(costs)
    odd = count % BLOCK_UNITS
    last = BLOCK_UNITS if not odd else odd + MORE_UNITS if count >= odd + 2 * MORE_UNITS else count
    taken = np.zeros(count, dtype=bool)
    for unit in np.argsort(-costs.sum(axis=1), kind="stable").tolist():
        if BLOCK_UNITS * len(blocks) == count - last:
            break
        if taken[unit]:
            continue
        cost = np.where(taken, np.inf, costs[unit])
        cost[unit] = -1.0
        near = np.argsort(cost, kind="stable")[:BLOCK_UNITS]
        taken[near] = True
        blocks.append(near)
    return [*blocks, np.flatnonzero(~taken)]


# Joining: units that break a promise, with others of their block.


@dataclass(frozen=True, eq=False)
class Values:
    """What the rows of a table hold in the columns that promises read; `dealt` gives them to other rows.

    `shown` says which rows are published: those of any units that `dealt` is called with, and no others.
    """

    promises: Promises
    columns: Mapping[str, tuple[Taxonomy, Codes]]
    shown: Truth

    @classmethod
    def of(cls, table: Microdata, promises: Promises, shown: Truth) -> Values:
        """Returns the values of a table of which these rows are shown."""
        columns = {name: (table.column(name).taxonomy, table.codes(name)) for name in promises.sensitive}
        return cls(promises, columns, shown)

    @cached_property
    def overall(self) -> dict[str, Counts]:
        """How often the rows that are shown hold each value, per column."""
        return {
            name: np.bincount(codes[self.shown], minlength=max(1, len(tree.leaves))).astype(np.int64)
            for name, (tree, codes) in self.columns.items()
        }

    @cached_property
    def _alike(self) -> Numbers:
        """All rows that are shown, equal ones one after the other."""
        rows = np.flatnonzero(self.shown)
        return rows[np.lexsort([codes[rows] for _, codes in self.columns.values()])]

    def dealt(self, units: Units, coins: Coins, run: int) -> Values:
        """Returns the same values, dealt anew to everybody who is shown.

        So what is dealt depends on nobody's own value, and on nothing that is not published. Values are dealt
        in runs of so many equal ones, since people who are alike often have the same.
        """
        if not self.columns:
            return self
        rows = len(self._alike)
        place = (coins.order("runs", -(-rows // run))[:, None] * run + np.arange(run)).ravel()
        giver = self._alike[place[place < rows]]
        taker = units.in_order[len(units.unit_of) - rows :]
        columns = {}
        for name, (tree, codes) in self.columns.items():
            moved = codes.copy()
            moved[taker] = codes[giver]
            columns[name] = tree, moved
        return replace(self, columns=columns)

    def kept(self, rows: Numbers, ids: Numbers, count: int) -> Truth:
        """Returns for each of `count` groups of rows whether it keeps every promise."""
        people = np.bincount(ids, minlength=count).astype(np.int64)
        ones = np.ones(len(rows), np.int64)
        histograms = {
            name: histogram(tree, ids, codes[rows], ones, count, overall=self.overall[name])
            for name, (tree, codes) in self.columns.items()
        }
        return self.promises.holds_on(Classes(people, people, histograms))


def joined_units(units: Units, values: Values, coins: Coins) -> Numbers:
    """Returns the group of every unit: one unit, or units that were joined because some of them break a
    promise.

    Raises `Stuck` where all units of a kind together do.
    """
    every = np.arange(units.count)
    joins = ~values.kept(*units.rows_of(every), units.count)
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
        chosen, place = units.rows_of(members)
        good = values.kept(chosen, owner[place], len(open_blocks))
        settled = good[owner]
        group_of[members[settled]] = order[start[open_blocks]][owner[settled]]
        open_blocks = open_blocks[~good]
        taken[open_blocks] += 1
    if stuck:
        blocks = [order[first : first + many] for first, many in zip(start, length, strict=True)]
        _join_blocks(units, values, blocks, stuck, group_of, coins)
    # Numbered by the first unit of each: a number must not tell which of its units was joined first.
    _, first, group = np.unique(group_of, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group.ravel()]


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
    blocks: Sequence[Numbers],
    stuck: Sequence[int],
    group_of: Numbers,
    coins: Coins,
) -> None:
    """Joins blocks of which all units together break a promise with whole blocks of their kind, drawn by
    coins.
    """
    if not units.can_join[stuck].all():
        raise Stuck
    broken = np.zeros(len(blocks), dtype=bool)
    broken[stuck] = True
    drawn = coins.order("stuck blocks", len(blocks))
    drawn = drawn[units.can_join[drawn]]

    def keeps(clusters: Sequence[Sequence[int]]) -> list[bool]:
        members = [np.concatenate([blocks[block] for block in cluster]) for cluster in clusters]
        owner = np.repeat(np.arange(len(clusters)), [len(one) for one in members])
        rows, place = units.rows_of(np.concatenate(members))
        kept: list[bool] = values.kept(rows, owner[place], len(clusters)).tolist()
        return kept

    for kind in np.unique(units.kind_of_block[stuck]).tolist():
        here = drawn[units.kind_of_block[drawn] == kind]
        for cluster in _clusters(here[broken[here]].tolist(), here[~broken[here]].tolist(), keeps):
            group_of[np.concatenate([blocks[block] for block in cluster])] = blocks[cluster[0]][0]


Clusters = list[list[int]]


def _clusters(stuck: Sequence[int], free: list[int], keeps: Callable[[Clusters], list[bool]]) -> Clusters:
    """Returns blocks in clusters that keep every promise, each with a block that is stuck.

    All that break a promise grow at the same time: by free blocks, then by each other, at last by what was
    joined before. Blocks stand in an order that was drawn, and nothing else tells them apart.
    """
    open_clusters, done = [[block] for block in stuck], list[list[int]]()
    if not keeps([[*stuck, *free]])[0]:
        raise Stuck
    while open_clusters:
        grown, waiting = list[list[int]](), list[list[int]]()
        for cluster in open_clusters:
            more = max(1, len(cluster) // BLOCK_UNITS)
            if free:
                grown.append(cluster + free[-more:])
                del free[-more:]
            elif waiting:
                grown.append(waiting.pop() + cluster)
            else:
                waiting.append(cluster)
        if waiting and not grown:
            grown = [waiting.pop() + done.pop()]
        good = keeps(grown)
        done += [cluster for cluster, kept in zip(grown, good, strict=True) if kept]
        open_clusters = [cluster for cluster, kept in zip(grown, good, strict=True) if not kept] + waiting
    return done


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
        hulls = _hulls(group_of, self.units.first, self.units.last, int(group_of.max()) + 1)
        low, high = _published(self.table, *hulls, ranges=publishes_ranges(self.aim))
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
    Who is shown is settled by the first size that can be made, from quasi-identifiers and coins, and the same
    for every size: else the size that is chosen would tell of values that are not shown.
    """
    best: BlindGroups | None = None
    shown: Truth | None = None
    for people in unit_sizes(least_people(promises)):
        try:
            drawn = coins.of(f"units of {people}")
            units = make_units(table, people, aim, drawn, of=shown, progress=progress)
        except Infeasible:
            break
        if units is None:
            continue
        if shown is None:
            shown = units.unit_of >= 0
            values = Values.of(table, promises, shown)
            alone = BlindGroups(table, aim, units, people, 0.0, 0.0, 0)
            plain = aim.loss_of(alone.recoding(np.arange(units.count)))
        loss, failures = _rehearsed(table, values, aim, units, coins, REHEARSALS_OF_SIZES)
        candidate = BlindGroups(table, aim, units, people, loss, plain, failures)
        if best is None or (failures, loss) < (best.failures, best.loss):
            best = candidate
        elif loss > best.loss and not failures and table.distinct > FEW_PEOPLE:
            break
    if best is None:
        return None
    loss, failures = _rehearsed(table, values, aim, best.units, coins, REHEARSALS)
    return replace(best, loss=loss, failures=failures)


def _rehearsed(
    table: Microdata, values: Values, aim: Aim, units: Units, coins: Coins, times: int
) -> tuple[float, int]:
    """Returns the mean loss of some rehearsals, and how many could not be grouped: these lose all."""
    groups = BlindGroups(table, aim, units, 0, 0.0, 0.0, 0)
    losses, failures = [], 0
    for number in range(times):
        drawn = coins.of(f"rehearsal {number}")
        dealt = values.dealt(units, drawn, RUNS_OF_VALUES[number % len(RUNS_OF_VALUES)])
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
    `unit_of` is the unit of every row, for whoever tries whether values matter; it is shown to nobody.
    """

    blind: bool
    reason: str
    loss: float | None = None
    plain: float | None = None
    unit_of: Codes | None = field(default=None, repr=False, compare=False)

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
    if not reason and not table.keys:
        reason = "there are no quasi-identifiers"
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
    unit_of = groups.units.unit_of
    return groups.outcome(promises, coins), GroupedPeople(True, made, groups.loss, groups.plain, unit_of)
