"""The boxes of a lattice of levels, walked by what each row loses in its own box.

Columns are in two halves. Of a half, every combination of values that occurs is numbered, and so is every
box at every combination of levels; the price of a row in a box of the lattice is then the sum of two table
entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.local_moves import NOBODY

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

STAMP, KEY, ROWS, NEWEST = 0, 1, 2, 3
_LARGEST = (1 << 8) - 1
_SLOT = (1 << 32) - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class ColumnHalf(NamedTuple):
    """Half of the columns: `value[g]` numbers what group g holds in them.

    At combination of levels l, value v is in box `box[l, v]` and loses `price[l, v]`, in steps that
    are small enough for both halves to stay below 2^31 together.
    """

    value: Int32s
    price: Int32s
    box: Int32s


class FreeGroups(NamedTuple):
    """Groups without a class: their numbers, what they hold in either half, and their rows.

    Rare ones come first (`ValueBits`); both parts are sorted by what they hold in the first half, the larger
    table as a rule, which is then read from one end to the other.
    """

    group: Int32s
    one: Int32s
    two: Int32s
    weight: Int64s


class Buckets(NamedTuple):
    """A hash table that is never cleared: an entry counts where its stamp is the current one.

    An entry of `boxes` has four numbers side by side: STAMP, KEY, ROWS and the NEWEST of its groups, by its
    place among the free ones; `older` has the one before that. `used` lists the entries that count; `inside`
    is room for those in a band, and `rows` for those of all boxes that share a bucket.
    """

    boxes: Int64s
    rows: NDArray[np.uint8]
    used: Int64s
    inside: Int32s
    older: Int32s


class ValueBits(NamedTuple):
    """Which sensitive values groups hold: promise p has the bits of words `word[p]` to `word[p + 1]`.

    At least `least[p]` of them a class must have, and so one group that is `rare`: all others hold one value
    that is the same. Where only sizes are promised, all are rare.
    """

    bits: NDArray[np.uint64]
    word: Int64s
    least: Int64s
    rare: NDArray[np.bool_]


class SideLevels(NamedTuple):
    """The columns of a half: value v holds leaf `rank[i, v]` of column i.

    Its node at level l is `nodes[first[i] + l * width[i] + rank[i, v]]`, and costs `price` of that node;
    from level `whole[i]` on it is the same for all.
    """

    rank: Int32s
    nodes: Int32s
    first: Int64s
    width: Int64s
    whole: Int64s
    price: Int64s


@njit(cache=True)
def boxes_at(vectors: Int32s, side: SideLevels, step: int, too_dear: int) -> tuple[Int32s, Int32s]:
    """Returns what every value loses at every combination of levels, in steps, and the number of its box.

    Boxes are numbered by first appearance. Vectors that begin alike, one after the other, share what they
    begin with.
    """
    columns, values = side.rank.shape
    price = np.empty((len(vectors), values), np.int32)
    box = np.empty((len(vectors), values), np.int32)
    numbers = np.zeros((columns + 1, values), np.int32)
    counts = np.ones(columns + 1, np.int64)
    prices = np.zeros((columns + 1, values), np.int64)
    bits = 4
    while (1 << bits) < 2 * values:
        bits += 1
    slots, keys = np.empty(1 << bits, np.int32), np.empty(values, np.int64)
    for row in range(len(vectors)):
        alike = 0
        while row and alike < columns and vectors[row, alike] == vectors[row - 1, alike]:
            alike += 1
        for i in range(alike, columns):
            level = side.first[i] + vectors[row, i] * side.width[i]
            for v in range(values):
                prices[i + 1, v] = prices[i, v] + side.price[side.nodes[level + side.rank[i, v]]]
            if counts[i] == values or vectors[row, i] >= side.whole[i]:  # no box is parted
                numbers[i + 1], counts[i + 1] = numbers[i], counts[i]
                continue
            slots[:] = -1
            last, drop, count = len(slots) - 1, np.uint64(64 - bits), 0
            for v in range(values):
                node = side.nodes[level + side.rank[i, v]]
                key = (np.int64(numbers[i, v]) << 32) | np.int64(node)
                slot = np.int64((np.uint64(key) * _GOLDEN) >> drop)
                while slots[slot] >= 0 and keys[slots[slot]] != key:
                    slot = (slot + 1) & last
                if slots[slot] < 0:
                    slots[slot] = count
                    keys[count] = key
                    count += 1
                numbers[i + 1, v] = slots[slot]
            counts[i + 1] = count
        for v in range(values):
            price[row, v] = min(prices[columns, v] // step, too_dear)
            box[row, v] = numbers[columns, v]
    return price, box


@njit(cache=True)
def empty_buckets(groups: int) -> Buckets:
    """Room for so many groups in so many buckets, at most half full."""
    size = _buckets_for(groups)
    return Buckets(
        np.zeros((size, 4), np.int64),
        np.empty(size, np.uint8),
        np.empty(groups + 1, np.int64),
        np.empty(groups + 1, np.int32),
        np.empty(groups + 1, np.int32),
    )


@njit(cache=True, borrows=True)
def _buckets_for(groups: int) -> int:
    """A power of two, at least twice as many."""
    size = 16
    while size < 2 * groups:
        size <<= 1
    return size


@njit(cache=True, borrows=True)
def _sort_into_boxes(
    free: FreeGroups,
    left: int,
    rare: int,
    half_one: ColumnHalf,
    half_two: ColumnHalf,
    at: Int64s,
    band: Int64s,
    least: int,
    stamp: int,
    buckets: Buckets,
) -> int:
    """Puts the free groups whose own price is in the band into boxes of one node; returns how many boxes.

    There are none if none of the rare groups is in the band, which come first.

    Most boxes have one group. So rows are summed up first, without asking which boxes share a bucket: where
    they are fewer than `least`, no box is made. No more buckets are used than are needed, near each other.
    """
    first, second = at[0], at[1]
    low, high, inside = band[0], band[1], 0
    for begin, end in ((0, rare), (rare, left)):
        for i in range(begin, end):
            price = np.int64(half_one.price[first, free.one[i]])
            price += np.int64(half_two.price[second, free.two[i]])
            buckets.inside[inside] = i
            # No branch: who is inside cannot be foreseen.
            inside += int(price > low) & int(price <= high)
        if inside == 0:
            return 0
    enough, last = min(least, _LARGEST), _buckets_for(inside) - 1
    buckets.rows[: last + 1] = 0
    for n in range(inside):
        i = buckets.inside[n]
        slot = _slot(_key(free, half_one, half_two, at, i), last)
        buckets.rows[slot] = min(buckets.rows[slot] + min(free.weight[i], enough), enough)
    candidates = 0
    for n in range(inside):
        i = buckets.inside[n]
        buckets.inside[candidates] = i
        candidates += int(buckets.rows[_slot(_key(free, half_one, half_two, at, i), last)] >= enough)
    table, boxes, last = buckets.boxes, 0, _buckets_for(candidates) - 1
    for n in range(candidates):
        i = buckets.inside[n]
        key = _key(free, half_one, half_two, at, i)
        slot = _slot(key, last)
        while table[slot, STAMP] == stamp and table[slot, KEY] != key:
            slot = (slot + 1) & last
        if table[slot, STAMP] != stamp:
            table[slot, STAMP] = stamp
            table[slot, KEY] = key
            table[slot, ROWS] = 0
            table[slot, NEWEST] = NOBODY
            buckets.used[boxes] = slot
            boxes += 1
        table[slot, ROWS] += free.weight[i]
        buckets.older[i] = table[slot, NEWEST]
        table[slot, NEWEST] = i
    return boxes


@njit(cache=True, inline="always", borrows=True)
def _key(free: FreeGroups, half_one: ColumnHalf, half_two: ColumnHalf, at: Int64s, i: int) -> int:
    """The boxes of a free group in both halves, as one number."""
    return int(np.int64(half_one.box[at[0], free.one[i]]) << 32) | int(half_two.box[at[1], free.two[i]])


@njit(cache=True, inline="always", borrows=True)
def _slot(key: int, last: int) -> int:
    """The bucket where a key is looked for first, up to the last one."""
    mixed = np.uint64(key) * _GOLDEN
    return int(np.int64(mixed >> np.uint64(32))) & last


@njit(cache=True)
def _large_boxes(free: FreeGroups, boxes: int, least: int, buckets: Buckets) -> int:
    """Keeps the used boxes of at least `least` rows, by their first groups; returns how many."""
    large = 0
    for b in range(boxes):
        slot = buckets.used[b]
        if buckets.boxes[slot, ROWS] >= least:
            place = buckets.boxes[slot, NEWEST]
            first = np.int64(free.group[place])
            while place != NOBODY:
                first = min(first, np.int64(free.group[place]))
                place = buckets.older[place]
            buckets.used[large] = (first << 32) | slot
            large += 1
    buckets.used[:large].sort()
    for b in range(large):
        buckets.used[b] &= _SLOT
    return large


@njit(cache=True)
def all_free(order: Int32s, weight: Int64s, half_one: ColumnHalf, half_two: ColumnHalf) -> FreeGroups:
    """All groups, in an order by what they hold in the first half."""
    return FreeGroups(order.copy(), half_one.value[order], half_two.value[order], weight[order])


@njit(cache=True)
def without_classes(free: FreeGroups, left: int, class_of: Int32s) -> int:
    """Closes the gaps that groups leave which now have a class; returns how many are left."""
    count = 0
    for i in range(left):
        free.group[count], free.weight[count] = free.group[i], free.weight[i]
        free.one[count], free.two[count] = free.one[i], free.two[i]
        count += int(class_of[free.group[i]] == NOBODY)
    return count


@njit(cache=True, borrows=True)
def _rare_groups(free: FreeGroups, left: int, held: ValueBits) -> int:
    """How many of the free groups are rare."""
    rare = 0
    while rare < left and held.rare[free.group[rare]]:
        rare += 1
    return rare


@njit(cache=True, borrows=True)
def _has_values(free: FreeGroups, buckets: Buckets, slot: int, held: ValueBits) -> bool:
    """Whether the groups of a box have as many different values as every promise asks for."""
    for p in range(len(held.least)):
        values = 0
        for w in range(held.word[p], held.word[p + 1]):
            seen = np.uint64(0)
            place = buckets.boxes[slot, NEWEST]
            while place != NOBODY:
                seen |= held.bits[free.group[place], w]
                place = buckets.older[place]
            while seen != np.uint64(0):
                seen &= seen - np.uint64(1)
                values += 1
            if values >= held.least[p]:
                break
        if values < held.least[p]:
            return False
    return True


@njit(cache=True)
def walk_band(
    nodes: Int64s,
    band: Int64s,
    free: FreeGroups,
    left: int,
    half_one: ColumnHalf,
    half_two: ColumnHalf,
    least: int,
    class_of: Int32s,
    count: int,
    buckets: Buckets,
    stamp: int,
    held: ValueBits,
) -> tuple[int, int, int]:
    """Makes a class of every box of `least` free rows or more and values enough; by their first groups.

    Returns how many of the free groups are left, the number of classes, and a stamp. Only groups whose own
    price lies in the band (above the first, up to the second number) take part. `nodes` has the combination
    of levels of either half; `class_of` is NOBODY where a group is free.
    """
    rare = _rare_groups(free, left, held)
    for n in range(len(nodes)):
        if rare == 0:
            break
        stamp += 1
        boxes = _sort_into_boxes(free, left, rare, half_one, half_two, nodes[n], band, least, stamp, buckets)
        before = count
        for b in range(_large_boxes(free, boxes, least, buckets)):
            if not _has_values(free, buckets, buckets.used[b], held):
                continue
            place = buckets.boxes[buckets.used[b], NEWEST]
            while place != NOBODY:
                class_of[free.group[place]] = count
                place = buckets.older[place]
            count += 1
        if count > before:
            left = without_classes(free, left, class_of)
            rare = _rare_groups(free, left, held)
    return left, count, stamp


@njit(cache=True)
def candidates_in_band(
    nodes: Int64s,
    band: Int64s,
    free: FreeGroups,
    left: int,
    half_one: ColumnHalf,
    half_two: ColumnHalf,
    least: int,
    buckets: Buckets,
    stamp: int,
    most: int,
    held: ValueBits,
) -> tuple[int, int, Int64s, Int32s]:
    """The boxes of `least` free rows and values enough, for a judge to choose from; they may share groups.

    Returns how many nodes were looked at (at most until `most` members are held), a stamp, where the
    members of each box start, and the members. Boxes of a node come by their first groups.
    """
    members = np.empty(most + left, np.int32)
    starts = np.empty(most + left + 2, np.int64)
    starts[0] = 0
    filled, total, n, rare = 0, 0, 0, _rare_groups(free, left, held)
    while n < len(nodes) and filled < most:
        stamp += 1
        boxes = _sort_into_boxes(free, left, rare, half_one, half_two, nodes[n], band, least, stamp, buckets)
        for b in range(_large_boxes(free, boxes, least, buckets)):
            if not _has_values(free, buckets, buckets.used[b], held):
                continue
            place = buckets.boxes[buckets.used[b], NEWEST]
            while place != NOBODY:
                members[filled] = free.group[place]
                filled += 1
                place = buckets.older[place]
            total += 1
            starts[total] = filled
        n += 1
    return n, stamp, starts[: total + 1].copy(), members[:filled].copy()


@njit(cache=True)
def accept(starts: Int64s, members: Int32s, good: NDArray[np.bool_], class_of: Int32s, count: int) -> int:
    """Makes classes of the good boxes whose members are all free, first come first; returns their number."""
    for b in range(len(good)):
        if not good[b]:
            continue
        free = True
        for i in range(starts[b], starts[b + 1]):
            free = free and class_of[members[i]] == NOBODY
        if free:
            for i in range(starts[b], starts[b + 1]):
                class_of[members[i]] = count
            count += 1
    return count


# Key groups that have a cheap box in common, found by sorting in several orders.


class NodeRows(NamedTuple):
    """Groups in the first of their orders, with what they are at every level of every column but the last.

    Row r is group `number[r]`, and `nodes[r]` has its nodes, column by column from the leaf up. `above[i]` is
    the last level of a column, the same for all, where entry i is the one below it, and NOBODY elsewhere.
    """

    number: Int32s
    nodes: Int32s
    above: Int32s


class RowOrders(NamedTuple):
    """Some orders of the rows: `rows[o, p]` is at place p of order o, and `places[o]` is the inverse."""

    rows: Int32s
    places: Int32s


@njit(cache=True)
def add_nearest(groups: NodeRows, orders: RowOrders, price: Int64s, reach: int, keys: Int64s) -> None:
    """Keeps per row the cheapest of those that it has and of those at most `reach` places from it.

    `keys[r]` has the price of the common box and the number of the other group in one number, by rising
    price: what a row loses on its way up through all levels at which the two differ. Where prices and
    numbers have no room for both, all prices from some bound on count as equal.
    """
    count, width = groups.nodes.shape
    most, bits = keys.shape[1], 0
    while (1 << bits) < count:
        bits += 1
    dearest = np.int64((1 << (62 - bits)) - 1)
    met_by = np.full(count, NOBODY, np.int32)
    beside = np.empty((2 * reach + 1) * len(orders.rows), np.int32)
    rise, best = np.empty(width, np.int64), np.empty(most, np.int64)
    for row in range(count):
        here = groups.nodes[row]
        for i in range(width):
            up = here[i + 1] if groups.above[i] == NOBODY else groups.above[i]
            rise[i] = price[up] - price[here[i]]
        best[:] = keys[row]
        neighbours = _rows_beside(orders, row, reach, met_by, beside)
        for n in range(neighbours):
            there, cost = groups.nodes[beside[n]], np.int64(0)
            for i in range(width):
                cost += rise[i] & -np.int64(here[i] != there[i])  # no branch: many at once
            key = (min(cost, dearest) << bits) | np.int64(groups.number[beside[n]])
            if key >= best[most - 1]:
                continue
            place = most - 1
            while place > 0 and best[place - 1] > key:
                place -= 1
            if place > 0 and best[place - 1] == key:
                continue
            for i in range(most - 1, place, -1):
                best[i] = best[i - 1]
            best[place] = key
        keys[row] = best


@njit(cache=True, borrows=True)
def _rows_beside(orders: RowOrders, row: int, reach: int, met_by: Int32s, beside: Int32s) -> int:
    """Writes every other row that is near in some order, once; returns how many.

    `met_by` says for which row each was written last.
    """
    count, written = len(met_by), 0
    met_by[row] = row
    for o in range(len(orders.rows)):
        place = orders.places[o, row]
        for p in range(max(0, place - reach), min(count, place + reach + 1)):
            neighbour = orders.rows[o, p]
            beside[written] = neighbour
            written += int(met_by[neighbour] != row)
            met_by[neighbour] = row
    return written


@njit(cache=True)
def grow_boxes(
    near: Int32s,
    groups: NodeRows,
    weight: Int64s,
    price: Int64s,
    least: int,
    seeds: Int64s,
    doubled: int,
    waiting: int,
) -> NDArray[np.uint8]:
    """What a box around each of these rows has gone up, when it has `least` rows, twice as many, and so on.

    It takes in the group that costs least among its neighbours, and those of the groups that it took in as
    long as fewer than `waiting` wait: the first of equals. Where nobody is left, it stays as it is.
    """
    count, width = groups.nodes.shape
    raised = np.zeros((len(seeds), doubled + 1, width), np.uint8)
    row_of = np.empty(count, np.int32)
    for row in range(count):
        row_of[groups.number[row]] = row
    met_by = np.full(count, NOBODY, np.int32)
    beside, members = np.empty(waiting + near.shape[1], np.int32), np.empty(count, np.int32)
    rise, up = np.empty(width, np.int64), np.zeros(width, np.int64)
    for s in range(len(seeds)):
        row = seeds[s]
        here = groups.nodes[row]
        for i in range(width):
            above = here[i + 1] if groups.above[i] == NOBODY else groups.above[i]
            rise[i] = price[above] - price[here[i]]
        up[:] = 0
        met_by[row] = s
        members[0] = row
        taken, asked, filled, rows = 1, 0, 0, weight[groups.number[row]]
        for step in range(doubled + 1):
            while rows < least << step:
                while filled < waiting and asked < taken:
                    others = near[groups.number[members[asked]]]
                    for n in range(len(others)):
                        if others[n] == NOBODY:
                            break
                        other = row_of[others[n]]
                        if met_by[other] != s:
                            met_by[other] = s
                            beside[filled] = other
                            filled += 1
                    asked += 1
                if filled == 0:
                    break
                best, cheapest = 0, np.int64(1) << 62
                for n in range(filled):
                    there, cost = groups.nodes[beside[n]], np.int64(0)
                    for i in range(width):
                        cost += rise[i] & -(up[i] | np.int64(here[i] != there[i]))
                    if cost < cheapest:
                        best, cheapest = n, cost
                chosen = beside[best]
                there = groups.nodes[chosen]
                for i in range(width):
                    up[i] |= np.int64(here[i] != there[i])
                filled -= 1
                beside[best] = beside[filled]
                members[taken] = chosen
                taken += 1
                rows += weight[groups.number[chosen]]
            for i in range(width):
                raised[s, step, i] = up[i]
    return raised
