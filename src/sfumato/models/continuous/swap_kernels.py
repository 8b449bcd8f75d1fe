"""Other worlds with the same counts, by swapping labels: compiled loops.

Everybody carries one label per column (a node in every attribute of a tree), from the time on at which they
came. Two people of the same value may swap a label, as long as each remains on one path through every tree.
Whatever was counted of the labels of a column is then still true.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.models.continuous.kernels import first_place

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
People = tuple[Int32s, Int32s, Int32s, Int32s]
"""Labels by column and person; the time of everybody; by column and time, the first place of the column from
then on (-1: none), and the first time with that same place."""
Flags = NDArray[np.bool_]
Range = tuple[int, int]
Shape = tuple[Int32s, Int32s, Flags]
"""Nodes by column, label and attribute; the end of every node by attribute; and, by column, label, column and
label, whether two labels are on one path in every attribute. The last may be empty: then nodes are asked."""

LOGGED = 100_000
"""So many swaps are kept, to be taken back."""


@njit(cache=True)
def _nodes_on_one_path(a: Int32s, b: Int32s, end: Int32s) -> bool:
    for j in range(len(a)):
        u, v = a[j], b[j]
        if not (u <= v < end[j, u] or v <= u < end[j, v]):
            return False
    return True


@njit(cache=True)
def paths_between(nodes: Int32s, end: Int32s) -> Flags:
    """Tell of any two labels whether they are on one path: the last part of a `Shape`."""
    columns, labels = nodes.shape[0], nodes.shape[1]
    paths = np.zeros((columns, labels, columns, labels), np.bool_)
    for c in range(columns):
        for a in range(labels):
            for d in range(columns):
                for b in range(labels):
                    paths[c, a, d, b] = _nodes_on_one_path(nodes[c, a], nodes[d, b], end)
    return paths


@njit(cache=True)
def _on_one_path(column: int, label: int, second: int, second_label: int, shape: Shape) -> bool:
    """Whether a label of a column and one of another column are on one path."""
    nodes, end, paths = shape
    if paths.size > 0:
        return bool(paths[column, label, second, second_label])
    return _nodes_on_one_path(nodes[column, label], nodes[second, second_label], end)


@njit(cache=True)
def _fits(who: int, column: int, label: int, people: People, shape: Shape) -> bool:
    """Whether somebody could carry this label in place of their own."""
    labels, time, first, _ = people
    for d in range(len(labels)):
        if d == column or first[d, time[who]] < 0:
            continue
        if not _on_one_path(column, label, d, labels[d, who], shape):
            return False
    return True


@njit(cache=True)
def _is_whole(who: int, people: People, shape: Shape) -> bool:
    """Whether all labels of somebody are on one path."""
    labels, time, first, _ = people
    for c in range(len(labels)):
        if first[c, time[who]] >= 0 and not _fits(who, c, labels[c, who], people, shape):
            return False
    return True


@njit(cache=True)
def _equals(who: int, target: Int32s, when: int, people: People) -> bool:
    labels, time, first, _ = people
    if time[who] != when:
        return False
    for c in range(len(labels)):  # noqa: SIM110  # compiled: no generators
        if first[c, when] >= 0 and labels[c, who] != target[c]:
            return False
    return True


@njit(cache=True)
def _swap(a: int, b: int, column: int, labels: Int32s, log: Int32s, used: int) -> int:
    labels[column, a], labels[column, b] = labels[column, b], labels[column, a]
    log[used, 0], log[used, 1], log[used, 2] = column, a, b
    return used + 1


@njit(cache=True)
def _undo(labels: Int32s, log: Int32s, used: int, mark: int) -> int:
    for i in range(used - 1, mark - 1, -1):
        c, a, b = log[i, 0], log[i, 1], log[i, 2]
        labels[c, a], labels[c, b] = labels[c, b], labels[c, a]
    return mark


@njit(cache=True)
def _range(chosen: Flags, when: int, people: People, alike: Range) -> Range:
    """Those among people alike, sorted by time, who carry the chosen columns from the same place on."""
    labels, time, first, since = people
    low, high = 0, len(first[0]) - 1
    for c in range(len(labels)):
        if chosen[c]:
            low, high = max(low, since[c, when]), min(high, first[c, when])
    begin, end = alike
    here = time[begin:end]
    return begin + first_place(here, low), begin + first_place(here, high + 1)


@njit(cache=True)
def _gains(
    who: int,
    column: int,
    target: Int32s,
    when: int,
    people: People,
    shape: Shape,
    carriers: Int32s,
    alike: Range,
    log: Int32s,
    used: int,
    steps_left: int,
) -> tuple[int, int]:
    """Give somebody the target's label in a column: the new length of the log (-1: impossible), steps_left.

    `carriers` had that label, `alike` are all people of the same value. First a swap of all columns in which
    the other person is nearer to the target, or of this column alone; then a cycle.
    """
    labels, time, first, _ = people
    mark, wanted = used, target[column]
    for r in carriers:
        if first[column, time[r]] != first[column, when]:
            continue
        steps_left -= 1
        if r == who or labels[column, r] != wanted or _equals(r, target, when, people):
            continue
        for d in range(len(labels)):
            near = first[d, when] >= 0 and first[d, time[r]] == first[d, when]
            if near and labels[d, r] == target[d] and labels[d, who] != target[d]:
                used = _swap(who, r, d, labels, log, used)
        if _is_whole(r, people, shape):
            return used, steps_left
        used = _undo(labels, log, used, mark)
        if _fits(r, column, labels[column, who], people, shape):
            return _swap(who, r, column, labels, log, used), steps_left
    chosen = np.zeros(len(labels), np.bool_)
    chosen[column] = True
    return _cycle(who, chosen, target, when, people, shape, alike, log, used, steps_left)


@njit(cache=True)
def _may_take(taker: int, giver: int, chosen: Flags, people: People, shape: Shape) -> bool:
    """Whether somebody could carry another's labels in the chosen columns, which both carry."""
    labels, time, first, _ = people
    for c in range(len(labels)):
        if not chosen[c]:
            continue
        for d in range(len(labels)):
            if chosen[d] or first[d, time[taker]] < 0:
                continue
            if not _on_one_path(c, labels[c, giver], d, labels[d, taker], shape):
                return False
    return True


@njit(cache=True)
def _shows(who: int, chosen: Flags, target: Int32s, labels: Int32s) -> bool:
    """Whether somebody carries the target's labels in the chosen columns."""
    for c in range(len(labels)):  # noqa: SIM110  # compiled: no generators
        if chosen[c] and labels[c, who] != target[c]:
            return False
    return True


@njit(cache=True)
def _cycle(
    who: int,
    chosen: Flags,
    target: Int32s,
    when: int,
    people: People,
    shape: Shape,
    alike: Range,
    log: Int32s,
    used: int,
    steps_left: int,
) -> tuple[int, int]:
    """The labels of some columns passed on around the shortest cycle: everybody on it takes those of the one
    before, and the last one had the labels that are wanted. Two people are looked for first."""
    labels = people[0]
    begin, end = _range(chosen, when, people, alike)
    for r in range(begin, end):
        steps_left -= 1
        if r == who or not _shows(r, chosen, target, labels) or _equals(r, target, when, people):
            continue
        if _may_take(r, who, chosen, people, shape):
            for c in range(len(labels)):
                if chosen[c]:
                    used = _swap(who, r, c, labels, log, used)
            return used, steps_left
    count = end - begin
    queue, before = np.full(count + 1, -1, np.int64), np.full(count, -1, np.int64)
    free, still = np.empty(count, np.int64), 0  # who is not on the way yet
    for i in range(count):
        if begin + i != who and not _equals(begin + i, target, when, people):
            free[still] = i
            still += 1
    head, tail = 0, 1
    while head < tail:
        giver = who if queue[head] < 0 else begin + queue[head]
        looked_at, still = still, 0
        for at in range(looked_at):
            i = free[at]
            taker = begin + i
            if steps_left <= i:  # everybody up to here counts as looked at
                return -1, -1
            if not _may_take(taker, giver, chosen, people, shape):
                free[still] = i
                still += 1
                continue
            before[i] = queue[head]
            if _shows(taker, chosen, target, labels):
                steps_left -= i + 1
                path, place = 0, i
                while place >= 0:
                    queue[path], place = place, before[place]
                    path += 1
                if used + path * len(labels) >= len(log):
                    return -1, steps_left
                for j in range(path - 1, -1, -1):
                    for c in range(len(labels)):
                        if chosen[c]:
                            used = _swap(who, begin + queue[j], c, labels, log, used)
                return used, steps_left
            queue[tail] = i
            tail += 1
        steps_left -= count
        if steps_left < 0:
            return -1, -1
        head += 1
    return -1, steps_left


@njit(cache=True)
def _becomes(
    who: int,
    target: Int32s,
    when: int,
    people: People,
    shape: Shape,
    buckets: tuple[Int32s, Int64s],
    alike: Range,
    spot: tuple[int, int],
    log: Int32s,
    used: int,
    steps_left: int,
    backwards: bool,
) -> tuple[int, int]:
    """Give somebody all labels of the target: at once, else column by column; `spot`: value, and how many."""
    labels, _, first, _ = people
    order, keys = buckets
    value, width = spot
    mark = used
    chosen = np.zeros(len(labels), np.bool_)
    for c in range(len(labels)):
        chosen[c] = first[c, when] >= 0 and labels[c, who] != target[c]
    result, steps_left = _cycle(who, chosen, target, when, people, shape, alike, log, used, steps_left)
    if result >= 0:
        return result, steps_left
    for i in range(len(labels)):
        c = len(labels) - 1 - i if backwards else i
        if first[c, when] < 0 or labels[c, who] == target[c]:
            continue
        key = int(target[c]) * width + value
        carriers = order[c][first_place(keys[c], key) : first_place(keys[c], key + 1)]
        result, steps_left = _gains(
            who, c, target, when, people, shape, carriers, alike, log, used, steps_left
        )
        if result < 0 or result > LOGGED:
            _undo(labels, log, max(used, result), mark)
            return -1, steps_left
        used = result
    return used, steps_left


@njit(cache=True)
def first_short(
    begin: int,
    targets: Int32s,
    times: Int32s,
    there: Int64s,
    wanted: Int64s,
    entries: tuple[Int64s, Int32s, Int64s],
    people: People,
    shape: Shape,
    buckets: tuple[Int32s, Int64s],
    start: Int64s,
    steps_left: int,
) -> int:
    """The first target from `begin` on that not so many people can be swapped into as are wanted, value by
    value; the number of targets where there is none.

    Target i has label `targets[c, i]` in column c, from time `times[i]` on; `there[i]` people are in it.
    `entries`: where those of each target begin, their value, and the most people of it that can be there.
    `people`, sorted by value and time, have labels that are written to and put back; `start`: where each
    value begins. `buckets`: people by column, sorted by label and value, with that key. That a target is
    short proves nothing: of each value no more than `steps_left` people are looked at.
    """
    labels, time = people[:2]
    first, values, bound = entries
    log = np.empty((LOGGED + 3 * len(labels), 3), np.int32)
    for i in range(begin, len(times)):
        target, when, inside = targets[:, i].copy(), times[i], there[i]
        for e in range(first[i], first[i + 1]):
            value, missing, gained = values[e], wanted[i] - inside, 0
            alike, spot = (start[value], start[value + 1]), (value, len(start) - 1)
            here = time[alike[0] : alike[1]]
            low, high = alike[0] + first_place(here, when), alike[0] + first_place(here, when + 1)
            room = bound[e]
            for who in range(low, high):
                room -= _equals(who, target, when, people)
            missing = min(missing, room)
            for backwards in (False, True):
                used, steps, more = 0, steps_left, 0
                for who in range(low, high):
                    if more >= missing or steps <= 0:
                        break
                    if _equals(who, target, when, people):
                        continue
                    result, steps = _becomes(
                        who, target, when, people, shape, buckets, alike, spot, log, used, steps, backwards
                    )
                    if result >= 0:
                        used = result
                        more += 1
                used = _undo(labels, log, used, 0)
                gained = max(gained, more)
                if gained >= missing:
                    break
            inside += gained
        if inside < wanted[i]:
            return i
    return len(times)


# Exchanges between people of a world: a compiled loop over pairs who meet.

Keys = NDArray[np.uint64]


@njit(cache=True)
def _entry_with(key: int, keys: Keys, owners: Int64s) -> int:
    """The first entry with a key; -1 where there is none."""
    at = first_place(keys, key)
    if at < len(keys) and keys[at] == key:
        return int(owners[at])
    return -1


@njit(cache=True)
def make_exchanges(
    meetings: Int64s,
    entry: Int64s,
    passed: Flags,
    sums: Int64s,
    drawn: Keys,
    lookup: tuple[Keys, Keys, Int64s],
) -> None:
    """Moves people who meet, `meetings[0]` and `meetings[1]`, then the next two and so on, to other entries.

    Pair i passes on what the releases `passed[i]` show of both. Entry e has the sum `sums[e, j]` in release j
    (-1: none) and there the random number `drawn[e, j]`; its key is what these add up to. `lookup` holds the
    keys of all entries, then the same sorted, with the entry of each. An exchange is made in `entry` where
    both people find an entry that has exactly the sums they would have.
    """
    key, keys, owners = lookup
    releases = sums.shape[1]
    for i in range(len(passed)):
        a, b = meetings[2 * i], meetings[2 * i + 1]
        first, second = entry[a], entry[b]
        change = np.uint64(0)
        for j in range(releases):
            passed[i, j] &= (sums[first, j] >= 0) == (sums[second, j] >= 0)
            if passed[i, j]:
                change += drawn[second, j] - drawn[first, j]
        if change == 0:  # both would stay where they are
            continue
        new_first = _entry_with(key[first] + change, keys, owners)
        if new_first < 0:
            continue
        new_second = _entry_with(key[second] - change, keys, owners)
        if new_second < 0:
            continue
        right = True  # a key that two rows share would break a count
        for j in range(releases):
            mine, theirs = (second, first) if passed[i, j] else (first, second)
            if sums[new_first, j] != sums[mine, j] or sums[new_second, j] != sums[theirs, j]:
                right = False
                break
        if right:
            entry[a], entry[b] = new_first, new_second
