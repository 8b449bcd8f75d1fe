"""Which groups of reference rows contain a set, and what classes of sets share out among the groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.sets.bitsets import Words, put
from sfumato.kernels.term_sets.limits import distance, largest

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST_DENOMINATOR = 1 << 30
"""Common denominators up to this are kept as whole numbers."""


@njit(cache=True, nogil=True)
def link(
    start: Longs, term: Ints, first: Longs, rows: Ints, group: Ints, weight: Longs
) -> tuple[Words, Longs]:
    """For every set the groups that contain it, as bits, and what these weigh together.

    Set i holds the terms `term[start[i]:start[i+1]]`, each once; a negative term is in no row.
    """
    sets, count = len(start) - 1, len(group)
    bits = np.zeros((sets, (len(weight) + 63) // 64), np.uint64)
    number = np.zeros(sets, np.int64)
    seen = np.zeros(count, np.int32)
    for i in range(sets):
        width = start[i + 1] - start[i]
        seen[:] = 0
        for e in range(start[i], start[i + 1]):
            if term[e] >= 0:
                for p in range(first[term[e]], first[term[e] + 1]):
                    seen[rows[p]] += 1
        last = -1
        for r in range(count):
            if seen[r] == width and group[r] != last:
                last = group[r]
                put(bits[i], last)
                number[i] += weight[last]
    return bits, number


@njit(cache=True, nogil=True)
def _spread(bits: Words, share: float, mass: Floats) -> None:
    for w in range(len(bits)):
        x = bits[w]
        if x != np.uint64(0):
            for b in range(64):
                if (x >> np.uint64(b)) & np.uint64(1) != np.uint64(0):
                    mass[64 * w + b] += share


@njit(cache=True, nogil=True)
def _common(value: Ints, number: Longs) -> int:
    """The least common multiple of the numbers, 0 where it is too large."""
    whole = 1
    for v in value:
        n = number[v]
        if n > 0:
            a, b = whole, n
            while b != 0:
                a, b = b, a % b
            whole = whole // a * n
            if whole > LARGEST_DENOMINATOR:
                return 0
    return whole


@njit(cache=True, nogil=True)
def heads_and_tails(
    start: Longs, value: Ints, count: Longs, bits: Words, number: Longs, weight: Longs, skip: int
) -> tuple[Floats, Floats, Longs]:
    """Per class: its largest share, the sum of all shares but the `skip` largest, and the number they are in.

    Shares are whole multiples of 1 / denominator, exact in floating point; where no small common denominator
    exists it is 0 and the shares are rounded.
    """
    classes, groups = len(start) - 1, len(weight)
    head, tail, common = np.zeros(classes), np.zeros(classes), np.zeros(classes, np.int64)
    mass, best = np.empty(groups), np.empty(max(1, min(skip, groups)))
    for i in range(classes):
        some = value[start[i] : start[i + 1]]
        whole = _common(some, number)
        mass[:] = 0.0
        for e in range(start[i], start[i + 1]):
            n = number[value[e]]
            if n > 0:
                share = float(count[e]) * (float(whole // n) if whole > 0 else 1.0 / n)
                _spread(bits[value[e]], share, mass)
        for j in range(groups):
            mass[j] *= weight[j]
        head[i] = mass.max()
        total = mass.sum()
        top = largest(mass, min(skip, groups), best)
        tail[i] = total - top if skip < groups else 0.0
        common[i] = whole
        if total >= 2.0**52:
            common[i] = 0
    return head, tail, common


@njit(cache=True, nogil=True)
def distances(
    start: Longs,
    value: Ints,
    count: Longs,
    bits: Words,
    number: Longs,
    weight: Longs,
    target: Floats,
    norm: int,
) -> Floats:
    """Per class: the distance of its mean shares from a target, rounded."""
    classes = len(start) - 1
    far, mass = np.zeros(classes), np.empty(len(target))
    for i in range(classes):
        mass[:] = 0.0
        size = 0
        for e in range(start[i], start[i + 1]):
            n = number[value[e]]
            size += count[e]
            if n > 0:
                _spread(bits[value[e]], float(count[e]) / n, mass)
        for j in range(len(target)):
            mass[j] *= weight[j]
        far[i] = distance(mass, target, float(size), norm)
    return far


@njit(cache=True, nogil=True)
def tally_by_number(value: Ints, count: Longs, bits: Words, place: Ints, places: int, groups: int) -> Longs:
    """How many rows link to each group with each number of links: groups x places."""
    tally = np.zeros((groups, places), np.int64)
    for e in range(len(value)):
        p = place[value[e]]
        if p >= 0:
            row = bits[value[e]]
            for w in range(len(row)):
                x = row[w]
                if x != np.uint64(0):
                    for b in range(64):
                        if (x >> np.uint64(b)) & np.uint64(1) != np.uint64(0):
                            tally[64 * w + b, p] += count[e]
    return tally
