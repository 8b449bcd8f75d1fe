"""Subsets of small sets and what they are contained in: traces, sums over supersets, closed subsets.

A *trace* is the part of a set that a reference row holds, as a bit mask. A subset S of the set is contained
in the reference row exactly if S is contained in the trace. Reference rows come in groups (`group`,
ascending); a group contains S if one of its rows does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


class SetArrays(NamedTuple):
    """Several sets and their subsets.

    `counts[begin[i] + S]` groups contain the subset S of set i and weigh `whole[begin[i] + S]` together; the
    subset costs `price[begin[i] + S]` to choose. A group that contains it gets its `value` over that whole.
    `options[first[i]:first[i+1]]` are the closed ones. Entries `entry[i] .. entry[i+1]-1` of `mask`, `owner`
    and `weight` are the set's alternatives, weighted by their owner's value. Equal sets have the same number
    in `same`.
    """

    trace: Int32s
    group: Int32s
    value: Int64s
    bits: Int64s
    begin: Int64s
    counts: Int64s
    whole: Int64s
    price: Int64s
    entry: Int64s
    mask: Int32s
    owner: Int32s
    weight: Int64s
    options: Int32s
    first: Int64s
    same: Int32s


@njit(cache=True, nogil=True, inner=True)
def traces(start: Int64s, atom: Int32s, term: Int32s, first: Int64s, rows: Int32s, count: int) -> Int32s:
    """The trace of every set in every reference row.

    Set i holds the terms `term[start[i]:start[i+1]]`, each with the bit `atom`; term t is held by the
    reference rows `rows[first[t]:first[t+1]]`, a negative t by none. Where several terms share a bit, a trace
    has it if the row holds all of them.
    """
    sets = len(start) - 1
    trace = np.zeros((sets, count), np.int32)
    matches = np.zeros(count, np.int32)
    for i in range(sets):
        bits = 0
        for e in range(start[i], start[i + 1]):
            bits = max(bits, atom[e] + 1)
        for bit in range(bits):
            wanted = 0
            matches[:] = 0
            for e in range(start[i], start[i + 1]):
                if atom[e] == bit:
                    wanted += 1
                    if term[e] >= 0:
                        for p in range(first[term[e]], first[term[e] + 1]):
                            matches[rows[p]] += 1
            for r in range(count):
                if matches[r] == wanted:
                    trace[i, r] |= 1 << bit
    return trace


@njit(cache=True, nogil=True, inner=True)
def alternatives(trace: Int32s, group: Int32s) -> tuple[Int64s, Int32s, Int32s, Int64s]:
    """Weighted masks per set such that the weights over masks that contain S add up to 1 for every group
    that contains S, else to 0: one mask where a group has one row, else inclusion and exclusion.

    Returned are `start`, `mask`, `owner` (the group) and `weight`.
    """
    sets, rows = trace.shape
    start = np.zeros(sets + 1, np.int64)
    size = max(16, sets * rows)
    mask, owner, weight = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    many, times = np.empty(1024, np.int32), np.empty(1024, np.int32)
    used = 0
    for i in range(sets):
        r = 0
        while r < rows:
            stop = r + 1
            while stop < rows and group[stop] == group[r]:
                stop += 1
            count = 0
            for q in range(r, stop):
                new = trace[i, q]
                if _idle(trace[i], r, stop, q):
                    continue
                if 2 * count + 1 >= len(many):
                    many, times = _doubled(_doubled(many)), _doubled(_doubled(times))
                now = count
                for a in range(now):
                    if times[a] != 0:
                        count = _add(many, times, count, many[a] & new, -times[a])
                count = _add(many, times, count, new, 1)
            for a in range(count):
                if times[a] != 0:
                    if used == len(mask):
                        mask, owner, weight = _doubled(mask), _doubled(owner), _doubled(weight)
                    mask[used], owner[used], weight[used] = many[a], group[r], times[a]
                    used += 1
            r = stop
        start[i + 1] = used
    return start, mask[:used].copy(), owner[:used].copy(), weight[:used].astype(np.int64)


@njit(cache=True, nogil=True)
def _idle(trace: Int32s, low: int, high: int, q: int) -> bool:
    """Whether another row of the group holds all that row q holds."""
    mine = trace[q]
    for p in range(low, high):  # noqa: SIM110
        if p != q and mine & ~trace[p] == 0 and (trace[p] != mine or p < q):
            return True
    return False


@njit(cache=True, nogil=True)
def _add(many: Int32s, times: Int32s, count: int, mask: int, weight: int) -> int:
    for a in range(count):
        if many[a] == mask:
            times[a] += weight
            return count
    many[count], times[count] = mask, weight
    return count + 1


@njit(cache=True, nogil=True)
def _doubled(array: Int32s) -> Int32s:
    return np.concatenate((array, np.empty_like(array)))


@njit(cache=True, nogil=True, inner=True)
def sums_over_supersets(
    mask: Int32s, owner: Int32s, weight: Int64s, value: Floats, bits: int, out: Floats
) -> None:
    """For every subset S: the sum of `value`, weighted, over the groups that contain S."""
    size = 1 << bits
    out[:size] = 0.0
    for e in range(len(mask)):
        out[mask[e]] += weight[e] * value[owner[e]]
    for b in range(bits):
        bit = 1 << b
        for s in range(size):
            if s & bit == 0:
                out[s] += out[s | bit]


@njit(cache=True, nogil=True, inner=True)
def containing(mask: Int32s, weight: Int64s, bits: int) -> Int64s:
    """For every subset S: how many groups contain it, or what these weigh, as `weight` says."""
    size = 1 << bits
    out = np.zeros(size, np.int64)
    for e in range(len(mask)):
        out[mask[e]] += weight[e]
    for b in range(bits):
        bit = 1 << b
        for s in range(size):
            if s & bit == 0:
                out[s] += out[s | bit]
    return out


@njit(cache=True, nogil=True, inner=True)
def closed(counts: Int64s, bits: int) -> Int32s:
    """The subsets to which nothing can be added without losing a group, fullest numbers first."""
    size = 1 << bits
    subsets = np.empty(size, np.int32)
    used = 0
    for s in range(size - 1, -1, -1):
        loses = True
        for b in range(bits):
            if s & (1 << b) == 0 and counts[s | (1 << b)] == counts[s]:
                loses = False
                break
        if loses:
            subsets[used] = s
            used += 1
    return subsets[:used].copy()


@njit(cache=True, nogil=True, inner=True)
def add_share(trace: Int32s, group: Int32s, value: Int64s, subset: int, share: float, total: Floats) -> None:
    """Add `share` times their value to the groups that contain the subset."""
    last = -1
    for r in range(len(trace)):
        if trace[r] & subset == subset and group[r] != last:
            last = group[r]
            total[last] += share * value[last]
