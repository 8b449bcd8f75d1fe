"""Minimal hitting sets of a few members: sets that meet every edge, and no part of them does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.sets.bitsets import Words, below, ones, put, take_first

DONE, FULL, OUT_OF_STEPS = 0, 1, 2
"""All were found; there was no room for more; the budget of steps was used up."""

_NONE = np.uint64(0)


@njit(cache=True)
def hitting_sets(
    hits: Words, edges: Words, most: int, limit: int, budget: int
) -> tuple[NDArray[np.int32], int]:
    """The minimal hitting sets of at most `most` members, each once, members after -1s are none.

    `hits[m]` are the edges that member m meets, `edges[e]` the members of edge e, both as bits. The search
    branches on the edge with the fewest candidates (Murakami and Uno); every member on the path must be the
    only one to meet some edge.
    """
    members, wide = hits.shape[0], hits.shape[1]
    across = edges.shape[1]
    unhit = np.zeros((most + 1, wide), np.uint64)
    candidates = np.zeros((most + 1, across), np.uint64)
    todo = np.zeros((most + 1, across), np.uint64)
    path = np.zeros(most + 1, np.int32)
    hitting = np.full((16, most), -1, np.int32)
    count = 0
    for e in range(edges.shape[0]):
        put(unhit[0], e)
    for m in range(members):
        put(candidates[0], m)
    depth = 0
    entering = True
    while True:
        if entering:
            entering = False
            if not unhit[depth].any():
                if count == limit:
                    return hitting[:count], FULL
                if count == len(hitting):
                    wider = np.full((2 * count, most), -1, np.int32)
                    wider[:count] = hitting
                    hitting = wider
                hitting[count, :depth] = path[:depth]
                count += 1
                todo[depth, :] = _NONE
            elif depth == most:
                todo[depth, :] = _NONE
            else:
                _choose_edge(unhit[depth], edges, candidates[depth], todo[depth])
        member = take_first(todo[depth])
        if member < 0:
            if depth == 0:
                return hitting[:count], DONE
            depth -= 1
            put(candidates[depth], path[depth])
            continue
        budget -= 1
        if budget < 0:
            return hitting[:count], OUT_OF_STEPS
        path[depth] = member
        for w in range(wide):
            unhit[depth + 1, w] = unhit[depth, w] & ~hits[member, w]
        if depth + 1 == most and unhit[depth + 1].any():
            continue
        if _all_needed(hits, path, depth + 1):
            depth += 1
            candidates[depth, :] = candidates[depth - 1]
            entering = True


@njit(cache=True)
def _choose_edge(unhit: Words, edges: Words, candidates: Words, todo: Words) -> None:
    """Choose the edge with the fewest candidates; they are to be tried, one after the other."""
    best, fewest = -1, 1 << 30
    for w in range(len(unhit)):
        x = unhit[w]
        while x != _NONE:
            lowest = x & (~x + np.uint64(1))
            x ^= lowest
            e = 64 * w + ones(lowest - np.uint64(1))
            size = 0
            for c in range(len(candidates)):
                size += ones(edges[e, c] & candidates[c])
            if size < fewest:
                best, fewest = e, size
    for c in range(len(candidates)):
        todo[c] = edges[best, c] & candidates[c]
        candidates[c] &= ~edges[best, c]


@njit(cache=True)
def _all_needed(hits: Words, path: NDArray[np.int32], length: int) -> bool:
    """Whether each member of the path meets an edge that no other one meets."""
    for i in range(length):
        needed = False
        for w in range(hits.shape[1]):
            x = hits[path[i], w]
            for k in range(length):
                if k != i:
                    x &= ~hits[path[k], w]
            if x != _NONE:
                needed = True
                break
        if not needed:
            return False
    return True


@njit(cache=True)
def without_supersets(sets: Words) -> NDArray[np.bool_]:
    """Which of these sets contain no other one; they are different, and small ones come first."""
    kept = np.zeros(len(sets), np.bool_)
    chosen = np.empty(len(sets), np.int64)
    count = 0
    for i in range(len(sets)):
        fresh = True
        for k in range(count):
            if below(sets[chosen[k]], sets[i]):
                fresh = False
                break
        if fresh:
            kept[i] = True
            chosen[count] = i
            count += 1
    return kept
