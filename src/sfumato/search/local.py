"""Local recoding: every class publishes the lowest nodes over its rows, whatever other classes publish."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log1p, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import local_moves as proposals
from sfumato.kernels.local_boxes import (
    ColumnHalf,
    NodeRows,
    RowOrders,
    SideLevels,
    ValueBits,
    accept,
    add_nearest,
    all_free,
    boxes_at,
    candidates_in_band,
    empty_buckets,
    grow_boxes,
    walk_band,
    without_classes,
)
from sfumato.kernels.local_moves import (
    CHAINED_TARGETS,
    NOBODY,
    Journal,
    KeyClasses,
    MoveLimits,
    fill,
    improve,
    join,
    place_rest,
)
from sfumato.models.contract import Promises, Truth
from sfumato.policy.searches import Ability
from sfumato.search import contract as refusal
from sfumato.search.best import with_suppression
from sfumato.search.contract import MOST_LEVEL_VECTORS, Aim, Outcome, Work, built_in_search
from sfumato.search.key_groups import WHOLE_PRICE, KeyGroups
from sfumato.search.loss import find_measure
from sfumato.search.refinement import GroupCounter
from sfumato.search.suppression import distinct_rows, row_order
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.recoding import Recoding

# Neighbours of key groups, and the level vectors at which neighbours meet.

REACH = 8
"""Places that are looked at either way in each order of the groups."""
MOST_ORDERS = 100
"""Orders of the groups that are looked through: one for every column, as far as that goes."""
KEPT = 24
"""Neighbours that are kept of a group."""
NEIGHBOURS = "local: neighbours"
"""What local recoding does first, as progress calls it."""
NO_KEY = 1 << 62
"""More than any price of a common box and the number of a group, as one number."""
ORDERS_TOGETHER = 16
"""Orders that are looked through at once: two numbers of 32 bits per group for each of them."""
MOST_GROWN = 1 << 17
"""Rows that boxes around single groups grow to, all together."""
DOUBLED = 3
"""How often such a box grows to twice as many rows."""


def neighbours_of(groups: KeyGroups, *, progress: Progress = silent) -> Codes:
    """Returns per group others whose common box with it is cheap, by rising price; NOBODY where fewer.

    Groups are sorted column by column, the dear columns first, and once more with each column moved to the
    end: those who differ in one column only are then side by side. In tables of very many columns not all
    are moved.
    """
    columns = groups.leaf.shape[1]
    orders = [
        [*(j for j in range(columns) if j != last), last]
        for last in (columns - 1, *range(min(columns, MOST_ORDERS) - 1))
    ]
    first = row_order(groups.leaf[:, orders[0]]).astype(np.int32)
    leaf, nodes = groups.leaf[first], _node_rows(groups, first)
    keys = np.full((len(groups), KEPT), NO_KEY, np.int64)
    for begin in range(0, len(orders), ORDERS_TOGETHER):
        progress(NEIGHBOURS, begin, len(orders))
        together = orders[begin : begin + ORDERS_TOGETHER]
        rows = np.stack([row_order(leaf[:, order]) for order in together]).astype(np.int32)
        places = np.empty_like(rows)
        np.put_along_axis(places, rows, np.arange(len(groups), dtype=np.int32)[None], axis=1)
        add_nearest(nodes, RowOrders(rows, places), groups.forest.price, REACH, keys)
    progress(NEIGHBOURS, len(orders), len(orders))
    number = keys & ((1 << max(0, len(groups) - 1).bit_length()) - 1)
    near = np.empty(keys.shape, np.int32)
    near[first] = np.where(keys == NO_KEY, NOBODY, number)
    return near


def promising_levels(groups: KeyGroups, near: Codes, least: int) -> tuple[Codes, Counts]:
    """Returns level vectors at which boxes hold enough rows, by what they promise, and how often each occurs.

    Around a group a box grows by the neighbour that costs least, and theirs, until it has `least` rows, then
    twice as many, and so on: at its levels one class is there already, and as cheap a one as is at hand.
    """
    rows = _node_rows(groups, row_order(groups.leaf).astype(np.int32))
    seeds = np.unique(
        np.linspace(0, len(groups) - 1, min(len(groups), max(1, MOST_GROWN // least)), dtype=np.int64)
    )
    grown = grow_boxes(near, rows, groups.weight, groups.forest.price, least, seeds, DOUBLED, KEPT)
    ends = np.cumsum([len(levels) - 1 for levels in groups.levels])
    raised = grown.reshape(-1, grown.shape[-1])
    starts = np.append(0, ends[:-1])
    vectors = np.stack([raised[:, a:b].sum(axis=1) for a, b in zip(starts, ends, strict=True)], axis=1)
    distinct, place = distinct_rows(vectors.astype(np.int32))
    return distinct, np.bincount(place, minlength=len(distinct)).astype(np.int64)


def _node_rows(groups: KeyGroups, number: Codes) -> NodeRows:
    """Returns what groups are at every level but the last, in this order of the groups."""
    ends = np.cumsum([len(levels) - 1 for levels in groups.levels])
    nodes, above = np.empty((len(groups), ends[-1]), np.int32), np.full(ends[-1], NOBODY, np.int32)
    for j, (levels, end) in enumerate(zip(groups.levels, ends.tolist(), strict=True)):
        if len(levels) > 1:
            of_leaf = np.ascontiguousarray(levels[:-1].T)
            nodes[:, end + 1 - len(levels) : end] = of_leaf[_ranks(groups, j)[number]]
            above[end - 1] = levels[-1, 0]
    return NodeRows(number, nodes, above)


def _ranks(groups: KeyGroups, column: int) -> Codes:
    """Returns which leaf of a column each group holds, by its place."""
    leaves, leaf = groups.levels[column][0], groups.leaf[:, column]
    place = np.empty(int(leaves[-1]) + 1 - int(leaves[0]), np.int32)
    place[leaves - leaves[0]] = np.arange(len(leaves), dtype=np.int32)
    ranks: Codes = place[leaf - leaves[0]]
    return ranks


# Judgement of classes that are made of key groups.


class GroupJudge:
    """Judges lists of key groups as the classes they would be.

    `least` rows a class must have in any case; `by_size` says that nothing else is promised, and `by_counts`
    that nothing but sizes and numbers of different values is. Promises that
    compare with the whole table are told what the whole table holds: every row is published. Where a person
    may have several rows, that depends on the classes, and only `all_hold` is exact.
    """

    def __init__(self, groups: KeyGroups, promises: Promises, aim: Aim) -> None:
        table = groups.table
        refusal.refuse_local(table, promises, aim, ", and this one is local")
        self.least = max([1, *(p.least_people for p in promises)])
        self.by_size = not table.has_person and all(p.by_size for p in promises)
        self.by_counts = not table.has_person and all(p.by_size or p.by_values for p in promises)
        self.unions_keep = promises.hereditary or (promises.monotone and not table.has_person)
        self.checked = 1
        self._groups, self._promises = groups, promises
        everything = self._classes(np.arange(len(groups)), np.array([0, len(groups)]), {})
        self._overall = {name: h.overall for name, h in everything.histograms.items()}
        if not promises.holds_on(everything).all():
            raise refusal.at_the_root(table, everything, promises, final=self.unions_keep)
        blocks = int(groups.block_of.max(initial=0)) + 1
        if blocks > 1 and not (truth := self.all_hold(groups.block_of, blocks)).all():
            lost = int(groups.weight[~truth[groups.block_of]].sum())
            raise refusal.at_the_ceilings(promises, lost, 0)

    @cached_property
    def _counter(self) -> GroupCounter:
        return GroupCounter(self._groups.table)

    def holds(self, members: NDArray[np.integer], start: Counts) -> Truth:
        """Returns whether each list of groups keeps the promises; list i begins at `start[i]`."""
        self.checked += len(start) - 1
        if len(start) == 1:
            return np.zeros(0, dtype=bool)
        return self._promises.holds_on(self._classes(members, start, self._overall))

    def all_hold(self, class_of: Codes, count: int) -> Truth:
        """Returns whether each class keeps the promises when these are all."""
        self.checked += count
        order = np.argsort(class_of, kind="stable")
        start = np.searchsorted(class_of[order], np.arange(count + 1))
        return self._promises.holds_on(self._classes(order, start, {}))

    def value_bits(self) -> ValueBits:
        """Returns which values each group holds; beyond some number of values the rarest share their bits."""
        number, words, bits = len(self._groups), [0], []
        rare = np.ones(number, dtype=bool)
        asked = [p for p in self._promises if p.least_values > 1]
        for promise in asked:
            alone = self._classes(np.arange(number), np.arange(number + 1), self._overall)
            histogram = alone.histograms[promise.sensitive[0]].by_meaning(missing=False)
            rank = np.argsort(np.argsort(-histogram.overall, kind="stable"))[histogram.values]
            wide = min(MOST_WORDS, -(-len(histogram.overall) // 64))
            place = rank % (64 * wide)
            bits.append(np.zeros((number, wide), np.uint64))
            bit = np.uint64(1) << (place % 64).astype(np.uint64)
            np.bitwise_or.at(bits[-1], (histogram.owner, place // 64), bit)
            words.append(words[-1] + wide)
            others = np.bincount(histogram.owner[place > 0], minlength=number) > 0
            rare = others if others.sum() < rare.sum() else rare
        least = np.array([p.least_values for p in asked], np.int64)
        together = np.concatenate(bits, axis=1) if bits else np.zeros((number, 0), np.uint64)
        return ValueBits(together, np.array(words, np.int64), least, rare)

    def _classes(self, members: NDArray[np.integer], start: Counts, overall: dict[str, Counts]) -> Classes:
        sums = np.concatenate(([0], np.cumsum(self._groups.weight[members])))
        rows = sums[start[1:]] - sums[start[:-1]]
        if self.by_size:
            return Classes(rows, rows)
        member, begin = self._groups.rows_of(members, start)
        return self._counter.classes(member, begin, rows, self._promises.sensitive, overall)


# The box walk: classes from the boxes of a lattice of levels, those first in which rows lose little.

MOST_ENTRIES = 1 << 25
"""Entries that the tables of both halves may have."""
JUDGED_TOGETHER = 1 << 18
"""About so many members of boxes are judged in one call."""
STEP = 8
"""Prices of boxes are compared in such steps, so that they fit 32 bits."""
TOO_DEAR = (1 << 30) - 1
"""More than any price in steps of a box that may be published."""
BOXES = "local: boxes"
"""What local recoding does second, as progress calls it."""
MOST_WORDS = 4
"""Words of 64 bits that say which values of a column a group holds."""
MOST_REPEATS = 8
"""How often the same level vectors are looked at again, where boxes that keep the promises shared groups."""


def walk_boxes(
    groups: KeyGroups, lattice: LevelLattice, judge: GroupJudge, *, progress: Progress = silent
) -> tuple[Codes, int]:
    """Returns the class of every group, NOBODY where none was found, and the number of classes.

    Boxes are taken band by band of what a row loses, from nothing to everything. In a band, each level
    vector sorts the free groups that lose so much there into its boxes; a box that keeps the promises
    becomes a class.
    """
    lattice = lattice.without_small(judge.least, groups.weight)
    class_of = np.full(len(groups), NOBODY, np.int32)
    halves = lattice.halves
    held = judge.value_bits()
    order = np.lexsort((halves[0].value, ~held.rare)).astype(np.int32)
    free, left = all_free(order, groups.weight, *halves), len(groups)
    buckets = empty_buckets(len(groups))
    count, stamp = 0, 0
    bands = list(_bands(groups.leaf.shape[1]))
    for number, band in enumerate(bands):
        progress(BOXES, number, len(bands))
        nodes = lattice.nodes_in(band)
        if judge.by_counts:
            left, count, stamp = walk_band(
                nodes, band, free, left, *halves, judge.least, class_of, count, buckets, stamp, held
            )
            continue
        done, repeats = 0, 0
        while done < len(nodes):
            looked, stamp, start, members = candidates_in_band(
                nodes[done:], band, free, left, *halves, judge.least, buckets, stamp, JUDGED_TOGETHER, held
            )
            good = judge.holds(members, start)
            before = count
            count = accept(start, members, good, class_of, count)
            left = without_classes(free, left, class_of) if count > before else left
            repeats = repeats + 1 if count - before < int(good.sum()) else MOST_REPEATS
            if repeats >= MOST_REPEATS:
                done, repeats = done + looked, 0
    progress(BOXES, len(bands), len(bands))
    return class_of, count


def _bands(columns: int) -> Iterator[Counts]:
    """Yields bounds of the price of a row, above the first and up to the second; narrow where prices are low.

    Bands are a twentieth of a column wide up to one column, then a tenth, from three columns on a quarter.
    """
    steps = [*range(0, 20), *range(20, 60, 2), *range(60, 20 * columns + 5, 5)]
    whole = WHOLE_PRICE // STEP
    ends = [-1, *(min(whole, step * whole // (20 * columns)) for step in steps), whole]
    for low, high in pairwise(ends):
        if low < high:
            yield np.array([low, high], np.int64)


@dataclass(frozen=True, eq=False)
class LevelLattice:
    """Level vectors, as pairs of rows of two tables: one for either half of the columns.

    `nodes` is sorted by what all rows lose there; `least` and `most` bound what a single row loses.
    """

    halves: tuple[ColumnHalf, ColumnHalf]
    nodes: Counts
    least: Counts
    most: Counts

    @classmethod
    def of(cls, groups: KeyGroups, near: Codes, least: int) -> LevelLattice:
        """Returns the whole lattice where it is small, else those that promise most (`promising_levels`)."""
        sides = _two_sides([top + 1 for top in groups.ceilings])
        values = [distinct_rows(groups.leaf[:, side]) for side in sides]
        sizes = [len(distinct) for distinct, _ in values]
        vectors = _level_vectors(groups, near, least, sides, sizes)
        halves, nodes = [], []
        for side, (distinct, value) in zip(sides, values, strict=True):
            needed, node = distinct_rows(vectors[:, side])
            halves.append(_half(groups, side, needed, distinct, value.astype(np.int32)))
            nodes.append(node)
        left, right = halves
        rows = [np.bincount(side_half.value, groups.weight).astype(np.int64) for side_half in halves]
        total = [side_half.price @ count for side_half, count in zip(halves, rows, strict=True)]
        order = np.argsort(total[0][nodes[0]] + total[1][nodes[1]], kind="stable")
        first, second = nodes[0][order], nodes[1][order]
        return cls(
            (left, right),
            np.stack((first, second), axis=1).astype(np.int64),
            left.price.min(axis=1)[first].astype(np.int64) + right.price.min(axis=1)[second],
            left.price.max(axis=1)[first].astype(np.int64) + right.price.max(axis=1)[second],
        )

    def without_small(self, least: int, weight: Counts) -> LevelLattice:
        """Returns the lattice with prices in boxes that half of the columns already make too small.

        A box has no more rows than its values in one half have: fewer than `least` are never a class. Nodes
        keep their order.
        """
        left, right = self.halves
        return replace(self, halves=(_priced_out(left, least, weight), _priced_out(right, least, weight)))

    def nodes_in(self, band: Counts) -> Counts:
        """Returns the level vectors at which some row may lose as much as the band says."""
        chosen: Counts = self.nodes[(self.least <= band[1]) & (self.most > band[0])]
        return chosen


def most_entries(heights: list[int], leaves: list[int], rows: int) -> int:
    """Returns how many entries the tables of both halves have at most, by the levels and leaves of columns.

    >>> most_entries([2, 3], [5, 4], 1000)
    22
    """
    sizes = [
        (min(rows, prod(leaves[j] for j in side)), prod(heights[j] for j in side))
        for side in _two_sides(heights)
    ]
    few = 3 * sum(values for values, _ in sizes)  # one level vector at least, and both ends
    return min(sum(values * levels for values, levels in sizes), MOST_ENTRIES + few)


def _priced_out(column_half: ColumnHalf, least: int, weight: Counts) -> ColumnHalf:
    """Returns a half in which values are too dear where fewer than `least` rows share their box."""
    rows = np.bincount(column_half.value, weight, column_half.price.shape[1]).astype(np.int64)
    price = column_half.price.copy()
    for level, box in enumerate(column_half.box):
        sizes = np.bincount(box, rows)
        price[level, sizes[box] < least] = TOO_DEAR
    return column_half._replace(price=price)


def _two_sides(levels: list[int]) -> tuple[list[int], list[int]]:
    """Returns the columns in two parts with about equally many combinations of levels."""
    sides: tuple[list[int], list[int]] = ([], [])
    sizes = [1, 1]
    for j in sorted(range(len(levels)), key=lambda j: -levels[j]):
        smaller = int(sizes[1] < sizes[0])
        sides[smaller].append(j)
        sizes[smaller] *= levels[j]
    return sorted(sides[0]), sorted(sides[1])


def _level_vectors(
    groups: KeyGroups, near: Codes, least: int, sides: tuple[list[int], list[int]], sizes: list[int]
) -> Codes:
    """Returns the level vectors to walk; the last one has every column at its ceiling, the root as a rule."""
    heights = [top + 1 for top in groups.ceilings]
    entries = sum(size * prod(heights[j] for j in side) for size, side in zip(sizes, sides, strict=True))
    if prod(heights) <= MOST_LEVEL_VECTORS and entries <= MOST_ENTRIES:
        return _combinations([list(range(height)) for height in heights])
    vectors, counts = promising_levels(groups, near, least)
    vectors = np.minimum(vectors, np.array(groups.ceilings, np.int32))
    kept = _levels_worth_walking(groups, vectors, counts, sides, sizes)
    whole = _combinations(kept)
    most = max(1, min(MOST_LEVEL_VECTORS - len(whole), MOST_ENTRIES // (2 * max(1, sum(sizes)))))
    often = np.sort(np.argsort(-counts, kind="stable")[:most])
    ends = np.array([[0] * len(heights), [height - 1 for height in heights]], np.int32)
    return np.unique(np.concatenate((whole, vectors[often], ends)), axis=0)


def _combinations(levels: list[list[int]]) -> Codes:
    """Returns all combinations of these levels, the last column changing first; of any number of columns."""
    made = np.zeros((1, 0), np.int32)
    for column in levels:
        last = np.tile(np.array(column, np.int32), len(made))
        made = np.column_stack((np.repeat(made, len(column), axis=0), last))
    return made


def _levels_worth_walking(
    groups: KeyGroups, vectors: Codes, counts: Counts, sides: tuple[list[int], list[int]], sizes: list[int]
) -> list[list[int]]:
    """Returns so few levels of each column that all their combinations are half of what may be walked.

    The level goes first without which boxes that hold enough rows become least dearer, at the next level that
    is left of its column, for each part by which the combinations become fewer. The last level stays.
    """
    kept = [list(range(top + 1)) for top in groups.ceilings]
    prices, uses = [], []
    for j, levels in enumerate(groups.levels):
        at = groups.forest.price[levels[: groups.ceilings[j] + 1][:, _ranks(groups, j)]]
        prices.append((at @ groups.weight.astype(np.float64)) / groups.weight.sum())
        uses.append(np.bincount(vectors[:, j], counts, len(kept[j])))

    def too_many() -> bool:
        entries = sum(
            size * prod(len(kept[j]) for j in side) for size, side in zip(sizes, sides, strict=True)
        )
        return 2 * prod(map(len, kept)) > MOST_LEVEL_VECTORS or 2 * entries > MOST_ENTRIES

    while too_many() and any(len(levels) > 1 for levels in kept):
        _, j, place = min(
            (
                uses[j][low] * (prices[j][high] - prices[j][low]) / -log1p(-1 / len(levels)),
                j,
                place,
            )
            for j, levels in enumerate(kept)
            for place, (low, high) in enumerate(pairwise(levels))
        )
        uses[j][kept[j][place + 1]] += uses[j][kept[j][place]]
        del kept[j][place]
    return kept


def _half(groups: KeyGroups, side: list[int], needed: Codes, values: Codes, value: Codes) -> ColumnHalf:
    """Returns the table of one half."""
    levels = [groups.levels[j] for j in side]
    rank = np.empty((len(side), len(values)), np.int32)
    for i, nodes in enumerate(levels):
        rank[i] = np.searchsorted(nodes[0], values[:, i])
    flat = np.concatenate([nodes.ravel() for nodes in levels]) if levels else np.empty(0, np.int32)
    first = np.cumsum([0, *(nodes.size for nodes in levels)])[:-1].astype(np.int64)
    width = np.array([nodes.shape[1] for nodes in levels], np.int64)
    whole = [int((nodes.min(axis=1) != nodes.max(axis=1)).sum()) for nodes in levels]
    columns = SideLevels(
        rank, flat.astype(np.int32), first, width, np.array(whole, np.int64), groups.forest.price
    )
    return ColumnHalf(value, *boxes_at(np.ascontiguousarray(needed, np.int32), columns, STEP, TOO_DEAR))


# Placing and moving key groups where more than sizes is promised: proposals in rounds, judged together.

TARGETS = 8
"""Classes that a group without one is offered to."""
MOST_ROUNDS = 400
"""Rounds of proposals; in each, a class is concerned by one proposal at most."""
MOST_VISITS = 2_000_000_000
"""Members of classes that are looked at, at most: what a class is without one of them may ask all others."""
MOVES = "local: moves"
"""What local recoding does last, as progress calls it."""


def place_with_judge(groups: KeyGroups, classes: KeyClasses, judge: GroupJudge, count: int) -> None:
    """Puts every group without a class into one that keeps the promises with it, as cheaply as may be.

    Groups that none of the cheapest classes takes become a class of their own, one per block; it is merged
    with the nearest one until the promises hold.
    """
    for _ in range(2):
        unplaced = np.flatnonzero(classes.class_of == NOBODY)
        if not len(unplaced) or not count:
            break
        targets, rises = proposals.cheapest_classes(classes, groups.forest, unplaced, count, TARGETS)
        _offer(groups, classes, judge, unplaced, targets, rises)
    unplaced = np.flatnonzero(classes.class_of == NOBODY)
    blocks, block = np.unique(groups.block_of[unplaced], return_inverse=True)
    for group, number in zip(unplaced.tolist(), block.ravel().tolist(), strict=True):
        join(classes, groups.forest, group, count + number)
    for number in range(len(blocks)):
        _merge_until_kept(groups, classes, judge, count + number)


def _offer(
    groups: KeyGroups,
    classes: KeyClasses,
    judge: GroupJudge,
    unplaced: NDArray[np.int64],
    targets: Codes,
    rises: NDArray[np.int64],
) -> None:
    """Offers groups to their targets in turn, the cheapest proposals first, until taken or refused by all."""
    turn, target = np.zeros(len(unplaced), np.int64), np.full(len(groups), NOBODY, np.int32)
    place = np.full(len(groups), -1, np.int64)
    place[unplaced] = np.arange(len(unplaced))
    changed = np.zeros(len(classes.size), dtype=bool)
    while True:
        waiting = np.flatnonzero((classes.class_of[unplaced] == NOBODY) & (turn < TARGETS))
        goal = targets[waiting, turn[waiting]]
        turn[waiting[goal == NOBODY]] = TARGETS
        waiting = waiting[goal != NOBODY]
        if not len(waiting):
            return
        target[unplaced[waiting]] = targets[waiting, turn[waiting]]
        order = unplaced[waiting[np.argsort(rises[waiting, turn[waiting]], kind="stable")]]
        chosen = proposals.independent(order, classes, target)
        good = _judged(judge, classes, chosen, target)
        proposals.move_all(chosen[good], classes, groups.forest, target, changed)
        turn[place[chosen[~good]]] += 1


def improve_with_judge(
    groups: KeyGroups, classes: KeyClasses, near: Codes, judge: GroupJudge, *, progress: Progress = silent
) -> None:
    """Moves single groups to classes where they cost less, as long as both classes keep the promises.

    It ends after a number of rounds, or where so many members of classes would have been looked at.
    """
    number, visits = len(groups), 0
    target, gain = np.full(number, NOBODY, np.int32), np.zeros(number, np.int64)
    dirty = np.ones(number, dtype=bool)
    for number_of_round in range(MOST_ROUNDS):
        progress(MOVES, number_of_round, MOST_ROUNDS)
        visits += int(np.bincount(classes.class_of)[classes.class_of[dirty]].sum())
        if visits > MOST_VISITS:
            return
        proposals.propose(classes, groups.forest, near, judge.least, dirty, target, gain)
        order = np.flatnonzero(target != NOBODY)
        if not len(order):
            return
        order = order[np.argsort(-gain[order], kind="stable")]
        chosen = proposals.independent(order, classes, target)
        good = _judged(judge, classes, chosen, target)
        changed = np.zeros(len(classes.size), dtype=bool)
        proposals.move_all(chosen[good], classes, groups.forest, target, changed)
        target[chosen] = NOBODY
        dirty = proposals.near_changes(classes, near, changed)


def _judged(judge: GroupJudge, classes: KeyClasses, chosen: NDArray[np.int64], target: Codes) -> Truth:
    """Returns whether both classes of each proposal would keep the promises; a class may also end empty."""
    start, members = proposals.classes_after(chosen, classes, target)
    there = start[1:] > start[:-1]
    truth = np.ones(len(there), dtype=bool)
    lists = np.append(start[:-1][there], len(members))
    truth[there] = judge.holds(members, lists)
    return truth[0::2] & truth[1::2]


def _merge_until_kept(groups: KeyGroups, classes: KeyClasses, judge: GroupJudge, number: int) -> None:
    """Merges a class with the nearest one until it keeps the promises."""
    while True:
        members = np.flatnonzero(classes.class_of == number)
        if judge.holds(members, np.array([0, len(members)]))[0]:
            return
        nearest = proposals.nearest_class(classes, groups.forest, number, len(classes.size))
        if nearest == NOBODY:
            return
        proposals.merge(classes, groups.forest, nearest, number)


PASSES = 3
"""How often every group is tried; from the second time on only near changes."""
STEPS_PER_GROUP = 1000
"""Prices that the moves of one group may ask for, on average."""
LARGEST_FORMING = 10
"""New classes are formed around single groups up to this size of a class: the work grows with its square."""
DEAR = (3, 10)
"""A new class is tried around a group that loses at least this share of a column."""


MOST_WITHHELD_TRIED = 400_000
"""Distinct rows that are recoded again, all together, without those that may be suppressed."""


BYTES_PER_WALKED_ENTRY = 16
"""Bytes per entry of the tables that local recoding walks: prices, boxes, and a copy of prices to add up."""


def _held_bytes(table: Microdata) -> int:
    heights = [len(column.taxonomy.levels) for column in table.keys]
    leaves = [len(column.taxonomy.leaves) for column in table.keys]
    nodes = 4 * table.distinct * sum(height - 1 for height in heights)
    return max(nodes, most_entries(heights, leaves, table.distinct) * BYTES_PER_WALKED_ENTRY)


@built_in_search(
    "local",
    "puts rows with like keys into one class, and recodes every class by itself",
    place=5,
    compared=1,
    ability=Ability(
        losses=("loss",),
        suppresses=False,
        weighs=True,
        any_promise=False,
        whole_columns=False,
        beside_others=False,
        why_not="local recoding adds up what each row loses, which only loss can tell",
    ),
    work=Work(
        steps=lambda size: size.rows * (1000 + min(size.nodes, MOST_LEVEL_VECTORS) / 4),
        step_time=0.2,
        row_bytes=lambda keys, width, _: 12 * keys + 2 * width + 900,
        held_bytes=_held_bytes,
        rows_of_rungs=30_000,
        cells_of_rungs=400_000,
        walks_levels=True,
    ),
)
def local(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns classes of key groups (`classes_of_groups`), where suppressed rows have a price without some.

    Without a price nothing is suppressed.
    """
    return with_suppression(
        classes_of_groups,
        table,
        promises,
        aim,
        by_relief=True,
        by_top_down=False,
        most=MOST_WITHHELD_TRIED,
        progress=progress,
    )


def classes_of_groups(
    table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent
) -> Outcome:
    """Returns classes that keep every promise and publish nodes of the taxonomies, each class its own.

    Rows with equal keys stay together: what a row becomes depends on its key, on the other keys and, where
    a promise is about a sensitive column, on whether a class keeps it; never on the order of rows. Nothing
    is suppressed. First the boxes of all level vectors are walked, those first in which rows lose little
    (`box_walk`); groups that are left join the class where they cost least; then groups move between
    classes as long as the total falls, for a number of steps that is counted.

    Judged are classes as a reader sees them: all rows that publish the same. The result is not optimal.
    """
    find_measure(aim.loss)
    if not table.distinct or not table.keys:
        return _one_class(table, promises, aim)
    groups = KeyGroups.prepared(table, aim)
    judge = GroupJudge(groups, promises, aim)
    near, lattice = _neighbours_and_boxes(groups, judge, aim, progress)
    class_of, count = walk_boxes(groups, lattice, judge, progress=progress)
    classes = groups.no_classes()
    fill(classes, groups.forest, class_of)
    progress(MOVES, 0, 1)
    if judge.by_size:
        place_rest(classes, groups.forest, max(1, count))
        _improve(groups, classes, near, judge.least, max(1, count), progress)
    else:
        place_with_judge(groups, classes, judge, count)
        improve_with_judge(groups, classes, near, judge, progress=progress)
    recoding = _recoding(groups, classes, judge)
    progress(MOVES, 1, 1)
    return Outcome(recoding, aim.loss_of(recoding), checked=judge.checked)


def _neighbours_and_boxes(
    groups: KeyGroups, judge: GroupJudge, aim: Aim, progress: Progress
) -> tuple[Codes, LevelLattice]:
    """Returns the neighbours of groups and the boxes to walk; of promises they ask the least rows alone."""

    def made() -> tuple[Codes, LevelLattice]:
        near = neighbours_of(groups, progress=progress)
        return near, LevelLattice.of(groups, near, judge.least)

    if aim.prepared is None or aim.prepared.table is not groups.table:
        return made()
    return aim.prepared.find(("boxes", judge.least, *aim.weights.items()), made)


def _one_class(table: Microdata, promises: Promises, aim: Aim) -> Outcome:
    """Returns the table without rows, or without key columns, as it is."""
    refusal.check_missing(table, aim)
    recoding = Recoding.of_cuts(table, {c.name: Cut.coarsest(c.taxonomy) for c in table.keys})
    everything = recoding.classes(recoding.class_of, promises.sensitive)
    if not promises.holds_on(everything).all():
        raise refusal.at_the_root(table, everything, promises, final=True)
    return Outcome(recoding, aim.loss_of(recoding), checked=1)


def _improve(
    groups: KeyGroups, classes: KeyClasses, near: Codes, least: int, count: int, progress: Progress
) -> None:
    """Moves groups between classes where sizes are all that is promised."""
    number = len(groups)
    room = 4 * number + 8
    journal = Journal(
        np.zeros(room, np.int32),
        np.zeros(room, np.int32),
        np.array([0, 0, count], np.int64),
        np.zeros(CHAINED_TARGETS, np.int64),
        np.zeros(CHAINED_TARGETS, np.int64),
    )
    columns = classes.box.shape[1]
    dear = DEAR[0] * WHOLE_PRICE // (DEAR[1] * columns) if least <= LARGEST_FORMING else WHOLE_PRICE + 1
    limits = MoveLimits(least, dear, STEPS_PER_GROUP * number)
    again = np.ones(number, dtype=bool)
    for turn in range(PASSES):
        progress(MOVES, turn, PASSES)
        if not again.any():
            break
        order = np.lexsort((np.arange(number), -classes.cost[classes.class_of]))
        again = improve(classes, groups.forest, near, order, journal, limits, again)


def _recoding(groups: KeyGroups, classes: KeyClasses, judge: GroupJudge) -> Recoding:
    """Returns what the classes publish; those that publish the same are one.

    Where that breaks a promise, the class is merged with the nearest one until every class keeps it.
    """
    while True:
        boxes = classes.box[classes.class_of]
        distinct, class_of = distinct_rows(boxes)
        numbers = class_of.astype(np.int32)
        truth = judge.all_hold(numbers, len(distinct))
        if truth.all():
            low, high = groups.intervals(distinct)
            return Recoding(groups.table, numbers[groups.group_of], low, high)
        _join_equal_boxes(groups, classes, numbers)
        broken = classes.class_of[np.flatnonzero(~truth[numbers])[0]]
        nearest = proposals.nearest_class(classes, groups.forest, broken, len(classes.size))
        if nearest != NOBODY:
            proposals.merge(classes, groups.forest, broken, nearest)


def _join_equal_boxes(groups: KeyGroups, classes: KeyClasses, numbers: Codes) -> None:
    """Makes one class of those that publish the same."""
    first = np.unique(numbers, return_index=True)[1]
    target = classes.class_of[first].copy()
    moved = np.flatnonzero(classes.class_of != target[numbers])
    goals = target[numbers].astype(np.int32)
    changed = np.zeros(len(classes.size), dtype=bool)
    proposals.move_all(moved, classes, groups.forest, goals, changed)
