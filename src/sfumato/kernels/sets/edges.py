"""Edges: what every column set that splits the rows apart must meet, and where they come from.

The rows are split apart by a column set once at least `t` of them lie in clusters of fewer than k rows.
A column set that falls short is contained in a maximal one that does; whoever succeeds must have a column
outside it. Those complements are the edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.sets.bitsets import Words, below, copy, holds, put
from sfumato.kernels.sets.partitions import DROPPED, Ints, refine

Longs = NDArray[np.int64]

_NONE = np.uint64(0)
# Registers: depth, phase, edges, results, depth whose partition is ready, column sampled next, checks made.
DEPTH, PHASE, EDGES, RESULTS, READY, SAMPLED, CHECKS = range(7)
REGISTERS = 7


class Goal(NamedTuple):
    """What to look for: columns of codes, the floor k, rows that must leave, the largest set."""

    codes: Ints
    k: int
    t: int
    max_size: int


class Stack(NamedTuple):
    """One partition per depth of the path, one above the other, and scratch space for refining them."""

    rows: Ints
    bounds: Ints
    at: Longs
    b_at: Longs
    clusters: Longs
    kept: Longs
    tally: Ints
    local: Ints


class EdgeTree(NamedTuple):
    """Edges as column sets; per column the edges it is in; per depth what is unhit, hit once, and open."""

    registers: Longs
    random: Words
    edges: Words
    hits: Words
    unhit: Words
    once: Words
    candidates: Words
    todo: Words
    path: Ints
    results: Words


@njit(cache=True, borrows=True)
def _draw(random: Words, bound: int) -> int:
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return 0 if bound == 1 else int(np.int64((x >> np.uint64(11)) % np.uint64(bound)))


@njit(cache=True, inner=True, borrows=True)
def step(goal: Goal, stack: Stack, depth: int, column: int, drop: int, keep: int) -> int:
    """Refine the partition at `depth` by a column into the one above; why it stopped."""
    top = stack.at[depth] + stack.kept[depth]
    b_top = stack.b_at[depth] + stack.clusters[depth] + 1
    target = depth + 1
    stack.at[target] = top
    stack.b_at[target] = b_top
    made, kept, why = refine(
        stack.rows,
        stack.at[depth],
        stack.bounds,
        stack.b_at[depth],
        stack.clusters[depth],
        goal.codes[column],
        goal.k,
        drop,
        keep,
        stack.tally,
        stack.local,
        stack.rows,
        top,
        stack.bounds,
        b_top,
    )
    stack.clusters[target] = made
    stack.kept[target] = kept
    return why


@njit(cache=True, inner=True, borrows=True)
def differences(goal: Goal, stack: Stack, tree: EdgeTree, depth: int, first: int, draws: int) -> int:
    """Draw k rows that share a cluster, again and again; where they differ is an edge. Returns the edges.

    New edges go to `first` and after, where there is room for one per draw; of these only the smallest by
    inclusion stay. Rows that were drawn before give no new edge: most such draws are passed over.
    """
    at, b_at = stack.at[depth], stack.b_at[depth]
    last = first
    columns = goal.codes.shape[0]
    drawn = _NONE
    for _ in range(draws):
        place = _draw(tree.random, stack.kept[depth])
        low, high = 0, stack.clusters[depth]
        while high - low > 1:
            middle = (low + high) >> 1
            if stack.bounds[b_at + middle] <= place:
                low = middle
            else:
                high = middle
        start = stack.bounds[b_at + low]
        length = stack.bounds[b_at + low + 1] - start
        stride = 1 + _draw(tree.random, (length - 1) // (goal.k - 1))
        offset = start + _draw(tree.random, length - stride * (goal.k - 1))
        if stride == 1 and offset < 64:
            again = np.uint64(1) << np.uint64(offset)
            if drawn & again != _NONE:
                continue
            drawn |= again
        edge = tree.edges[last]
        begin = at + offset
        row = stack.rows[begin]
        for w in range(len(edge)):
            bits = _NONE
            for column in range(64 * w, min(columns, 64 * w + 64)):
                code = goal.codes[column, row]
                same = code >= 0
                for i in range(1, goal.k):
                    if not same:
                        break
                    same = goal.codes[column, stack.rows[begin + i * stride]] == code
                bits |= np.uint64(not same) << np.uint64(column & 63)
            edge[w] = bits
        fresh = True
        i = first
        while i < last:
            if below(tree.edges[i], edge):
                fresh = False
                break
            if below(edge, tree.edges[i]):
                last -= 1
                copy(tree.edges[i], tree.edges[last])
            else:
                i += 1
        if fresh:
            copy(tree.edges[last], edge)
            last += 1
    return last


@njit(cache=True, inner=True, borrows=True)
def complement(goal: Goal, stack: Stack, tree: EdgeTree, depth: int, first: int, turn: int) -> int:
    """Grow the path to a maximal set that falls short; what lies outside is an edge. Returns the edges.

    Columns are tried in turn, beginning with number `turn`.
    """
    columns = goal.codes.shape[0]
    rows = goal.codes.shape[1]
    edge = tree.edges[first]
    edge[:] = _NONE
    here = depth
    spare = depth + 1
    for i in range(columns):
        column = (turn + i) % columns
        taken = False
        for j in range(1, depth + 1):
            taken |= tree.path[j] == column
        if taken:
            continue
        left = goal.t - (rows - stack.kept[here])
        why = step(goal, stack, here, column, left, rows + 1)
        if why == DROPPED:
            put(edge, column)
        elif here == depth:
            here, spare = depth + 1, depth + 2
        elif stack.kept[spare] < stack.kept[here] or stack.clusters[spare] > stack.clusters[here]:
            _overwrite(stack, spare, here)
    return first + 1


@njit(cache=True, borrows=True)
def _overwrite(stack: Stack, source: int, target: int) -> None:
    """Put one partition of the stack in the place of the one below it."""
    for i in range(stack.kept[source]):
        stack.rows[stack.at[target] + i] = stack.rows[stack.at[source] + i]
    for i in range(stack.clusters[source] + 1):
        stack.bounds[stack.b_at[target] + i] = stack.bounds[stack.b_at[source] + i]
    stack.kept[target] = stack.kept[source]
    stack.clusters[target] = stack.clusters[source]


@njit(cache=True, inner=True, borrows=True)
def register(tree: EdgeTree, depth: int, first: int, last: int) -> None:
    """Make edges known that no column of the path hits."""
    for e in range(first, last):
        for column in range(tree.hits.shape[0]):
            if holds(tree.edges[e], column):
                put(tree.hits[column], e)
        for d in range(depth + 1):
            put(tree.unhit[d], e)
    tree.registers[EDGES] = last
