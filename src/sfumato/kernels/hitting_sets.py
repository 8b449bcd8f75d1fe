"""All minimal column sets that split rows apart, as minimal hitting sets of edges found on the way.

Edges are what every successful set must meet (see `edges.py`); the minimal successful sets are the minimal
hitting sets of all edges, most of which are never looked at.

`walk` is the tree search of Murakami and Uno (MMCS) over the edges known so far: every column of the
path must be the only one that hits some edge. Where the path hits all known edges, the rows themselves
are asked; if they do not agree, they supply new edges. A branch that is cut because one of its columns
u is not needed loses nothing although edges may still be unknown: the same sets without u lie in
branches walked before, so every edge that could have made u needed is known by then.

The search can be stopped and continued at any time: its whole state is in arrays.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.compiled import njit
from sfumato.kernels.sets.bitsets import below, copy, ones, put, take_first
from sfumato.kernels.sets.edges import (
    CHECKS,
    DEPTH,
    EDGES,
    LEFT,
    LOOKS,
    PHASE,
    READY,
    RESULTS,
    SAMPLED,
    SMALLEST,
    EdgeTree,
    Goal,
    Stack,
    complement,
    differences,
    looked_at,
    register,
    step,
)
from sfumato.kernels.sets.partitions import DROPPED, SHORT

__all__ = ["DONE", "PAUSED", "SHORT_OF_EDGES", "SHORT_OF_RESULTS", "SHORT_OF_ROWS", "walk"]

DONE = 0
PAUSED = 1
"""The budget is used up."""
SHORT_OF_EDGES = 2
SHORT_OF_RESULTS = 3
SHORT_OF_ROWS = 4

EDGE_ROOM = 64
"""Free places for edges that a single step may need."""

LOOK, FAR_LOOK = 8, 32
"""Steps that a look at a row counts, where some records have to leave and not all: in tables of few rows, and
at most in long ones, whose columns do not fit the processor's cache."""
ROWS_PER_STEP = 1 << 12
"""One step more for so many rows."""

_SAMPLE = 1 << 14
"""About how many rows the first edges are drawn from."""

_NONE = np.uint64(0)
_FIRST, _ENTER, _NEXT, _BACK = 0, 1, 2, 3


@njit(cache=True, borrows=True)
def _sample(goal: Goal, stack: Stack, tree: EdgeTree) -> None:
    """First edges: rows that agree on a column, column by column, among some of the rows."""
    rows = goal.codes.shape[1]
    known = tree.registers[EDGES]
    column = tree.registers[SAMPLED]
    tree.registers[SAMPLED] += 1
    stride = 1 + rows // _SAMPLE
    drawn = (rows + stride - 1) // stride
    codes, sample = goal.codes[column], stack.rows[rows : 2 * rows]
    kept, alone = 0, 0
    for i in range(drawn):
        row = i * stride
        sample[kept] = row
        if codes[row] < 0:
            alone = row
        else:
            kept += 1
    # Those whose value is rare leave at once; a few stay, so that clusters come in the order of a long list.
    while kept < min(drawn, SHORT + 1):
        sample[kept] = alone
        kept += 1
    stack.at[1] = rows
    stack.b_at[1] = 2
    stack.clusters[1] = 1
    stack.kept[1] = kept
    stack.bounds[2] = 0
    stack.bounds[3] = kept
    step(goal, stack, 1, column, rows + 1, rows + 1)
    if stack.kept[2] == 0:
        return
    last = differences(goal, stack, tree, 2, known, EDGE_ROOM)
    fresh = known
    for e in range(known, last):
        edge = tree.edges[e]
        useful = True
        for i in range(known):
            if below(tree.edges[i], edge):
                useful = False
                break
        if useful:
            copy(tree.edges[fresh], edge)
            fresh += 1
    register(tree, 0, known, fresh)


@njit(cache=True, borrows=True)
def _check(goal: Goal, stack: Stack, tree: EdgeTree) -> int:
    """Ask the rows about the path: 1 it succeeds, 0 it does not and edges were added, -1 no room."""
    depth = tree.registers[DEPTH]
    rows = goal.codes.shape[1]
    every = goal.t == rows
    while tree.registers[READY] < depth:
        d = tree.registers[READY]
        needed = stack.at[d] + (2 if every else 4) * stack.kept[d]
        if needed > len(stack.rows) or stack.b_at[d] + 4 * (stack.kept[d] // goal.k + 2) > len(stack.bounds):
            return -1
        left = goal.t - (rows - stack.kept[d])
        leaf = every and d + 1 == goal.max_size
        why = step(goal, stack, d, tree.path[d + 1], left, 64 if leaf else rows + 1)
        tree.registers[LOOKS] += looked_at(stack, d, why, left)
        if why == DROPPED:
            return 1
        tree.registers[READY] = d + 1
    first = tree.registers[EDGES]
    tree.registers[CHECKS] += 1
    if every:
        draws = 2 + min(30, int(float(stack.kept[depth]) ** 0.3))
        last = differences(goal, stack, tree, depth, first, draws)
    else:
        d = depth
        needed = stack.at[d] + 4 * stack.kept[d]
        if needed > len(stack.rows) or stack.b_at[d] + 4 * (stack.kept[d] // goal.k + 2) > len(stack.bounds):
            return -1
        last = complement(goal, stack, tree, depth, first, 0)
    register(tree, depth, first, last)
    if depth == goal.max_size:
        tree.registers[READY] = depth - 1
    return 0


@njit(cache=True, borrows=True)
def _pick(tree: EdgeTree) -> bool:
    """Choose the unhit edge with the fewest candidates, and open them; false if one has none."""
    depth = tree.registers[DEPTH]
    candidates = tree.candidates[depth]
    best, fewest = -1, 1 << 30
    for w in range((tree.registers[EDGES] + 63) >> 6):
        x = tree.unhit[depth, w]
        while x != _NONE:
            lowest = x & (~x + np.uint64(1))
            x ^= lowest
            e = 64 * w + ones(lowest - np.uint64(1))
            size = 0
            for c in range(len(candidates)):
                size += ones(tree.edges[e, c] & candidates[c])
            if size < fewest:
                best, fewest = e, size
                if size <= 1:
                    break
        if fewest <= 1:
            break
    if fewest == 0:
        return False
    for c in range(len(candidates)):
        tree.todo[depth, c] = tree.edges[best, c] & candidates[c]
        candidates[c] &= ~tree.edges[best, c]
    return True


@njit(cache=True, borrows=True)
def _extend(goal: Goal, tree: EdgeTree, column: int) -> bool:
    """Put a column on the path; false if the result cannot be minimal, or cannot succeed in size."""
    depth = tree.registers[DEPTH]
    words = (tree.registers[EDGES] + 63) >> 6
    hits = tree.hits[column]
    unhit, once = tree.unhit[depth], tree.once[depth]
    if depth + 1 == goal.max_size:
        for w in range(words):
            if unhit[w] & ~hits[w] != _NONE:
                return False
    next_unhit, next_once = tree.unhit[depth + 1], tree.once[depth + 1]
    for w in range(words):
        next_unhit[w] = unhit[w] & ~hits[w]
        next_once[w] = (once[w] & ~hits[w]) | (unhit[w] & hits[w])
    for w in range(words, len(next_unhit)):
        next_unhit[w] = _NONE
        next_once[w] = _NONE
    for d in range(1, depth + 1):
        member = tree.hits[tree.path[d]]
        needed = False
        for w in range(words):
            if next_once[w] & member[w] != _NONE:
                needed = True
                break
        if not needed:
            return False
    tree.path[depth + 1] = column
    copy(tree.candidates[depth + 1], tree.candidates[depth])
    tree.registers[DEPTH] = depth + 1
    tree.registers[READY] = min(tree.registers[READY], depth)
    return True


@njit(cache=True, borrows=True)
def walk(goal: Goal, stack: Stack, tree: EdgeTree, budget: int) -> int:
    """Continue the search until it is done, the budget is used up, or an array is too short.

    The register LEFT tells what is left of the budget.
    """
    registers = tree.registers
    registers[LEFT] = budget
    columns = goal.codes.shape[0]
    look = min(LOOK + goal.codes.shape[1] // ROWS_PER_STEP, FAR_LOOK)
    while registers[LEFT] > 0:
        depth = registers[DEPTH]
        if registers[PHASE] == _FIRST:
            if goal.t < goal.codes.shape[1] or registers[SAMPLED] >= columns:
                registers[PHASE] = _ENTER
                continue
            if registers[EDGES] + EDGE_ROOM > tree.edges.shape[0]:
                return SHORT_OF_EDGES
            _sample(goal, stack, tree)
            registers[LEFT] -= goal.codes.shape[1]
        elif registers[PHASE] == _ENTER:
            open_edges = False
            for w in range(tree.unhit.shape[1]):
                if tree.unhit[depth, w] != _NONE:
                    open_edges = True
                    break
            if not open_edges:
                if registers[EDGES] + EDGE_ROOM > tree.edges.shape[0]:
                    return SHORT_OF_EDGES
                if registers[RESULTS] >= tree.results.shape[0]:
                    return SHORT_OF_RESULTS
                answer = _check(goal, stack, tree)
                if answer < 0:
                    return SHORT_OF_ROWS
                looks = stack.kept[min(registers[READY], depth)]
                registers[LEFT] -= 64 + (looks if goal.t == goal.codes.shape[1] else look * registers[LOOKS])
                registers[LOOKS] = 0
                if answer == 1:
                    result = tree.results[registers[RESULTS]]
                    result[:] = _NONE
                    for d in range(1, depth + 1):
                        put(result, tree.path[d])
                    if registers[RESULTS] == 0 or depth < registers[SMALLEST]:
                        registers[SMALLEST] = depth
                    registers[RESULTS] += 1
                    registers[PHASE] = _BACK
                    continue
            registers[LEFT] -= 64 + registers[EDGES]
            registers[PHASE] = _NEXT if depth < goal.max_size and _pick(tree) else _BACK
        elif registers[PHASE] == _NEXT:
            column = take_first(tree.todo[depth])
            registers[LEFT] -= 16 + (depth + 2) * ((registers[EDGES] + 63) >> 6)
            if column < 0:
                registers[PHASE] = _BACK
            elif _extend(goal, tree, column):
                registers[PHASE] = _ENTER
        else:
            if depth == 0:
                return DONE
            put(tree.candidates[depth - 1], tree.path[depth])
            registers[DEPTH] = depth - 1
            registers[PHASE] = _NEXT
    return PAUSED
