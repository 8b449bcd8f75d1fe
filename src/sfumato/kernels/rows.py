"""Grouping of packed keys by hashing, with part of each key replaced on the way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Keys = NDArray[np.int64]
Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def regroup(
    keys: Keys, counts: Int64s, word: Int64s, shift: Int64s, mask: Int64s, offset: Int64s, lift: Int32s
) -> tuple[Int32s, Keys, Int64s]:
    """Replace some fields of every key, then merge equal keys and add up their counts.

    Keys have shape (rows, words). Field f sits in `word[f]` at `shift[f]` under `mask[f]`; its code x
    becomes `lift[offset[f] + x]`. Returns the group of every row, and the key and the sum of every group;
    groups are numbered by first appearance.
    """
    if keys.shape[1] == 1:
        group_of, key, sums = _regroup_narrow(keys.reshape(-1), counts, shift, mask, offset, lift)
        return group_of, key.reshape(-1, 1), sums
    return _regroup_wide(keys, counts, word, shift, mask, offset, lift)


@njit(cache=True)
def _slots(rows: int) -> tuple[int, Int32s]:
    """An empty hash table for so many rows, at most half full: its bits, its slots."""
    bits = 4
    while (1 << bits) < 2 * rows:
        bits += 1
    return bits, np.full(1 << bits, -1, np.int32)


@njit(cache=True, inner=False)
def _regroup_narrow(
    keys: Int64s, counts: Int64s, shift: Int64s, mask: Int64s, offset: Int64s, lift: Int32s
) -> tuple[Int32s, Int64s, Int64s]:
    """Keys of one word: twice as fast."""
    rows = len(keys)
    bits, slots = _slots(rows)
    last, drop = len(slots) - 1, np.uint64(64 - bits)
    group_of = np.empty(rows, np.int32)
    out = np.empty(rows, np.int64)
    sums = np.empty(rows, np.int64)
    groups = 0
    for i in range(rows):
        key = keys[i]
        for f in range(len(shift)):
            code = (key >> shift[f]) & mask[f]
            key ^= (code ^ lift[offset[f] + code]) << shift[f]
        slot = np.int64((np.uint64(key) * _GOLDEN) >> drop)
        group = slots[slot]
        while group >= 0 and out[group] != key:
            slot = (slot + 1) & last
            group = slots[slot]
        if group < 0:
            group = groups
            slots[slot] = group
            out[group] = key
            sums[group] = 0
            groups += 1
        sums[group] += counts[i]
        group_of[i] = group
    return group_of, out[:groups].copy(), sums[:groups].copy()


@njit(cache=True, inner=False)
def _regroup_wide(
    keys: Keys, counts: Int64s, word: Int64s, shift: Int64s, mask: Int64s, offset: Int64s, lift: Int32s
) -> tuple[Int32s, Keys, Int64s]:
    """Keys of several words; the key at hand stands behind the last group."""
    rows, words = keys.shape
    bits, slots = _slots(rows)
    last, drop = len(slots) - 1, np.uint64(64 - bits)
    group_of = np.empty(rows, np.int32)
    out = np.empty((rows, words), np.int64)
    sums = np.empty(rows, np.int64)
    groups = 0
    for i in range(rows):
        out[groups] = keys[i]
        for f in range(len(word)):
            w = word[f]
            code = (keys[i, w] >> shift[f]) & mask[f]
            out[groups, w] ^= (code ^ lift[offset[f] + code]) << shift[f]
        mixed = np.uint64(0)
        for w in range(words):
            mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(out[groups, w])) * _GOLDEN
        slot = np.int64(mixed >> drop)
        group = slots[slot]
        while group >= 0 and not np.array_equal(out[group], out[groups]):
            slot = (slot + 1) & last
            group = slots[slot]
        if group < 0:
            group = groups
            slots[slot] = group
            sums[group] = 0
            groups += 1
        sums[group] += counts[i]
        group_of[i] = group
    return group_of, out[:groups].copy(), sums[:groups].copy()


@njit(cache=True)
def tally_fields(
    keys: Keys, counts: Int64s, word: Int64s, shift: Int64s, mask: Int64s, offset: Int64s, length: int
) -> Int64s:
    """For every field f and code x, the sum of the counts of the keys that hold x, at `offset[f] + x`."""
    sums = np.zeros(length, np.int64)
    for i in range(keys.shape[0]):
        for f in range(len(word)):
            sums[offset[f] + ((keys[i, word[f]] >> shift[f]) & mask[f])] += counts[i]
    return sums


@njit(cache=True)
def cross_tabulate(
    group_of: Int32s, values: Int32s, counts: Int64s, groups: int, width: int
) -> tuple[Int64s, Int32s, Int64s]:
    """Sums per (group, value) as compressed rows: start of each group, values ascending, sums."""
    rows = len(group_of)
    by_value = np.zeros(width + 1, np.int64)
    by_group = np.zeros(groups + 1, np.int64)
    for i in range(rows):
        by_value[values[i] + 1] += 1
        by_group[group_of[i] + 1] += 1
    for v in range(width):
        by_value[v + 1] += by_value[v]
    for g in range(groups):
        by_group[g + 1] += by_group[g]
    order = np.empty(rows, np.int64)
    for i in range(rows):
        order[by_value[values[i]]] = i
        by_value[values[i]] += 1
    start = np.zeros(groups + 1, np.int64)
    value_of = np.empty(rows, np.int32)
    sums = np.empty(rows, np.int64)
    filled = by_group[:-1].copy()
    for at in range(rows):
        i = order[at]
        g = group_of[i]
        if filled[g] > by_group[g] and value_of[filled[g] - 1] == values[i]:
            sums[filled[g] - 1] += counts[i]
        else:
            value_of[filled[g]] = values[i]
            sums[filled[g]] = counts[i]
            filled[g] += 1
    end = 0
    for g in range(groups):
        start[g] = end
        for at in range(by_group[g], filled[g]):
            value_of[end] = value_of[at]
            sums[end] = sums[at]
            end += 1
    start[groups] = end
    return start, value_of[:end].copy(), sums[:end].copy()


# The quotes, lines and fields of a delimited file, followed byte by byte.

FIELD_START, PLAIN, QUOTED, QUOTE_SEEN = 0, 1, 2, 3
FINE, AFTER_QUOTE, RAGGED, TOO_LONG = 0, 1, 2, 3
MODE, LINE, RECORD_LINE, FIELDS, QUOTE_LINE, AFTER_CR, EMPTY, CELL, END = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""What the state holds: `CELL` the bytes of the cell so far, `END` where the last whole record ends."""


def fresh_state() -> NDArray[np.int64]:
    """The state before the first byte."""
    return np.array([FIELD_START, 1, 1, 1, 0, 0, 1, 0, 0], np.int64)


@njit(cache=True)
def walk(
    block: NDArray[np.uint8], delimiter: int, expected: int, longest: int, state: NDArray[np.int64]
) -> int:  # pragma: no cover
    """Carry `state` over the block; stop at text after a closing quote, at a record whose number of fields
    is not `expected` (0: any; empty lines do not count), or at a cell of more than `longest` bytes (0: any).
    Lines end in LF, CR LF or CR; a record whose CR is the last byte of the block is not whole yet."""
    mode, line, record_line = state[MODE], state[LINE], state[RECORD_LINE]
    fields, quote_line, after_cr, empty = state[FIELDS], state[QUOTE_LINE], state[AFTER_CR], state[EMPTY]
    cell, whole, before = state[CELL], 0, 0
    verdict = FINE
    for place in range(len(block)):
        byte = block[place]
        if after_cr == 1 and byte == 10:
            after_cr = 0
            if mode != QUOTED:
                record_line = line
                whole = place + 1
            continue
        cell += 1
        if longest > 0 and cell > longest and byte not in (10, 13, delimiter):
            verdict = TOO_LONG
            break
        after_cr = 0
        end = byte in (10, 13)
        if end:
            line += 1
            after_cr = 1 if byte == 13 else 0
        if mode == QUOTED:
            if byte == 34:
                mode = QUOTE_SEEN
        elif end:
            if expected > 0 and fields != expected and empty == 0:
                verdict = RAGGED
                break
            mode, fields, empty, record_line, cell = FIELD_START, 1, 1, line, 0
            before, whole = whole, place + 1
        elif byte == delimiter:
            mode, empty, cell = FIELD_START, 0, 0
            fields += 1
        elif mode == QUOTE_SEEN and byte != 34:
            verdict = AFTER_QUOTE
            break
        elif byte == 34 and mode != PLAIN:
            if mode == FIELD_START:
                quote_line = line
            mode, empty = QUOTED, 0
        else:
            mode, empty = PLAIN, 0
    state[CELL] = cell
    state[END] = before if after_cr == 1 and whole == len(block) else whole
    state[MODE], state[LINE], state[RECORD_LINE] = mode, line, record_line
    state[FIELDS], state[QUOTE_LINE], state[AFTER_CR], state[EMPTY] = fields, quote_line, after_cr, empty
    return verdict


# Boxes that hold a point: many boxes, many points, few different sides.

BLOCK_POINTS = 1 << 16
"""Points that are looked at together."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@njit(cache=True)
def boxes_with_points(sides: Int32s, low: Int32s, high: Int32s, points: Int32s) -> NDArray[np.bool_]:
    """Per box: whether some point p has low <= p[j] < high on each of its sides.

    `sides[b, j]` numbers the side of box b along axis j; side s spans `low[s] .. high[s]-1`. A side number
    belongs to one axis only.
    """
    boxes, axes = sides.shape
    occupied = np.zeros(boxes, np.bool_)
    axis_of = np.full(len(low), -1, np.int32)
    for b in range(boxes):
        for j in range(axes):
            axis_of[sides[b, j]] = j
    for begin in range(0, len(points), BLOCK_POINTS):
        size = min(BLOCK_POINTS, len(points) - begin)
        words = (size + 63) >> 6
        inside = np.zeros((len(low), words), np.uint64)
        for s in range(len(low)):
            j = axis_of[s]
            if j >= 0:
                for i in range(size):
                    p = points[begin + i, j]
                    if low[s] <= p < high[s]:
                        inside[s, i >> 6] |= _ONE << np.uint64(i & 63)
        for b in range(boxes):
            if not occupied[b]:
                for w in range(words):
                    x = ~_NONE
                    for j in range(axes):
                        x &= inside[sides[b, j], w]
                        if x == _NONE:
                            break
                    if x != _NONE and (axes > 0 or size > 0):
                        occupied[b] = True
                        break
    return occupied


# Packed rows, and where their codes sit: what the loops of recursive partitioning work on.

Truths = NDArray[np.bool_]

WEIGHT_MASK = 0x7FFFFFFF
"""The bits of a tag that hold the weight of its row."""


class PackedRows(NamedTuple):
    """The rows on the move, and room to move them.

    `spare` has two lines of all rows; `slot` is -1 for every node whenever it is not in use; `tally` and
    `sizes` have room for every node or leaf of a column.
    """

    key: Int64s
    tag: Int64s
    spare: Int64s
    slot: Int64s
    tally: Int64s
    sizes: Int64s


class Layout(NamedTuple):
    """Where each column's code sits, and what its values mean.

    Column j is at `(key[word[j]] >> shift[j]) & mask[j]`. `scale_by[j] / scale_to[j]` makes spans of
    leaves comparable across columns. For unordered columns, `above[j]` says where in `ancestor` its table
    starts: first the leaf's ancestor at depth 0, for every leaf, then at depth 1, and so on down to
    `height[j]` (the leaf itself where it ends sooner). `low` and `high` of the nodes of column j start at
    `base[j]`. `fields[w]` are the bits of word w that hold codes of these columns; the others hold codes that
    move with the rows and decide nothing.
    """

    word: Int64s
    shift: Int64s
    mask: Int64s
    ordered: NDArray[np.bool_]
    scale_by: NDArray[np.float64]
    scale_to: NDArray[np.float64]
    leaves: Int64s
    above: Int64s
    ancestor: Int32s
    base: Int64s
    low: Int32s
    high: Int32s
    height: Int64s
    fields: Int64s


# What parts of a split hold, counted in one pass over the rows of the split.


@njit(cache=True)
def tally_parts(
    order: Int32s, first: int, part: Int32s, parts: int, packed_rows: Int64s, codes: int
) -> tuple[Int64s, Int32s, Int64s]:
    """How often each code occurs in each part, as compressed rows, codes ascending.

    Row `order[first + i]` is in part `part[i]`; `packed_rows` has the weight of a row above its low 32 bits
    and its code below, so that it is looked up once. Every pair of a part and a code has a cell meanwhile,
    which suits parts that are few beside their rows.
    """
    cells = np.zeros(parts * codes, np.int64)
    for i in range(len(part)):
        packed = packed_rows[order[first + i]]
        cells[np.int64(part[i]) * codes + (packed & 0xFFFFFFFF)] += packed >> 32
    used = 0
    for cell in range(len(cells)):
        used += cells[cell] > 0
    begin = np.zeros(parts + 1, np.int64)
    value, count = np.empty(used, np.int32), np.empty(used, np.int64)
    used = 0
    for q in range(parts):
        for v in range(codes):
            if cells[q * codes + v] > 0:
                value[used] = v
                count[used] = cells[q * codes + v]
                used += 1
        begin[q + 1] = used
    return begin, value, count


# The positions of sorted rows among the sorted keys that they begin with.


@njit(cache=True)
def _compare(keys: Int64s, at: int, rows: Int64s, row: int, shift: int) -> int:
    """-1, 0 or 1: the key before, at or after what the row begins with."""
    last = len(keys) - 1
    for word in range(last + 1):
        key, begins = keys[word, at], rows[word, row]
        if word == last:
            begins >>= shift
        if key != begins:
            return -1 if key < begins else 1
    return 0


@njit(cache=True)
def locate(
    rows: Int64s,
    weights: Int64s,
    shift: int,
    keys: Int64s,
    left: NDArray[np.integer],
    owner: Int32s,
) -> bool:
    """Find every row's key, and take its weight from what is left of that key.

    `rows` and `keys` are sorted, one column each; a row begins with a key if their first words are equal, the
    last of them but for the lowest `shift` bits of the row. False if some row has no key, or a key has no
    more left. Where no `weights` are given, each row weighs 1.
    """
    count, at = keys.shape[1], 0
    for row in range(rows.shape[1]):
        if at < count and _compare(keys, at, rows, row, shift) < 0:
            low, step = at, 1
            while low + step < count and _compare(keys, low + step, rows, row, shift) < 0:
                low += step
                step *= 2
            at = min(low + step, count)
            while at - low > 1:
                middle = (low + at) // 2
                if _compare(keys, middle, rows, row, shift) < 0:
                    low = middle
                else:
                    at = middle
        if at == count or _compare(keys, at, rows, row, shift) != 0:
            return False
        left[at] -= weights[row] if len(weights) else 1
        if left[at] < 0:
            return False
        owner[row] = at
    return True


# What segments of moved rows hold, counted where the rows stand: nothing is looked up by row number.

FEW_ROWS = 32
"""Codes of so many rows are put in order one by one."""


@njit(cache=True, borrows=True)
def _put_in_order(value: Int32s, count: Int64s, begin: int, used: int, code: int, weight: int) -> int:
    """Adds a code to those of a segment, which stand ascending from `begin` up to `used`; where they end."""
    at = used
    while at > begin and value[at - 1] > code:
        at -= 1
    if at > begin and value[at - 1] == code:
        count[at - 1] += weight
        return used
    for i in range(used, at, -1):
        value[i], count[i] = value[i - 1], count[i - 1]
    value[at], count[at] = code, weight
    return used + 1


@njit(cache=True)
def tally_segments(
    line: Int64s, tag: Int64s, first: Int64s, last: Int64s, place: tuple[int, int], codes: int
) -> tuple[Int64s, Int32s, Int64s]:
    """How often each code occurs in each segment, as compressed rows, codes ascending.

    Segment s is the rows `first[s] .. last[s]-1`. Their code, below `codes`, stands in `line` at `place`: a
    shift and a mask; their weight in `tag`.
    """
    shift, mask = place
    room, longest = np.int64(1), np.int64(0)  # a code that does not occur is written, too, and written over
    for s in range(len(first)):
        rows = last[s] - first[s]
        room += min(rows, codes)
        if rows * 4 < codes:
            longest = max(longest, rows)
    begin = np.zeros(len(first) + 1, np.int64)
    value, count = np.empty(room, np.int32), np.empty(room, np.int64)
    even, odd = np.zeros(codes, np.int64), np.zeros(codes, np.int64)
    keys = np.empty(longest if longest > FEW_ROWS else 0, np.int64)
    used = 0
    for s in range(len(first)):
        word, weight = line[first[s] : last[s]], tag[first[s] : last[s]]
        rows = len(word)
        if rows * 4 >= codes:
            for i in range(0, rows - 1, 2):  # neighbours often hold the same code: two sums do not wait
                even[(word[i] >> shift) & mask] += weight[i] & WEIGHT_MASK
                odd[(word[i + 1] >> shift) & mask] += weight[i + 1] & WEIGHT_MASK
            if rows % 2:
                even[(word[rows - 1] >> shift) & mask] += weight[rows - 1] & WEIGHT_MASK
            for v in range(codes):
                total = even[v] + odd[v]
                even[v], odd[v] = 0, 0
                value[used], count[used] = v, total
                used += total > 0
        elif rows <= FEW_ROWS:
            for i in range(rows):
                code = (word[i] >> shift) & mask
                used = _put_in_order(value, count, begin[s], used, code, weight[i] & WEIGHT_MASK)
        else:
            segment_keys = keys[:rows]
            for i in range(rows):
                segment_keys[i] = ((word[i] >> shift) & mask) << 32 | i
            segment_keys.sort()
            for key in segment_keys:
                used = _put_in_order(
                    value, count, begin[s], used, key >> 32, weight[key & 0xFFFFFFFF] & WEIGHT_MASK
                )
        begin[s + 1] = used
    return begin, value[:used].copy(), count[:used].copy()


# Splitting groups of rows along a tree: compiled loops for searches that refine classes step by step.
#
# Rows are ordered once per column by their code; the rows below a tree node are then one range of that
# order, and the rows below each of its children a sub-range, since codes number the leaves left to right.


@njit(cache=True)
def order_by_code(
    word: Int64s, weight: Int64s, shift: int, mask: int, size: int, repeated: int
) -> tuple[Int32s, Int64s, Int64s, Int64s, Int64s]:
    """Row numbers sorted by the code packed in `word` (stable), where each code's rows start, and the weight
    of all rows before.

    Of so many `repeated` rows, those of a weight above 1, also the places in that order (not sorted), and
    what they weigh beyond 1.
    """
    start = np.zeros(size + 1, np.int64)
    before = np.zeros(size + 1, np.int64)
    for i in range(len(word)):
        code = (word[i] >> shift) & mask
        start[code + 1] += 1
        before[code + 1] += weight[i]
    for code in range(size):
        start[code + 1] += start[code]
        before[code + 1] += before[code]
    place = start.copy()
    order = np.empty(len(word), np.int32)
    heavy, beyond = np.empty(repeated, np.int64), np.empty(repeated, np.int64)
    filled = 0
    for i in range(len(word)):
        code = (word[i] >> shift) & mask
        if filled < repeated and weight[i] > 1:
            heavy[filled] = place[code]
            beyond[filled] = weight[i] - 1
            filled += 1
        order[place[code]] = i
        place[code] += 1
    return order, start, before, heavy, beyond


@njit(cache=True)
def split(
    order: Int32s,
    bounds: Int64s,
    class_of: Int32s,
    weight: Int64s,
    slot: Int64s,
    stamp: int,
    part: Int32s,
    parent: Int32s,
    branch: Int32s,
    size: Int64s,
) -> int:
    """Number the pairs (branch, class) that occur, branch by branch, and add up their weights.

    Branch b holds the rows `order[bounds[b] : bounds[b+1]]`. Writes the pair of every row to `part` and
    the class, branch and size of every pair to `parent`, `branch` and `size`; returns how many pairs there
    are. `slot[class]` holds a stamp above its low 32 bits and the pair below, so it never needs clearing as
    long as stamps grow. An empty `weight` means 1 each.
    """
    unit = len(weight) == 0
    first = bounds[0]
    pairs = 0
    for b in range(len(bounds) - 1):
        sign = np.int64(stamp + b) << 32
        for p in range(bounds[b], bounds[b + 1]):
            row = order[p]
            c = class_of[row]
            stamped = slot[c]
            if (stamped >> 32) << 32 == sign:
                pair = stamped - sign
            else:
                pair = np.int64(pairs)
                slot[c] = sign + pair
                parent[pair] = c
                branch[pair] = b
                size[pair] = 0
                pairs += 1
            size[pair] += 1 if unit else weight[row]
            part[p - first] = pair
    return pairs


@njit(cache=True)
def relabel(order: Int32s, first: int, part: Int32s, label: Int32s, class_of: Int32s) -> None:
    """Give every row of a range the label of its part."""
    for i in range(len(part)):
        class_of[order[first + i]] = label[part[i]]


@njit(cache=True)
def rows_by_part(order: Int32s, first: int, part: Int32s, parts: int) -> tuple[Int32s, Int64s]:
    """The row numbers of a range, grouped by part (stable), and where each part starts."""
    start = np.zeros(parts + 1, np.int64)
    for i in range(len(part)):
        start[part[i] + 1] += 1
    for q in range(parts):
        start[q + 1] += start[q]
    place = start.copy()
    member = np.empty(len(part), np.int32)
    for i in range(len(part)):
        q = part[i]
        member[place[q]] = order[first + i]
        place[q] += 1
    return member, start


@njit(cache=True)
def distinct_per_group(
    member: Int32s, start: Int64s, label: Int32s, last_stamp: Int64s, stamp: int
) -> Int64s:
    """How many different labels the rows of each group carry; `last_stamp[label]` holds the last stamp."""
    distinct = np.zeros(len(start) - 1, np.int64)
    for g in range(len(start) - 1):
        for i in range(start[g], start[g + 1]):
            who = label[member[i]]
            if last_stamp[who] != stamp + g:
                last_stamp[who] = stamp + g
                distinct[g] += 1
    return distinct


@njit(cache=True)
def tally_per_group(
    member: Int32s, start: Int64s, code: Int32s, weight: Int64s, label: Int32s, sizes: tuple[int, int]
) -> tuple[Int64s, Int32s, Int64s]:
    """How often each code occurs in each group, as compressed rows, codes ascending.

    With `label` (not empty), each label counts once per group and code, and weights do not matter.
    `sizes` bounds the codes and the labels.
    """
    codes, labels = sizes
    groups = len(start) - 1
    begin = np.zeros(groups + 1, np.int64)
    value = np.empty(len(member), np.int32)
    count = np.empty(len(member), np.int64)
    dense = np.zeros(codes, np.int64)
    used = 0
    for g in range(groups):
        rows = member[start[g] : start[g + 1]]
        if len(label) > 0:
            keys = np.empty(len(rows), np.int64)
            for i in range(len(rows)):
                keys[i] = np.int64(code[rows[i]]) * labels + label[rows[i]]
            keys.sort()
            for i in range(len(keys)):
                if i > 0 and keys[i] == keys[i - 1]:
                    continue
                used = _put_in_order(value, count, begin[g], used, keys[i] // labels, 1)
        elif len(rows) * 4 >= codes:
            for row in rows:
                dense[code[row]] += weight[row]
            for v in range(codes):
                if dense[v] > 0:
                    value[used] = v
                    count[used] = dense[v]
                    dense[v] = 0
                    used += 1
        else:
            keys = np.empty(len(rows), np.int64)
            for i in range(len(rows)):
                keys[i] = np.int64(code[rows[i]]) << 32 | i
            keys.sort()
            for i in range(len(keys)):
                w = weight[rows[keys[i] & 0xFFFFFFFF]]
                used = _put_in_order(value, count, begin[g], used, keys[i] >> 32, w)
        begin[g + 1] = used
    return begin, value[:used].copy(), count[:used].copy()
