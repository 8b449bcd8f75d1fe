"""The largest set of points no two of which are comparable (Dilworth), by matching in bit rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.hitting_sets import holds, ones, put

Words = NDArray[np.uint64]
Int64s = NDArray[np.int64]
Truth = NDArray[np.bool_]

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@njit(cache=True)
def below_rows(packed: Words, guard: Words) -> Words:
    """Row u holds the points that u is below.

    `packed` has the coordinates of every point in fields of a few words, the topmost bit of each field, in
    `guard`, clear: u ≤ v in every field iff no guard bit is borrowed from in v - u.
    """
    points, words = packed.shape
    rows = np.zeros((points, (points + 63) >> 6), np.uint64)
    for u in range(points):
        for v in range(points):
            less = u != v
            for w in range(words):
                less &= (((packed[v, w] | guard[w]) - packed[u, w]) & guard[w]) == guard[w]
            if less:
                put(rows[u], v)
    return rows


@njit(cache=True)
def largest_antichain(below: Words) -> Truth:
    """Which points are in it; `below[u]` holds the points above u, transitively.

    A largest matching of lower to upper copies of the points leaves as many points unmatched as there are
    chains in the least cover. Copies reached from unmatched lower ones along alternating paths do not depend
    on the matching; the points whose lower copy is reached and whose upper copy is not are the answer.
    """
    points, words = below.shape
    upper = np.full(points, -1, np.int64)
    lower = np.full(points, -1, np.int64)
    path, edge = np.empty(points, np.int64), np.empty(points, np.int64)
    fresh = np.empty(words, np.uint64)
    improved = True
    while improved:
        improved = False
        _everything(fresh, points)
        for u in range(points):
            if lower[u] < 0 and _augment(u, below, fresh, lower, upper, path, edge):
                improved = True
    _everything(fresh, points)
    reached = np.zeros(points, np.bool_)
    for u in range(points):
        if lower[u] < 0:
            reached[u] = True
            _augment(u, below, fresh, lower, upper, path, edge)
    for v in range(points):
        if not holds(fresh, v):
            reached[upper[v]] = True
    for v in range(points):
        reached[v] &= holds(fresh, v)
    return reached


@njit(cache=True)
def _everything(fresh: Words, points: int) -> None:
    fresh[:] = _NONE
    for v in range(points):
        put(fresh, v)


@njit(cache=True)
def _augment(
    start: int, below: Words, fresh: Words, lower: Int64s, upper: Int64s, path: Int64s, edge: Int64s
) -> bool:
    """Look for an alternating path from a free lower copy to a free upper one, and turn it over.

    Upper copies that are seen leave `fresh`: what did not help once will not help in this round.
    """
    top = 0
    path[0] = start
    while top >= 0:
        u, v = path[top], -1
        for w in range(below.shape[1]):
            x = below[u, w] & fresh[w]
            if x != _NONE:
                lowest = x & (~x + _ONE)
                fresh[w] ^= lowest
                v = 64 * w + ones(lowest - _ONE)
                break
        if v < 0:
            top -= 1
            continue
        edge[top] = v
        if upper[v] < 0:
            for at in range(top + 1):
                lower[path[at]] = edge[at]
                upper[edge[at]] = path[at]
            return True
        top += 1
        path[top] = upper[v]
    return False


# Rows as bits, 64 in a word: which rows hold a node, and whether enough rows hold several nodes at once.

Int32s = NDArray[np.int32]


@njit(cache=True)
def mark_rows(codes: Int32s, low: int, high: int, marks: Words) -> None:
    """Set the bits of the rows whose codes are from `low` up to `high`, and clear all others."""
    for w in range(len(marks)):
        word = np.uint64(0)
        for i in range(64 * w, min(64 * w + 64, len(codes))):
            if low <= codes[i] < high:
                word |= np.uint64(1) << np.uint64(i & 63)
        marks[w] = word


@njit(cache=True)
def have_enough(marks: Words, lines: Int64s, counts: Int64s, least: int) -> tuple[bool, int]:
    """Return whether the rows that all these lines of bits mark count `least` together, and the words seen.

    There is at least one line; it is fastest to have the one with the fewest rows first.
    """
    total, words = 0, marks.shape[1]
    for w in range(words):
        common = marks[lines[0], w]
        for q in range(1, len(lines)):
            if common == 0:
                break
            common &= marks[lines[q], w]
        while common != 0:
            total += counts[64 * w + _lowest(common)]
            if total >= least:
                return True, w + 1
            common &= common - np.uint64(1)
    return False, words


@njit(cache=True)
def first_row(marks: Words, lines: Int64s) -> int:
    """Return the first row that all these lines of bits mark; -1 if there is none."""
    for w in range(marks.shape[1]):
        common = marks[lines[0], w]
        for q in range(1, len(lines)):
            common &= marks[lines[q], w]
        if common != 0:
            return 64 * w + _lowest(common)
    return -1


@njit(cache=True)
def _lowest(word: int) -> int:
    """The place of the lowest bit of a word that is not 0."""
    return ones((word & (~word + np.uint64(1))) - np.uint64(1))


# Classes split by one column more: how many rows come to stand in parts that are too small, and the parts.
#
# Classes are looked at in the order of their size, so that whether a split loses too many rows is often
# known before most rows are looked at. Rows in parts that are too small are left out: they stay too few in
# every further split.

Floats = NDArray[np.float64]


@njit(cache=True)
def losses_of_splits(
    rows: Int32s,
    counts: Int64s,
    bounds: Int64s,
    codes: Int32s,
    widths: Int64s,
    through: int,
    tried: Int64s,
    least: int,
    spare: int,
    floors: Floats,
    room: float,
    cells: Int64s,
) -> tuple[Int64s, int, int]:
    """Return how many rows each split of classes by a line of `codes` loses at least, -1 if too many.

    Class c has the rows `rows[bounds[0, c] : bounds[1, c]]`, with their `counts`; classes are split by the
    line `through` as well, unless that is negative. Of every t, column `tried[0, t]` may be split by the
    lines from `tried[1, t]` up to `tried[2, t]`, each finer than the one before; a line has codes below its
    `widths`. Parts of fewer than `least` rows are lost, and `spare` rows may be. `floors` says what columns
    cost by their line, then what every column costs without one; as soon as that is more by `room` than if
    each column took its last line, no more is looked at. `cells` are as many zeros as two lines have codes
    together. Returned as well are the rows and the lines that were looked at, the latter negative where
    there was no room.
    """
    lost = np.full(len(widths), -1, np.int64)
    looked, lines = 0, 0
    for t in range(tried.shape[1]):
        reached = -1
        for line in range(tried[1, t], tried[2, t]):
            lines += 1
            width = widths[line]
            first, second_width, parts = codes[line], 0, int(width)
            if through >= 0:
                first, second_width, parts = codes[through], int(width), int(widths[through] * width)
            gone, visited = _loss_of_split(
                rows, counts, bounds, first, codes[line], second_width, parts, least, spare, cells
            )
            looked += visited
            if gone > spare:
                break
            lost[line] = gone
            reached = line
        taken = reached if reached >= 0 else len(widths) + tried[0, t]
        room -= floors[taken] - floors[tried[2, t] - 1]
        if room < 0:
            return lost, looked, -lines
    return lost, looked, lines


@njit(cache=True, inline="always")
def _part(first: Int32s, second: Int32s, second_width: int, row: int) -> int:
    """The part of a row by one line of codes or, where the second has a width, by two."""
    if second_width == 0:
        return int(first[row])
    return int(first[row]) * second_width + int(second[row])


@njit(cache=True)
def _loss_of_split(
    rows: Int32s,
    counts: Int64s,
    bounds: Int64s,
    first: Int32s,
    second: Int32s,
    second_width: int,
    parts: int,
    least: int,
    spare: int,
    cells: Int64s,
) -> tuple[int, int]:
    """Return how many rows are in parts that are too small, at least, and how many rows were looked at.

    It ends as soon as these are too many, or cannot become too many: a class has no more than `parts`.
    """
    gone, visited = 0, 0
    for c in range(bounds.shape[1]):
        begin, end = bounds[0, c], bounds[1, c]
        for i in range(begin, end):
            cells[_part(first, second, second_width, rows[i])] += counts[i]
        if end - begin > parts:
            gone += _clear(cells, parts, least)
        else:
            for i in range(begin, end):
                value = _part(first, second, second_width, rows[i])
                if cells[value] < least:
                    gone += cells[value]
                cells[value] = 0
        visited += end - begin
        if gone > spare or gone + (bounds.shape[1] - 1 - c) * parts * (least - 1) <= spare:
            break
    return gone, visited


@njit(cache=True)
def _clear(cells: Int64s, width: int, least: int) -> int:
    """Set the first cells to zero; return the sum of those that were too small."""
    gone = 0
    for value in range(width):
        if cells[value] < least:
            gone += cells[value]
        cells[value] = 0
    return gone


@njit(cache=True)
def split_classes(
    rows: Int32s, counts: Int64s, bounds: Int64s, code: Int32s, width: int, least: int
) -> tuple[Int32s, Int64s, Int64s]:
    """Return the classes split by a line of codes, without parts that are too small, the smallest first.

    They are rows, their counts and bounds, as `losses_of_splits` takes them.
    """
    sums, place = np.zeros(width, np.int64), np.zeros(width, np.int64)
    row_codes = np.empty(len(rows), np.int32)
    part_rows, part_counts = np.empty(len(rows), np.int32), np.empty(len(rows), np.int64)
    part_end = np.empty(len(rows), np.int64)
    filled, parts = 0, 0
    for c in range(bounds.shape[1]):
        begin, end = bounds[0, c], bounds[1, c]
        many = end - begin > width
        for i in range(begin, end):
            value = code[rows[i]]
            row_codes[i] = value
            sums[value] += counts[i]
            place[value] += 1
        for i in range(width if many else end - begin):
            value = np.int64(i if many else row_codes[begin + i])
            if sums[value] >= least:
                filled, place[value] = filled + place[value], filled
                part_end[parts] = filled
                parts += 1
            elif many or sums[value] > 0:
                place[value] = -1
            sums[value] = 0
        for i in range(begin, end):
            value = row_codes[i]
            at = place[value]
            if at >= 0:
                part_rows[at] = rows[i]
                part_counts[at] = counts[i]
                place[value] = at + 1
        if many:
            place[:] = 0
        else:
            for i in range(begin, end):
                place[row_codes[i]] = 0
    sizes = part_end[:parts].copy()
    sizes[1:] -= part_end[: parts - 1]
    order = np.argsort(sizes, kind="mergesort")
    ordered = np.empty((2, parts), np.int64)
    ordered[1] = part_end[order]
    ordered[0] = ordered[1] - sizes[order]
    return part_rows[:filled], part_counts[:filled], ordered


# Every node of a lattice of levels, depth first; each node's groups are merged from those of a finer one.

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

SMALLEST, GROUPS, SQUARES, KEPT, KEPT_SMALLEST, KEPT_SQUARES, GONE, COVERED = range(8)
"""What `figures` holds of a node, in this order; the last of these once per field."""


@njit(cache=True)
def walk(
    depth: int,
    node: int,
    keys: Int64s,
    sums: Int64s,
    order: Int64s,
    place: Int64s,
    levels: Int64s,
    lift: Int32s,
    keeps: Truth,
    scratch: Int64s,
    figures: Int64s,
    bits: Floats,
) -> int:
    """Fill in what is known of every node from here on; how many there are.

    `keys` and `sums` are the groups of `node`, whose fields `order[depth:]` are at their lowest level. Field
    f sits at shift `place[f, 0]` under mask `place[f, 1]`. Raised to level i, its code x becomes
    `lift[levels[f, i] + x]` (-1: there is no such level), and the node's number grows by `place[f, 2]`.
    Groups whose sum s has `keeps[s]` are kept, the others go. `scratch` has a line of weights, those of
    field f from `place[f, 3]` on, and a line to count in.
    """
    if depth == len(order):
        _summarize(node, sums, keeps, figures)
        if figures[node, GONE]:
            _look_at_gone(node, keys, sums, place, keeps, scratch, figures, bits)
        return 1
    f = order[depth]
    done = 0
    for level in range(levels.shape[1]):
        if levels[f, level] < 0:
            break
        if level:
            keys, sums = _merge(keys, sums, place[f, 0], place[f, 1], lift[levels[f, level] :])
        here = node + level * place[f, 2]
        done += walk(depth + 1, here, keys, sums, order, place, levels, lift, keeps, scratch, figures, bits)
    return done


@njit(cache=True)
def _merge(keys: Int64s, sums: Int64s, shift: int, mask: int, lift: Int32s) -> tuple[Int64s, Int64s]:
    """Replace the code x of one field by `lift[x]`, then merge equal keys and add up their sums."""
    rows = len(keys)
    bits = 4
    while (1 << bits) < 2 * rows:
        bits += 1
    slots = np.full(1 << bits, -1, np.int32)
    last, drop = len(slots) - 1, np.uint64(64 - bits)
    merged, added = np.empty(rows, np.int64), np.empty(rows, np.int64)
    groups = 0
    for i in range(rows):
        key = keys[i]
        code = (key >> shift) & mask
        key ^= (code ^ lift[code]) << shift
        slot = np.int64((np.uint64(key) * _GOLDEN) >> drop)
        group = slots[slot]
        while group >= 0 and merged[group] != key:
            slot = (slot + 1) & last
            group = slots[slot]
        if group < 0:
            slots[slot] = groups
            merged[groups] = key
            added[groups] = sums[i]
            groups += 1
        else:
            added[group] += sums[i]
    return merged[:groups], added[:groups]


@njit(cache=True)
def _summarize(node: int, sums: Int64s, keeps: Truth, figures: Int64s) -> None:
    """The smallest sum, the groups and their squares; the same of the kept groups; the sums gone."""
    smallest = sums[0] if len(sums) else np.int64(0)
    squares, groups_kept, kept_smallest, kept_squares, gone = 0, 0, np.int64(0), 0, 0
    for size in sums:
        smallest = min(smallest, size)
        squares += size * size
        if keeps[size]:
            kept_smallest = min(kept_smallest, size) if groups_kept else size
            groups_kept += 1
            kept_squares += size * size
        else:
            gone += size
    figures[node, SMALLEST] = smallest
    figures[node, GROUPS] = len(sums)
    figures[node, SQUARES] = squares
    figures[node, KEPT] = groups_kept
    figures[node, KEPT_SMALLEST] = kept_smallest
    figures[node, KEPT_SQUARES] = kept_squares
    figures[node, GONE] = gone


@njit(cache=True)
def _look_at_gone(
    node: int,
    keys: Int64s,
    sums: Int64s,
    place: Int64s,
    keeps: Truth,
    scratch: Int64s,
    figures: Int64s,
    bits: Floats,
) -> None:
    """Per field, of the groups that go: Σ sum · weight of the code, and the bits of knowing the code."""
    weight, tally = scratch[0], scratch[1]
    tally[:] = 0
    for i in range(len(keys)):
        if not keeps[sums[i]]:
            for f in range(len(place)):
                tally[place[f, 3] + ((keys[i] >> place[f, 0]) & place[f, 1])] += sums[i]
    whole = np.log2(figures[node, GONE])
    for f in range(len(place)):
        total, spread = 0, 0.0
        stop = place[f + 1, 3] if f + 1 < len(place) else len(tally)
        for v in range(place[f, 3], stop):
            if tally[v]:
                total += tally[v] * weight[v]
                spread += tally[v] * (whole - np.log2(tally[v]))
        figures[node, COVERED + f] = total
        bits[node, f] = spread
