"""Cutting segments of rows at medians and along trees: compiled loops for recursive partitioning.

Rows carry their codes packed in 64-bit words and are moved themselves, so that every segment is a
contiguous range of `key` (words by rows) and `tag` (row number above 32 bits of weight).
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.compiled import njit
from sfumato.kernels.rows import WEIGHT_MASK, Int32s, Int64s, Layout, PackedRows, Truths

GROUP_MASK = 0xFFFFFFFF
"""The bits that hold the group of a row, below how many of its group stand before it."""
ROWS_PER_LOOK = 256
"""Rows looked at between two chances to stop early."""


@njit(cache=True, inner=True, borrows=True)
def lowest_cover(layout: Layout, j: int, low: int, high: int) -> tuple[int, int]:
    """The lowest node of column j above the leaves low .. high, and its depth."""
    depth = layout.height[j]
    while True:
        at = layout.above[j] + depth * layout.leaves[j]
        if layout.ancestor[at + low] == layout.ancestor[at + high]:
            node = layout.ancestor[at + low]
            while depth > 0 and layout.ancestor[at - layout.leaves[j] + low] == node:
                depth -= 1
                at -= layout.leaves[j]
            return node, depth
        depth -= 1


@njit(cache=True)
def widen_to_covers(layout: Layout, low: Int32s, high: Int32s) -> None:
    """Widen the ranges of the unordered columns to the lowest node that covers them, in place."""
    for j in range(low.shape[1]):
        if not layout.ordered[j]:
            for s in range(len(low)):
                node, _ = lowest_cover(layout, j, low[s, j], high[s, j])
                low[s, j] = layout.low[layout.base[j] + node]
                high[s, j] = layout.high[layout.base[j] + node] - 1


@njit(cache=True)
def segment_of(tag: Int64s, first: Int64s, last: Int64s) -> Int32s:
    """The segment of every row, by row number."""
    segments = np.full(len(tag), -1, np.int32)
    for s in range(len(first)):
        for p in range(first[s], last[s]):
            segments[tag[p] >> 32] = s
    return segments


@njit(cache=True, borrows=True)
def _bounds(layout: Layout, key: Int64s, first: int, last: int, low: Int32s, high: Int32s) -> None:
    """Tighten the bounds of a segment to the codes that occur."""
    for j in range(len(low)):
        if low[j] == high[j]:
            continue
        shift = layout.shift[j]
        field = layout.mask[j] << shift
        floor, ceiling = np.int64(low[j]) << shift, np.int64(high[j]) << shift
        least, most = ceiling, floor
        line = key[layout.word[j], first:last]
        begin = 0
        while begin < len(line) and (least != floor or most != ceiling):
            block = line[begin : begin + ROWS_PER_LOOK]
            for i in range(len(block)):
                code = block[i] & field
                least = min(least, code)
                most = max(most, code)
            begin += ROWS_PER_LOOK
        low[j], high[j] = least >> shift, most >> shift


@njit(cache=True, borrows=True)
def _widest(layout: Layout, low: Int32s, high: Int32s, tried: Truths) -> int:
    """The column, of those not tried, with the widest span; -1 if every one is a single value."""
    best, widest = -1, 0.0
    for j in range(len(low)):
        if low[j] == high[j] or tried[j]:
            continue
        span = np.int64(high[j] - low[j])
        if not layout.ordered[j]:
            node, _ = lowest_cover(layout, j, low[j], high[j])
            span = np.int64(layout.high[layout.base[j] + node] - layout.low[layout.base[j] + node]) - 1
        width = (span * layout.scale_by[j]) / layout.scale_to[j]
        if best < 0 or width > widest:
            best, widest = j, width
    return best


@njit(cache=True, borrows=True)
def _median(
    layout: Layout, j: int, rows: PackedRows, first: int, last: int, low: int, high: int, total: int
) -> tuple[int, int, int]:
    """The weighted median code of a segment, and the weight before it and up to it.

    Weights are added up in as many buckets as there are rows, then within the bucket of the median.
    """
    line, tag = rows.key[layout.word[j], first:last], rows.tag[first:last]
    shift, mask = layout.shift[j], layout.mask[j]
    room = max(64, 2 * len(line))
    before = np.int64(0)
    least, width = np.int64(low), np.int64(high) - low + 1
    while True:
        step = 0
        while (width - 1) >> step >= room:
            step += 1
        buckets = rows.tally[: ((width - 1) >> step) + 1]
        buckets[:] = 0
        for i in range(len(line)):
            code = ((line[i] >> shift) & mask) - least
            if 0 <= code < width:
                buckets[code >> step] += tag[i] & WEIGHT_MASK
        b = 0
        while 2 * (before + buckets[b]) < total:
            before += buckets[b]
            b += 1
        if step == 0:
            return int(least + b), int(before), int(before + buckets[b])
        least += b << step
        width = min(np.int64(1) << step, high - least + 1)


@njit(cache=True, borrows=True)
def _balance(
    layout: Layout, j: int, rows: PackedRows, first: int, last: int, median: int, left: int, total: int
) -> tuple[int, int]:
    """How many of the rows at the median go left so that the two sides differ least, and the weight left.

    Rows with equal keys stand side by side and stay together.
    """
    key, shift, mask = rows.key, layout.shift[j], layout.mask[j]
    taken, best_taken, best_left = 0, 0, left
    previous = -1
    for p in range(first, last):
        if (key[layout.word[j], p] >> shift) & mask != median:
            continue
        alike = previous >= 0
        if alike:
            for w in range(len(key)):
                alike = alike and (key[w, p] ^ key[w, previous]) & layout.fields[w] == 0
        if not alike and min(left, total - left) >= min(best_left, total - best_left):
            best_taken, best_left = taken, left
        left += rows.tag[p] & WEIGHT_MASK
        taken += 1
        previous = p
    if min(left, total - left) >= min(best_left, total - best_left):
        best_taken, best_left = taken, left
    return best_taken, best_left


@njit(cache=True, borrows=True)
def _move_by_code(line: Int64s, moved: Int64s, room: Int64s, field: int, border: int, take: int) -> int:
    """Move what stands beside codes below a border, and beside the first few at it, to the left; how many."""
    left, right = np.uint64(0), np.uint64(0)
    for i in range(len(moved)):
        code = line[i] & field
        goes = code < border
        if take > 0 and code == border:
            goes = True
            take -= 1
        room[right] = moved[left] = moved[i]
        left += np.uint64(goes)
        right += np.uint64(not goes)
    for i in range(right):
        moved[left + i] = room[i]
    return int(left)


@njit(cache=True, borrows=True)
def _part_in_two(
    layout: Layout, j: int, rows: PackedRows, first: int, last: int, value: int, take: int
) -> int:
    """Move the rows below a value, and the first few of those at it, to the left; order is kept.

    Returns where the right side starts.
    """
    word, room = layout.word[j], rows.spare[0]
    line = rows.key[word, first:last]
    field, border = layout.mask[j] << layout.shift[j], np.int64(value) << layout.shift[j]
    for w in range(len(rows.key)):
        if w != word:
            _move_by_code(line, rows.key[w, first:last], room, field, border, take)
    _move_by_code(line, rows.tag[first:last], room, field, border, take)
    return first + _move_by_code(line, line, room, field, border, take)


@njit(cache=True, borrows=True)
def _move_by_group(group: Int64s, moved: Int64s, room: Int64s, starts: Int64s, first: int) -> None:
    """Move everything to where its group starts, behind those of its group that stood before it."""
    for i in range(len(moved)):
        room[starts[group[i] & GROUP_MASK] - first + (group[i] >> 32)] = moved[i]
    for i in range(len(moved)):
        moved[i] = room[i]


@njit(cache=True, borrows=True)
def _part_by_child(
    layout: Layout,
    j: int,
    rows: PackedRows,
    segment: tuple[int, int, int],
    low: int,
    high: int,
    least: int,
    starts: Int64s,
    weights: Int64s,
) -> int:
    """Group the rows by the child of their lowest common node; the number of groups, 0 if one is too light.

    Writes where each group starts and what it weighs.
    """
    first, last, total = segment
    _, depth = lowest_cover(layout, j, low, high)
    begin = layout.above[j] + (depth + 1) * layout.leaves[j]
    child = layout.ancestor[begin : begin + layout.leaves[j]]
    shift, mask = layout.shift[j], layout.mask[j]
    line, tag = rows.key[layout.word[j], first:last], rows.tag[first:last]
    slot, sizes, nodes = rows.slot, rows.sizes, rows.tally
    room, group = rows.spare[0], rows.spare[1]
    groups, heavy = 0, True
    for i in range(len(tag)):
        node = child[(line[i] >> shift) & mask]
        g = slot[node]
        if g < 0:
            if (groups + 1) * least > total:
                heavy = False
                break
            g = slot[node] = groups
            sizes[g], weights[g], nodes[g] = 0, 0, node
            groups += 1
        weights[g] += tag[i] & WEIGHT_MASK
        group[i] = sizes[g] << 32 | g
        sizes[g] += 1
    place = np.int64(first)
    for g in range(groups):
        slot[nodes[g]] = -1
        heavy = heavy and weights[g] >= least
        starts[g] = place
        place += sizes[g]
    if not heavy:
        return 0
    for w in range(len(rows.key)):
        _move_by_group(group, rows.key[w, first:last], room, starts, first)
    _move_by_group(group, tag, room, starts, first)
    return groups


@njit(cache=True, borrows=True)
def _split(
    layout: Layout,
    rows: PackedRows,
    segment: tuple[int, int, int],
    low: Int32s,
    high: Int32s,
    tried: Truths,
    rule: tuple[int, bool],
    starts: Int64s,
    weights: Int64s,
) -> int:
    """Split a segment (first, last, weight) in the widest column that allows it; the number of parts.

    `rule` is the least weight of a part, and whether rows at the median may go either way. Columns used or
    given up are marked in `tried`.
    """
    first, last, total = segment
    least, relaxed = rule
    while total >= 2 * least:
        j = _widest(layout, low, high, tried)
        if j < 0:
            break
        tried[j] = True
        if not layout.ordered[j]:
            groups = _part_by_child(layout, j, rows, segment, low[j], high[j], least, starts, weights)
            if groups > 0:
                return groups
            continue
        median, before, upto = _median(layout, j, rows, first, last, low[j], high[j], total)
        value, take, left = median + 1, 0, upto
        if relaxed:
            value = median
            take, left = _balance(layout, j, rows, first, last, median, before, total)
        elif min(before, total - before) > min(upto, total - upto):
            value, left = median, before
        if min(left, total - left) >= least:
            starts[0], starts[1] = first, _part_in_two(layout, j, rows, first, last, value, take)
            weights[0], weights[1] = left, total - left
            return 2
    starts[0], weights[0] = first, total
    return 1


@njit(cache=True)
def propose(
    layout: Layout,
    rows: PackedRows,
    first: Int64s,
    last: Int64s,
    weight: Int64s,
    low: Int32s,
    high: Int32s,
    tried: Truths,
    fresh: Truths,
    rule: tuple[int, bool],
) -> tuple[Int64s, Int64s, Int64s]:
    """For each segment the first admissible split of its widest columns, carried out on the rows.

    Tightens the bounds `low`, `high` of fresh segments. Returns how many parts each segment has (1 if no
    column has a split whose parts are heavy enough), and where each part starts and what it weighs.
    """
    parts = np.ones(len(first), np.int64)
    starts, weights = np.empty(len(rows.tag) + 1, np.int64), np.empty(len(rows.tag) + 1, np.int64)
    used = 0
    for s in range(len(first)):
        if fresh[s]:
            _bounds(layout, rows.key, first[s], last[s], low[s], high[s])
        segment = (first[s], last[s], weight[s])
        parts[s] = _split(
            layout, rows, segment, low[s], high[s], tried[s], rule, starts[used:], weights[used:]
        )
        used += parts[s]
    return parts, starts[:used].copy(), weights[:used].copy()


@njit(cache=True)
def divide(
    layout: Layout, rows: PackedRows, weight: int, low: Int32s, high: Int32s, rule: tuple[int, bool]
) -> tuple[Int64s, Int32s, Int32s]:
    """Split all rows, and all parts, as long as any split is admissible.

    Returns where each final segment starts, in order, and its bounds.
    """
    columns = len(low)
    room = min(weight // rule[0], len(rows.tag)) + 1
    done_first = np.empty(room, np.int64)
    done_low, done_high = np.empty((room, columns), np.int32), np.empty((room, columns), np.int32)
    depth, done = 1, 0
    stack = np.empty((64, 3), np.int64)
    stack_low, stack_high = np.empty((64, columns), np.int32), np.empty((64, columns), np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, len(rows.tag), weight
    stack_low[0], stack_high[0] = low, high
    tried = np.zeros(columns, np.bool_)
    most = max(room, len(rows.slot)) + 1
    starts, weights = np.empty(most, np.int64), np.empty(most, np.int64)
    while depth > 0:
        depth -= 1
        first, last, total = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        here_low, here_high = done_low[done], done_high[done]
        here_low[:], here_high[:] = stack_low[depth], stack_high[depth]
        _bounds(layout, rows.key, first, last, here_low, here_high)
        tried[:] = False
        parts = _split(layout, rows, (first, last, total), here_low, here_high, tried, rule, starts, weights)
        if parts == 1:
            done_first[done] = first
            done += 1
            continue
        while depth + parts > len(stack):
            stack = np.concatenate((stack, np.empty_like(stack)))
            stack_low = np.concatenate((stack_low, np.empty_like(stack_low)))
            stack_high = np.concatenate((stack_high, np.empty_like(stack_high)))
        for q in range(parts - 1, -1, -1):
            stack[depth, 0], stack[depth, 2] = starts[q], weights[q]
            stack[depth, 1] = last if q == parts - 1 else starts[q + 1]
            stack_low[depth], stack_high[depth] = here_low, here_high
            depth += 1
    return done_first[:done].copy(), done_low[:done].copy(), done_high[:done].copy()
