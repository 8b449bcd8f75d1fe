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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.partitions import DROPPED, SHORT, Int32s, refine

# Sets of small numbers as rows of 64-bit words.

Words = NDArray[np.uint64]

_ONE = np.uint64(1)
_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H1 = np.uint64(0x0101010101010101)


@njit(cache=True, inner=True, borrows=True)
def ones(x: np.uint64) -> int:
    """How many bits are set."""
    x -= (x >> _ONE) & _M1
    x = (x & _M2) + ((x >> np.uint64(2)) & _M2)
    x = (x + (x >> np.uint64(4))) & _M4
    return int((x * _H1) >> np.uint64(56))


@njit(cache=True, inner=True, borrows=True)
def holds(words: Words, i: int) -> bool:
    """Whether i is in the set."""
    return bool((words[i >> 6] >> np.uint64(i & 63)) & _ONE != np.uint64(0))


@njit(cache=True, inner=True, borrows=True)
def put(words: Words, i: int) -> None:
    """Add i to the set."""
    words[i >> 6] |= _ONE << np.uint64(i & 63)


@njit(cache=True, inner=True, borrows=True)
def copy(words: Words, source: Words) -> None:
    """Make the set equal to another one."""
    for w in range(len(words)):
        words[w] = source[w]


@njit(cache=True, inner=True, borrows=True)
def below(words: Words, larger: Words) -> bool:
    """Whether the set is contained in the other one."""
    for w in range(len(words)):  # noqa: SIM110
        if words[w] & ~larger[w] != np.uint64(0):
            return False
    return True


@njit(cache=True, inner=True, borrows=True)
def take_first(words: Words) -> int:
    """Remove and return the smallest member, -1 if there is none."""
    for w in range(len(words)):
        x = words[w]
        if x != np.uint64(0):
            lowest = x & (~x + _ONE)
            words[w] = x ^ lowest
            return 64 * w + ones(lowest - _ONE)
    return -1


@njit(cache=True)
def keys_by_rank(
    words: Words, ranks: NDArray[np.int64], choices: NDArray[np.int64]
) -> tuple[Words, NDArray[np.int64], int]:
    """Keys of sets, one per row of `words`: ascending keys are sets by their members of lowest rank.

    Where two sets differ first in the order of ranks, the one that has the member comes first. Returns the
    keys, the sizes of the sets, and how many sets they are if every member stands for so many `choices`:
    modulo 2 to the 64.
    """
    keys = np.full(words.shape, ~np.uint64(0), np.uint64)
    sizes = np.zeros(len(words), np.int64)
    total = 0
    for i in range(len(words)):
        several = 1
        for w in range(words.shape[1]):
            x = words[i, w]
            sizes[i] += ones(x)
            while x != np.uint64(0):
                lowest = x & (~x + _ONE)
                x ^= lowest
                member = 64 * w + ones(lowest - _ONE)
                several *= choices[member]
                rank = ranks[member]
                keys[i, rank >> 6] ^= _ONE << np.uint64(63 - (rank & 63))
        total += several
    return keys, sizes, total


# Edges: what every column set that splits the rows apart must meet, and where they come from.
#
# The rows are split apart by a column set once at least `t` of them lie in clusters of fewer than k rows.
# A column set that falls short is contained in a maximal one that does; whoever succeeds must have a column
# outside it. Those complements are the edges.

Int64s = NDArray[np.int64]

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

    codes: Int32s
    k: int
    t: int
    max_size: int


class Stack(NamedTuple):
    """One partition per depth of the path, one above the other, and scratch space for refining them."""

    rows: Int32s
    bounds: Int32s
    at: Int64s
    b_at: Int64s
    clusters: Int64s
    kept: Int64s
    tally: Int32s
    local: Int32s


class EdgeTree(NamedTuple):
    """Edges as column sets; per column the edges it is in; per depth what is unhit, hit once, and open."""

    registers: Int64s
    random: Words
    edges: Words
    hits: Words
    unhit: Words
    once: Words
    candidates: Words
    todo: Words
    path: Int32s
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
    source = (stack.rows, stack.at[depth], stack.bounds, stack.b_at[depth], stack.clusters[depth])
    clusters, rows_left, why = refine(
        *source, goal.codes[column], goal.k, drop, keep,
        stack.tally, stack.local, stack.rows, top, stack.bounds, b_top,
    )  # fmt: skip
    stack.clusters[target] = clusters
    stack.kept[target] = rows_left
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
def _difference(codes: Int32s, k: int, rows: Int32s, begin: int, stride: int, edge: Words) -> None:
    """Put into `edge` the columns in which k rows, from a place on at a distance, do not all agree."""
    # Row numbers as unsigned ones: numba need not look for places that are counted from the end.
    row, second = np.uint32(rows[begin]), np.uint32(rows[begin + stride])
    for w in range(len(edge)):
        bits = _NONE
        before = 64 * w
        for j in range(min(codes.shape[0] - before, 64)):
            code = codes[before + j, row]
            differ = (code < 0) | (codes[before + j, second] != code)
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

_FIRST, _ENTER, _NEXT, _BACK = 0, 1, 2, 3


@njit(cache=True, borrows=True)
def _sample(goal: Goal, stack: Stack, tree: EdgeTree) -> None:
    """First edges: rows that agree on a column, column by column, among some of the rows."""
    rows = goal.codes.shape[1]
    first = tree.registers[EDGES]
    column = tree.registers[SAMPLED]
    tree.registers[SAMPLED] += 1
    stride = 1 + rows // _SAMPLE
    drawn = (rows + stride - 1) // stride
    codes, sample = goal.codes[column], stack.rows[rows : 2 * rows]
    sampled, alone = 0, 0
    for i in range(drawn):
        row = i * stride
        sample[sampled] = row
        if codes[row] < 0:
            alone = row
        else:
            sampled += 1
    # Those whose value is rare leave at once; a few stay, so that clusters come in the order of a long list.
    while sampled < min(drawn, SHORT + 1):
        sample[sampled] = alone
        sampled += 1
    stack.at[1] = rows
    stack.b_at[1] = 2
    stack.clusters[1] = 1
    stack.kept[1] = sampled
    stack.bounds[2] = 0
    stack.bounds[3] = sampled
    step(goal, stack, 1, column, rows + 1, rows + 1)
    if stack.kept[2] == 0:
        return
    last = differences(goal, stack, tree, 2, first, EDGE_ROOM)
    fresh = first
    for e in range(first, last):
        edge = tree.edges[e]
        useful = True
        for i in range(first):
            if below(tree.edges[i], edge):
                useful = False
                break
        if useful:
            copy(tree.edges[fresh], edge)
            fresh += 1
    register(tree, 0, first, fresh)


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


@njit(cache=True, inner=True, borrows=True)
def open_edge(unhit: Words, edges: Words, candidates: Words, todo: Words, enough: int) -> bool:
    """Choose the unhit edge with the fewest candidates, and move these to `todo`; false if it has none.

    The first edge with at most `enough` candidates is taken at once.
    """
    best, fewest = -1, 1 << 30
    for w in range(len(unhit)):
        x = unhit[w]
        while x != _NONE and fewest > enough:
            lowest = x & (~x + _ONE)
            x ^= lowest
            e = 64 * w + ones(lowest - _ONE)
            size = 0
            for c in range(len(candidates)):
                size += ones(edges[e, c] & candidates[c])
            if size < fewest:
                best, fewest = e, size
    for c in range(len(candidates)):
        todo[c] = edges[best, c] & candidates[c]
        candidates[c] &= ~edges[best, c]
    return fewest > 0


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
            registers[PHASE] = _BACK
            if depth < goal.max_size:
                unhit = tree.unhit[depth, : (registers[EDGES] + 63) >> 6]
                if open_edge(unhit, tree.edges, tree.candidates[depth], tree.todo[depth], 1):
                    registers[PHASE] = _NEXT
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
