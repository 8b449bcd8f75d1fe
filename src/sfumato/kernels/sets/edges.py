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
# Registers: depth, phase, edges, results, depth whose partition is ready, column sampled next, checks made,
# columns of the smallest result (0 without one), rows looked at since they were last paid for, steps that are
# left (fewer than none where the last one was large).
DEPTH, PHASE, EDGES, RESULTS, READY, SAMPLED, CHECKS, SMALLEST, LOOKS, LEFT = range(10)
REGISTERS = 10

PATIENCE = 32
"""So many draws in a row without one more edge are the last."""


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
def looked_at(stack: Stack, depth: int, why: int, drop: int) -> int:
    """About how many rows the last step from `depth` looked at: all of them, unless enough left before."""
    return int(stack.kept[depth + 1] + drop if why == DROPPED else stack.kept[depth])


@njit(cache=True, inner=True, borrows=True)
def differences(goal: Goal, stack: Stack, tree: EdgeTree, depth: int, first: int, draws: int) -> int:
    """Choose k rows that share a cluster, again and again; where they differ is an edge. Returns the edges.

    The k rows lie at even distances in their cluster. Where there are no more such choices than draws, each
    is made once; else they are drawn, until no more edges come. New edges go to `first` and after, where
    there is room for one per draw; of these only the smallest by inclusion stay.
    """
    if _has_few_choices(goal, stack, depth, draws):
        return _chosen_differences(goal, stack, tree, depth, first)
    return _drawn_differences(goal, stack, tree, depth, first, draws)


@njit(cache=True, borrows=True)
def _has_few_choices(goal: Goal, stack: Stack, depth: int, most: int) -> bool:
    """Whether clusters have at most so many choices of k rows at even distances."""
    b_at, others = stack.b_at[depth], goal.k - 1
    if stack.clusters[depth] > most:
        return False
    choices = 0
    for i in range(stack.clusters[depth]):
        length = stack.bounds[b_at + i + 1] - stack.bounds[b_at + i]
        strides = (length - 1) // others
        choices += strides * length - others * (strides * (strides + 1) >> 1)
        if choices > most:
            return False
    return True


@njit(cache=True, borrows=True)
def _chosen_differences(goal: Goal, stack: Stack, tree: EdgeTree, depth: int, first: int) -> int:
    """The smallest edges of all choices of k rows at even distances in a cluster."""
    at, b_at, others = stack.at[depth], stack.b_at[depth], goal.k - 1
    last = first
    for i in range(stack.clusters[depth]):
        start, end = at + stack.bounds[b_at + i], at + stack.bounds[b_at + i + 1]
        for stride in range(1, (end - start - 1) // others + 1):
            for begin in range(start, end - stride * others):
                _difference(goal.codes, goal.k, stack.rows, begin, stride, tree.edges[last])
                last = _keep_smallest(tree.edges, first, last)
    return last


@njit(cache=True, borrows=True)
def _drawn_differences(goal: Goal, stack: Stack, tree: EdgeTree, depth: int, first: int, draws: int) -> int:
    """The smallest edges of some draws; rows that were drawn before are mostly passed over."""
    at, b_at = stack.at[depth], stack.b_at[depth]
    last = first
    drawn = _NONE
    fruitless = 0
    for _ in range(draws):
        if fruitless == PATIENCE:
            break
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
                fruitless += 1
                continue
            drawn |= again
        _difference(goal.codes, goal.k, stack.rows, at + offset, stride, tree.edges[last])
        least = _keep_smallest(tree.edges, first, last)
        fruitless = 0 if least > last else fruitless + 1
        last = least
    return last


@njit(cache=True, borrows=True)
def _difference(codes: Ints, k: int, rows: Ints, begin: int, stride: int, edge: Words) -> None:
    """Put into `edge` the columns in which k rows, from a place on at a distance, do not all agree."""
    # Row numbers as unsigned ones: numba need not look for places that are counted from the end.
    row, other = np.uint32(rows[begin]), np.uint32(rows[begin + stride])
    for w in range(len(edge)):
        bits = _NONE
        before = 64 * w
        for j in range(min(codes.shape[0] - before, 64)):
            code = codes[before + j, row]
            differ = (code < 0) | (codes[before + j, other] != code)
            bits |= np.uint64(differ) << np.uint64(j)
        edge[w] = bits
    for i in range(2, k):
        another = np.uint32(rows[begin + i * stride])
        for j in range(codes.shape[0]):
            if not holds(edge, j) and codes[j, another] != codes[j, row]:
                put(edge, j)


@njit(cache=True, borrows=True)
def _keep_smallest(edges: Words, first: int, last: int) -> int:
    """Keep the edge at `last` if no edge from `first` on lies in it, and drop those that contain it."""
    edge = edges[last]
    fresh = True
    i = first
    while i < last:
        if below(edges[i], edge):
            fresh = False
            break
        if below(edge, edges[i]):
            last -= 1
            copy(edges[i], edges[last])
        else:
            i += 1
    if fresh:
        copy(edges[last], edge)
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
        tree.registers[LOOKS] += looked_at(stack, here, why, left)
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
